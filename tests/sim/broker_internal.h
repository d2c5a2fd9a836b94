/* Functions that the files of the fake broker share. */
#ifndef SIM_BROKER_INTERNAL_H
#define SIM_BROKER_INTERNAL_H

#include "sim/broker_parts.h"
#include "sim/broker_route.h"

/* broker_queue.c */
struct queue *queue_find(struct broker *, struct text name);
/* A message that enters a queue: a publish or a dead letter. */
struct incoming {
	struct text key, properties, body;
	struct text bcc; /* members of the header BCC, which no consumer gets */
	struct copy_facts facts;
	bool has_died;    /* a dead letter */
	uint32_t returns; /* in other queues; quorum queues show them */
};
void queue_store(struct broker *, struct queue *, const struct incoming *);
/* Put a message back into its queue. False: it was returned too often and is dead-lettered. */
enum requeue_cause { REQUEUE_ASKED, REQUEUE_CHANNEL_GONE };
bool queue_requeue(struct broker *, struct stored *, enum requeue_cause);
/* Free an acked message. */
void queue_forget(struct stored *);
/* Remove the message from its list, unacked or not; it moves out. */
void queue_take(struct stored *);
uint32_t queue_purge(struct queue *);
uint32_t queue_ready(const struct queue *);
/* The properties as a consumer gets them; valid until the next call. */
struct text queue_properties(struct broker *, const struct stored *);
struct text stored_key(const struct stored *);
struct text stored_bcc(const struct stored *);
struct text stored_properties(const struct stored *);
struct text stored_body(const struct stored *);

/* broker_declare.c */
struct queue *declare_queue(struct broker *, struct text name, const struct queue_arguments *);
void declare_on_declare(struct broker_connection *, uint16_t channel, const amqp_queue_declare_t *);
void declare_on_delete(struct broker_connection *, uint16_t channel, const amqp_queue_delete_t *);
void declare_on_purge(struct broker_connection *, uint16_t channel, const amqp_queue_purge_t *);

/* broker_expire.c */
mtime expire_time(const struct broker *, const struct queue *, struct text properties);
void expire_queue(struct broker *, struct queue *);

/* broker_limits.c */
void timeout_check(struct broker *);
mtime timeout_next_check(const struct broker *);
/* True: it was returned too often. */
bool limit_is_passed(struct broker *, const struct stored *);

/* broker_dead.c */
/* Dead-letter the message, which is in no list, or drop it if its queue has no target. */
void dead_letter(struct broker *, struct stored *, const char *reason);
/* Dead-letter the messages again that had no target. */
void dead_try_held(struct broker *, struct queue *);

/* broker.c */
void connection_has_published(struct broker_connection *);
void broker_end_connection(struct broker_connection *, uint16_t code, const char *text);

/* broker_channel.c */
/* Handle a mistake of the client: close the channel, or end the run. */
void channel_blame(struct broker_connection *, uint16_t channel, uint16_t code,
	amqp_method_number_t cause, const char *words);
void channel_on_method(
	struct broker_connection *, uint16_t channel, amqp_method_number_t, void *method);
void channel_init(struct broker_channel *);
/* Requeue all its messages and clear it; the number may be used again. */
void channel_reset(struct broker_connection *, uint16_t channel);
void channel_fail(struct broker_connection *, uint16_t channel, uint16_t code,
	amqp_method_number_t cause, const char *words);
static inline bool channel_has_work(const struct broker_channel *channel)
{
	return channel->state == CHANNEL_OPEN &&
	       (channel->consumer_count > 0 || !list_is_empty(&channel->owed) ||
		       channel->logged < channel->sent_on);
}
void channel_work(struct broker_connection *, uint16_t channel, bool generous);

/* broker_consume.c */
void consume_on_consume(struct broker_connection *, uint16_t channel, const amqp_basic_consume_t *);
void consume_on_cancel(struct broker_connection *, uint16_t channel, const amqp_basic_cancel_t *);
void consume_cancel(
	struct broker_connection *, uint16_t channel, const struct queue *); /* NULL: of any */
/* The number of consumers. A cancelled one counts while it has unacked messages of a
 * quorum queue. */
uint32_t consume_count(const struct broker *, const struct queue *);
/* The number of them among the first count of a channel's consumers. */
uint32_t consume_count_among(const struct consumer_entry *, size_t count, const struct queue *);
void consume_deliver(struct broker_connection *, uint16_t channel, bool generous);
void consume_deliver_reply(struct broker_connection *, uint16_t channel, struct text token,
	struct text properties, struct text body);

/* The active consumer of the queue has ended: choose the next one. */
void consume_activate_next(struct broker *, struct queue *);
/* The consumer is no longer live. On a queue with a single active consumer the next one becomes
 * active. */
void consume_end(struct broker *, struct consumer_entry *);
/* Take what is on its way to the consumers of quorum queues; it is unacked and unseen. */
void consume_hand_out(struct broker *, struct broker_channel *);

/* broker_depart.c */
/* Requeue all that the ended channel held; that of quorum queues now or later. */
void depart(struct broker *, struct broker_channel *);
/* Let queues notice the end of some channels; generous: of all. */
void depart_work(struct broker *, bool generous);
/* The consumers of channels whose end the queue has not noticed. */
uint32_t depart_count(const struct broker *, const struct queue *);
/* The queue is deleted: it has no consumers. */
void depart_cancel(struct broker *, const struct queue *);

/* broker_settle.c */
struct settlement {
	uint64_t tag;
	bool multiple, ack, requeue;
	amqp_method_number_t cause;
};
void settle_on_method(struct broker_connection *, uint16_t channel, const struct settlement *);
/* Log some of the settlements that were sent to the queue; generous: all. */
void settle_log_some(struct broker_connection *, uint16_t channel, bool generous);
/* Log all settlements that were sent to the queue, and send those that were held. */
void settle_synchronize(struct broker_connection *, uint16_t channel);
/* The channel ends: held settlements are dropped, and their messages are unacked again. */
void settle_end(struct broker_connection *, uint16_t channel);

/* broker_publish.c */
void publish_on_method(
	struct broker_connection *, uint16_t channel, const amqp_basic_publish_t *publish);
void publish_on_content(struct broker_connection *, const struct peer_frame *);

/* broker_confirm.c */
void confirm_some(struct broker_connection *, uint16_t channel, bool generous);

#endif
