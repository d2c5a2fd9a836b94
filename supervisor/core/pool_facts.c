#include "core/pool_facts.h"

#include "core/pool_parts.h"

#include <assert.h>

static enum pool_standing standing_of(const struct pool *pool)
{
	if (pool_is_quiet(pool))
		return POOL_IS_STOPPED;
	if (pool->phase != POOL_RUNS)
		return pool->phase == POOL_DRAINS ? POOL_IS_DRAINING : POOL_IS_STOPPING;
	if (pool->is_paused)
		return POOL_IS_PAUSED;
	if (!pool->ready && pool->failing)
		return POOL_IS_FAILING;
	if (!pool->source.has_wish)
		return POOL_IS_STARTING;
	if (!source_wishes(&pool->source, SOURCE_CONSUME))
		return POOL_IS_RESTING;
	return pool->source.state == SOURCE_IS_CONSUMING ? POOL_IS_CONSUMING : POOL_IS_CONNECTING;
}

/* One that idles since it came back has nothing happen to it that would clear its failures. */
static uint16_t failing_of(const struct pool *pool)
{
	uint16_t count = 0;
	for (uint32_t i = 0; pool->failing > 0 && i < pool->slots.count; i++)
		count += pool_slot_is_failing(pool, pool_slot(pool, i));
	return count;
}

struct pool_facts pool_facts(const struct pool *pool)
{
	return (struct pool_facts){
		.standing = standing_of(pool),
		.wanted = pool->wanted,
		.least = pool->autoscale.least,
		.most = pool->autoscale.most,
		.scaling = pool->scaling,
		.is_rolling = pool->roll.is_on,
		.ready = pool->ready,
		.failing = failing_of(pool),
		.waiting = pool->dispatch.open.backlog,
		.in_pipes = pool->dispatch.in_pipes,
		.unacked = pool->source.open,
		.window = pool->source.window,
		.unconfirmed = pool->outbox.count,
		.unconfirmed_bytes = pool->outbox.bytes,
		.deliveries = pool->deliveries,
		.delivered_at = pool->delivered_at,
	};
}

static mtime next_start_of(const struct slot *slot)
{
	return slot->state == LIFE_WAITING ? slot->alarm : MTIME_NEVER;
}

static void count_failures(
	const struct pool *pool, const struct slot *slot, struct slot_counts *counts)
{
	if (!pool_slot_is_failing(pool, slot))
		return;
	if (slot->failures > counts->most_failures)
		counts->most_failures = slot->failures;
	counts->next_start = mtime_min(counts->next_start, next_start_of(slot));
}

struct slot_counts pool_slot_counts(const struct pool *pool)
{
	struct slot_counts counts = {.next_start = MTIME_NEVER};
	for (uint32_t i = 0; i < pool->slots.count; i++) {
		const struct slot *slot = pool_slot(pool, i);
		counts.by_state[slot->state]++;
		counts.busy += slot->state == LIFE_READY && slot->load > 0;
		count_failures(pool, slot, &counts);
	}
	return counts;
}

uint16_t pool_slot_count(const struct pool *pool)
{
	return (uint16_t)pool->slots.count;
}

struct slot_facts pool_slot_facts(const struct pool *pool, uint16_t number)
{
	assert(number < pool->slots.count);
	const struct slot *slot = pool_slot(pool, number);
	return (struct slot_facts){
		.life = slot->life,
		.state = slot->state,
		.failures = pool_slot_is_failing(pool, slot) ? slot->failures : 0,
		.exit = slot->exit,
		.exit_for = slot->exit_for,
		.ended_at = slot->ended_at,
		.next_start = next_start_of(slot),
		.answers = slot->answers,
		.ready_at = slot->ready_at,
		.due = slot->due,
		.tasks = slot->load,
		.head = slot_head(slot),
		.since = slot->since,
	};
}

const char *pool_standing_words(enum pool_standing standing)
{
	static const char *const words[] = {
#define X(standing, words) [standing] = words,
		POOL_STANDINGS(X)
#undef X
	};
	return words[standing];
}
