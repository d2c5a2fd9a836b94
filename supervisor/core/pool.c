#include "core/pool_parts.h"

#include <assert.h>
#include <stdlib.h>

struct pool *pool_new(
	const struct pool_config *config, const struct effects *effects, void *io, mtime now)
{
	assert(!config->interrupt || config->pipeline == 1);
	assert(config->pipeline || config->pipe_wait > 0);
	assert(config->memory > 0);
	assert(!config->workers_most || config->workers_most >= config->workers);
	struct pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return NULL;
	pool->config = *config;
	pool->effects = effects;
	pool->io = io;
	pool->now = now;
	pool->send_again = MTIME_NEVER;
	pool->delivered_at = MTIME_NEVER;
	pool->recycle.next_at = MTIME_NEVER;
	source_init(&pool->source, 0, effects, io);
	pace_init(&pool->pace, config, now);
	dispatch_init(&pool->dispatch, pace_pipe_wait(&pool->pace), effects, io);
	autoscale_init(&pool->autoscale, config->workers,
		config->workers_most ? config->workers_most : config->workers, now);
	if (pool_slots_init(pool) != RC_OK || outbox_init(&pool->outbox, effects, io) != RC_OK) {
		alarms_release(&pool->alarms);
		shelf_release(&pool->slots);
		free(pool);
		return NULL;
	}
	return pool;
}

static void tell_if_drained(struct pool *pool)
{
	if (pool->phase == POOL_RUNS || pool->told_drained || !pool_is_quiet(pool))
		return;
	pool->told_drained = true;
	pool_tell(pool, (struct notice){.kind = NOTICE_DRAINED, .slot = -1});
}

void pool_step(struct pool *pool, mtime now, const struct event *event)
{
	static void (*const handlers[])(struct pool *, const struct event *) = {
		[SOURCE_UP] = pool_on_source_up,
		[SOURCE_RESTED] = pool_on_source_rested,
		[SOURCE_CANCELLED] = pool_on_source_cancelled,
		[SOURCE_DOWN] = pool_on_source_down,
		[DELIVERY] = pool_on_delivery,
		[OUTBOX_UP] = pool_on_outbox_up,
		[OUTBOX_DOWN] = pool_on_outbox_down,
		[CONFIRMED] = pool_on_confirmed,
		[REFUSED] = pool_on_refused,
		[RETURNED] = pool_on_returned,
		[QUEUE_FOUND] = pool_on_queue_found,
		[SLOT_READY] = pool_on_slot_ready,
		[SLOT_ROOM] = pool_on_slot_room,
		[SLOT_OUTPUT] = pool_on_slot_output,
		[SLOT_BROKEN] = pool_on_slot_broken,
		[SLOT_GONE] = pool_on_slot_gone,
		[SLOT_MEMORY] = pool_on_slot_memory,
		[COMMAND] = pool_on_command,
		[TURN_END] = pool_on_turn_end,
	};
	pool->now = now;
	pool->absent = event->absent ? event->absent : now;
	handlers[event->kind](pool, event);
	tell_if_drained(pool);
}

bool pool_is_quiet(const struct pool *pool)
{
	return pool->phase != POOL_RUNS && pool->retired == pool->slots.count &&
	       pool->source.state == SOURCE_IS_ABSENT;
}

bool pool_is_publishing(const struct pool *pool)
{
	return pool->outbox.sent_count > 0;
}

bool pool_is_refused(const struct pool *pool)
{
	return pool->outbox.sent_count == 0 && pool->outbox.count > 0;
}

bool pool_was_forced(const struct pool *pool)
{
	return pool->was_forced;
}

/* What is in the ledger is freed with it; an orphan is in no ledger, but in a pipe or sent. */
static void free_orphans_in_pipes(struct pool *pool)
{
	for (uint32_t i = 0; i < pool->slots.count; i++) {
		struct link *link, *pipe = &pool_slot(pool, i)->pipe;
		while ((link = list_first(pipe))) {
			struct delivery *delivery = CONTAINER_OF(link, struct delivery, place);
			list_remove(link);
			if (!delivery->source)
				delivery_free(delivery);
		}
	}
}

static void free_orphans_sent(struct pool *pool)
{
	struct link *next, *sent = &pool->outbox.sent;
	for (struct link *link = sent->next; link != sent; link = next) {
		struct parcel *parcel = CONTAINER_OF(link, struct parcel, order);
		next = link->next;
		if (parcel->delivery->source)
			continue;
		outbox_take(&pool->outbox, parcel);
		delivery_free(parcel->delivery);
	}
}

static void free_ledger(struct pool *pool)
{
	struct link *link;
	while ((link = list_first(&pool->source.unacked))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		source_forget(delivery);
		delivery_free(delivery);
	}
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	free_orphans_in_pipes(pool);
	free_orphans_sent(pool);
	free_ledger(pool);
	outbox_release(&pool->outbox);
	alarms_release(&pool->alarms);
	shelf_release(&pool->slots);
	free(pool);
}
