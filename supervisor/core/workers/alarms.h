/* One alarm for each slot, ordered by time. Layer: core. A binary heap with space for all slots. */
#ifndef CORE_WORKERS_ALARMS_H
#define CORE_WORKERS_ALARMS_H

#include "base/rc.h"
#include "core/workers/slot.h"

struct alarms {
	struct slot **heap; /* owned; heap[1] is the earliest */
	uint16_t count;
};

/* Make space for so many slots, not fewer than before. A zeroed struct has none. RC_MEMORY: nothing
 * has changed. */
enum rc alarms_grow(struct alarms *, uint16_t slots) MUST_CHECK;
void alarms_release(struct alarms *);
/* Replace the slot's alarm; MTIME_NEVER removes it. */
void alarms_set(struct alarms *, struct slot *, mtime when);
/* The slot whose alarm is earliest, or NULL. */
struct slot *alarms_first(const struct alarms *);
mtime alarms_deadline(const struct alarms *);

#endif
