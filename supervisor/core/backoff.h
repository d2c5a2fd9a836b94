/* The one growing wait: 1, 2, 4, 8, 16, 30 seconds, and 30 from then on. Layer: core, pure.
 * Used between failed starts of a worker and between publishes that the broker refuses. */
#ifndef CORE_BACKOFF_H
#define CORE_BACKOFF_H

#include "base/mtime.h"

#define BACKOFF_STEPS 6

/* Which wait follows the failures-th failure in a row (from 1): 0 to BACKOFF_STEPS - 1. */
static inline unsigned backoff_step(uint32_t failures)
{
	return failures < BACKOFF_STEPS ? failures - 1 : BACKOFF_STEPS - 1;
}

static inline mtime backoff_wait(unsigned step)
{
	return step < BACKOFF_STEPS - 1 ? MTIME_SECOND << step : 30 * MTIME_SECOND;
}

#endif
