/* Tasks without a key in a pool with sessions. They run in any order, but their channel may go
 * while they run: what a worker has, or has ended, must be recognised when its message comes again.
 * So while the pool lives, has the token, and its acks arrive, no message runs twice at once in it,
 * and none that has ended runs again. A message and each copy of it count as several: they are
 * known by the broker's number of the instance. */
#ifndef SIM_ORDER_LOOSE_H
#define SIM_ORDER_LOOSE_H

#include "sim/account.h"

#define LOOSE_MAX       256
#define LOOSE_DELIVERED 1024 /* more than all windows together */

struct notice;
struct pool_runtime;
struct worker_task;

enum loose_state {
	LOOSE_WAITING, /* for a worker */
	LOOSE_RUNNING,
	LOOSE_ENDED, /* only its ack is missing, or a publish before it */
};

struct loose_task {
	const struct delivery *delivery; /* the pool's; never read */
	uint64_t instance, tag;
	uint32_t requeues; /* of the instance, before it was delivered */
	uint64_t task_id;  /* RUNNING */
	enum loose_state state;
	bool is_detached, is_suspect;
	bool was_attached; /* it has come again while a worker had it, or after that */
};

/* What a pool has in hand: first what its channel has delivered, then what is detached. */
struct loose {
	uint32_t count;
	struct loose_task tasks[LOOSE_MAX];
	bool is_done[ACCOUNT_INSTANCES_MAX]; /* its last run here came to its end */
};

/* What the broker has put on a connection. */
struct loose_delivery {
	const struct broker_connection *connection; /* never read */
	uint64_t instance, tag;
	uint32_t requeues;
};

/* What becomes of the instances in the whole run. */
struct loose_facts {
	uint64_t deliveries;
	struct loose_delivery delivered[LOOSE_DELIVERED]; /* the latest ones, in a ring */
	bool is_any_gone; /* the broker has dropped something: what follows is passed over */
	uint8_t bits[ACCOUNT_INSTANCES_MAX];
};

/* A pool starts. */
void order_loose_begin(struct pool_runtime *);
/* The channel delivers a message. */
void order_loose_comes(struct pool_runtime *, const struct delivery *);
/* The pool has found both to be the same message. */
void order_loose_same(
	struct pool_runtime *, const struct delivery *known, const struct delivery *delivery);
void order_loose_sent(struct pool_runtime *, struct worker_task *, const struct delivery *);
void order_loose_answered(struct pool_runtime *, const struct worker_task *);
void order_loose_gone(struct pool_runtime *, const struct worker_task *, bool is_suspect);
void order_loose_told(struct pool_runtime *, const struct notice *);
/* Its caller is to be told that it may not start. */
void order_loose_refused(struct pool_runtime *, const struct delivery *);
void order_loose_acked(struct pool_runtime *, uint64_t tag, bool multiple);
/* The channel is gone. */
void order_loose_detach(struct pool_runtime *);
/* Nothing of what is detached comes any more; or it may. */
void order_loose_give_up(struct pool_runtime *, bool may_repeat);
/* The pool has lost the token: another supervisor may run all that it has. */
void order_loose_lose(struct pool_runtime *);
/* In a stop in good order all that has ended is acked before. */
void order_loose_check_closing(const struct pool_runtime *);
/* The pool has ended: all may run again. */
void order_loose_end(struct pool_runtime *);
/* The broker has taken an instance back. */
void order_loose_requeued(struct loose_facts *, uint64_t instance);
/* The pool's delivery, or NULL: it has a key, or is not in hand. */
struct loose_task *order_loose_find(const struct pool_runtime *, const struct delivery *);

#endif
