/* Every invariant of a pool that can be checked by walking it. For tests: O(n). */
#include "core/pool_parts.h"

#include <assert.h>

#define EACH(link, list) (const struct link *link = (list)->next; link != (list); link = link->next)

static size_t length(const struct link *list)
{
	size_t count = 0;
	for
		EACH(link, list)
		{
			assert(link->next->prev == link);
			count++;
		}
	return count;
}

struct tally {
	uint32_t open, aside, queued, sent, answered, released;
};

static void audit_delivery(const struct pool *pool, const struct delivery *delivery)
{
	bool is_in_outbox = !list_is_empty(&delivery->parcel.order);
	bool is_placed = !list_is_empty(&delivery->place);
	assert(delivery->source == &pool->source);
	assert(delivery->parcel.delivery == delivery);
	assert(is_in_outbox == (delivery->state == DELIVERY_ANSWERED));
	assert(is_placed ==
		(delivery->state == DELIVERY_QUEUED || delivery->state == DELIVERY_SENT));
	assert(list_is_empty(&delivery->released) == (delivery->state != DELIVERY_RELEASED));
}

static void count_state(struct tally *tally, enum delivery_state state)
{
	tally->open++;
	tally->queued += state == DELIVERY_QUEUED;
	tally->sent += state == DELIVERY_SENT;
	tally->answered += state == DELIVERY_ANSWERED;
	tally->released += state == DELIVERY_RELEASED;
}

static struct tally audit_ledger(const struct pool *pool)
{
	const struct source *source = &pool->source;
	struct tally tally = {0};
	uint64_t last = 0;
	for
		EACH(link, &source->unacked)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, unacked);
			assert(delivery->tag > last && delivery->tag <= source->last_tag);
			last = delivery->tag;
			tally.aside += last <= source->aside_tag;
			audit_delivery(pool, delivery);
			count_state(&tally, delivery->state);
		}
	assert(tally.open == source->open);
	assert(tally.aside == source->aside);
	assert(tally.open == 0 || source->state != SOURCE_IS_ABSENT);
	assert(tally.released == length(&source->released));
	assert(tally.released == source->ripe);
	assert(source->ripe || source->ripe_since == MTIME_NEVER);
	assert(tally.queued == pool->dispatch.open.backlog);
	assert(tally.queued == length(&pool->dispatch.open.waiting));
	return tally;
}

static uint32_t audit_pipe(const struct slot *slot)
{
	uint32_t live = 0;
	assert(length(&slot->pipe) == slot->load && slot->load <= POOL_PIPELINE_MAX);
	for
		EACH(link, &slot->pipe)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, place);
			assert(delivery->state == DELIVERY_SENT);
			live += delivery->source != NULL;
		}
	return live;
}

static bool has_alarm(enum life_state state)
{
	return state == LIFE_WAITING || state == LIFE_STARTING || state == LIFE_QUITTING ||
	       state == LIFE_STOPPING;
}

static void audit_slot(const struct pool *pool, const struct slot *slot)
{
	bool listed = !list_is_empty(&slot->by_load);
	bool runs = !list_is_empty(&slot->running);
	assert(pool_slot(pool, slot->number) == slot);
	assert(listed == (slot->open && !slot->is_leaving && !slot->is_held_up &&
				 slot->load < POOL_PIPELINE_MAX && !dispatch_is_spent(slot)));
	assert(list_is_empty(&slot->fresh) || (runs && !slot->is_held_up));
	assert(!slot->is_held_up || runs);
	assert(!slot->open || slot->state == LIFE_READY);
	assert(runs == (slot->state == LIFE_READY && slot->load > 0));
	assert(!slot->is_timed || pool->config.interrupt);
	assert(has_alarm(slot->state) == (slot->alarm != MTIME_NEVER) ||
		(slot->state == LIFE_READY && slot->is_timed) ||
		pool->config.grace == MTIME_NEVER || pool->config.boot_limit == MTIME_NEVER);
	if (slot->state == LIFE_READY && pool->phase == POOL_RUNS && !slot->is_leaving)
		assert(slot->load > 0 || !dispatch_is_spent(slot));
	assert((slot->heap_place > 0) == (slot->alarm != MTIME_NEVER));
	assert(!slot->heap_place || pool->alarms.heap[slot->heap_place] == slot);
	if (slot->state == LIFE_WAITING || slot->state == LIFE_RETIRED)
		assert(slot->load == 0);
	if (pool->phase == POOL_RUNS) {
		assert(slot->state != LIFE_RETIRED || slot->is_leaving);
		assert(!slot->is_leaving ||
			(slot->state != LIFE_WAITING && slot->state != LIFE_STARTING));
		assert(!slot->is_leaving || slot->state != LIFE_READY || slot->load > 0 ||
			slot->number >= pool->passed);
	}
}

static void audit_counts(const struct pool *pool, uint32_t kept)
{
	assert(kept == pool->kept && pool->wanted >= 1 && pool->wanted <= POOL_WORKERS_MAX);
	assert(pool->pace.workers == pool->wanted);
	assert(pool->wanted == autoscale_within(&pool->autoscale, pool->wanted));
	assert(kept == pool->wanted + pool->recycle.spares ||
		(kept == pool->wanted + 1u && (pool->roll.is_on || pool->phase != POOL_RUNS)));
	assert(pool->recycle.is_any || pool->recycle.spares == 0);
	assert(!pool->lacks_workers || pool->has_rested);
}

static void audit_slots(const struct pool *pool, const struct tally *tally)
{
	uint32_t starting = 0, ready = 0, failing = 0, retired = 0, alarms = 0, sent = 0, loads = 0,
		 kept = 0;
	for (uint32_t i = 0; i < pool->slots.count; i++) {
		const struct slot *slot = pool_slot(pool, i);
		audit_slot(pool, slot);
		sent += audit_pipe(slot);
		loads += slot->load;
		starting += slot->state == LIFE_STARTING;
		ready += slot->state == LIFE_READY;
		retired += slot->state == LIFE_RETIRED;
		failing += slot->failures > 0;
		alarms += slot->heap_place > 0;
		kept += !slot->is_leaving;
	}
	audit_counts(pool, kept);
	assert(sent == tally->sent);
	assert(loads == pool->dispatch.in_pipes);
	assert(!pool->dispatch.is_alone || loads == 1);
	assert(starting == pool->starting);
	assert(ready == pool->ready && failing == pool->failing && retired == pool->retired);
	assert(alarms == pool->alarms.count);
	for (uint16_t i = 2; i <= pool->alarms.count; i++)
		assert(pool->alarms.heap[i / 2]->alarm <= pool->alarms.heap[i]->alarm);
}

static void audit_dispatch(const struct dispatch *dispatch)
{
	mtime since = INT64_MIN;
	uint64_t filled = 0;
	for
		EACH(link, &dispatch->running)
		{
			const struct slot *slot = CONTAINER_OF(link, struct slot, running);
			assert(slot->since >= since);
			since = slot->since;
		}
	for (uint32_t load = 0; load < POOL_PIPELINE_MAX; load++)
		filled |= (uint64_t)!list_is_empty(&dispatch->by_load[load]) << load;
	assert(filled == dispatch->loads);
	for (; filled; filled &= filled - 1) {
		uint32_t load = (uint32_t)__builtin_ctzll(filled);
		for
			EACH(link, &dispatch->by_load[load])
		assert(CONTAINER_OF(link, struct slot, by_load)->load == load);
	}
}

struct parcels {
	size_t count, live, bytes;
};

static void audit_parcels(const struct link *list, bool sent, struct parcels *parcels)
{
	for
		EACH(link, list)
		{
			const struct parcel *parcel = CONTAINER_OF(link, struct parcel, order);
			const struct delivery *delivery = parcel->delivery;
			assert(&delivery->parcel == parcel && delivery->state == DELIVERY_ANSWERED);
			assert((parcel->seq > 0) == sent);
			/* Only what is out already may outlive its input. */
			assert(sent || delivery->source);
			parcels->count++;
			parcels->live += delivery->source != NULL;
			parcels->bytes += delivery_size(delivery);
			parcels->bytes += parcel->output ? output_size(parcel->output) : 0;
		}
}

static void audit_sent(const struct outbox *outbox)
{
	uint64_t last = 0;
	for
		EACH(link, &outbox->sent)
		{
			const struct parcel *parcel = CONTAINER_OF(link, struct parcel, order);
			assert(parcel->seq > last && parcel->seq <= outbox->last_seq);
			assert(outbox_find(outbox, parcel->seq) == parcel);
			last = parcel->seq;
		}
	assert(outbox->is_up || list_is_empty(&outbox->sent));
	assert(!outbox->is_probing || outbox->sent_count <= 1);
}

static void audit_later(const struct outbox *outbox)
{
	for (unsigned step = 0; step < BACKOFF_STEPS; step++) {
		mtime due = INT64_MIN;
		for
			EACH(link, &outbox->later[step])
			{
				const struct parcel *parcel =
					CONTAINER_OF(link, struct parcel, order);
				assert(parcel->due >= due);
				due = parcel->due;
			}
	}
}

static void audit_outbox(const struct pool *pool, const struct tally *tally)
{
	const struct outbox *outbox = &pool->outbox;
	struct parcels parcels = {0};
	audit_parcels(&outbox->sent, true, &parcels);
	assert(parcels.count == outbox->sent_count && parcels.bytes == outbox->sent_bytes);
	audit_parcels(&outbox->suspects, false, &parcels);
	audit_parcels(&outbox->waiting, false, &parcels);
	for (unsigned step = 0; step < BACKOFF_STEPS; step++)
		audit_parcels(&outbox->later[step], false, &parcels);
	assert(parcels.count == outbox->count && parcels.bytes == outbox->bytes);
	assert(parcels.live == tally->answered);
	audit_sent(outbox);
	audit_later(outbox);
}

void pool_audit(const struct pool *pool)
{
	struct tally tally = audit_ledger(pool);
	audit_slots(pool, &tally);
	audit_dispatch(&pool->dispatch);
	audit_outbox(pool, &tally);
}
