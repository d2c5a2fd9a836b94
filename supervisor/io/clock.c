#include "io/clock.h"

#include <time.h>

mtime clock_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (mtime)now.tv_sec * MTIME_SECOND + now.tv_nsec / 1000;
}

uint64_t clock_wall_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec;
}
