/* The sessions of a run, as they must be: what each pool has in hand of each session, made from
 * what the simulator itself sees (deliveries, sends, answers, acks), and the checks of guarantee 5
 * of the contract against it. Channels are lost and messages come again: a redelivery that is not
 * the next one of its lane makes the pool forget what it had of that lane.
 */
#ifndef SIM_ORDER_H
#define SIM_ORDER_H

#include "core/effects.h"
#include "core/pool_config.h"
#include "sim/order_choose.h"
#include "sim/order_loose.h"
#include "sim/random.h"

#define ORDER_KEYS_MAX 6   /* sessions of a run, numbered from 1; 0: the messages without a key */
#define HAND_MAX       256 /* messages with a key that a pool has in hand */

struct consumer_config;
struct pool_runtime;
struct world;
struct worker_task;

/* What becomes of a message in the whole run. */
struct ordered {
	uint8_t key; /* 0: it has none, or an invalid one */
	bool is_high;
	uint64_t instance;
	uint32_t twins;   /* the first one of those that are equal; 0: no other one is */
	bool has_passed;  /* those behind it in its lane may begin */
	bool is_gone;     /* the broker has it no more */
	bool is_acked;    /* by a pool; the broker may not know it yet */
	bool is_done;     /* its last run came to its end... */
	bool is_disposed; /* an operator has given it up */
	bool may_repeat;  /* ...and something happened that excuses another one */
};

struct order {
	bool is_on;     /* this run has sessions */
	bool is_single; /* the queue has a single active consumer */
	bool has_twins; /* some messages are equal (order_twins.h) */
	struct session_config config;
	uint16_t prefetch;    /* the window of the last consumer */
	uint32_t keys;        /* in use */
	uint32_t keyed_share; /* of the messages, in thousandths */
	bool is_required;     /* a message without a key is rejected */
	struct random random; /* so that all runs without sessions stay as they are */
	/* By key and lane: the first message whose ack was lost, or which the broker has dropped;
	 * pools give up the rest when it comes again, or when the next one does. 0: none. */
	struct {
		uint32_t id, channels; /* channels: so many were opened when it was lost */
	} lost[ORDER_KEYS_MAX + 1][2];
	uint32_t channels; /* so many were opened */
	struct loose_facts loose;
	struct ordered message[ACCOUNT_MESSAGES_MAX + 1]; /* by id: the order of arrival */
};

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
	bool is_suspect;
	bool is_aborted; /* RUNNING: what is not done of it goes where `rest` sends it */
	enum session_queued rest;
	uint16_t failures;
	uint32_t life; /* counts what came to the pool and was not in hand */
	uint64_t tag;
	mtime due; /* PARKED */
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
	struct loose loose; /* without a key */
};

/* A pool starts with nothing in hand; or it is gone. */
void order_begin(struct pool_runtime *);
void order_end(struct pool_runtime *);
/* Before and after a step of the pool. */
void order_event(struct pool_runtime *, const struct event *);
void order_stepped(struct pool_runtime *, const struct event *);
/* The effects of a pool. */
void order_sent(struct pool_runtime *, struct worker_task *, const struct delivery *);
void order_acked(struct pool_runtime *, uint64_t tag, bool multiple);
void order_rejected(struct pool_runtime *, uint64_t tag, enum reject);
void order_requested(const struct pool_runtime *, enum source_request, uint32_t window);
void order_told(struct pool_runtime *, const struct notice *);
/* The worker has answered the task, before the pool knows. */
void order_answered(struct pool_runtime *, const struct worker_task *, const struct output *);
/* The same, and now the pool knows. */
void order_after_answer(struct pool_runtime *, const struct worker_task *);
/* A worker had this task and is gone; the pool knows. */
void order_gone(struct pool_runtime *, const struct worker_task *, bool is_suspect);
/* The broker has delivered an instance, has settled it, or taken it back. */
void order_delivered(struct order *, uint64_t instance, uint32_t requeues, uint64_t tag);
void order_settled(struct order *, uint32_t id, uint64_t instance, bool is_requeued);
/* The broker has dropped it; or all, with their queue. */
void order_dropped(struct order *, uint32_t id);
void order_vanished(struct order *);
/* The instance of a delivery that the pool has; 0: not known. */
uint64_t order_instance(const struct pool_runtime *, const struct delivery *);
/* Nothing is in hand, and no session is paused. */
bool order_is_at_rest(const struct pool_runtime *);
/* Mark what an operator gives up: it becomes a dead letter, or is lost. */
void order_dispose(struct pool_runtime *, uint32_t id, enum session_queued);
/* It is done, or given up: those behind it may begin. */
void order_pass(struct pool_runtime *, uint32_t id);
/* False: no worker can get it. */
bool order_is_fit(const struct pool_runtime *, uint32_t id);
/* The failed attempts that the pool remembers of a message with a key. */
uint16_t order_failures(const struct pool_runtime *, uint32_t id);
static inline bool order_has_key(const struct order *order, uint32_t id)
{
	return order->is_on && order->message[id].key > 0;
}

#endif
