#include "io/clock.h"

#include <time.h>

static mtime read_clock(clockid_t which)
{
	struct timespec now;
	clock_gettime(which, &now);
	return (mtime)now.tv_sec * MTIME_SECOND + now.tv_nsec / 1000;
}

mtime clock_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

mtime clock_computed(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_wall_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec;
}
