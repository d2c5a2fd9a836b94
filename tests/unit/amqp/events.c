/* The peer's bytes become the same events, in pieces of any size. */
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
	ck_assert(!connection_has_failed(dialog.connection));
	dialog_release(&dialog);
}

static void ask_for_everything(struct connection *c)
{
	struct amqp_publish publish = {.routing_key = TEXT("q"), .properties = TEXT("\0\0")};

	channel_qos(c, 1, 10);
	channel_consume(c, 1, TEXT("q"), TEXT("consumer"), false);
	channel_cancel(c, 1, TEXT("consumer"));
	channel_declare_queue(c, 1, &(struct amqp_queue){.name = TEXT("q")});
	channel_declare_exchange(c, 1, TEXT("e"), TEXT("direct"), false, true);
	channel_bind_queue(c, 1, TEXT("q"), TEXT("e"), TEXT("k"));
	channel_confirm_select(c, 2);
	for (int i = 0; i < 4; i++)
		channel_publish(c, 2, &publish);
	buf_clear(connection_output(c));
}

static void peer_answers(struct buf *out)
{
	peer_method(out, 1, AMQP_BASIC_QOS_OK_METHOD, &(amqp_basic_qos_ok_t){0});
	peer_method(out, 1, AMQP_BASIC_CONSUME_OK_METHOD,
		&(amqp_basic_consume_ok_t){peer_string("consumer")});
	peer_method(out, 1, AMQP_BASIC_CANCEL_OK_METHOD,
		&(amqp_basic_cancel_ok_t){peer_string("consumer")});
	peer_method(out, 1, AMQP_QUEUE_DECLARE_OK_METHOD,
		&(amqp_queue_declare_ok_t){peer_string("q"), 70000, 3});
	peer_method(out, 1, AMQP_EXCHANGE_DECLARE_OK_METHOD, &(amqp_exchange_declare_ok_t){0});
	peer_method(out, 1, AMQP_QUEUE_BIND_OK_METHOD, &(amqp_queue_bind_ok_t){0});
	peer_method(out, 2, AMQP_CONFIRM_SELECT_OK_METHOD, &(amqp_confirm_select_ok_t){0});
}

/* The contents of two channels, with interleaved frames, as AMQP allows. */
static void peer_contents(struct buf *out)
{
	amqp_basic_return_t returned = {
		312, peer_string("NO_ROUTE"), peer_string("e"), peer_string("k")};

	peer_deliver(out, 1, 1);
	peer_header(out, 1, 0, TEXT("\0\0"));
	peer_deliver(out, 1, 2);
	peer_method(out, 2, AMQP_BASIC_RETURN_METHOD, &returned);
	peer_header(out, 2, 8, TEXT("\20\0\2"));
	peer_header(out, 1, 10, TEXT("\200\0\4text"));
	peer_body(out, 1, TEXT("abc"));
	peer_body(out, 2, TEXT("returned"));
	peer_frame(out, AMQP_FRAME_HEARTBEAT, 0, TEXT_NONE);
	peer_body(out, 1, TEXT_NONE);
	peer_body(out, 1, TEXT("defghij"));
	peer_deliver(out, 1, UINT64_MAX);
	peer_header(out, 1, 1, TEXT("\0\0"));
	peer_body(out, 1, TEXT("\316"));
}

static void peer_confirms(struct buf *out)
{
	peer_method(out, 2, AMQP_BASIC_ACK_METHOD, &(amqp_basic_ack_t){2, true});
	peer_method(out, 2, AMQP_BASIC_NACK_METHOD, &(amqp_basic_nack_t){3, false, false});
	peer_method(out, 2, AMQP_BASIC_ACK_METHOD, &(amqp_basic_ack_t){4, false});
	peer_method(out, 2, AMQP_BASIC_ACK_METHOD, &(amqp_basic_ack_t){0, true});
}

static void peer_troubles(struct buf *out)
{
	peer_method(out, 0, AMQP_CONNECTION_BLOCKED_METHOD,
		&(amqp_connection_blocked_t){peer_string("low on memory")});
	peer_method(out, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, &(amqp_connection_unblocked_t){0});
	peer_method(out, 1, AMQP_CHANNEL_FLOW_METHOD, &(amqp_channel_flow_t){true});
	peer_method(out, 1, AMQP_BASIC_CANCEL_METHOD,
		&(amqp_basic_cancel_t){peer_string("consumer"), true});
	peer_method(out, 1, AMQP_CHANNEL_CLOSE_METHOD,
		&(amqp_channel_close_t){404, peer_string("NOT_FOUND"), 60, 20});
	peer_method(out, 0, AMQP_CONNECTION_CLOSE_METHOD,
		&(amqp_connection_close_t){320, peer_string("CONNECTION_FORCED"), 0, 0});
}

static const char everything[] =
	"AMQP_QOS_OK 1 0 [] [|||] 0 0 0 000\n"
	"AMQP_CONSUME_OK 1 0 [] [consumer|||] 0 0 0 000\n"
	"AMQP_CANCEL_OK 1 0 [] [consumer|||] 0 0 0 000\n"
	"AMQP_QUEUE_DECLARED 1 0 [] [|||q] 0 70000 3 000\n"
	"AMQP_EXCHANGE_DECLARED 1 0 [] [|||] 0 0 0 000\n"
	"AMQP_QUEUE_BOUND 1 0 [] [|||] 0 0 0 000\n"
	"AMQP_CONFIRM_SELECTED 2 0 [] [|||] 0 0 0 000\n"
	"AMQP_DELIVERY 1 0 [] [consumer|exchange|key|] 1 0 0 000 2 {}\n"
	"AMQP_RETURN 2 312 [NO_ROUTE] [|e|k|] 0 0 0 000 3 {returned}\n"
	"AMQP_DELIVERY 1 0 [] [consumer|exchange|key|] 2 0 0 001 7 {abcdefghij}\n"
	"AMQP_DELIVERY 1 0 [] [consumer|exchange|key|] 18446744073709551615 0 0 000 2 {\316}\n"
	"AMQP_CONFIRM 2 0 [] [|||] 2 0 0 110\n"
	"AMQP_CONFIRM 2 0 [] [|||] 3 0 0 000\n"
	"AMQP_CONFIRM 2 0 [] [|||] 4 0 0 010\n"
	"AMQP_CONFIRM 2 0 [] [|||] 4 0 0 110\n"
	"AMQP_BLOCKED 0 0 [low on memory] [|||] 0 0 0 000\n"
	"AMQP_UNBLOCKED 0 0 [] [|||] 0 0 0 000\n"
	"AMQP_CANCELLED 1 0 [] [consumer|||] 0 0 0 000\n"
	"AMQP_CHANNEL_CLOSED 1 404 [NOT_FOUND] [|||] 0 0 0 000\n"
	"AMQP_CLOSED 0 320 [CONNECTION_FORCED] [|||] 0 0 0 000\n";

static void all_of_it(struct buf *out)
{
	peer_answers(out);
	peer_contents(out);
	peer_confirms(out);
	peer_troubles(out);
}

/* The answers that all_of_it requires. */
static void answers_were_sent(void)
{
	amqp_channel_flow_ok_t *flow_ok =
		dialog_sent_method(&dialog, 1, AMQP_CHANNEL_FLOW_OK_METHOD);

	ck_assert(flow_ok->active);
	dialog_sent_method(&dialog, 1, AMQP_CHANNEL_CLOSE_OK_METHOD);
	dialog_sent_method(&dialog, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), 0);
}

static const size_t steps[] = {SIZE_MAX, 1, 2, 3, 7, 8, 100};

START_TEST(events_do_not_depend_on_piece_size)
{
	ask_for_everything(dialog.connection);
	all_of_it(&dialog.in);
	ck_assert_int_eq(dialog_feed(&dialog, buf_text(&dialog.in), steps[_i]), RC_CLOSED);
	dialog_expect_events(&dialog, everything);
	answers_were_sent();
}
END_TEST

START_TEST(events_do_not_depend_on_split)
{
	struct buf whole;

	buf_init(&whole, 1u << 16);
	all_of_it(&whole);
	struct text all = buf_text(&whole);
	for (size_t split = 1; split < all.len; split++) {
		dialog_release(&dialog);
		dialog_init(&dialog);
		dialog_open(&dialog);
		ask_for_everything(dialog.connection);
		ck_assert_int_eq(dialog_feed(&dialog, text_of(all.ptr, split), SIZE_MAX), RC_OK);
		ck_assert_int_eq(
			dialog_feed(&dialog, text_of(all.ptr + split, all.len - split), SIZE_MAX),
			RC_CLOSED);
		dialog_expect_events(&dialog, everything);
		answers_were_sent();
	}
	buf_release(&whole);
}
END_TEST

START_TEST(cancel_without_nowait_is_answered)
{
	amqp_basic_cancel_ok_t *cancel_ok;

	peer_method(&dialog.in, 1, AMQP_BASIC_CANCEL_METHOD,
		&(amqp_basic_cancel_t){peer_string("consumer"), false});
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	cancel_ok = dialog_sent_method(&dialog, 1, AMQP_BASIC_CANCEL_OK_METHOD);
	ck_assert_uint_eq(cancel_ok->consumer_tag.len, 8);
}
END_TEST

/* 1 MiB in the largest frames of an agreed 8192 bytes. */
START_TEST(large_body_is_complete)
{
	static char body[1u << 20];
	struct text rest = text_of(body, sizeof body);

	for (size_t i = 0; i < sizeof body; i++)
		body[i] = (char)(i * 2654435761u >> 24);
	peer_deliver(&dialog.in, 1, 1);
	peer_header(&dialog.in, 1, sizeof body, TEXT("\0\0"));
	while (rest.len > 0) {
		size_t len = rest.len < 8184 ? rest.len : 8184;

		peer_body(&dialog.in, 1, text_of(rest.ptr, len));
		rest = text_of(rest.ptr + len, rest.len - len);
	}
	ck_assert_int_eq(dialog_feed(&dialog, buf_text(&dialog.in), 5000), RC_OK);
	ck_assert_uint_eq(dialog.delivered, 1);
	const char *brace = memchr(dialog.events.bytes, '{', buf_len(&dialog.events));
	ck_assert_ptr_nonnull(brace);
	ck_assert_mem_eq(brace + 1, body, sizeof body);
}
END_TEST

/* The broker counts redeliveries in a header that already filled its frame. */
START_TEST(header_may_exceed_frame_max)
{
	static char properties[8192 + 1000];
	uint8_t *at = octets_put16((uint8_t *)properties, 1u << 13);

	octets_put32(at, sizeof properties - 6);
	peer_deliver(&dialog.in, 1, 1);
	peer_header(&dialog.in, 1, 0, text_of(properties, sizeof properties));
	ck_assert_int_eq(dialog_feed(&dialog, buf_text(&dialog.in), 1000), RC_OK);
	ck_assert_uint_eq(dialog.delivered, 1);
}
END_TEST

/* A delivery on a channel without a consumer, a return on a channel without a mandatory publish. */
START_TEST(unrequested_contents_fail_the_connection)
{
	amqp_basic_return_t returned = {
		312, peer_string("NO_ROUTE"), peer_string("e"), peer_string("k")};
	struct amqp_publish publish = {.properties = TEXT("\0\0")};

	channel_open(dialog.connection, 3);
	peer_channel_open_ok(&dialog.in, 3);
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	if (_i == 0) {
		channel_publish(dialog.connection, 3, &publish);
		peer_method(&dialog.in, 3, AMQP_BASIC_RETURN_METHOD, &returned);
	} else {
		peer_deliver(&dialog.in, 3, 1);
	}
	peer_header(&dialog.in, 3, 0, TEXT("\0\0"));
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_MALFORMED);
	ck_assert_uint_eq(dialog.last_code, 503);
	ck_assert_uint_eq(dialog.allocated, 0);
}
END_TEST

static Suite *events_suite(void)
{
	Suite *suite = suite_create("amqp/events");
	TCase *events = tcase_create("events");

	tcase_add_checked_fixture(events, set_up, tear_down);
	tcase_set_timeout(events, 60);
	tcase_add_loop_test(
		events, events_do_not_depend_on_piece_size, 0, sizeof steps / sizeof *steps);
	tcase_add_test(events, events_do_not_depend_on_split);
	tcase_add_test(events, cancel_without_nowait_is_answered);
	tcase_add_test(events, large_body_is_complete);
	tcase_add_test(events, header_may_exceed_frame_max);
	tcase_add_loop_test(events, unrequested_contents_fail_the_connection, 0, 2);
	suite_add_tcase(suite, events);
	return suite;
}

UNIT_MAIN(events_suite)
