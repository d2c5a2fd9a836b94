/* What the worker processes tell, and what becomes of their slots. */
#include "core/pool_parts.h"

#include <assert.h>

/* A life this long is a success even without an answer. */
#define LIFE_IS_LONG (10 * MTIME_SECOND)

/* After a life that its task ended, in a slot that is known to work: five starts in 10 s. The wait
 * need not grow, because each such life costs its task an attempt, and these are counted. */
#define WAIT_AFTER_POISON (2 * MTIME_SECOND)

static void tell_slot(
	struct pool *pool, enum notice_kind kind, const struct slot *slot, struct notice notice)
{
	notice.kind = kind;
	notice.slot = slot->number;
	notice.life = slot->life;
	pool_tell(pool, notice);
}

static void wish(struct pool *pool, const struct slot *slot, enum slot_wish wish)
{
	pool->effects->slot(pool->io, slot->number, slot->life, wish);
}

static void set_alarm(struct pool *pool, struct slot *slot, mtime span)
{
	alarms_set(&pool->alarms, slot, mtime_after(pool->now, span));
}

static void act_nothing(struct pool *pool, struct slot *slot)
{
	(void)pool;
	(void)slot;
}

static void act_spawn(struct pool *pool, struct slot *slot)
{
	slot->blame = OUTCOME_CRASHED;
	slot->deaf = slot->asked = slot->has_answered = slot->is_timed = false;
	if (slot->generation != pool->generation) /* another program, perhaps */
		slot->is_proven = false;
	slot->generation = pool->generation;
	slot->answers = 0;
	slot->ready_at = MTIME_NEVER;
	pool->started_at = pool->now;
	slot->paced = MTIME_NEVER;
	set_alarm(pool, slot, pool->config.boot_limit);
	wish(pool, slot, SLOT_SPAWN);
}

static void act_welcome(struct pool *pool, struct slot *slot)
{
	slot->ready_at = pool->now;
	pool->ready++;
	set_alarm(pool, slot, MTIME_NEVER);
	dispatch_slot_up(&pool->dispatch, slot);
	pool_roll_ready(pool, slot);
	tell_slot(pool, NOTICE_WORKER_READY, slot, (struct notice){0});
}

/* Asked once: what it makes of that is its own affair, until the hard limit. */
static void act_interrupt(struct pool *pool, struct slot *slot)
{
	set_alarm(pool, slot, MTIME_NEVER);
	wish(pool, slot, SLOT_INTERRUPT);
}

static void act_quit(struct pool *pool, struct slot *slot)
{
	dispatch_slot_stop(&pool->dispatch, slot);
	set_alarm(pool, slot, pool->config.grace);
	wish(pool, slot, SLOT_QUIT);
}

static void act_term(struct pool *pool, struct slot *slot)
{
	dispatch_slot_stop(&pool->dispatch, slot);
	set_alarm(pool, slot, pool->config.grace);
	wish(pool, slot, SLOT_TERM);
}

static void act_kill(struct pool *pool, struct slot *slot)
{
	dispatch_slot_stop(&pool->dispatch, slot);
	set_alarm(pool, slot, MTIME_NEVER);
	wish(pool, slot, SLOT_KILL);
}

static void note_success(struct pool *pool, struct slot *slot)
{
	pool->failing -= slot->failures > 0;
	slot->failures = 0;
}

/* One in 30 s at most: a count of 32 bits lasts. */
static void note_failure(struct pool *pool, struct slot *slot)
{
	pool->failing += slot->failures == 0;
	slot->failures++;
	slot->is_proven = false;
	pool_roll_failed(pool, slot);
}

/* How long to wait for the next life. Of one that was asked to leave nothing is learned. */
static mtime judge_life(struct pool *pool, struct slot *slot)
{
	bool was_long = slot->ready_at != MTIME_NEVER && pool->now - slot->ready_at >= LIFE_IS_LONG;
	if (slot->has_answered || was_long) {
		note_success(pool, slot);
		return 0;
	}
	if (slot->asked)
		return 0;
	if (slot->is_proven && slot->load > 0)
		return WAIT_AFTER_POISON;
	note_failure(pool, slot);
	return backoff_wait(backoff_step(slot->failures));
}

static void act_bury(struct pool *pool, struct slot *slot)
{
	mtime wait = judge_life(pool, slot);
	slot->life++;
	set_alarm(pool, slot, wait);
}

static void act_retire(struct pool *pool, struct slot *slot)
{
	pool->retired++;
	note_success(pool, slot); /* its failures are no longer the pool's */
	set_alarm(pool, slot, MTIME_NEVER);
}

static void act_revive(struct pool *pool, struct slot *slot)
{
	pool->retired--;
	set_alarm(pool, slot, 0);
}

void pool_slot_fact(struct pool *pool, struct slot *slot, enum life_fact fact)
{
	static void (*const actions[])(struct pool *, struct slot *) = {
		[ACTION_IGNORE] = act_nothing,
		[ACTION_SPAWN] = act_spawn,
		[ACTION_WELCOME] = act_welcome,
		[ACTION_INTERRUPT] = act_interrupt,
		[ACTION_QUIT] = act_quit,
		[ACTION_TERM] = act_term,
		[ACTION_KILL] = act_kill,
		[ACTION_BURY] = act_bury,
		[ACTION_RETIRE] = act_retire,
		[ACTION_REVIVE] = act_revive,
	};
	struct life_step step = life_next(slot->state, fact);
	if (slot->state == LIFE_READY && step.next != LIFE_READY)
		pool->ready--;
	pool->starting -= slot->state == LIFE_STARTING;
	pool->starting += step.next == LIFE_STARTING;
	slot->state = step.next;
	pool->roll.wants_look = true;
	actions[step.action](pool, slot);
}

void pool_slot_leave(struct pool *pool, struct slot *slot)
{
	slot->asked = true;
	pool_slot_fact(pool, slot, FACT_LEAVE);
}

static mtime soft_limit_of(const struct pool *pool, const struct delivery *head)
{
	if (head->soft_ms < 0)
		return pool->config.soft_limit;
	return head->soft_ms < MTIME_NEVER / MTIME_MS ? head->soft_ms * MTIME_MS : MTIME_NEVER;
}

/* Every task is a head when it is sent, since a pool that interrupts has one in a pipe; those sent
 * last stand at the end of the list of the running ones. */
void pool_slots_started(struct pool *pool)
{
	struct link *running = &pool->dispatch.running;
	if (!pool->config.interrupt)
		return;
	for (struct link *link = running->prev; link != running; link = link->prev) {
		struct slot *slot = CONTAINER_OF(link, struct slot, running);
		if (slot->is_timed)
			break;
		slot->is_timed = true;
		set_alarm(pool, slot, soft_limit_of(pool, slot_head(slot)));
	}
}

/* A READY slot's alarm is the soft limit of its head; that of another state stays. */
static void forget_soft_limit(struct pool *pool, struct slot *slot)
{
	slot->is_timed = false;
	if (slot->state == LIFE_READY)
		set_alarm(pool, slot, MTIME_NEVER);
}

static mtime limit_of(const struct pool *pool, const struct slot *slot, enum life_fact fact)
{
	if (fact == FACT_HARD)
		return pool->config.hard_limit;
	return slot->state == LIFE_STARTING ? pool->config.boot_limit : pool->config.grace;
}

void pool_slot_overdue(struct pool *pool, struct slot *slot, enum life_fact fact, const char *what)
{
	tell_slot(pool, NOTICE_WORKER_OVERDUE, slot,
		(struct notice){.delivery = slot_head(slot),
			.duration = limit_of(pool, slot, fact),
			.what = what});
	if (fact == FACT_HARD)
		slot->blame = OUTCOME_TIMED_OUT;
	pool_slot_fact(pool, slot, fact);
}

/* NULL: the event is of a life that is over. */
static struct slot *slot_of(struct pool *pool, const struct event *event)
{
	assert(event->slot.slot < pool->slots.count);
	struct slot *slot = pool_slot(pool, event->slot.slot);
	return slot->life == event->slot.life ? slot : NULL;
}

void pool_on_slot_ready(struct pool *pool, const struct event *event)
{
	struct slot *slot = slot_of(pool, event);
	if (slot)
		pool_slot_fact(pool, slot, FACT_READY);
}

void pool_on_slot_room(struct pool *pool, const struct event *event)
{
	struct slot *slot = slot_of(pool, event);
	if (slot && slot->state == LIFE_READY)
		dispatch_slot_room(&pool->dispatch, slot, event->slot.room);
}

static void leave_if_empty(struct pool *pool, struct slot *slot)
{
	if ((pool->phase != POOL_RUNS || slot->is_leaving) && slot->load == 0)
		pool_let_go(pool, slot);
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
		tell_slot(pool, NOTICE_WORKER_BROKEN, slot,
			(struct notice){.delivery = slot_head(slot), .what = what});
	pool_slot_fact(pool, slot, FACT_BROKEN);
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
	mtime from = mtime_min(slot->paced, slot->since);
	mtime until = pool->absent > from ? pool->absent : from;
	slot->paced = slot->load > 1 ? until : MTIME_NEVER;
	return until - from;
}

static void end_attempt(
	struct pool *pool, struct slot *slot, enum outcome outcome, struct output *output)
{
	mtime took = pool->now - slot->since;
	mtime sure = sure_time(pool, slot);
	tell_held_up(pool, slot, slot->life, sure);
	struct delivery *head = dispatch_end(&pool->dispatch, slot, pool->now);
	slot->has_answered = slot->is_proven = true;
	slot->answers++;
	pool_roll_answered(pool, slot);
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
	tell_slot(pool, NOTICE_TASK_PROGRESS, slot,
		(struct notice){.delivery = slot_head(slot), .output = output});
	output_free(output);
}

void pool_on_slot_output(struct pool *pool, const struct event *event)
{
	struct slot *slot = slot_of(pool, event);
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
	struct slot *slot = slot_of(pool, event);
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
	struct slot *slot = slot_of(pool, event);
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
