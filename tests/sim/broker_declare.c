/* The fake broker's queues come and go: queue.declare, queue.delete, queue.purge. */
#include "sim/broker_internal.h"

#include <stdio.h>
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
		.asked = INT32_MAX,
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
		ret->limit = ret->asked = number_of(value);
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

/* ---------- refusals ---------- */

#define VALUE_SIZE 24

/* An argument of two declares. A text is NULL where it is missing. */
struct pair {
	const char *key, *type;
	char current[VALUE_SIZE], received[VALUE_SIZE];
	bool has_current, has_received;
};

static void set_number(char value[VALUE_SIZE], int64_t number)
{
	snprintf(value, VALUE_SIZE, "%lld", (long long)number);
}

static struct pair pair_of_ttl(const struct queue_arguments *a, const struct queue_arguments *b)
{
	struct pair pair = {.key = "x-message-ttl",
		.type = "long",
		.has_current = a->ttl != MTIME_NEVER,
		.has_received = b->ttl != MTIME_NEVER};

	set_number(pair.current, a->ttl / MTIME_MS);
	set_number(pair.received, b->ttl / MTIME_MS);
	return pair;
}

static struct pair pair_of_single(const struct queue_arguments *a, const struct queue_arguments *b)
{
	return (struct pair){"x-single-active-consumer", "bool", "true", "true", a->single_active,
		b->single_active};
}

static struct pair pair_of_type(const struct queue_arguments *a, const struct queue_arguments *b)
{
	struct pair pair = {.key = "x-queue-type",
		.type = "longstr",
		.has_current = true,
		.has_received = true};

	snprintf(pair.current, VALUE_SIZE, a->quorum ? "quorum" : "classic");
	snprintf(pair.received, VALUE_SIZE, b->quorum ? "quorum" : "classic");
	return pair;
}

static struct pair pair_of_limit(const struct queue_arguments *a, const struct queue_arguments *b)
{
	struct pair pair = {.key = "x-delivery-limit",
		.type = "long",
		.has_current = a->has_limit,
		.has_received = b->has_limit};

	set_number(pair.current, a->asked);
	set_number(pair.received, b->asked);
	return pair;
}

static void write_value(
	char *ret, size_t size, bool is_there, bool is_other, const char *value, const char *type)
{
	if (!is_there)
		snprintf(ret, size, "none");
	else if (is_other)
		snprintf(ret, size, "'%s'", value);
	else
		snprintf(ret, size, "the value '%s' of type '%s'", value, type);
}

/* False: it is the same. */
static bool write_difference(
	const struct pair *pair, const struct queue *queue, char *ret, size_t size)
{
	char current[64], received[64];

	if (pair->has_current == pair->has_received &&
		(!pair->has_current || strcmp(pair->current, pair->received) == 0))
		return false;
	write_value(current, sizeof current, pair->has_current, pair->has_received, pair->current,
		pair->type);
	write_value(received, sizeof received, pair->has_received, pair->has_current,
		pair->received, pair->type);
	snprintf(ret, size,
		"PRECONDITION_FAILED - inequivalent arg '%s' for queue '%.*s' in vhost '/': "
		"received %s but current is %s",
		pair->key, TEXT_ARGS(queue_name(queue)), received, current);
	return true;
}

/* RabbitMQ names the first argument that differs, in this order. */
static void refuse_declare(struct broker_connection *connection, uint16_t number,
	const struct queue *queue, const struct queue_arguments *received)
{
	const struct queue_arguments *current = &queue->arguments;
	const struct pair pairs[] = {pair_of_ttl(current, received),
		pair_of_single(current, received), pair_of_type(current, received),
		pair_of_limit(current, received)};
	char words[512] = "PRECONDITION_FAILED - inequivalent arg";

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (write_difference(&pairs[i], queue, words, sizeof words))
			break;
	if (is_same_way(current, received))
		channel_fail(connection, number, 406, AMQP_QUEUE_DECLARE_METHOD, words);
	else
		channel_blame(connection, number, 406, AMQP_QUEUE_DECLARE_METHOD, words);
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
	else
		refuse_declare(connection, number, queue, &arguments);
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
