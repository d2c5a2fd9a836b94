/* A broker in memory that speaks AMQP frames and behaves like RabbitMQ where it matters: tags a
 * channel, prefetch a consumer, requeue in place with redelivered and x-delivery-count, returns
 * before confirms, expiry at the head of a queue into another one, confirms late, out of order and
 * multiple, 404s that close channels, cancels, and connections that end at any byte. Deterministic:
 * what it chooses, it chooses by its random. */
#ifndef SIM_BROKER_H
#define SIM_BROKER_H

#include "base/buf.h"
#include "base/list.h"
#include "base/mtime.h"
#include "sim/random.h"

#define BROKER_CHANNELS 8

/* Routing keys: a publish there is answered by closing its channel (406), or its connection (541),
 * as some malformed publishes are. */
#define BROKER_COSTS_CHANNEL    "costs a channel"
#define BROKER_COSTS_CONNECTION "costs a connection"

struct broker;
struct broker_connection;

enum broker_release { BROKER_3_10, BROKER_4_0 };

enum publish_fate { PUBLISH_STORED, PUBLISH_RETURNED, PUBLISH_DROPPED, PUBLISH_REFUSED };

/* What the account knows of a copy. The broker only carries it along, so that it need not be read
 * out of headers that the code under test has written. */
struct copy_facts {
	uint16_t attempt; /* attempts that failed before it was made */
	uint16_t renewed; /* times it was published as new */
	mtime not_before; /* no worker may see it earlier */
	mtime soft;       /* the soft limit that it brings; 0: none */
};

/* What the account hears. instance numbers every stored copy of a message, from 1. */
struct broker_watch {
	void (*on_stored)(void *ctx, uint64_t instance, const struct copy_facts *,
		const char *queue, struct text body);
	/* A consumer settled an instance. requeued: it is back in its queue. */
	void (*on_settled)(void *ctx, uint64_t instance, bool acked, bool requeued);
	/* The confirm of a publish that broker_note_publish announced is on its way. */
	void (*on_confirm)(void *ctx, uint64_t for_instance, enum publish_fate fate);
	/* An instance came back more often than its queue lets it: it is gone. */
	void (*on_limit)(void *ctx, uint64_t instance);
	void *ctx;
};

struct broker *broker_new(struct random *, const struct broker_watch *);
void broker_free(struct broker *);
/* The RabbitMQ that it imitates; 3.10 unless told. */
void broker_set_release(struct broker *, enum broker_release);
/* From now on a client's mistakes are answered as RabbitMQ answers them, and publishes need not be
 * announced; before, both end the run. */
void broker_answer_mistakes(struct broker *);

/* Quorum queues log late what is settled; a channel sends so many commands on before it waits. */
void broker_log_late(struct broker *, uint32_t limit);

void broker_declare(struct broker *, const char *queue, bool quorum);
/* Its messages are gone, its consumers are cancelled. */
void broker_delete(struct broker *, const char *queue);
/* Of a publisher elsewhere, or (4.0) a dead letter that came back so often in another queue. */
uint64_t broker_store(struct broker *, const char *queue, const struct copy_facts *,
	uint32_t brought, struct text properties, struct text body);
/* Messages in a queue: ready and unacknowledged. */
size_t broker_count(const struct broker *, const char *queue);
/* Calls visit with each message that is ready in the queue. */
void broker_visit(const struct broker *, const char *queue,
	void (*visit)(void *ctx, struct text properties, struct text body), void *ctx);

/* Only moves on. What has expired at the head of its queue goes where that queue sends it, or waits
 * while that is missing. */
void broker_set_time(struct broker *, mtime now);
mtime broker_deadline(const struct broker *);
/* Messages in queues that let them expire. */
size_t broker_waiting(const struct broker *);

struct broker_connection *broker_accept(struct broker *);
/* The connection is gone: what was unacknowledged is requeued. */
void broker_cut(struct broker_connection *);
void broker_input(struct broker_connection *, struct text bytes);
struct buf *broker_output(struct broker_connection *);

/* Delivers what consumers have room for, and confirms some of what is owed. generous: all of it. */
void broker_work(struct broker *, bool generous);

/* Faults. */
void broker_close_channel(struct broker_connection *, uint16_t channel, uint16_t code);
void broker_close_connection(struct broker_connection *, uint16_t code);
void broker_cancel_consumers(struct broker_connection *, uint16_t channel);
/* So many of the coming publishes in a thousand are refused by basic.nack. */
void broker_set_nacks(struct broker *, uint32_t per_mille);

/* What is ready in the queue came back some times more, as if supervisors had died over it. */
void broker_age(struct broker *, const char *queue);
/* Queues that let their messages expire are deleted where they are empty. */
void broker_delete_idle(struct broker *);

/* A channel with a delivery that is unacked for longer is closed (406); looked at once a minute, or
 * in a tenth of that time if it is shorter. MTIME_NEVER: none. */
void broker_set_ack_timeout(struct broker *, mtime);
/* A quorum queue drops, or dead-letters, what came back more often. 0: never. */
void broker_set_delivery_limit(struct broker *, const char *queue, uint32_t returns);
/* Bytes of the client that were not read: part of a frame, or all that an alarm holds back. */
size_t broker_unread(const struct broker_connection *);
bool broker_is_alarmed(const struct broker *);

/* Under an alarm it does not read connections that have published. */
void broker_set_alarm(struct broker *, bool on);

/* The next publish on this channel is for that instance, and is such a copy; in the order in which
 * they are sent. */
void broker_note_publish(struct broker_connection *, uint16_t channel, uint64_t seq,
	uint64_t instance, const struct copy_facts *);
/* The instance that waits for this tag to be settled; 0: none. */
uint64_t broker_instance_of(const struct broker_connection *, uint16_t channel, uint64_t tag);

#endif
