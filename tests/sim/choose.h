/* What a run is like from its beginning. */
#ifndef SIM_CHOOSE_H
#define SIM_CHOOSE_H

#include "sim/world.h"

/* Of a broker, by default. */
#define CHOOSE_ACK_TIMEOUT (30 * MTIME_MINUTE)

/* Supervisors, their pools, and the policy of all. */
void choose_pools(struct world *);
/* The broker's. */
void choose_limits(struct world *);

#endif
