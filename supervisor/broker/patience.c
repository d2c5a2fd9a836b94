#include "broker/patience.h"

void patience_init(struct patience *patience, mtime first, mtime last, uint32_t seed)
{
	*patience = (struct patience){.first = first, .last = last, .next = first};
	patience->random = seed ? seed : 1; /* xorshift never leaves zero */
}

void patience_reset(struct patience *patience)
{
	patience->next = patience->first;
}

/* Marsaglia's xorshift, 32 bits (Journal of Statistical Software 8, 2003). */
static uint32_t next_random(struct patience *patience)
{
	uint32_t x = patience->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return patience->random = x;
}

mtime patience_next(struct patience *patience)
{
	mtime wait = patience->next;

	patience->next = mtime_min(wait * 2, patience->last);
	return wait - wait / 4 * (next_random(patience) % 1024) / 1024;
}

mtime patience_any(struct patience *patience, mtime most)
{
	return (mtime)(next_random(patience) % (uint64_t)most);
}
