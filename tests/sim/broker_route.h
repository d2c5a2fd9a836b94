/* The fake broker's default exchange: which queues a publish or a dead letter goes to. */
#ifndef SIM_BROKER_ROUTE_H
#define SIM_BROKER_ROUTE_H

#include "sim/broker_parts.h"

#define ROUTE_KEYS_MAX 16
struct route {
	struct text keys[ROUTE_KEYS_MAX]; /* sorted, each once */
	size_t count;
};
/* Add the keys of the header (CC or BCC) if there is one. False: it is no array. */
bool route_add_header(struct route *, struct text headers, struct text name);
void route_add_array(struct route *, struct text members);
void route_add(struct route *, struct text key);
/* Deliver an answer to direct reply-to. False: no consumer waits for it. */
bool route_reply(struct broker *, struct text token, struct text properties, struct text body);
bool route_is_reply(struct text key);

#endif
