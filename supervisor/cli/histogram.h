/* How long things took, in buckets of fixed bounds. Layer: cli, pure. */
#ifndef CLI_HISTOGRAM_H
#define CLI_HISTOGRAM_H

#include "base/mtime.h"

#include <stddef.h>

/* From 100 us to an hour; the words are what Prometheus calls `le`. */
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

#define X(bound, words) +1
enum { HISTOGRAM_BOUND_COUNT = 0 HISTOGRAM_BOUNDS(X) };
#undef X

/* Zero is an empty one. */
struct histogram {
	uint64_t counts[HISTOGRAM_BOUND_COUNT + 1]; /* up to each bound, and above all */
	mtime sum;
};

void histogram_add(struct histogram *, mtime span);
uint64_t histogram_count(const struct histogram *);
/* part: from 0 to 1. Below what that part of all lies, as far as the buckets tell: evenly spread in
 * theirs, and of those above all bounds the highest bound. MTIME_NEVER: there are none. */
mtime histogram_quantile(const struct histogram *, double part);
/* Bound i; MTIME_NEVER: above the last one there is none. */
mtime histogram_bound(size_t i);
/* Of bound i, in seconds. */
const char *histogram_bound_words(size_t i);

#endif
