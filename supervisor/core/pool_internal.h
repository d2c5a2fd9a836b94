/* The inside of a pool: the tasks, the workers, and what both share. Layer: core. For pool*.c, and
 * for the simulator, which checks states. */
#ifndef CORE_POOL_INTERNAL_H
#define CORE_POOL_INTERNAL_H

#include "core/context.h"
#include "core/pool.h"
#include "core/tasks/tasks.h"
#include "core/workers/slots.h"

struct pool {
	struct pool_context context;
	struct tasks tasks;
	struct slots slots;
	bool is_cut_short; /* by COMMAND_FORCE */
};

#endif
