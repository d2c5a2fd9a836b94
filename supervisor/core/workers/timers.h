/* One timer for each slot, ordered by time. Layer: core. A binary heap with space for all slots. */
#ifndef CORE_WORKERS_TIMERS_H
#define CORE_WORKERS_TIMERS_H

#include "base/rc.h"
#include "core/workers/slot.h"

struct timers {
	struct slot **heap; /* owned; heap[1] is the earliest */
	uint16_t count;
};

/* Make space for so many slots, not fewer than before. A zeroed struct has none. RC_MEMORY: nothing
 * has changed. */
enum rc timers_grow(struct timers *, uint16_t slots) MUST_CHECK;
void timers_release(struct timers *);
/* Replace the slot's timer; MTIME_NEVER removes it. */
void timers_set(struct timers *, struct slot *, mtime when);
/* The slot whose timer is earliest, or NULL. */
struct slot *timers_first(const struct timers *);
mtime timers_deadline(const struct timers *);

#endif
