/* What waits for a throttle in a pool. Layer: core. Part of dispatch, which asks here about a task
 * that a worker could begin at once; only facts are asked from elsewhere. Where each key has a
 * limit, what waits for it waits in a group, one for each throttle and key: tasks without a session
 * in order of arrival, and without a place in dispatch's lists; or sessions, each with its next
 * task. A group whose time has come is due, and the first of it is asked about again. Of tasks, at
 * most half of the window waits so, each for a minute at most; what exceeds that is postponed
 * (settle.h), as often as tasks start, and slowly in any case. Owns the groups, but neither the
 * deliveries nor the sessions in them. */
#ifndef CORE_THROTTLE_THROTTLING_H
#define CORE_THROTTLE_THROTTLING_H

#include "core/effects.h"
#include "core/number_table.h"
#include "core/pool_config.h"

#define THROTTLING_WAIT_MAX MTIME_MINUTE
/* In a longer silence after a start when_exceeded holds. */
#define THROTTLING_SILENCE_MAX (10 * MTIME_SECOND)
/* So many a minute may be postponed though none starts, or half of the window if that is more: a
 * key behind many tasks of another one has its turn, and nothing is unacked for long. A large
 * backlog stays in the broker's queue all the same. */
#define THROTTLING_CREDIT_A_MINUTE 600
/* Tasks are not kept for longer, as a broker takes back what is unacked for 30 minutes. While they
 * go back, none is fetched. */
#define THROTTLING_KEPT_MAX   (10 * MTIME_MINUTE)
#define THROTTLING_CLOSED_MIN (2 * MTIME_MINUTE)

struct throttle_group {
	struct throttling *throttling; /* that owns it */
	bool is_of_sessions;           /* else of tasks; it is never empty */
	struct link place;             /* in due, waiting or parked */
	struct numbered number;        /* of throttle and key, in by_number */
	struct timer timer;            /* .at MTIME_NEVER: it is due */
	struct link members;           /* QUEUED deliveries, oldest first; or sessions by .in_group:
					  when it is due, the first has .is_due */
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
	THROTTLING_WAITS,  /* it waits in a group now, or its session does */
	THROTTLING_HOLDS,  /* its list is to be held */
	THROTTLING_STOPS,  /* nothing of the pool may start */
	THROTTLING_SETTLES /* .decision: what becomes of it */
};

struct throttling {
	const struct pool_config *config; /* borrowed until pool_free, like effects and io */
	const struct effects *effects;
	void *io;
	struct sessions *sessions; /* or NULL */
	struct passes
		passes;   /* the throttles; with the keys of the task that was asked about last */
	uint32_t list;    /* the number of the present list of throttles */
	uint32_t changes; /* of their figures, together */
	uint64_t answers[PASSES_MAX]; /* of the leaders of shared ones, which were seen so far */
	mtime boot;                   /* of the turn */
	mtime ahead; /* boot minus now, the most so far: it grows with each suspension */
	struct number_table by_number; /* groups */
	struct timers timers;          /* of those that are not due */
	struct link due, waiting;      /* groups of tasks */
	struct link parked;            /* groups of sessions */
	uint32_t due_count;            /* groups of tasks */
	uint32_t in_groups;            /* tasks, without those of sessions */
	uint32_t half;                 /* of the window, at least 1 */
	uint32_t credit; /* tasks that may be postponed: one for each start, `half` at most */
	mtime credit_at; /* when one more may be, without a start; 0: not counted yet */
	struct throttle_hold queued, suspects; /* dispatch's lists */
	struct throttle_hold all;              /* without .first; .until 0: not held */
	struct throttle_hold closed;           /* the same: until then none is fetched */
	/* about the latest refusal */
	const char *by;
	mtime until;
	struct decision decision;
	/* for facts */
	bool holds_back;      /* at the end of the latest turn: a task waits for a throttle */
	mtime held_back_at;   /* the latest time */
	mtime held_back_from; /* since then, with short breaks */
	const char *holder;   /* name of the throttle; NULL: none */
	uint64_t delays;      /* tasks that had to wait, each once */
};

/* RC_MEMORY. */
enum rc throttling_init(struct throttling *, const struct pool_config *, struct sessions *,
	const struct effects *, void *io) MUST_CHECK;
void throttling_release(struct throttling *);
static inline bool throttling_is_on(const struct throttling *throttling)
{
	return throttling->passes.count > 0;
}
/* Another list of throttles is configured, or the same one. All groups end: their tasks move to the
 * head of this list. */
void throttling_configure(struct throttling *, struct link *queued, mtime now);
/* The name itself, if a throttle of the present list has this very text; else a static text, as
 * that of a throttle which is not configured any more will be freed. */
const char *throttling_name(const struct throttling *, const char *name);
/* The delivery has come, with its keys for the present throttles. */
static inline void throttling_arrived(
	const struct throttling *throttling, struct delivery *delivery)
{
	delivery->keys_for = throttling->list;
}

/* Begin a turn: groups whose time has come are due, and holds whose time is over end; all of them
 * if there are other figures, or the machine was suspended. */
void throttling_begin_turn(struct throttling *, uint32_t window, mtime boot, mtime now);
/* throttling_ask will be called soon with the first THROTTLING_AHEAD tasks of this list. */
#define THROTTLING_AHEAD 16
void throttling_expect(const struct throttling *, const struct link *queued);
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
/* A session was taken out of its group. */
void throttling_session_left(struct throttle_group *, mtime now);
mtime throttling_deadline(const struct throttling *);
/* The turn ends; so many tasks wait for a throttle. */
void throttling_end_turn(struct throttling *, uint32_t waiting, mtime now);
/* True: few or no tasks may start, so none is fetched, and what waits goes back: it would be
 * unacked for too long. Not with sessions. */
static inline bool throttling_is_closed(const struct throttling *throttling)
{
	return throttling->closed.until != 0;
}
/* How many tasks may start before those that wait are kept for too long; UINT32_MAX: any number. */
uint32_t throttling_supply(const struct throttling *);
/* Since when tasks wait for a throttle, with breaks of a second at most; MTIME_NEVER: none does. */
mtime throttling_since(const struct throttling *, mtime now);

#endif
