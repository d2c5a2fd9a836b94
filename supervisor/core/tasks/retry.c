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
