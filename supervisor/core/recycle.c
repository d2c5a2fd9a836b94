#include "core/recycle.h"

#define SPREAD 8

uint32_t recycle_enough(const struct recycle_limits *limits)
{
	return limits->tasks - limits->tasks / SPREAD;
}

/* The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
 * 2014). */
static uint64_t mixed(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

mtime recycle_age(const struct recycle_limits *limits, uint16_t slot, uint32_t life)
{
	uint64_t chance = mixed(((uint64_t)limits->seed << 32 | life) + ((uint64_t)slot << 16));
	mtime spread = limits->age / SPREAD + 1;
	if (!limits->age)
		return MTIME_NEVER;
	return limits->age - (mtime)(chance % (uint64_t)spread);
}

const char *recycle_words(enum recycle_reason reason)
{
	static const char *const words[] = {
#define X(reason, words) [reason] = words,
		RECYCLE_REASONS(X)
#undef X
	};
	return words[reason];
}
