/* Workers are replaced: all of them in a rolling restart, single ones that are due. Another one is
 * ready before one leaves, and no task is interrupted; only a worker that was given all its tasks
 * leaves for its own place, and only one over its hard memory limit is killed. */
#include "core/workers/slots_internal.h"

/* So many new workers that fail in a row end a restart: their command is at fault. */
#define FAILURES_MAX 3
/* Of the workers wanted, an eighth may be under replacement at once because they are due. */
#define SHARE 8

struct survey {
	uint32_t ready;     /* that are kept */
	uint32_t leaving;   /* not gone yet */
	uint32_t outdated;  /* that are kept and are to be replaced */
	struct slot *first; /* of these the one that is missed least; NULL: none */
};

static struct survey look(
	const struct slots *slots, bool (*is_outdated)(const struct slots *, const struct slot *))
{
	struct survey survey = {0};
	for (uint32_t i = 0; i < slots->all.count; i++) {
		struct slot *slot = slots_at(slots, i);
		if (slot_is_leaving(slot)) {
			survey.leaving += slot->state != LIFE_RETIRED;
			continue;
		}
		survey.ready += slot->state == LIFE_READY;
		if (!is_outdated(slots, slot))
			continue;
		survey.outdated++;
		if (!survey.first || slots_weight(slots, slot) < slots_weight(slots, survey.first))
			survey.first = slot;
	}
	return survey;
}

/* ---------- the rolling restart ---------- */

/* One worker more than wanted is started. When more than wanted are ready, an old one leaves, and a
 * new one starts in its slot. So a restart never reduces the number of ready workers, and there is
 * never more than one process too many. */
void slots_restart(struct slots *slots)
{
	slots->generation++;
	slots->recycling.spares = 0; /* each is replaced anyway */
	slots_dismiss_surplus(slots);
	slots->roll = (struct roll){.state = REPLACE_LOOKS, .leaver = slots->roll.leaver};
	pool_emit(slots->context,
		(struct notice){.kind = NOTICE_ROLL_BEGINS, .slot = -1, .number = slots->wanted});
	/* The restart may cure those that failed before: they start at once. */
	for (uint32_t i = 0; i < slots->all.count; i++) {
		struct slot *slot = slots_at(slots, i);
		if (slot->state == LIFE_WAITING)
			timers_set(&slots->timers, &slot->timer, slots->context->now);
	}
}

/* The next worker of a slot that is ending is a new one anyway. */
static bool is_old(const struct slots *slots, const struct slot *slot)
{
	return slot->generation != slots->generation &&
	       (slot->state == LIFE_STARTING || slot->state == LIFE_READY);
}

/* The worker that was dismissed last stays, if it is still ready. failures: of new workers. */
static void stop_roll(struct slots *slots, const char *why, uint32_t failures)
{
	struct slot *leaver = slots->roll.leaver;
	slots->roll.state = REPLACE_OFF;
	if (leaver && slot_is_leaving(leaver) && leaver->state == LIFE_READY)
		slots_keep(slots, leaver);
	slots_dismiss_surplus(slots);
	pool_emit(slots->context,
		(struct notice){
			.kind = NOTICE_ROLL_STOPS, .slot = -1, .what = why, .number = failures});
}

static void roll(struct slots *slots)
{
	struct survey survey = look(slots, is_old);
	if (slots->roll.never_ready >= FAILURES_MAX) {
		stop_roll(slots, "three new workers in a row did not become ready",
			slots->roll.never_ready);
	} else if (slots->roll.failed_when_ready >= FAILURES_MAX) {
		stop_roll(slots, "three new workers in a row ended before they answered anything",
			slots->roll.failed_when_ready);
	} else if (survey.leaving) {
		return;
	} else if (survey.outdated && survey.ready > slots->wanted) {
		slots->roll.leaver = survey.first;
		slots_dismiss(slots, survey.first);
	} else if (survey.outdated) {
		if (slots->kept == slots->wanted && !slots_keep_more(slots, 1, 0))
			stop_roll(slots, "there is no memory for one worker more", 0);
	} else if (slots->kept > slots->wanted) { /* the last old one has died meanwhile */
		slots_dismiss_surplus(slots);
	} else if (survey.ready == slots->wanted) {
		slots->roll.state = REPLACE_OFF;
		pool_emit_plain(slots->context, NOTICE_ROLL_ENDS, NULL);
	}
}

/* Each change of a slot sets REPLACE_LOOKS again. */
void slots_roll(struct slots *slots)
{
	while (slots->roll.state == REPLACE_LOOKS) {
		slots->roll.state = REPLACE_WAITS;
		roll(slots);
	}
}

/* ---------- single workers that are due ---------- */

void slots_renew_limits(struct slots *slots, struct slot *slot)
{
	uint32_t former = slot->pipe.tasks_max;
	slots_draw_limits(slots, slot);
	slots->recycling.next_at = mtime_min(slots->recycling.next_at, slot->old_at);
	if (pipe_is_spent(&slot->pipe)) {
		dispatch_slot_limit(slots->dispatch, &slot->pipe, former);
		if (!slot->due)
			slots_mark_due(slots, slot, RECYCLE_TASKS);
	}
	slots_check_spent(slots, slot);
}

void slots_configure(struct slots *slots)
{
	for (uint32_t i = 0; i < slots->all.count; i++) {
		struct slot *slot = slots_at(slots, i);
		if (slot->state == LIFE_READY && !slot_is_leaving(slot))
			slots_renew_limits(slots, slot);
	}
	slots->recycling.next_at = slots->context->now; /* the next turn finds the first of them */
}

static bool is_due(const struct slots *slots, const struct slot *slot)
{
	(void)slots;
	return slot->state == LIFE_READY && slot->due;
}

/* Let a worker that is due leave if another one is ready. Otherwise keep a spare slot for each that
 * is due; spares and leaving workers together are at most a SHARE of those wanted. All are kept in
 * one walk: of ten thousand workers, a thousand may be due. */
static void recycle(struct slots *slots)
{
	struct recycling *recycling = &slots->recycling;
	struct survey survey = look(slots, is_due);
	if (survey.outdated && survey.ready > slots->wanted) { /* another one is there for it */
		slots_emit_recycled(slots, survey.first, survey.first->due, survey.first->bytes);
		recycling->spares--;
		slots_dismiss(slots, survey.first);
		recycling->state = REPLACE_LOOKS;
		return;
	}
	if (survey.outdated < recycling->spares) { /* one has ended by itself */
		recycling->spares = (uint16_t)survey.outdated;
		slots_dismiss_surplus(slots);
	}
	uint32_t max = slots->wanted < SHARE ? 1 : slots->wanted / SHARE;
	uint32_t allowed = max > survey.leaving ? max - survey.leaving : 0;
	uint32_t needed = survey.outdated < allowed ? survey.outdated : allowed;
	uint32_t more = needed > recycling->spares ? needed - recycling->spares : 0;
	/* If there is no memory for all of them, there may be for some. */
	while (more > 0 && !slots_keep_more(slots, more, survey.leaving))
		more /= 2;
	recycling->spares = (uint16_t)(recycling->spares + more);
	if (!survey.outdated)
		recycling->state = REPLACE_OFF;
}

/* Find the workers that are due by their age, and replace those that are due. During a rolling
 * restart none is replaced. */
void slots_recycle(struct slots *slots)
{
	struct recycling *recycling = &slots->recycling;
	mtime now = slots->context->now;
	if (recycling->next_at <= now) {
		recycling->next_at = MTIME_NEVER;
		for (uint32_t i = 0; i < slots->all.count; i++) {
			struct slot *slot = slots_at(slots, i);
			if (slot->state != LIFE_READY || slot->due)
				continue;
			if (slot->old_at <= now)
				slots_mark_due(slots, slot, RECYCLE_AGE);
			else
				recycling->next_at = mtime_min(recycling->next_at, slot->old_at);
		}
	}
	while (slots->roll.state == REPLACE_OFF && recycling->state == REPLACE_LOOKS) {
		recycling->state = REPLACE_WAITS;
		recycle(slots);
	}
}
