/* What it costs to start a worker: processor time. The starting workers of a supervisor share its
 * processors, so each waits while others compute. */
#ifndef SIM_START_COSTS_H
#define SIM_START_COSTS_H

#include "base/mtime.h"

#include <stdint.h>

struct pool_runtime;
struct supervisor;
struct worker;
struct world;

/* Choose what each start costs in this run. */
void start_costs_choose(struct world *);
/* A supervisor starts: choose its share of the processors. */
void start_costs_begin(struct supervisor *);
/* A worker is started. Check that not too many compute. */
void start_costs_spawn(struct pool_runtime *, struct worker *);
/* So much time passes for all supervisors. */
void start_costs_pass(struct world *, mtime span);
/* Report the idle time, if the core asks for it. */
void start_costs_look(struct supervisor *);
/* Check that a worker that is over its boot limit has had as much time for its start. */
void start_costs_check_overdue(const struct pool_runtime *, const struct worker *);

#endif
