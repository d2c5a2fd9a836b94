/* Every invariant of a pool that can be checked by walking it. For tests: O(n). */
#include "core/pool_internal.h"

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

struct ledger_counts {
	uint32_t open, aside, queued, sent, answered, released;
	size_t bytes;
};

static void audit_delivery(const struct pool *pool, const struct delivery *delivery)
{
	bool is_in_outbox = !list_is_empty(&delivery->parcel.order);
	bool is_placed = !list_is_empty(&delivery->place);
	assert(delivery->source == &pool->tasks.source);
	assert(delivery->parcel.delivery == delivery);
	assert(is_in_outbox == (delivery->state == DELIVERY_ANSWERED));
	assert(is_placed ==
		(delivery->state == DELIVERY_QUEUED || delivery->state == DELIVERY_SENT));
	assert(list_is_empty(&delivery->released) == (delivery->state != DELIVERY_RELEASED));
}

static void count_state(struct ledger_counts *counts, enum delivery_state state)
{
	counts->open++;
	counts->queued += state == DELIVERY_QUEUED;
	counts->sent += state == DELIVERY_SENT;
	counts->answered += state == DELIVERY_ANSWERED;
	counts->released += state == DELIVERY_RELEASED;
}

static struct ledger_counts audit_ledger(const struct pool *pool)
{
	const struct source *source = &pool->tasks.source;
	struct ledger_counts counts = {0};
	uint64_t last = 0;
	for
		EACH(link, &source->unacked)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, unacked);
			assert(delivery->tag > last && delivery->tag <= source->last_tag);
			last = delivery->tag;
			counts.aside += last <= source->aside_tag;
			counts.bytes += delivery_content_size(delivery);
			audit_delivery(pool, delivery);
			count_state(&counts, delivery->state);
		}
	assert(counts.open == source->open);
	assert(counts.aside == source->aside && counts.bytes == source->bytes);
	assert(counts.open == 0 || source->state != SOURCE_IS_ABSENT);
	assert(counts.released == length(&source->released));
	assert(counts.released == source->ripe);
	assert(source->ripe || source->ripe_since == MTIME_NEVER);
	assert(counts.queued == pool->tasks.dispatch.queued_count);
	assert(counts.queued == length(&pool->tasks.dispatch.queued));
	return counts;
}

static uint32_t audit_pipe(const struct pipe *pipe)
{
	uint32_t live = 0;
	bool is_listed = !list_is_empty(&pipe->by_load),
	     is_running = !list_is_empty(&pipe->running);
	assert(is_listed ==
		(!pipe->closed && pipe->load < POOL_PIPELINE_MAX && !pipe_is_spent(pipe)));
	assert(list_is_empty(&pipe->in_time) || (is_running && !(pipe->closed & PIPE_HELD_UP)));
	assert(!(pipe->closed & PIPE_HELD_UP) || is_running);
	assert(length(&pipe->tasks) == pipe->load && pipe->load <= POOL_PIPELINE_MAX);
	for
		EACH(link, &pipe->tasks)
		{
			const struct delivery *delivery =
				CONTAINER_OF(link, struct delivery, place);
			assert(delivery->state == DELIVERY_SENT);
			live += delivery->source != NULL;
		}
	return live;
}

static bool has_timer(enum life_state state)
{
	return state == LIFE_WAITING || state == LIFE_STARTING || state == LIFE_QUITTING ||
	       state == LIFE_STOPPING;
}

static void audit_slot(const struct pool *pool, const struct slot *slot)
{
	const struct pool_config *config = &pool->context.config;
	const struct pipe *pipe = &slot->pipe;
	bool is_ready = slot->state == LIFE_READY, is_leaving = slot_is_leaving(slot);
	assert(slots_at(&pool->slots, pipe->slot) == slot);
	assert(pipe->closed & PIPE_NOT_READY || is_ready);
	assert(!list_is_empty(&pipe->running) == (is_ready && pipe->load > 0));
	assert(!slot->is_timed || config->interrupt);
	assert(has_timer(slot->state) == (slot->timer != MTIME_NEVER) ||
		(is_ready && slot->is_timed) || config->grace == MTIME_NEVER ||
		config->boot_limit == MTIME_NEVER);
	assert((slot->heap_place > 0) == (slot->timer != MTIME_NEVER));
	assert(!slot->heap_place || pool->slots.timers.heap[slot->heap_place] == slot);
	assert(!list_is_empty(&slot->in_line) == (slot->state == LIFE_IN_LINE));
	assert(slot_has_process(slot) || pipe->load == 0);
	if (!pool_stays(&pool->context))
		return;
	if (is_ready && !is_leaving)
		assert(pipe->load > 0 || !pipe_is_spent(pipe));
	assert(slot->state != LIFE_RETIRED || is_leaving);
	assert(!is_leaving || slot->state == LIFE_RETIRED ||
		(slot_has_process(slot) && slot->state != LIFE_STARTING));
	assert(!is_leaving || !is_ready || pipe->load > 0 || pipe->slot >= pool->slots.passed);
}

static void audit_wanted(const struct pool *pool, uint32_t kept)
{
	const struct slots *slots = &pool->slots;
	assert(kept == slots->kept && slots->wanted >= 1 && slots->wanted <= POOL_WORKERS_MAX);
	assert(pool->tasks.pace.workers == slots->wanted);
	assert(slots->wanted == autoscale_within(&slots->autoscale, slots->wanted));
	assert(kept == slots->wanted + slots->recycling.spares ||
		(kept == slots->wanted + 1u &&
			(slots->roll.state != REPLACE_OFF || !pool_stays(&pool->context))));
	assert(slots->recycling.state != REPLACE_OFF || slots->recycling.spares == 0);
}

static void audit_slots(const struct pool *pool, const struct ledger_counts *counts)
{
	const struct slots *slots = &pool->slots;
	const struct timers *timers = &slots->timers;
	uint32_t in_line = 0, starting = 0, ready = 0, failing = 0, retired = 0, with_timer = 0,
		 sent = 0, loads = 0, kept = 0;
	for (uint32_t i = 0; i < slots->all.count; i++) {
		const struct slot *slot = slots_at(slots, i);
		audit_slot(pool, slot);
		sent += audit_pipe(&slot->pipe);
		loads += slot->pipe.load;
		in_line += slot->state == LIFE_IN_LINE;
		starting += slot->state == LIFE_STARTING;
		ready += slot->state == LIFE_READY;
		retired += slot->state == LIFE_RETIRED;
		failing += slot->failures > 0;
		with_timer += slot->heap_place > 0;
		kept += !slot_is_leaving(slot);
	}
	audit_wanted(pool, kept);
	assert(sent == counts->sent);
	assert(loads == pool->tasks.dispatch.in_pipes);
	assert(!pool->tasks.dispatch.is_exclusive || loads == 1);
	assert(in_line == length(&slots->line));
	assert(in_line || list_is_empty(&slots->place));
	assert(starting == slots->starting && starting <= slots->starts->starting);
	assert(ready == slots->ready && failing == slots->failing && retired == slots->retired);
	assert(with_timer == timers->count);
	for (uint16_t i = 2; i <= timers->count; i++)
		assert(timers->heap[i / 2]->timer <= timers->heap[i]->timer);
}

static void audit_dispatch(const struct dispatch *dispatch)
{
	mtime since = INT64_MIN;
	uint64_t filled = 0;
	for
		EACH(link, &dispatch->running)
		{
			const struct pipe *pipe = CONTAINER_OF(link, struct pipe, running);
			assert(pipe->since >= since);
			since = pipe->since;
		}
	for (uint32_t load = 0; load < POOL_PIPELINE_MAX; load++)
		filled |= (uint64_t)!list_is_empty(&dispatch->by_load[load]) << load;
	assert(filled == dispatch->loads);
	for (; filled; filled &= filled - 1) {
		uint32_t load = (uint32_t)__builtin_ctzll(filled);
		for
			EACH(link, &dispatch->by_load[load])
		assert(CONTAINER_OF(link, struct pipe, by_load)->load == load);
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
			assert((parcel->seq.number > 0) == sent);
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
			assert(parcel->seq.number > last && parcel->seq.number <= outbox->last_seq);
			assert(outbox_find(outbox, parcel->seq.number) == parcel);
			last = parcel->seq.number;
		}
	assert(outbox->state != OUTBOX_IS_DOWN || list_is_empty(&outbox->sent));
	assert(outbox->state != OUTBOX_IS_PROBING || outbox_sent_count(outbox) <= 1);
}

static void audit_later(const struct outbox *outbox)
{
	for (unsigned step = 0; step < FAILURE_WAIT_STEPS; step++) {
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

static void audit_outbox(const struct pool *pool, const struct ledger_counts *counts)
{
	const struct outbox *outbox = &pool->tasks.outbox;
	struct parcels parcels = {0};
	audit_parcels(&outbox->sent, true, &parcels);
	assert(parcels.count == outbox_sent_count(outbox) && parcels.bytes == outbox->sent_bytes);
	audit_parcels(&outbox->probes, false, &parcels);
	audit_parcels(&outbox->waiting, false, &parcels);
	for (unsigned step = 0; step < FAILURE_WAIT_STEPS; step++)
		audit_parcels(&outbox->later[step], false, &parcels);
	assert(parcels.count == outbox->count && parcels.bytes == outbox->bytes);
	assert(parcels.live == counts->answered);
	audit_sent(outbox);
	audit_later(outbox);
}

void pool_audit(const struct pool *pool)
{
	struct ledger_counts counts = audit_ledger(pool);
	bool consumes = pool->tasks.source.request == SOURCE_CONSUME;
	assert(consumes == (pool->tasks.intake >= INTAKE_WHOLE));
	audit_slots(pool, &counts);
	audit_dispatch(&pool->tasks.dispatch);
	audit_outbox(pool, &counts);
}
