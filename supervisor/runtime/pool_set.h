/* The pool runtimes of a supervisor, each at a fixed place. Layer: runtime. Owns them. Free places
 * are used again. A walk over several turns keeps a place, and a serial number shows whether the
 * place still has the same pool. */
#ifndef RUNTIME_POOL_SET_H
#define RUNTIME_POOL_SET_H

#include "base/text.h"
#include "runtime/pool_runtime.h"

/* At most so many pools: places have 16-bit numbers. */
#define POOL_SET_MAX 10000

/* Zeroed: empty. */
struct pool_set {
	struct pool_runtime **at; /* NULL: a free place */
	uint16_t count;           /* places */
	uint32_t serials;         /* the latest one given */
	struct link turns;        /* pool runtimes, in the order in which they have their turns */
	struct history history;   /* of all pools together */
};

/* Add a pool runtime at the first free place; config moves in. NULL: out of memory, or
 * POOL_SET_MAX places are in use; nothing has changed. */
struct pool_runtime *pool_set_add(struct pool_set *, const struct runtime_shared *,
	struct config_pool *config, mtime now) MUST_CHECK;
/* Remove a pool runtime and free it, killing what still runs. What it has done in the second that
 * has not ended is counted for the pool that has replaced it, without the times. */
void pool_set_remove(struct pool_set *, struct pool_runtime *);
void pool_set_release(struct pool_set *);

/* End the seconds before now in all histories. What a replaced pool does is also in that of the
 * latest pool of its name. Called when a turn begins, before anything of it is counted, at least
 * once a second while something happens. */
void pool_set_end_seconds(struct pool_set *, int64_t now);

/* End a turn of the loop in all pools: expired timers, dispatch, acks, and one write for each pipe.
 * A pool that has begun a task by a throttle has its next turns after the others, so that pools
 * which share one are served alike. */
void pool_set_turn(struct pool_set *, struct throttles *, mtime now, uint64_t wall_s);

/* NULL: none. */
struct pool_runtime *pool_set_at(const struct pool_set *, size_t place);
/* Return the first one at *place or later, and move *place past it; NULL: no more. */
struct pool_runtime *pool_set_next(const struct pool_set *, size_t *place);
/* The latest of that name with a serial of at most newest; NULL: none. */
struct pool_runtime *pool_set_find_as_of(
	const struct pool_set *, struct text name, uint32_t newest);
/* The latest of that name; NULL: none. */
struct pool_runtime *pool_set_find(const struct pool_set *, struct text name);
/* How many are not retiring. */
size_t pool_set_pools(const struct pool_set *);

#endif
