/* What the files of the fake broker do for each other. */
#ifndef SIM_BROKER_INTERNAL_H
#define SIM_BROKER_INTERNAL_H

#include "sim/broker_parts.h"

/* broker_queue.c */
struct queue *queue_find(struct broker *, struct text name);
struct stored *queue_store(struct broker *, struct queue *, const struct copy_facts *,
	struct text properties, struct text body);
void queue_requeue(struct broker *, struct stored *);
void queue_forget(struct stored *);
void queue_append_properties(const struct stored *, struct buf *);

/* broker_expire.c */
mtime expire_time(const struct broker *, const struct queue *, struct text properties);
/* queue.declare of a new queue, or of one that is there: then they must be the same. */
void expire_declare(struct queue *, bool is_new, const amqp_table_t *arguments);

/* broker_limits.c */
void timeout_check(struct broker *);
/* True: it came back too often, and is gone. */
bool limit_drops(struct broker *, struct stored *);

/* broker.c */
void connection_has_published(struct broker_connection *);

/* broker_channel.c */
void channel_cancel_consumers(
	struct broker_connection *, uint16_t channel, const struct queue *); /* NULL: of any */
void channel_on_method(
	struct broker_connection *, uint16_t channel, amqp_method_number_t, void *method);
/* Requeues and forgets everything; the number may be used again. */
void channel_reset(struct broker_connection *, uint16_t channel);
void channel_fail(struct broker_connection *, uint16_t channel, uint16_t code, const char *words);
void channel_work(struct broker_connection *, uint16_t channel, bool generous);

/* broker_publish.c */
void publish_on_method(
	struct broker_connection *, uint16_t channel, const amqp_basic_publish_t *publish);
void publish_on_content(struct broker_connection *, const struct peer_frame *);
void publish_confirm_some(struct broker_connection *, uint16_t channel, bool generous);

#endif
