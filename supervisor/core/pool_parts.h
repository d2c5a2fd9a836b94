/* The pool's inside, shared by its pool_*.c files alone. Layer: core.
 * Which file has which kind of event: pool_handlers.h; pool_settle.c carries out what settle.h
 * decides, pool_scale.c how many workers are wanted, pool_auto.c how many are needed,
 * pool_roll.c that each is replaced,
 * pool_recycle.c that one is. */
#ifndef CORE_POOL_PARTS_H
#define CORE_POOL_PARTS_H

#include "base/shelf.h"
#include "core/alarms.h"
#include "core/dispatch.h"
#include "core/pace.h"
#include "core/pool_auto.h"
#include "core/pool_handlers.h"
#include "core/pool_recycle.h"
#include "core/pool_roll.h"
#include "core/pool_scale.h"

enum pool_phase {
	POOL_RUNS,
	POOL_DRAINS, /* takes nothing new, finishes what is in pipes, waits for confirms */
	POOL_FORCED, /* killed its workers, gives everything back */
};

struct pool {
	struct pool_config config;
	const struct effects *effects;
	void *io;
	mtime now;    /* of the present step */
	mtime absent; /* what is told in it had not come by then */
	enum pool_phase phase;
	bool was_forced, told_drained, told_ignored, told_unasked;
	bool is_paused;                   /* by command */
	bool lacks_workers;               /* rests for want of them, and has told so */
	bool has_rested;                  /* for want of workers, or paused */
	mtime rests_since;                /* good when has_rested */
	bool is_lessened;                 /* the window, by what is set aside */
	bool is_scaled_up, is_rewindowed; /* and the window is not yet */
	mtime send_again;                 /* no memory, or enough was sent; MTIME_NEVER */
	struct shelf slots; /* of struct slot; those that are not wanted are retired */
	uint16_t wanted;    /* workers */
	uint16_t kept;     /* slots that are not leaving: wanted, spares, one more while it rolls */
	uint32_t passed;   /* the slots below were told to leave, if they are to and are idle */
	uint16_t leaves;   /* workers that were told to since the last turn's end */
	uint16_t starting; /* slots in LIFE_STARTING */
	mtime started_at;  /* the latest of them */
	uint16_t ready;    /* slots in LIFE_READY */
	uint16_t failing;  /* slots whose last lives came to nothing */
	uint16_t retired;  /* slots in LIFE_RETIRED */
	uint32_t generation; /* of the workers that are started now; each restart begins one */
	struct roll roll;
	struct recycle recycle;
	struct source source;
	struct outbox outbox;
	struct dispatch dispatch;
	struct alarms alarms;
	struct pace pace;
	struct autoscale autoscale;

	/* for those who watch: pool_facts.h */
	uint64_t deliveries;    /* taken since the start */
	mtime delivered_at;     /* the last of them; MTIME_NEVER: none yet */
	struct scaling scaling; /* the latest change of wanted */
};

/* How an attempt ended. */
struct ending {
	enum outcome outcome;
	enum reason reason;    /* OUTCOME_UNROUTABLE */
	struct exit_info exit; /* where a process ended */
	const char *what;      /* OUTCOME_BROKEN: static words; else NULL */
};

static inline struct slot *pool_slot(const struct pool *pool, uint32_t number)
{
	return pool->slots.at[number];
}

/* pool_slots.c: a fact of the pool's own, carried out by the table of life.h. */
void pool_slot_fact(struct pool *, struct slot *, enum life_fact);
/* True: its present life is a success by now, and its failures are those of the past. A pool whose
 * workers live for months need not wait for their ends to know. */
bool pool_slot_succeeds(struct pool *, struct slot *);
/* Its last lives came to nothing, and this one is no success so far. */
bool pool_slot_is_failing(const struct pool *, const struct slot *);
/* The pool drains and nothing is open in the slot: ask it to leave. */
void pool_slot_leave(struct pool *, struct slot *);
/* Whose fact that is; NULL: of a life that is over. */
struct slot *pool_slot_of(struct pool *, const struct event *);
/* kind, slot and life are filled in. */
void pool_tell_slot(struct pool *, enum notice_kind, const struct slot *, struct notice);
/* Its time is over: the alarm of its state, or the hard limit. */
void pool_slot_overdue(struct pool *, struct slot *, enum life_fact, const char *what);

/* The soft limits of the tasks that were sent in this turn. */
void pool_slots_started(struct pool *);

/* pool_settle.c */
/* A delivery is in the ledger: it waits for a worker, or is settled before any sees it. */
void pool_arrive(struct pool *, struct delivery *);
/* The attempt is over; moves in. An orphan is dropped. */
void pool_finish(struct pool *, struct delivery *, struct ending);
/* No further try, whatever is left of them; moves in. */
void pool_give_up(struct pool *, struct delivery *, enum reason);
/* All that waits for a worker goes back to the broker, as if never sent. */
void pool_hand_back(struct pool *);

/* pool_turn.c: wishes a window; what is in hand stays beside it. */
void pool_begin_consuming(struct pool *);
/* The end of consuming, for now: what is in hand stays. */
void pool_rest(struct pool *);

void pool_tell(struct pool *, struct notice);

#endif
