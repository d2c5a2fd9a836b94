/* What a turn shows of the workers, and what is done about it. */
#include "core/pool_parts.h"

void pool_auto_answered(struct pool *pool, const struct slot *slot, mtime from, mtime until)
{
	if (slot->is_leaving)
		return;
	autoscale_worked(&pool->autoscale, from, until);
	autoscale_answered(&pool->autoscale);
}

/* In a pause, and while nothing can come, nobody is busy, and that says nothing. */
static bool can_judge(const struct pool *pool)
{
	return !pool->is_paused && source_wishes(&pool->source, SOURCE_CONSUME) &&
	       pool->source.state == SOURCE_IS_CONSUMING;
}

static struct autoscale_look look_of(const struct pool *pool)
{
	return (struct autoscale_look){
		.wanted = pool->wanted,
		.waiting = pool->dispatch.open.backlog,
		.is_any_idle = pool->dispatch.loads & 1,
		.is_full = pool->source.open >= pool->source.window,
		.may_shrink = !pool->roll.is_on,
	};
}

/* Those who are at a task still, the first perhaps, and for an hour. */
static void count_running(struct pool *pool, struct autoscale_look *look)
{
	struct link *running = &pool->dispatch.running;
	for (struct link *link = running->next; link != running; link = link->next) {
		struct slot *slot = CONTAINER_OF(link, struct slot, running);
		if (slot->is_leaving)
			continue;
		autoscale_worked(&pool->autoscale, slot_works_since(slot), pool->absent);
		look->at_work++;
		pool_slot_succeeds(pool, slot);
	}
	look->may_grow = pool->failing == 0;
}

/* True: there are workers to be started. */
static bool grow(struct pool *pool, uint32_t wanted, uint32_t waiting)
{
	struct scaling scaling = {.cause = SCALING_GREW, .figure = waiting};
	if (!pool_scale(pool, wanted)) {
		autoscale_refused(&pool->autoscale, pool->now);
		pool_tell(
			pool, (struct notice){
				      .kind = NOTICE_GROWTH_REFUSED, .slot = -1, .number = wanted});
		return false;
	}
	pool_tell_scaling(pool, NOTICE_GROWN, scaling);
	return true;
}

static void shrink(struct pool *pool, uint32_t wanted)
{
	struct scaling scaling = {.cause = SCALING_SHRANK,
		.figure = pool->autoscale.needed,
		.span = pool->autoscale.patience};
	pool_want(pool, wanted);
	pool_tell_scaling(pool, NOTICE_SHRUNK, scaling);
}

bool pool_auto(struct pool *pool)
{
	struct autoscale *autoscale = &pool->autoscale;
	struct autoscale_look look = look_of(pool);
	if (!autoscale_is_on(autoscale))
		return false;
	if (!can_judge(pool)) {
		autoscale_rest(autoscale, pool->now);
		return false;
	}
	if (!autoscale_is_due(autoscale, &look, pool->now))
		return false;
	count_running(pool, &look);
	uint32_t wanted = autoscale_judge(autoscale, &look, pool->now);
	if (wanted > pool->wanted)
		return grow(pool, wanted, look.waiting);
	if (wanted < pool->wanted)
		shrink(pool, wanted);
	return false;
}

mtime pool_auto_deadline(const struct pool *pool)
{
	bool is_judged = autoscale_is_on(&pool->autoscale) && can_judge(pool);
	return is_judged ? autoscale_deadline(&pool->autoscale, pool->wanted) : MTIME_NEVER;
}
