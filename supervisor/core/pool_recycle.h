/* Workers that have lived for long enough are replaced. Layer: core; part of the pool's inside
 * (pool_parts.h). Another one is ready before one leaves, an eighth of them at a time at most; only
 * one that was given as many tasks as it may have leaves for its own place, and only one whose
 * memory is over the hard limit is killed. While all are replaced (pool_roll.h) it waits. */
#ifndef CORE_POOL_RECYCLE_H
#define CORE_POOL_RECYCLE_H

#include "core/recycle.h"
#include <stdbool.h>

struct pool;
struct slot;

struct recycle {
	bool is_any;     /* due, or spare */
	bool wants_look; /* something happened to a slot since the last look */
	uint16_t spares; /* slots that are kept beside those wanted, for those that are due */
	mtime next_at;   /* when one may be due by its age; MTIME_NEVER */
};

/* The limits are other ones from now on. */
void pool_recycle_configure(struct pool *);
/* A worker is ready; it has answered. */
void pool_recycle_ready(struct pool *, struct slot *);
void pool_recycle_answered(struct pool *, struct slot *);
/* It was given all that it may be given, and has answered that: it leaves for its own place. */
bool pool_recycle_is_spent(const struct slot *);
void pool_recycle_leave(struct pool *, struct slot *);
/* In each turn: those that are due, and those that come for them. */
void pool_recycle(struct pool *);
mtime pool_recycle_deadline(const struct pool *);

#endif
