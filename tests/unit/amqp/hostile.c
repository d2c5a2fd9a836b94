/* A hostile peer on an open connection: each mistake ends the connection with its reply code, and
 * nothing ends the process. */
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

/* A frame written by hand: method 60.40 is 60u << 16 | 40. */
static void method(uint16_t channel, uint32_t id, struct text arguments)
{
	struct buf payload;

	buf_init(&payload, 4096);
	buf_append_be32(&payload, id);
	buf_append_text(&payload, arguments);
	peer_frame(&dialog.in, AMQP_FRAME_METHOD, channel, buf_text(&payload));
	buf_release(&payload);
}

static void deliver_then(void (*next)(void))
{
	peer_deliver(&dialog.in, 1, 1);
	next();
}

static void unknown_frame_type(void)
{
	peer_frame(&dialog.in, 4, 1, TEXT("x"));
}

static void no_end_octet(void)
{
	peer_frame(&dialog.in, AMQP_FRAME_HEARTBEAT, 0, TEXT_NONE);
	dialog.in.bytes[dialog.in.tail - 1] = 0;
}

/* Only the head: the refusal must not wait for the rest. */
static void too_large_frame(void)
{
	buf_append_text(&dialog.in, TEXT("\3\0\1\0\0\37\371")); /* 8185 + 8 */
}

static void huge_frame(void)
{
	buf_append_text(&dialog.in, TEXT("\2\0\1\377\377\377\377"));
}

static void too_large_header(void)
{
	buf_append_text(&dialog.in, TEXT("\2\0\1\0\1\37\371")); /* one over 8192 + 65536 */
}

static void heartbeat_on_a_channel(void)
{
	peer_frame(&dialog.in, AMQP_FRAME_HEARTBEAT, 1, TEXT_NONE);
}

static void heartbeat_with_payload(void)
{
	peer_frame(&dialog.in, AMQP_FRAME_HEARTBEAT, 0, TEXT("x"));
}

static void content_on_channel_0(void)
{
	peer_body(&dialog.in, 0, TEXT("x"));
}

static void header_without_method(void)
{
	peer_header(&dialog.in, 1, 1, TEXT("\0\0"));
}

static void body_without_method(void)
{
	peer_body(&dialog.in, 1, TEXT("x"));
}

static void body_for_header(void)
{
	deliver_then(body_without_method);
}

static void second_header(void)
{
	deliver_then(header_without_method);
	header_without_method();
}

static void some_method(void)
{
	peer_deliver(&dialog.in, 1, 2);
}

static void method_for_header(void)
{
	deliver_then(some_method);
}

static void method_for_body(void)
{
	deliver_then(header_without_method);
	some_method();
}

static void body_too_long(void)
{
	deliver_then(header_without_method);
	peer_body(&dialog.in, 1, TEXT("xy"));
}

static void body_after_the_end(void)
{
	deliver_then(header_without_method);
	peer_body(&dialog.in, 1, TEXT("x"));
	peer_body(&dialog.in, 1, TEXT("y"));
}

static void method_cut(void)
{
	peer_frame(&dialog.in, AMQP_FRAME_METHOD, 1, TEXT("\0\74\0"));
}

static void empty_method(void)
{
	peer_frame(&dialog.in, AMQP_FRAME_METHOD, 0, TEXT_NONE);
}

static void method_of_a_server(void)
{
	peer_method(&dialog.in, 1, AMQP_BASIC_QOS_METHOD, &(amqp_basic_qos_t){0});
}

static void connection_method_on_a_channel(void)
{
	peer_method(
		&dialog.in, 1, AMQP_CONNECTION_UNBLOCKED_METHOD, &(amqp_connection_unblocked_t){0});
}

static void channel_method_on_0(void)
{
	peer_deliver(&dialog.in, 0, 1);
}

static void never_opened(void)
{
	peer_deliver(&dialog.in, 3, 1);
}

static void beyond_channel_max(void)
{
	peer_deliver(&dialog.in, 65535, 1);
}

static void content_never_opened(void)
{
	peer_body(&dialog.in, 3, TEXT("x"));
}

static void after_its_close(void)
{
	peer_method(&dialog.in, 1, AMQP_CHANNEL_CLOSE_METHOD, &(amqp_channel_close_t){0});
	peer_deliver(&dialog.in, 1, 1);
}

static void opened_twice(void)
{
	peer_channel_open_ok(&dialog.in, 1);
}

static void unexpected_close_ok(void)
{
	peer_method(&dialog.in, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &(amqp_channel_close_ok_t){0});
}

static void unexpected_qos_ok(void)
{
	peer_method(&dialog.in, 1, AMQP_BASIC_QOS_OK_METHOD, &(amqp_basic_qos_ok_t){0});
}

static void unexpected_declare_ok(void)
{
	peer_method(&dialog.in, 1, AMQP_QUEUE_DECLARE_OK_METHOD, &(amqp_queue_declare_ok_t){0});
}

static void deliver_of_tag_0(void)
{
	peer_deliver(&dialog.in, 1, 0);
}

static void deliver_too_long(void)
{
	static char arguments[2000];

	method(1, AMQP_BASIC_DELIVER_METHOD, text_of(arguments, sizeof arguments));
}

static void unexpected_confirm(void)
{
	peer_method(&dialog.in, 1, AMQP_BASIC_ACK_METHOD, &(amqp_basic_ack_t){1, false});
}

/* Channel 2 confirms, and nothing was published on it. */
static void confirm_of_nothing(void)
{
	channel_confirm_select(dialog.connection, 2);
	peer_method(&dialog.in, 2, AMQP_BASIC_NACK_METHOD, &(amqp_basic_nack_t){1, false, false});
}

static void confirm_of_tag_0(void)
{
	channel_confirm_select(dialog.connection, 2);
	peer_method(&dialog.in, 2, AMQP_BASIC_ACK_METHOD, &(amqp_basic_ack_t){0, false});
}

static void start_again(void)
{
	peer_start(&dialog.in, "PLAIN");
}

static const struct {
	void (*bytes)(void);
	uint16_t code;
} mistakes[] = {
	{unknown_frame_type, 501},
	{no_end_octet, 501},
	{too_large_frame, 501},
	{huge_frame, 501},
	{too_large_header, 501},
	{heartbeat_on_a_channel, 501},
	{heartbeat_with_payload, 501},
	{content_on_channel_0, 505},
	{header_without_method, 505},
	{body_without_method, 505},
	{body_for_header, 505},
	{second_header, 505},
	{method_for_header, 505},
	{method_for_body, 505},
	{body_too_long, 501},
	{body_after_the_end, 505},
	{method_cut, 502},
	{empty_method, 502},
	{method_of_a_server, 503},
	{connection_method_on_a_channel, 503},
	{channel_method_on_0, 503},
	{never_opened, 504},
	{beyond_channel_max, 504},
	{content_never_opened, 504},
	{after_its_close, 504},
	{opened_twice, 503},
	{unexpected_close_ok, 503},
	{unexpected_qos_ok, 503},
	{unexpected_declare_ok, 503},
	{deliver_of_tag_0, 502},
	{deliver_too_long, 502},
	{unexpected_confirm, 503},
	{confirm_of_nothing, 503},
	{confirm_of_tag_0, 503},
	{start_again, 503},
};

/* The last frame of the output is our connection.close with that code. */
static void close_is_sent(uint16_t code)
{
	struct buf *out = connection_output(dialog.connection);
	amqp_connection_close_t *close = NULL;
	amqp_pool_t pool;
	struct frame frame = {0};

	while (buf_len(out) > 0)
		frame = dialog_sent(&dialog);
	ck_assert_uint_ge(frame.payload.len, 4);
	ck_assert_uint_eq(octets_get32(frame.payload.ptr), AMQP_CONNECTION_CLOSE_METHOD);
	init_amqp_pool(&pool, 4096);
	amqp_bytes_t fields = peer_bytes(text_of(frame.payload.ptr + 4, frame.payload.len - 4));
	ck_assert_int_eq(
		amqp_decode_method(AMQP_CONNECTION_CLOSE_METHOD, &pool, fields, (void **)&close),
		AMQP_STATUS_OK);
	ck_assert_uint_eq(close->reply_code, code);
	ck_assert_uint_gt(close->reply_text.len, 0);
	empty_amqp_pool(&pool);
}

static void input_is_answered(size_t step, uint16_t code, enum rc rc)
{
	ck_assert_int_eq(dialog_feed(&dialog, buf_text(&dialog.in), step), rc);
	ck_assert_uint_eq(dialog.last_code, code);
	close_is_sent(code);
	ck_assert_int_eq(dialog_feed(&dialog, buf_text(&dialog.in), step), rc);
	channel_ack(dialog.connection, 1, 1, false);
	connection_close(dialog.connection, 200, "bye");
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), 0);
}

START_TEST(mistakes_in_one_piece)
{
	mistakes[_i].bytes();
	input_is_answered(SIZE_MAX, mistakes[_i].code, RC_MALFORMED);
}
END_TEST

START_TEST(mistakes_byte_by_byte)
{
	mistakes[_i].bytes();
	input_is_answered(1, mistakes[_i].code, RC_MALFORMED);
}
END_TEST

#define BYTES(literal)                                                                             \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

/* Class, weight, body size, flags; the body's limit is 1 MiB here. */
static const struct {
	struct text payload;
	uint16_t code;
	enum rc rc;
} headers[] = {
	{BYTES("\0\12\0\0\0\0\0\0\0\0\0\1\0\0"), 501, RC_MALFORMED}, /* another class */
	{BYTES("\0\74\0\1\0\0\0\0\0\0\0\1\0\0"), 502, RC_MALFORMED}, /* a weight */
	{BYTES("\0\74\0\0\0\0\0\0"), 502, RC_MALFORMED},             /* cut in the size */
	{BYTES("\0\74\0\0\0\0"), 502, RC_MALFORMED},             /* so that it would do as flags */
	{BYTES("\0\74\0\0\0\0\0\0\0\0\0\1"), 502, RC_MALFORMED}, /* no flags */
	{BYTES("\0\74\0\0\0\0\0\0\0\0\0\1\200\0\11short"), 502, RC_MALFORMED},
	{BYTES("\0\74\0\0\0\0\0\0\0\20\0\1\0\0"), 506, RC_LIMIT},
	{BYTES("\0\74\0\0\377\377\377\377\377\377\377\377\0\0"), 506, RC_LIMIT},
};

START_TEST(bad_content_headers_end_the_connection)
{
	peer_deliver(&dialog.in, 1, 1);
	peer_frame(&dialog.in, AMQP_FRAME_HEADER, 1, headers[_i].payload);
	input_is_answered(SIZE_MAX, headers[_i].code, headers[_i].rc);
}
END_TEST

/* Arguments that do not fit their layout, and a method that does not exist. */
static const struct {
	uint16_t channel;
	uint32_t id;
	struct text arguments;
	uint16_t code;
} methods[] = {
	{1, 60u << 16 | 99, BYTES(""), 503},
	{1, AMQP_BASIC_DELIVER_METHOD, BYTES("\1c\0\0\0\0\0\0\0\1\0\1e\5key"), 502},
	{1, AMQP_BASIC_DELIVER_METHOD, BYTES("\1c\0\0\0\0\0\0\0\1\0\1e\1kk"), 502},
	{1, AMQP_BASIC_RETURN_METHOD, BYTES("\1"), 502},
	{0, AMQP_CONNECTION_CLOSE_METHOD, BYTES("\1\100\50text"), 502},
	{1, AMQP_BASIC_CANCEL_METHOD, BYTES("\1c\1\1"), 502},
	{1, AMQP_BASIC_ACK_METHOD, BYTES("\0\0\0\0\0\0\0\1"), 502},
};

START_TEST(bad_methods_end_the_connection)
{
	method(methods[_i].channel, methods[_i].id, methods[_i].arguments);
	input_is_answered(SIZE_MAX, methods[_i].code, RC_MALFORMED);
}
END_TEST

START_TEST(no_memory_for_a_content_ends_the_connection)
{
	dialog.refuses_memory = true;
	peer_deliver(&dialog.in, 1, 1);
	peer_header(&dialog.in, 1, 1, TEXT("\0\0"));
	input_is_answered(SIZE_MAX, 506, RC_MEMORY);
}
END_TEST

static void ask_flow(void)
{
	peer_method(&dialog.in, 1, AMQP_CHANNEL_FLOW_METHOD, &(amqp_channel_flow_t){true});
}

static void ask_cancel(void)
{
	peer_method(&dialog.in, 1, AMQP_BASIC_CANCEL_METHOD,
		&(amqp_basic_cancel_t){peer_string("consumer"), false});
}

static void ask_channel_close(void)
{
	peer_method(&dialog.in, 1, AMQP_CHANNEL_CLOSE_METHOD, &(amqp_channel_close_t){0});
}

static void ask_connection_close(void)
{
	peer_method(&dialog.in, 0, AMQP_CONNECTION_CLOSE_METHOD, &(amqp_connection_close_t){0});
}

/* What a peer may ask again and again, and what we do first: each request gets an answer. */
static const struct {
	void (*ask)(void);
	bool closes_channel, closes_connection;
} requests[] = {
	{ask_flow, false, false},
	{ask_cancel, false, false},
	{ask_channel_close, true, false},
	{ask_connection_close, false, true},
};

static void prepare_request(int i)
{
	if (requests[i].closes_channel)
		channel_close(dialog.connection, 1);
	if (requests[i].closes_connection)
		connection_close(dialog.connection, 200, "bye");
}

/* Ask until the connection ends, at most so often. */
static enum rc ask_often(int i, unsigned times)
{
	enum rc rc = RC_OK;

	for (unsigned n = 0; n < times && rc == RC_OK; n++) {
		requests[i].ask();
		rc = dialog_feed_in(&dialog);
	}
	return rc;
}

START_TEST(few_unread_answers_are_kept)
{
	prepare_request(_i);
	ck_assert_int_eq(ask_often(_i, AMQP_ANSWERS_MAX), RC_OK);
	size_t kept = buf_len(connection_output(dialog.connection));
	ck_assert_int_eq(ask_often(_i, AMQP_ANSWERS_MAX), RC_LIMIT);
	ck_assert_uint_eq(dialog.last_code, 506);
	ck_assert_uint_lt(buf_len(connection_output(dialog.connection)), 2 * kept);
	if (!requests[_i].closes_connection)
		close_is_sent(506);
}
END_TEST

/* Answers that are sent do not count, although the output never runs empty. */
START_TEST(a_peer_that_reads_may_ask_without_end)
{
	struct buf *out = connection_output(dialog.connection);

	prepare_request(_i);
	ck_assert_int_eq(ask_often(_i, 1), RC_OK);
	for (int round = 0; round < 5; round++) {
		size_t before = buf_len(out);
		ck_assert_int_eq(ask_often(_i, AMQP_ANSWERS_MAX / 2), RC_OK);
		buf_consume(out, before); /* never empty, as with a slow peer */
	}
}
END_TEST

static Suite *hostile_suite(void)
{
	Suite *suite = suite_create("amqp/hostile");
	TCase *peer = tcase_create("peer");
	int cases = sizeof mistakes / sizeof *mistakes;

	tcase_add_checked_fixture(peer, set_up, tear_down);
	tcase_add_loop_test(peer, mistakes_in_one_piece, 0, cases);
	tcase_add_loop_test(peer, mistakes_byte_by_byte, 0, cases);
	tcase_add_loop_test(
		peer, bad_content_headers_end_the_connection, 0, sizeof headers / sizeof *headers);
	tcase_add_loop_test(
		peer, bad_methods_end_the_connection, 0, sizeof methods / sizeof *methods);
	tcase_add_test(peer, no_memory_for_a_content_ends_the_connection);
	tcase_add_loop_test(
		peer, few_unread_answers_are_kept, 0, sizeof requests / sizeof *requests);
	tcase_add_loop_test(
		peer, a_peer_that_reads_may_ask_without_end, 0, sizeof requests / sizeof *requests);
	suite_add_tcase(suite, peer);
	return suite;
}

UNIT_MAIN(hostile_suite)
