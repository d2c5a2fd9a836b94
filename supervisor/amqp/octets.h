/* Numbers in network order, and strings, on raw memory. Layer: amqp, private to it. The caller has
 * checked that the memory is large enough. Owns nothing. */
#ifndef AMQP_OCTETS_H
#define AMQP_OCTETS_H

#include "base/text.h"

static inline uint16_t octets_get16(const void *from)
{
	const uint8_t *o = from;
	return (uint16_t)(o[0] << 8 | o[1]);
}

static inline uint32_t octets_get32(const void *from)
{
	const uint8_t *o = from;
	return (uint32_t)o[0] << 24 | (uint32_t)o[1] << 16 | (uint32_t)o[2] << 8 | o[3];
}

static inline uint64_t octets_get64(const void *from)
{
	const uint8_t *o = from;
	return (uint64_t)octets_get32(o) << 32 | octets_get32(o + 4);
}

/* The writers return the position behind what they wrote. */
static inline uint8_t *octets_put8(uint8_t *at, uint8_t value)
{
	*at = value;
	return at + 1;
}

static inline uint8_t *octets_put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
}

static inline uint8_t *octets_put32(uint8_t *at, uint32_t value)
{
	return octets_put16(octets_put16(at, (uint16_t)(value >> 16)), (uint16_t)value);
}

static inline uint8_t *octets_put64(uint8_t *at, uint64_t value)
{
	return octets_put32(octets_put32(at, (uint32_t)(value >> 32)), (uint32_t)value);
}

static inline uint8_t *octets_put_text(uint8_t *at, struct text value)
{
	if (value.len > 0)
		memcpy(at, value.ptr, value.len);
	return at + value.len;
}

static inline uint8_t *octets_put_short(uint8_t *at, struct text value)
{
	return octets_put_text(octets_put8(at, (uint8_t)value.len), value);
}

#endif
