/* What a world of shared_world.h is made from: its figures, its load, and what goes wrong. */
#ifndef UNIT_SHARED_PLAN_H
#define UNIT_SHARED_PLAN_H

#include "base/mtime.h"

#include <stdbool.h>
#include <stdint.h>

struct shared_plan {
	uint64_t seed;
	uint32_t limit, max_keys;
	uint32_t keys; /* in use; 1: none has a key */
	mtime period;
	mtime delay;         /* of a hop: up to this; a round trip has four */
	uint32_t slow, lost; /* of a thousand hops */
	mtime slow_max;      /* a slow one takes up to this */
	uint32_t stalled;    /* of a thousand turns: the process is stopped before the write */
	uint32_t load;       /* arriving tasks of a key in a period, in percent of the limit */
	uint32_t burst;      /* so many arrive at once, at most */
	uint32_t faults;     /* of the following kinds */
	bool kills, stops, cuts, suspects, leaves;
	/* of a thousand steps of a leave: the message is lost, or late; the process is stopped
	 * before it, or has a fault after it */
	uint32_t leave_lost, leave_late, leave_stopped, leave_hit;
	mtime away_max; /* a process that has left begins again within this */
	bool flaps;     /* suspicions last hardly longer than a role must */
	bool changes;   /* an operator sets other figures once */
	uint32_t new_limit;
	mtime new_period;
	mtime work; /* tasks arrive until then; faults begin in the first two thirds of it */
};

#endif
