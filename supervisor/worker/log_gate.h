/* Limits how many lines a second a pool's workers write into the log. Layer: worker. Dropped lines
 * are counted, and the count is logged: once a second at most while lines are dropped, and at the
 * end. */
#ifndef WORKER_LOG_GATE_H
#define WORKER_LOG_GATE_H

#include "base/log.h"
#include "base/rate.h"

#include <ev.h>

struct log_gate {
	struct ev_loop *loop; /* borrowed, as is the pool's name */
	const char *pool;
	const int64_t *lines; /* a second; borrowed, and may change */
	struct rate rate;
	struct ev_timer report;
	uint64_t reported; /* dropped lines whose count was logged */
	/* since the start */
	uint64_t passed, dropped;
};

/* lines: a second, 1 to RATE_MAX. */
void log_gate_init(struct log_gate *, struct ev_loop *, const char *pool, const int64_t *lines);
/* Log the count that is not logged yet. */
void log_gate_release(struct log_gate *);
/* Log a worker's line, or drop and count it. A line below the log's level is ignored. */
void log_gate_log(struct log_gate *, struct log_origin, const struct log_worker_line *);

#endif
