/* Check and declare the queues of a pool: its own, the dead-letter queue, and one for each retry
 * delay. Layer: broker. Works step by step on the consuming channel: a passive declare checks (it
 * changes nothing and needs no permission), and only what is missing is made. A 404 closes the
 * channel, so a missing queue is made on the next one. Our queues are durable quorum queues without
 * a delivery limit: RabbitMQ 4's default of 20 would drop tasks that were only handed back.
 * Messages of a retry queue expire into the pool's queue, at least once, which requires x-overflow
 * reject-publish. It has no x-expires, because it would be deleted with its messages. The queue of
 * a pool with sessions is declared with a single active consumer; how an existing one was declared
 * is found out after the passive declare (broker/queue/queue_probe.h), also where it is to be
 * compared with arguments of the operator: then once on each connection. */
#ifndef BROKER_TOPOLOGY_H
#define BROKER_TOPOLOGY_H

#include "amqp/channel.h"
#include "broker/channel_log.h"
#include "broker/channel_refusal.h"
#include "broker/queue/queue_probe.h"
#include "broker/queue/queue_settings.h"
#include "core/tasks/retry.h"
#include "message/retry_queue.h"

enum declare { DECLARE_OFF, DECLARE_PASSIVE, DECLARE_ON };

/* The delays after which a pool retries. */
struct retry_plan {
	mtime delays[RETRY_DELAYS_MAX]; /* whole milliseconds; RetryAfterMilliseconds has others */
	size_t count;
	unsigned jitter; /* percent by which a wait may be longer */
};

/* What is known of a queue. */
enum topology_sight {
	TOPOLOGY_UNSEEN,
	TOPOLOGY_THERE,   /* it exists; how it was declared is unknown */
	TOPOLOGY_MISSING, /* it will be made on the next channel */
	TOPOLOGY_MADE,    /* made here, and not missing since */
};

/* The queues, in the order of the checks. */
enum topology_step {
	TOPOLOGY_QUEUE,       /* the one that is consumed */
	TOPOLOGY_DEAD_LETTER, /* where given-up tasks go */
	TOPOLOGY_RETRY,       /* the first of the retry queues; the others have the next numbers */
	TOPOLOGY_MAX = TOPOLOGY_RETRY + RETRY_DELAYS_MAX
};

struct topology {
	struct text queue, dead_letter;        /* dead_letter empty: left to the queue */
	const struct retry_plan *retry;        /* borrowed */
	struct queue_probe *probe;             /* borrowed; NULL: nothing is to be found out */
	bool is_ordered;                       /* the queue must keep the order; with a probe */
	const struct queue_settings *settings; /* borrowed; NULL: none */
	size_t bound;                          /* bindings that are there, while is_binding */
	bool is_binding;                       /* the request that was sent is of a binding */
	bool has_exchange;                     /* of that binding: its declaration was answered */
	size_t refused_binding;                /* on this connection; SIZE_MAX: none */
	size_t skipped_binding;                /* on the next connection; SIZE_MAX: none */
	struct channel_refusal binding;        /* why one was refused; kind NULL: none was */
	enum declare declare; /* for queue; the others are always made when missing */
	unsigned step;        /* an enum topology_step; after the last one: done */
	enum topology_sight sights[TOPOLOGY_MAX];
	bool is_note_logged; /* the durability note, for these sights */
	bool in_use;         /* as given to topology_begin */
	bool is_probing;     /* the declare that was sent is the probe's */
	bool is_compared;    /* with queue_arguments, on this connection */
	bool is_difference_logged;
	struct channel_refusal difference;   /* from queue_arguments; kind NULL: none is known */
	enum queue_order logged_order;       /* the last one that was logged */
	struct channel_refusal refusal;      /* why it does not consume; it was logged */
	char name[RETRY_QUEUE_NAME_MAX + 1]; /* of the retry queue of this step */
};

void topology_init(struct topology *, struct text queue, struct text dead_letter, enum declare,
	const struct retry_plan *);
/* What the operator asks of the queue, where wpool declares it: its arguments if it is missing, and
 * its bindings in any case. Borrowed as long as the topology. */
void topology_set_settings(struct topology *, const struct queue_settings *);
/* It declares the queue with arguments of the operator: an existing one is compared with them. */
bool topology_has_arguments(const struct topology *);
/* Find out how the queue was declared, after topology_set_settings: whether it keeps the order
 * (is_ordered: the pool has sessions), and what differs from the arguments. The probe is
 * initialised here, and borrowed as long as the topology. */
void topology_set_probe(struct topology *, struct queue_probe *, bool is_ordered);
/* The broker may accept now what it refused on the last connection. */
void topology_on_connected(struct topology *);
/* QUEUE_ORDER_UNKNOWN: order does not matter, or it is not found out yet. */
enum queue_order topology_order(const struct topology *);
/* basic.consume was answered: log the durability note once, and the next problem as a warning
 * again. */
void topology_on_consuming(struct topology *, const struct channel_log *);
/* We declared it, or it keeps its order: it is a quorum queue. False: of any type. */
bool topology_has_quorum_queue(const struct topology *);
/* The queue is a stream, and will not be consumed. */
void topology_refuse_stream(struct topology *, const struct channel_log *);
/* Declare a missing queue of ours. */
void topology_make(struct connection *, uint16_t channel, struct text queue);
/* Declare a missing retry queue: name has at most 255 bytes; queue is where its messages go after
 * the delay. */
void topology_make_retry(struct connection *, uint16_t channel, struct text name, struct text queue,
	mtime delay, unsigned jitter);
/* The maximum that the jitter adds to a delay. */
mtime topology_jitter(mtime delay, unsigned jitter);
/* Send the first declare; true: there is nothing to declare. in_use: deliveries of this channel are
 * unacked; then only the pool's queue is checked, because a check that fails closes the channel. */
bool topology_begin(struct topology *, struct connection *, uint16_t channel, bool in_use);
/* AMQP_QUEUE_DECLARED, AMQP_EXCHANGE_DECLARED or AMQP_QUEUE_BOUND came: send the next request;
 * true: all queues exist. */
bool topology_next(struct topology *, struct connection *, uint16_t channel);
/* The broker closed the channel; log why. True: a queue of ours is missing, or is to be declared in
 * another way; open the next channel without a wait, and do it there. */
bool topology_closed(
	struct topology *, uint16_t code, struct text reason, const struct channel_log *);
/* The broker closed the connection with this error. True: because of a binding, whose exchange has
 * an unknown type (503); it is skipped on the next connection. */
bool topology_connection_closed(
	struct topology *, uint16_t code, struct text reason, const struct channel_log *);

#endif
