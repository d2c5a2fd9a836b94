/* The lives of the processes in the slots. */
#include "core/pool_parts.h"

#include <assert.h>

/* A life this long is a success even without an answer. */
#define LIFE_IS_LONG (10 * MTIME_SECOND)

/* After a life that its task ended, in a slot that is known to work: five starts in 10 s. The wait
 * need not grow, because each such life costs its task an attempt, and these are counted. */
#define WAIT_AFTER_POISON (2 * MTIME_SECOND)

void pool_tell_slot(
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
	slot->due = RECYCLE_NOT;
	slot->bytes = 0;
	slot->ended_for = NULL;
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
	pool_recycle_ready(pool, slot);
	dispatch_slot_up(&pool->dispatch, slot);
	pool_roll_ready(pool, slot);
	pool_tell_slot(pool, NOTICE_WORKER_READY, slot, (struct notice){0});
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

static bool is_success(const struct pool *pool, const struct slot *slot)
{
	bool is_long = slot->ready_at != MTIME_NEVER && pool->now - slot->ready_at >= LIFE_IS_LONG;
	return slot->has_answered || is_long;
}

bool pool_slot_succeeds(struct pool *pool, struct slot *slot)
{
	if (!is_success(pool, slot))
		return false;
	note_success(pool, slot);
	return true;
}

bool pool_slot_is_failing(const struct pool *pool, const struct slot *slot)
{
	return slot->failures > 0 && !(slot->state == LIFE_READY && is_success(pool, slot));
}

/* How long to wait for the next life. Of one that was asked to leave nothing is learned. */
static mtime judge_life(struct pool *pool, struct slot *slot)
{
	if (pool_slot_succeeds(pool, slot) || slot->asked)
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
	pool->roll.wants_look = pool->recycle.wants_look = true;
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

static mtime limit_of(const struct pool *pool, const struct slot *slot, enum life_fact fact)
{
	if (fact == FACT_HARD)
		return pool->config.hard_limit;
	return slot->state == LIFE_STARTING ? pool->config.boot_limit : pool->config.grace;
}

void pool_slot_overdue(struct pool *pool, struct slot *slot, enum life_fact fact, const char *what)
{
	pool_tell_slot(pool, NOTICE_WORKER_OVERDUE, slot,
		(struct notice){.delivery = slot_head(slot),
			.duration = limit_of(pool, slot, fact),
			.what = what});
	if (fact == FACT_HARD)
		slot->blame = OUTCOME_TIMED_OUT;
	slot_note_cause(slot, what);
	pool_slot_fact(pool, slot, fact);
}

struct slot *pool_slot_of(struct pool *pool, const struct event *event)
{
	assert(event->slot.slot < pool->slots.count);
	struct slot *slot = pool_slot(pool, event->slot.slot);
	return slot->life == event->slot.life ? slot : NULL;
}

void pool_on_slot_ready(struct pool *pool, const struct event *event)
{
	struct slot *slot = pool_slot_of(pool, event);
	if (slot)
		pool_slot_fact(pool, slot, FACT_READY);
}

void pool_on_slot_room(struct pool *pool, const struct event *event)
{
	struct slot *slot = pool_slot_of(pool, event);
	if (slot && slot->state == LIFE_READY)
		dispatch_slot_room(&pool->dispatch, slot, event->slot.room);
}
