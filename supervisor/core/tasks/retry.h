/* When a task that failed is retried, and how a task waits for its time. Layer: core, pure. A pool
 * has a configured list of delays, one for each failed attempt. A delay that a worker asks for
 * (RetryAfterMilliseconds) is rounded up to a step of the ladder, so that the number of retry
 * queues is limited: one for each delay. A task with a time waits in a wait queue, as often as
 * needed: each time for a step that ends before its time, or hardly after it. */
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

#define WAIT_DAY_MS INT64_C(86400000)
/* What a worker may ask for (PostponeMilliseconds). */
#define WAIT_ASKED_MIN_MS 100
#define WAIT_ASKED_MAX_MS (365 * WAIT_DAY_MS)
/* A time that is further ahead is a mistake: a day more, because clocks may differ. */
#define WAIT_MAX_MS (366 * WAIT_DAY_MS)

/* 10 milliseconds to 30 days, rising: the time to live of a queue must be below 2^32 ms. */
extern const mtime wait_steps[];
extern const size_t wait_step_count;
#define WAIT_STEPS_MAX 15 /* wait_step_count; a bit each in masks */
/* As in the name of its queue: "10s". step: its place in wait_steps. */
const char *wait_step_name(unsigned step);

/* The step for a task whose time comes in left_ms: the longest that ends before it, or so little
 * later that it does not matter (0.2 %, or 20 ms if that is more). The shortest one if each is too
 * long. What the broker adds to a step is made up for by the next one. */
mtime wait_step(int64_t left_ms);

#endif
