/* Choose what is fixed for a whole run. */
#ifndef SIM_CHOOSE_H
#define SIM_CHOOSE_H

#include "sim/world.h"

/* RabbitMQ's default. */
#define CHOOSE_ACK_TIMEOUT (30 * MTIME_MINUTE)

/* Choose the supervisors, their pools, and the policy of all pools. */
void choose_pools(struct world *);
/* Choose the limits of the broker. */
void choose_limits(struct world *);

#endif
