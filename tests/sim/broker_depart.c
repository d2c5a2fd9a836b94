/* The fake broker: the end of a channel. A classic queue puts back what the channel held where it
 * stood. A quorum queue notices the end of the channel's process, perhaps after close-ok, and takes
 * back all of one consumer, then all of the next, in the order of their tags. With a single active
 * consumer, the next consumer becomes active only then. */
#include "sim/broker_internal.h"

#include <stdlib.h>

#define NOTICED 300 /* of a thousand looks at a channel that has ended */

static struct stored *stored_at(struct link *link)
{
	return CONTAINER_OF(link, struct stored, place);
}

static void requeue(struct broker *broker, struct stored *stored)
{
	const struct broker_watch *watch = broker->watch;

	if (!stored->queue->deleted && !stored->is_unseen)
		watch->on_settled(watch->ctx, stored->instance, false, true);
	(void)queue_requeue(broker, stored, REQUEUE_CHANNEL_GONE);
}

/* True: a comes back before b, which was delivered after it. */
static bool comes_first(const struct stored *a, const struct stored *b)
{
	return strcmp(a->consumer->tag, b->consumer->tag) <= 0;
}

/* Sort by consumer, and within it by delivery. */
static void sort_by_consumer(struct link *unacked)
{
	struct link sorted, *link;

	list_init(&sorted);
	while ((link = list_first(unacked))) {
		struct link *after = sorted.prev;

		while (after != &sorted && !comes_first(stored_at(after), stored_at(link)))
			after = after->prev;
		list_remove(link);
		list_insert_before(after->next, link);
	}
	while ((link = list_first(&sorted))) {
		list_remove(link);
		list_append(unacked, link);
	}
}

/* ---------- noticed ---------- */

static bool is_of(const struct consumer_entry *all, size_t count, uint64_t number)
{
	for (size_t i = 0; i < count; i++)
		if (all[i].number == number)
			return true;
	return false;
}

/* All of them are gone before the next consumer of a queue becomes active. */
static void end_consumers(struct broker *broker, struct consumer_entry *all, size_t count)
{
	bool was_live[CONSUMERS_MAX];

	for (size_t i = 0; i < count; i++) {
		was_live[i] = all[i].live;
		all[i].live = false;
	}
	for (size_t i = 0; i < count; i++)
		if (was_live[i] && all[i].queue && is_of(all, count, all[i].queue->active))
			consume_activate_next(broker, all[i].queue);
}

static void notice(struct broker *broker, struct departed *departed)
{
	struct link *link;

	while ((link = list_first(&departed->unacked)))
		requeue(broker, stored_at(link));
	end_consumers(broker, departed->consumers, departed->consumer_count);
	list_remove(&departed->place);
	free(departed);
}

void depart_work(struct broker *broker, bool generous)
{
	struct link *next;

	for (struct link *link = broker->departed.next; link != &broker->departed; link = next) {
		next = link->next;
		if (generous || random_chance(broker->random, NOTICED))
			notice(broker, CONTAINER_OF(link, struct departed, place));
	}
}

/* ---------- the end ---------- */

static void requeue_classic(struct broker *broker, struct broker_channel *channel)
{
	struct link *next;

	for (struct link *link = channel->unacked.next; link != &channel->unacked; link = next) {
		next = link->next;
		if (!stored_at(link)->queue->arguments.quorum)
			requeue(broker, stored_at(link));
	}
}

static bool is_quorum(const struct consumer_entry *entry)
{
	return (entry->live || entry->unacked > 0) && entry->queue &&
	       entry->queue->arguments.quorum;
}

static struct departed *new_departed(struct broker_channel *channel)
{
	size_t size = channel->consumer_count * sizeof *channel->consumers;
	struct departed *departed = malloc(sizeof *departed + size);
	struct link *link;

	sim_require(departed, "out of memory");
	departed->consumer_count = channel->consumer_count;
	memcpy(departed->consumers, channel->consumers, size);
	for (size_t i = 0; i < channel->consumer_count; i++)
		if (!is_quorum(&departed->consumers[i]))
			departed->consumers[i].live = false;
	list_init(&departed->unacked);
	while ((link = list_first(&channel->unacked))) {
		stored_at(link)->consumer =
			departed->consumers + (stored_at(link)->consumer - channel->consumers);
		list_remove(link);
		list_append(&departed->unacked, link);
	}
	return departed;
}

/* The consumers of classic queues end at once. */
static void end_classic(struct broker *broker, struct broker_channel *channel)
{
	for (size_t i = 0; i < channel->consumer_count; i++)
		if (channel->consumers[i].live && !is_quorum(&channel->consumers[i]))
			consume_end(broker, &channel->consumers[i]);
}

void depart(struct broker *broker, struct broker_channel *channel)
{
	struct departed *departed;

	if (broker->returns_late)
		consume_hand_out(broker, channel);
	sort_by_consumer(&channel->unacked);
	requeue_classic(broker, channel);
	end_classic(broker, channel);
	if (channel->consumer_count == 0)
		return;
	departed = new_departed(channel);
	list_append(&broker->departed, &departed->place);
	channel->consumer_count = 0;
	if (!broker->returns_late)
		notice(broker, departed);
}

/* ---------- until then ---------- */

uint32_t depart_count(const struct broker *broker, const struct queue *queue)
{
	uint32_t count = 0;

	for (const struct link *link = broker->departed.next; link != &broker->departed;
		link = link->next) {
		const struct departed *departed = CONTAINER_OF(link, struct departed, place);

		count += consume_count_among(departed->consumers, departed->consumer_count, queue);
	}
	return count;
}

void depart_cancel(struct broker *broker, const struct queue *queue)
{
	for (struct link *link = broker->departed.next; link != &broker->departed;
		link = link->next) {
		struct departed *departed = CONTAINER_OF(link, struct departed, place);

		for (size_t i = 0; i < departed->consumer_count; i++)
			if (departed->consumers[i].queue == queue)
				departed->consumers[i].live = false;
	}
}
