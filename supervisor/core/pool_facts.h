/* What a pool looks like from outside, for those who watch it. Layer: core, pure.
 * Copies for the moment of the call; nothing here changes a pool or is asked by a decision. */
#ifndef CORE_POOL_FACTS_H
#define CORE_POOL_FACTS_H

#include "core/pool.h"
#include "core/workers/life.h"
#include "core/workers/scaling.h"

/* What it is doing, as a whole; the words are an interface (docs/control.md). */
#define POOL_STATES(X)                                                                             \
	X(POOL_IS_STARTING, "starting")     /* no worker has been ready yet */                     \
	X(POOL_IS_FAILING, "failing")       /* none is, and the last ones failed */                \
	X(POOL_IS_CONNECTING, "connecting") /* it would consume, but has no channel */             \
	X(POOL_IS_CONSUMING, "consuming")   /* as far as the pool knows: see consumer.h */         \
	X(POOL_IS_RESTING, "resting")       /* it takes nothing until there is room */             \
	X(POOL_IS_PAUSED, "paused")         /* by command */                                       \
	X(POOL_IS_DRAINING, "draining")     /* it finishes what is in hand, and leaves */          \
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
	uint16_t wanted;                       /* workers */
	uint16_t min, max;                     /* between which the pool chooses that; or equal */
	struct scaling scaling;                /* its latest change */
	bool is_rolling;                       /* they are being replaced, one by one */
	uint16_t ready;                        /* slots in LIFE_READY */
	uint16_t failing;                      /* slots whose last lives failed */
	uint32_t waiting;                      /* tasks that no worker has yet */
	uint32_t in_pipes;                     /* tasks that one has, begun or not */
	uint32_t unacked;                      /* all that the broker waits for */
	uint32_t window;                       /* how many it may hand over; 0: never asked */
	size_t unconfirmed, unconfirmed_bytes; /* replies and copies */
	uint64_t deliveries;                   /* since the start */
	mtime delivered_at;                    /* the last of them; MTIME_NEVER: none yet */
};

struct slot_counts {
	uint16_t by_state[LIFE_STATE_COUNT];
	uint16_t busy; /* of those in LIFE_READY: with a task */
	/* of those whose last lives failed; 0, MTIME_NEVER: there is none */
	uint32_t failures_max; /* in a row */
	mtime next_start;      /* the first; MTIME_NEVER also: all are on their way */
};

struct slot_facts {
	uint32_t life; /* of the present process, or the next one */
	enum life_state state;
	uint32_t failures;           /* lives in a row that failed */
	struct exit_info exit;       /* of the last one that ended unasked */
	const char *exit_for;        /* static words: why we ended it; NULL: we did not */
	mtime ended_at;              /* and when; MTIME_NEVER: none did */
	mtime next_start;            /* MTIME_NEVER: it is past that */
	uint32_t answers;            /* in this life */
	mtime ready_at;              /* MTIME_NEVER: not yet */
	enum recycle_reason due;     /* to be replaced, and why */
	uint16_t tasks;              /* in its pipe */
	const struct delivery *head; /* the one at work; borrowed until the next step; NULL: none */
	mtime since;                 /* when it was begun */
};

struct pool_facts pool_facts(const struct pool *);
/* O(slots). */
struct slot_counts pool_slot_counts(const struct pool *);
/* There are slots from 0 to below that; those not wanted any more are retired. */
uint16_t pool_slot_count(const struct pool *);
struct slot_facts pool_slot_facts(const struct pool *, uint16_t slot);
const char *pool_state_name(enum pool_state);

#endif
