/* How many tasks at once: in a pipe (pipeline: auto) and unacked (prefetch: auto), from what was
 * measured. Layer: core. Decides numbers only; sends nothing. */
#ifndef CORE_TASKS_PACE_H
#define CORE_TASKS_PACE_H

#include "core/dispatch/pipe.h"
#include "core/pool_config.h"

struct pace {
	uint16_t workers;            /* wanted now */
	uint16_t concurrency;        /* as configured */
	uint16_t pipeline, prefetch; /* as configured; 0: auto */
	/* depth */
	int64_t fill_ns;      /* work that a pipe may hold */
	struct link answered; /* slots with answers in this turn */
	int64_t estimate_ns;  /* a task's time in its worker, smoothed */
	/* window */
	mtime measured_at;   /* the present measure began */
	uint32_t settled;    /* tasks in the present measure; each place that settles one adds 1 */
	uint32_t held;       /* maximum of deliveries that waited for confirms in it */
	uint32_t slack;      /* the result of the last measure */
	size_t memory;       /* as configured */
	size_t largest;      /* the largest message in the present measure */
	bool has_arrived;    /* any message in it */
	size_t size;         /* the expected size of the next ones: the largest, decaying */
	uint32_t window_max; /* because of throttles */
	mtime changed_at;    /* the window was last changed; set with each change of it */
};

void pace_init(struct pace *, const struct pool_config *, mtime now);
/* The configuration has changed. Measured values stay, except the depth of pipes if pipe_wait
 * changed. */
void pace_configure(struct pace *, const struct pool_config *);
/* The number of wanted workers has changed. */
void pace_scaled(struct pace *, uint16_t workers);
/* The head of the pipe was answered after it ran for `took`. */
void pace_answered(struct pace *, struct pipe *, mtime took);
/* A task has run for longer than pipe_wait and still runs: pipes hold one task until answers show
 * that such tasks are rare. */
void pace_held_up(struct pace *);
/* A message came: so many bytes of body and properties. */
void pace_arrived(struct pace *, size_t size);
/* End the turn: several answers of one slot in it share the time that they took together.
 * unconfirmed: deliveries that wait for confirms now. */
void pace_turn(struct pace *, uint32_t unconfirmed, mtime now);
/* How long a task may wait behind others in a pipe; MTIME_NEVER: no limit. */
mtime pace_pipe_wait(const struct pace *);
/* Tasks a pipe may hold: the concurrency if it is above 1, else 1 to POOL_PIPELINE_MAX. */
uint32_t pace_depth(const struct pace *);
/* Tasks have been measured, and take less than pipe_wait. */
bool pace_is_short(const struct pace *);
/* Tasks that one worker gets before another one is woken, 1 to pace_depth: a tenth of a millisecond
 * of work. 1 if the pipeline is configured. */
uint32_t pace_pack(const struct pace *);
/* The wanted number of unacked deliveries, 1 to POOL_WINDOW_MAX; not more than `memory` holds if
 * all are as large as the largest recent one. */
uint32_t pace_window(const struct pace *);
/* The last change of the window is long enough ago: 200 ms. */
bool pace_may_change(const struct pace *, mtime now);
/* True if it pays to change the window. present: the window and what does not count in it. It grows
 * if it is at most half of what is wanted and at least in_hand, and the last change is 200 ms old.
 * It shrinks if it is at least twice what is wanted, and the last change is a minute old or
 * `memory` does not allow it. */
bool pace_changes_window(const struct pace *, uint32_t present, uint32_t in_hand, mtime now);

#endif
