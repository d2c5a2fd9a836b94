/* The state of a pool, for the API and the log. Layer: core, pure. Copies of the moment of the
 * call; nothing here changes a pool, and no decision uses it. */
#ifndef CORE_POOL_FACTS_H
#define CORE_POOL_FACTS_H

#include "core/pool.h"
#include "core/workers/life.h"
#include "core/workers/scaling.h"

/* The pool as a whole. The texts are an interface (docs/control.md). */
#define POOL_STATES(X)                                                                             \
	X(POOL_IS_STARTING, "starting")     /* no worker has been ready yet */                     \
	X(POOL_IS_FAILING, "failing")       /* none is ready, and the last ones failed */          \
	X(POOL_IS_CONNECTING, "connecting") /* it wants to consume, but has no channel */          \
	X(POOL_IS_CONSUMING, "consuming")   /* see also consumer_is_consuming */                   \
	X(POOL_IS_STANDBY, "standby")       /* another supervisor has the token */                 \
	X(POOL_IS_RESTING, "resting")       /* until unacked ones are settled, or closed_until */  \
	X(POOL_IS_PAUSED, "paused")         /* by command */                                       \
	X(POOL_IS_DRAINING, "draining")     /* it finishes its tasks */                            \
	X(POOL_IS_STOPPING, "stopping")     /* by force */                                         \
	X(POOL_IS_STOPPED, "stopped")

enum pool_state {
#define X(state, text) state,
	POOL_STATES(X)
#undef X
};

#define X(state) +1
enum { LIFE_STATE_COUNT = 0 LIFE_STATES(X) };
#undef X

struct pool_facts {
	enum pool_state state;
	uint16_t wanted;          /* workers */
	uint16_t min, max;        /* the bounds of wanted; equal: it is fixed */
	struct scaling scaling;   /* its latest change */
	bool is_rolling;          /* they are being replaced, one by one */
	uint16_t ready;           /* slots in LIFE_READY */
	uint16_t failing;         /* slots whose last lives failed */
	uint32_t waiting;         /* tasks that no worker has yet */
	uint32_t in_pipes;        /* tasks that a worker has, begun or not */
	uint32_t suspects;        /* of those that wait: they wait for a worker of their own */
	uint32_t throttled;       /* of those that wait: a throttle lets them start later */
	const char *throttled_by; /* its name, of several the one that holds back most; NULL: none
				     does. Borrowed until another configuration */
	mtime throttled_since;    /* with breaks of a second at most; MTIME_NEVER: none does */
	bool are_all_accepted;    /* accepted tasks keep all workers, so none is fetched */
	mtime closed_until; /* a throttle lets so few tasks start that none is fetched; 0: not so */
	uint64_t delays;    /* tasks that had to wait for one, since the start */
	uint32_t unacked;   /* deliveries that are not settled */
	uint32_t window;    /* how many the broker may hand over; 0: not consumed yet */
	size_t unconfirmed, unconfirmed_bytes; /* replies and copies */
	uint64_t deliveries;                   /* since the start */
	mtime delivered_at;                    /* the last of them; MTIME_NEVER: none yet */
};

/* The ledger of the consuming channel. */
struct pool_unacked {
	uint32_t count;
	size_t bytes;                    /* of their bodies and properties */
	uint64_t oldest_tag, latest_tag; /* oldest_tag: UINT64_MAX: nothing is unacked */
	size_t memory;                   /* the configured target for bytes */
};

struct slot_counts {
	uint16_t by_state[LIFE_STATE_COUNT];
	uint16_t busy; /* of those in LIFE_READY: with a task */
	uint32_t open; /* tasks that workers have begun and not answered */
	/* of slots whose last lives failed; 0, MTIME_NEVER: there is none */
	uint32_t failures_max; /* in a row */
	uint16_t recovering;   /* how many of them are ready, and neither answered nor lived long */
	mtime next_start;      /* of the first of them; MTIME_NEVER also if all have been started */
};

struct slot_facts {
	uint32_t life; /* of the present process, or the next one */
	enum life_state state;
	uint32_t failures;       /* lives in a row that failed */
	struct exit_info exit;   /* of the last life that ended without being asked */
	const char *exit_for;    /* static text: why we ended it; NULL: we did not */
	struct text exit_detail; /* what it sent against the protocol; borrowed until the next
				    step; may be empty */
	mtime ended_at;          /* when it ended; MTIME_NEVER: none did */
	mtime next_start;        /* MTIME_NEVER: it has been started */
	uint32_t answers;        /* in this life */
	mtime ready_at;          /* MTIME_NEVER: not yet */
	enum recycle_reason due; /* why it is to be replaced */
	uint16_t tasks;          /* in its pipe */
	uint16_t open;           /* of these, those that it has begun: with concurrency all */
	const struct delivery
		*head; /* the oldest of them, begun; borrowed until the next step; NULL: none */
};

struct pool_facts pool_facts(const struct pool *);
/* How many workers it wants; also from within an effect. */
uint16_t pool_wanted(const struct pool *);
struct pool_unacked pool_unacked(const struct pool *);
/* O(slots). */
struct slot_counts pool_slot_counts(const struct pool *);
/* The number of slots, retired ones included. */
uint16_t pool_slot_count(const struct pool *);
struct slot_facts pool_slot_facts(const struct pool *, uint16_t slot);
/* True: a worker has the task with this id in its pipe. */
bool pool_has_task(const struct pool *, uint64_t id);
const char *pool_state_name(enum pool_state);

#endif
