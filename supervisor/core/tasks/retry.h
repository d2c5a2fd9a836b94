/* When a task that failed is retried. Layer: core, pure. A pool has a configured list of delays,
 * one for each failed attempt. A delay that a worker asks for (RetryAfterMilliseconds) is rounded
 * up to a step of the ladder, so that the number of retry queues is limited: one for each delay. */
#ifndef CORE_TASKS_RETRY_H
#define CORE_TASKS_RETRY_H

#include "base/mtime.h"
#include <stddef.h>

#define RETRY_DELAYS_MAX 16

/* 1 second to 1 hour, rising. */
extern const mtime retry_ladder[];
extern const size_t retry_ladder_count;

/* The shortest step that is at least this long; the last step for anything longer. 0: at once. */
mtime retry_round_up(int64_t wanted_ms);

#endif
