/* What the consuming channel tells. */
#include "core/pool_parts.h"

#include <assert.h>

static struct source *source_of(struct pool *pool, const struct event *event)
{
	assert(event->source.source == pool->source.number);
	return &pool->source;
}

/* The attempts of orphans go on, for nothing; a parcel that is out cannot be called back. */
static void void_rest_of_ledger(struct pool *pool, struct source *source)
{
	struct link *link;
	while ((link = list_first(&source->unacked))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		source_forget(delivery);
		if (delivery->state == DELIVERY_ANSWERED && delivery->parcel.seq)
			continue;
		if (delivery->state == DELIVERY_ANSWERED)
			outbox_take(&pool->outbox, &delivery->parcel);
		delivery_free(delivery);
	}
}

static void lose(struct pool *pool, struct source *source)
{
	dispatch_source_down(&pool->dispatch, source);
	void_rest_of_ledger(pool, source);
	source_down(source);
}

void pool_on_source_up(struct pool *pool, const struct event *event)
{
	struct source *source = source_of(pool, event);
	if (!source_is_newer(source, event->source.epoch))
		return;
	if (source->state != SOURCE_IS_ABSENT)
		lose(pool, source);
	source_up(source, event->source.epoch);
}

void pool_on_source_rested(struct pool *pool, const struct event *event)
{
	struct source *source = source_of(pool, event);
	if (!source_is_current(source, event->source.epoch))
		return;
	source_rested(source);
	if (pool->phase == POOL_DRAINS && source->state == SOURCE_IS_RESTED)
		pool_hand_back(pool);
}

/* Told again for each consumer of the channel: the last one finds all that is in hand. */
void pool_on_source_cancelled(struct pool *pool, const struct event *event)
{
	struct source *source = source_of(pool, event);
	if (source_is_current(source, event->source.epoch) && source_wishes(source, SOURCE_CONSUME))
		pool_begin_consuming(pool);
}

void pool_on_source_down(struct pool *pool, const struct event *event)
{
	struct source *source = source_of(pool, event);
	if (source_is_current(source, event->source.epoch))
		lose(pool, source);
}

void pool_on_delivery(struct pool *pool, const struct event *event)
{
	struct source *source = source_of(pool, event);
	struct delivery *delivery = event->source.delivery;
	if (!source_is_current(source, event->source.epoch) || !source_open(source, delivery)) {
		delivery_free(delivery);
		return;
	}
	delivery->queued_at = pool->delivered_at = pool->now;
	pool->deliveries++;
	pool_arrive(pool, delivery);
	if (pool->phase == POOL_DRAINS && source->state == SOURCE_IS_RESTED)
		pool_hand_back(pool);
}
