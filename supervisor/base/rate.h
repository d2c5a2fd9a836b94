/* At most so many a second: a bucket of tokens. Layer: base; time is an argument.
 * It holds one second's worth, so what comes at once may be as much as what comes in a second. */
#ifndef BASE_RATE_H
#define BASE_RATE_H

#include "base/mtime.h"

#include <stdbool.h>

/* The most that .per_second may be. */
#define RATE_MAX 1000000000

struct rate {
	int64_t per_second; /* at least 1 */
	int64_t left;       /* in millionths of one */
	mtime filled_at;
};

/* Full. */
static inline struct rate rate_of(int64_t per_second, mtime now)
{
	return (struct rate){per_second, per_second * MTIME_SECOND, now};
}

/* True: one more is within the rate, and was taken. */
static inline bool rate_take(struct rate *rate, mtime now)
{
	int64_t most = rate->per_second * MTIME_SECOND;
	mtime passed = now - rate->filled_at;

	/* Each microsecond brings per_second millionths; a second fills it. */
	if (passed >= MTIME_SECOND)
		rate->left = most;
	else if (passed > 0)
		rate->left += passed * rate->per_second;
	if (rate->left > most)
		rate->left = most;
	rate->filled_at = now;
	if (rate->left < MTIME_SECOND)
		return false;
	rate->left -= MTIME_SECOND;
	return true;
}

#endif
