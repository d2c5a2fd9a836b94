/* A rate limit: a token bucket. Layer: base; time is an argument. It holds the tokens of one
 * second, which is also the largest burst. */
#ifndef BASE_RATE_H
#define BASE_RATE_H

#include "base/mtime.h"

#include <stdbool.h>

/* Upper bound of per_second. */
#define RATE_MAX 1000000000

struct rate {
	int64_t per_second; /* at least 1 */
	int64_t left;       /* in millionths of a token; below 0: more was spent than there was */
	mtime filled_at;
};

/* Start with a full bucket. */
static inline struct rate rate_of(int64_t per_second, mtime now)
{
	return (struct rate){per_second, per_second * MTIME_SECOND, now};
}

/* Add what has come since. True: a token is left. */
static inline bool rate_has_left(struct rate *rate, mtime now)
{
	int64_t max = rate->per_second * MTIME_SECOND;
	mtime passed = now - rate->filled_at;

	/* Each microsecond adds per_second millionths; two seconds fill any bucket. */
	if (passed > 0)
		rate->left += mtime_min(passed, 2 * MTIME_SECOND) * rate->per_second;
	if (rate->left > max)
		rate->left = max;
	rate->filled_at = now;
	return rate->left >= MTIME_SECOND;
}

/* How long until a token is left, after rate_has_left said that none is. */
static inline mtime rate_wait(const struct rate *rate)
{
	return (MTIME_SECOND - rate->left + rate->per_second - 1) / rate->per_second;
}

/* Take 0 to per_second tokens after rate_has_left, also more than are left: then none is left until
 * the difference has come. */
static inline void rate_spend(struct rate *rate, int64_t tokens)
{
	rate->left -= tokens * MTIME_SECOND;
}

/* Take a token; false: the rate is exceeded. */
static inline bool rate_take(struct rate *rate, mtime now)
{
	if (!rate_has_left(rate, now))
		return false;
	rate_spend(rate, 1);
	return true;
}

#endif
