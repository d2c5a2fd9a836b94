#include "sim/broker_internal.h"

#include <stdlib.h>

#define BUFFER_MAX ((size_t)64 * 1024 * 1024)

static const struct release releases[] = {
	[BROKER_3_10] = {.delivery_limit = LIMIT_NONE,
		.trusts_deaths = true,
		.reverses_deaths = true,
		.limit_pays_twice = true},
	[BROKER_4_0] = {.delivery_limit = 20,
		.unlimited_below_0 = true,
		.keeps_count = true,
		.dead_keep_cc = true,
		.has_last_death = true},
};

void broker_set_release(struct broker *broker, enum broker_release release)
{
	broker->release = &releases[release];
}

void broker_answer_mistakes(struct broker *broker)
{
	broker->answers_mistakes = true;
}

void broker_expect_unannounced(struct broker *broker, const char *queue)
{
	broker->unannounced = queue;
}

struct broker *broker_new(struct random *random, const struct broker_watch *watch)
{
	struct broker *broker = calloc(1, sizeof *broker);

	sim_require(broker, "out of memory");
	broker->random = random;
	broker->watch = watch;
	broker->ack_timeout = MTIME_NEVER;
	broker_set_release(broker, BROKER_3_10);
	init_amqp_pool(&broker->pool, 4096);
	list_init(&broker->queues);
	list_init(&broker->connections);
	list_init(&broker->departed);
	scratch_init(&broker->scratch, CONTENT_MAX);
	return broker;
}

void broker_free(struct broker *broker)
{
	struct link *link;

	while ((link = list_first(&broker->connections)))
		broker_cut(CONTAINER_OF(link, struct broker_connection, place));
	depart_work(broker, true);
	while ((link = list_first(&broker->queues)))
		broker_delete(broker, CONTAINER_OF(link, struct queue, place)->name);
	scratch_release(&broker->scratch);
	empty_amqp_pool(&broker->pool);
	free(broker);
}

void broker_set_nacks(struct broker *broker, uint32_t per_mille)
{
	broker->nacks = per_mille;
}

struct broker_connection *broker_accept(struct broker *broker)
{
	struct broker_connection *connection = malloc(sizeof *connection);

	sim_require(connection, "out of memory");
	memset(connection, 0, offsetof(struct broker_connection, channels));
	connection->broker = broker;
	buf_init(&connection->in, BUFFER_MAX);
	buf_init(&connection->out, BUFFER_MAX);
	for (uint16_t i = 1; i < BROKER_CHANNELS; i++)
		channel_init(&connection->channels[i]);
	list_append(&broker->connections, &connection->place);
	return connection;
}

void broker_cut(struct broker_connection *connection)
{
	for (uint16_t i = 1; i < connection->channel_count; i++)
		channel_reset(connection, i);
	list_remove(&connection->place);
	buf_release(&connection->in);
	buf_release(&connection->out);
	free(connection);
}

struct buf *broker_output(struct broker_connection *connection)
{
	return &connection->out;
}

static void send(struct broker_connection *connection, amqp_method_number_t id, void *method)
{
	peer_send_method(&connection->out, 0, id, method);
}

static void greet(struct broker_connection *connection)
{
	amqp_connection_start_t start = {
		.version_major = 0,
		.version_minor = 9,
		.mechanisms = amqp_cstring_bytes("PLAIN AMQPLAIN"),
		.locales = amqp_cstring_bytes("en_US"),
	};

	sim_require(memcmp(connection->in.bytes + connection->in.head, "AMQP\0\0\x9\x1", 8) == 0,
		"another protocol header");
	buf_consume(&connection->in, 8);
	connection->greeted = true;
	send(connection, AMQP_CONNECTION_START_METHOD, &start);
}

static void on_connection_method(struct broker_connection *connection, amqp_method_number_t id)
{
	amqp_connection_tune_t tune = {
		.channel_max = BROKER_CHANNELS - 1, .frame_max = PEER_FRAME_MAX, .heartbeat = 60};
	amqp_connection_open_ok_t open_ok = {0};
	amqp_connection_close_ok_t close_ok = {0};

	switch (id) {
	case AMQP_CONNECTION_START_OK_METHOD:
		send(connection, AMQP_CONNECTION_TUNE_METHOD, &tune);
		break;
	case AMQP_CONNECTION_TUNE_OK_METHOD:
		break;
	case AMQP_CONNECTION_OPEN_METHOD:
		send(connection, AMQP_CONNECTION_OPEN_OK_METHOD, &open_ok);
		break;
	case AMQP_CONNECTION_CLOSE_METHOD:
		for (uint16_t i = 1; i < connection->channel_count; i++)
			channel_reset(connection, i);
		connection->closing = true;
		send(connection, AMQP_CONNECTION_CLOSE_OK_METHOD, &close_ok);
		break;
	case AMQP_CONNECTION_CLOSE_OK_METHOD:
		connection->closing = true;
		break;
	default:
		sim_fail("a connection method out of place: %08x", id);
	}
}

static void on_method(struct broker_connection *connection, const struct peer_frame *frame)
{
	amqp_method_number_t id;
	void *method = peer_decode(frame, &connection->broker->pool, &id);

	if (frame->channel == 0)
		on_connection_method(connection, id);
	else
		channel_on_method(connection, frame->channel, id, method);
	recycle_amqp_pool(&connection->broker->pool);
}

static void on_frame(struct broker_connection *connection, const struct peer_frame *frame)
{
	sim_require(frame->channel < BROKER_CHANNELS, "a channel over channel_max");
	if (frame->type == AMQP_FRAME_METHOD)
		on_method(connection, frame);
	else if (frame->type != AMQP_FRAME_HEARTBEAT)
		publish_on_content(connection, frame);
}

static void work_off(struct broker_connection *connection)
{
	struct peer_frame frame;

	while (!connection->closing && !(connection->broker->alarm && connection->has_published) &&
		peer_take_frame(&connection->in, &frame))
		on_frame(connection, &frame);
}

void broker_input(struct broker_connection *connection, struct text bytes)
{
	buf_append_text(&connection->in, bytes);
	sim_require(!connection->in.failed, "more input than the fake broker holds");
	if (!connection->greeted) {
		if (buf_len(&connection->in) < 8)
			return;
		greet(connection);
	}
	work_off(connection);
}

static void send_alarm(struct broker_connection *connection)
{
	amqp_connection_blocked_t blocked = {.reason = amqp_cstring_bytes("low on memory")};
	amqp_connection_unblocked_t unblocked = {0};

	if (connection->broker->alarm)
		send(connection, AMQP_CONNECTION_BLOCKED_METHOD, &blocked);
	else
		send(connection, AMQP_CONNECTION_UNBLOCKED_METHOD, &unblocked);
}

void connection_has_published(struct broker_connection *connection)
{
	if (!connection->has_published && connection->broker->alarm)
		send_alarm(connection);
	connection->has_published = true;
}

void broker_set_alarm(struct broker *broker, bool on)
{
	if (broker->alarm == on)
		return;
	broker->alarm = on;
	sim_trace("broker: alarm %s", on ? "on" : "off");
	for (struct link *link = broker->connections.next; link != &broker->connections;
		link = link->next) {
		struct broker_connection *connection =
			CONTAINER_OF(link, struct broker_connection, place);

		if (!connection->has_published || connection->closing)
			continue;
		send_alarm(connection);
		work_off(connection);
	}
}

void broker_return_late(struct broker *broker)
{
	broker->returns_late = true;
}

bool broker_is_returning(const struct broker *broker)
{
	return !list_is_empty(&broker->departed);
}

void broker_work(struct broker *broker, bool generous)
{
	depart_work(broker, generous);
	for (struct link *link = broker->connections.next; link != &broker->connections;
		link = link->next) {
		struct broker_connection *connection =
			CONTAINER_OF(link, struct broker_connection, place);

		for (uint16_t i = 1; i < connection->channel_count && !connection->closing; i++)
			if (channel_has_work(&connection->channels[i]))
				channel_work(connection, i, generous);
	}
}

void broker_close_channel(struct broker_connection *connection, uint16_t number, uint16_t code)
{
	if (connection->channels[number].state == CHANNEL_OPEN)
		channel_fail(connection, number, code, 0, "a fault of the run");
}

void broker_end_connection(struct broker_connection *connection, uint16_t code, const char *words)
{
	amqp_connection_close_t close = {
		.reply_code = code, .reply_text = amqp_cstring_bytes(words)};

	for (uint16_t i = 1; i < connection->channel_count; i++)
		channel_reset(connection, i);
	connection->closing = true;
	send(connection, AMQP_CONNECTION_CLOSE_METHOD, &close);
	sim_trace("broker: closes a connection (%u)", code);
}

void broker_close_connection(struct broker_connection *connection, uint16_t code)
{
	if (connection->greeted && !connection->closing)
		broker_end_connection(connection, code, "a fault of the run");
}
