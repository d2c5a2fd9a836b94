/* A pool: one queue's tasks, N worker slots, and every decision about them. Layer: core. A reducer:
 * pool_step takes the time and one event, and acts through its effects. It makes no system call and
 * reads no clock. After pool_new it allocates only to grow its tables and, when it is scaled up,
 * its slots. It sets no timers: the caller asks for the next deadline (pool_deadline). */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include "core/effects.h"
#include "core/event.h"
#include "core/pool_config.h"

struct pool;
struct starts;

/* Make a pool whose source and outbox are down; the first TURN_END starts its workers. All pointers
 * are borrowed until pool_free; all pools share the starts, and the last id that a task got (0 at
 * first). NULL: out of memory. */
struct pool *pool_new(const struct pool_config *, struct starts *, uint64_t *last_task_id,
	const struct effects *, void *io, mtime now);
/* Handle an event. now is not earlier than in the call before. */
void pool_step(struct pool *, mtime now, const struct event *);
/* When the pool needs a TURN_END without any event; MTIME_NEVER: only after one. */
mtime pool_deadline(const struct pool *);
/* True after a drain or a forced stop, when all its workers are gone and its consuming channel is
 * closed: the pool may be freed. */
bool pool_is_quiet(const struct pool *);
/* True: a publish is not confirmed yet. */
bool pool_is_publishing(const struct pool *);
/* True: no publish is unconfirmed, but parcels wait to be published. */
bool pool_is_refused(const struct pool *);
/* True: the publish of this number, in the present epoch of the outbox, is a copy that must wait in
 * a retry queue (PARCEL_POSTPONE): in the pool's own queue it would come back at once. */
bool pool_must_wait(const struct pool *, uint64_t seq);
/* True: a worker has a task, a publish is not confirmed, or a task that has ended waits for its
 * redelivery to be acked; COMMAND_FORCE cuts that short. */
bool pool_has_unfinished(const struct pool *);
/* True: COMMAND_FORCE cut something short, or the pool is not quiet yet after it, so the broker may
 * not have got the last acks. */
bool pool_was_cut_short(const struct pool *);
void pool_free(struct pool *);
/* Assert that all lists, states and counters agree; O(n), for tests. */
void pool_audit(const struct pool *);

#endif
