#include "core/tasks/retry.h"

const mtime retry_ladder[] = {
	1 * MTIME_SECOND,
	2 * MTIME_SECOND,
	5 * MTIME_SECOND,
	10 * MTIME_SECOND,
	30 * MTIME_SECOND,
	1 * MTIME_MINUTE,
	2 * MTIME_MINUTE,
	5 * MTIME_MINUTE,
	10 * MTIME_MINUTE,
	30 * MTIME_MINUTE,
	60 * MTIME_MINUTE,
};
const size_t retry_ladder_count = sizeof retry_ladder / sizeof *retry_ladder;

#define HOUR (60 * MTIME_MINUTE)
#define DAY  (24 * HOUR)

/* Each is at most seven times the one before, so a wait takes few steps. */
#define WAIT_STEPS(X)                                                                              \
	X(10 * MTIME_MS, "10ms")                                                                   \
	X(30 * MTIME_MS, "30ms")                                                                   \
	X(100 * MTIME_MS, "100ms")                                                                 \
	X(300 * MTIME_MS, "300ms")                                                                 \
	X(1 * MTIME_SECOND, "1s")                                                                  \
	X(3 * MTIME_SECOND, "3s")                                                                  \
	X(10 * MTIME_SECOND, "10s")                                                                \
	X(30 * MTIME_SECOND, "30s")                                                                \
	X(2 * MTIME_MINUTE, "120s")                                                                \
	X(10 * MTIME_MINUTE, "600s")                                                               \
	X(1 * HOUR, "3600s")                                                                       \
	X(6 * HOUR, "21600s")                                                                      \
	X(1 * DAY, "86400s")                                                                       \
	X(7 * DAY, "604800s")                                                                      \
	X(30 * DAY, "2592000s")

const mtime wait_steps[] = {
#define X(step, name) step,
	WAIT_STEPS(X)
#undef X
};
const size_t wait_step_count = sizeof wait_steps / sizeof *wait_steps;
_Static_assert(sizeof wait_steps / sizeof *wait_steps == WAIT_STEPS_MAX, "retry.h names it");

const char *wait_step_name(unsigned step)
{
	static const char *const names[] = {
#define X(step, name) name,
		WAIT_STEPS(X)
#undef X
	};

	return names[step];
}

#define LATE_SHARE  500 /* of what is left: 0.2 % */
#define LATE_MIN_MS 20

/* In milliseconds throughout: a delay that a worker requests may not fit in microseconds. */
mtime retry_round_up(int64_t wanted_ms)
{
	if (wanted_ms <= 0)
		return 0;
	for (size_t i = 0; i < retry_ladder_count; i++)
		if (retry_ladder[i] / MTIME_MS >= wanted_ms)
			return retry_ladder[i];
	return retry_ladder[retry_ladder_count - 1];
}

mtime wait_step(int64_t left_ms)
{
	int64_t late_ms = left_ms / LATE_SHARE;
	int64_t max_ms = left_ms + (late_ms > LATE_MIN_MS ? late_ms : LATE_MIN_MS);
	size_t i = wait_step_count - 1;
	while (i > 0 && wait_steps[i] / MTIME_MS > max_ms)
		i--;
	return wait_steps[i];
}
