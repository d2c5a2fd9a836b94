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
#include "sim/order_hand.h"
#include "sim/random.h"

struct consumer_config;
struct pool_runtime;
struct world;
struct worker_task;

/* What becomes of a message in the whole run. */
struct ordered {
	uint8_t key;       /* 0: it has none, or an invalid one, or its time has not come... */
	uint8_t later_key; /* ...and this is the one it will have (order_later.h) */
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
	bool is_on;           /* this run has sessions */
	bool is_single;       /* the queue has a single active consumer */
	bool has_token;       /* several supervisors may serve it */
	bool is_restless;     /* they are often stopped and killed */
	uint8_t named_deaths; /* of holders that named what they ran */
	/* the latest pool that became active, or NULL */
	const struct pool_runtime *holder;
	/* the token's queue may be purged or deleted: then nothing remembers the window, and all
	 * supervisors have the same */
	bool token_vanishes;
	uint32_t runs;  /* of pools, so far: each has another name in the token */
	bool has_twins; /* some messages are equal (order_twins.h) */
	struct session_config config;
	uint16_t prefetch;      /* that supervisors start with */
	uint16_t used;          /* the window of the last consumer; 0: there was none */
	uint32_t keys;          /* in use */
	uint32_t keyed_share;   /* of the messages, in thousandths */
	bool is_required;       /* a message without a key is rejected */
	uint32_t later, copies; /* messages with a key and a time; their copies, numbered too */
	struct random random;   /* so that all runs without sessions stay as they are */
	/* By key and lane: the first message whose ack was lost, or which the broker has dropped;
	 * pools give up the rest when it comes again, or when the next one does. 0: none. */
	struct {
		uint32_t id, channels; /* channels: so many were opened when it was lost */
	} lost[ORDER_KEYS_MAX + 1][2];
	uint32_t channels; /* so many were opened */
	struct loose_facts loose;
	struct ordered message[ACCOUNT_MESSAGES_MAX + 1]; /* by id: the order of arrival */
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
void order_delivered(struct order *, uint64_t instance, uint32_t requeues, uint64_t tag,
	const struct broker_connection *);
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
/* Its key that it has, or will have when its time has come. */
static inline uint8_t order_any_key(const struct order *order, uint32_t id)
{
	const struct ordered *message = &order->message[id];

	return message->key ? message->key : message->later_key;
}
static inline bool order_has_key(const struct order *order, uint32_t id)
{
	return order->is_on && order->message[id].key > 0;
}

#endif
