/* How long the loop's turns take: from the moment it has news until it waits again. Layer: io.
 * That span is what a peer waits for at worst; a long one is logged when it beats all before it. */
#ifndef IO_PULSE_H
#define IO_PULSE_H

#include "base/mtime.h"

#include <ev.h>

#define PULSE_LONG (50 * MTIME_MS)

/* Zero is legal for pulse_stop. */
struct pulse {
	struct ev_check turn_begin; /* before every other watcher */
	struct ev_prepare turn_end; /* after every other watcher */
	mtime begun;                /* 0: between two turns, or before the first */
	mtime computed;             /* by this thread, until the last turn's end */
	mtime longest;
	mtime longest_computed; /* the part of it that this thread was running */
};

void pulse_start(struct pulse *, struct ev_loop *);
void pulse_stop(struct pulse *, struct ev_loop *);

#endif
