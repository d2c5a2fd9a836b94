/* Read raw bytes without leaving their bounds. Layer: amqp, private to it. Owns nothing. */
#ifndef AMQP_CURSOR_H
#define AMQP_CURSOR_H

#include "amqp/octets.h"

/* Reads forward. If less is left than is requested, the cursor is short from then on: nothing is
 * left, and all reads return zeros or empty texts. */
struct cursor {
	struct text rest;
	bool is_short;
};

static inline struct cursor cursor_of(struct text bytes)
{
	return (struct cursor){bytes, false};
}

static inline struct text cursor_take(struct cursor *c, size_t len)
{
	static const char zeros[8];

	if (len > c->rest.len) {
		c->is_short = true;
		c->rest.len = 0;
		return text_of(zeros, 0);
	}
	if (len == 0)
		return text_of(zeros, 0);
	struct text taken = text_of(c->rest.ptr, len);
	c->rest.ptr += len;
	c->rest.len -= len;
	return taken;
}

static inline uint8_t cursor_take8(struct cursor *c)
{
	return *(const uint8_t *)cursor_take(c, 1).ptr;
}

static inline uint16_t cursor_take16(struct cursor *c)
{
	return octets_get16(cursor_take(c, 2).ptr);
}

static inline uint32_t cursor_take32(struct cursor *c)
{
	return octets_get32(cursor_take(c, 4).ptr);
}

static inline uint64_t cursor_take64(struct cursor *c)
{
	return octets_get64(cursor_take(c, 8).ptr);
}

/* A string after its one-octet length. */
static inline struct text cursor_take_short(struct cursor *c)
{
	return cursor_take(c, cursor_take8(c));
}

/* A string, or a table's entries, after a four-octet length. */
static inline struct text cursor_take_long(struct cursor *c)
{
	return cursor_take(c, cursor_take32(c));
}

/* True: all reads succeeded, and nothing is left. */
static inline bool cursor_is_done(const struct cursor *c)
{
	return !c->is_short && c->rest.len == 0;
}

#endif
