/* How much at once: tasks per pipe (pipeline: auto) and deliveries in hand (prefetch: auto), from
 * what was measured. Layer: core. Decides numbers only; sends nothing. */
#ifndef CORE_TASKS_PACE_H
#define CORE_TASKS_PACE_H

#include "core/pool_config.h"
#include "core/tasks/pipe.h"

struct pace {
	uint16_t workers;            /* wanted now */
	uint16_t pipeline, prefetch; /* as configured; 0: auto */
	/* depth */
	int64_t fill_ns;      /* work that a pipe may hold */
	struct link answered; /* slots with answers in this turn */
	int64_t estimate_ns;  /* a task's time in its worker, smoothed */
	/* window */
	mtime measured_at; /* the present measure began */
	uint32_t settled;  /* in the present measure */
	uint32_t held;     /* most deliveries that waited for confirms in it */
	uint32_t slack;    /* the result of the last measure */
	size_t memory;     /* as configured */
	size_t largest;    /* body in the present measure */
	bool has_arrived;  /* any body in it */
	size_t body;       /* what the next ones are taken for: the largest, fading */
	mtime changed_at;  /* the window was last changed */
};

void pace_init(struct pace *, const struct pool_config *, mtime now);
/* What is configured has changed; what was measured holds, but for the depth of pipes where
 * pipe_wait has. */
void pace_configure(struct pace *, const struct pool_config *);
/* So many workers are wanted from now on. */
void pace_scaled(struct pace *, uint16_t workers);
/* The slot's head was answered after it ran for so long. */
void pace_answered(struct pace *, struct pipe *, mtime took);
/* A task has run for longer than a pipe may hold work, and runs on: pipes hold one task until
 * answers show that such tasks are rare. */
void pace_held_up(struct pace *);
/* A message of so many bytes came. */
void pace_arrived(struct pace *, size_t body);
/* One more task is settled. */
void pace_settled(struct pace *);
/* The turn ends: several answers of one slot in it share the time they took together. unconfirmed:
 * deliveries that wait for confirms now. */
void pace_turn(struct pace *, uint32_t unconfirmed, mtime now);
/* How long a task may wait behind others; MTIME_NEVER: nobody minds. */
mtime pace_pipe_wait(const struct pace *);
/* Tasks a pipe may hold, 1 to POOL_PIPELINE_MAX. */
uint32_t pace_depth(const struct pace *);
/* Tasks that one worker is given before another one is woken, 1 to pace_depth: a tenth of a
 * millisecond of work. 1 where the pipeline is configured. */
uint32_t pace_pack(const struct pace *);
/* Deliveries wanted in hand, 1 to POOL_WINDOW_MAX: not more than memory holds if all are as large
 * as the largest of late. */
uint32_t pace_window(const struct pace *);
/* True when the present window, and what counts beside it, is so wrong that changing it pays: half
 * of what is wanted, not less than what is in hand, and the last change 200 ms ago; or twice of
 * what is wanted, and the last change a minute ago or memory too small for it. */
bool pace_changes_window(const struct pace *, uint32_t present, uint32_t in_hand, mtime now);
/* A window was wished now. */
void pace_window_set(struct pace *, mtime now);

#endif
