/* What a pool of a run with sessions has in hand, as it must be (order.h). Layer: simulator, plain
 * data. */
#ifndef SIM_ORDER_HAND_H
#define SIM_ORDER_HAND_H

#include "core/event.h"
#include "sim/account.h"
#include "sim/order_loose.h"
#include "sim/order_takeover.h"

#define ORDER_KEYS_MAX  6   /* sessions of a run, numbered from 1; 0: the messages without a key */
#define ORDER_POOLS_MAX 2   /* of a supervisor: one, and the one that replaces it */
#define HAND_MAX        256 /* messages with a key that a pool has in hand */

enum hand_state {
	HAND_NONE,    /* not in hand, or acked */
	HAND_WAITING, /* for a worker */
	HAND_RUNNING,
	HAND_PARKED,  /* its attempt has failed; another one follows */
	HAND_BLOCKED, /* the same; an operator decides */
	HAND_ENDED,   /* only its ack is missing */
};

struct held {
	enum hand_state state;
	bool is_detached; /* its channel is gone */
	bool is_front;    /* it was sent, and goes before all others of its session */
	/* order_takeover.h */
	bool is_redelivered, is_named, is_poison;
	bool has_rest; /* of its work: the next attempt gets that */
	bool is_suspect;
	bool is_refused;   /* BLOCKED: by a throttle, which counts no attempt */
	bool is_postponed; /* by its worker, which counts no attempt */
	bool is_aborted;   /* RUNNING: what is not done of it goes where `rest` sends it */
	enum session_queued rest;
	uint16_t failures;
	uint32_t life; /* counts what came to the pool and was not in hand */
	uint64_t tag;
	mtime due; /* PARKED */
};

/* The message that the token names, or is to name. */
struct naming_seen {
	uint8_t key; /* 0: none */
	bool is_high, is_confirmed;
};

/* What a pool has in hand. */
struct hand {
	uint32_t count, lives;
	uint32_t ids[HAND_MAX]; /* in order of their arrival */
	struct held held[ACCOUNT_MESSAGES_MAX + 1];
	bool is_paused[ORDER_KEYS_MAX + 1];
	bool had_work[ORDER_KEYS_MAX + 1];
	mtime idle_since[ORDER_KEYS_MAX + 1]; /* MTIME_NEVER: it has work */
	/* something else than idle time may end sessions, or that time has changed */
	bool is_unsteady;
	mtime heard_at;                      /* the channel consumes, or has delivered something */
	uint64_t ending[ORDER_KEYS_MAX + 1]; /* the life that an operator ends */
	uint64_t life[ORDER_KEYS_MAX + 1];   /* of its sessions; 0: there is none */
	/* Since a session (the second index) waits for its turn without a break: how many tasks of
	 * another one were sent, and how long workers took for them. */
	uint32_t sent[ORDER_KEYS_MAX + 1][ORDER_KEYS_MAX + 1];
	mtime worked[ORDER_KEYS_MAX + 1][ORDER_KEYS_MAX + 1];
	mtime unkeyed_worked; /* what tasks without a key took since their turn began */
	struct loose loose;   /* without a key */
	/* order_takeover.h */
	bool is_standby; /* another supervisor may have the token */
	mtime held_until, careful_until;
	struct naming_seen named;
	struct heritage heritage[ORDER_KEYS_MAX + 1][2];
	uint32_t passed; /* facts that were handed over */
};

#endif
