#include "os/clock.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

/* A longer gap is a suspension: on a busy machine, too, a running loop is not that late. */
#define GAP_MIN (3 * CLOCK_TICK)

static bool is_watched;
static mtime last_read, left_out;
static mtime turn_began, arrived_after;
static long sleeps;

static mtime read_clock(clockid_t which)
{
	struct timespec now;
	clock_gettime(which, &now);
	return (mtime)now.tv_sec * MTIME_SECOND + now.tv_nsec / 1000;
}

mtime clock_now(void)
{
	mtime now = read_clock(CLOCK_MONOTONIC);

	if (is_watched && now - last_read >= GAP_MIN)
		left_out += now - last_read - CLOCK_TICK;
	last_read = now;
	return now - left_out;
}

/* A thread yields its processor voluntarily only to sleep. */
mtime clock_turn_begins(void)
{
	mtime now = clock_now();
	struct rusage usage;
	bool has_slept = getrusage(RUSAGE_THREAD, &usage) < 0 || usage.ru_nvcsw != sleeps;

	sleeps = usage.ru_nvcsw;
	arrived_after = has_slept ? now : turn_began;
	turn_began = now;
	return now;
}

mtime clock_arrived_after(void)
{
	return arrived_after;
}

void clock_watch(void)
{
	clock_now();
	is_watched = true;
}

mtime clock_left_out(void)
{
	return left_out;
}

mtime clock_boot(void)
{
	return read_clock(CLOCK_BOOTTIME);
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

int64_t clock_wall_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
