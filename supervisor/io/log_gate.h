/* Lets what a pool's workers write into the log, at most so many lines a second. Layer: io; part of
 * the crew.
 * What is dropped is counted, and told: once a second at most while that goes on, and at its end.
 */
#ifndef IO_LOG_GATE_H
#define IO_LOG_GATE_H

#include "base/log.h"
#include "base/rate.h"

#include <ev.h>

struct log_gate {
	struct ev_loop *loop; /* borrowed, as is the pool's name */
	const char *pool;
	const int64_t *lines; /* a second; borrowed, and may change */
	struct rate rate;
	struct ev_timer tell;
	uint64_t told; /* of those that were dropped */
	/* since the start */
	uint64_t passed, dropped;
};

/* lines: a second, 1 to RATE_MAX. */
void log_gate_init(struct log_gate *, struct ev_loop *, const char *pool, const int64_t *lines);
/* Tells what is not told yet. */
void log_gate_release(struct log_gate *);
/* A line of a worker, which goes on into the log or is dropped. One that the log's level hides is
 * neither. */
void log_gate_tell(struct log_gate *, struct log_origin, const struct log_worker_line *);

#endif
