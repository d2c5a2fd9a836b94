/* Messages with a key and a time (NotBefore). Before their time they are in no session, and nothing
 * waits for them; each copy of one has the place in the order at which it came into the queue. So
 * each copy that comes into it is a message of its own here, with a number of its own, and it has
 * its key from its first delivery after its time. */
#ifndef SIM_ORDER_LATER_H
#define SIM_ORDER_LATER_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct account;
struct delivery;
struct order;
struct pool_runtime;
struct world;

/* The new message may have a time. */
bool order_later_may(const struct world *, uint32_t id);
/* It has one. */
void order_later_hide(struct order *, uint32_t id);
/* A copy comes into a queue: if it is that of the pools, number it, in the body. */
void order_later_stored(struct account *, uint64_t instance, const char *queue, struct text body);
/* A message is delivered to a pool: perhaps its time has come. */
void order_later_comes(struct pool_runtime *, const struct delivery *);

#endif
