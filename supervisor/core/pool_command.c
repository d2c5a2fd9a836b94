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

/* It was begun, and may have had a part of its effect; an orphan comes again by itself. */
static void give_back_begun(struct pool *pool, const struct slot *slot, struct delivery *head)
{
	if (!head->source) {
		delivery_free(head);
		return;
	}
	pool_tell(pool, (struct notice){.kind = NOTICE_TASK_CUT_SHORT,
				.slot = slot->number,
				.life = slot->life,
				.delivery = head,
				.duration = pool->now - slot->since});
	source_reject(head, REJECT_REQUEUE);
}

static void cut_short(struct pool *pool, struct slot *slot)
{
	struct delivery *head = dispatch_slot_gone(&pool->dispatch, slot);
	slot->deaf = true;
	slot->asked = true;
	pool_slot_fact(pool, slot, FACT_FORCE);
	if (head)
		give_back_begun(pool, slot, head);
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
