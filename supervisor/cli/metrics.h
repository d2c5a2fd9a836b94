/* The metrics of a supervisor, in Prometheus' text format 0.0.4. Layer: cli.
 * Made family by family and, in each, pool by pool, so that a thousand pools are no long turn.
 * Labels are names of pools and words of ours: never a process id, never a message's. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "cli/overview.h"

/* Where the writing stands; zero is the beginning. The pools are those that are there then: one
 * that comes later may have the name of one that was written already. */
struct metrics {
	size_t family, place;
	uint32_t newest; /* serial */
};

/* Appends what comes next; false: that was all before. Failure stays in out. */
bool metrics_next(struct metrics *, const struct overview *, struct buf *out);

#endif
