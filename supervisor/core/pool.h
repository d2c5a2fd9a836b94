/* A pool: one queue's tasks, N worker slots, and every decision about them. Layer: core.
 * A reducer: pool_step takes the time and one event, and acts through its effects. It makes no
 * system call, reads no clock and allocates nothing after pool_new but room in its tables and, when
 * it is scaled up, slots.
 * Its next deadline is pulled by pool_deadline; nothing is armed. */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include "core/effects.h"
#include "core/event.h"
#include "core/pool_config.h"

struct pool;

/* NULL: out of memory. All three pointers are borrowed until pool_free. Starts with every slot to
 * be spawned in the first TURN_END and with its source and its outbox down. */
struct pool *pool_new(const struct pool_config *, const struct effects *, void *io, mtime now);
/* now never runs backwards from one call to the next. */
void pool_step(struct pool *, mtime now, const struct event *);
/* A TURN_END is wanted then, whatever happens; MTIME_NEVER: only on an event. */
mtime pool_deadline(const struct pool *);
/* After a drain or force: no process, nothing unacked on a living channel, nothing unconfirmed that
 * could still free an input, nothing to flush; it may be freed. */
bool pool_is_quiet(const struct pool *);
/* Something of it is published and not confirmed. */
bool pool_is_publishing(const struct pool *);
/* Nothing is, and what there is to publish was refused and waits. */
bool pool_is_refused(const struct pool *);
/* True when COMMAND_FORCE cut something short. */
bool pool_was_forced(const struct pool *);
void pool_free(struct pool *);
/* Asserts that every list, state and counter agrees with every other; O(n), for tests. */
void pool_audit(const struct pool *);

#endif
