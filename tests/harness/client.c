#include "harness/client_internal.h"

#include "harness/deadline.h"
#include "harness/fixture.h"
#include "harness/scratch.h"

#include <amqp_tcp_socket.h>
#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define DIRECT_REPLY_TO "amq.rabbitmq.reply-to"

void client_must(amqp_rpc_reply_t reply, const char *what)
{
	const char *detail = "unexpected answer";
	if (reply.reply_type == AMQP_RESPONSE_NORMAL)
		return;
	if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
		detail = amqp_error_string2(reply.library_error);
	else if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD)
		detail = ((amqp_channel_close_t *)reply.reply.decoded)->reply_text.bytes;
	else if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD)
		detail = ((amqp_connection_close_t *)reply.reply.decoded)->reply_text.bytes;
	ck_abort_msg("the tests' own client: %s: %s", what, detail);
}

void client_open_channel(amqp_connection_state_t connection, amqp_channel_t number)
{
	amqp_channel_open(connection, number);
	client_must(amqp_get_rpc_reply(connection), "channel.open");
}

static amqp_connection_state_t open_connection(const char *url)
{
	struct amqp_connection_info parts;
	char *copy = scratch_text("%s", url);
	amqp_default_connection_info(&parts);
	ck_assert_int_eq(amqp_parse_url(copy, &parts), AMQP_STATUS_OK);
	amqp_connection_state_t connection = amqp_new_connection();
	amqp_socket_t *socket = amqp_tcp_socket_new(connection);
	ck_assert_ptr_nonnull(socket);
	struct timeval limit = client_timeval(DEADLINE_DEFAULT_MS);
	ck_assert_msg(
		amqp_socket_open_noblock(socket, parts.host, parts.port, &limit) == AMQP_STATUS_OK,
		"cannot connect to the broker");
	amqp_set_rpc_timeout(connection, &limit);
	client_must(amqp_login(connection, parts.vhost, 0, 131072, 0, AMQP_SASL_METHOD_PLAIN,
			    parts.user, parts.password),
		"login");
	free(copy);
	return connection;
}

struct client *client_open(const char *url)
{
	struct client *client = calloc(1, sizeof *client);
	ck_assert_ptr_nonnull(client);
	client->publisher = open_connection(url);
	client->consumer = open_connection(url);
	client_open_publishing_channel(client);
	client_open_channel(client->consumer, 1);
	return client;
}

void client_free(struct client *client)
{
	if (!client)
		return;
	amqp_connection_close(client->publisher, AMQP_REPLY_SUCCESS);
	amqp_destroy_connection(client->publisher);
	amqp_connection_close(client->consumer, AMQP_REPLY_SUCCESS);
	amqp_destroy_connection(client->consumer);
	free(client);
}

void client_declare(struct client *client, const char *queue, enum client_queue kind)
{
	amqp_table_entry_t entry = {.key = amqp_cstring_bytes("x-queue-type"),
		.value = {
			.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("quorum")}};
	amqp_table_t arguments = {kind == CLIENT_QUORUM, &entry};
	amqp_queue_declare(client->consumer, 1, amqp_cstring_bytes(queue), false, true, false,
		false, arguments);
	client_must(amqp_get_rpc_reply(client->consumer), queue);
}

void client_declare_limited(struct client *client, const char *queue, int32_t limit)
{
	amqp_table_entry_t entries[] = {
		{.key = amqp_cstring_bytes("x-queue-type"),
			.value = {.kind = AMQP_FIELD_KIND_UTF8,
				.value.bytes = amqp_cstring_bytes("quorum")}},
		{.key = amqp_cstring_bytes("x-delivery-limit"),
			.value = {.kind = AMQP_FIELD_KIND_I32, .value.i32 = limit}},
	};
	amqp_queue_declare(client->consumer, 1, amqp_cstring_bytes(queue), false, true, false,
		false, (amqp_table_t){2, entries});
	client_must(amqp_get_rpc_reply(client->consumer), queue);
}

void client_delete(struct client *client, const char *queue)
{
	amqp_queue_delete(client->consumer, 1, amqp_cstring_bytes(queue), false, false);
	client_must(amqp_get_rpc_reply(client->consumer), queue);
}

void client_bind(
	struct client *client, const char *queue, const char *exchange, const char *routing_key)
{
	amqp_queue_bind(client->consumer, 1, amqp_cstring_bytes(queue),
		amqp_cstring_bytes(exchange), amqp_cstring_bytes(routing_key), amqp_empty_table);
	client_must(amqp_get_rpc_reply(client->consumer), queue);
}

void client_purge(struct client *client, const char *queue)
{
	amqp_queue_purge(client->consumer, 1, amqp_cstring_bytes(queue));
	client_must(amqp_get_rpc_reply(client->consumer), queue);
}

struct counts {
	long ready, consumers;
};

/* Use a separate channel, because a missing queue closes it. */
static struct counts ask_counts(struct client *client, const char *queue)
{
	struct counts counts = {-1, -1};
	client_open_channel(client->consumer, 2);
	amqp_queue_declare_ok_t *answer = amqp_queue_declare(client->consumer, 2,
		amqp_cstring_bytes(queue), true, false, false, false, amqp_empty_table);
	if (answer) {
		counts = (struct counts){answer->message_count, answer->consumer_count};
		client_must(amqp_channel_close(client->consumer, 2, AMQP_REPLY_SUCCESS),
			"channel.close");
		return counts;
	}
	amqp_rpc_reply_t reply = amqp_get_rpc_reply(client->consumer);
	if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION ||
		reply.reply.id != AMQP_CHANNEL_CLOSE_METHOD)
		client_must(reply, queue);
	amqp_channel_close_ok_t closed = {0};
	amqp_send_method(client->consumer, 2, AMQP_CHANNEL_CLOSE_OK_METHOD, &closed);
	return counts;
}

long client_ready(struct client *client, const char *queue)
{
	return ask_counts(client, queue).ready;
}

long client_consumers(struct client *client, const char *queue)
{
	return ask_counts(client, queue).consumers;
}

/* A broker does not report a changed count, so it is polled. */
static void expect_count(struct client *client, const char *queue, long count,
	long (*ask)(struct client *, const char *), const char *what)
{
	int64_t deadline = deadline_in(CLIENT_LIMIT_MS);
	long seen;
	while ((seen = ask(client, queue)) != count) {
		if (deadline_left(deadline) <= 0)
			fixture_fail(
				scratch_text("%s has %ld %s, not %ld", queue, seen, what, count));
		poll(NULL, 0, 20);
	}
}

void client_expect_ready(struct client *client, const char *queue, long count)
{
	expect_count(client, queue, count, client_ready, "ready messages");
}

void client_expect_consumers(struct client *client, const char *queue, long count)
{
	expect_count(client, queue, count, client_consumers, "consumers");
}

static struct message *next_message(struct client *client, const char *where)
{
	struct message *message = calloc(1, sizeof *message);
	ck_assert_ptr_nonnull(message);
	struct timeval limit = client_timeval(DEADLINE_DEFAULT_MS);
	client_must(amqp_consume_message(client->consumer, &message->envelope, &limit, 0), where);
	message->size = message->envelope.message.body.len;
	message->body = malloc(message->size + 1);
	ck_assert_ptr_nonnull(message->body);
	if (message->size)
		memcpy(message->body, message->envelope.message.body.bytes, message->size);
	message->body[message->size] = '\0';
	message->properties = message->envelope.message.properties;
	message->is_redelivered = message->envelope.redelivered;
	return message;
}

/* Consume with prefetch 1 on channel 3, which is closed again, to take exactly one message. */
struct message *client_take(struct client *client, const char *queue)
{
	amqp_connection_state_t connection = client->consumer;
	client_open_channel(connection, 3);
	amqp_basic_qos(connection, 3, 0, 1, false);
	amqp_basic_consume(connection, 3, amqp_cstring_bytes(queue), amqp_empty_bytes, false, false,
		false, amqp_empty_table);
	client_must(amqp_get_rpc_reply(connection), queue);
	struct message *message = next_message(client, queue);
	amqp_basic_cancel(connection, 3, message->envelope.consumer_tag);
	client_must(amqp_get_rpc_reply(connection), "basic.cancel");
	ck_assert_int_eq(amqp_basic_ack(connection, 3, message->envelope.delivery_tag, false), 0);
	client_must(amqp_channel_close(connection, 3, AMQP_REPLY_SUCCESS), "channel.close");
	return message;
}

void client_expect(struct client *client, const char *queue, const char *text)
{
	struct message *message = client_take(client, queue);
	ck_assert_str_eq(message->body, text);
	message_free(message);
}

/* Consume on channel 3; deliveries beyond `count` return when the channel is closed. */
void client_drain(struct client *client, const char *queue, long count,
	void each(void *context, const struct message *), void *context)
{
	amqp_connection_state_t connection = client->consumer;
	if (count <= 0)
		return;
	client_open_channel(connection, 3);
	amqp_basic_qos(connection, 3, 0, CLIENT_AT_ONCE, false);
	amqp_basic_consume(connection, 3, amqp_cstring_bytes(queue), amqp_empty_bytes, false, false,
		false, amqp_empty_table);
	client_must(amqp_get_rpc_reply(connection), queue);
	for (long taken = 1; taken <= count; taken++) {
		struct message *message = next_message(client, queue);
		each(context, message);
		if (taken % (CLIENT_AT_ONCE / 2) == 0 || taken == count)
			ck_assert_int_eq(
				amqp_basic_ack(connection, 3, message->envelope.delivery_tag, true),
				0);
		message_free(message);
	}
	client_must(amqp_channel_close(connection, 3, AMQP_REPLY_SUCCESS), "channel.close");
}

struct message *client_call(struct client *client, const char *queue, const struct letter *letter)
{
	amqp_table_entry_t entries[LETTER_HEADERS];
	struct letter call = *letter;
	call.reply_to = DIRECT_REPLY_TO;
	amqp_connection_state_t connection = client->consumer;
	amqp_basic_properties_t properties = client_letter_properties(&call, entries);
	client_open_channel(connection, 4);
	amqp_basic_consume(connection, 4, amqp_cstring_bytes(DIRECT_REPLY_TO), amqp_empty_bytes,
		false, true, false, amqp_empty_table);
	client_must(amqp_get_rpc_reply(connection), "direct reply-to");
	ck_assert_int_eq(
		amqp_basic_publish(connection, 4, amqp_empty_bytes, amqp_cstring_bytes(queue),
			false, false, &properties, amqp_cstring_bytes(letter->body)),
		AMQP_STATUS_OK);
	struct message *reply = next_message(client, "direct reply-to");
	client_must(amqp_channel_close(connection, 4, AMQP_REPLY_SUCCESS), "channel.close");
	return reply;
}
