/* A channel in confirm mode: opens it, and translates the broker's answers to publishes, by number.
 * Layer: broker, without I/O. `wpool serve`, `wpool publish` and `wpool dead-letters replay`
 * publish through it. The numbers count from 1 on each channel, as in the broker's confirms. A
 * return has no number, so each publish carries its number in its properties (copy_set_number).
 * Does not keep what is published: for serve the core's outbox does, for the commands struct
 * unconfirmed. */
#ifndef BROKER_CONFIRM_CHANNEL_H
#define BROKER_CONFIRM_CHANNEL_H

#include "amqp/channel.h"

enum confirm_channel_state {
	CONFIRM_CHANNEL_DOWN,
	CONFIRM_CHANNEL_OPENING,
	CONFIRM_CHANNEL_SELECTING, /* confirm.select is sent */
	CONFIRM_CHANNEL_UP,
};

struct confirm_channel {
	struct connection *connection; /* borrowed; NULL: none */
	uint16_t channel;
	enum confirm_channel_state state;
};

enum publish_answer_kind {
	PUBLISH_NOT_ANSWERED, /* the event does not concern publishes */
	PUBLISH_READY,        /* the channel is up */
	PUBLISH_CONFIRMED,    /* number, multiple */
	PUBLISH_REFUSED,      /* number, multiple */
	PUBLISH_RETURNED,     /* number (0: not one of ours); its confirm follows */
};

struct publish_answer {
	enum publish_answer_kind kind;
	uint64_t number;
	bool multiple; /* all up to number */
};

/* Open the channel and select confirm mode; the connection is borrowed until _down. */
void confirm_channel_open(struct confirm_channel *, struct connection *, uint16_t channel);
/* Select confirm mode on a channel that is open. */
void confirm_channel_select(struct confirm_channel *, struct connection *, uint16_t channel);
/* The channel or its connection is gone. */
void confirm_channel_down(struct confirm_channel *);
static inline bool confirm_channel_is_up(const struct confirm_channel *c)
{
	return c->state == CONFIRM_CHANNEL_UP;
}

/* Handle an event of the channel, and return what it means for publishes. After
 * AMQP_CHANNEL_CLOSED the owner calls confirm_channel_down. Confirms that come while the channel
 * is not up are dropped. */
struct publish_answer confirm_channel_on_event(struct confirm_channel *, const struct amqp_event *);

#endif
