/* The part of a run in which anything may happen: faults of the broker and the wires, operators who
 * start, stop and kill supervisors, time that jumps. */
#ifndef SIM_CHANCE_H
#define SIM_CHANCE_H

#include "sim/world.h"

/* One step of somebody, or one trouble. */
void chance_round(struct world *);

#endif
