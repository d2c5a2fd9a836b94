/* What all stations of a supervisor share: the loop, and what processes are started and watched by.
 * Layer: cli. */
#ifndef CLI_STATION_TOOLS_H
#define CLI_STATION_TOOLS_H

#include "config/config.h"

#include <stdbool.h>
#include <sys/resource.h>

/* Its members are owned, but for the loop; stations borrow them until station_free. */
struct station_tools {
	struct ev_loop *loop;
	struct reaper *reaper;
	struct guard *guard;
	struct rundir *rundir;
	struct cgroups *cgroups; /* NULL: there are none here */
	struct strays *strays;
	struct rlimit descriptors; /* what a worker may have */
	bool is_for_others;        /* some workers may be other users */
};

/* For the pools of this configuration. Of this process there is one, and it starts another, the
 * guard. False: it was said why; to be closed in any case. */
bool station_tools_open(struct station_tools *, const struct config *);
/* The pools of this other one need what was not opened. */
bool station_tools_lack(const struct station_tools *, const struct config *);
void station_tools_close(struct station_tools *);

#endif
