/* How many workers a pool needs, between its bounds, from what was measured. Layer: core, pure.
 * Decides a number only; slots_scale.c measures and applies it. It grows while tasks wait, no
 * worker has a place, and all workers together were busy for three quarters of a measure: by at
 * most as many workers as it has, and not more than tasks wait. It shrinks by the workers that were
 * not needed during its patience, a quarter of them at a time. If it has to grow again soon, the
 * patience doubles, so that the number does not oscillate under a steady load. */
#ifndef CORE_WORKERS_AUTOSCALE_H
#define CORE_WORKERS_AUTOSCALE_H

#include "base/mtime.h"
#include <stdbool.h>
#include <stdint.h>

#define AUTOSCALE_SPANS 6

struct autoscale {
	uint16_t min, max; /* equal: there is nothing to decide */
	/* the present measure */
	mtime since;
	mtime worked;        /* the time that all workers together were busy in it */
	uint32_t answered;   /* tasks in it */
	bool was_full;       /* the window was, at some time in it */
	mtime no_idle_since; /* since then tasks wait and no worker is idle; MTIME_NEVER: not now */
	/* how many were needed recently: the patience is so many spans */
	uint32_t peaks[AUTOSCALE_SPANS]; /* maximum of busy workers in each span; [0]: the present
					    span */
	mtime span_at;                   /* when the present span began */
	uint32_t needed;                 /* the maximum that decided the last shrinking */
	uint32_t calm;                   /* whole spans since it last grew or rested */
	mtime patience;
	mtime shrunk_at;  /* when it last shrank; INT64_MIN: it has grown since */
	mtime changed_at; /* when it last grew or shrank */
	mtime hold_until; /* it does not grow before that: memory was short */
};

/* The state of the pool in a turn. */
struct autoscale_look {
	uint32_t wanted;      /* workers */
	uint32_t at_work;     /* those that are not leaving and have a task */
	uint32_t waiting;     /* tasks that no worker has */
	uint32_t concurrency; /* tasks that one worker can have */
	uint32_t suspects;    /* of those that wait: each needs a worker of its own */
	uint32_t places_max;  /* maximum that was taken in the measure; 0: not counted, since a
				 worker has one at most */
	bool is_any_idle;     /* a worker that could take one */
	bool is_full;         /* the prefetch window: the broker may have more */
	bool may_grow;        /* workers start without failures */
	bool may_shrink;      /* no restart or recycling is going on */
};

/* Set the bounds, from 1 to POOL_WORKERS_MAX, and forget all measures. */
void autoscale_init(struct autoscale *, uint16_t min, uint16_t max, mtime now);
static inline bool autoscale_is_on(const struct autoscale *autoscale)
{
	return autoscale->min < autoscale->max;
}
/* Return the number between the bounds that is nearest to workers. */
uint32_t autoscale_within(const struct autoscale *, uint32_t workers);
/* A worker was busy from `from` until `until`. Times of different workers may overlap. */
void autoscale_worked(struct autoscale *, mtime from, mtime until);
/* Measure nothing now: the pool is paused, or has no broker. */
void autoscale_rest(struct autoscale *, mtime now);
/* True: the measure is long enough, and autoscale_judge is to be called in this turn. */
bool autoscale_is_due(struct autoscale *, const struct autoscale_look *, mtime now);
/* End the measure, and return how many workers are wanted now. The caller has reported the time of
 * each busy worker until now (autoscale_worked). */
uint32_t autoscale_judge(struct autoscale *, const struct autoscale_look *, mtime now);
/* There was no memory for the workers that it wanted. */
void autoscale_refused(struct autoscale *, mtime now);
/* When a turn is needed without any event; MTIME_NEVER: only with one. */
mtime autoscale_deadline(const struct autoscale *, uint32_t wanted);

#endif
