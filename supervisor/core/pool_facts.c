#include "core/pool_facts.h"

#include "core/pool_internal.h"

#include <assert.h>

static enum pool_state state_of(const struct pool *pool)
{
	const struct source *source = &pool->tasks.source;
	if (pool_is_quiet(pool))
		return POOL_IS_STOPPED;
	if (!pool_stays(&pool->context))
		return pool_drains(&pool->context) ? POOL_IS_DRAINING : POOL_IS_STOPPING;
	if (pool->context.phase == POOL_PAUSED)
		return POOL_IS_PAUSED;
	if (!pool->slots.ready && pool->slots.failing)
		return POOL_IS_FAILING;
	if (pool->tasks.is_standby && pool->slots.ready)
		return POOL_IS_STANDBY;
	if (source->request == SOURCE_UNDECIDED)
		return POOL_IS_STARTING;
	if (source->request != SOURCE_CONSUME)
		return POOL_IS_RESTING;
	return source->state == SOURCE_IS_CONSUMING ? POOL_IS_CONSUMING : POOL_IS_CONNECTING;
}

/* One that is idle since it came back meets no event that would clear its failures. */
static uint16_t failing_of(const struct slots *slots)
{
	uint16_t count = 0;
	for (uint32_t i = 0; slots->failing > 0 && i < slots->all.count; i++)
		count += slots_is_failing(slots, slots_at(slots, i));
	return count;
}

struct pool_facts pool_facts(const struct pool *pool)
{
	const struct tasks *tasks = &pool->tasks;
	const struct slots *slots = &pool->slots;
	const struct throttling *throttling = &tasks->dispatch.throttling;
	mtime since = throttling_since(throttling, pool->context.now);
	return (struct pool_facts){
		.state = state_of(pool),
		.wanted = slots->wanted,
		.min = slots->autoscale.min,
		.max = slots->autoscale.max,
		.scaling = slots->scaling,
		.is_rolling = slots->roll.state != REPLACE_OFF,
		.ready = slots->ready,
		.failing = failing_of(slots),
		.waiting = dispatch_waiting(&tasks->dispatch),
		.in_pipes = tasks->dispatch.in_pipes,
		.suspects = tasks->dispatch.suspect_count,
		.throttled = dispatch_throttled(&tasks->dispatch),
		.throttled_by = since == MTIME_NEVER ? NULL : throttling->holder,
		.throttled_since = since,
		.are_all_accepted = pool->tasks.intake == INTAKE_ALL_ACCEPTED,
		.closed_until = throttling->closed.until,
		.delays = throttling->delays,
		.unacked = tasks->source.open,
		.window = tasks->source.window,
		.unconfirmed = tasks->outbox.count,
		.unconfirmed_bytes = tasks->outbox.bytes,
		.deliveries = tasks->deliveries,
		.delivered_at = tasks->delivered_at,
	};
}

uint16_t pool_wanted(const struct pool *pool)
{
	return pool->slots.wanted;
}

struct pool_unacked pool_unacked(const struct pool *pool)
{
	const struct source *source = &pool->tasks.source;
	const struct link *oldest = list_first(&source->unacked);
	return (struct pool_unacked){
		.count = source->open,
		.bytes = source->bytes,
		.oldest_tag =
			oldest ? CONTAINER_OF(oldest, struct delivery, unacked)->tag : UINT64_MAX,
		.latest_tag = source->last_tag,
		.memory = pool->context.config.memory,
	};
}

static mtime next_start_of(const struct pool *pool, const struct slot *slot)
{
	if (slot->state == LIFE_IN_LINE)
		return pool->context.now;
	return slot->state == LIFE_WAITING ? slot->timer.at : MTIME_NEVER;
}

struct slot_counts pool_slot_counts(const struct pool *pool)
{
	struct slot_counts counts = {.next_start = MTIME_NEVER};
	for (uint32_t i = 0; i < pool->slots.all.count; i++) {
		const struct slot *slot = slots_at(&pool->slots, i);
		counts.by_state[slot->state]++;
		counts.busy += slot->state == LIFE_READY && slot->pipe.load > 0;
		counts.open += (uint16_t)dispatch_begun(&pool->tasks.dispatch, &slot->pipe);
		if (!slots_is_failing(&pool->slots, slot))
			continue;
		if (slot->failures > counts.failures_max)
			counts.failures_max = slot->failures;
		counts.recovering += slot->state == LIFE_READY;
		counts.next_start = mtime_min(counts.next_start, next_start_of(pool, slot));
	}
	return counts;
}

uint16_t pool_slot_count(const struct pool *pool)
{
	return (uint16_t)pool->slots.all.count;
}

struct slot_facts pool_slot_facts(const struct pool *pool, uint16_t number)
{
	assert(number < pool->slots.all.count);
	const struct slot *slot = slots_at(&pool->slots, number);
	return (struct slot_facts){
		.life = slot->life,
		.state = slot->state,
		.failures = slots_is_failing(&pool->slots, slot) ? slot->failures : 0,
		.exit = slot->exit,
		.exit_for = slot->exit_for,
		.exit_detail = slot->exit_output ? slot->exit_output->detail : TEXT_NONE,
		.ended_at = slot->ended_at,
		.next_start = next_start_of(pool, slot),
		.answers = slot->pipe.answers,
		.ready_at = slot->ready_at,
		.due = slot->due,
		.tasks = slot->pipe.load,
		.open = (uint16_t)dispatch_begun(&pool->tasks.dispatch, &slot->pipe),
		.head = pipe_head(&slot->pipe),
	};
}

bool pool_has_task(const struct pool *pool, uint64_t id)
{
	return dispatch_find(&pool->tasks.dispatch, id);
}

const char *pool_state_name(enum pool_state state)
{
	static const char *const texts[] = {
#define X(state, text) [state] = text,
		POOL_STATES(X)
#undef X
	};
	return texts[state];
}
