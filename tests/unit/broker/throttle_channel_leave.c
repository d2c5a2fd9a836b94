/* The channel of a shared throttle when a leader leaves in order: the exchange at the one that
 * leaves and at the one that leads next, and what may come between. */
#include "unit/support/broker/channel_rig.h"

#include <stdio.h>

#define PERIOD MTIME_SECOND

static void set_up(void)
{
	channel_rig_set_up(PERIOD);
}

static void deliver_request_of_other(void)
{
	const struct throttle_request request = request_of_other();

	deliver_request(&request, ADDRESS);
}

static bool is_leading(void)
{
	return member_facts(rig.member, rig.now).is_leading;
}

static bool is_granting(void)
{
	return is_leading() && !member_facts(rig.member, rig.now).is_silent;
}

static void deliver_leave(uint64_t leader)
{
	struct amqp_publish publish;

	ck_assert_int_eq(
		throttle_leave_write(leader, MTIME_SECOND, QUEUE, &rig.message, &publish), RC_OK);
	deliver_to("wpool-requests", publish.body, ADDRESS);
}

static void deliver_take(void)
{
	struct amqp_publish publish;

	ck_assert_int_eq(throttle_take_write(OTHER, ADDRESS, &rig.message, &publish), RC_OK);
	deliver_to("wpool-answers", publish.body, ADDRESS);
}

/* One of the two starts is in the window. */
static void deliver_handover(uint64_t leader)
{
	static struct throttle_handover handover;
	struct amqp_publish publish;

	handover.leader = leader;
	handover.member = OWN;
	handover.figures = (struct shared_figures){.limit = 2, .period = PERIOD};
	handover.sure_for = PERIOD / 2;
	handover.count = 1;
	handover.of[0] = (struct handed_starts){.starts = 1, .after = PERIOD};
	ck_assert_int_eq(
		throttle_handover_write(&handover, ADDRESS, &rig.message, &publish), RC_OK);
	deliver_to("wpool-answers", publish.body, TEXT(""));
}

/* What it asks comes back to it, as to the active consumer, until then. */
static void lead_until(mtime end)
{
	consume();
	while (rig.now < end) {
		struct window *window;
		mtime at = throttle_ask(rig.throttle, THROTTLE_NO_KEY, rig.now, &window);
		(void)at;
		rig.now =
			mtime_max(rig.now + MTIME_MS, throttle_channel_deadline(rig.channel, true));
		tick();
		if (*rig.calls) {
			struct throttle_request request = rig.asked;
			struct amqp_publish publish;
			expect("ask3");
			deliver_request(&request, ADDRESS);
			expect("answer3");
			ck_assert_int_eq(throttle_answer_write(
						 &rig.answered, ADDRESS, &rig.message, &publish),
				RC_OK);
			deliver_to("wpool-answers", publish.body, TEXT(""));
		}
	}
	ck_assert(is_leading());
	rig.logged[0] = '\0';
}

static void lead(void)
{
	lead_until(rig.now + PERIOD + LEASE_MAX + 100 * MTIME_MS);
	ck_assert(is_granting());
}

static void leave(void)
{
	throttle_channel_leave(rig.channel, rig.now);
}

static void count(uint32_t consumers)
{
	throttle_channel_on_event(rig.channel,
		&(struct amqp_event){
			.kind = AMQP_QUEUE_DECLARED, .channel = 3, .consumers = consumers},
		rig.now);
}

static void expect_ended(const char *wanted)
{
	expect(wanted);
	ck_assert(throttle_channel_has_left(rig.channel));
	ck_assert(throttle_channel_deadline(rig.channel, true) == MTIME_NEVER);
	ck_assert(!member_facts(rig.member, rig.now).grants.is_up);
	ck_assert(!is_leading());
}

/* ---------- the one that leaves ---------- */

START_TEST(a_leader_hands_over_and_has_left)
{
	lead();
	deliver_request_of_other();
	expect("answer3");
	leave();
	expect("cancel3");
	ck_assert(!throttle_channel_has_left(rig.channel));
	handle(AMQP_CANCEL_OK);
	expect("count3");
	count(2);
	expect("leave3");
	ck_assert_uint_eq(rig.leaver, OWN);
	rig.now += MTIME_MS;
	deliver_take();
	expect_ended("handover3 close3");
	ck_assert(text_is(ADDRESS, text_from(rig.address)));
	ck_assert_uint_eq(rig.handed.leader, OWN);
	ck_assert_uint_eq(rig.handed.member, OTHER);
	ck_assert_uint_ge(rig.handed.count, 1);
	ck_assert_uint_eq(rig.handed.figures.limit, 2);
	ck_assert_int_eq(rig.handed.figures.period, PERIOD);
	ck_assert(rig.handed.sure_for > 0 && rig.handed.sure_for < PERIOD);
	ck_assert(strstr(rig.logged, "has handed the starts of the window to the next leader"));
}
END_TEST

START_TEST(a_leader_without_others_has_left_at_once)
{
	lead();
	leave();
	handle(AMQP_CANCEL_OK);
	count(0);
	expect_ended("cancel3 count3 close3");
}
END_TEST

START_TEST(a_silent_leader_has_nothing_to_hand_over)
{
	lead_until(rig.now + PERIOD / 2);
	ck_assert(member_facts(rig.member, rig.now).is_silent);
	leave();
	handle(AMQP_CANCEL_OK);
	count(1);
	deliver_take();
	expect_ended("cancel3 count3 leave3 close3");
	ck_assert_str_eq(rig.logged, "");
}
END_TEST

static void be_offline(void)
{
}

static void be_opening(void)
{
	throttle_channel_up(rig.channel, rig.connection, 3);
	expect("open3");
}

static void be_waiting(void)
{
	consume();
	handle(AMQP_CANCELLED);
	expect("close3");
}

static const struct {
	void (*be)(void);
	const char *calls;
} idle[] = {{be_offline, ""}, {be_opening, "close3"}, {be_waiting, NULL}, {consume, "close3"}};

START_TEST(one_that_does_not_lead_has_left_at_once)
{
	idle[_i].be();
	leave();
	if (!idle[_i].calls) /* its channel is closed already */
		rig.calls[0] = '\0';
	expect_ended(idle[_i].calls ? idle[_i].calls : "");
}
END_TEST

/* The steps of the one that leaves. */
static void to_step(int step)
{
	lead();
	leave();
	if (step > 0)
		handle(AMQP_CANCEL_OK);
	if (step > 1)
		count(2);
	rig.calls[0] = '\0';
}
#define STEPS 3

START_TEST(it_has_left_after_a_second_at_any_step)
{
	mtime began;

	to_step(_i);
	began = rig.now;
	ck_assert(throttle_channel_deadline(rig.channel, true) == began + MTIME_SECOND);
	rig.now = began + MTIME_SECOND - 1;
	tick();
	expect("");
	ck_assert(!throttle_channel_has_left(rig.channel));
	leave(); /* gives it no more time */
	expect("");
	rig.now++;
	tick();
	expect_ended("close3");
}
END_TEST

START_TEST(it_has_left_when_the_channel_the_consumer_or_the_connection_is_gone)
{
	to_step(_i / 3);
	if (_i % 3 == 0) {
		throttle_channel_on_event(rig.channel,
			&(struct amqp_event){
				.kind = AMQP_CHANNEL_CLOSED, .channel = 3, .code = 541},
			rig.now);
	} else if (_i % 3 == 1) {
		handle(AMQP_CANCELLED);
	} else {
		throttle_channel_down(rig.channel);
		ck_assert_str_eq(rig.calls, "");
	}
	rig.calls[0] = '\0'; /* it may close what is closed */
	expect_ended("");
	throttle_channel_down(rig.channel);
	throttle_channel_up(rig.channel, rig.connection, 4);
	expect_ended("");
}
END_TEST

/* A cancel of the broker crosses its own, so there may be two answers. */
START_TEST(what_comes_out_of_turn_changes_nothing)
{
	to_step(_i);
	handle(AMQP_CONSUME_OK);
	if (_i > 0)
		handle(AMQP_CANCEL_OK);
	if (_i < 2)
		deliver_take();
	deliver_handover(OTHER);
	deliver_leave(OTHER);
	expect("");
	ck_assert(!throttle_channel_has_left(rig.channel));
	ck_assert(is_granting()); /* as before, for what it hands over */
}
END_TEST

START_TEST(it_asks_for_nothing_and_starts_what_was_granted)
{
	struct throttle_answer granted = {.leader = OTHER,
		.member = OWN,
		.figures = {.limit = 2, .period = PERIOD},
		.count = 1,
		.keys = {{.key = THROTTLE_NO_KEY, .starts = 1}}};
	struct window *window;
	struct amqp_publish publish;

	consume();
	ck_assert_int_gt(throttle_ask(rig.throttle, THROTTLE_NO_KEY, rig.now, &window), rig.now);
	rig.now = mtime_max(rig.now, throttle_channel_deadline(rig.channel, true));
	tick();
	expect("ask3");
	granted.number = rig.asked.number;
	ck_assert_int_eq(throttle_answer_write(&granted, ADDRESS, &rig.message, &publish), RC_OK);
	deliver_to("wpool-answers", publish.body, TEXT(""));
	leave();
	expect_ended("close3");
	rig.now += MTIME_MS;
	ck_assert_int_le(throttle_ask(rig.throttle, THROTTLE_NO_KEY, rig.now, &window), rig.now);
	throttle_charge(rig.throttle, window, rig.now);
	rig.now += MTIME_MINUTE;
	ck_assert_int_gt(throttle_ask(rig.throttle, THROTTLE_NO_KEY, rig.now, &window), rig.now);
	tick();
	expect("");
}
END_TEST

START_TEST(what_comes_after_its_end_is_ignored)
{
	to_step(2);
	deliver_take();
	expect_ended("handover3 close3");
	deliver_take();
	deliver_request_of_other();
	deliver_leave(OTHER);
	deliver_handover(OTHER);
	handle(AMQP_CHANNEL_OPENED);
	handle(AMQP_CANCEL_OK);
	count(2);
	handle(AMQP_CANCELLED);
	handle(AMQP_CHANNEL_CLOSE_OK);
	handle(AMQP_CHANNEL_CLOSED);
	rig.now += MTIME_MINUTE;
	tick();
	expect_ended("");
	throttle_channel_down(rig.channel);
	throttle_channel_up(rig.channel, rig.connection, 4);
	expect_ended("");
}
END_TEST

/* ---------- the one that leads next ---------- */

START_TEST(the_next_leader_asks_and_leads_without_a_silence)
{
	consume();
	deliver_leave(OTHER);
	expect("take3");
	ck_assert_uint_eq(rig.taker, OWN);
	ck_assert(text_is(ADDRESS, text_from(rig.address)));
	rig.now += 10 * MTIME_MS;
	deliver_handover(OTHER);
	expect("");
	ck_assert(is_granting());
	deliver_request_of_other();
	expect("answer3");
	ck_assert_uint_eq(rig.answered.keys[0].starts, 1);
	deliver_request_of_other();
	expect("answer3");
	ck_assert_uint_eq(rig.answered.keys[0].starts, 0); /* with the one that was handed over */
	rig.now += PERIOD / 2 - 10 * MTIME_MS - 1;         /* since the question */
	ck_assert(is_leading());
	rig.now++;
	ck_assert(!is_leading());
	ck_assert_str_eq(rig.logged, "");
}
END_TEST

START_TEST(what_was_not_asked_for_is_not_taken_over)
{
	consume();
	deliver_handover(OTHER);
	ck_assert(!is_leading());
	deliver_leave(OTHER);
	expect("take3");
	deliver_handover(THIRD);
	ck_assert(!is_leading());
	deliver_leave(OTHER);
	expect("take3");
	deliver_handover(OTHER);
	ck_assert(is_granting());
}
END_TEST

/* Its time was counted from the first question. */
START_TEST(what_the_first_of_two_that_leave_sends_is_not_taken_for_the_second_ones)
{
	consume();
	deliver_leave(OTHER);
	rig.now += 400 * MTIME_MS;
	deliver_leave(THIRD);
	expect("take3 take3");
	deliver_handover(OTHER);
	ck_assert(!is_leading());
}
END_TEST

START_TEST(a_handover_that_comes_too_late_is_not_taken_over)
{
	consume();
	deliver_leave(OTHER);
	rig.now += PERIOD / 2;
	deliver_handover(OTHER);
	ck_assert(!is_leading());
}
END_TEST

START_TEST(what_is_no_leave_and_no_handover_is_named)
{
	consume();
	deliver_to("wpool-requests", TEXT("\x93\1\2\7"), TEXT("orders"));
	ck_assert(strstr(rig.logged, "it has no address for the answer"));
	rig.logged[0] = '\0';
	deliver_to("wpool-requests", TEXT("\x93\1\2\0"), ADDRESS);
	deliver_to("wpool-answers", TEXT("\x93\1\4\0"), TEXT(""));
	expect("");
	ck_assert_str_eq(rig.logged, ""); /* once */
	throttle_channel_free(rig.channel);
	rig.channel = throttle_channel_new(rig.member, TEXT("erp"), &rig.log, 1);
	ck_assert_ptr_nonnull(rig.channel);
	rig.calls[0] = '\0';
	consume();
	deliver_to("wpool-answers", TEXT("\x93\1\4\0"), TEXT(""));
	ck_assert(strstr(rig.logged, "is no handover ("));
	ck_assert(!is_leading());
}
END_TEST

static Suite *throttle_channel_leave_suite(void)
{
	Suite *suite = suite_create("broker/throttle_channel_leave");
	TCase *steps = tcase_create("steps");

	UNIT_CASE_WITH(suite, "leaving", set_up, channel_rig_tear_down,
		a_leader_hands_over_and_has_left, a_leader_without_others_has_left_at_once,
		a_silent_leader_has_nothing_to_hand_over,
		it_asks_for_nothing_and_starts_what_was_granted,
		what_comes_after_its_end_is_ignored);
	tcase_add_checked_fixture(steps, set_up, channel_rig_tear_down);
	tcase_add_loop_test(
		steps, one_that_does_not_lead_has_left_at_once, 0, sizeof idle / sizeof *idle);
	tcase_add_loop_test(steps, it_has_left_after_a_second_at_any_step, 0, STEPS);
	tcase_add_loop_test(steps,
		it_has_left_when_the_channel_the_consumer_or_the_connection_is_gone, 0, 3 * STEPS);
	tcase_add_loop_test(steps, what_comes_out_of_turn_changes_nothing, 0, STEPS);
	suite_add_tcase(suite, steps);
	UNIT_CASE_WITH(suite, "next", set_up, channel_rig_tear_down,
		the_next_leader_asks_and_leads_without_a_silence,
		what_was_not_asked_for_is_not_taken_over,
		what_the_first_of_two_that_leave_sends_is_not_taken_for_the_second_ones,
		a_handover_that_comes_too_late_is_not_taken_over,
		what_is_no_leave_and_no_handover_is_named);
	return suite;
}

UNIT_MAIN(throttle_channel_leave_suite)
