/* What waits for a throttle in a pool. Layer: core. Part of dispatch, which asks here about a task
 * that a worker could begin at once; nobody else calls it, except for facts. Where each key has a
 * limit, tasks without a session wait in groups, one for each throttle and key: in order of
 * arrival, and without a place in dispatch's lists. A group whose time has come is due, and its
 * first task is asked about again. At most half of the window waits so, each task for a minute at
 * most; what exceeds that is postponed (settle.h). Owns the groups, but not the deliveries in them.
 */
#ifndef CORE_THROTTLE_THROTTLING_H
#define CORE_THROTTLE_THROTTLING_H

#include "core/effects.h"
#include "core/number_table.h"
#include "core/pool_config.h"

#define THROTTLING_WAIT_MAX MTIME_MINUTE

struct throttle_group {
	struct link place;      /* in due or waiting */
	struct numbered number; /* of throttle and key, in by_number */
	struct timer timer;     /* .at MTIME_NEVER: it is due */
	struct link tasks;      /* QUEUED deliveries, oldest first; never empty */
};

/* The first task of a list of dispatch is refused and keeps its place: nothing of it is chosen. */
struct throttle_hold {
	struct delivery *first; /* NULL: the list is not held */
	mtime until;
	bool needs_credit; /* or until there is space or credit */
	const char *by;    /* name of the throttle */
};

enum throttling_answer {
	THROTTLING_STARTS, /* it may start now; throttling_started when it has */
	THROTTLING_WAITS,  /* it waits in a group now */
	THROTTLING_HOLDS,  /* its list is to be held */
	THROTTLING_PARKS,  /* its session is to wait */
	THROTTLING_STOPS,  /* nothing of the pool may start */
	THROTTLING_SETTLES /* .decision: what becomes of it */
};

struct throttling {
	const struct pool_config *config; /* borrowed until pool_free, like effects and io */
	const struct effects *effects;
	void *io;
	struct passes
		passes;   /* the throttles; with the keys of the task that was asked about last */
	uint32_t list;    /* the number of the present list of throttles */
	uint32_t changes; /* of their figures, together */
	mtime boot;       /* of the turn */
	mtime ahead;      /* boot minus now, the most so far: it grows with each suspension */
	struct number_table by_number; /* groups */
	struct timers timers;          /* of those that are not due */
	struct link due, waiting;      /* groups */
	uint32_t due_count;
	uint32_t in_groups; /* tasks */
	uint32_t half;      /* of the window, at least 1 */
	uint32_t credit;    /* tasks that may be postponed: one for each start, `half` at most */
	struct throttle_hold queued, suspects; /* dispatch's lists */
	struct throttle_hold all;              /* without .first; .until 0: not held */
	/* about the latest refusal */
	const char *by;
	mtime until;
	struct decision decision;
	/* for facts */
	bool holds_back;      /* at the end of the latest turn: a task waits for a throttle */
	mtime held_back_at;   /* the latest time */
	mtime held_back_from; /* since then, with short breaks */
	const char *holder;
	uint64_t delays; /* tasks that had to wait, each once */
};

/* RC_MEMORY. */
enum rc throttling_init(struct throttling *, const struct pool_config *, const struct effects *,
	void *io) MUST_CHECK;
void throttling_release(struct throttling *);
static inline bool throttling_is_on(const struct throttling *throttling)
{
	return throttling->passes.count > 0;
}
/* Another list of throttles is configured, or the same one. All groups end: their tasks move to the
 * head of this list. */
void throttling_configure(struct throttling *, struct link *queued);
/* The delivery has come, with its keys for the present throttles. */
static inline void throttling_arrived(
	const struct throttling *throttling, struct delivery *delivery)
{
	delivery->keys_for = throttling->list;
}

/* Begin a turn: groups whose time has come are due, and holds whose time is over end. True: there
 * are other figures, or the machine was suspended, so that all that waits is to be asked about
 * again. */
bool throttling_begin_turn(struct throttling *, uint32_t window, mtime boot, mtime now) MUST_CHECK;
/* May the task start? keeps_place: it does not go into a group (a suspect, or exclusive). */
enum throttling_answer throttling_ask(
	struct throttling *, struct delivery *, bool keeps_place, mtime now) MUST_CHECK;
/* The task that was asked about last was sent. */
void throttling_started(struct throttling *);
/* The first task of the first group that is due, or NULL. */
struct delivery *throttling_due(const struct throttling *);
/* The first task of any group, or NULL. */
struct delivery *throttling_first(const struct throttling *);
/* Take a task out of its group. */
void throttling_remove(struct throttling *, struct delivery *);
mtime throttling_deadline(const struct throttling *);
/* The turn ends; so many tasks wait for a throttle. */
void throttling_end_turn(struct throttling *, uint32_t waiting, mtime now);
/* Since when tasks wait for a throttle, with breaks of a second at most; MTIME_NEVER: none does. */
mtime throttling_since(const struct throttling *, mtime now);

#endif
