/* The fake broker's queues that let messages expire into another queue. */
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

mtime expire_time(const struct broker *broker, const struct queue *queue, struct text raw)
{
	struct properties properties;
	mtime span = queue->ttl;

	sim_require(properties_parse(raw, &properties) == RC_OK, "published properties");
	if (properties_has(&properties, PROPERTY_EXPIRATION))
		span = mtime_min(span, read_expiration(properties.value[PROPERTY_EXPIRATION]));
	sim_require(span == MTIME_NEVER || queue->target[0],
		"a message that expires for good, in queue %s", queue->name);
	return mtime_after(broker->now, span);
}

/* RabbitMQ takes the expiration off, or it would expire there too. */
static void move(struct broker *broker, struct stored *stored, struct queue *target)
{
	struct text raw = text_of(stored->bytes, stored->properties_len);
	struct properties properties;
	struct buf out;

	sim_require(properties_parse(raw, &properties) == RC_OK, "stored properties");
	properties_clear(&properties, PROPERTY_EXPIRATION);
	buf_init(&out, CONTENT_MAX);
	properties_write(&properties, &out);
	queue_store(broker, target, &stored->facts, buf_text(&out),
		text_of(stored->bytes + stored->properties_len, stored->body_len));
	buf_release(&out);
	list_remove(&stored->place);
	free(stored);
}

static struct stored *head_of(const struct queue *queue)
{
	struct link *link = list_first(&queue->ready);

	return link ? CONTAINER_OF(link, struct stored, place) : NULL;
}

static void expire(struct broker *broker, struct queue *queue)
{
	struct queue *target = queue_find(broker, text_from(queue->target));
	struct stored *head;

	while (target && (head = head_of(queue)) && head->expires <= broker->now)
		move(broker, head, target);
}

#define EACH_QUEUE(broker, link)                                                                   \
	for (struct link *link = (broker)->queues.next; link != &(broker)->queues;                 \
		link = link->next)

void broker_set_time(struct broker *broker, mtime now)
{
	broker->now = now;
	timeout_check(broker);
	EACH_QUEUE(broker, link)
	{
		struct queue *queue = CONTAINER_OF(link, struct queue, place);

		if (queue->target[0])
			expire(broker, queue);
	}
}

mtime broker_deadline(const struct broker *broker)
{
	mtime deadline = MTIME_NEVER;

	EACH_QUEUE(broker, link)
	{
		const struct stored *head = head_of(CONTAINER_OF(link, struct queue, place));

		if (head && head->expires > broker->now)
			deadline = mtime_min(deadline, head->expires);
	}
	return deadline;
}

size_t broker_waiting(const struct broker *broker)
{
	size_t count = 0;

	EACH_QUEUE(broker, link)
	{
		const struct queue *queue = CONTAINER_OF(link, struct queue, place);

		if (queue->target[0])
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
		if (queue->target[0] && list_is_empty(&queue->ready))
			broker_delete(broker, queue->name);
	}
}

static bool is_argument(const amqp_table_entry_t *entry, const char *key)
{
	return text_is(peer_text(entry->key), text_from(key));
}

static mtime milliseconds(const amqp_field_value_t *value)
{
	if (value->kind == AMQP_FIELD_KIND_I32)
		return value->value.i32 * MTIME_MS;
	sim_require(value->kind == AMQP_FIELD_KIND_I64, "a ttl that is no number");
	return value->value.i64 * MTIME_MS;
}

void expire_declare(struct queue *queue, bool is_new, const amqp_table_t *arguments)
{
	mtime ttl = MTIME_NEVER;
	struct text target = TEXT_NONE;

	for (int i = 0; i < arguments->num_entries; i++) {
		const amqp_table_entry_t *entry = &arguments->entries[i];

		sim_require(!is_argument(entry, "x-expires"), "a queue that goes with its tasks");
		if (is_argument(entry, "x-message-ttl"))
			ttl = milliseconds(&entry->value);
		else if (is_argument(entry, "x-dead-letter-routing-key"))
			target = peer_text(entry->value.value.bytes);
	}
	sim_require(target.len < sizeof queue->target, "a long queue name");
	if (is_new) {
		queue->ttl = ttl;
		if (target.len)
			memcpy(queue->target, target.ptr, target.len);
	}
	sim_require(queue->ttl == ttl && text_is(target, text_from(queue->target)),
		"queue %s declared again and otherwise", queue->name);
}
