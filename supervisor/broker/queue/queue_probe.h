/* Find out how the queue of a pool was declared: for sessions, whether it keeps the order of what
 * comes back, and how; and what differs from the operator's arguments. Layer: broker, pure but for
 * the declare. A passive declare shows no argument; another one is refused with a 406 that names
 * the first argument that differs and its value. So we declare the queue again, take over that
 * value, and repeat on the next channel, until the broker accepts. That changes nothing about the
 * queue. A policy stays unknown. */
#ifndef BROKER_QUEUE_QUEUE_PROBE_H
#define BROKER_QUEUE_QUEUE_PROBE_H

#include "amqp/channel.h"

/* What the order rests on. The texts are an interface (docs/control.md). */
#define QUEUE_ORDERS(X)                                                                            \
	X(QUEUE_ORDER_UNKNOWN, "unknown") /* not found out yet, or no sessions */                  \
	X(QUEUE_ORDER_SINGLE, "single-active-consumer")                                            \
	X(QUEUE_ORDER_ALONE, "no-other-consumer") /* a quorum queue: wait until it has none */     \
	X(QUEUE_ORDER_HIDDEN, "hidden")           /* the broker does not show it: like ALONE */    \
	X(QUEUE_ORDER_NONE, "none")               /* a classic queue or a stream: not usable */

enum queue_order {
#define X(order, text) order,
	QUEUE_ORDERS(X)
#undef X
};

#define PROBE_KEY_SIZE   40
#define PROBE_VALUE_SIZE 160

enum probe_kind { PROBE_NUMBER, PROBE_STRING, PROBE_BOOL };

struct probe_argument {
	enum probe_kind kind;
	char key[PROBE_KEY_SIZE], string[PROBE_VALUE_SIZE];
	int64_t number; /* also of a boolean */
};

struct queue_probe {
	struct probe_argument arguments[AMQP_ARGUMENTS_MAX]; /* the next declare's */
	size_t count;
	unsigned refusals; /* since the broker last accepted */
	enum queue_order order;
};

/* Begin with our own arguments: a quorum queue with a single active consumer and without a delivery
 * limit. The queue may be missing. */
void queue_probe_init(struct queue_probe *);
/* The same without a single active consumer. */
void queue_probe_init_unordered(struct queue_probe *);
/* Add an argument to those of the next declare, if there is space. */
void queue_probe_add(struct queue_probe *, const struct probe_argument *);
/* The argument of the next declare, or of the queue after it was accepted; NULL: it has none of
 * that name. Borrowed until the next call. */
const struct probe_argument *queue_probe_find(const struct queue_probe *, struct text key);
/* As channel_declare_queue takes it; borrowed from the argument. */
struct amqp_argument queue_probe_argument(const struct probe_argument *);
/* Declare it. */
void queue_probe_declare(
	const struct queue_probe *, struct connection *, uint16_t channel, struct text queue);
/* The broker accepted: order is known. */
void queue_probe_accepted(struct queue_probe *);
/* The broker closed the channel for the declare. True: declare again on the next channel. False:
 * order is known, except UNKNOWN after another problem than a refusal. */
bool queue_probe_refused(struct queue_probe *, uint16_t code, struct text reason);
/* The reply text of such a refusal shows that the queue is a classic one. */
bool queue_probe_is_classic(struct text reason);
/* The queue's own x-delivery-limit, after it was accepted; INT64_MAX: it has none, or ours. */
int64_t queue_probe_limit(const struct queue_probe *);
/* Likewise: it was declared with an x-delivery-limit. */
bool queue_probe_has_limit(const struct queue_probe *);
/* From RabbitMQ 4 on a quorum queue without a limit of its own has one of 20. */
bool queue_probe_has_default_limit(struct text version);
const char *queue_order_name(enum queue_order);

#endif
