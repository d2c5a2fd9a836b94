/* Sessions: messages with the same key run one at a time and in order. Layer: core. A session has
 * two lanes, high and normal; each keeps the order in which the broker delivered its messages, in
 * which they run and in which they are acked. Sessions that can run stand in one ring, and the
 * first one gives the next task. A session whose task runs is not in the ring; later it returns to
 * the head while some of its quantum is left, else to the tail. Messages without a key together
 * have one place in the ring. A failed task stays at the front of its session until its next
 * attempt. When the channel is lost, deliveries with a key stay in their lanes as detached: a
 * redelivery of the same message attaches them again, and only then they are sent or acked. Those
 * without a key are detached, too, unless they wait for a worker. Chooses no worker and sends
 * nothing (dispatch.h). Owns the deliveries that wait in lanes, and those that are detached unless
 * they are in a pipe or in the outbox. */
#ifndef CORE_SESSIONS_SESSIONS_H
#define CORE_SESSIONS_SESSIONS_H

#include "core/pool_config.h"
#include "core/session_handover.h"
#include "core/sessions/key_table.h"
#include "core/sessions/naming.h"

struct sessions {
	const struct pool_config *config; /* borrowed until sessions_free, like outbox */
	struct outbox *outbox;
	struct key_table by_key;
	struct session **all; /* owned */
	uint32_t count, size; /* of all: used and allocated */
	struct link ring;
	struct turn unkeyed;     /* of the messages without a key */
	uint64_t unkeyed_last;   /* the id of the latest task sent when one of them began */
	uint64_t unkeyed_before; /* the same, at the end of their turn before */
	struct link idle;        /* IDLE sessions, the longest idle first */
	struct link waiting;     /* WAITING ones, in order */
	struct link held;        /* HELD ones, until held_until */
	struct link unnamed;     /* HELD ones, until the token names their next task */
	struct naming naming;
	struct link overdue;        /* RUNNING ones that were aborted and whose time is over */
	struct link lost;           /* detached deliveries without a key, in the broker's order */
	struct link keyed_lost;     /* those with a key, by their places in the ledger */
	struct link spares;         /* memory of sessions that have ended, for others */
	uint32_t spare_count;       /* SPARES_MAX at most */
	struct timers timers;       /* of PARKED and aborted ones */
	mtime held_until;           /* what was redelivered does not run before */
	uint32_t waiting_count;     /* QUEUED deliveries of all sessions */
	uint32_t detached;          /* deliveries */
	uint32_t settled;           /* how many of those miss only their redelivery, to be acked */
	uint32_t with_inherited;    /* sessions with something inherited */
	uint32_t active, throttled; /* sessions: with a place; whose next task is throttled */
	uint32_t by_state[SESSION_STATE_COUNT];
	uint32_t waiting_in[SESSION_STATE_COUNT]; /* their deliveries that wait */
	uint64_t last_life;
	/* totals */
	uint64_t used_up, reattached, given_up, ended[SESSION_END_COUNT], renewals[RENEWAL_COUNT];
};

/* Both are borrowed. NULL: out of memory. */
struct sessions *sessions_new(const struct pool_config *, struct outbox *);
/* Forget all sessions, and free the deliveries that are owned. NULL is allowed. */
void sessions_free(struct sessions *);

/* The session with this key, or NULL. */
struct session *sessions_find(const struct sessions *, struct text key);
/* The session with this key; it is made if there is none. Over max_sessions, the one that is idle
 * for the longest time is forgotten. NULL: out of memory. */
struct session *sessions_open(struct sessions *, struct text key, mtime now);

/* Append the delivery, which is in the ledger and has its session, to its lane: it waits. */
void sessions_append(struct sessions *, struct delivery *, mtime now);
/* Put back a task of a pipe that was not begun, or whose attempt does not count: it is next. */
void sessions_put_back(struct sessions *, struct delivery *, mtime now);
/* The first task of the ring, or NULL. unkeyed: the first one without a key, or NULL. */
struct delivery *sessions_next(const struct sessions *, struct delivery *unkeyed);
/* The task, which was next in its session, is sent, or waits for a worker of its own. */
void sessions_begin(struct sessions *, struct delivery *, mtime now);
/* A task without a key waits. */
void sessions_unkeyed_waits(struct sessions *);
/* A task without a key was taken from those that wait; is_empty: it was the last one. last_id: of
 * all tasks sent so far. */
void sessions_unkeyed_begins(struct sessions *, uint64_t last_id, bool is_empty);
/* The task's attempt is over, and took so much of its worker's time: charge the turn in which it
 * was sent. */
void sessions_charge(struct sessions *, const struct delivery *, mtime took);

/* What becomes of the front task after its attempt. It leaves its session: the next one may run. */
void sessions_leave(struct sessions *, struct delivery *, mtime now);
/* Its next attempt is due after delay. */
void sessions_park(struct sessions *, struct delivery *, enum reason, mtime delay, mtime now);
/* The session is blocked until an operator decides. */
void sessions_block(struct sessions *, struct delivery *, enum reason, mtime now);
/* The rest of its work waits at the head of its lane. */
void sessions_continue(struct sessions *, struct delivery *, mtime now);

/* By command: this life of the session ends after so many of its tasks. */
void sessions_end_after(
	struct sessions *, struct session *, uint32_t tasks, enum session_end, mtime now);
/* By command, and when its task begins; if it has, its worker is ended after limits.grace. */
void sessions_abort(
	struct sessions *, struct session *, enum session_rest, bool is_begun, mtime now);
/* The running task of an aborted session whose grace is over, once; or NULL. */
struct delivery *sessions_take_overdue(struct sessions *);
/* Pause or resume it. */
void sessions_pause(struct sessions *, struct session *, bool is_paused, mtime now);
/* Its front task, which is parked or blocked, is next at once. */
void sessions_retry(struct sessions *, struct session *, mtime now);
/* Take a task that waits out of its session: the first one that is not begun, or a front task that
 * no worker has. NULL: there is none. */
struct delivery *sessions_take_waiting(struct sessions *, struct session *, mtime now);

/* The delivery, which has a key or is detached, is settled: it and those behind it in its lane that
 * are settled, too, are released (source.h) or rejected when all before them are. */
void sessions_settle(struct sessions *, struct delivery *);
/* The delivery was acked, rejected or given up, and no worker has it any more: it moves in. */
void sessions_remove(struct sessions *, struct delivery *, mtime now);

/* The channel of the delivery is lost: take it out of the ledger; it is detached. From the latest
 * to the oldest: what is detached already comes behind them, because the broker had not delivered
 * it again. One that has no key and waits for a worker is in no list of dispatch any more. */
void sessions_detach(struct sessions *, struct delivery *, mtime now);
/* A message has come, and is not in the ledger yet. Return the detached delivery that it attaches
 * again, or NULL; give up each that it proves will not come back. is_early: it has no session. */
struct delivery *sessions_match(struct sessions *, struct delivery *, bool is_early, mtime now,
	bool (*is_same)(void *io, const struct delivery *, const struct delivery *), void *io);
/* A detached delivery without a key whose attempt does not count waits for a worker again: free it,
 * because its redelivery is as good. */
void sessions_forget_lost(struct sessions *, struct delivery *);
/* The detached delivery that sessions_match returned is in the ledger again. */
void sessions_reattached(struct sessions *, struct delivery *, mtime now);
/* Give up all that is detached, and what was inherited. */
void sessions_give_up_all(struct sessions *, mtime now);
/* Resume what operators have paused. */
void sessions_resume_all(struct sessions *, mtime now);

/* Call hand_over for what the next holder must know. */
void sessions_hand_over(const struct sessions *,
	void (*hand_over)(void *io, const struct session_handover *), void *io, mtime now);
/* Take over what an orderly holder has left; it is applied when the message is delivered again.
 * Without memory it is forgotten. */
void sessions_take_over(struct sessions *, const struct session_handover *, mtime now);

/* What was redelivered does not run before this time, nor does what comes behind it. */
void sessions_hold(struct sessions *, mtime until);
bool session_is_held(const struct sessions *, const struct session *, mtime now);

/* Another configuration. */
void sessions_configured(struct sessions *, mtime now);
/* Begin a turn: wake what is due. */
void sessions_wake(struct sessions *, mtime now);
/* End the turn: end sessions that are idle for long enough, or some if they are very many. */
void sessions_end_idle(struct sessions *, mtime now);
mtime sessions_deadline(const struct sessions *);

#endif
