/* Limits how many lines, and how many bytes, a second a pool's workers write into the log. Layer:
 * worker. A line counts with its size in the log, where a control character takes six bytes. So the
 * log of any span of T seconds has at most T + 1 times both, and one line more. Dropped lines are
 * counted, and the count is logged: once a second at most while lines are dropped, and at the end.
 */
#ifndef WORKER_LOG_GATE_H
#define WORKER_LOG_GATE_H

#include "base/log.h"
#include "base/rate.h"

#include <ev.h>

struct log_rate {
	int64_t lines; /* a second, 1 to RATE_MAX */
	int64_t bytes; /* a second, LOG_LINE_MAX to RATE_MAX */
};

struct log_gate {
	struct ev_loop *loop; /* borrowed, as is the pool's name */
	const char *pool;
	const struct log_rate *allowed; /* borrowed, and may change */
	struct rate lines, bytes;
	struct ev_timer report;
	uint64_t reported; /* dropped lines whose count was logged */
	/* since the start */
	uint64_t passed, passed_bytes, dropped;
};

void log_gate_init(
	struct log_gate *, struct ev_loop *, const char *pool, const struct log_rate *allowed);
/* Log the count that is not logged yet. */
void log_gate_release(struct log_gate *);
/* Log a worker's line, or drop and count it. A line below the log's level is ignored. */
void log_gate_log(struct log_gate *, struct log_origin, const struct log_worker_line *);

#endif
