/* The part of a run with faults: of the broker and the connections, supervisors that are started,
 * stopped and killed, and time that jumps. */
#ifndef SIM_CHANCE_H
#define SIM_CHANCE_H

#include "sim/world.h"

/* Do one step of one part of the world, or let one fault happen. */
void chance_round(struct world *);

#endif
