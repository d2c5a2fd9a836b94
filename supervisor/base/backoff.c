#include "base/backoff.h"

mtime backoff_wait(mtime first, mtime max, uint32_t failures)
{
	mtime wait = mtime_min(first, max);
	for (uint32_t i = 1; i < failures && wait < max; i++)
		wait = mtime_min(wait * 2, max);
	return wait;
}

void backoff_init(struct backoff *backoff, mtime first, mtime max, uint32_t seed)
{
	*backoff = (struct backoff){.first = mtime_min(first, max), .max = max};
	backoff->random = seed ? seed : 1; /* xorshift never leaves zero */
}

void backoff_reset(struct backoff *backoff)
{
	backoff->wait = 0;
}

/* Marsaglia's xorshift, 32 bits (Journal of Statistical Software 8, 2003). */
static uint32_t next_random(struct backoff *backoff)
{
	uint32_t x = backoff->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return backoff->random = x;
}

mtime backoff_next(struct backoff *backoff)
{
	backoff->wait = backoff->wait ? mtime_min(backoff->wait * 2, backoff->max) : backoff->first;
	return backoff->wait - backoff->wait / 4 * (next_random(backoff) % 1024) / 1024;
}

mtime backoff_random_below(struct backoff *backoff, mtime max)
{
	return (mtime)(next_random(backoff) % (uint64_t)max);
}
