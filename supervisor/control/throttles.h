/* The figures of throttles, for the API and the metrics. Layer: control. No key of a message is
 * among them. */
#ifndef CONTROL_THROTTLES_H
#define CONTROL_THROTTLES_H

#include "runtime/supervisor_view.h"

/* A moment of one throttle. */
struct throttle_view {
	const struct named_throttle *named;
	mtime period;      /* in force, like the limit */
	mtime retry_after; /* 0: a task may start; MTIME_NEVER: each key has its own */
	int64_t limit, max_keys;
	int64_t in_windows; /* starts of all keys; MTIME_NEVER: so many keys are not counted */
	int64_t keys;       /* that are remembered */
	int64_t waiting;    /* tasks of its pools; of a pool with several throttles they count for
			       the one that holds back most */
	/* tasks, since the supervisor's start, or since pools use it */
	int64_t starts, delayed, postponed, refused;
	/* with scope: cluster: requests that were sent, the starts that they asked for and those
	 * that were granted, of these the ones that were not used in time, and the ones that
	 * happened too late; else MTIME_NEVER */
	int64_t requests, requested, granted, unused, late;
	const char *leader; /* a static text; NULL: it needs none */
	int64_t leads;      /* 1: this supervisor leads; MTIME_NEVER: it needs no leader */
};

/* Return the throttle at *place or later that pools would use by its name, and move *place past it;
 * false: no more. */
bool throttle_view_next(const struct supervisor_view *, size_t *place, struct throttle_view *ret);

#endif
