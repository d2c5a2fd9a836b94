/* Who is due, and who comes for whom. */
#include "core/pool_parts.h"

/* Of the workers wanted so many may be under replacement at once. */
#define SHARE 8

static const struct recycle_limits *limits_of(const struct pool *pool)
{
	return &pool->config.recycle;
}

static void tell(
	struct pool *pool, const struct slot *slot, enum recycle_reason reason, uint64_t bytes)
{
	pool_tell_slot(pool, NOTICE_WORKER_RECYCLED, slot,
		(struct notice){.recycled = reason,
			.number = slot->answers,
			.duration = pool->now - slot->ready_at,
			.bytes = bytes,
			.delivery = slot_head(slot)});
}

static void mark(struct pool *pool, struct slot *slot, enum recycle_reason reason)
{
	slot->due = reason;
	pool->recycle.is_any = pool->recycle.wants_look = true;
}

/* ---------- who is due ---------- */

static void draw_limits(struct pool *pool, struct slot *slot)
{
	const struct recycle_limits *limits = limits_of(pool);
	slot->tasks_most = recycle_tasks(limits, slot->number, slot->life);
	slot->old_at = mtime_after(slot->ready_at, recycle_age(limits, slot->number, slot->life));
}

void pool_recycle_ready(struct pool *pool, struct slot *slot)
{
	draw_limits(pool, slot);
	pool->recycle.next_at = mtime_min(pool->recycle.next_at, slot->old_at);
}

void pool_recycle_answered(struct pool *pool, struct slot *slot)
{
	if (slot->tasks_most && !slot->due && slot->answers >= recycle_enough(slot->tasks_most))
		mark(pool, slot, RECYCLE_TASKS);
}

bool pool_recycle_is_spent(const struct slot *slot)
{
	return slot->state == LIFE_READY && dispatch_is_spent(slot);
}

void pool_recycle_leave(struct pool *pool, struct slot *slot)
{
	tell(pool, slot, RECYCLE_TASKS, 0);
	pool_slot_leave(pool, slot);
}

static void kill(struct pool *pool, struct slot *slot, uint64_t bytes)
{
	tell(pool, slot, RECYCLE_KILL, bytes);
	slot_note_cause(slot, "memory limit");
	pool_slot_fact(pool, slot, FACT_BROKEN);
}

/* One that leaves already is left to its grace. What it has answered before it is killed counts. */
void pool_on_slot_memory(struct pool *pool, const struct event *event)
{
	const struct recycle_limits *limits = limits_of(pool);
	struct slot *slot = pool_slot_of(pool, event);
	uint64_t bytes = event->slot.bytes;
	if (!slot || slot->state != LIFE_READY)
		return;
	slot->bytes = bytes;
	if (limits->memory_kill && bytes > limits->memory_kill)
		kill(pool, slot, bytes);
	else if (limits->memory && bytes > limits->memory && !slot->due)
		mark(pool, slot, RECYCLE_MEMORY);
}

static void mark_aged(struct pool *pool)
{
	pool->recycle.next_at = MTIME_NEVER;
	for (uint32_t i = 0; i < pool->slots.count; i++) {
		struct slot *slot = pool_slot(pool, i);
		if (slot->state != LIFE_READY || slot->due)
			continue;
		if (slot->old_at <= pool->now)
			mark(pool, slot, RECYCLE_AGE);
		else
			pool->recycle.next_at = mtime_min(pool->recycle.next_at, slot->old_at);
	}
}

static void look_again(struct pool *pool, struct slot *slot)
{
	if (slot->state != LIFE_READY || slot->is_leaving)
		return;
	draw_limits(pool, slot);
	dispatch_slot_look(&pool->dispatch, slot);
	pool_recycle_answered(pool, slot);
	if (slot->load == 0 && pool_recycle_is_spent(slot))
		pool_recycle_leave(pool, slot);
}

void pool_recycle_configure(struct pool *pool)
{
	for (uint32_t i = 0; i < pool->slots.count; i++)
		look_again(pool, pool_slot(pool, i));
	pool->recycle.next_at = pool->now; /* the next turn finds the first of them */
}

/* ---------- replacing them ---------- */

struct survey {
	uint32_t ready;     /* that are kept */
	uint32_t leaving;   /* not gone yet */
	uint32_t due;       /* that are kept */
	struct slot *first; /* of these the one that is missed least; NULL: none */
};

static void look_at(struct survey *survey, const struct pool *pool, struct slot *slot)
{
	if (slot->is_leaving) {
		survey->leaving += slot->state != LIFE_RETIRED;
		return;
	}
	if (slot->state != LIFE_READY)
		return;
	survey->ready++;
	if (!slot->due)
		return;
	survey->due++;
	if (!survey->first || pool_slot_weight(pool, slot) < pool_slot_weight(pool, survey->first))
		survey->first = slot;
}

/* Another one is there for it. */
static void retire(struct pool *pool, struct slot *slot)
{
	tell(pool, slot, slot->due, slot->bytes);
	pool->recycle.spares--;
	pool_dismiss(pool, slot);
}

/* So many processes more than wanted, those that leave among them. */
static uint32_t most_beside(const struct pool *pool)
{
	return pool->wanted < SHARE ? 1 : pool->wanted / SHARE;
}

static uint32_t lacking_spares(const struct pool *pool, const struct survey *survey)
{
	uint32_t most = most_beside(pool), spares = pool->recycle.spares;
	uint32_t room = most > survey->leaving ? most - survey->leaving : 0;
	uint32_t needed = survey->due < room ? survey->due : room;
	return needed > spares ? needed - spares : 0;
}

/* A walk for all of them, and not one for each: of ten thousand workers there may be a thousand.
 * Where there is no memory for so many there may be for some. */
static void keep_spares(struct pool *pool, const struct survey *survey)
{
	uint32_t more = lacking_spares(pool, survey);
	while (more > 0 && !pool_keep_more(pool, more, survey->leaving))
		more /= 2;
	pool->recycle.spares = (uint16_t)(pool->recycle.spares + more);
}

static void step(struct pool *pool)
{
	struct recycle *recycle = &pool->recycle;
	struct survey survey = {0};
	for (uint32_t i = 0; i < pool->slots.count; i++)
		look_at(&survey, pool, pool_slot(pool, i));
	if (survey.due && survey.ready > pool->wanted) {
		retire(pool, survey.first);
		recycle->wants_look = true;
		return;
	}
	if (survey.due < recycle->spares) { /* it ended by itself */
		recycle->spares = (uint16_t)survey.due;
		pool_dismiss_surplus(pool);
	}
	keep_spares(pool, &survey);
	recycle->is_any = survey.due > 0;
}

void pool_recycle(struct pool *pool)
{
	struct recycle *recycle = &pool->recycle;
	if (recycle->next_at <= pool->now)
		mark_aged(pool);
	while (!pool->roll.is_on && recycle->is_any && recycle->wants_look) {
		recycle->wants_look = false;
		step(pool);
	}
}

mtime pool_recycle_deadline(const struct pool *pool)
{
	return pool->phase == POOL_RUNS ? pool->recycle.next_at : MTIME_NEVER;
}
