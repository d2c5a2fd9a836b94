/* The live consumers of one channel, whose windows add up. Layer: broker.
 * basic.qos does not touch a live consumer, and cancelling one makes a quorum queue take back, and
 * count, what is on its way: so a wider window is one more consumer beside those there are. */
#ifndef BROKER_SUBSCRIPTIONS_H
#define BROKER_SUBSCRIPTIONS_H

#include "amqp/channel.h"

/* A widening doubles the window at least, and the widest is 65,535; only one that follows a pool's
 * growth is smaller, and when there is no place for it the last ones are put together. */
#define SUBSCRIPTIONS_MAX 20
/* Of a barrier: the first answer lets go what the broker kept back, the second tells that it is
 * there, one is to spare. */
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

/* The channel is gone, and they with it. */
void subscriptions_clear(struct subscriptions *);
uint32_t subscriptions_window(const struct subscriptions *);
/* basic.consume for what the window lacks; there is room for one more and window is above the
 * present one. Counts as live at once. */
void subscriptions_widen(struct subscriptions *, struct connection *, uint16_t channel,
	struct text queue, uint16_t window);
/* basic.cancel of the latest; it counts as live until subscriptions_drop. There is one. */
void subscriptions_narrow(const struct subscriptions *, struct connection *, uint16_t channel);
/* The one with that tag is over. False: it was not live. */
bool subscriptions_drop(struct subscriptions *, struct text tag);

/* A step of the barrier before a channel is closed, called again at each basic.consume-ok: a
 * consumer of one message more. False: no step is left, all acks have arrived. There is room for
 * SUBSCRIPTIONS_SYNC_STEPS more. What these consumers are sent goes back with the channel.
 * Why: a quorum queue's client in the broker sends 32 commands on and keeps the rest until the
 * queue has logged those; what it keeps is lost with the channel. A passive declare is answered
 * past them (measured on 3.10.8: of 400 single acks 367 lost), basic.consume behind them. */
bool subscriptions_synchronize(
	struct subscriptions *, struct connection *, uint16_t channel, struct text queue);

#endif
