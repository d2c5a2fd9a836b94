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
	int64_t left;       /* in millionths of a token */
	mtime filled_at;
};

/* Start with a full bucket. */
static inline struct rate rate_of(int64_t per_second, mtime now)
{
	return (struct rate){per_second, per_second * MTIME_SECOND, now};
}

/* Take a token; false: the rate is exceeded. */
static inline bool rate_take(struct rate *rate, mtime now)
{
	int64_t max = rate->per_second * MTIME_SECOND;
	mtime passed = now - rate->filled_at;

	/* Each microsecond adds per_second millionths; a second fills the bucket. */
	if (passed >= MTIME_SECOND)
		rate->left = max;
	else if (passed > 0)
		rate->left += passed * rate->per_second;
	if (rate->left > max)
		rate->left = max;
	rate->filled_at = now;
	if (rate->left < MTIME_SECOND)
		return false;
	rate->left -= MTIME_SECOND;
	return true;
}

#endif
