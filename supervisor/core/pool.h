/* A pool: one queue's tasks, N worker slots, and every decision about them. Layer: core.
 * A reducer: pool_step takes the time and one event, and acts through its effects. It makes no
 * system call, reads no clock and allocates nothing after pool_new but room in its tables and, when
 * it is scaled up, slots.
 * Its next deadline is pulled by pool_deadline; nothing is armed. */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include "core/effects.h"
#include "core/event.h"
#include "core/recycle.h"
#include "core/settle.h"

#define POOL_WORKERS_MAX  10000
#define POOL_PIPELINE_MAX 64
#define POOL_WINDOW_MAX   65535

struct pool_config {
	const char *name;      /* borrowed until pool_free, like all texts here */
	uint16_t workers;      /* 1 to POOL_WORKERS_MAX, until it is scaled */
	uint16_t workers_most; /* as many as are needed up to this; 0: workers */
	uint16_t pipeline;     /* 1 to POOL_PIPELINE_MAX; 0: auto, from the measured time */
	mtime pipe_wait;       /* auto: for how long a task may wait behind others in a pipe; > 0 */
	uint16_t prefetch;     /* 0: auto */
	size_t memory;         /* bytes of bodies in hand that are aimed at; > 0 */
	mtime boot_limit;      /* from SPAWN to READY */
	mtime hard_limit;      /* one task's time as the head of a pipe; MTIME_NEVER: none */
	mtime soft_limit;      /* as hard_limit, when it is asked to come to an end; MTIME_NEVER */
	bool interrupt;        /* asked by SLOT_INTERRUPT; pipeline is 1 */
	mtime grace;           /* after QUIT, and again after TERM */
	size_t outbox_limit;   /* bytes unconfirmed above which nothing is dispatched */
	struct recycle_limits recycle;
	struct settle_policy policy;
};

/* NULL: out of memory. All three pointers are borrowed until pool_free. Starts with every slot to
 * be spawned in the first TURN_END and with its one source (number 0) and its outbox down. */
struct pool *pool_new(const struct pool_config *, const struct effects *, void *io, mtime now);
/* now never runs backwards from one call to the next. */
void pool_step(struct pool *, mtime now, const struct event *);
/* A TURN_END is wanted then, whatever happens; MTIME_NEVER: only on an event. */
mtime pool_deadline(const struct pool *);
/* After a drain or force: no process, nothing unacked on a living channel, nothing unconfirmed that
 * could still free an input, nothing to flush; it may be freed. */
bool pool_is_quiet(const struct pool *);
/* Something of it is published and not confirmed. */
bool pool_is_publishing(const struct pool *);
/* Nothing is, and what there is to publish was refused and waits. */
bool pool_is_refused(const struct pool *);
/* True when COMMAND_FORCE cut something short. */
bool pool_was_forced(const struct pool *);
void pool_free(struct pool *);
/* Asserts that every list, state and counter agrees with every other; O(n), for tests. */
void pool_audit(const struct pool *);

#endif
