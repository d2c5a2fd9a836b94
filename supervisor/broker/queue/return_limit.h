/* How often a message of an ordered queue may be returned, by the queue's delivery limit; and
 * whether that is what the operator was promised with session.delivery_limit: none. Layer: broker,
 * pure but for the log. */
#ifndef BROKER_QUEUE_RETURN_LIMIT_H
#define BROKER_QUEUE_RETURN_LIMIT_H

#include "broker/channel_log.h"
#include "broker/queue/queue_probe.h"

struct return_limit {
	bool is_limit_logged;   /* that the queue has a delivery limit */
	bool is_default_logged; /* that the broker's own limit may count */
};

/* For SOURCE_UP; 0: not known, or unlimited. */
uint32_t return_limit_max(const struct queue_probe *);
/* The setting promises that nothing is lost by returns: true if the queue has a limit, which is
 * logged once. */
bool return_limit_loses(struct return_limit *, const struct queue_probe *, struct text queue,
	const struct channel_log *);
/* The same promise: log once that the limit of a broker of this version counts if the queue has
 * none of its own. */
void return_limit_warn_of_default(struct return_limit *, const struct queue_probe *,
	enum queue_order, struct text broker_version, struct text queue,
	const struct channel_log *);

#endif
