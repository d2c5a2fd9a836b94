/* What the files of the workers' half share, from the lowest to the highest. Layer: core. */
#ifndef CORE_WORKERS_SLOTS_INTERNAL_H
#define CORE_WORKERS_SLOTS_INTERNAL_H

#include "core/workers/slots.h"

/* slots.c: lives */
/* Move the slot by the table of life.h, and do what it asks for. */
void slots_step(struct slots *, struct slot *, enum life_fact);
/* Ask its worker to leave for good. */
void slots_leave(struct slots *, struct slot *);
/* True: its present life is a success by now, and its failures are past. A pool whose workers live
 * for months need not wait for their ends to know. */
bool slots_succeeds(struct slots *, struct slot *);
/* Start what is to be started, end what is over its time. */
void slots_judge_alarms(struct slots *);
/* kind, slot and life are filled in. */
void slots_emit(const struct slots *, enum notice_kind, const struct slot *, struct notice);
/* Draw the limits of its worker's life. */
void slots_draw_limits(struct slots *, struct slot *);
/* It has to be replaced. */
void slots_mark_due(struct slots *, struct slot *, enum recycle_reason);
/* If it has answered almost all that it may. */
void slots_mark_spent(struct slots *, struct slot *);
/* If it is idle and was given all that it may have: it leaves for its own place. */
void slots_leave_if_spent(struct slots *, struct slot *);
/* NOTICE_WORKER_RECYCLED. */
void slots_emit_recycled(
	const struct slots *, const struct slot *, enum recycle_reason, uint64_t bytes);

/* slots_scale.c: which slots are kept */
/* Want so many workers, 1 to POOL_WORKERS_MAX, for which there are slots. */
void slots_want(struct slots *, uint32_t workers);
/* The same. False: there is no memory for their slots. */
bool slots_grow(struct slots *, uint32_t workers) MUST_CHECK;
/* Emit the change, and keep it for pool_facts; before, after, bounds and time are filled in. */
void slots_emit_scaling(struct slots *, enum notice_kind, struct scaling);
/* Keep so many slots more, none of those that are to be replaced; so many are leaving. False:
 * there is no memory for them, and none is kept. */
bool slots_keep_more(struct slots *, uint32_t more, uint32_t leaving) MUST_CHECK;
/* It is wanted again, or still. */
void slots_keep(struct slots *, struct slot *);
/* It gets nothing more, and leaves when its pipe is empty. */
void slots_dismiss(struct slots *, struct slot *);
/* It leaves now, or in one of the next turns if many have left in this one. */
void slots_let_go(struct slots *, struct slot *);
bool slots_has_leavers(const struct slots *);
/* Those that are too many leave, the ones that are missed least first. */
void slots_dismiss_surplus(struct slots *);
/* How much it is missed: 0 is the least. */
uint32_t slots_weight(const struct slots *, const struct slot *);

/* slots_replace.c: in each turn of a pool that stays */
void slots_roll(struct slots *);
void slots_recycle(struct slots *);

static inline bool slots_is_new(const struct slots *slots, const struct slot *slot)
{
	return slot->generation == slots->generation;
}

/* Something has happened to a slot. */
static inline void slots_changed(struct slots *slots)
{
	if (slots->roll.state == REPLACE_WAITS)
		slots->roll.state = REPLACE_LOOKS;
	if (slots->recycling.state == REPLACE_WAITS)
		slots->recycling.state = REPLACE_LOOKS;
}

#endif
