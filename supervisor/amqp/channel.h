/* Commands on one channel of a connection. Layer: amqp. Each appends to the connection's output;
 * whether that failed shows in connection_has_failed. A command on a channel that is not open, for
 * example because the peer has just closed it, does nothing. */
#ifndef AMQP_CHANNEL_H
#define AMQP_CHANNEL_H

#include "amqp/connection.h"

#define AMQP_ARGUMENTS_MAX 16 /* of one queue or binding */

/* An argument of a queue, or of a binding. */
struct amqp_argument {
	const char *key;
	/* NULL: the value is number, a signed 64-bit integer. amqp_true, amqp_false: the
	 * booleans. */
	const char *string;
	int64_t number;
};

extern const char amqp_true[], amqp_false[];

struct amqp_queue {
	struct text name; /* empty: the broker names it */
	bool passive, durable, exclusive, auto_delete;
	const struct amqp_argument *arguments;
	size_t argument_count;
};

struct amqp_publish {
	struct text exchange; /* at most 255 bytes, like routing_key */
	struct text routing_key;
	bool mandatory;
	struct text properties; /* raw: flags word and values; at most frame_max - 8 - 12 bytes */
	struct text body;
};

/* Open a channel. channel: 1 to connection_channel_max; the caller checks that. A higher number is
 * ignored. */
void channel_open(struct connection *, uint16_t channel);
void channel_close(struct connection *, uint16_t channel);
/* Close it because of what the peer did. code: of AMQP, such as 406 (precondition failed). text: at
 * most 255 bytes, for the peer's log. */
void channel_close_for(struct connection *, uint16_t channel, uint16_t code, const char *text);
bool channel_is_open(const struct connection *, uint16_t channel);
/* True: it was never open, or both sides have closed it. */
bool channel_is_closed(const struct connection *, uint16_t channel);
/* basic.qos, per consumer: the prefetch of consumers started after it. */
void channel_qos(struct connection *, uint16_t channel, uint16_t prefetch);
void channel_consume(struct connection *, uint16_t channel, struct text queue, struct text consumer,
	bool no_ack);
/* With x-stream-offset "next" and without a prefetch, which no type of queue accepts: only a stream
 * takes the argument, and it requires a prefetch. The channel must have had no channel_qos. */
void channel_consume_nothing(struct connection *, uint16_t channel, struct text queue);
void channel_cancel(struct connection *, uint16_t channel, struct text consumer);
/* tag is never 0. nack gives one message back to its queue; reject drops it or dead-letters it. */
void channel_ack(struct connection *, uint16_t channel, uint64_t tag, bool multiple);
void channel_nack(struct connection *, uint16_t channel, uint64_t tag);
void channel_reject(struct connection *, uint16_t channel, uint64_t tag);
void channel_confirm_select(struct connection *, uint16_t channel);
void channel_publish(struct connection *, uint16_t channel, const struct amqp_publish *);
void channel_declare_queue(struct connection *, uint16_t channel, const struct amqp_queue *);
void channel_declare_exchange(struct connection *, uint16_t channel, struct text name,
	struct text type, bool passive, bool durable);
void channel_bind_queue(struct connection *, uint16_t channel, struct text queue,
	struct text exchange, struct text routing_key);
/* The same with arguments, which an exchange of the type headers compares. */
void channel_bind_queue_by(struct connection *, uint16_t channel, struct text queue,
	struct text exchange, struct text routing_key, const struct amqp_argument *, size_t count);

#endif
