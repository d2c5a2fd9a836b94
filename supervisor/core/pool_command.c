/* Drain and force: how a pool leaves. */
#include "core/pool_parts.h"

static void drain(struct pool *pool)
{
	pool->phase = POOL_DRAINS;
	if (source_wishes(&pool->source, SOURCE_CONSUME))
		source_rest(&pool->source);
	else if (pool->source.state == SOURCE_IS_RESTED)
		pool_hand_back(pool);
	for (uint16_t i = 0; i < pool->config.workers; i++)
		if (pool->slots[i].load == 0)
			pool_slot_leave(pool, &pool->slots[i]);
}

static void cut_short(struct pool *pool, struct slot *slot)
{
	struct delivery *head = dispatch_slot_gone(&pool->dispatch, slot);
	if (head && head->source)
		dispatch_requeue(&pool->dispatch, head);
	else if (head)
		delivery_free(head);
	slot->deaf = true;
	slot->asked = true;
	pool_slot_fact(pool, slot, FACT_FORCE);
}

static void force(struct pool *pool)
{
	pool->was_forced = !pool_is_quiet(pool);
	pool->phase = POOL_FORCED;
	for (uint16_t i = 0; i < pool->config.workers; i++)
		cut_short(pool, &pool->slots[i]);
	pool_hand_back(pool);
}

void pool_on_command(struct pool *pool, const struct event *event)
{
	if (event->command == COMMAND_DRAIN && pool->phase == POOL_RUNS)
		drain(pool);
	else if (event->command == COMMAND_FORCE && pool->phase != POOL_FORCED)
		force(pool);
}
