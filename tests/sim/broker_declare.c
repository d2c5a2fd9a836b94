/* The fake broker's queues come and go: queue.declare, queue.delete, queue.purge. */
#include "sim/broker_internal.h"

#include <stdlib.h>

struct queue *declare_queue(
	struct broker *broker, struct text name, const struct queue_arguments *arguments)
{
	struct queue *queue = calloc(1, sizeof *queue);

	sim_require(queue && name.len < NAME_MAX_BYTES, "a queue of the fake broker");
	memcpy(queue->name, name.ptr, name.len);
	queue->name_len = name.len;
	queue->arguments = *arguments;
	list_init(&queue->ready);
	list_init(&queue->held);
	list_append(&broker->queues, &queue->place);
	return queue;
}

void broker_declare(struct broker *broker, const char *name, bool quorum)
{
	struct queue_arguments arguments = {.quorum = quorum,
		.ttl = MTIME_NEVER,
		.limit = quorum ? broker->release->delivery_limit : LIMIT_NONE};

	if (!queue_find(broker, text_from(name)))
		declare_queue(broker, text_from(name), &arguments);
}

void broker_declare_single(struct broker *broker, const char *name)
{
	struct queue_arguments arguments = {.quorum = true,
		.ttl = MTIME_NEVER,
		.limit = INT32_MAX,
		.has_limit = true,
		.single_active = true};

	if (!queue_find(broker, text_from(name)))
		declare_queue(broker, text_from(name), &arguments);
}

/* ---------- arguments ---------- */

static int64_t number_of(const amqp_field_value_t *value)
{
	if (value->kind == AMQP_FIELD_KIND_I32)
		return value->value.i32;
	sim_require(value->kind == AMQP_FIELD_KIND_I64, "a queue's argument that is no number");
	return value->value.i64;
}

static void set_target(struct queue_arguments *arguments, struct text target)
{
	sim_require(target.len < sizeof arguments->target, "a long queue name");
	arguments->has_target = true;
	memcpy(arguments->target, target.ptr, target.len);
}

static void read_argument(struct queue_arguments *ret, const amqp_table_entry_t *entry)
{
	struct text key = peer_text(entry->key);
	const amqp_field_value_t *value = &entry->value;
	struct text words =
		value->kind == AMQP_FIELD_KIND_UTF8 ? peer_text(value->value.bytes) : TEXT_NONE;

	if (text_is(key, TEXT("x-queue-type"))) {
		ret->quorum = text_is(words, TEXT("quorum"));
	} else if (text_is(key, TEXT("x-message-ttl"))) {
		ret->ttl = number_of(value) * MTIME_MS;
	} else if (text_is(key, TEXT("x-dead-letter-exchange"))) {
		ret->dead_letters = true;
		ret->dead_exchange = words.len == 0;
	} else if (text_is(key, TEXT("x-dead-letter-routing-key"))) {
		set_target(ret, words);
	} else if (text_is(key, TEXT("x-delivery-limit"))) {
		ret->has_limit = true;
		ret->limit = number_of(value);
	} else if (text_is(key, TEXT("x-dead-letter-strategy"))) {
		ret->at_least_once = text_is(words, TEXT("at-least-once"));
	} else if (text_is(key, TEXT("x-overflow"))) {
		ret->refuses = text_is(words, TEXT("reject-publish"));
	} else if (text_is(key, TEXT("x-single-active-consumer"))) {
		ret->single_active = value->value.boolean;
	} else {
		sim_fail("an argument that the fake broker does not know: %.*s", TEXT_ARGS(key));
	}
}

static struct queue_arguments read_arguments(const struct broker *broker, const amqp_table_t *table)
{
	struct queue_arguments arguments = {.ttl = MTIME_NEVER};

	for (int i = 0; i < table->num_entries; i++)
		read_argument(&arguments, &table->entries[i]);
	if (!arguments.has_limit)
		arguments.limit = broker->release->delivery_limit;
	else if (arguments.limit < 0)
		arguments.limit = broker->release->unlimited_below_0 ? LIMIT_NONE : 0;
	arguments.at_least_once = arguments.at_least_once && arguments.dead_letters;
	return arguments;
}

static bool is_same(const struct queue_arguments *a, const struct queue_arguments *b)
{
	return a->quorum == b->quorum && a->dead_letters == b->dead_letters &&
	       a->dead_exchange == b->dead_exchange && a->has_target == b->has_target &&
	       strcmp(a->target, b->target) == 0 && a->at_least_once == b->at_least_once &&
	       a->refuses == b->refuses && a->ttl == b->ttl && a->limit == b->limit &&
	       a->has_limit == b->has_limit && a->single_active == b->single_active;
}

/* Only the kind of the queue differs, because another client declared it first. Any client must
 * expect this. */
static bool is_same_way(const struct queue_arguments *a, const struct queue_arguments *b)
{
	return a->ttl == b->ttl && strcmp(a->target, b->target) == 0;
}

/* ---------- methods ---------- */

static void not_found(
	struct broker_connection *connection, uint16_t number, amqp_method_number_t cause)
{
	channel_fail(connection, number, 404, cause, "NOT_FOUND - no queue");
}

static void declare_ok(struct broker_connection *connection, uint16_t number, struct text name)
{
	const struct queue *queue = queue_find(connection->broker, name);
	amqp_queue_declare_ok_t ok = {
		.queue = peer_bytes(name),
		.message_count = queue ? queue_ready(queue) : 0,
		.consumer_count = queue ? consume_count(connection->broker, queue) : 0,
	};

	peer_send_method(&connection->out, number, AMQP_QUEUE_DECLARE_OK_METHOD, &ok);
}

void declare_on_declare(
	struct broker_connection *connection, uint16_t number, const amqp_queue_declare_t *declare)
{
	struct broker *broker = connection->broker;
	struct text name = peer_text(declare->queue);
	struct queue *queue = queue_find(broker, name);
	struct queue_arguments arguments = read_arguments(broker, &declare->arguments);

	if (!queue && declare->passive) {
		not_found(connection, number, AMQP_QUEUE_DECLARE_METHOD);
		return;
	}
	if (!queue)
		queue = declare_queue(broker, name, &arguments);
	if (declare->passive || is_same(&queue->arguments, &arguments))
		declare_ok(connection, number, name);
	else if (is_same_way(&queue->arguments, &arguments))
		channel_fail(connection, number, 406, AMQP_QUEUE_DECLARE_METHOD,
			"PRECONDITION_FAILED - inequivalent arg");
	else
		channel_blame(connection, number, 406, AMQP_QUEUE_DECLARE_METHOD,
			"a queue declared again and otherwise");
}

void declare_on_delete(
	struct broker_connection *connection, uint16_t number, const amqp_queue_delete_t *delete)
{
	struct queue *queue = queue_find(connection->broker, peer_text(delete->queue));
	amqp_queue_delete_ok_t ok = {0};

	if (queue) {
		ok.message_count = queue_ready(queue);
		broker_delete(connection->broker, queue->name);
	}
	peer_send_method(&connection->out, number, AMQP_QUEUE_DELETE_OK_METHOD, &ok);
}

void declare_on_purge(
	struct broker_connection *connection, uint16_t number, const amqp_queue_purge_t *purge)
{
	struct queue *queue = queue_find(connection->broker, peer_text(purge->queue));
	amqp_queue_purge_ok_t ok = {0};

	if (!queue) {
		not_found(connection, number, AMQP_QUEUE_PURGE_METHOD);
		return;
	}
	ok.message_count = queue_purge(queue);
	peer_send_method(&connection->out, number, AMQP_QUEUE_PURGE_OK_METHOD, &ok);
}
