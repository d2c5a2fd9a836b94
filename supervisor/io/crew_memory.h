/* What the workers of a crew have resident, looked at now and then. Layer: io; part of the crew.
 * A hundred looks a second at most, each a read of some microseconds, so that ten thousand workers
 * cost no more than a hundred; each worker once a second where they are fewer. */
#ifndef IO_CREW_MEMORY_H
#define IO_CREW_MEMORY_H

#include "base/shelf.h"
#include <ev.h>
#include <stdbool.h>

struct crew_memory {
	struct ev_loop *loop;        /* borrowed, like the workers */
	const struct shelf *workers; /* of struct worker */
	uint32_t next;               /* whose turn it is */
	ev_timer timer;
};

void crew_memory_init(struct crew_memory *, struct ev_loop *, const struct shelf *workers);
/* From now on, or no more: SLOT_MEMORY is told of those that live. */
void crew_memory_watch(struct crew_memory *, bool is_on);

#endif
