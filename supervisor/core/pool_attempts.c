/* What workers say of their tasks, and how attempts end. */
#include "core/pool_parts.h"

static void leave_if_empty(struct pool *pool, struct slot *slot)
{
	if (slot->load > 0)
		return;
	if (pool->phase != POOL_RUNS || slot->is_leaving)
		pool_let_go(pool, slot);
	else if (pool_recycle_is_spent(slot))
		pool_recycle_leave(pool, slot);
}

/* Which of the reasons came first counts; a worker that is on its way out breaks nothing. */
static void break_slot(struct pool *pool, struct slot *slot, const char *what)
{
	slot->deaf = true;
	if (slot->blame == OUTCOME_CRASHED) {
		slot->blame = OUTCOME_BROKEN;
		slot->what = what;
	}
	if (slot->state != LIFE_QUITTING && slot->state != LIFE_KILLED)
		pool_tell_slot(pool, NOTICE_WORKER_BROKEN, slot,
			(struct notice){.delivery = slot_head(slot), .what = what});
	slot_note_cause(slot, what);
	pool_slot_fact(pool, slot, FACT_BROKEN);
}

/* A READY slot's alarm is the soft limit of its head; that of another state stays. */
static void forget_soft_limit(struct pool *pool, struct slot *slot)
{
	slot->is_timed = false;
	if (slot->state == LIFE_READY)
		alarms_set(&pool->alarms, slot, MTIME_NEVER);
}

static void note_worker(struct delivery *head, uint16_t slot, uint32_t life, mtime took)
{
	head->slot = slot;
	head->life = life;
	head->took = took;
}

/* Nobody can foresee an outlier; what it cost the tasks behind it is told. Those that were behind
 * one that was given up have no time of their own. life: the head's, the slot may be at the next.
 */
static void tell_held_up(struct pool *pool, const struct slot *slot, uint32_t life, mtime took)
{
	if (slot->load < 2 || took < pool->dispatch.pipe_wait || slot->blame == OUTCOME_UNSTARTED)
		return;
	pool_tell(pool, (struct notice){.kind = NOTICE_TASKS_HELD_UP,
				.slot = slot->number,
				.life = life,
				.delivery = slot_head(slot),
				.duration = took,
				.behind = slot->load - 1u});
}

/* An answer may have lain there while this process was busy: that is not its worker's time. What is
 * not counted now counts for the next one in the pipe, so that together they come out right. */
static mtime sure_time(struct pool *pool, struct slot *slot)
{
	mtime from = slot_works_since(slot);
	mtime until = pool->absent > from ? pool->absent : from;
	slot->paced = slot->load > 1 ? until : MTIME_NEVER;
	pool_auto_answered(pool, slot, from, until);
	return until - from;
}

static void end_attempt(
	struct pool *pool, struct slot *slot, enum outcome outcome, struct output *output)
{
	mtime took = pool->now - slot->since;
	mtime sure = sure_time(pool, slot);
	tell_held_up(pool, slot, slot->life, sure);
	slot->answers++; /* and before it is looked at whether it may have more */
	struct delivery *head = dispatch_end(&pool->dispatch, slot, pool->now);
	slot->has_answered = slot->is_proven = true;
	pool_slot_succeeds(pool, slot);
	pool_roll_answered(pool, slot);
	pool_recycle_answered(pool, slot);
	forget_soft_limit(pool, slot);
	/* It answered though we had given it up: those behind are nobody's fault. */
	if (slot->state != LIFE_READY)
		slot->blame = OUTCOME_UNSTARTED;
	pace_answered(&pool->pace, slot, sure);
	note_worker(head, slot->number, slot->life, took);
	head->parcel.output = output;
	pool_finish(pool, head, (struct ending){.outcome = outcome});
	leave_if_empty(pool, slot);
}

static void tell_progress(struct pool *pool, struct slot *slot, struct output *output)
{
	pool_tell_slot(pool, NOTICE_TASK_PROGRESS, slot,
		(struct notice){.delivery = slot_head(slot), .output = output});
	output_free(output);
}

void pool_on_slot_output(struct pool *pool, const struct event *event)
{
	struct slot *slot = pool_slot_of(pool, event);
	struct output *output = event->slot.output;
	enum outcome outcome;
	if (!slot || slot->deaf) {
		output_free(output);
	} else if (slot->load == 0) {
		output_free(output);
		break_slot(pool, slot, "an answer with no task open");
	} else if (output->status == STATUS_PROGRESS) {
		tell_progress(pool, slot, output);
	} else if (settle_outcome(output->status, &outcome)) {
		end_attempt(pool, slot, outcome, output);
	} else {
		output_free(output);
		break_slot(pool, slot, "an unknown status");
	}
}

void pool_on_slot_broken(struct pool *pool, const struct event *event)
{
	struct slot *slot = pool_slot_of(pool, event);
	if (slot && !slot->deaf)
		break_slot(pool, slot, event->slot.what);
}

/* The slot is already the next life's. */
static void tell_gone(struct pool *pool, const struct slot *slot, const struct event *event)
{
	bool again = pool->phase == POOL_RUNS && !slot->is_leaving;
	pool_tell(pool, (struct notice){
				.kind = slot->asked ? NOTICE_WORKER_LEFT : NOTICE_WORKER_DIED,
				.slot = slot->number,
				.life = event->slot.life,
				.delivery = slot_head(slot),
				.output = event->slot.output,
				.exit = event->slot.exit,
				.what = slot->ended_for,
				.duration = again ? slot->alarm - pool->now : MTIME_NEVER,
			});
}

/* Moves words in: they are kept where a failed attempt is told of. */
static void end_pipe(struct pool *pool, struct slot *slot, const struct event *event)
{
	struct output *words = event->slot.output;
	mtime took = pool->now - slot->since;
	tell_held_up(pool, slot, event->slot.life, took);
	struct delivery *head = dispatch_slot_gone(&pool->dispatch, slot);
	if (!head || slot->blame == OUTCOME_UNSTARTED)
		output_free(words);
	else
		head->parcel.output = words;
	if (!head)
		return;
	note_worker(head, slot->number, event->slot.life, took);
	pool_finish(pool, head,
		(struct ending){.outcome = slot->blame,
			.exit = event->slot.exit,
			.what = slot->blame == OUTCOME_BROKEN ? slot->what : NULL});
}

void pool_on_slot_gone(struct pool *pool, const struct event *event)
{
	struct slot *slot = pool_slot_of(pool, event);
	if (!slot) {
		output_free(event->slot.output);
		return;
	}
	slot_note_exit(slot, event->slot.exit, pool->now);
	pool_slot_fact(pool, slot, FACT_GONE);
	tell_gone(pool, slot, event);
	end_pipe(pool, slot, event);
	leave_if_empty(pool, slot);
	if (pool->phase == POOL_DRAINS && pool->source.state == SOURCE_IS_RESTED)
		pool_hand_back(pool);
}
