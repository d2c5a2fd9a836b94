/* Time for decisions. Layer: base. An mtime is microseconds of a monotonic clock of any origin;
 * only differences have a meaning. Nothing here reads a clock: time is an argument. */
#ifndef BASE_MTIME_H
#define BASE_MTIME_H

#include <stdint.h>

typedef int64_t mtime;

#define MTIME_NEVER  INT64_MAX
#define MTIME_MS     ((mtime)1000)
#define MTIME_SECOND ((mtime)1000000)
#define MTIME_MINUTE (60 * MTIME_SECOND)

static inline mtime mtime_max(mtime a, mtime b)
{
	return a > b ? a : b;
}

static inline mtime mtime_min(mtime a, mtime b)
{
	return a < b ? a : b;
}

/* now + span; MTIME_NEVER absorbs. Both are at least 0. */
static inline mtime mtime_after(mtime now, mtime span)
{
	return span > MTIME_NEVER - now ? MTIME_NEVER : now + span;
}

#endif
