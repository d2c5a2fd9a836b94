/* A log-linear histogram of times. Layer: runtime. Plain data of 13 KiB, zeroed at the start. Times
 * up to 200 us are counted exactly; above, the buckets of each decade have the same width, at most
 * 5 % of their values. All bounds of HISTOGRAM_BOUNDS are bounds of buckets, so sums up to them are
 * exact. */
#ifndef RUNTIME_HISTOGRAM_H
#define RUNTIME_HISTOGRAM_H

#include "base/mtime.h"

#include <stddef.h>

/* What Prometheus gets: from 100 us to an hour; the texts are its `le`. */
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

/* A decade has buckets of one width: from the 20th to the 200th multiple of it. The last one ends
 * at 5.5 hours; longer times are counted in its last bucket. */
enum {
	HISTOGRAM_DECADES = 9,
	HISTOGRAM_FIRST = 20,
	HISTOGRAM_END = 200,
	HISTOGRAM_BUCKETS = HISTOGRAM_FIRST + HISTOGRAM_DECADES * (HISTOGRAM_END - HISTOGRAM_FIRST),
};

/* Zero is an empty one. */
struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t count;
	mtime sum, min, max; /* of all times; 0 while count is 0 */
};

void histogram_add(struct histogram *, mtime span);
/* Add the times that a histogram got since its counts, modulo 2^32, were `before`; at least one.
 * min and max become those of their buckets, bounded by its own. */
void histogram_add_since(
	struct histogram *, const struct histogram *now, const uint32_t before[HISTOGRAM_BUCKETS]);
/* Estimate the quantile `part`, from 0 to 1, with the times of a bucket evenly spread in it: at
 * most 5 % off, and from min to max. MTIME_NEVER: the histogram is empty. */
mtime histogram_quantile(const struct histogram *, double part);
/* How many times are up to bound i of HISTOGRAM_BOUNDS. */
uint64_t histogram_count_to(const struct histogram *, size_t i);
/* Bound i in seconds, as text. */
const char *histogram_bound_label(size_t i);
/* Bucket i, below HISTOGRAM_BUCKETS, counts times above its start, up to its bound. */
mtime histogram_bucket_start(size_t i);
mtime histogram_bucket_bound(size_t i);

#endif
