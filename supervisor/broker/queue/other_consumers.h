/* The other consumers of an ordered queue, which has to have none before the pool consumes: when to
 * look again, and when to log them. A consumer whose channel has ended counts until the queue has
 * taken back what it held. Layer: broker, pure but for the log. */
#ifndef BROKER_QUEUE_OTHER_CONSUMERS_H
#define BROKER_QUEUE_OTHER_CONSUMERS_H

#include "base/backoff.h"
#include "broker/channel_log.h"
#include "broker/queue/queue_probe.h"

struct other_consumers {
	struct backoff looks;
	mtime looking_since; /* MTIME_NEVER: not */
	bool is_logged; /* they have been there for so long that they are hardly predecessors */
};

void other_consumers_init(struct other_consumers *, uint32_t seed);
/* Their number is asked for. */
void other_consumers_look(struct other_consumers *, mtime now);
/* There are so many, at least 1. Return when to look again. */
mtime other_consumers_found(struct other_consumers *, uint32_t count, enum queue_order,
	struct text queue, const struct channel_log *, mtime now);
void other_consumers_gone(struct other_consumers *);
/* The channel on which we looked has ended. */
void other_consumers_stop(struct other_consumers *);
bool other_consumers_are_looked_for(const struct other_consumers *);

#endif
