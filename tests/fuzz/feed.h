/* The input as a script: bytes are taken off its front. After its end there are only zeros. */
#ifndef FUZZ_FEED_H
#define FUZZ_FEED_H

#include "base/text.h"

struct feed {
	struct text rest;
};

static inline bool feed_is_over(const struct feed *feed)
{
	return feed->rest.len == 0;
}

/* Take len bytes, or fewer at the end. */
static inline struct text feed_text(struct feed *feed, size_t len)
{
	struct text taken = feed->rest;
	if (taken.len > len)
		taken.len = len;
	feed->rest = text_of(feed->rest.ptr + taken.len, feed->rest.len - taken.len);
	return taken;
}

static inline uint8_t feed_byte(struct feed *feed)
{
	struct text taken = feed_text(feed, 1);
	return taken.len > 0 ? (uint8_t)*taken.ptr : 0;
}

/* Big-endian, width bytes. */
static inline uint64_t feed_number(struct feed *feed, unsigned width)
{
	uint64_t number = 0;
	while (width-- > 0)
		number = number << 8 | feed_byte(feed);
	return number;
}

/* A text with its length before it, in one byte or in two. */
static inline struct text feed_short(struct feed *feed)
{
	return feed_text(feed, feed_byte(feed));
}

static inline struct text feed_long(struct feed *feed)
{
	return feed_text(feed, feed_number(feed, 2));
}

#endif
