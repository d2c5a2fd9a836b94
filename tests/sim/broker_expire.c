/* The fake broker's clock: messages that expire at the head of their queue. */
#include "amqp/properties.h"
#include "sim/broker_internal.h"

#include <stdlib.h>

static mtime read_expiration(struct text digits)
{
	mtime number = 0;

	sim_require(digits.len > 0 && digits.len < 12, "an expiration that closes the channel");
	for (size_t i = 0; i < digits.len; i++) {
		sim_require(digits.ptr[i] >= '0' && digits.ptr[i] <= '9', "an expiration");
		number = number * 10 + (digits.ptr[i] - '0');
	}
	return number * MTIME_MS;
}

/* The flags word says whether it has one: few have. */
static mtime own_span(struct text raw)
{
	struct properties properties;

	if (raw.len > 0 && !(raw.ptr[0] & 1))
		return MTIME_NEVER;
	sim_require(properties_parse(raw, &properties) == RC_OK, "published properties");
	return read_expiration(properties.value[PROPERTY_EXPIRATION]);
}

mtime expire_time(const struct broker *broker, const struct queue *queue, struct text raw)
{
	mtime span = mtime_min(queue->arguments.ttl, own_span(raw));

	sim_require(
		broker->answers_mistakes || span == MTIME_NEVER || queue->arguments.dead_letters,
		"a message that expires for good, in queue %s", queue->name);
	return mtime_after(broker->now, span);
}

static struct stored *first_of(const struct link *list)
{
	struct link *link = list_first(list);

	return link ? CONTAINER_OF(link, struct stored, place) : NULL;
}

void expire_queue(struct broker *broker, struct queue *queue)
{
	struct stored *head;

	while ((head = first_of(&queue->ready)) && head->expires <= broker->now) {
		queue_take(head);
		dead_letter(broker, head, "expired");
	}
	dead_try_held(broker, queue);
}

static bool has_due(const struct queue *queue, mtime now)
{
	const struct stored *head = first_of(&queue->ready);

	return (head && head->expires <= now) || !list_is_empty(&queue->held);
}

#define EACH_QUEUE(broker, link)                                                                   \
	for (struct link *link = (broker)->queues.next; link != &(broker)->queues;                 \
		link = link->next)

static __attribute__((noinline)) void look_at_all(struct broker *broker)
{
	timeout_check(broker);
	broker->is_changed = false;
	EACH_QUEUE(broker, link)
	{
		struct queue *queue = CONTAINER_OF(link, struct queue, place);

		if (!queue->deleted && has_due(queue, broker->now))
			expire_queue(broker, queue);
		broker->is_changed = broker->is_changed || !list_is_empty(&queue->held);
	}
	broker->next_due = mtime_min(broker_deadline(broker), timeout_next_check(broker));
}

void broker_set_time(struct broker *broker, mtime now)
{
	broker->now = now;
	if (broker->is_changed || now >= broker->next_due)
		look_at_all(broker);
}

mtime broker_deadline(const struct broker *broker)
{
	mtime deadline = MTIME_NEVER;

	EACH_QUEUE(broker, link)
	{
		const struct queue *queue = CONTAINER_OF(link, struct queue, place);
		const struct stored *head = first_of(&queue->ready);
		const struct stored *held = first_of(&queue->held);

		if (head && head->expires > broker->now)
			deadline = mtime_min(deadline, head->expires);
		if (held && held->expires > broker->now)
			deadline = mtime_min(deadline, held->expires);
	}
	return deadline;
}

static bool lets_expire(const struct queue *queue)
{
	return queue->arguments.dead_letters && queue->arguments.ttl != MTIME_NEVER;
}

size_t broker_waiting(const struct broker *broker)
{
	size_t count = 0;

	EACH_QUEUE(broker, link)
	{
		const struct queue *queue = CONTAINER_OF(link, struct queue, place);

		if (lets_expire(queue))
			count += broker_count(broker, queue->name);
	}
	return count;
}

void broker_delete_idle(struct broker *broker)
{
	struct link *next;

	for (struct link *link = broker->queues.next; link != &broker->queues; link = next) {
		struct queue *queue = CONTAINER_OF(link, struct queue, place);

		next = link->next;
		if (lets_expire(queue) && list_is_empty(&queue->ready) &&
			list_is_empty(&queue->held))
			broker_delete(broker, queue->name);
	}
}
