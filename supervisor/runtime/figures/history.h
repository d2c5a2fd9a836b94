/* What a pool, or all together, did in each of the last 900 seconds. Layer: runtime. Plain data,
 * zeroed at the start: with its mark 31 KiB a pool, as docs/control.md says. Reads no clock: a
 * second is a number of any origin, and nothing runs in a second in which nothing happens. */
#ifndef RUNTIME_HISTORY_H
#define RUNTIME_HISTORY_H

#include "runtime/figures/histogram.h"

#define HISTORY_SECONDS 900

struct history_second {
	uint32_t in, done, retried;
	uint32_t timed;      /* attempts that ended */
	float p50, p95, p99; /* of their times, in seconds; not valid if there were none */
};

struct history {
	struct history_second at[HISTORY_SECONDS]; /* second n is at n % HISTORY_SECONDS */
	int64_t open;                              /* the second that has not ended; 0: none */
	uint32_t count;                            /* ended ones that are kept */
};

/* What a pool has done since its start. */
struct history_totals {
	uint64_t in, done, retried;
	const struct histogram *took; /* borrowed */
};

/* The totals at the end of the latest second that was measured. */
struct history_mark {
	uint64_t in, done, retried, timed;
	uint32_t took[HISTOGRAM_BUCKETS];
};

/* Return what was done since the mark, and move the mark. The times are also added to sum. */
struct history_second history_measure(
	struct history_mark *, const struct history_totals *, struct histogram *sum);
/* Count the figures, but not their times, with what is measured next. */
void history_hand_on(struct history_mark *, const struct history_second *figures);
/* Set timed and the quantiles. */
void history_set_times(struct history_second *, const struct histogram *);
/* End the seconds before now: figures are those of the first one, and the others had nothing. The
 * first call only opens `now`, and figures that came before it are not kept. */
void history_end_seconds(struct history *, int64_t now, const struct history_second *figures);
/* The newest second that has ended is 0 back. back: below count. */
const struct history_second *history_back(const struct history *, uint32_t back);

#endif
