/* The operators of sessions. */
#ifndef SIM_ORDER_VERBS_H
#define SIM_ORDER_VERBS_H

#include "sim/order.h"

struct supervisor;

/* Order something by chance about a session of a pool that serves. */
void order_verbs_chance(struct world *);
/* In a calm world: let paused and blocked sessions go on. */
void order_verbs_calm(struct supervisor *);

#endif
