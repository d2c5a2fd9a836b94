#include "core/workers/recycle.h"

#define SPREAD 8

/* Return the same number for a life each time: the finalizer of SplitMix64 (Steele, Lea, Flood:
 * Fast splittable pseudorandom number generators, 2014). */
static uint64_t chance(const struct recycle_limits *limits, uint16_t slot, uint32_t life)
{
	uint64_t z = ((uint64_t)limits->seed << 32 | life) + ((uint64_t)slot << 16);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint32_t recycle_tasks(const struct recycle_limits *limits, uint16_t slot, uint32_t life)
{
	uint64_t spread = (uint64_t)(limits->tasks / SPREAD) + 1;
	return limits->tasks - (uint32_t)(chance(limits, slot, life) % spread);
}

uint32_t recycle_enough(uint32_t tasks)
{
	return tasks - tasks / SPREAD;
}

mtime recycle_age(const struct recycle_limits *limits, uint16_t slot, uint32_t life)
{
	mtime spread = limits->age / SPREAD + 1;
	if (!limits->age)
		return MTIME_NEVER;
	return limits->age - (mtime)(chance(limits, slot, life) % (uint64_t)spread);
}

const char *recycle_reason_name(enum recycle_reason reason)
{
	static const char *const names[] = {
#define X(reason, name) [reason] = name,
		RECYCLE_REASONS(X)
#undef X
	};
	return names[reason];
}
