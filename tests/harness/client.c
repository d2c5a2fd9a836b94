#include "harness/client.h"

#include "harness/deadline.h"
#include "harness/scratch.h"

#include <amqp_tcp_socket.h>
#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define DIRECT_REPLY_TO "amq.rabbitmq.reply-to"
#define AT_ONCE         500 /* publishes on their way, at most */
/* A supervisor looks for a broker that was away every 30 s, if it was away for long. */
#define COUNT_LIMIT_MS (3 * DEADLINE_DEFAULT_MS)

/* Two connections, so that a delivery never stands between a publish and its confirm. */
struct client {
	amqp_connection_state_t publisher;
	amqp_connection_state_t consumer;
	uint64_t published; /* the last delivery tag of the publisher's channel */
};

static struct timeval as_timeval(int ms)
{
	return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

static void must(amqp_rpc_reply_t reply, const char *what)
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

static amqp_connection_state_t open_connection(const char *url)
{
	struct amqp_connection_info parts;
	char *copy = scratch_text("%s", url);
	amqp_default_connection_info(&parts);
	ck_assert_int_eq(amqp_parse_url(copy, &parts), AMQP_STATUS_OK);
	amqp_connection_state_t connection = amqp_new_connection();
	amqp_socket_t *socket = amqp_tcp_socket_new(connection);
	ck_assert_ptr_nonnull(socket);
	struct timeval limit = as_timeval(DEADLINE_DEFAULT_MS);
	ck_assert_msg(
		amqp_socket_open_noblock(socket, parts.host, parts.port, &limit) == AMQP_STATUS_OK,
		"cannot connect to the broker");
	amqp_set_rpc_timeout(connection, &limit);
	must(amqp_login(connection, parts.vhost, 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, parts.user,
		     parts.password),
		"login");
	free(copy);
	amqp_channel_open(connection, 1);
	must(amqp_get_rpc_reply(connection), "channel.open");
	return connection;
}

struct client *client_open(const char *url)
{
	struct client *client = calloc(1, sizeof *client);
	ck_assert_ptr_nonnull(client);
	client->publisher = open_connection(url);
	client->consumer = open_connection(url);
	amqp_confirm_select(client->publisher, 1);
	must(amqp_get_rpc_reply(client->publisher), "confirm.select");
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
	must(amqp_get_rpc_reply(client->consumer), queue);
}

void client_delete(struct client *client, const char *queue)
{
	amqp_queue_delete(client->consumer, 1, amqp_cstring_bytes(queue), false, false);
	must(amqp_get_rpc_reply(client->consumer), queue);
}

void client_purge(struct client *client, const char *queue)
{
	amqp_queue_purge(client->consumer, 1, amqp_cstring_bytes(queue));
	must(amqp_get_rpc_reply(client->consumer), queue);
}

struct counts {
	long ready, consumers;
};

/* On a channel of its own, which a missing queue closes. */
static struct counts ask_counts(struct client *client, const char *queue)
{
	struct counts counts = {-1, -1};
	amqp_channel_open(client->consumer, 2);
	must(amqp_get_rpc_reply(client->consumer), "channel.open");
	amqp_queue_declare_ok_t *answer = amqp_queue_declare(client->consumer, 2,
		amqp_cstring_bytes(queue), true, false, false, false, amqp_empty_table);
	if (answer) {
		counts = (struct counts){answer->message_count, answer->consumer_count};
		must(amqp_channel_close(client->consumer, 2, AMQP_REPLY_SUCCESS), "channel.close");
		return counts;
	}
	amqp_rpc_reply_t reply = amqp_get_rpc_reply(client->consumer);
	if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION ||
		reply.reply.id != AMQP_CHANNEL_CLOSE_METHOD)
		must(reply, queue);
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

/* A broker tells nobody of a count that changes: it is asked again, at a decent pace. */
static void expect_count(struct client *client, const char *queue, long count,
	long (*ask)(struct client *, const char *), const char *what)
{
	int64_t deadline = deadline_in(COUNT_LIMIT_MS);
	long seen;
	while ((seen = ask(client, queue)) != count) {
		ck_assert_msg(deadline_left(deadline) > 0, "%s has %ld %s, not %ld", queue, seen,
			what, count);
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

/* The next answer to publishes; where it is anything but an ack the test fails. */
static amqp_basic_ack_t next_confirm(struct client *client, const char *queue)
{
	amqp_frame_t frame;
	struct timeval limit = as_timeval(DEADLINE_DEFAULT_MS);
	int status = amqp_simple_wait_frame_noblock(client->publisher, &frame, &limit);
	ck_assert_msg(status == AMQP_STATUS_OK, "no confirm: %s", amqp_error_string2(status));
	ck_assert_int_eq(frame.frame_type, AMQP_FRAME_METHOD);
	ck_assert_msg(frame.payload.method.id == AMQP_BASIC_ACK_METHOD,
		"publish to %s was answered by %s", queue,
		amqp_method_name(frame.payload.method.id));
	amqp_basic_ack_t ack = *(amqp_basic_ack_t *)frame.payload.method.decoded;
	amqp_maybe_release_buffers(client->publisher);
	return ack;
}

static void publish(struct client *client, const char *queue, amqp_bytes_t body,
	const amqp_basic_properties_t *given)
{
	amqp_basic_properties_t properties = {0};
	if (given)
		properties = *given;
	properties._flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
	properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
	int status = amqp_basic_publish(client->publisher, 1, amqp_empty_bytes,
		amqp_cstring_bytes(queue), true, false, &properties, body);
	ck_assert_msg(status == AMQP_STATUS_OK, "publish: %s", amqp_error_string2(status));
	client->published++;
}

void client_publish(struct client *client, const char *queue, const void *body, size_t size,
	const amqp_basic_properties_t *properties)
{
	amqp_bytes_t bytes = {.len = size, .bytes = (void *)(uintptr_t)body};
	publish(client, queue, bytes, properties);
	next_confirm(client, queue);
}

static void set_text(amqp_basic_properties_t *properties, amqp_flags_t flag,
	amqp_bytes_t *ret_place, const char *text)
{
	if (!text)
		return;
	properties->_flags |= flag;
	*ret_place = amqp_cstring_bytes(text);
}

/* entries: room for LETTER_HEADERS, in use as long as the properties. */
static amqp_basic_properties_t letter_properties(
	const struct letter *letter, amqp_table_entry_t *entries)
{
	amqp_basic_properties_t properties = {0};
	set_text(&properties, AMQP_BASIC_REPLY_TO_FLAG, &properties.reply_to, letter->reply_to);
	set_text(&properties, AMQP_BASIC_CORRELATION_ID_FLAG, &properties.correlation_id,
		letter->correlation_id);
	set_text(&properties, AMQP_BASIC_MESSAGE_ID_FLAG, &properties.message_id,
		letter->message_id);
	int count = 0;
	for (; count < LETTER_HEADERS && letter->headers[count].name; count++) {
		entries[count].key = amqp_cstring_bytes(letter->headers[count].name);
		entries[count].value.kind = AMQP_FIELD_KIND_UTF8;
		entries[count].value.value.bytes = amqp_cstring_bytes(letter->headers[count].value);
	}
	if (count) {
		properties._flags |= AMQP_BASIC_HEADERS_FLAG;
		properties.headers = (amqp_table_t){count, entries};
	}
	return properties;
}

void client_post(struct client *client, const char *queue, const struct letter *letter)
{
	amqp_table_entry_t entries[LETTER_HEADERS];
	amqp_basic_properties_t properties = letter_properties(letter, entries);
	client_publish(client, queue, letter->body, strlen(letter->body), &properties);
}

static void await_confirms(struct client *client, const char *queue, size_t count)
{
	uint64_t first = client->published - count + 1;
	bool is_confirmed[AT_ONCE] = {false};
	for (size_t open = count; open > 0;) {
		amqp_basic_ack_t ack = next_confirm(client, queue);
		for (uint64_t tag = ack.multiple ? first : ack.delivery_tag;
			tag <= ack.delivery_tag; tag++) {
			open -= !is_confirmed[tag - first];
			is_confirmed[tag - first] = true;
		}
	}
}

void client_post_all(
	struct client *client, const char *queue, const struct letter letters[], size_t count)
{
	amqp_table_entry_t entries[LETTER_HEADERS];
	while (count > 0) {
		size_t share = count < AT_ONCE ? count : AT_ONCE;
		for (size_t i = 0; i < share; i++) {
			amqp_basic_properties_t properties =
				letter_properties(&letters[i], entries);
			publish(client, queue, amqp_cstring_bytes(letters[i].body), &properties);
		}
		await_confirms(client, queue, share);
		letters += share;
		count -= share;
	}
}

void client_send(struct client *client, const char *queue, const char *text)
{
	client_post(client, queue, &(struct letter){.body = text});
}

static struct message *next_message(struct client *client, const char *where)
{
	struct message *message = calloc(1, sizeof *message);
	ck_assert_ptr_nonnull(message);
	struct timeval limit = as_timeval(DEADLINE_DEFAULT_MS);
	must(amqp_consume_message(client->consumer, &message->envelope, &limit, 0), where);
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

/* A consumer with prefetch 1 on channel 3, which is closed again: takes exactly one message. */
struct message *client_take(struct client *client, const char *queue)
{
	amqp_connection_state_t connection = client->consumer;
	amqp_channel_open(connection, 3);
	must(amqp_get_rpc_reply(connection), "channel.open");
	amqp_basic_qos(connection, 3, 0, 1, false);
	amqp_basic_consume(connection, 3, amqp_cstring_bytes(queue), amqp_empty_bytes, false, false,
		false, amqp_empty_table);
	must(amqp_get_rpc_reply(connection), queue);
	struct message *message = next_message(client, queue);
	amqp_basic_cancel(connection, 3, message->envelope.consumer_tag);
	must(amqp_get_rpc_reply(connection), "basic.cancel");
	ck_assert_int_eq(amqp_basic_ack(connection, 3, message->envelope.delivery_tag, false), 0);
	must(amqp_channel_close(connection, 3, AMQP_REPLY_SUCCESS), "channel.close");
	return message;
}

void client_expect(struct client *client, const char *queue, const char *text)
{
	struct message *message = client_take(client, queue);
	ck_assert_str_eq(message->body, text);
	message_free(message);
}

/* A consumer on channel 3 again; what it was sent beyond `count` goes back with the channel. */
void client_drain(struct client *client, const char *queue, long count,
	void each(void *context, const struct message *), void *context)
{
	amqp_connection_state_t connection = client->consumer;
	if (count <= 0)
		return;
	amqp_channel_open(connection, 3);
	must(amqp_get_rpc_reply(connection), "channel.open");
	amqp_basic_qos(connection, 3, 0, AT_ONCE, false);
	amqp_basic_consume(connection, 3, amqp_cstring_bytes(queue), amqp_empty_bytes, false, false,
		false, amqp_empty_table);
	must(amqp_get_rpc_reply(connection), queue);
	for (long taken = 1; taken <= count; taken++) {
		struct message *message = next_message(client, queue);
		each(context, message);
		if (taken % (AT_ONCE / 2) == 0 || taken == count)
			ck_assert_int_eq(
				amqp_basic_ack(connection, 3, message->envelope.delivery_tag, true),
				0);
		message_free(message);
	}
	must(amqp_channel_close(connection, 3, AMQP_REPLY_SUCCESS), "channel.close");
}

struct message *client_call(struct client *client, const char *queue, const struct letter *letter)
{
	amqp_table_entry_t entries[LETTER_HEADERS];
	struct letter call = *letter;
	call.reply_to = DIRECT_REPLY_TO;
	amqp_connection_state_t connection = client->consumer;
	amqp_basic_properties_t properties = letter_properties(&call, entries);
	amqp_channel_open(connection, 4);
	must(amqp_get_rpc_reply(connection), "channel.open");
	amqp_basic_consume(connection, 4, amqp_cstring_bytes(DIRECT_REPLY_TO), amqp_empty_bytes,
		false, true, false, amqp_empty_table);
	must(amqp_get_rpc_reply(connection), "direct reply-to");
	ck_assert_int_eq(
		amqp_basic_publish(connection, 4, amqp_empty_bytes, amqp_cstring_bytes(queue),
			false, false, &properties, amqp_cstring_bytes(letter->body)),
		AMQP_STATUS_OK);
	struct message *reply = next_message(client, "direct reply-to");
	must(amqp_channel_close(connection, 4, AMQP_REPLY_SUCCESS), "channel.close");
	return reply;
}
