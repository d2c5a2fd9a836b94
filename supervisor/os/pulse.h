/* The loop's responsiveness. Layer: os. Measures how long turns take, from an event until the
 * loop waits again, which is what a peer waits at worst. A turn that is longer than all before
 * it is logged. A tick detects gaps in which this process did not run (clock_watch); they count
 * for no turn. */
#ifndef OS_PULSE_H
#define OS_PULSE_H

#include "base/mtime.h"

#include <ev.h>
#include <stdbool.h>

#define PULSE_LONG (50 * MTIME_MS)

/* Zeroed is allowed for pulse_stop. */
struct pulse {
	struct ev_check turn_begin; /* before every other watcher */
	struct ev_prepare turn_end; /* after every other watcher */
	struct ev_timer tick;
	struct ev_async signals; /* started again at each tick */
	unsigned turns;          /* since the latest tick */
	bool was_busy;           /* before that */
	mtime left_out; /* of the clock, at the start of the latest turn; the gap that was logged */
	mtime begun;    /* 0: between two turns, or before the first */
	mtime computed; /* CPU time of this thread at the latest sample */
	mtime sampled_at;
	mtime longest;
	mtime longest_computed; /* CPU time of this thread in that turn */
};

void pulse_start(struct pulse *, struct ev_loop *);
void pulse_stop(struct pulse *, struct ev_loop *);

#endif
