#include "amqp/properties.h"
#include "amqp/table.h"
#include "sim/broker_internal.h"

#include <stdlib.h>

struct queue *queue_find(struct broker *broker, struct text name)
{
	for (struct link *link = broker->queues.next; link != &broker->queues; link = link->next) {
		struct queue *queue = CONTAINER_OF(link, struct queue, place);

		if (!queue->deleted && text_is(text_from(queue->name), name))
			return queue;
	}
	return NULL;
}

void broker_declare(struct broker *broker, const char *name, bool quorum)
{
	struct queue *queue;

	if (queue_find(broker, text_from(name)))
		return;
	queue = calloc(1, sizeof *queue);
	sim_require(queue && strlen(name) < NAME_MAX_BYTES, "a queue of the fake broker");
	strcpy(queue->name, name);
	queue->quorum = quorum;
	queue->ttl = MTIME_NEVER;
	list_init(&queue->ready);
	list_append(&broker->queues, &queue->place);
}

static void free_when_unused(struct queue *queue)
{
	if (!queue->deleted || queue->unacked > 0)
		return;
	list_remove(&queue->place);
	free(queue);
}

static void drop_ready(struct queue *queue)
{
	struct link *link;

	while ((link = list_first(&queue->ready))) {
		list_remove(link);
		free(CONTAINER_OF(link, struct stored, place));
	}
}

static void cancel_consumers_of(struct broker *broker, const struct queue *queue)
{
	for (struct link *link = broker->connections.next; link != &broker->connections;
		link = link->next)
		for (uint16_t i = 1; i < BROKER_CHANNELS; i++)
			channel_cancel_consumers(
				CONTAINER_OF(link, struct broker_connection, place), i, queue);
}

void broker_delete(struct broker *broker, const char *name)
{
	struct queue *queue = queue_find(broker, text_from(name));

	if (!queue)
		return;
	sim_trace("broker: queue %s is deleted", name);
	cancel_consumers_of(broker, queue);
	drop_ready(queue);
	queue->deleted = true;
	free_when_unused(queue);
}

struct stored *queue_store(struct broker *broker, struct queue *queue,
	const struct copy_facts *facts, struct text properties, struct text body)
{
	struct stored *stored = calloc(1, sizeof *stored + properties.len + body.len);

	sim_require(stored, "out of memory");
	stored->queue = queue;
	stored->facts = *facts;
	stored->expires = expire_time(broker, queue, properties);
	stored->instance = ++broker->next_instance;
	stored->order = ++broker->next_order;
	stored->properties_len = properties.len;
	stored->body_len = body.len;
	memcpy(stored->bytes, properties.ptr, properties.len);
	if (body.len)
		memcpy(stored->bytes + properties.len, body.ptr, body.len);
	list_append(&queue->ready, &stored->place);
	broker->watch->on_stored(broker->watch->ctx, stored->instance, facts, queue->name, body);
	return stored;
}

uint64_t broker_store(struct broker *broker, const char *name, const struct copy_facts *facts,
	struct text properties, struct text body)
{
	struct queue *queue = queue_find(broker, text_from(name));

	return queue ? queue_store(broker, queue, facts, properties, body)->instance : 0;
}

/* Back where it came from, as RabbitMQ does where it can. */
void queue_requeue(struct broker *broker, struct stored *stored)
{
	struct queue *queue = stored->queue;
	struct link *where = queue->ready.next;

	list_remove(&stored->place);
	queue->unacked--;
	if (queue->deleted) {
		free(stored);
		free_when_unused(queue);
		return;
	}
	stored->redelivered = true;
	stored->returns++;
	if (limit_drops(broker, stored)) {
		free(stored);
		return;
	}
	while (where != &queue->ready &&
		CONTAINER_OF(where, struct stored, place)->order < stored->order)
		where = where->next;
	list_insert_before(where, &stored->place);
}

void queue_forget(struct stored *stored)
{
	struct queue *queue = stored->queue;

	list_remove(&stored->place);
	queue->unacked--;
	free(stored);
	free_when_unused(queue);
}

/* Quorum queues tell how often a message came back; the header overwrites a forged one. */
void queue_append_properties(const struct stored *stored, struct buf *out)
{
	struct text raw = text_of(stored->bytes, stored->properties_len);
	struct properties properties;
	struct table_field field;
	struct buf headers;
	struct text rest;

	if (!stored->queue->quorum || stored->returns == 0) {
		buf_append_text(out, raw);
		return;
	}
	sim_require(properties_parse(raw, &properties) == RC_OK, "stored properties");
	buf_init(&headers, CONTENT_MAX);
	rest = properties.value[PROPERTY_HEADERS];
	while (table_next(&rest, true, &field))
		if (!text_is(field.key, TEXT("x-delivery-count")))
			table_put_field(&headers, &field);
	table_put_integer(&headers, TEXT("x-delivery-count"), stored->returns);
	properties_set(&properties, PROPERTY_HEADERS, buf_text(&headers));
	properties_write(&properties, out);
	buf_release(&headers);
}

void broker_age(struct broker *broker, const char *name)
{
	struct queue *queue = queue_find(broker, text_from(name));

	if (!queue)
		return;
	for (struct link *link = queue->ready.next; link != &queue->ready; link = link->next)
		CONTAINER_OF(link, struct stored, place)->returns +=
			random_below(broker->random, 12);
}

size_t broker_count(const struct broker *broker, const char *name)
{
	const struct queue *queue = queue_find((struct broker *)broker, text_from(name));
	size_t count = 0;

	if (!queue)
		return 0;
	for (const struct link *link = queue->ready.next; link != &queue->ready; link = link->next)
		count++;
	return count + queue->unacked;
}

void broker_visit(const struct broker *broker, const char *name,
	void (*visit)(void *ctx, struct text properties, struct text body), void *ctx)
{
	const struct queue *queue = queue_find((struct broker *)broker, text_from(name));

	if (!queue)
		return;
	for (struct link *link = queue->ready.next; link != &queue->ready; link = link->next) {
		struct stored *stored = CONTAINER_OF(link, struct stored, place);

		visit(ctx, text_of(stored->bytes, stored->properties_len),
			text_of(stored->bytes + stored->properties_len, stored->body_len));
	}
}
