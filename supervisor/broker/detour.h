/* The way of a retry copy through the queue where it waits. Layer: broker. */
#ifndef BROKER_DETOUR_H
#define BROKER_DETOUR_H

#include "broker/patience.h"
#include "broker/publisher.h"
#include "message/copy.h"

struct detour {
	char name[RETRY_QUEUE_NAME_MAX + 1];
	char expiration[TEXT_DECIMAL_MAX];
};

/* Where it waits, and how long: each a little longer than it must, and not all the same. The
 * options borrow from detour. */
void detour_plan(struct detour *, const struct publisher_config *, struct patience *, mtime delay,
	struct copy_options *options);

#endif
