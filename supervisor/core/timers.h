/* Timers in order of time. Layer: core. A binary heap; a timer is embedded in what it is for. */
#ifndef CORE_TIMERS_H
#define CORE_TIMERS_H

#include "base/mtime.h"
#include "base/rc.h"
#include <stdint.h>

struct timer {
	mtime at;       /* MTIME_NEVER: it does not run */
	uint32_t place; /* in the heap, from 1; 0: not in it */
};

struct timers {
	struct timer **heap; /* owned; heap[1] is the earliest */
	uint32_t count;      /* that run */
	uint32_t size;       /* so many may run */
};

/* Let so many timers run at once, or more. A zeroed struct has space for none. RC_MEMORY: nothing
 * has changed. */
enum rc timers_reserve(struct timers *, uint32_t size) MUST_CHECK;
void timers_release(struct timers *);
/* Start the timer, or change its time; MTIME_NEVER stops it. There must be space for it. */
void timers_set(struct timers *, struct timer *, mtime at);
/* The earliest timer that runs, or NULL. */
struct timer *timers_first(const struct timers *);
mtime timers_deadline(const struct timers *);

#endif
