/* What a leader that leaves in order hands to the next one, which then need not be silent. Layer:
 * core, plain data. The starts are those in the window, with how long after its beginning each
 * counts: nothing compares the clocks of two machines. A start that was on its way for a while
 * counts as later than it was, never as earlier. */
#ifndef CORE_THROTTLE_HANDOVER_H
#define CORE_THROTTLE_HANDOVER_H

#include "core/throttle/request.h"

/* A leader that leaves has ended after a second, and what it wrote is on its way for less: one that
 * leads for longer gets nothing any more. */
#define HANDOVER_WITHIN (1500 * MTIME_MS)
/* With more of them the next leader is silent instead. */
#define HANDOVER_STARTS_MAX 50000

struct throttle_handover {
	uint64_t leader, member; /* from, to */
	struct shared_figures figures;
	/* From the moment when it was written, no other leader grants a start that can be used. */
	mtime sure_for;
	uint32_t count;
	struct handed_starts { /* the keys that started last come last, of a key its latest starts
				*/
		uint64_t key;
		uint32_t starts;
		mtime after; /* the beginning of the window, which ends when this is written */
	} of[HANDOVER_STARTS_MAX];
};

#endif
