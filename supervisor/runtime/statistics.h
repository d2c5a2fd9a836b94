/* The counts of a pool: its notices, how its workers died, how long tasks took. Layer: runtime.
 * Plain data, zeroed at the start. */
#ifndef RUNTIME_STATISTICS_H
#define RUNTIME_STATISTICS_H

#include "core/notice.h"

#include <stddef.h>

#define STATISTICS_KINDS (NOTICE_DRAINED + 1)
#define STATISTICS_EXITS (EXIT_NOT_STARTED + 1)
#define STDERR_LINE_SIZE 256

/* ---------- histograms ---------- */

/* From 100 us to an hour; the texts are Prometheus' `le`. */
#define HISTOGRAM_BOUNDS(X)                                                                        \
	X(100, "0.0001")                                                                           \
	X(1000, "0.001")                                                                           \
	X(5000, "0.005")                                                                           \
	X(10000, "0.01")                                                                           \
	X(50000, "0.05")                                                                           \
	X(100000, "0.1")                                                                           \
	X(500000, "0.5")                                                                           \
	X(1000000, "1")                                                                            \
	X(5000000, "5")                                                                            \
	X(10000000, "10")                                                                          \
	X(60000000, "60")                                                                          \
	X(300000000, "300")                                                                        \
	X(1800000000, "1800")                                                                      \
	X(3600000000, "3600")

#define X(bound, label) +1
enum { HISTOGRAM_BOUND_COUNT = 0 HISTOGRAM_BOUNDS(X) };
#undef X

/* Zero is an empty one. */
struct histogram {
	uint64_t counts[HISTOGRAM_BOUND_COUNT + 1]; /* up to each bound, and above all */
	mtime sum;
};

void histogram_add(struct histogram *, mtime span);
uint64_t histogram_count(const struct histogram *);
/* Estimate the quantile `part`, from 0 to 1, with the values of a bucket evenly spread in it; above
 * all bounds it is the highest bound. MTIME_NEVER: the histogram is empty. */
mtime histogram_quantile(const struct histogram *, double part);
/* Bound i; MTIME_NEVER above the last one. */
mtime histogram_bound(size_t i);
/* Bound i in seconds, as text. */
const char *histogram_bound_label(size_t i);

/* ---------- a pool ---------- */

/* Of a worker that was not asked to leave. */
struct last_death {
	struct exit_info exit; /* EXIT_NONE: there was none */
	const char *why;       /* static; wpool ended it; NULL: wpool did not */
	mtime at;
	char stderr_line[STDERR_LINE_SIZE]; /* its last one, escaped and cut; empty: none */
};

struct statistics {
	uint64_t counts[STATISTICS_KINDS]; /* notices */
	uint64_t retried[REASON_COUNT]; /* the counts of retried, given up and dropped, by reason */
	uint64_t given_up[REASON_COUNT];
	uint64_t dropped[REASON_COUNT];
	uint64_t recycled[RECYCLE_REASON_COUNT];
	uint64_t deaths[STATISTICS_EXITS]; /* workers that were not asked to leave */
	uint64_t held_up;  /* tasks that waited in a pipe behind one that took too long */
	uint64_t suspects; /* tasks that were open in a worker that ended for an unknown one */
	struct last_death last_death;
	struct histogram took;   /* attempts, in their workers */
	struct histogram waited; /* tasks, from their arrival until a pipe had them */
};

void statistics_count(struct statistics *, const struct notice *);

#endif
