/* When a publishing channel is given up for its refusals. Layer: broker.
 * A broker may refuse whatever a channel publishes to a queue for as long as that channel lives:
 * RabbitMQ 3.10 does where the channel's first publish met a queue whose leader was gone, also when
 * it has another one since. A new channel asks anew. Where the queue itself refuses (it is full),
 * this costs a channel now and then: the waits grow. */
#ifndef BROKER_REFUSALS_H
#define BROKER_REFUSALS_H

#include "broker/patience.h"

#include <stdbool.h>

struct refusals {
	struct patience patience;
	mtime renew_at; /* MTIME_NEVER: this channel has refused nothing */
};

void refusals_init(struct refusals *, uint32_t seed);
/* The broker has answered a publish. What it took on a channel that never refused ends the row of
 * refusing ones. */
void refusals_note(struct refusals *, bool is_refused, mtime now);
/* It is another channel from here on. */
void refusals_forget(struct refusals *);

#endif
