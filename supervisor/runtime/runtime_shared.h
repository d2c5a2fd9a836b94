/* Shared by all pools of a supervisor: the loop, and what starts and watches processes. Layer:
 * runtime. */
#ifndef RUNTIME_RUNTIME_SHARED_H
#define RUNTIME_RUNTIME_SHARED_H

#include "config/config.h"
#include "process/mark.h"

#include <stdbool.h>
#include <sys/resource.h>

/* Members are owned, except the loop, the starts and the throttles; pool runtimes borrow them until
 * pool_runtime_free. */
struct runtime_shared {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct guard *guard;
	struct rundir *rundir;
	struct cgroups *cgroups; /* NULL: not available on this machine */
	struct descendants *descendants;
	struct strays *strays;
	struct starts *starts;       /* borrowed; set it before the first pool */
	uint64_t *last_task_id;      /* the same */
	struct throttles *throttles; /* the same; NULL: no pool has one */
	char mark[MARK_RUN_SIZE];    /* of this run */
	struct rlimit descriptors;   /* limit for a worker */
	char **const *secrets;       /* variables that hold a password; the configuration's */
	bool is_for_others;          /* some workers may run as other users */
};

/* Open it for the pools of a configuration, which is borrowed until runtime_shared_close. Once in a
 * process; it starts the guard process. False: the reason is logged. Close it in any case. */
bool runtime_shared_open(struct runtime_shared *, const struct config *);
/* True if the pools of another configuration need something that was not opened. */
bool runtime_shared_cannot_serve(const struct runtime_shared *, const struct config *);
/* Let the limits of workers' groups hold, if a pool of this configuration has some; warn for each
 * such pool if they cannot. At the start, and when another configuration is applied. */
void runtime_shared_allow_limits(const struct runtime_shared *, const struct config *);
void runtime_shared_close(struct runtime_shared *);

#endif
