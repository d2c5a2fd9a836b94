/* A broker in memory. It reads and writes AMQP frames and behaves like RabbitMQ: tags for each
 * channel, a prefetch for each consumer, requeues with redelivered and x-delivery-count, returns
 * before confirms, expiry at the head of a queue, confirms that are late, out of order and
 * multiple, 404s that close channels, cancels, and connections that end at any byte. Deterministic:
 * all its choices come from its struct random. */
#ifndef SIM_BROKER_H
#define SIM_BROKER_H

#include "base/buf.h"
#include "base/list.h"
#include "base/mtime.h"
#include "sim/random.h"

#define BROKER_CHANNELS 8

/* Routing keys: the broker answers a publish to them by closing its channel (406) or its connection
 * (541), as it does for some malformed publishes. */
#define BROKER_COSTS_CHANNEL    "costs a channel"
#define BROKER_COSTS_CONNECTION "costs a connection"

struct broker;
struct broker_connection;

enum broker_release { BROKER_3_10, BROKER_4_0 };

enum publish_fate { PUBLISH_STORED, PUBLISH_RETURNED, PUBLISH_DROPPED, PUBLISH_REFUSED };

/* What the account knows about a copy. The broker keeps it with the copy, because the headers come
 * from the code under test. */
struct copy_facts {
	uint16_t attempt; /* failed attempts before this copy */
	uint16_t renewed; /* how often it was renewed */
	mtime not_before; /* no worker may get it earlier */
	mtime soft;       /* the soft limit in its headers; 0: none */
	bool suspect;     /* its last attempt ended its worker */
	uint32_t refuses; /* the message whose caller it tells that it may not start; 0: none */
};

/* Callbacks for the account. instance is the number of a stored copy, from 1. */
struct broker_watch {
	void (*on_stored)(void *ctx, uint64_t instance, const struct copy_facts *,
		const char *queue, struct text body);
	/* A consumer settled an instance. requeued: it is in its queue again. */
	void (*on_settled)(void *ctx, uint64_t instance, bool acked, bool requeued);
	/* The broker sends the confirm of a publish that broker_note_publish announced. */
	void (*on_confirm)(void *ctx, uint64_t for_instance, enum publish_fate fate);
	/* A consumer with acks gets an instance on this connection. */
	void (*on_delivered)(
		void *ctx, uint64_t instance, uint64_t tag, const struct broker_connection *);
	/* An instance was returned more often than its queue allows, and is gone. */
	void (*on_limit)(void *ctx, uint64_t instance);
	void *ctx;
};

struct broker *broker_new(struct random *, const struct broker_watch *);
void broker_free(struct broker *);
/* Choose the version of RabbitMQ; the default is 3.10. */
void broker_set_release(struct broker *, enum broker_release);
/* From now on, answer mistakes of clients as RabbitMQ does, and accept publishes that were not
 * announced. Before, both end the run. */
void broker_answer_mistakes(struct broker *);

/* Accept publishes to this queue that were not announced. Their instance is 0. The name is
 * borrowed.
 */
void broker_expect_unannounced(struct broker *, const char *queue);

/* Let quorum queues log settlements late: a channel waits after
 * limit commands. */
void broker_log_late(struct broker *, uint32_t limit);

/* True: a queue has not logged a settlement that was sent to it. */
bool broker_is_logging(const struct broker *);

/* Let quorum queues notice the end of a channel late, after close-ok. Until then it counts as a
 * consumer, and what it held is unacked. What was on its way to it comes back, too, and counts as
 * returned; at basic.cancel it comes back at once, before what the consumer holds. */
void broker_return_late(struct broker *);
/* True: a queue has not noticed the end of a channel yet. */
bool broker_is_returning(const struct broker *);

void broker_declare(struct broker *, const char *queue, bool quorum);
/* Declare a quorum queue with x-single-active-consumer and without a delivery limit. */
void broker_declare_single(struct broker *, const char *queue);
/* Delete the queue with its messages, and cancel its consumers. */
void broker_delete(struct broker *, const char *queue);
/* Drop its ready messages. */
void broker_purge(struct broker *, const char *queue);
/* Store a message of another publisher. Return its instance. brought: how often it was returned in
 * another queue, from which it comes as a dead letter (4.0). */
uint64_t broker_store(struct broker *, const char *queue, const struct copy_facts *,
	uint32_t brought, struct text properties, struct text body);
/* The number of messages in a queue, ready and unacked. */
size_t broker_count(const struct broker *, const char *queue);
/* Call visit for each ready message of the queue. */
void broker_visit(const struct broker *, const char *queue,
	void (*visit)(void *ctx, struct text properties, struct text body), void *ctx);

/* Set the time, which never goes back. Expired messages at the head of a queue are dead-lettered,
 * or wait while the target is missing. */
void broker_set_time(struct broker *, mtime now);
/* When the next message expires or the next limit is checked; MTIME_NEVER: there is none. */
mtime broker_deadline(const struct broker *);
/* The number of messages in queues with a TTL. */
size_t broker_waiting(const struct broker *);

struct broker_connection *broker_accept(struct broker *);
/* Cut the connection: its unacked messages are requeued. */
void broker_cut(struct broker_connection *);
void broker_input(struct broker_connection *, struct text bytes);
struct buf *broker_output(struct broker_connection *);

/* Deliver as much as the prefetch of consumers allows, and send some of the confirms that are due;
 * generous: all of them. */
void broker_work(struct broker *, bool generous);

/* Faults. */
void broker_close_channel(struct broker_connection *, uint16_t channel, uint16_t code);
void broker_close_connection(struct broker_connection *, uint16_t code);
void broker_cancel_consumers(struct broker_connection *, uint16_t channel);
/* Refuse per_mille of a thousand publishes with basic.nack. */
void broker_set_nacks(struct broker *, uint32_t per_mille);

/* Raise the number of returns of the ready messages, as if supervisors had died with them. */
void broker_age(struct broker *, const char *queue);
/* Delete the empty queues with a TTL. */
void broker_delete_idle(struct broker *);

/* Close a channel (406) with a delivery that is unacked for longer. Checked once a minute, or ten
 * times in this span if that is shorter. MTIME_NEVER: no limit. */
void broker_set_ack_timeout(struct broker *, mtime);
/* A quorum queue drops or dead-letters a message that was returned more often. 0: never. */
void broker_set_delivery_limit(struct broker *, const char *queue, uint32_t returns);
/* The number of unread bytes of the client: a part of a frame, or all bytes during an alarm. */
size_t broker_unread(const struct broker_connection *);
bool broker_is_alarmed(const struct broker *);

/* During an alarm the broker does not read connections that have published. */
void broker_set_alarm(struct broker *, bool on);

/* Announce the next publish on this channel: the instance that it is for, and the facts of the
 * copy. Publishes are announced in the order in which they are sent. */
void broker_note_publish(struct broker_connection *, uint16_t channel, uint64_t seq,
	uint64_t instance, const struct copy_facts *);
/* The instance with this tag that is not settled yet; 0: none. */
uint64_t broker_instance_of(const struct broker_connection *, uint16_t channel, uint64_t tag);

#endif
