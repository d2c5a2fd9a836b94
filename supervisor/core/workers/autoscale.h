/* How many workers a pool needs, where it may choose: between bounds, by what was measured. Layer:
 * core, pure. Decides a number only; slots_auto.c measures for it and carries it out.
 * It grows while tasks wait, every worker is at one, and together they were at work for three
 * quarters of a measure: up to twice as many, and not more than tasks wait. It shrinks by those
 * that nobody needed for as long as its patience lasts, a quarter of them at a time; what it had to
 * take back makes it wait twice as long the next time, so that a steady load brings no to and fro.
 */
#ifndef CORE_WORKERS_AUTOSCALE_H
#define CORE_WORKERS_AUTOSCALE_H

#include "base/mtime.h"
#include <stdbool.h>
#include <stdint.h>

#define AUTOSCALE_SPANS 6

struct autoscale {
	uint16_t min, max; /* equal: nothing is left to be decided */
	/* the present measure */
	mtime since;
	mtime worked;      /* the time that workers were at tasks in it, all together */
	uint32_t answered; /* tasks in it */
	bool was_full;     /* the window was, at some time in it */
	mtime crowded; /* since then tasks wait, and nobody is idle; MTIME_NEVER: it is not so */
	/* how many were needed of late: a patience is so many spans */
	uint32_t peaks[AUTOSCALE_SPANS]; /* most at work at once, in a measure; [0]: the present
					    span */
	mtime span_at;                   /* it began */
	uint32_t needed;                 /* at most, by which it last shrank */
	uint32_t calm;                   /* whole spans since it last grew, or rested */
	mtime patience;
	mtime shrunk_at;  /* and has not grown since; INT64_MIN: no */
	mtime changed_at; /* it last grew or shrank */
	mtime hold_until; /* no memory for more was found */
};

/* What a turn finds. */
struct autoscale_look {
	uint32_t wanted;  /* workers */
	uint32_t at_work; /* those that are kept and have a task */
	uint32_t waiting; /* tasks that no worker has */
	bool is_any_idle; /* a worker that could have one */
	bool is_full;     /* the window: the broker may have more */
	bool may_grow;    /* workers start as they should */
	bool may_shrink;  /* nothing else is done to them */
};

/* Between these from now on, 1 to POOL_WORKERS_MAX. */
void autoscale_init(struct autoscale *, uint16_t min, uint16_t max, mtime now);
static inline bool autoscale_is_on(const struct autoscale *autoscale)
{
	return autoscale->min < autoscale->max;
}
/* The nearest that is between the bounds. */
uint32_t autoscale_within(const struct autoscale *, uint32_t workers);
/* A worker was at a task from then until then; several times at once for several. */
void autoscale_worked(struct autoscale *, mtime from, mtime until);
/* One was answered. */
void autoscale_answered(struct autoscale *);
/* Nothing can be learned now: the pool is paused, or without a broker. */
void autoscale_rest(struct autoscale *, mtime now);
/* True: the measure is long enough, and autoscale_judge is to be called in this turn. */
bool autoscale_is_due(struct autoscale *, const struct autoscale_look *, mtime now);
/* The measure ends: how many workers are wanted now. Each that was at a task until now has been
 * told by autoscale_worked. */
uint32_t autoscale_judge(struct autoscale *, const struct autoscale_look *, mtime now);
/* It had wanted more, and there was no memory for them. */
void autoscale_refused(struct autoscale *, mtime now);
/* A turn is wanted then, whatever happens; MTIME_NEVER. */
mtime autoscale_deadline(const struct autoscale *, uint32_t wanted);

#endif
