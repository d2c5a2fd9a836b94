/* The live consumers of one channel, whose windows add up. Layer: broker.
 * basic.qos does not change a live consumer, and after a cancel a quorum queue takes back, and
 * counts, the messages that are on their way. So a wider window is one more consumer beside the
 * others. */
#ifndef BROKER_SUBSCRIPTIONS_H
#define BROKER_SUBSCRIPTIONS_H

#include "amqp/channel.h"

/* A step at least doubles the window, up to 65,535. Only steps that follow a pool's growth are
 * smaller; when all places are taken, the newest consumers are cancelled and replaced by one. */
#define SUBSCRIPTIONS_MAX 20
/* Of a barrier: the first answer releases what the broker kept back, the second confirms that it
 * arrived, the third is in reserve. */
#define SUBSCRIPTIONS_SYNC_STEPS 3

struct subscription {
	uint32_t generation; /* in its tag: no tag is used twice */
	uint16_t window;
};

struct subscriptions {
	struct subscription live[SUBSCRIPTIONS_MAX]; /* in order of age */
	unsigned count;
	uint32_t generation; /* of the latest */
	unsigned synced;     /* steps of the barrier */
};

/* The channel is gone, and its consumers with it. */
void subscriptions_clear(struct subscriptions *);
uint32_t subscriptions_window(const struct subscriptions *);
/* basic.consume for the difference to window, which is wider than the present one. There is a free
 * place. The consumer counts as live at once. */
void subscriptions_widen(struct subscriptions *, struct connection *, uint16_t channel,
	struct text queue, uint16_t window);
/* basic.cancel of the latest; it counts as live until subscriptions_drop. There is one. */
void subscriptions_narrow(const struct subscriptions *, struct connection *, uint16_t channel);
/* The consumer with that tag has ended. False: it was not live. */
bool subscriptions_drop(struct subscriptions *, struct text tag);

/* A step of the barrier before a channel is closed, called again at each basic.consume-ok: a
 * consumer for one message more. False: no step is left, all acks have arrived. There are
 * SUBSCRIPTIONS_SYNC_STEPS free places. Deliveries to these consumers go back with the channel.
 * Why: inside the broker, a quorum queue's client forwards 32 commands and keeps the rest until the
 * queue has logged those; the rest is lost with the channel. A passive declare overtakes them
 * (measured on 3.10.8: 367 of 400 single acks were lost), basic.consume does not. */
bool subscriptions_synchronize(
	struct subscriptions *, struct connection *, uint16_t channel, struct text queue);

#endif
