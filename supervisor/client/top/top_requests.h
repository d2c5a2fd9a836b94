/* Which request `wpool top` sends when, and what happens to the answer. Layer: client.
 * Once a second the status with the pools, then the workers of the chosen pool. Before them the
 * orders that the operator gave by keys, one after the other, so that pressing "one more" three
 * times adds three workers. */
#ifndef CLIENT_TOP_TOP_REQUESTS_H
#define CLIENT_TOP_TOP_REQUESTS_H

#include "client/api_client.h"
#include "client/top/top_model.h"
#include "client/verbs.h"

#define TOP_ORDERS_MAX 16

/* A verb that the operator has chosen for a pool; removed when the supervisor has answered. */
struct top_order {
	const struct api_verb *verb;
	int by;                    /* takes_workers: how many more */
	char path[VERB_PATH_SIZE]; /* takes_slot: of the POST; empty: it is made when it is sent */
	char *pool;                /* owned */
};

/* Zeroed: empty. */
struct top_orders {
	struct top_order list[TOP_ORDERS_MAX];
	size_t count;
};

/* False: there are too many, or no memory. */
bool top_orders_add(struct top_orders *, const struct api_verb *, int by, const char *pool);
/* The same for a task of the worker in this slot. */
bool top_orders_add_kill(struct top_orders *, const struct api_verb *, const char *pool,
	const char *slot, double task, bool gives_up);
/* Make the path of the POST for the first order. pool: its latest JSON. */
void top_orders_path(const struct top_orders *, const json_t *pool, char path[VERB_PATH_SIZE]);
/* Remove the first one. */
void top_orders_drop(struct top_orders *);
void top_orders_release(struct top_orders *);

struct top_requests {
	struct api_client client;
	struct top_orders orders;
	enum top_question question; /* on its way, or next */
	mtime due;                  /* not before */
	bool is_waiting;            /* for an answer */
	bool is_order;              /* the answer is to the first order */
	char *asked;                /* owned: the pool whose workers are asked for */
	char path[VERB_PATH_SIZE];  /* of the order */
};

/* As api_client_init. */
enum rc top_requests_init(
	struct top_requests *, const char *socket, const char **ret_why) MUST_CHECK;
void top_requests_release(struct top_requests *);
/* Send this verb for the chosen pool; the model's message shows the result. */
void top_requests_order(struct top_requests *, struct top_model *, const struct api_verb *, int by);
/* The same for the slot and the task that the model has: those that the operator was shown. */
void top_requests_kill(
	struct top_requests *, struct top_model *, const struct api_verb *, bool gives_up);
/* Another pool was chosen: ask for its workers at once. */
void top_requests_hurry(struct top_requests *);
/* Send what is due, and wait until there is an answer, one of fds is readable, or a second has
 * passed. */
void top_requests_turn(
	struct top_requests *, struct top_model *, struct curl_waitfd fds[], unsigned count);

#endif
