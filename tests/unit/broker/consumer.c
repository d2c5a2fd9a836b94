/* How a consumer ends: acks and rejections must have arrived before the channel is closed. What it
 * does when the broker cancels it, and which keys it reads for throttles. The channel and the pool
 * are fakes. */
#include "unit/support/broker/consumer_rig.h"
#include "unit/unit.h"

static const struct consumer_config config = {.channel = 1, .queue = TEXT("work")};

static void handle_event(enum amqp_event_kind kind, struct text tag)
{
	rig_event(kind, tag, 0);
}

static void request(enum source_request what)
{
	rig_request(what, 10);
}

static void set_up(void)
{
	rig_begin(&config);
	handle_event(AMQP_CHANNEL_OPENED, TEXT_NONE);
	request(SOURCE_CONSUME);
	handle_event(AMQP_CONSUME_OK, TEXT_NONE);
	ck_assert_str_eq(rig_calls, "oc");
}

/* Close the consumer, and answer the cancel and the steps of the barrier. */
static void close_consumer(void)
{
	request(SOURCE_CLOSE);
	handle_event(AMQP_CANCEL_OK, TEXT("wpool-0000000001"));
	while (rig_calls[strlen(rig_calls) - 1] == 'c')
		handle_event(AMQP_CONSUME_OK, TEXT_NONE);
}

START_TEST(channel_without_acks_is_closed_at_once)
{
	close_consumer();
	ck_assert_str_eq(rig_calls, "ocCX");
}
END_TEST

START_TEST(requeues_need_no_barrier_before_the_close)
{
	consumer_reject(rig_consumer, 1, REJECT_REQUEUE);
	close_consumer();
	ck_assert_str_eq(rig_calls, "ocnCX");
}
END_TEST

START_TEST(acks_arrive_before_the_close)
{
	consumer_ack(rig_consumer, 1, false);
	close_consumer();
	ck_assert_str_eq(rig_calls, "ocaCcccX");
}
END_TEST

START_TEST(rejections_arrive_before_the_close)
{
	consumer_reject(rig_consumer, 1, REJECT_DEAD_LETTER);
	close_consumer();
	ck_assert_str_eq(rig_calls, "ocrCcccX");
}
END_TEST

/* The pool then reduces the next window by the deliveries that it still has. */
START_TEST(pool_is_informed_of_a_cancel_before_the_next_check)
{
	handle_event(AMQP_CANCELLED, TEXT("wpool-0000000009")); /* none of ours */
	ck_assert_str_eq(rig_calls, "oc");
	handle_event(AMQP_CANCELLED, TEXT("wpool-0000000001"));
	ck_assert_str_eq(rig_calls, "ocL");
	ck_assert_int_ne(consumer_deadline(rig_consumer), MTIME_NEVER);
}
END_TEST

/* Readiness depends on it: a request without an answer is not enough. */
START_TEST(is_consuming_only_after_the_broker_has_confirmed_it)
{
	ck_assert(consumer_is_consuming(rig_consumer));
	handle_event(AMQP_CANCELLED, TEXT("wpool-0000000001"));
	ck_assert(!consumer_is_consuming(rig_consumer));
	consumer_tick(rig_consumer, MTIME_MINUTE); /* it finds the queue and sends basic.consume */
	ck_assert_str_eq(rig_calls, "ocLc");
	ck_assert(!consumer_is_consuming(rig_consumer));
	handle_event(AMQP_CONSUME_OK, TEXT_NONE);
	ck_assert(consumer_is_consuming(rig_consumer));
	consumer_request(rig_consumer, SOURCE_CONSUME, 20); /* one more subscription */
	consumer_tick(rig_consumer, MTIME_MINUTE);
	ck_assert_str_eq(rig_calls, "ocLcc");
	ck_assert(consumer_is_consuming(rig_consumer));
	consumer_down(rig_consumer, MTIME_MINUTE);
	ck_assert(!consumer_is_consuming(rig_consumer));
}
END_TEST

/* The broker closes it at last; the wait begins, and the channel is opened again. Its length is the
 * value. */
static mtime reopen(mtime now)
{
	rig_close_ok(now);
	mtime due = consumer_deadline(rig_consumer);
	ck_assert_int_gt(due, now);
	consumer_tick(rig_consumer, due - 1);
	ck_assert_int_ne(rig_calls[strlen(rig_calls) - 1], 'o');
	consumer_tick(rig_consumer, due);
	ck_assert_int_eq(rig_calls[strlen(rig_calls) - 1], 'o');
	handle_event(AMQP_CHANNEL_OPENED, TEXT_NONE);
	consumer_tick(rig_consumer, due);
	rig_event(AMQP_CONSUME_OK, TEXT_NONE, due);
	rig_calls[0] = 0;
	return due - now;
}

/* A window of 10: 26 may be in hand. */
START_TEST(broker_that_delivers_too_much_loses_the_channel)
{
	rig_in_hand.latest_tag = 3;
	rig_deliver(26, 0);
	ck_assert_str_eq(rig_calls, "oc");
	consumer_request(rig_consumer, SOURCE_CONSUME, 3);
	consumer_tick(rig_consumer, 0); /* narrower: it counts when the broker has answered */
	ck_assert_str_eq(rig_calls, "ocC");
	rig_deliver(26, 0);
	ck_assert_str_eq(rig_calls, "ocC");
	rig_in_hand.count = 0;
	handle_event(AMQP_CANCEL_OK, TEXT("wpool-0000000001"));
	ck_assert_str_eq(rig_calls, "ocCc");
	handle_event(AMQP_CONSUME_OK, TEXT_NONE);
	rig_deliver(19, 0);
	ck_assert_str_eq(rig_calls, "ocCc");
	rig_deliver(20, 0);
	ck_assert_str_eq(rig_calls, "ocCcE4D");
	rig_deliver(21, 0); /* on its way: dropped, and no second close */
	ck_assert_str_eq(rig_calls, "ocCcE4D");
	reopen(0);
	ck_assert(consumer_is_consuming(rig_consumer));
}
END_TEST

START_TEST(wait_grows_while_it_goes_on)
{
	mtime last = 0, now = 0;
	for (int i = 0; i < 5; i++) {
		rig_deliver(19 + 10, now);
		mtime wait = reopen(now);
		ck_assert_int_gt(wait, last);
		last = wait;
		now += wait;
	}
	rig_deliver(19 + 10, now + MTIME_MINUTE);
	ck_assert_int_lt(reopen(now + MTIME_MINUTE), last / 4);
}
END_TEST

/* Messages became large, which an honest broker cannot help. */
START_TEST(wait_for_a_window_that_fits_stays_short)
{
	mtime now = 0;
	for (int i = 0; i < 5; i++) {
		rig_in_hand.bytes = 2001;
		rig_deliver(2, now);
		ck_assert_str_eq(rig_calls, i == 0 ? "oc4D" : "4D");
		mtime wait = reopen(now);
		ck_assert_int_le(wait, 500 * MTIME_MS);
		now += wait;
	}
}
END_TEST

START_TEST(refused_channel_can_be_closed_for_good)
{
	rig_deliver(29, 0);
	consumer_request(rig_consumer, SOURCE_CLOSE, 0);
	consumer_tick(rig_consumer, 0);
	handle_event(AMQP_CHANNEL_CLOSE_OK, TEXT_NONE);
	ck_assert_str_eq(rig_calls, "ocE4D");
	ck_assert_int_eq(consumer_deadline(rig_consumer), MTIME_NEVER);
}
END_TEST

/* ---------- keys of throttles ---------- */

static struct consumer_config throttled;
static struct throttle *throttle;

static void set_up_throttled(void)
{
	struct throttle_figures figures = {.limit = 1, .period = 1, .max_keys = 1};

	throttle = throttle_new(&figures, 7);
	ck_assert_ptr_nonnull(throttle);
	throttled = config;
	throttled.throttles = (struct throttle_keys){.count = 2,
		.of = {{throttle, {.kind = KEY_NONE}}, {throttle, {.kind = KEY_ROUTING_KEY}}}};
	rig_begin(&throttled);
	handle_event(AMQP_CHANNEL_OPENED, TEXT_NONE);
	request(SOURCE_CONSUME);
	handle_event(AMQP_CONSUME_OK, TEXT_NONE);
}

static void tear_down_throttled(void)
{
	rig_end();
	throttle_free(throttle);
}

/* A delivery of the longest route. count: of the throttles when its body has come. */
static void deliver_routed(char last, uint32_t count)
{
	char route[SHORT_STRING_MAX];
	struct amqp_event event = {.kind = AMQP_DELIVERY,
		.channel = 1,
		.tag = 1,
		.exchange = text_of(route, sizeof route),
		.routing_key = text_of(route, sizeof route)};
	uint8_t *memory = consumer_content_memory(rig_consumer, 4, &event.content.owner);

	ck_assert_ptr_nonnull(memory);
	memset(route, 'r', sizeof route);
	route[sizeof route - 1] = last;
	event.content.body = text_copy(memory, TEXT("body"));
	throttled.throttles.count = count;
	consumer_on_event(rig_consumer, &event, 0);
	ck_assert_uint_eq(rig_throttle_keys[0], THROTTLE_NO_KEY);
}

START_TEST(routing_key_is_read_for_a_throttle)
{
	char route[SHORT_STRING_MAX];

	memset(route, 'r', sizeof route);
	deliver_routed('r', 2);
	ck_assert_uint_eq(
		rig_throttle_keys[1], throttle_key(throttle, text_of(route, sizeof route)));
	deliver_routed('s', 2);
	ck_assert_uint_ne(
		rig_throttle_keys[1], throttle_key(throttle, text_of(route, sizeof route)));
	ck_assert_uint_ne(rig_throttle_keys[1], THROTTLE_NO_KEY);
}
END_TEST

/* A reload came between its header and its body: there is no space for its route. */
START_TEST(delivery_in_the_midst_of_a_change_has_no_routing_key)
{
	throttled.throttles.count = 1;
	deliver_routed('r', 2);
	ck_assert_uint_eq(rig_throttle_keys[1], THROTTLE_NO_KEY);
	deliver_routed('r', 1);
	ck_assert_uint_eq(rig_throttle_keys[1], THROTTLE_NO_KEY);
	deliver_routed('r', 1);
	throttled.throttles.count = 2;
	deliver_routed('r', 2);
	ck_assert_uint_ne(rig_throttle_keys[1], THROTTLE_NO_KEY);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/consumer");
	TCase *leaves = tcase_create("close");
	tcase_add_checked_fixture(leaves, set_up, rig_end);
	tcase_add_test(leaves, channel_without_acks_is_closed_at_once);
	tcase_add_test(leaves, requeues_need_no_barrier_before_the_close);
	tcase_add_test(leaves, acks_arrive_before_the_close);
	tcase_add_test(leaves, rejections_arrive_before_the_close);
	TCase *stays = tcase_create("cancel");
	tcase_add_checked_fixture(stays, set_up, rig_end);
	tcase_add_test(stays, pool_is_informed_of_a_cancel_before_the_next_check);
	tcase_add_test(stays, is_consuming_only_after_the_broker_has_confirmed_it);
	TCase *refused = tcase_create("refused");
	tcase_add_checked_fixture(refused, set_up, rig_end);
	tcase_add_test(refused, broker_that_delivers_too_much_loses_the_channel);
	tcase_add_test(refused, wait_grows_while_it_goes_on);
	tcase_add_test(refused, wait_for_a_window_that_fits_stays_short);
	tcase_add_test(refused, refused_channel_can_be_closed_for_good);
	suite_add_tcase(s, refused);
	suite_add_tcase(s, leaves);
	suite_add_tcase(s, stays);
	TCase *keys = tcase_create("throttles");
	tcase_add_checked_fixture(keys, set_up_throttled, tear_down_throttled);
	tcase_add_test(keys, routing_key_is_read_for_a_throttle);
	tcase_add_test(keys, delivery_in_the_midst_of_a_change_has_no_routing_key);
	suite_add_tcase(s, keys);
	return s;
}

UNIT_MAIN(suite)
