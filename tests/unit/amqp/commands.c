/* Commands become frames that rabbitmq-c's decoder reads back. */
#include "unit/support/amqp/dialog.h"
#include "unit/unit.h"

static struct dialog dialog;

static void set_up(void)
{
	dialog_init(&dialog);
	dialog_open(&dialog);
}

static void tear_down(void)
{
	dialog_release(&dialog);
}

static void *sent(uint32_t id)
{
	return dialog_sent_method(&dialog, 1, id);
}

static void nothing_more(void)
{
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), 0);
}

static void bytes_are(amqp_bytes_t bytes, struct text expected)
{
	ck_assert(text_is(text_of(bytes.bytes, bytes.len), expected));
}

START_TEST(consume_commands_are_encoded)
{
	amqp_basic_qos_t *qos;
	amqp_basic_consume_t *consume;
	amqp_basic_cancel_t *cancel;

	channel_qos(dialog.connection, 1, 65535);
	qos = sent(AMQP_BASIC_QOS_METHOD);
	ck_assert_uint_eq(qos->prefetch_count, 65535);
	ck_assert_uint_eq(qos->prefetch_size, 0);
	ck_assert(!qos->global);
	channel_consume(dialog.connection, 1, TEXT("queue"), TEXT("tag"), true);
	consume = sent(AMQP_BASIC_CONSUME_METHOD);
	bytes_are(consume->queue, TEXT("queue"));
	bytes_are(consume->consumer_tag, TEXT("tag"));
	ck_assert(consume->no_ack && !consume->no_local && !consume->exclusive && !consume->nowait);
	ck_assert_int_eq(consume->arguments.num_entries, 0);
	channel_cancel(dialog.connection, 1, TEXT("tag"));
	cancel = sent(AMQP_BASIC_CANCEL_METHOD);
	bytes_are(cancel->consumer_tag, TEXT("tag"));
	ck_assert(!cancel->nowait);
	nothing_more();
}
END_TEST

START_TEST(settle_commands_are_encoded)
{
	bool multiple = _i;
	uint64_t tag = UINT64_MAX - (uint64_t)_i;
	amqp_basic_ack_t *ack;
	amqp_basic_nack_t *nack;
	amqp_basic_reject_t *reject;

	channel_ack(dialog.connection, 1, tag, multiple);
	channel_nack(dialog.connection, 1, tag);
	channel_reject(dialog.connection, 1, tag);
	ack = sent(AMQP_BASIC_ACK_METHOD);
	ck_assert_uint_eq(ack->delivery_tag, tag);
	ck_assert_int_eq(ack->multiple, multiple);
	nack = sent(AMQP_BASIC_NACK_METHOD);
	ck_assert_uint_eq(nack->delivery_tag, tag);
	ck_assert(!nack->multiple && nack->requeue);
	reject = sent(AMQP_BASIC_REJECT_METHOD);
	ck_assert_uint_eq(reject->delivery_tag, tag);
	ck_assert(!reject->requeue);
	nothing_more();
}
END_TEST

START_TEST(declare_commands_are_encoded)
{
	struct amqp_argument arguments[] = {{"x-queue-type", "quorum", 0},
		{"x-delivery-limit", NULL, 2147483647}, {"x-single-active-consumer", amqp_true, 0}};
	struct amqp_queue queue = {
		.name = TEXT("q"), .durable = true, .arguments = arguments, .argument_count = 3};
	amqp_queue_declare_t *declare;
	amqp_exchange_declare_t *exchange;
	amqp_queue_bind_t *bind;

	channel_declare_queue(dialog.connection, 1, &queue);
	declare = sent(AMQP_QUEUE_DECLARE_METHOD);
	bytes_are(declare->queue, TEXT("q"));
	ck_assert(declare->durable && !declare->passive && !declare->exclusive);
	ck_assert(!declare->auto_delete && !declare->nowait);
	ck_assert_int_eq(declare->arguments.num_entries, 3);
	bytes_are(declare->arguments.entries[0].key, TEXT("x-queue-type"));
	bytes_are(declare->arguments.entries[0].value.value.bytes, TEXT("quorum"));
	ck_assert_int_eq(declare->arguments.entries[1].value.kind, AMQP_FIELD_KIND_I64);
	ck_assert_int_eq(declare->arguments.entries[1].value.value.i64, 2147483647);
	ck_assert_int_eq(declare->arguments.entries[2].value.kind, AMQP_FIELD_KIND_BOOLEAN);
	ck_assert(declare->arguments.entries[2].value.value.boolean);
	channel_declare_queue(dialog.connection, 1,
		&(struct amqp_queue){.passive = true, .exclusive = true, .auto_delete = true});
	declare = sent(AMQP_QUEUE_DECLARE_METHOD);
	ck_assert_uint_eq(declare->queue.len, 0);
	ck_assert(declare->passive && declare->exclusive && declare->auto_delete);
	channel_declare_exchange(dialog.connection, 1, TEXT("e"), TEXT("fanout"), false, true);
	exchange = sent(AMQP_EXCHANGE_DECLARE_METHOD);
	bytes_are(exchange->exchange, TEXT("e"));
	bytes_are(exchange->type, TEXT("fanout"));
	ck_assert(exchange->durable && !exchange->passive && !exchange->auto_delete);
	channel_bind_queue(dialog.connection, 1, TEXT("q"), TEXT("e"), TEXT("k"));
	bind = sent(AMQP_QUEUE_BIND_METHOD);
	bytes_are(bind->queue, TEXT("q"));
	bytes_are(bind->exchange, TEXT("e"));
	bytes_are(bind->routing_key, TEXT("k"));
	channel_confirm_select(dialog.connection, 1);
	sent(AMQP_CONFIRM_SELECT_METHOD);
	nothing_more();
}
END_TEST

/* Body frames carry at most 8192 - 8 bytes here. */
static const struct {
	size_t body, frames;
} bodies[] = {{0, 0}, {1, 1}, {8183, 1}, {8184, 1}, {8185, 2}, {16368, 2}, {500000, 62}};

START_TEST(large_body_is_split_into_frames)
{
	static char body[500000];
	struct amqp_publish publish = {.exchange = TEXT("e"),
		.routing_key = TEXT("key"),
		.mandatory = true,
		.properties = TEXT("\20\0\2"),
		.body = text_of(body, bodies[_i].body)};
	struct frame frame;
	amqp_basic_publish_t *method;
	size_t taken = 0;

	for (size_t i = 0; i < sizeof body; i++)
		body[i] = (char)(i * 2654435761u >> 24);
	channel_publish(dialog.connection, 1, &publish);
	method = sent(AMQP_BASIC_PUBLISH_METHOD);
	bytes_are(method->exchange, TEXT("e"));
	bytes_are(method->routing_key, TEXT("key"));
	ck_assert(method->mandatory && !method->immediate);
	frame = dialog_sent(&dialog);
	ck_assert_uint_eq(frame.type, AMQP_FRAME_HEADER);
	ck_assert_uint_eq(frame.payload.len, 15);
	ck_assert_uint_eq(octets_get32(frame.payload.ptr), 60u << 16);
	ck_assert_uint_eq(octets_get64(frame.payload.ptr + 4), bodies[_i].body);
	ck_assert_mem_eq(frame.payload.ptr + 12, "\20\0\2", 3);
	for (size_t i = 0; i < bodies[_i].frames; i++) {
		frame = dialog_sent(&dialog);
		ck_assert_uint_eq(frame.type, AMQP_FRAME_BODY);
		ck_assert_uint_eq(frame.channel, 1);
		ck_assert_uint_le(frame.size, 8192);
		ck_assert_mem_eq(frame.payload.ptr, body + taken, frame.payload.len);
		taken += frame.payload.len;
	}
	ck_assert_uint_eq(taken, bodies[_i].body);
	nothing_more();
}
END_TEST

START_TEST(longest_publish_is_encoded)
{
	static char properties[8192 - 8 - 12];
	char name[255];
	struct amqp_publish publish = {text_of(name, 255), text_of(name, 255), false,
		text_of(properties, sizeof properties), TEXT_NONE};

	memset(name, 'n', sizeof name);
	channel_publish(dialog.connection, 1, &publish);
	sent(AMQP_BASIC_PUBLISH_METHOD);
	ck_assert_uint_eq(dialog_sent(&dialog).size, 8192);
	nothing_more();
}
END_TEST

static void over_long_key(void)
{
	static char key[256];

	channel_publish(dialog.connection, 1,
		&(struct amqp_publish){
			.routing_key = text_of(key, sizeof key), .properties = TEXT("\0\0")});
}

static void over_long_properties(void)
{
	static char properties[8192 - 8 - 12 + 1];

	channel_publish(dialog.connection, 1,
		&(struct amqp_publish){.properties = text_of(properties, sizeof properties)});
}

static void over_long_queue(void)
{
	static char name[256];

	channel_consume(dialog.connection, 1, text_of(name, sizeof name), TEXT_NONE, false);
}

static void too_many_arguments(void)
{
	struct amqp_argument arguments[AMQP_ARGUMENTS_MAX + 1];

	for (size_t i = 0; i <= AMQP_ARGUMENTS_MAX; i++)
		arguments[i] = (struct amqp_argument){"k", NULL, 1};
	channel_declare_queue(dialog.connection, 1,
		&(struct amqp_queue){
			.arguments = arguments, .argument_count = AMQP_ARGUMENTS_MAX + 1});
}

static void over_the_output_limit(void)
{
	static char body[1u << 20];

	channel_publish(dialog.connection, 1,
		&(struct amqp_publish){
			.properties = TEXT("\0\0"), .body = text_of(body, sizeof body)});
	dialog.params.output_limit = SIZE_MAX;
}

static void (*const channel_renewal[])(void) = {over_long_key, over_long_properties,
	over_long_queue, too_many_arguments, over_the_output_limit};

/* The output has a command completely or not at all, and no command after a refused one. */
START_TEST(a_refused_command_fails_the_connection)
{
	dialog_release(&dialog);
	dialog_init(&dialog);
	dialog.params.output_limit = 1u << 20;
	dialog_open(&dialog);
	channel_ack(dialog.connection, 1, 1, false);
	size_t before = buf_len(connection_output(dialog.connection));

	ck_assert(!connection_has_failed(dialog.connection));
	channel_renewal[_i]();
	ck_assert(connection_has_failed(dialog.connection));
	channel_ack(dialog.connection, 1, 2, false);
	connection_heartbeat_send(dialog.connection);
	connection_close(dialog.connection, 200, "bye");
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), before);
}
END_TEST

START_TEST(heartbeats_are_empty_frames_on_channel_0)
{
	connection_heartbeat_send(dialog.connection);
	ck_assert(text_is(
		buf_text(connection_output(dialog.connection)), TEXT("\10\0\0\0\0\0\0\316")));
}
END_TEST

static void every_command(uint16_t channel)
{
	struct connection *c = dialog.connection;

	channel_qos(c, channel, 1);
	channel_consume(c, channel, TEXT("q"), TEXT("c"), false);
	channel_cancel(c, channel, TEXT("c"));
	channel_ack(c, channel, 1, false);
	channel_nack(c, channel, 1);
	channel_reject(c, channel, 1);
	channel_confirm_select(c, channel);
	channel_publish(c, channel, &(struct amqp_publish){.properties = TEXT("\0\0")});
	channel_declare_queue(c, channel, &(struct amqp_queue){.name = TEXT("q")});
	channel_declare_exchange(c, channel, TEXT("e"), TEXT("direct"), false, false);
	channel_bind_queue(c, channel, TEXT("q"), TEXT("e"), TEXT("k"));
}

/* 0: the connection's own; 1: closing; 3: opening; 4, 2047, 65535: never opened. */
static const uint16_t not_open[] = {0, 1, 3, 4, 2047, 65535};

START_TEST(commands_on_a_closed_channel_are_dropped)
{
	channel_open(dialog.connection, 3);
	channel_close(dialog.connection, 1);
	buf_clear(connection_output(dialog.connection));
	ck_assert(!channel_is_open(dialog.connection, not_open[_i]));
	every_command(not_open[_i]);
	nothing_more();
	ck_assert(!connection_has_failed(dialog.connection));
}
END_TEST

START_TEST(channels_above_channel_max_are_not_opened)
{
	channel_open(dialog.connection, 0);
	channel_open(dialog.connection, 1); /* open already */
	channel_open(dialog.connection, 2048);
	channel_close(dialog.connection, 0);
	channel_close(dialog.connection, 2048);
	nothing_more();
	channel_open(dialog.connection, 2047);
	dialog_sent_method(&dialog, 2047, AMQP_CHANNEL_OPEN_METHOD);
	peer_channel_open_ok(&dialog.in, 2047);
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	ck_assert(channel_is_open(dialog.connection, 2047));
	channel_ack(dialog.connection, 2047, 1, false);
	dialog_sent_method(&dialog, 2047, AMQP_BASIC_ACK_METHOD);
}
END_TEST

#define LOOP(tcase, test, cases) tcase_add_loop_test(tcase, test, 0, sizeof cases / sizeof *cases)

static Suite *commands_suite(void)
{
	Suite *suite = suite_create("amqp/commands");
	TCase *frames = tcase_create("frames");

	tcase_add_checked_fixture(frames, set_up, tear_down);
	tcase_add_test(frames, consume_commands_are_encoded);
	tcase_add_loop_test(frames, settle_commands_are_encoded, 0, 2);
	tcase_add_test(frames, declare_commands_are_encoded);
	LOOP(frames, large_body_is_split_into_frames, bodies);
	tcase_add_test(frames, longest_publish_is_encoded);
	LOOP(frames, a_refused_command_fails_the_connection, channel_renewal);
	tcase_add_test(frames, heartbeats_are_empty_frames_on_channel_0);
	LOOP(frames, commands_on_a_closed_channel_are_dropped, not_open);
	tcase_add_test(frames, channels_above_channel_max_are_not_opened);
	suite_add_tcase(suite, frames);
	return suite;
}

UNIT_MAIN(commands_suite)
