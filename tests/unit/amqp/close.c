/* Closes of channels and of the connection, from one side or both, also within a content. */
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

static void close_channel(struct dialog *r, const struct amqp_event *event)
{
	channel_close(r->connection, event->channel);
}

START_TEST(no_events_of_a_channel_that_we_closed)
{
	dialog.on_event = close_channel;
	peer_deliver(&dialog.in, 1, 1);
	peer_header(&dialog.in, 1, 0, TEXT("\0\0"));
	peer_deliver(&dialog.in, 1, 2);
	peer_header(&dialog.in, 1, 3, TEXT("\0\0"));
	peer_body(&dialog.in, 1, TEXT("abc"));
	peer_method(&dialog.in, 1, AMQP_BASIC_CANCEL_METHOD, &(amqp_basic_cancel_t){{0}, false});
	peer_method(&dialog.in, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &(amqp_channel_close_ok_t){0});
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	dialog_expect_events(&dialog,
		"AMQP_DELIVERY 1 0 [] [consumer|exchange|key|] 1 0 0 000 2 {}\n"
		"AMQP_CHANNEL_CLOSE_OK 1 0 [] [|||] 0 0 0 000\n");
	ck_assert(!channel_is_open(dialog.connection, 1));
	ck_assert(channel_is_open(dialog.connection, 2));
	dialog_sent_method(&dialog, 1, AMQP_CHANNEL_CLOSE_METHOD);
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), 0);
}
END_TEST

START_TEST(incomplete_content_is_dropped_with_its_channel)
{
	peer_deliver(&dialog.in, 1, 1);
	peer_header(&dialog.in, 1, 3, TEXT("\0\0"));
	peer_body(&dialog.in, 1, TEXT("ab"));
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	channel_close(dialog.connection, 1);
	ck_assert_uint_eq(dialog.dropped, 1);
	peer_body(&dialog.in, 1, TEXT("c"));
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	dialog_expect_events(&dialog, "");
}
END_TEST

START_TEST(incomplete_contents_are_dropped_with_the_connection)
{
	peer_deliver(&dialog.in, 1, 1);
	peer_header(&dialog.in, 1, 3, TEXT("\0\0"));
	peer_deliver(&dialog.in, 2, 1);
	peer_header(&dialog.in, 2, 3, TEXT("\0\0"));
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	if (_i == 0)
		peer_method(
			&dialog.in, 0, AMQP_CONNECTION_CLOSE_METHOD, &(amqp_connection_close_t){0});
	else if (_i == 1)
		connection_close(dialog.connection, 200, "bye");
	else
		peer_frame(&dialog.in, 9, 0, TEXT_NONE);
	ck_assert_int_eq(dialog_feed_in(&dialog), _i == 0   ? RC_CLOSED
						  : _i == 1 ? RC_OK
							    : RC_MALFORMED);
	ck_assert_uint_eq(dialog.dropped, 2);
}
END_TEST

static void reopen_channel(struct dialog *r, const struct amqp_event *event)
{
	if (event->kind == AMQP_CHANNEL_CLOSED)
		channel_open(r->connection, event->channel);
}

START_TEST(closed_channel_can_be_reopened_in_the_event)
{
	dialog.on_event = reopen_channel;
	channel_confirm_select(dialog.connection, 2);
	dialog_sent_method(&dialog, 2, AMQP_CONFIRM_SELECT_METHOD);
	peer_method(&dialog.in, 2, AMQP_CHANNEL_CLOSE_METHOD,
		&(amqp_channel_close_t){406, peer_string("PRECONDITION_FAILED"), 0, 0});
	peer_channel_open_ok(&dialog.in, 2);
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	dialog_expect_events(&dialog,
		"AMQP_CHANNEL_CLOSED 2 406 [PRECONDITION_FAILED] [|||] 0 0 0 000\n"
		"AMQP_CHANNEL_OPENED 2 0 [] [|||] 0 0 0 000\n");
	dialog_sent_method(&dialog, 2, AMQP_CHANNEL_CLOSE_OK_METHOD);
	dialog_sent_method(&dialog, 2, AMQP_CHANNEL_OPEN_METHOD);
	/* The answer to a request on the old channel is not expected on the new one. */
	peer_method(&dialog.in, 2, AMQP_CONFIRM_SELECT_OK_METHOD, &(amqp_confirm_select_ok_t){0});
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_MALFORMED);
}
END_TEST

START_TEST(both_sides_close_a_channel_at_once)
{
	channel_close(dialog.connection, 1);
	peer_method(&dialog.in, 1, AMQP_CHANNEL_CLOSE_METHOD,
		&(amqp_channel_close_t){406, peer_string("late"), 0, 0});
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	dialog_expect_events(&dialog, "");
	channel_open(dialog.connection, 1); /* not yet: its number is still in use */
	dialog_sent_method(&dialog, 1, AMQP_CHANNEL_CLOSE_METHOD);
	dialog_sent_method(&dialog, 1, AMQP_CHANNEL_CLOSE_OK_METHOD);
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), 0);
	peer_method(&dialog.in, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &(amqp_channel_close_ok_t){0});
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	dialog_expect_events(&dialog, "AMQP_CHANNEL_CLOSE_OK 1 0 [] [|||] 0 0 0 000\n");
}
END_TEST

START_TEST(a_channel_closes_while_it_opens)
{
	channel_open(dialog.connection, 3);
	channel_close(dialog.connection, 3);
	peer_channel_open_ok(&dialog.in, 3);
	peer_method(&dialog.in, 3, AMQP_CHANNEL_CLOSE_OK_METHOD, &(amqp_channel_close_ok_t){0});
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	dialog_expect_events(&dialog, "AMQP_CHANNEL_CLOSE_OK 3 0 [] [|||] 0 0 0 000\n");
}
END_TEST

START_TEST(both_sides_close_the_connection_at_once)
{
	amqp_connection_close_t *close;

	connection_close(dialog.connection, 200, "bye");
	connection_close(dialog.connection, 200, "twice is once");
	peer_deliver(&dialog.in, 1, 1);
	peer_header(&dialog.in, 1, 0, TEXT("\0\0"));
	peer_frame(&dialog.in, AMQP_FRAME_BODY, 77, TEXT("discarded"));
	peer_frame(&dialog.in, AMQP_FRAME_BODY, 0, TEXT("discarded"));
	peer_method(
		&dialog.in, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, &(amqp_connection_unblocked_t){0});
	peer_method(&dialog.in, 0, AMQP_CONNECTION_CLOSE_METHOD,
		&(amqp_connection_close_t){320, peer_string("forced"), 0, 0});
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
	dialog_expect_events(&dialog, "");
	connection_heartbeat_send(dialog.connection);
	channel_qos(dialog.connection, 1, 1);
	close = dialog_sent_method(&dialog, 0, AMQP_CONNECTION_CLOSE_METHOD);
	ck_assert_uint_eq(close->reply_code, 200);
	dialog_sent_method(&dialog, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), 0);
	peer_method(
		&dialog.in, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &(amqp_connection_close_ok_t){0});
	peer_deliver(&dialog.in, 1, 1);
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_CLOSED);
	dialog_expect_events(&dialog, "AMQP_CLOSE_OK 0 0 [] [|||] 0 0 0 000\n");
}
END_TEST

START_TEST(garbage_after_our_close_is_not_closed_again)
{
	connection_close(dialog.connection, 200, "bye");
	dialog_sent_method(&dialog, 0, AMQP_CONNECTION_CLOSE_METHOD);
	buf_append_text(&dialog.in, TEXT("garbage"));
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_MALFORMED);
	ck_assert_uint_eq(dialog.last_code, 501);
	ck_assert_uint_eq(buf_len(connection_output(dialog.connection)), 0);
}
END_TEST

static Suite *close_suite(void)
{
	Suite *suite = suite_create("amqp/close");
	TCase *ends = tcase_create("ends");

	tcase_add_checked_fixture(ends, set_up, tear_down);
	tcase_add_test(ends, no_events_of_a_channel_that_we_closed);
	tcase_add_test(ends, incomplete_content_is_dropped_with_its_channel);
	tcase_add_loop_test(ends, incomplete_contents_are_dropped_with_the_connection, 0, 3);
	tcase_add_test(ends, closed_channel_can_be_reopened_in_the_event);
	tcase_add_test(ends, both_sides_close_a_channel_at_once);
	tcase_add_test(ends, a_channel_closes_while_it_opens);
	tcase_add_test(ends, both_sides_close_the_connection_at_once);
	tcase_add_test(ends, garbage_after_our_close_is_not_closed_again);
	suite_add_tcase(suite, ends);
	return suite;
}

UNIT_MAIN(close_suite)
