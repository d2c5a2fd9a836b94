/* The sessions of a pool, for the API, the page and the log. Layer: core, pure. Copies of the
 * moment of the call; nothing here changes a pool, and no decision uses it. */
#ifndef CORE_SESSION_FACTS_H
#define CORE_SESSION_FACTS_H

#include "core/pool.h"

/* The texts are an interface (docs/control.md). */
#define SESSION_STATES(X)                                                                          \
	X(SESSION_READY, "ready")       /* its next task waits for its turn */                     \
	X(SESSION_RUNNING, "running")   /* a worker has a task of it, or it waits to run alone */  \
	X(SESSION_PARKED, "parked")     /* its front task waits for its next attempt */            \
	X(SESSION_BLOCKED, "blocked")   /* its front task failed for good; an operator decides */  \
	X(SESSION_PAUSED, "paused")     /* by command */                                           \
	X(SESSION_WAITING, "waiting")   /* for a place: max_active */                              \
	X(SESSION_DETACHED, "detached") /* its next task waits for its redelivery */               \
	X(SESSION_HELD, "held")         /* its next task waits for the end of takeover_delay */    \
	X(SESSION_IDLE, "idle")         /* it has no task */

enum session_state {
#define X(state, text) state,
	SESSION_STATES(X)
#undef X
		SESSION_STATE_COUNT
};

/* Why a session ended. */
#define SESSION_ENDS(X)                                                                            \
	X(SESSION_END_IDLE, "idle") /* its idle time is over, or it is none */                     \
	X(SESSION_END_DRAINED, "drained")                                                          \
	X(SESSION_END_CLOSED, "closed")                                                            \
	X(SESSION_END_ABORTED, "aborted")                                                          \
	X(SESSION_END_FORGOTTEN, "forgotten") /* idle, and max_sessions were remembered */

enum session_end {
#define X(end, text) end,
	SESSION_ENDS(X)
#undef X
		SESSION_END_COUNT
};

/* Why a channel was renewed or given back. */
#define RENEWALS(X)                                                                                \
	X(RENEWAL_AGE, "age")           /* a message was unacked for max_unacked_age */            \
	X(RENEWAL_PAUSE, "pause")       /* the pool is paused */                                   \
	X(RENEWAL_WORKERS, "workers")   /* no worker lives */                                      \
	X(RENEWAL_PREFETCH, "prefetch") /* another prefetch is configured */

enum renewal {
#define X(renewal, text) renewal,
	RENEWALS(X)
#undef X
		RENEWAL_COUNT
};

struct session_facts {
	struct text key; /* borrowed until the next step */
	enum session_state state;
	mtime since;                  /* it is in this state */
	mtime due;                    /* PARKED: the next attempt; else MTIME_NEVER */
	enum reason reason;           /* PARKED, BLOCKED: why; else REASON_NONE */
	uint32_t high, normal;        /* tasks that wait behind the front one */
	const struct delivery *front; /* begun, parked or blocked; NULL: none; borrowed until
					 the next step */
};

/* Of the pool as a whole; totals count from its start. */
struct session_counts {
	uint32_t by_state[SESSION_STATE_COUNT];
	uint32_t remembered; /* all of them */
	uint32_t active;     /* begun and not ended */
	uint32_t stuck;      /* unacked messages that cannot run now */
	mtime oldest_wait;   /* since when the first READY one waits; MTIME_NEVER: none */
	uint64_t used_up;    /* turns that used up their quantum while another session waited */
	uint64_t ended[SESSION_END_COUNT];
	uint64_t reattached, given_up; /* deliveries */
	uint64_t renewals[RENEWAL_COUNT];
};

/* All zero, oldest_wait MTIME_NEVER: the pool has no sessions. O(states). */
struct session_counts pool_session_counts(const struct pool *);
/* The sessions are numbered from 0 to remembered - 1. A session that ends gives its number to the
 * last one; so a caller that ends sessions walks from the last number to 0. */
struct session_facts pool_session_facts(const struct pool *, uint32_t number);
/* False: no session has that key. */
bool pool_session_find(const struct pool *, struct text key, struct session_facts *ret);
const char *session_state_name(enum session_state);
const char *session_end_name(enum session_end);
const char *renewal_name(enum renewal);

#endif
