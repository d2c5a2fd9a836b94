/* One pool's consuming channel: from a new connection to deliveries, and back. Layer: broker.
 * Joins amqp and core without I/O: turns events of the channel into the pool's SOURCE events, and
 * the pool's wishes into commands. Declares queues, survives every close, and retries with a
 * growing wait. Epochs are assigned here and only here: one for each channel that consumes; an ack
 * after its end is dropped, never sent. */
#ifndef BROKER_CONSUMER_H
#define BROKER_CONSUMER_H

#include "broker/channel_log.h"
#include "broker/topology.h"
#include "core/effects.h"
#include "core/pool.h"

struct consumer_config {
	uint16_t channel; /* its number on the consume connection */
	struct text queue;
	enum declare declare;
	struct text dead_letter; /* empty: left to the queue */
	struct retry_plan retry;
	uint64_t body_limit; /* bytes; a larger body makes a delivery unfit */
	bool keep_route;     /* deliveries keep exchange and routing key */
	uint32_t seed;       /* of the jitter */
};

struct consumer;

/* Both are borrowed until consumer_free. NULL: out of memory. */
struct consumer *consumer_new(const struct consumer_config *, const struct channel_log *);
/* The pool that gets the events; before the first consumer_up. Borrowed until consumer_free. */
void consumer_attach(struct consumer *, struct pool *);
void consumer_free(struct consumer *);

/* The connection is open (borrowed until consumer_down), or gone. */
void consumer_up(struct consumer *, struct connection *, mtime now);
void consumer_down(struct consumer *, mtime now);
/* An event of its channel; a delivery's content is one that consumer_content_memory gave. */
void consumer_on_event(struct consumer *, const struct amqp_event *, mtime now);
/* Allocate a content of len bytes; *ret_owner is a struct delivery, to be freed by delivery_free if
 * the content is dropped. NULL: out of memory. */
uint8_t *consumer_content_memory(struct consumer *, size_t len, void **ret_owner);

/* Messages may come: as far as we know, the broker has a consumer of ours on the queue. */
bool consumer_is_consuming(const struct consumer *);

/* The pool's effects on its source (core/effects.h). */
void consumer_wish(struct consumer *, enum source_wish, uint32_t window);
void consumer_ack(struct consumer *, uint64_t tag, bool multiple);
void consumer_reject(struct consumer *, uint64_t tag, enum reject);

/* When to call consumer_tick; MTIME_NEVER: it has nothing to do. */
mtime consumer_deadline(const struct consumer *);
void consumer_tick(struct consumer *, mtime now);

#endif
