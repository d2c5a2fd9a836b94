/* When to replace a publishing channel because of refusals. Layer: broker, pure. RabbitMQ 3.10 may
 * refuse all publishes on a channel until the channel is closed: if the first publish on it went to
 * a queue without a leader, even after the queue has one. A new channel does not have this problem.
 * If the queue refuses for another reason (it is full), this costs a channel from time to time,
 * with growing waits. */
#ifndef BROKER_CHANNEL_RENEWAL_H
#define BROKER_CHANNEL_RENEWAL_H

#include "base/backoff.h"

#include <stdbool.h>

struct channel_renewal {
	struct backoff backoff;
	mtime renew_at; /* MTIME_NEVER: this channel has refused nothing */
};

void channel_renewal_init(struct channel_renewal *, uint32_t seed);
/* The broker has answered a publish. A confirm on a channel that has refused nothing resets the
 * growing wait. */
void channel_renewal_on_answer(struct channel_renewal *, bool is_refused, mtime now);
/* A new channel begins. */
void channel_renewal_forget(struct channel_renewal *);

#endif
