/* The consuming channel of a pool, as a state machine. Layer: broker, without I/O. Translates
 * events of the channel into the pool's SOURCE events, and the pool's requests into commands.
 * Declares queues, and opens the channel again after each close, with a growing wait. Assigns the
 * epochs of the source: one for each channel that consumes. An ack after the end of its epoch is
 * dropped.
 * With is_ordered, what comes back must keep its order: each channel has one consumer with one
 * window, which is never cancelled, and nothing is requeued (docs/ordering.md). A channel consumes
 * only when the queue has no consumer: with a single active consumer another one would get the
 * messages unnoticed. With has_token it also waits until this pool is proven to be the active one:
 * another one may have consumed with a larger window, and be gone again. SOURCE_LEAVE and
 * SOURCE_CLOSE wait until the acks have arrived, and close the channel; on a queue without a single
 * active consumer they do not wait. */
#ifndef BROKER_CONSUMER_H
#define BROKER_CONSUMER_H

#include "broker/backlog/backlog_probe.h"
#include "broker/channel_log.h"
#include "broker/topology.h"
#include "core/effects.h"
#include "core/pool.h"
#include "message/key_source.h"

struct consumer_config {
	uint16_t channel; /* its number on the consuming connection */
	struct text queue;
	enum declare declare;
	struct queue_settings settings; /* of the queue */
	struct text dead_letter;        /* empty: left to the queue */
	struct retry_plan retry;
	uint64_t body_limit;   /* bytes; a delivery with a larger body is invalid */
	bool keep_route;       /* copy exchange and routing key into deliveries */
	struct key_source key; /* of the messages' sessions */
	bool is_ordered;       /* the pool has sessions: see above */
	bool has_token;        /* ordered: wait for consumer_token_proven before each consume */
	bool is_type_checked;  /* not ordered: consume only when the type of the queue was asked for
				*/
	bool is_return_free;   /* ordered: the queue is to have no delivery limit */
	uint32_t seed;         /* of the jitter */
	/* What is delivered from a change of these on has the new ones. The throttles are borrowed
	 * while they stand here. */
	struct throttle_keys throttles;
};

struct consumer;

/* Both arguments are borrowed until consumer_free. NULL: out of memory. */
struct consumer *consumer_new(const struct consumer_config *, const struct channel_log *);
/* Set the pool that gets the events, before the first consumer_up. Borrowed until consumer_free. */
void consumer_attach(struct consumer *, struct pool *);
void consumer_free(struct consumer *);

/* The connection is open (borrowed until consumer_down), or gone. */
void consumer_up(struct consumer *, struct connection *);
void consumer_down(struct consumer *, mtime now);
/* The broker closed the connection with this error; consumer_down follows. */
void consumer_on_connection_closed(struct consumer *, uint16_t code, struct text reason);
/* Handle an event of its channel. The memory of a delivery's content is from
 * consumer_content_memory. */
void consumer_on_event(struct consumer *, const struct amqp_event *, mtime now);
/* Allocate a content of len bytes. *ret_owner is a struct delivery; if the content is dropped, free
 * it with delivery_free. NULL: out of memory. */
uint8_t *consumer_content_memory(struct consumer *, size_t len, void **ret_owner);

/* True: the broker has confirmed a consumer on the queue, and has not cancelled it. */
bool consumer_is_consuming(const struct consumer *);

/* Why it is not consuming. kind NULL: nothing was refused yet. Borrowed until the next event. */
const struct channel_refusal *consumer_refusal(const struct consumer *);

/* What differs between the existing queue and queue_arguments, or why that is unknown. kind NULL:
 * nothing, or not compared. Borrowed until the next event. */
const struct channel_refusal *consumer_difference(const struct consumer *);

/* The binding that was refused, as it consumes without it. kind NULL: none. Borrowed until the next
 * event. */
const struct channel_refusal *consumer_refused_binding(const struct consumer *);

/* True: it waits for consumer_set_type, because a stream is refused. UNKNOWN: it consumes. */
bool consumer_wants_type(const struct consumer *);
void consumer_set_type(struct consumer *, enum queue_type, mtime now);

/* True: it is ready to consume, and waits for consumer_token_proven. */
bool consumer_wants_token(const struct consumer *);
/* The pool is the active one, as of a moment at which consumer_wants_token was true. */
void consumer_token_proven(struct consumer *, mtime now);

/* It declared the queue, or keeps its order: then it is no other type. */
bool consumer_has_quorum_queue(const struct consumer *);
/* What the order of its queue rests on; UNKNOWN: not ordered, or not found out yet. */
enum queue_order consumer_order(const struct consumer *);

/* Ordered: its channel is closed, because the bodies that were unacked took more memory than the
 * pool may have, and stays so until that is larger. A smaller window would break the order. */
bool consumer_is_overfull(const struct consumer *);
/* Ordered: the queue has another consumer, and this one begins when that is gone. */
bool consumer_is_next(const struct consumer *);
/* The same for so long that the other one is hardly a predecessor. */
bool consumer_waits_for_others(const struct consumer *);

/* The pool's effects on its source (core/effects.h). Ordered: never SOURCE_REST, never
 * REJECT_REQUEUE, always the same window while it consumes. */
void consumer_request(struct consumer *, enum source_request, uint32_t window);
void consumer_ack(struct consumer *, uint64_t tag, bool multiple);
void consumer_reject(struct consumer *, uint64_t tag, enum reject);

/* When to call consumer_tick; MTIME_NEVER: it has nothing to do. */
mtime consumer_deadline(const struct consumer *);
void consumer_tick(struct consumer *, mtime now);

#endif
