/* What the files of the workers' half share, from the lowest to the highest. Layer: core. */
#ifndef CORE_WORKERS_SLOTS_INTERNAL_H
#define CORE_WORKERS_SLOTS_INTERNAL_H

#include "core/workers/slots.h"

#define NEXT_TURN 1 /* microsecond later, since each turn asks the clock */

/* slots.c: lives */
/* Ask its worker to leave; this is not taken back. */
void slots_leave(struct slots *, struct slot *);
/* True: its present life is a success by now, so its failures were set to 0. This is found while
 * the worker lives, which may be for months. */
bool slots_succeeds(struct slots *, struct slot *);
/* Act on timers: end workers that are over a limit, and start those that are due. */
void slots_start_due(struct slots *);
/* Emit a notice. Fills in kind, slot and life. */
void slots_emit(const struct slots *, enum notice_kind, const struct slot *, struct notice);
/* Draw the limits of its worker's life. */
void slots_draw_limits(struct slots *, struct slot *);
/* Mark the slot's worker as due to be replaced. */
void slots_mark_due(struct slots *, struct slot *, enum recycle_reason);
/* Mark it as due if it has sent almost all the answers that it may. If it is idle and has got all
 * the tasks that it may, let it leave; the next worker starts in the same slot. */
void slots_check_spent(struct slots *, struct slot *);
/* NOTICE_WORKER_RECYCLED. */
void slots_emit_recycled(
	const struct slots *, const struct slot *, enum recycle_reason, uint64_t bytes);

/* When a task exceeds the hard limit, or a worker was watched for long enough after that. */
mtime slots_hard_deadline(const struct slots *);

/* slots_scale.c: which slots are kept */
/* Keep so many more slots, none of those that are to be replaced. leaving: how many slots are
 * leaving. False: there is no memory for them, and none is kept. */
bool slots_keep_more(struct slots *, uint32_t more, uint32_t leaving) MUST_CHECK;
/* Keep the slot: if it was leaving, it gets tasks again. */
void slots_keep(struct slots *, struct slot *);
/* Let the slot leave: it gets no more tasks, and its worker ends when its pipe is empty. */
void slots_dismiss(struct slots *, struct slot *);
/* Ask its worker to leave now, or in a later turn if many have left in this one. */
void slots_leave_throttled(struct slots *, struct slot *);
/* Let surplus slots leave, in order of slots_weight. */
void slots_dismiss_surplus(struct slots *);
/* What it costs to lose this slot: 0 is the minimum. */
uint32_t slots_weight(const struct slots *, const struct slot *);

/* slots_replace.c: in each turn of a pool that stays */
void slots_roll(struct slots *);
void slots_recycle(struct slots *);
/* Draw new limits for a worker that is ready. If it has got more tasks than the new one allows, the
 * former one stays and the worker is due: otherwise all idle workers would leave at the same time.
 */
void slots_renew_limits(struct slots *, struct slot *);

/* Something has happened to a slot. */
static inline void slots_changed(struct slots *slots)
{
	if (slots->roll.state == REPLACE_WAITS)
		slots->roll.state = REPLACE_LOOKS;
	if (slots->recycling.state == REPLACE_WAITS)
		slots->recycling.state = REPLACE_LOOKS;
}

#endif
