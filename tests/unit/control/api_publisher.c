/* The publisher of POST /v1/publish on a real connection, whose peer is the test. The link to the
 * broker, the clock and the timer are fakes of this test. */
#include "control/api_publisher.h"
#include "os/clock.h"
#include "os/loop.h"
#include "unit/support/amqp/dialog.h"
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#define LANES 16

/* ---------- the fakes ---------- */

static mtime now;
static struct ev_timer *timer;
static mtime timer_end;
static const struct broker_link_handler *handler;
static void *handler_ctx;

int64_t clock_wall_ms(void)
{
	return 0; /* no message here has a delay */
}

mtime clock_now(void)
{
	return now;
}

void loop_start_timer(struct ev_loop *loop, struct ev_timer *started, mtime span)
{
	(void)loop;
	timer = started;
	timer_end = now + span;
}

struct broker_link *broker_link_new(struct ev_loop *loop, const struct broker_link_config *config,
	const struct broker_link_handler *of_publisher, void *ctx)
{
	(void)loop;
	(void)config;
	handler = of_publisher;
	handler_ctx = ctx;
	return (struct broker_link *)&handler;
}

void broker_link_flush(struct broker_link *link)
{
	(void)link;
}

void broker_link_close(struct broker_link *link)
{
	(void)link;
}

void broker_link_free(struct broker_link *link)
{
	(void)link;
}

const char *broker_link_failure(const struct broker_link *link)
{
	(void)link;
	return "";
}

/* ---------- the rig ---------- */

struct sent {
	struct api_message message; /* first */
	unsigned ends;
	enum api_publish_result result;
	char why[512];
};

static struct dialog dialog;
static struct broker_link_config config;
static struct api_publisher *publisher;
static struct sent messages[LANES + 1];

/* The dialog frees the content. */
static void forward_event(struct dialog *from, const struct amqp_event *event)
{
	struct amqp_event copy = *event;

	(void)from;
	copy.content.owner = NULL;
	handler->on_event(handler_ctx, &copy);
}

static void on_end(struct api_message *message, enum api_publish_result result, const char *why)
{
	struct sent *sent = CONTAINER_OF(message, struct sent, message);

	sent->ends++;
	sent->result = result;
	snprintf(sent->why, sizeof sent->why, "%s", why);
}

static void publish(struct sent *sent)
{
	const char *why = "";

	*sent = (struct sent){.message = {.body = TEXT("body"), .id = "id", .on_end = on_end}};
	envelope_init(&sent->message.envelope);
	ck_assert_ptr_null(envelope_set(&sent->message.envelope, ENVELOPE_QUEUE, TEXT("q")));
	ck_assert_msg(api_publisher_add(publisher, &sent->message, &why), "%s", why);
}

static void assert_end(const struct sent *sent, enum api_publish_result result, const char *why)
{
	ck_assert_uint_eq(sent->ends, 1);
	ck_assert_msg(sent->result == result && strstr(sent->why, why), "%d \"%s\"", sent->result,
		sent->why);
}

static void feed(void)
{
	ck_assert_int_eq(dialog_feed_in(&dialog), RC_OK);
}

static void feed_method(uint16_t channel, uint32_t id, void *fields)
{
	peer_method(&dialog.in, channel, id, fields);
	feed();
}

/* The broker opens a channel, in confirm mode. */
static void answer_open(uint16_t channel)
{
	peer_channel_open_ok(&dialog.in, channel);
	feed_method(channel, AMQP_CONFIRM_SELECT_OK_METHOD, &(amqp_confirm_select_ok_t){0});
}

static void answer_close(uint16_t channel)
{
	feed_method(channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &(amqp_channel_close_ok_t){0});
}

static void confirm(uint16_t channel)
{
	feed_method(channel, AMQP_BASIC_ACK_METHOD, &(amqp_basic_ack_t){1, false});
}

static void refuse(uint16_t channel)
{
	feed_method(channel, AMQP_BASIC_NACK_METHOD, &(amqp_basic_nack_t){1, false, false});
}

static void return_message(uint16_t channel)
{
	amqp_basic_return_t fields = {
		312, peer_string("NO_ROUTE"), peer_string(""), peer_string("q")};

	peer_method(&dialog.in, channel, AMQP_BASIC_RETURN_METHOD, &fields);
	peer_header(&dialog.in, channel, 4, TEXT("\0\0"));
	peer_body(&dialog.in, channel, TEXT("body"));
	feed();
}

/* The time goes by until the timer ends. */
static void pass_limit(void)
{
	now = timer_end;
	ev_invoke(NULL, timer, EV_TIMER);
}

static void set_up(void)
{
	now = MTIME_SECOND;
	dialog_init(&dialog);
	dialog.on_event = forward_event;
	publisher = api_publisher_new(NULL, &config);
	ck_assert_ptr_nonnull(publisher);
}

/* The first message opens the connection. */
static void connect_broker(void)
{
	dialog_start(&dialog);
	peer_start(&dialog.in, "PLAIN");
	peer_tune(&dialog.in, 2047, 8192, 60);
	peer_open_ok(&dialog.in);
	feed();
	handler->on_up(handler_ctx, dialog.connection);
}

/* A message on each channel, published and not confirmed. */
static void fill_lanes(void)
{
	publish(&messages[0]);
	connect_broker();
	for (size_t i = 1; i < LANES; i++)
		publish(&messages[i]);
	for (uint16_t channel = 1; channel <= LANES; channel++)
		answer_open(channel);
}

static void tear_down(void)
{
	api_publisher_close(publisher);
	api_publisher_free(publisher);
	for (size_t i = 0; i < LANES + 1; i++)
		envelope_release(&messages[i].message.envelope);
	dialog_release(&dialog);
}

/* ---------- tests ---------- */

START_TEST(each_message_has_its_answer)
{
	fill_lanes();
	for (size_t i = 0; i < LANES; i++)
		ck_assert_uint_eq(messages[i].ends, 0);
	confirm(2);
	assert_end(&messages[1], API_PUBLISH_CONFIRMED, "");
	refuse(1);
	assert_end(&messages[0], API_PUBLISH_LATER, "a queue refused it");
	return_message(3);
	ck_assert_uint_eq(messages[2].ends, 0);
	confirm(3);
	assert_end(&messages[2], API_PUBLISH_REFUSED, "312 NO_ROUTE");
	feed_method(4, AMQP_CHANNEL_CLOSE_METHOD,
		&(amqp_channel_close_t){404, peer_string("NOT_FOUND"), 60, 40});
	assert_end(&messages[3], API_PUBLISH_REFUSED, "404 NOT_FOUND");
}
END_TEST

START_TEST(message_beyond_the_lanes_waits_for_one)
{
	fill_lanes();
	publish(&messages[LANES]);
	confirm(LANES);
	confirm(1);
	ck_assert_uint_eq(messages[LANES].ends, 0);
	feed_method(LANES, AMQP_BASIC_ACK_METHOD, &(amqp_basic_ack_t){2, false});
	assert_end(&messages[LANES], API_PUBLISH_CONFIRMED, "");
}
END_TEST

START_TEST(message_without_a_connection_ends_unpublished)
{
	publish(&messages[0]);
	ck_assert_int_eq(timer_end - now, API_PUBLISHER_LIMIT);
	pass_limit();
	assert_end(&messages[0], API_PUBLISH_LATER, "no connection to the broker");
	connect_broker();
}
END_TEST

START_TEST(message_without_a_channel_ends_unpublished)
{
	publish(&messages[0]);
	connect_broker();
	pass_limit();
	assert_end(&messages[0], API_PUBLISH_LATER, "the broker did not answer in time");
	publish(&messages[1]);
	answer_open(2);
	confirm(2);
	assert_end(&messages[1], API_PUBLISH_CONFIRMED, "");
	answer_open(1); /* the channel of the first one is used again */
	publish(&messages[2]);
	confirm(1);
	assert_end(&messages[2], API_PUBLISH_CONFIRMED, "");
}
END_TEST

START_TEST(message_without_a_confirm_ends_unknown)
{
	fill_lanes();
	pass_limit();
	for (size_t i = 0; i < LANES; i++)
		assert_end(&messages[i], API_PUBLISH_UNKNOWN, "did not confirm it in time");
}
END_TEST

/* A quorum queue without its majority confirms nothing. Other queues do. */
START_TEST(unconfirmed_messages_keep_no_lane)
{
	fill_lanes();
	pass_limit();
	publish(&messages[LANES]);
	answer_close(1);
	answer_open(1);
	confirm(1);
	assert_end(&messages[LANES], API_PUBLISH_CONFIRMED, "");
}
END_TEST

/* What the broker sent before it read our channel.close is about the message that has ended. */
START_TEST(late_answer_is_not_about_the_next_message)
{
	fill_lanes();
	pass_limit();
	publish(&messages[LANES]);
	return_message(1);
	confirm(1);
	refuse(1);
	ck_assert_uint_eq(messages[LANES].ends, 0);
	answer_close(1);
	answer_open(1);
	ck_assert_uint_eq(messages[LANES].ends, 0);
	confirm(1);
	assert_end(&messages[LANES], API_PUBLISH_CONFIRMED, "");
}
END_TEST

START_TEST(lost_connection_ends_what_was_sent)
{
	fill_lanes();
	publish(&messages[LANES]);
	handler->on_down(handler_ctx, true);
	for (size_t i = 0; i < LANES; i++)
		assert_end(&messages[i], API_PUBLISH_UNKNOWN, "connection was lost");
	ck_assert_uint_eq(messages[LANES].ends, 0);
	pass_limit();
	assert_end(&messages[LANES], API_PUBLISH_LATER, "no connection");
}
END_TEST

START_TEST(blocked_broker_is_sent_nothing)
{
	const char *why = "";

	fill_lanes();
	publish(&messages[LANES]);
	feed_method(0, AMQP_CONNECTION_BLOCKED_METHOD,
		&(amqp_connection_blocked_t){peer_string("low on memory")});
	assert_end(&messages[LANES], API_PUBLISH_LATER, "low on memory");
	ck_assert(!api_publisher_add(publisher, &messages[LANES].message, &why));
	ck_assert_ptr_nonnull(strstr(why, "low on memory"));
	pass_limit();
	assert_end(&messages[0], API_PUBLISH_UNKNOWN, "low on memory");
	feed_method(0, AMQP_CONNECTION_UNBLOCKED_METHOD, &(amqp_connection_unblocked_t){0});
	publish(&messages[LANES]);
}
END_TEST

START_TEST(broker_may_block_without_a_reason)
{
	const char *why = "";

	fill_lanes();
	feed_method(
		0, AMQP_CONNECTION_BLOCKED_METHOD, &(amqp_connection_blocked_t){peer_string("")});
	ck_assert(!api_publisher_add(publisher, &messages[LANES].message, &why));
	ck_assert_ptr_nonnull(strstr(why, "accepts no messages now"));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("control/api_publisher");
	TCase *tcase = tcase_create("all");
	const TTest *tests[] = {each_message_has_its_answer, message_beyond_the_lanes_waits_for_one,
		message_without_a_connection_ends_unpublished,
		message_without_a_channel_ends_unpublished, message_without_a_confirm_ends_unknown,
		unconfirmed_messages_keep_no_lane, late_answer_is_not_about_the_next_message,
		lost_connection_ends_what_was_sent, blocked_broker_is_sent_nothing,
		broker_may_block_without_a_reason};

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
