/* The live consumers of one channel, whose windows add up. Layer: broker. basic.qos does not change
 * a live consumer, and after a cancel a quorum queue takes back the messages that are on their way
 * and counts their return. So the window grows by one more consumer. */
#ifndef BROKER_SUBSCRIPTIONS_H
#define BROKER_SUBSCRIPTIONS_H

#include "amqp/channel.h"

/* Of a pool: enough for steps that double the window up to 65,535. Steps after it was scaled are
 * smaller; when all are taken, the newest consumers are cancelled and replaced by one. */
#define SUBSCRIPTIONS_MAX 20
/* Of a channel. A consumer has a window of at most 65,535, their sum may be larger. */
#define SUBSCRIPTIONS_PLACES 256
/* Steps of a barrier: the first answer releases what the broker held back, the second shows that it
 * arrived, the third is a reserve. */
#define SUBSCRIPTIONS_SYNC_STEPS 3

struct subscription {
	uint32_t generation; /* part of its tag, so that no tag is used twice */
	uint16_t window;
};

struct subscriptions {
	struct subscription live[SUBSCRIPTIONS_PLACES]; /* in order of age */
	unsigned count;
	uint32_t generation; /* of the latest */
	unsigned synced;     /* steps of the barrier */
};

/* The channel is gone, and its consumers with it. */
void subscriptions_clear(struct subscriptions *);
uint32_t subscriptions_window(const struct subscriptions *);
/* Send basic.consume for the difference to window, which is wider than the present one, by 65,535
 * at most. There must be a free place. The consumer counts as live at once. */
void subscriptions_widen(struct subscriptions *, struct connection *, uint16_t channel,
	struct text queue, uint32_t window);
/* Send basic.cancel for the latest consumer, which must exist. It counts as live until
 * subscriptions_drop. */
void subscriptions_narrow(const struct subscriptions *, struct connection *, uint16_t channel);
/* The consumer with that tag has ended. False: it was not live. */
bool subscriptions_drop(struct subscriptions *, struct text tag);

/* Do a step of the barrier before a channel is closed: send basic.consume for one more message.
 * Call it again at each basic.consume-ok. False: no step is left, all acks have arrived. There must
 * be SUBSCRIPTIONS_SYNC_STEPS free places. Deliveries to these consumers go back with the channel.
 * Why: inside the broker, a quorum queue's client forwards 32 commands and holds the rest until the
 * queue has logged those; what it holds is lost with the channel. A passive declare overtakes the
 * acks (on 3.10.8, 367 of 400 single acks were lost), basic.consume does not. */
bool subscriptions_synchronize(
	struct subscriptions *, struct connection *, uint16_t channel, struct text queue);

#endif
