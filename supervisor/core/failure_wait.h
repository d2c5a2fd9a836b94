/* The core's waits after failures in a row: 1, 2, 4, 8, 16, and then always 30 seconds. Layer:
 * core, pure. Used between failed starts of a worker and between publishes that the broker
 * refuses. */
#ifndef CORE_FAILURE_WAIT_H
#define CORE_FAILURE_WAIT_H

#include "base/backoff.h"

/* A ready worker that lives for so long is a success even without an answer. */
#define LIFE_IS_LONG (10 * MTIME_SECOND)

#define FAILURE_WAIT_STEPS 6

/* The step of the wait after this many failures in a row (from 1): 0 to FAILURE_WAIT_STEPS - 1. */
static inline unsigned failure_wait_step(uint32_t failures)
{
	return failures < FAILURE_WAIT_STEPS ? failures - 1 : FAILURE_WAIT_STEPS - 1;
}

static inline mtime failure_wait(unsigned step)
{
	return backoff_wait(MTIME_SECOND, 30 * MTIME_SECOND, step + 1);
}

#endif
