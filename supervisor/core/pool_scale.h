/* How many workers a pool has. Layer: core; part of the pool's inside (pool_parts.h).
 * A slot is kept or leaves: one that leaves gets nothing more, finishes what is in its pipe and is
 * retired. Interrupts nobody; never has more slots than were wanted at once, and one. */
#ifndef CORE_POOL_SCALE_H
#define CORE_POOL_SCALE_H

#include "base/rc.h"
#include "core/notice.h"
#include <stdbool.h>
#include <stdint.h>

struct pool;
struct slot;

/* The first slots, before any effect. RC_MEMORY. */
enum rc pool_slots_init(struct pool *) MUST_CHECK;
/* So many workers are wanted, 1 to POOL_WORKERS_MAX. False: there is no memory for them. */
bool pool_scale(struct pool *, uint32_t workers) MUST_CHECK;
/* The same, where there are slots for them already. */
void pool_want(struct pool *, uint32_t workers);
/* The change is told, and kept for those who watch; before, after, bounds and time are filled in.
 */
void pool_tell_scaling(struct pool *, enum notice_kind, struct scaling);
/* So many slots more are kept, and none of those that are to be replaced; so many are leaving.
 * False: there is no memory for them, and none is. */
bool pool_keep_more(struct pool *, uint32_t more, uint32_t leaving) MUST_CHECK;
/* It is wanted again, or still. */
void pool_keep(struct pool *, struct slot *);
/* It gets nothing more, and leaves when its pipe is empty. */
void pool_dismiss(struct pool *, struct slot *);
/* It leaves now, or in one of the next turns if many have done so in this one. */
void pool_let_go(struct pool *, struct slot *);
/* Some of those that are idle and are to leave do, until all were passed. */
void pool_leave_some(struct pool *);
/* There are some left. */
bool pool_has_leavers(const struct pool *);
/* Those that are too many leave, the ones that are missed least first. */
void pool_dismiss_surplus(struct pool *);
/* By how much it is missed: 0 is the least. */
uint32_t pool_slot_weight(const struct pool *, const struct slot *);

#endif
