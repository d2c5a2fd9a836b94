#include "diff/client.h"

#include "diff/content.h"
#include "diff/wire.h"
#include "sim/fail.h"

#include <stdio.h>
#include <stdlib.h>

#define BUFFER_MAX ((size_t)64 * 1024 * 1024)
#define LOGIN_MS   10000

void client_init(struct client *client, struct side *side, struct events *events, uint8_t number)
{
	*client = (struct client){.side = side, .events = events, .number = number, .fd = -1};
	buf_init(&client->in, BUFFER_MAX);
	buf_init(&client->out, BUFFER_MAX);
	init_amqp_pool(&client->pool, 4096);
	for (size_t i = 0; i <= SCRIPT_QUEUES; i++)
		buf_init(&client->channels[i].content, BUFFER_MAX);
}

void client_forget(struct client *client)
{
	client_drop(client);
	buf_release(&client->in);
	buf_release(&client->out);
	empty_amqp_pool(&client->pool);
	for (size_t i = 0; i <= SCRIPT_QUEUES; i++)
		buf_release(&client->channels[i].content);
}

static void reset_channel(struct client_channel *channel)
{
	struct buf content = channel->content;

	buf_clear(&content);
	*channel = (struct client_channel){.content = content};
}

void client_drop(struct client *client)
{
	wire_close(client);
	client->open = false;
	buf_clear(&client->in);
	buf_clear(&client->out);
	for (size_t i = 0; i <= SCRIPT_QUEUES; i++)
		reset_channel(&client->channels[i]);
}

void client_send(struct client *client, uint16_t channel, amqp_method_number_t id, void *method)
{
	peer_send_method(&client->out, channel, id, method);
}

void client_publish(struct client *client, uint16_t channel, amqp_basic_publish_t *publish,
	uint32_t message, struct text properties)
{
	struct client_channel *state = &client->channels[channel];
	char body[16];

	snprintf(body, sizeof body, "m%u", message);
	if (state->confirms)
		state->messages[++state->published] = message;
	client_send(client, channel, AMQP_BASIC_PUBLISH_METHOD, publish);
	peer_send_content(&client->out, channel, properties, text_from(body));
}

static void note(struct client *client, uint16_t channel, enum event_group group, const char *text)
{
	struct event event = {
		.connection = client->number, .channel = (uint8_t)channel, .group = group};

	events_add(client->events, &event, "%s", text);
}

/* ---------- login ---------- */

/* Another version would be compared with the wrong fake broker. */
static void check_release(const struct client *client, const amqp_connection_start_t *offer)
{
	const char *release = client->side->release;

	for (int i = 0; release && i < offer->server_properties.num_entries; i++) {
		const amqp_table_entry_t *entry = &offer->server_properties.entries[i];

		if (text_is(peer_text(entry->key), TEXT("version")))
			sim_require(text_starts(peer_text(entry->value.value.bytes),
					    text_from(release)),
				"%s is not RabbitMQ %s", client->side->name, release);
	}
}

static void start(struct client *client)
{
	amqp_table_entry_t capability = {.key = amqp_cstring_bytes("consumer_cancel_notify"),
		.value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1}};
	amqp_table_entry_t capabilities = {.key = amqp_cstring_bytes("capabilities"),
		.value = {.kind = AMQP_FIELD_KIND_TABLE, .value.table = {1, &capability}}};
	amqp_connection_start_ok_t ok = {.client_properties = {1, &capabilities},
		.mechanism = amqp_cstring_bytes("PLAIN"),
		.response = {12, (void *)"\0guest\0guest"},
		.locale = amqp_cstring_bytes("en_US")};

	client_send(client, 0, AMQP_CONNECTION_START_OK_METHOD, &ok);
}

static void tune(struct client *client)
{
	amqp_connection_tune_ok_t ok = {.channel_max = 7, .frame_max = PEER_FRAME_MAX};
	amqp_connection_open_t open = {.virtual_host = amqp_cstring_bytes("/")};

	client_send(client, 0, AMQP_CONNECTION_TUNE_OK_METHOD, &ok);
	client_send(client, 0, AMQP_CONNECTION_OPEN_METHOD, &open);
}

void client_connect(struct client *client)
{
	wire_open(client);
	buf_append(&client->out, "AMQP\0\0\x9\x1", 8);
	client_flush(client);
	while (!client->open) {
		if (!client->side->fake)
			clients_wait(&client, 1, LOGIN_MS);
		client_receive(client);
		sim_require(client->fd >= 0 || client->peer, "%s refuses the login",
			client->side->name);
	}
}

static void close_connection(struct client *client, const amqp_connection_close_t *close)
{
	struct event event = {.connection = client->number};

	events_add(client->events, &event, "connection closed, %u", close->reply_code);
	client_drop(client);
}

static void on_connection_method(struct client *client, amqp_method_number_t id, void *method)
{
	switch (id) {
	case AMQP_CONNECTION_START_METHOD:
		check_release(client, method);
		start(client);
		client_flush(client);
		break;
	case AMQP_CONNECTION_TUNE_METHOD:
		tune(client);
		client_flush(client);
		break;
	case AMQP_CONNECTION_OPEN_OK_METHOD:
		client->open = true;
		break;
	case AMQP_CONNECTION_CLOSE_METHOD:
		close_connection(client, method);
		break;
	case AMQP_CONNECTION_CLOSE_OK_METHOD:
		note(client, 0, GROUP_ANSWER, "connection close-ok");
		client_drop(client);
		break;
	default:
		sim_fail("%s: a connection method %08x", client->side->name, id);
	}
}

/* ---------- answers ---------- */

static void on_confirm(
	struct client *client, uint16_t number, uint64_t tag, bool multiple, bool positive)
{
	struct client_channel *channel = &client->channels[number];
	struct event event = {.connection = client->number,
		.channel = (uint8_t)number,
		.group = GROUP_CONFIRM,
		.number = tag};

	sim_require(tag <= channel->published, "%s confirms what was not published",
		client->side->name);
	if (multiple)
		event.number = channel->confirmed_to + 1;
	for (; event.number <= tag; event.number++)
		if (!channel->confirmed[event.number]) {
			channel->confirmed[event.number] = true;
			events_add(client->events, &event, "%s %llu",
				positive ? "confirm" : "refuse", (unsigned long long)event.number);
		}
	if (multiple)
		channel->confirmed_to = tag;
}

struct difference {
	char bytes[256];
};

/* What a refused declare shows of the queue: ", arg 'KEY': received ... but current is ...";
 * empty: another mistake. */
static struct difference difference_of(struct text reason)
{
	static const char what[] = "inequivalent arg", received[] = "': received ";
	struct difference ret = {""};
	char text[256];
	const char *key, *end;

	snprintf(text, sizeof text, "%.*s", TEXT_ARGS(reason));
	key = strstr(text, what);
	end = key ? strstr(key, received) : NULL;
	if (end)
		snprintf(ret.bytes, sizeof ret.bytes, ", %.*s%s",
			(int)strcspn(key + strlen(what) + 2, "'") + (int)strlen(what) + 3, key,
			end + 1);
	return ret;
}

static void close_channel(struct client *client, uint16_t number, const amqp_channel_close_t *close)
{
	struct event event = {.connection = client->number, .channel = (uint8_t)number};
	struct difference difference = difference_of(peer_text(close->reply_text));
	amqp_channel_close_ok_t ok = {0};

	events_add(client->events, &event, "channel closed, %u by %u.%u%s", close->reply_code,
		close->class_id, close->method_id, difference.bytes);
	reset_channel(&client->channels[number]);
	client_send(client, number, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
	client_flush(client);
}

static void on_cancelled(struct client *client, uint16_t number, const amqp_basic_cancel_t *cancel)
{
	struct event event = {
		.connection = client->number, .channel = (uint8_t)number, .group = GROUP_CANCEL};
	uint8_t queue;

	if (content_queue_of(peer_text(cancel->consumer_tag), &queue))
		client->channels[number].consumes[queue] = false;
	events_add(client->events, &event, "cancelled %.*s", (int)cancel->consumer_tag.len,
		(char *)cancel->consumer_tag.bytes);
}

static void on_declared(
	struct client *client, uint16_t number, const amqp_queue_declare_ok_t *declared)
{
	struct event event = {
		.connection = client->number, .channel = (uint8_t)number, .group = GROUP_ANSWER};

	events_add(client->events, &event, "declare-ok %.*s %u ready %u consumers",
		(int)declared->queue.len, (char *)declared->queue.bytes, declared->message_count,
		declared->consumer_count);
}

static void on_counted(struct client *client, uint16_t number, const char *what, uint32_t count)
{
	struct event event = {
		.connection = client->number, .channel = (uint8_t)number, .group = GROUP_ANSWER};

	events_add(client->events, &event, "%s %u", what, count);
}

static void on_channel_method(
	struct client *client, uint16_t number, amqp_method_number_t id, void *method)
{
	struct client_channel *channel = &client->channels[number];
	const amqp_basic_ack_t *ack = method;
	const amqp_basic_nack_t *nack = method;

	switch (id) {
	case AMQP_BASIC_DELIVER_METHOD:
		content_begin_delivery(channel, method);
		break;
	case AMQP_BASIC_RETURN_METHOD:
		content_begin_return(channel, method);
		break;
	case AMQP_BASIC_ACK_METHOD:
		on_confirm(client, number, ack->delivery_tag, ack->multiple, true);
		break;
	case AMQP_BASIC_NACK_METHOD:
		on_confirm(client, number, nack->delivery_tag, nack->multiple, false);
		break;
	case AMQP_CHANNEL_CLOSE_METHOD:
		close_channel(client, number, method);
		break;
	case AMQP_BASIC_CANCEL_METHOD:
		on_cancelled(client, number, method);
		break;
	case AMQP_QUEUE_DECLARE_OK_METHOD:
		on_declared(client, number, method);
		break;
	case AMQP_QUEUE_PURGE_OK_METHOD:
		on_counted(client, number, "purge-ok",
			((amqp_queue_purge_ok_t *)method)->message_count);
		break;
	case AMQP_QUEUE_DELETE_OK_METHOD:
		on_counted(client, number, "delete-ok",
			((amqp_queue_delete_ok_t *)method)->message_count);
		break;
	case AMQP_CHANNEL_CLOSE_OK_METHOD:
		reset_channel(channel);
		note(client, number, GROUP_ANSWER, amqp_method_name(id));
		break;
	default:
		note(client, number, GROUP_ANSWER, amqp_method_name(id));
		break;
	}
}

/* ---------- frames ---------- */

static void on_frame(struct client *client, const struct peer_frame *frame)
{
	amqp_method_number_t id;
	void *method;

	sim_require(frame->channel <= SCRIPT_QUEUES, "an unknown channel");
	if (frame->type == AMQP_FRAME_HEADER || frame->type == AMQP_FRAME_BODY) {
		content_take(client, frame);
	} else if (frame->type == AMQP_FRAME_METHOD) {
		method = peer_decode(frame, &client->pool, &id);
		if (frame->channel == 0)
			on_connection_method(client, id, method);
		else
			on_channel_method(client, frame->channel, id, method);
		recycle_amqp_pool(&client->pool);
	}
}

void client_receive(struct client *client)
{
	struct peer_frame frame;
	bool is_there = wire_read(client);

	while (buf_len(&client->in) > 0 && peer_take_frame(&client->in, &frame))
		on_frame(client, &frame);
	if (is_there || client->fd < 0)
		return;
	if (client->open)
		note(client, 0, GROUP_ANSWER, "the broker closed the socket");
	client_drop(client);
}
