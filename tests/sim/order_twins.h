/* Twins: messages of one lane that are equal, so that a pool cannot tell them apart. When one comes
 * while the pool expects the other, each is from then on what the other was: what became of them is
 * exchanged, and the simulator goes on to know them by their ids. */
#ifndef SIM_ORDER_TWINS_H
#define SIM_ORDER_TWINS_H

#include "sim/world.h"

/* Choose whether a message that is about to be published equals the latest of its lane. */
void order_twins_choose(struct world *, uint32_t id);
/* True also for a message and itself. */
bool order_twins_are(const struct order *, uint32_t a, uint32_t b);
/* a: the next one that the pool expects in its lane. */
void order_twins_exchange(struct pool_runtime *, uint32_t a, uint32_t b);

#endif
