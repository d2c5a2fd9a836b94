#include "diff/perform.h"

#include "amqp/properties.h"
#include "amqp/table.h"
#include "sim/fail.h"

#include <stdio.h>
#include <stdlib.h>

#define REPLY_TO   "amq.rabbitmq.reply-to"
#define BUFFER_MAX 65536

void perform_queue_name(const struct script *script, uint8_t queue, char ret[QUEUE_NAME_MAX])
{
	if (queue == KEY_REPLIES)
		snprintf(ret, QUEUE_NAME_MAX, REPLY_TO);
	else if (queue == KEY_MISSING)
		snprintf(ret, QUEUE_NAME_MAX, "d%llu.missing", (unsigned long long)script->seed);
	else
		snprintf(ret, QUEUE_NAME_MAX, "d%llu.%u", (unsigned long long)script->seed, queue);
}

/* ---------- queues ---------- */

static void add_string(amqp_table_t *table, const char *key, const char *value)
{
	table->entries[table->num_entries++] = (amqp_table_entry_t){.key = amqp_cstring_bytes(key),
		.value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(value)}};
}

static void add_number(amqp_table_t *table, const char *key, int64_t number)
{
	if (number == NUMBER_NONE)
		return;
	table->entries[table->num_entries++] = (amqp_table_entry_t){.key = amqp_cstring_bytes(key),
		.value = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = number}};
}

static void add_true(amqp_table_t *table, const char *key)
{
	table->entries[table->num_entries++] = (amqp_table_entry_t){.key = amqp_cstring_bytes(key),
		.value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1}};
}

/* target: of its dead letters; of QUEUE_NAME_MAX bytes. */
static void add_arguments(amqp_table_t *arguments, const struct script *script,
	const struct queue_shape *shape, char *target)
{
	add_string(arguments, "x-queue-type", shape->quorum ? "quorum" : "classic");
	add_number(arguments, "x-delivery-limit", shape->limit);
	add_number(arguments, "x-message-ttl", shape->ttl_ms);
	if (shape->single)
		add_true(arguments, "x-single-active-consumer");
	if (shape->dead_letters)
		add_string(arguments, "x-dead-letter-exchange",
			shape->dead_exchange ? "" : "wpool.nowhere");
	if (shape->dead_letters && shape->target != KEY_NONE) {
		perform_queue_name(script, shape->target, target);
		add_string(arguments, "x-dead-letter-routing-key", target);
	}
	if (shape->at_least_once) {
		add_string(arguments, "x-dead-letter-strategy", "at-least-once");
		add_string(arguments, "x-overflow", "reject-publish");
	}
}

void perform_declare(struct client *client, uint16_t channel, const struct script *script,
	uint8_t queue, const struct queue_shape *shape)
{
	char name[QUEUE_NAME_MAX], target[QUEUE_NAME_MAX];
	amqp_table_entry_t entries[8];
	amqp_queue_declare_t declare = {.passive = !shape, .durable = 1, .arguments = {0, entries}};

	perform_queue_name(script, queue, name);
	declare.queue = amqp_cstring_bytes(name);
	if (shape)
		add_arguments(&declare.arguments, script, shape, target);
	client_send(client, channel, AMQP_QUEUE_DECLARE_METHOD, &declare);
}

static void declare(struct client *client, const struct script *script, const struct command *c)
{
	struct queue_shape shape = script->queues[c->queue];

	if (c->op == OP_DECLARE_OTHERWISE) {
		if (c->second == OTHERWISE_TTL)
			shape.ttl_ms = 3600000;
		else if (c->second == OTHERWISE_SINGLE)
			shape.single = !shape.single;
		else if (c->second == OTHERWISE_TYPE)
			shape.quorum = true;
		else
			shape.limit = 7;
	}
	perform_declare(client, c->channel, script, c->queue, c->op == OP_PASSIVE ? NULL : &shape);
}

static void purge(struct client *client, const struct script *script, const struct command *c)
{
	char name[QUEUE_NAME_MAX];
	amqp_queue_purge_t purge_it = {0};
	amqp_queue_delete_t delete_it = {0};

	perform_queue_name(script, c->queue, name);
	purge_it.queue = delete_it.queue = amqp_cstring_bytes(name);
	if (c->op == OP_PURGE)
		client_send(client, c->channel, AMQP_QUEUE_PURGE_METHOD, &purge_it);
	else
		client_send(client, c->channel, AMQP_QUEUE_DELETE_METHOD, &delete_it);
}

/* ---------- consuming ---------- */

static void name_consumer(const struct command *c, char ret[8])
{
	if (c->queue == KEY_REPLIES)
		snprintf(ret, 8, "r");
	else
		snprintf(ret, 8, "k%u", c->queue % 10);
}

static void consume(struct client *client, const struct script *script, const struct command *c)
{
	struct client_channel *channel = &client->channels[c->channel];
	char name[QUEUE_NAME_MAX], tag[8];
	amqp_basic_consume_t consume_it = {.no_ack = c->no_ack};

	perform_queue_name(script, c->queue, name);
	name_consumer(c, tag);
	consume_it.queue = amqp_cstring_bytes(name);
	consume_it.consumer_tag = amqp_cstring_bytes(tag);
	client_send(client, c->channel, AMQP_BASIC_CONSUME_METHOD, &consume_it);
	if (c->queue == KEY_REPLIES)
		channel->replies = c->no_ack;
	if (c->queue >= SCRIPT_QUEUES)
		return;
	channel->consumes[c->queue] = true;
	channel->no_ack[c->queue] = c->no_ack;
}

static void add_barrier(struct client *client, const struct script *script, const struct command *c)
{
	amqp_basic_qos_t qos = {.prefetch_count = 1};
	char name[QUEUE_NAME_MAX], tag[8];
	amqp_basic_consume_t consume_it = {0};

	perform_queue_name(script, c->queue, name);
	consume_it.queue = amqp_cstring_bytes(name);
	client_send(client, c->channel, AMQP_BASIC_QOS_METHOD, &qos);
	for (int i = 1; i <= 3; i++) {
		snprintf(tag, sizeof tag, "k%u.%d", c->queue % 10, i);
		consume_it.consumer_tag = amqp_cstring_bytes(tag);
		client_send(client, c->channel, AMQP_BASIC_CONSUME_METHOD, &consume_it);
	}
}

static void cancel(struct client *client, const struct command *c)
{
	char tag[8];
	amqp_basic_cancel_t cancel_it = {0};

	name_consumer(c, tag);
	cancel_it.consumer_tag = amqp_cstring_bytes(tag);
	client_send(client, c->channel, AMQP_BASIC_CANCEL_METHOD, &cancel_it);
	if (c->queue < SCRIPT_QUEUES)
		client->channels[c->channel].consumes[c->queue] = false;
	else if (c->queue == KEY_REPLIES)
		client->channels[c->channel].replies = false;
}

/* ---------- settling ---------- */

struct unacked *perform_find_unacked(
	struct client_channel *channel, uint8_t queue, uint32_t message)
{
	char tag[8];

	snprintf(tag, sizeof tag, "k%u", queue % 10);
	for (size_t i = 0; i < channel->unacked_count; i++)
		if (channel->unacked[i].message == message &&
			strcmp(channel->unacked[i].consumer, tag) == 0)
			return &channel->unacked[i];
	return NULL;
}

static void strike(struct client_channel *channel, uint64_t tag, bool multiple)
{
	size_t left = 0;

	for (size_t i = 0; i < channel->unacked_count; i++) {
		uint64_t own = channel->unacked[i].tag;

		if (own != tag && !(multiple && own < tag))
			channel->unacked[left++] = channel->unacked[i];
	}
	channel->unacked_count = left;
}

static bool settle(struct client *client, const struct command *c)
{
	struct client_channel *channel = &client->channels[c->channel];
	struct unacked *unacked = perform_find_unacked(channel, c->queue, c->message);
	amqp_basic_ack_t ack = {.multiple = c->multiple};
	amqp_basic_nack_t nack = {.multiple = c->multiple, .requeue = c->requeue};
	amqp_basic_reject_t reject = {.requeue = c->requeue};

	if (!unacked && !c->unknown)
		return false;
	ack.delivery_tag = c->unknown ? channel->last_tag + 7 : unacked->tag;
	nack.delivery_tag = reject.delivery_tag = ack.delivery_tag;
	if (c->op == OP_ACK)
		client_send(client, c->channel, AMQP_BASIC_ACK_METHOD, &ack);
	else if (c->op == OP_NACK)
		client_send(client, c->channel, AMQP_BASIC_NACK_METHOD, &nack);
	else
		client_send(client, c->channel, AMQP_BASIC_REJECT_METHOD, &reject);
	if (!c->unknown)
		strike(channel, ack.delivery_tag, c->multiple && c->op != OP_REJECT);
	return true;
}

/* ---------- publishing ---------- */

static void put_array(struct buf *out, struct text key, struct text value)
{
	struct table_field array = {.key = key, .type = 'A'}, one = {.type = 'S', .value = value};
	struct buf entries;

	buf_init(&entries, BUFFER_MAX);
	peer_put_element(&entries, &one);
	array.value = buf_text(&entries);
	table_put_field(out, &array);
	buf_release(&entries);
}

static void put_death(struct buf *out, struct text queue, const char *reason)
{
	struct table_field array = {.key = TEXT("x-death"), .type = 'A'}, event = {.type = 'F'};
	struct buf entries, table;

	buf_init(&entries, BUFFER_MAX);
	buf_init(&table, BUFFER_MAX);
	table_put_integer(&table, TEXT("count"), 3);
	table_put_string(&table, TEXT("queue"), queue);
	table_put_string(&table, TEXT("reason"), text_from(reason));
	table_put_string(&table, TEXT("exchange"), TEXT(""));
	put_array(&table, TEXT("routing-keys"), queue);
	event.value = buf_text(&table);
	peer_put_element(&entries, &event);
	array.value = buf_text(&entries);
	table_put_field(out, &array);
	buf_release(&entries);
	buf_release(&table);
}

static void put_headers(const struct script *script, const struct command *c, struct buf *out)
{
	char second[QUEUE_NAME_MAX];

	perform_queue_name(script, c->second, second);
	if (c->traits & TRAIT_HEADERS) {
		table_put_string(out, TEXT("a"), TEXT("words"));
		table_put_integer(out, TEXT("b"), -5);
		table_put_bool(out, TEXT("c"), true);
	}
	if (c->traits & TRAIT_CC)
		put_array(out, TEXT("CC"), text_from(second));
	if (c->traits & TRAIT_CC_STRING)
		table_put_string(out, TEXT("CC"), text_from(second));
	if (c->traits & TRAIT_BCC)
		put_array(out, TEXT("BCC"), text_from(second));
	if (c->traits & TRAIT_DEATH)
		put_death(out, text_from(second),
			c->traits & TRAIT_REJECTED ? "rejected" : "expired");
	if (c->traits & TRAIT_COUNT)
		table_put_integer(out, TEXT("x-delivery-count"), 40);
}

static void put_properties(const struct script *script, const struct command *c, struct buf *out)
{
	struct properties properties = {0};
	struct buf headers;

	buf_init(&headers, BUFFER_MAX);
	put_headers(script, c, &headers);
	if (buf_len(&headers))
		properties_set(&properties, PROPERTY_HEADERS, buf_text(&headers));
	if (!(c->traits & TRAIT_TRANSIENT))
		properties_set(&properties, PROPERTY_DELIVERY_MODE, TEXT("\2"));
	if (c->traits & TRAIT_EXPIRATION)
		properties_set(&properties, PROPERTY_EXPIRATION, TEXT("20"));
	if (c->traits & TRAIT_EXPIRATION_WORD)
		properties_set(&properties, PROPERTY_EXPIRATION, TEXT("soon"));
	if (c->traits & TRAIT_USER)
		properties_set(&properties, PROPERTY_USER_ID, TEXT("guest"));
	if (c->traits & TRAIT_USER_OTHER)
		properties_set(&properties, PROPERTY_USER_ID, TEXT("nobody"));
	if (c->traits & TRAIT_REPLY_TO)
		properties_set(&properties, PROPERTY_REPLY_TO, TEXT(REPLY_TO));
	properties_write(&properties, out);
	buf_release(&headers);
}

static bool publish(struct client *client, const struct script *script, const struct command *c)
{
	amqp_basic_publish_t method = {.mandatory = (c->traits & TRAIT_MANDATORY) != 0};
	char name[QUEUE_NAME_MAX];
	struct buf properties;

	if (c->queue == KEY_REPLY && !client->tokens[c->answers][0])
		return false;
	perform_queue_name(script, c->queue, name);
	method.routing_key =
		amqp_cstring_bytes(c->queue == KEY_REPLY ? client->tokens[c->answers] : name);
	if (c->traits & TRAIT_NO_EXCHANGE)
		method.exchange = amqp_cstring_bytes("wpool.nowhere");
	buf_init(&properties, BUFFER_MAX);
	put_properties(script, c, &properties);
	client_publish(client, c->channel, &method, c->message, buf_text(&properties));
	buf_release(&properties);
	return true;
}

/* ---------- connections and channels ---------- */

static void disconnect(struct client *client)
{
	amqp_connection_close_t close = {.reply_code = 200};

	client_send(client, 0, AMQP_CONNECTION_CLOSE_METHOD, &close);
}

static void open_channel(struct client *client, uint8_t channel)
{
	amqp_channel_open_t open = {0};

	client->channels[channel].open = true;
	client_send(client, channel, AMQP_CHANNEL_OPEN_METHOD, &open);
}

static void close_channel(struct client *client, uint8_t channel)
{
	amqp_channel_close_t close = {.reply_code = 200};

	client_send(client, channel, AMQP_CHANNEL_CLOSE_METHOD, &close);
}

static void on_channel(struct client *client, const struct script *script, const struct command *c)
{
	amqp_basic_qos_t qos = {.prefetch_count = c->prefetch};
	amqp_confirm_select_t select = {0};

	switch (c->op) {
	case OP_CLOSE:
		close_channel(client, c->channel);
		break;
	case OP_DECLARE:
	case OP_DECLARE_OTHERWISE:
	case OP_PASSIVE:
		declare(client, script, c);
		break;
	case OP_PURGE:
	case OP_DELETE:
		purge(client, script, c);
		break;
	case OP_QOS:
		client_send(client, c->channel, AMQP_BASIC_QOS_METHOD, &qos);
		break;
	case OP_CONSUME:
		consume(client, script, c);
		break;
	case OP_CANCEL:
		cancel(client, c);
		break;
	case OP_BARRIER:
		add_barrier(client, script, c);
		break;
	case OP_CONFIRM:
		client->channels[c->channel].confirms = true;
		client_send(client, c->channel, AMQP_CONFIRM_SELECT_METHOD, &select);
		break;
	default:
		sim_fail("an unknown command: %d", c->op);
	}
}

bool perform(const struct script *script, struct client clients[], const struct command *c)
{
	struct client *client = &clients[c->connection];

	if (c->op == OP_CONNECT) {
		if (client->open)
			return false;
		client_connect(client);
		return true;
	}
	if (!client->open)
		return false;
	if (c->op == OP_KILL) {
		client_drop(client);
		return true;
	}
	if (c->op == OP_DISCONNECT) {
		disconnect(client);
		return true;
	}
	if ((c->op == OP_OPEN) == client->channels[c->channel].open)
		return false;
	if (c->op == OP_PUBLISH)
		return publish(client, script, c);
	if (c->op == OP_ACK || c->op == OP_NACK || c->op == OP_REJECT)
		return settle(client, c);
	if (c->op == OP_OPEN)
		open_channel(client, c->channel);
	else
		on_channel(client, script, c);
	return true;
}
