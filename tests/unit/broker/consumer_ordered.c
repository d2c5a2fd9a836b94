/* A consumer of a pool with sessions: how it opens, leaves and reopens its channel so that what
 * comes back keeps its order. */
#include "unit/support/broker/consumer_rig.h"
#include "unit/unit.h"

#include <stdio.h>

#define DIFFERS   "PRECONDITION_FAILED - inequivalent arg '%s' for queue 'work' in vhost '/': %s"
#define NO_SINGLE "received the value 'true' of type 'bool' but current is none"

static const struct consumer_config config = {
	.channel = 1, .queue = TEXT("work"), .declare = DECLARE_ON, .is_ordered = true};
static const struct consumer_config config_token = {.channel = 1,
	.queue = TEXT("work"),
	.declare = DECLARE_ON,
	.is_ordered = true,
	.has_token = true};
static const struct consumer_config config_free = {
	.channel = 1, .queue = TEXT("work"), .is_ordered = true, .is_return_free = true};

/* The broker refuses our declare, because the argument differs. */
static void refuse(const char *argument, const char *difference, mtime now)
{
	char reason[256];

	snprintf(reason, sizeof reason, DIFFERS, argument, difference);
	rig_closed(406, reason, now);
}

static void open_channel(void)
{
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_declared(0, 0);
}

static void consume_ok(void)
{
	rig_event(AMQP_CONSUME_OK, TEXT_NONE, 0);
}

static void set_up_channel(void)
{
	rig_begin(&config);
	open_channel();
	rig_expect("odm");
}

/* It consumes a queue with a single active consumer. */
static void set_up_single(void)
{
	set_up_channel();
	rig_declared(0, 0);
	rig_request(SOURCE_CONSUME, 10);
	rig_declared(0, 0);
	consume_ok();
	rig_expect("dc");
	ck_assert(consumer_is_consuming(rig_consumer));
	ck_assert_int_eq(consumer_order(rig_consumer), QUEUE_ORDER_SINGLE);
}

/* It knows that its queue has no single active consumer. */
static void set_up_alone(void)
{
	set_up_channel();
	refuse("x-single-active-consumer", NO_SINGLE, 0);
	open_channel();
	rig_declared(0, 0);
	rig_request(SOURCE_CONSUME, 10);
	rig_expect("odmd");
	ck_assert_int_eq(consumer_order(rig_consumer), QUEUE_ORDER_ALONE);
}

/* ---------- single active consumer ---------- */

static void answer_barrier(void)
{
	for (int i = 0; i < 3; i++) {
		rig_expect("c");
		consume_ok();
	}
}

START_TEST(leaving_waits_for_the_acks_and_closes_without_a_cancel)
{
	consumer_ack(rig_consumer, 1, false);
	rig_expect("a");
	rig_request(SOURCE_LEAVE, 0);
	answer_barrier();
	rig_expect("X");
	rig_close_ok(0);
	rig_expect("D");
	ck_assert(!consumer_is_consuming(rig_consumer));
	ck_assert_int_eq(consumer_deadline(rig_consumer), MTIME_NEVER);
}
END_TEST

/* Whether the pool is still the active one is asked on each channel, when nothing else is missing.
 */
START_TEST(a_channel_consumes_when_the_token_is_proven)
{
	rig_begin(&config_token);
	open_channel();
	rig_declared(0, 0);
	ck_assert(!consumer_wants_token(rig_consumer)); /* nobody asked it to consume */
	rig_request(SOURCE_CONSUME, 10);
	ck_assert(!consumer_wants_token(rig_consumer)); /* another one may consume */
	consumer_token_proven(rig_consumer, 0);
	rig_declared(0, 0);
	rig_expect("odmd");
	ck_assert(consumer_wants_token(rig_consumer));
	consumer_token_proven(rig_consumer, 0);
	rig_expect("c");
	ck_assert(!consumer_wants_token(rig_consumer));
	consume_ok();
	rig_closed(541, "INTERNAL_ERROR", 0);
	rig_request(SOURCE_CONSUME, 10);
	consumer_tick(rig_consumer, MTIME_MINUTE);
	open_channel();
	rig_declared(0, 0);
	rig_declared(0, 0);
	rig_expect("Dodmd");
	ck_assert(consumer_wants_token(rig_consumer));
	rig_request(SOURCE_LEAVE, 0);
	ck_assert(!consumer_wants_token(rig_consumer));
	rig_expect("X");
}
END_TEST

START_TEST(leaving_the_largest_window_passes_the_barrier)
{
	set_up_channel();
	rig_declared(0, 0);
	rig_request(SOURCE_CONSUME, UINT16_MAX);
	rig_declared(0, 0);
	consume_ok();
	rig_expect("dc");
	consumer_ack(rig_consumer, 1, false);
	rig_request(SOURCE_LEAVE, 0);
	rig_expect("ac");
	consume_ok();
	consume_ok();
	consume_ok();
	rig_expect("ccX");
}
END_TEST

START_TEST(leaving_without_acks_closes_at_once)
{
	rig_request(SOURCE_LEAVE, 0);
	rig_expect("X");
}
END_TEST

START_TEST(next_consume_opens_another_channel)
{
	rig_request(SOURCE_LEAVE, 0);
	rig_close_ok(0);
	rig_expect("XD");
	rig_request(SOURCE_CONSUME, 10);
	open_channel();
	rig_declared(0, 0);
	rig_declared(0, 0);
	rig_expect("odmdc");
	consume_ok();
	ck_assert(consumer_is_consuming(rig_consumer));
}
END_TEST

START_TEST(renewal_may_be_requested_before_the_channel_is_closed)
{
	consumer_ack(rig_consumer, 1, false);
	rig_request(SOURCE_LEAVE, 0);
	rig_request(SOURCE_CONSUME, 10);
	rig_expect("ac");
	consume_ok();
	consume_ok();
	consume_ok();
	rig_expect("ccX");
	rig_close_ok(0);
	consumer_tick(rig_consumer, 0);
	rig_expect("Do");
}
END_TEST

START_TEST(leaving_can_become_closing)
{
	consumer_ack(rig_consumer, 1, false);
	rig_request(SOURCE_LEAVE, 0);
	rig_request(SOURCE_CLOSE, 0);
	rig_expect("ac");
	consume_ok();
	consume_ok();
	consume_ok();
	rig_expect("ccX");
	rig_close_ok(0);
	rig_expect("D");
	consumer_request(rig_consumer, SOURCE_CONSUME, 10);
	consumer_tick(rig_consumer, MTIME_MINUTE);
	rig_expect("");
}
END_TEST

START_TEST(deliveries_during_the_barrier_go_back_with_the_channel)
{
	consumer_ack(rig_consumer, 1, false);
	rig_request(SOURCE_LEAVE, 0);
	rig_deliver(100, 0); /* it would be too many */
	rig_expect("ac");
}
END_TEST

START_TEST(another_window_waits_for_the_next_channel)
{
	rig_request(SOURCE_CONSUME, 20);
	rig_request(SOURCE_CONSUME, 5);
	rig_expect("");
}
END_TEST

/* Leave, and consume with 5 instead of 10, while so many messages are ready. */
static void narrow(uint32_t ready)
{
	const struct amqp_event counted = {
		.kind = AMQP_QUEUE_DECLARED, .channel = 1, .messages = ready};

	rig_request(SOURCE_LEAVE, 0);
	rig_close_ok(0);
	rig_request(SOURCE_CONSUME, 5);
	open_channel();
	rig_declared(0, 0);
	consumer_on_event(rig_consumer, &counted, 0);
	consume_ok();
}

/* The others would come behind those that it holds at the next loss. */
START_TEST(smaller_window_is_used_if_it_holds_all_that_is_ready)
{
	narrow(6);
	ck_assert_uint_eq(rig_window, 10);
	narrow(5);
	ck_assert_uint_eq(rig_window, 5);
}
END_TEST

START_TEST(cancel_by_the_broker_closes_the_channel_and_looks_for_the_queue)
{
	rig_event(AMQP_CANCELLED, TEXT("wpool-0000000009"), 0); /* none of ours */
	rig_expect("");
	rig_event(AMQP_CANCELLED, TEXT("wpool-0000000001"), 0);
	rig_expect("XD");
	rig_deliver(1, 0); /* on its way */
	rig_close_ok(0);
	consumer_tick(rig_consumer, 0);
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_expect("od");
	rig_closed(404, "NOT_FOUND - no queue", 0);
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_expect("om"); /* it is missing, and made again */
	rig_declared(0, 0);
	rig_declared(0, 0);
	rig_expect("dc");
}
END_TEST

START_TEST(cut_connection_begins_again)
{
	consumer_down(rig_consumer, 0);
	rig_expect("D");
	consumer_up(rig_consumer, (struct connection *)rig_calls);
	open_channel();
	rig_declared(0, 0);
	rig_expect("odmd");
	rig_declared(1, 0); /* the broker has not noticed the cut yet */
	rig_expect("");
	ck_assert(consumer_is_next(rig_consumer));
	consumer_tick(rig_consumer, MTIME_SECOND);
	rig_declared(0, MTIME_SECOND);
	rig_expect("dc");
	ck_assert(!consumer_is_next(rig_consumer));
}
END_TEST

START_TEST(nothing_is_opened_while_it_stays_away)
{
	rig_request(SOURCE_LEAVE, 0);
	rig_close_ok(0);
	consumer_down(rig_consumer, 0);
	rig_expect("XD");
	consumer_up(rig_consumer, (struct connection *)rig_calls);
	rig_expect("");
	rig_request(SOURCE_CONSUME, 10);
	rig_expect("o");
}
END_TEST

START_TEST(leaving_ends_if_the_broker_closes_the_channel)
{
	consumer_ack(rig_consumer, 1, false);
	rig_request(SOURCE_LEAVE, 0);
	rig_closed(404, "NOT_FOUND - no queue", 0);
	rig_expect("acD");
	consumer_tick(rig_consumer, MTIME_MINUTE);
	rig_expect("");
	rig_request(SOURCE_CONSUME, 10);
	rig_expect("o");
}
END_TEST

/* ---------- alone on the queue ---------- */

START_TEST(consumes_when_the_queue_has_no_consumer)
{
	rig_declared(2, 0);
	mtime first = consumer_deadline(rig_consumer);
	ck_assert_int_gt(first, 0);
	ck_assert_int_le(first, 5 * MTIME_MS);
	consumer_tick(rig_consumer, first - 1);
	rig_expect("");
	consumer_tick(rig_consumer, first);
	rig_expect("d");
	rig_declared(1, first);
	consumer_tick(rig_consumer, MTIME_SECOND);
	rig_expect("d");
	rig_declared(0, MTIME_SECOND);
	rig_expect("c");
	ck_assert(!consumer_is_consuming(rig_consumer));
	consume_ok();
	ck_assert(consumer_is_consuming(rig_consumer));
}
END_TEST

START_TEST(way_to_another_queue_is_logged_once)
{
	for (int i = 0; i < 2; i++) {
		rig_declared(0, 0);
		consume_ok();
		ck_assert_uint_eq(rig_warnings, 0); /* it is no warning */
		ck_assert_uint_eq(rig_advices, 1);
		consumer_down(rig_consumer, 0);
		consumer_up(rig_consumer, (struct connection *)rig_calls);
		open_channel();
		rig_declared(0, 0);
	}
}
END_TEST

START_TEST(foreign_consumer_is_warned_of_once)
{
	mtime now = 0;
	for (int i = 0; i < 200; i++) {
		rig_declared(1, now);
		now = consumer_deadline(rig_consumer);
		consumer_tick(rig_consumer, now);
	}
	ck_assert_int_gt(now, 10 * MTIME_SECOND);
	ck_assert_uint_eq(rig_warnings, 1);
	ck_assert_ptr_nonnull(strstr(rig_warning, "has 1 other consumer, and"));
	ck_assert(!consumer_is_consuming(rig_consumer));
}
END_TEST

/* What the former channel held comes back within seconds: nobody else consumes. */
START_TEST(new_channel_does_not_warn_of_its_former_one)
{
	rig_declared(1, 0);
	consumer_down(rig_consumer, 0);
	consumer_up(rig_consumer, (struct connection *)rig_calls);
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, MTIME_MINUTE);
	rig_declared(0, MTIME_MINUTE);
	rig_declared(0, MTIME_MINUTE);
	rig_calls[0] = 0;
	rig_declared(1, MTIME_MINUTE);
	ck_assert_uint_eq(rig_warnings, 0);
	consumer_tick(rig_consumer, MTIME_MINUTE + MTIME_SECOND);
	rig_expect("d");
}
END_TEST

START_TEST(looks_again_on_each_channel)
{
	rig_declared(0, 0);
	consume_ok();
	rig_request(SOURCE_LEAVE, 0);
	rig_close_ok(0);
	rig_request(SOURCE_CONSUME, 10);
	open_channel();
	rig_expect("cXDodm");
	rig_declared(0, 0);
	rig_expect("d");
	rig_declared(1, 0);
	rig_expect("");
	consumer_tick(rig_consumer, MTIME_SECOND);
	rig_expect("d");
	rig_declared(0, 0);
	rig_expect("c");
}
END_TEST

START_TEST(leaving_alone_is_a_bare_close)
{
	rig_declared(0, 0);
	consume_ok();
	consumer_ack(rig_consumer, 1, false);
	rig_request(SOURCE_LEAVE, 0);
	rig_expect("caX");
}
END_TEST

START_TEST(leaving_ends_the_look)
{
	rig_declared(1, 0);
	rig_request(SOURCE_LEAVE, 0);
	rig_expect("X");
	rig_close_ok(0);
	rig_expect("");
}
END_TEST

/* A consumer that knows no token would get the messages, and ours none. */
START_TEST(foreign_single_active_consumer_is_warned_of_once)
{
	set_up_channel();
	rig_declared(0, 0);
	rig_request(SOURCE_CONSUME, 10);
	rig_expect("d");
	for (mtime now = 0; now <= MTIME_MINUTE; now = consumer_deadline(rig_consumer)) {
		consumer_tick(rig_consumer, now);
		rig_declared(1, now);
		rig_calls[0] = 0;
	}
	ck_assert_uint_eq(rig_warnings, 1);
	ck_assert_ptr_nonnull(strstr(rig_warning, "knows no token"));
	ck_assert(consumer_waits_for_others(rig_consumer));
	consumer_tick(rig_consumer, 2 * MTIME_MINUTE);
	rig_calls[0] = 0;
	rig_declared(0, 2 * MTIME_MINUTE);
	rig_expect("c");
	ck_assert(!consumer_waits_for_others(rig_consumer));
	rig_end();
}
END_TEST

/* ---------- unusable ---------- */

START_TEST(classic_queue_is_refused_once_and_checked_again)
{
	for (int i = 0; i < 3; i++) {
		refuse("x-queue-type",
			"received the value 'quorum' of type 'longstr' but current is none", 0);
		ck_assert_uint_eq(rig_warnings, 1);
		ck_assert_ptr_nonnull(strstr(rig_warning, "is not a quorum queue"));
		ck_assert_int_eq(consumer_order(rig_consumer), QUEUE_ORDER_NONE);
		rig_expect("");
		consumer_tick(rig_consumer, consumer_deadline(rig_consumer));
		open_channel();
		rig_expect("odm");
	}
	rig_declared(0, 0); /* an operator has replaced it */
	rig_request(SOURCE_CONSUME, 10);
	rig_declared(0, 0);
	rig_expect("dc");
	ck_assert_int_eq(consumer_order(rig_consumer), QUEUE_ORDER_SINGLE);
}
END_TEST

START_TEST(without_the_right_to_look_it_counts_as_alone)
{
	rig_closed(403, "ACCESS_REFUSED - configure access to queue 'work' refused", 0);
	open_channel();
	rig_expect("od"); /* not asked again */
	rig_request(SOURCE_CONSUME, 10);
	rig_expect("d");
	ck_assert_int_eq(consumer_order(rig_consumer), QUEUE_ORDER_HIDDEN);
	rig_declared(0, 0);
	consume_ok();
	rig_expect("c");
	ck_assert_ptr_nonnull(strstr(rig_warning, "give the user the right"));
}
END_TEST

START_TEST(limit_that_contradicts_the_setting_is_refused)
{
	rig_begin(&config_free);
	rig_request(SOURCE_CONSUME, 10);
	open_channel();
	refuse("x-delivery-limit", "received '2147483647' but current is '20'", 0);
	for (int i = 0; i < 2; i++) {
		rig_calls[0] = 0;
		open_channel();
		rig_declared(0, 0);
		rig_expect("dm");
		ck_assert_uint_eq(rig_warnings, 1);
		ck_assert_ptr_nonnull(strstr(rig_warning, "x-delivery-limit 20"));
		consumer_tick(rig_consumer, consumer_deadline(rig_consumer));
	}
	ck_assert(!consumer_is_consuming(rig_consumer));
	rig_end();
}
END_TEST

/* The broker's default of 20 counts then. */
START_TEST(missing_limit_is_warned_of_from_rabbitmq_4_on)
{
	static const struct {
		const char *version;
		unsigned warnings;
	} cases[] = {{"3.13.7", 0}, {"4.0.5", 1}, {"10.1.0", 1}, {"", 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		rig_begin(&config_free);
		rig_version = text_from(cases[i].version);
		rig_request(SOURCE_CONSUME, 10);
		open_channel();
		refuse("x-delivery-limit",
			"received the value '2147483647' of type 'long' but current is none", 0);
		for (int channel = 0; channel < 2; channel++) {
			open_channel();
			rig_declared(0, 0);
			rig_declared(0, 0);
			consume_ok();
			ck_assert(consumer_is_consuming(rig_consumer));
			ck_assert_uint_eq(rig_warnings, cases[i].warnings);
			consumer_down(rig_consumer, 0);
			consumer_up(rig_consumer, (struct connection *)rig_calls);
		}
		rig_end();
	}
}
END_TEST

START_TEST(limit_is_no_matter_without_the_setting)
{
	refuse("x-delivery-limit", "received '2147483647' but current is '20'", 0);
	open_channel();
	rig_declared(0, 0);
	rig_request(SOURCE_CONSUME, 10);
	rig_declared(0, 0);
	rig_expect("odmdc");
	consume_ok();
	ck_assert_uint_eq(rig_returns_max, 20);
}
END_TEST

START_TEST(limit_of_no_return_is_one_of_a_return)
{
	refuse("x-delivery-limit", "received '2147483647' but current is '0'", 0);
	open_channel();
	rig_declared(0, 0);
	rig_request(SOURCE_CONSUME, 10);
	rig_declared(0, 0);
	consume_ok();
	ck_assert_uint_eq(rig_returns_max, 1);
}
END_TEST

/* ---------- too much in hand ---------- */

START_TEST(overfull_channel_stays_closed_until_the_memory_is_larger)
{
	rig_in_hand.bytes = 2001;
	rig_deliver(2, 0);
	rig_expect("4D");
	ck_assert_ptr_nonnull(strstr(rig_warning, "set memory to at least 2001"));
	rig_close_ok(0);
	for (mtime now = 0; now < MTIME_MINUTE; now = consumer_deadline(rig_consumer))
		consumer_tick(rig_consumer, now);
	rig_expect("");
	consumer_down(rig_consumer, MTIME_MINUTE);
	consumer_up(rig_consumer, (struct connection *)rig_calls);
	rig_expect("");
	rig_request(SOURCE_CONSUME, 9); /* it would break the order */
	consumer_tick(rig_consumer, MTIME_MINUTE + MTIME_SECOND);
	rig_expect("");
	rig_in_hand.memory = 2001;
	consumer_tick(rig_consumer, 2 * MTIME_MINUTE);
	rig_expect("o");
}
END_TEST

START_TEST(broker_that_delivers_too_much_is_answered_as_ever)
{
	rig_deliver(27, 0);
	rig_expect("E4D");
	rig_close_ok(0);
	consumer_tick(rig_consumer, MTIME_MINUTE);
	rig_expect("o");
}
END_TEST

static void add_case(
	Suite *s, const char *name, void (*set_up)(void), const TTest *const *tests, size_t count)
{
	TCase *tcase = tcase_create(name);

	if (set_up)
		tcase_add_checked_fixture(tcase, set_up, rig_end);
	for (size_t i = 0; i < count; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(s, tcase);
}

#define ADD_CASE(s, name, set_up, ...)                                                             \
	add_case(s, name, set_up, (const TTest *const[]){__VA_ARGS__},                             \
		sizeof(const TTest *const[]){__VA_ARGS__} / sizeof(TTest *))

static Suite *suite(void)
{
	Suite *s = suite_create("broker/consumer_ordered");
	ADD_CASE(s, "single", set_up_single, leaving_waits_for_the_acks_and_closes_without_a_cancel,
		leaving_without_acks_closes_at_once, next_consume_opens_another_channel,
		renewal_may_be_requested_before_the_channel_is_closed, leaving_can_become_closing,
		deliveries_during_the_barrier_go_back_with_the_channel,
		another_window_waits_for_the_next_channel,
		smaller_window_is_used_if_it_holds_all_that_is_ready,
		cancel_by_the_broker_closes_the_channel_and_looks_for_the_queue,
		cut_connection_begins_again, nothing_is_opened_while_it_stays_away,
		leaving_ends_if_the_broker_closes_the_channel,
		overfull_channel_stays_closed_until_the_memory_is_larger,
		broker_that_delivers_too_much_is_answered_as_ever);
	ADD_CASE(s, "alone", set_up_alone, consumes_when_the_queue_has_no_consumer,
		way_to_another_queue_is_logged_once, foreign_consumer_is_warned_of_once,
		new_channel_does_not_warn_of_its_former_one, looks_again_on_each_channel,
		leaving_alone_is_a_bare_close, leaving_ends_the_look);
	ADD_CASE(s, "unusable", set_up_channel, classic_queue_is_refused_once_and_checked_again,
		without_the_right_to_look_it_counts_as_alone,
		limit_is_no_matter_without_the_setting, limit_of_no_return_is_one_of_a_return);
	ADD_CASE(s, "others", NULL, leaving_the_largest_window_passes_the_barrier,
		a_channel_consumes_when_the_token_is_proven,
		limit_that_contradicts_the_setting_is_refused,
		missing_limit_is_warned_of_from_rabbitmq_4_on,
		foreign_single_active_consumer_is_warned_of_once);
	return s;
}

UNIT_MAIN(suite)
