/* The loop's own pace. Layer: io.
 * How long its turns take, from the moment it has news until it waits again: what a peer waits for
 * at worst. A long one is logged when it beats all before it. And a tick, so that a gap in it is
 * known for what it is: time in which this process did not run (clock_watch), and which is no
 * turn's. */
#ifndef IO_PULSE_H
#define IO_PULSE_H

#include "base/mtime.h"

#include <ev.h>
#include <stdbool.h>

#define PULSE_LONG (50 * MTIME_MS)

/* Zero is legal for pulse_stop. */
struct pulse {
	struct ev_check turn_begin; /* before every other watcher */
	struct ev_prepare turn_end; /* after every other watcher */
	struct ev_timer tick;
	struct ev_async signals; /* started anew at each tick */
	unsigned turns;          /* since the latest tick */
	bool was_busy;           /* before it */
	mtime left_out;          /* of the clock, at the latest turn's begin; that was told of */
	mtime begun;             /* 0: between two turns, or before the first */
	mtime computed;          /* by this thread, until the latest sample */
	mtime sampled_at;
	mtime longest;
	mtime longest_computed; /* the part of it that this thread was running */
};

void pulse_start(struct pulse *, struct ev_loop *);
void pulse_stop(struct pulse *, struct ev_loop *);

#endif
