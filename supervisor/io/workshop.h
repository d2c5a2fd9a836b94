/* What all workers of a crew share. Layer: io; part of the crew, which fills it. */
#ifndef IO_WORKSHOP_H
#define IO_WORKSHOP_H

#include "base/list.h"
#include "io/crew.h"
#include "io/log_gate.h"

/* One read a worker and turn: what is left makes its descriptor ready again at once. */
#define WORKER_READ 65536

struct worker;

struct workshop {
	struct ev_loop *loop; /* borrowed, like all pointers here */
	const struct crew_config *config;
	struct reaper *reaper;
	struct guard *guard;
	struct rundir *rundir;
	struct strays *strays;
	struct pool *pool;
	struct link unsent; /* to be written at the end of this turn */
	struct link later;  /* to be looked at again by .tick */
	ev_timer tick;
	struct log_gate gate; /* of what they write to stdout and stderr */
	/* What a read brings; belongs to whoever reads, until it returns. Only when memory is short
	 * do bytes stay here, and then nobody else reads before they are put away. */
	struct worker *stuck;
	struct text stuck_bytes;
	uint8_t scratch[WORKER_READ];
};

#endif
