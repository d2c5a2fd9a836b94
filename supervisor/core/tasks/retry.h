/* When a task that failed is tried again. Layer: core, pure data.
 * A configured list of delays, one after each failed attempt; and the ladder, the delays that a
 * worker's own wish (RetryAfterMilliseconds) is rounded up to, so that every delay there is has a
 * queue of its own. */
#ifndef CORE_TASKS_RETRY_H
#define CORE_TASKS_RETRY_H

#include "base/mtime.h"
#include <stddef.h>

#define RETRY_DELAYS_MAX 16

/* 1 second to 1 hour, rising. */
extern const mtime retry_ladder[];
extern const size_t retry_ladder_count;

/* The smallest step that is at least this long; beyond the last, the last. 0: at once. */
mtime retry_round_up(int64_t wanted_ms);

#endif
