#include "amqp/properties.h"
#include "amqp/table.h"
#include "sim/broker_internal.h"

#include <stdlib.h>

struct queue *queue_find(struct broker *broker, struct text name)
{
	for (struct link *link = broker->queues.next; link != &broker->queues; link = link->next) {
		struct queue *queue = CONTAINER_OF(link, struct queue, place);

		if (!queue->deleted && text_is(queue_name(queue), name))
			return queue;
	}
	return NULL;
}

static struct stored *stored_at(struct link *link)
{
	return CONTAINER_OF(link, struct stored, place);
}

struct text stored_key(const struct stored *stored)
{
	return text_of(stored->bytes, stored->key_len);
}

struct text stored_bcc(const struct stored *stored)
{
	return text_of(stored->bytes + stored->key_len, stored->bcc_len);
}

struct text stored_properties(const struct stored *stored)
{
	return text_of(stored->bytes + stored->key_len + stored->bcc_len, stored->properties_len);
}

struct text stored_body(const struct stored *stored)
{
	return text_of(stored_properties(stored).ptr + stored->properties_len, stored->body_len);
}

/* ---------- queues ---------- */

static void free_when_unused(struct queue *queue)
{
	if (!queue->deleted || queue->unacked > 0)
		return;
	list_remove(&queue->place);
	free(queue);
}

static uint32_t drop_all(struct link *list)
{
	struct link *link;
	uint32_t count = 0;

	while ((link = list_first(list))) {
		list_remove(link);
		free(stored_at(link));
		count++;
	}
	return count;
}

uint32_t queue_purge(struct queue *queue)
{
	return drop_all(&queue->ready);
}

uint32_t queue_ready(const struct queue *queue)
{
	uint32_t count = 0;

	for (const struct link *link = queue->ready.next; link != &queue->ready; link = link->next)
		count++;
	return count;
}

static void cancel_consumers_of(struct broker *broker, const struct queue *queue)
{
	for (struct link *link = broker->connections.next; link != &broker->connections;
		link = link->next) {
		struct broker_connection *connection =
			CONTAINER_OF(link, struct broker_connection, place);

		for (uint16_t i = 1; i < connection->channel_count; i++)
			consume_cancel(connection, i, queue);
	}
	depart_cancel(broker, queue);
}

void broker_purge(struct broker *broker, const char *name)
{
	struct queue *queue = queue_find(broker, text_from(name));

	if (queue)
		queue_purge(queue);
	broker->is_changed = true;
}

void broker_delete(struct broker *broker, const char *name)
{
	struct queue *queue = queue_find(broker, text_from(name));

	if (!queue)
		return;
	sim_trace("broker: queue %s is deleted", name);
	cancel_consumers_of(broker, queue);
	drop_all(&queue->ready);
	drop_all(&queue->held);
	queue->deleted = true;
	queue->active = 0;
	free_when_unused(queue);
}

/* ---------- messages ---------- */

static void append(char **end, struct text bytes)
{
	if (bytes.len)
		memcpy(*end, bytes.ptr, bytes.len);
	*end += bytes.len;
}

static struct stored *new_stored(const struct incoming *incoming)
{
	struct stored *stored = malloc(sizeof *stored + incoming->key.len + incoming->bcc.len +
				       incoming->properties.len + incoming->body.len);
	char *end;

	sim_require(stored, "out of memory");
	*stored = (struct stored){.facts = incoming->facts,
		.has_died = incoming->has_died,
		.key_len = incoming->key.len,
		.bcc_len = incoming->bcc.len,
		.properties_len = incoming->properties.len,
		.body_len = incoming->body.len};
	end = stored->bytes;
	append(&end, incoming->key);
	append(&end, incoming->bcc);
	append(&end, incoming->properties);
	append(&end, incoming->body);
	return stored;
}

void queue_store(struct broker *broker, struct queue *queue, const struct incoming *incoming)
{
	struct stored *stored = new_stored(incoming);
	bool is_announced = !broker->unannounced || strcmp(queue->name, broker->unannounced) != 0;

	stored->queue = queue;
	stored->brought = incoming->returns;
	stored->redelivered = queue->arguments.quorum && stored->brought > 0;
	stored->expires = expire_time(broker, queue, incoming->properties);
	stored->instance = is_announced ? ++broker->next_instance : 0;
	stored->order = ++broker->next_order;
	list_append(&queue->ready, &stored->place);
	broker->is_changed = true;
	broker->watch->on_stored(broker->watch->ctx, stored->instance, &incoming->facts,
		queue->name, stored_body(stored));
}

uint64_t broker_store(struct broker *broker, const char *name, const struct copy_facts *facts,
	uint32_t brought, struct text properties, struct text body)
{
	struct queue *queue = queue_find(broker, text_from(name));
	struct incoming incoming = {.key = text_from(name),
		.properties = properties,
		.body = body,
		.facts = *facts,
		.returns = broker->release->keeps_count ? brought : 0};

	if (!queue)
		return 0;
	queue_store(broker, queue, &incoming);
	return broker->next_instance;
}

void queue_take(struct stored *stored)
{
	list_remove(&stored->place);
	if (stored->tag == 0)
		return;
	stored->queue->unacked--;
	stored->consumer->unacked--;
	stored->tag = 0;
}

void queue_forget(struct stored *stored)
{
	struct queue *queue = stored->queue;

	queue_take(stored);
	free(stored);
	free_when_unused(queue);
}

/* A classic queue puts what came back where it stood. A quorum queue hands it out before all else,
 * in the order in which it came back; but one without a limit puts at its end what a consumer gives
 * back. */
static struct link *place_of(
	struct queue *queue, const struct stored *stored, enum requeue_cause cause)
{
	const struct queue_arguments *arguments = &queue->arguments;
	struct link *where = queue->ready.next;

	if (arguments->quorum && arguments->limit == LIMIT_NONE && cause == REQUEUE_ASKED)
		return &queue->ready;
	while (where != &queue->ready &&
		(arguments->quorum ? stored_at(where)->is_returned
				   : stored_at(where)->order < stored->order))
		where = where->next;
	return where;
}

bool queue_requeue(struct broker *broker, struct stored *stored, enum requeue_cause cause)
{
	struct queue *queue = stored->queue;
	const struct queue_arguments *arguments = &queue->arguments;
	struct link *where;

	if (queue->deleted) {
		queue_forget(stored);
		return true;
	}
	queue_take(stored);
	broker->is_changed = true;
	stored->redelivered = true;
	stored->returns++;
	stored->taken_back += cause == REQUEUE_CHANNEL_GONE;
	if (limit_is_passed(broker, stored)) {
		dead_letter(broker, stored, "delivery_limit");
		return false;
	}
	where = place_of(queue, stored, cause);
	stored->is_returned = cause == REQUEUE_CHANNEL_GONE || arguments->limit != LIMIT_NONE;
	list_insert_before(where, &stored->place);
	return true;
}

/* Quorum queues tell how often a message came back; the header overwrites a forged one. */
struct text queue_properties(struct broker *broker, const struct stored *stored)
{
	struct text raw = stored_properties(stored);
	uint32_t count = stored_count(stored);
	struct buf *headers, *written;
	struct properties properties;
	struct table_field field;
	struct text rest;

	if (!stored->queue->arguments.quorum || count == 0)
		return raw;
	headers = scratch_take(&broker->scratch, SCRATCH_HEADERS);
	written = scratch_take(&broker->scratch, SCRATCH_PROPERTIES);
	sim_require(properties_parse(raw, &properties) == RC_OK, "stored properties");
	rest = properties.value[PROPERTY_HEADERS];
	while (table_next(&rest, true, &field))
		if (!text_is(field.key, TEXT("x-delivery-count")))
			table_put_field(headers, &field);
	table_put_integer(headers, TEXT("x-delivery-count"), count);
	properties_set(&properties, PROPERTY_HEADERS, buf_text(headers));
	properties_write(&properties, written);
	return buf_text(written);
}

/* ---------- what a run asks and does ---------- */

void broker_age(struct broker *broker, const char *name)
{
	struct queue *queue = queue_find(broker, text_from(name));

	if (!queue)
		return;
	for (struct link *link = queue->ready.next; link != &queue->ready; link = link->next)
		stored_at(link)->returns += random_below(broker->random, 12);
}

size_t broker_count(const struct broker *broker, const char *name)
{
	const struct queue *queue = queue_find((struct broker *)broker, text_from(name));
	size_t count = 0;

	if (!queue)
		return 0;
	for (const struct link *link = queue->held.next; link != &queue->held; link = link->next)
		count++;
	return count + queue_ready(queue) + queue->unacked;
}

void broker_visit(const struct broker *broker, const char *name,
	void (*visit)(void *ctx, struct text properties, struct text body), void *ctx)
{
	const struct queue *queue = queue_find((struct broker *)broker, text_from(name));

	if (!queue)
		return;
	for (struct link *link = queue->ready.next; link != &queue->ready; link = link->next)
		visit(ctx, stored_properties(stored_at(link)), stored_body(stored_at(link)));
}
