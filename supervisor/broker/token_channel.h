/* The channels of a pool's token (core/token.h), as a state machine. Layer: broker, without I/O.
 * The token's queue is consumed on the connection on which the pool consumes: when that is lost,
 * the token goes to another supervisor together with the pool's messages. It is published on the
 * publish connection, because a broker under an alarm stops reading connections that publish, and
 * the pool's acks must not wait for that. Declares the queue, and opens the channels again after
 * each close. Refuses what is no token.
 * All times are of a clock that counts suspension. */
#ifndef BROKER_TOKEN_CHANNEL_H
#define BROKER_TOKEN_CHANNEL_H

#include "broker/channel_log.h"
#include "broker/token_message.h"

struct token_channel_config {
	uint16_t channel;  /* its number on the consuming connection */
	struct text queue; /* the token's; at most 255 bytes */
	struct token_config token;
	uint32_t seed; /* of the jitter */
};

/* What the token does to its pool: see struct token_effects. */
struct token_handler {
	void (*held)(void *io, const struct token_grant *);
	void (*lost)(void *io);
	void (*handed_over)(void *io);
	void (*window_named)(void *io, uint32_t window);
	void (*lease)(void *io, mtime until);
};

struct token_channel;

/* All arguments are borrowed until token_channel_free. NULL: out of memory. */
struct token_channel *token_channel_new(const struct token_channel_config *,
	const struct channel_log *, const struct token_handler *, void *io);
void token_channel_free(struct token_channel *);
/* For its facts, its handover and its configuration. Borrowed. */
struct token *token_channel_token(const struct token_channel *);

/* The consuming connection is open (borrowed until token_channel_down), or gone. */
void token_channel_up(struct token_channel *, struct connection *);
void token_channel_down(struct token_channel *);
/* Handle an event of its channel on the consuming connection. The content's memory is a struct
 * delivery. */
void token_channel_on_event(struct token_channel *, const struct amqp_event *, mtime now);

/* The publish connection is open (borrowed until token_channel_publish_down), or gone. channel: a
 * number on it, up to its limit. */
void token_channel_publish_up(struct token_channel *, struct connection *, uint16_t channel);
void token_channel_publish_down(struct token_channel *);
/* Handle an event of its channel on the publish connection. A returned content's memory is from
 * malloc. */
void token_channel_on_publish_event(struct token_channel *, const struct amqp_event *, mtime now);

/* The token's queue is consumed and can be published to, and the latest publish has not failed. */
bool token_channel_waits(const struct token_channel *);

/* Pass the token on, and close both channels for good. The pool runs nothing keyed and its
 * consuming channel is closed. */
void token_channel_leave(struct token_channel *, mtime now);
/* True: the token is passed on, or could not be, and the channels are closed. */
bool token_channel_has_left(const struct token_channel *);

/* When to call token_channel_tick; MTIME_NEVER: it has nothing to do. */
mtime token_channel_deadline(const struct token_channel *);
void token_channel_tick(struct token_channel *, mtime now);

#endif
