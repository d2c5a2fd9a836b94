/* A ring of the latest starts: at most `limit` of them in any half-open window of `period`, so a
 * start that is exactly one period old does not count. Layer: core. The place `limit` starts ago
 * decides alone, so nothing is scanned or counted. 8 bytes a start. Reads no clock. */
#ifndef CORE_THROTTLE_RING_H
#define CORE_THROTTLE_RING_H

#include "base/mtime.h"
#include "base/rc.h"

#include <stdbool.h>
#include <stdint.h>

struct ring {
	mtime *starts;      /* owned */
	uint32_t size;      /* places */
	uint32_t count;     /* places with a start; the others come next */
	uint32_t next : 31; /* place of the next start; if all are in use: of the oldest one */
	uint32_t has_forgotten : 1; /* there were starts before these */
	uint32_t charged;           /* of the latest starts, since ring_postdate */
	mtime forgotten_at;         /* not before the latest of those that were forgotten */
};

/* A zeroed struct is a ring without a place. ring_release: it is one again. */
void ring_release(struct ring *);
/* Have at least `limit` places, above 0. A ring never gets smaller, so a limit that is lowered and
 * raised again loses no start. RC_MEMORY: nothing has changed. */
enum rc ring_reserve(struct ring *, uint32_t limit) MUST_CHECK;
/* There were starts before those of the ring, up to this time. */
void ring_forgot(struct ring *, mtime at);
/* There were any number of starts up to this time, which is at least 0: the next one is a period
 * later. The ring has places, and no start of this turn. */
void ring_use_up(struct ring *, mtime at);
/* When the next start is within `limit` (1 to the places) in `period` (above 0): the exact time,
 * which may be in the past; 0: at any time. If the start that decides was forgotten, it counts as
 * late as it can have been: that makes a difference only after a higher limit with a longer period.
 */
mtime ring_free_at(const struct ring *, uint32_t limit, mtime period);
/* ring_free_at and ring_add will be called soon: have the processor fetch what they need. */
void ring_prefetch(const struct ring *);
/* Record a start. `now` is at least 0; one that is earlier than the latest start, or than those
 * that were forgotten, counts as equal to it. There must be a place at all. */
void ring_add(struct ring *, mtime now);
/* The same for a start of this turn, which may be later than now. */
void ring_charge(struct ring *, mtime now);
/* Those were as late as now. */
void ring_postdate(struct ring *, mtime now);
/* Of the starts with exactly this time, so many did not happen. O(places) at most. */
void ring_take_back(struct ring *, uint32_t starts, mtime at);
/* How many of the ring's starts are later than this. O(log places). */
uint32_t ring_count_after(const struct ring *, mtime at);
/* The start that was so many starts ago; 1: the latest, up to ring->count. */
mtime ring_start(const struct ring *, uint32_t ago);
/* The latest start; false: there was none. */
bool ring_latest(const struct ring *, mtime *ret_at) MUST_CHECK;

#endif
