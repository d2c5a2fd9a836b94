/* The sessions of a pool, for the API, the page and the log. Layer: core, pure. Copies of the
 * moment of the call; nothing here changes a pool, and no decision uses it. */
#ifndef CORE_SESSION_FACTS_H
#define CORE_SESSION_FACTS_H

#include "core/pool.h"
#include "core/sessions/session_kinds.h"

struct session_facts {
	uint32_t number; /* its present one: see pool_session_facts */
	uint64_t life;   /* unique in the pool and above 0: a key that comes back has another one */
	struct text key; /* borrowed until the next step */
	enum session_state state;
	mtime since;        /* it is in this state */
	mtime due;          /* PARKED: the end of that; HELD: the end of takeover_delay, unless
			       its next task waits to be named; else MTIME_NEVER */
	enum reason reason; /* why its front task failed last; REASON_NONE: it has not;
			       REASON_THROTTLED: its next task waits for a throttle, or may not
			       run because of one */
	uint32_t attempts;  /* of its front task that failed */
	bool is_paused;     /* it is, or will be when its task has ended */
	bool is_ending;     /* by command, which the next member names */
	enum session_end ending;
	uint32_t high, normal;        /* tasks that wait behind the front one */
	const struct delivery *front; /* begun, parked or blocked; NULL: none; borrowed until the
					 next step */
};

/* Of the pool as a whole; totals count from its start. */
struct session_counts {
	bool is_standby; /* another supervisor has the token */
	uint32_t by_state[SESSION_STATE_COUNT];
	uint32_t remembered; /* all of them */
	uint32_t active;     /* begun and not ended */
	uint64_t begun;      /* ever, also by a pause */
	mtime held_until;    /* HELD ones run then; in the past: when they are named */
	uint32_t stuck;      /* messages in hand that cannot run now */
	mtime oldest_wait;   /* since when the oldest of the READY ones waits; MTIME_NEVER: none */
	uint64_t used_up;    /* turns that used up their quantum while another session waited */
	uint64_t ended[SESSION_END_COUNT];
	uint64_t reattached, given_up; /* deliveries */
	uint64_t renewals[RENEWAL_COUNT];
};

/* All zero, oldest_wait MTIME_NEVER: the pool has no sessions. O(states + workers). */
struct session_counts pool_session_counts(const struct pool *);
/* The sessions are numbered from 0 to remembered - 1. A session that ends gives its number to the
 * last one; so a caller that ends sessions walks from the last number to 0. */
struct session_facts pool_session_facts(const struct pool *, uint32_t number);
/* False: no session has that key. */
bool pool_session_find(const struct pool *, struct text key, struct session_facts *ret);
/* Call on_task for each task of the session that is in hand, in the order in which they would run,
 * until it returns false. */
void pool_session_tasks(const struct pool *, uint32_t number,
	bool (*on_task)(void *ctx, const struct delivery *, bool is_front), void *ctx);

#endif
