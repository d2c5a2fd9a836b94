/* The channel of a shared throttle: opened in its order, opened again, closed; requests, answers,
 * and messages that are neither. */
#include "unit/support/broker/channel_rig.h"

#include <stdio.h>

#define PERIOD SHARED_PERIOD_MIN

static void set_up(void)
{
	channel_rig_set_up(PERIOD);
}

static void expect_logged(enum log_level level, const char *part)
{
	ck_assert_int_eq(rig.logged_level, level);
	ck_assert_msg(strstr(rig.logged, part), "%s", rig.logged);
	rig.logged[0] = '\0';
}

static void expect_nothing_logged(void)
{
	ck_assert_str_eq(rig.logged, "");
}

static bool is_up(void)
{
	return member_facts(rig.member, rig.now).grants.is_up;
}

static void close_with(uint16_t code, const char *why)
{
	const struct amqp_event event = {
		.kind = AMQP_CHANNEL_CLOSED, .channel = 3, .code = code, .text = text_from(why)};

	throttle_channel_on_event(rig.channel, &event, rig.now);
}

/* Wait until it opens the channel again. Return for how long. */
static mtime reopen(void)
{
	mtime began = rig.now;

	rig.now = throttle_channel_deadline(rig.channel, true) - 1;
	tick();
	expect("");
	rig.now++;
	tick();
	expect("open3");
	return rig.now - began;
}

static void declare(void)
{
	handle(AMQP_CHANNEL_OPENED);
	handle(AMQP_CONSUME_OK);
}

static void start_requests(void)
{
	handle(AMQP_QUEUE_DECLARED);
	handle(AMQP_CONSUME_OK);
}

/* A task asks for its start. */
static bool may_start(void)
{
	struct window *window;

	return throttle_ask(rig.throttle, THROTTLE_NO_KEY, rig.now, &window) <= rig.now;
}

static void ask(void)
{
	struct window *window;
	mtime at = throttle_ask(rig.throttle, THROTTLE_NO_KEY, rig.now, &window);

	ck_assert_int_gt(at, rig.now);
	if (throttle_channel_deadline(rig.channel, true) == MTIME_NEVER) {
		rig.now = at; /* the latest answer named it */
		ck_assert(!may_start());
	}
	rig.now = mtime_max(rig.now, throttle_channel_deadline(rig.channel, true));
	tick();
	expect("ask3");
}

/* ---------- messages ---------- */

/* As the broker and a leader do with the latest request. */
static void grant(uint32_t starts)
{
	const struct throttle_answer answer = {.leader = OTHER,
		.member = OWN,
		.number = rig.asked.number,
		.figures = rig.asked.figures,
		.stamp = rig.now,
		.count = 1,
		.keys = {{.key = rig.asked.keys[0].key, .starts = starts}}};

	deliver_answer(&answer);
}

/* ---------- opening ---------- */

START_TEST(the_member_is_up_when_its_requests_are_consumed)
{
	throttle_channel_up(rig.channel, rig.connection, 3);
	expect("open3");
	handle(AMQP_CHANNEL_OPENED);
	expect("consume-answers3");
	handle(AMQP_CONSUME_OK);
	expect("declare3");
	handle(AMQP_QUEUE_DECLARED);
	expect("consume-requests3");
	ck_assert(throttle_channel_deadline(rig.channel, true) == MTIME_NEVER);
	ck_assert(!is_up());
	expect_nothing_logged();
	handle(AMQP_CONSUME_OK);
	expect("");
	ck_assert(is_up());
	expect_logged(LOG_INFO, "queue \"wpool.throttle.erp\"");
}
END_TEST

START_TEST(a_queue_that_may_not_be_declared_is_only_checked)
{
	throttle_channel_up(rig.channel, rig.connection, 3);
	declare();
	close_with(403, "no right");
	declare();
	expect("open3 consume-answers3 declare3 open3 consume-answers3 check3");
	expect_nothing_logged();
	start_requests();
	expect("consume-requests3");
	ck_assert(is_up());
	close_with(541, "why"); /* it may have got the right meanwhile */
	expect("");
	reopen();
	declare();
	expect("consume-answers3 declare3");
}
END_TEST

START_TEST(a_missing_queue_that_may_not_be_declared_is_named_once)
{
	throttle_channel_up(rig.channel, rig.connection, 3);
	for (int i = 0; i < 3; i++) {
		declare();
		close_with(403, "no right");
		declare();
		close_with(404, "no queue");
		if (i == 0)
			expect_logged(LOG_WARN,
				"queue \"wpool.throttle.erp\" does not exist, and the broker does "
				"not let us declare it: no task starts");
		expect_nothing_logged();
		rig.calls[0] = '\0';
		/* 100 ms, doubled each time, less a quarter at most */
		mtime wait = reopen();
		ck_assert_int_le(wait, 100 * MTIME_MS << i);
		ck_assert_int_ge(wait, 75 * MTIME_MS << i);
	}
	declare();
	start_requests();
	expect_logged(LOG_INFO, "asks for its starts");
	ck_assert(is_up());
}
END_TEST

START_TEST(a_queue_of_another_kind_is_named_once)
{
	throttle_channel_up(rig.channel, rig.connection, 3);
	declare();
	close_with(406, "inequivalent arg\n'x-queue-type'");
	expect_logged(LOG_WARN,
		"no quorum queue with a single active consumer (inequivalent arg\\n'x-queue-type')");
	rig.calls[0] = '\0';
	reopen();
	declare();
	close_with(406, "inequivalent arg\n'x-queue-type'");
	expect_nothing_logged();
}
END_TEST

/* Only the answer to a declare shows of which kind it is, and whether it is there. */
START_TEST(a_channel_that_is_closed_later_is_opened_again)
{
	static const uint16_t codes[] = {404, 406, 541};

	consume();
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		char expected[100];
		close_with(codes[i], "by\ntest");
		ck_assert(!is_up());
		snprintf(expected, sizeof expected,
			"the broker closed the channel of queue \"wpool.throttle.erp\" (%u "
			"by\\ntest)",
			codes[i]);
		expect_logged(LOG_WARN, expected);
		reopen();
		declare();
		start_requests();
		expect("consume-answers3 declare3 consume-requests3");
		ck_assert(is_up());
	}
}
END_TEST

/* For lack of the right to write, for example, which only the first request shows. */
START_TEST(a_channel_that_is_closed_for_each_request_is_named_once)
{
	consume();
	ask();
	close_with(403, "no right");
	expect_logged(LOG_WARN, "403 no right");
	for (int i = 0; i < 2; i++) {
		mtime wait = reopen();
		ck_assert_int_ge(wait, 75 * MTIME_MS << i);
		declare();
		start_requests();
		expect("consume-answers3 declare3 consume-requests3");
		ask();
		if (i == 0)
			close_with(403, "no right");
		expect_nothing_logged();
	}
	grant(1); /* an operator has given the right */
	expect_logged(LOG_INFO, "again");
	close_with(403, "no right");
	expect_logged(LOG_WARN, "403 no right");
	ck_assert_int_le(reopen(), 100 * MTIME_MS);
}
END_TEST

START_TEST(a_cancelled_consumer_is_replaced_on_another_channel)
{
	consume();
	handle(AMQP_CANCELLED);
	expect("close3");
	ck_assert(!is_up());
	expect_logged(LOG_WARN, "cancelled the consumer of queue \"wpool.throttle.erp\"");
	reopen();
	handle(AMQP_CHANNEL_CLOSE_OK); /* of the number that was still in use */
	expect("open3");
	declare();
	start_requests();
	expect("consume-answers3 declare3 consume-requests3");
	ck_assert(is_up());
}
END_TEST

START_TEST(a_channel_that_has_closed_waits_all_the_same)
{
	consume();
	handle(AMQP_CANCELLED);
	handle(AMQP_CHANNEL_CLOSE_OK);
	expect("close3");
	reopen();
}
END_TEST

START_TEST(a_connection_that_is_lost_leaves_nothing)
{
	consume();
	ask();
	throttle_channel_down(rig.channel);
	ck_assert(!is_up());
	ck_assert(throttle_channel_deadline(rig.channel, true) == MTIME_NEVER);
	rig.now += MTIME_MINUTE;
	tick();
	expect("");
	throttle_channel_up(rig.channel, rig.connection, 4);
	expect("open4");
	declare();
	start_requests();
	expect("consume-answers4 declare4 consume-requests4");
	ck_assert(is_up());
	ck_assert(!may_start());
	tick();
	expect("ask4");
}
END_TEST

START_TEST(a_connection_that_is_lost_while_it_waits_ends_the_wait)
{
	consume();
	close_with(541, "why");
	throttle_channel_down(rig.channel);
	ck_assert(throttle_channel_deadline(rig.channel, true) == MTIME_NEVER);
	rig.now += MTIME_MINUTE;
	tick();
	expect("");
}
END_TEST

START_TEST(a_throttle_that_is_freed_closes_its_channel)
{
	consume();
	throttle_channel_free(rig.channel);
	expect("close3");
	rig.channel = throttle_channel_new(rig.member, TEXT("erp"), &rig.log, 1);
	throttle_channel_up(rig.channel, rig.connection, 3);
	throttle_channel_down(rig.channel);
	throttle_channel_free(rig.channel);
	expect("open3");
	throttle_channel_free(NULL);
	rig.channel = NULL;
}
END_TEST

/* ---------- requests and answers ---------- */

START_TEST(a_refused_task_is_asked_for_and_starts_with_the_answer)
{
	consume();
	ck_assert(throttle_channel_deadline(rig.channel, false) == MTIME_NEVER);
	throttle_channel_tick(rig.channel, false, rig.now);
	expect("");
	tick(); /* it asks for nothing, to hear of the figures */
	expect("ask3");
	ck_assert_uint_eq(rig.asked.count, 0);
	ask();
	ck_assert_uint_eq(rig.asked.member, OWN);
	ck_assert_uint_eq(rig.asked.count, 1);
	ck_assert_uint_eq(rig.asked.keys[0].key, THROTTLE_NO_KEY);
	ck_assert_uint_eq(rig.asked.keys[0].starts, 1);
	tick();
	expect("");
	rig.now += MTIME_MS;
	grant(1);
	expect("");
	ck_assert(may_start());
}
END_TEST

START_TEST(nothing_is_asked_for_before_requests_are_consumed)
{
	throttle_channel_up(rig.channel, rig.connection, 3);
	ck_assert(!may_start());
	declare();
	handle(AMQP_QUEUE_DECLARED);
	rig.calls[0] = '\0';
	tick();
	expect("");
	handle(AMQP_CONSUME_OK);
	ck_assert(throttle_channel_deadline(rig.channel, true) <= rig.now);
	tick();
	expect("ask3");
}
END_TEST

/* Its returned starts would go back twice. */
START_TEST(a_request_that_was_delivered_before_is_dropped)
{
	struct throttle_request request = request_of_other();

	consume();
	rig.is_redelivered = true;
	deliver_request(&request, ADDRESS);
	expect("");
	rig.is_redelivered = false;
	deliver_request(&request, ADDRESS);
	expect("answer3");
	expect_nothing_logged();
}
END_TEST

START_TEST(a_request_of_another_is_answered_to_its_address)
{
	struct throttle_request request = request_of_other();

	consume();
	deliver_request(&request, ADDRESS);
	expect("answer3");
	ck_assert(text_is(ADDRESS, text_from(rig.address)));
	ck_assert_uint_eq(rig.answered.leader, OWN);
	ck_assert_uint_eq(rig.answered.member, OTHER);
	ck_assert_uint_eq(rig.answered.number, 44);
	ck_assert_uint_eq(rig.answered.count, 1);
	ck_assert_uint_eq(rig.answered.keys[0].starts, 0); /* it has not proved that it leads */
	ck_assert(rig.answered.keys[0].is_unsure);
	expect_nothing_logged();
	tick(); /* with a request of its own */
	expect("ask3");
}
END_TEST

/* As the broker does with what this one sends while it is the active consumer. */
static void return_all(void)
{
	struct throttle_request request = rig.asked;
	struct throttle_answer answer;

	ck_assert(!member_facts(rig.member, rig.now).is_leading || is_up());
	deliver_request(&request, ADDRESS);
	expect("answer3");
	answer = rig.answered;
	deliver_answer(&answer);
}

START_TEST(an_own_request_that_comes_back_proves_that_it_leads)
{
	mtime began;

	consume();
	ask();
	began = rig.now;
	ck_assert(!member_facts(rig.member, rig.now).is_leading);
	return_all();
	ck_assert(member_facts(rig.member, rig.now).is_leading);
	ck_assert(member_facts(rig.member, rig.now).is_silent);
	while (!may_start()) {
		ck_assert_int_lt(rig.now - began, 2 * MTIME_SECOND);
		rig.now =
			mtime_max(rig.now + MTIME_MS, throttle_channel_deadline(rig.channel, true));
		tick();
		if (*rig.calls) {
			expect("ask3");
			return_all();
		}
	}
	ck_assert_int_ge(rig.now - began, PERIOD + LEASE_MAX);
	ck_assert(!member_facts(rig.member, rig.now).is_silent);
}
END_TEST

/* It cannot know what others grant now. */
START_TEST(a_closed_channel_ends_the_lead)
{
	consume();
	ask();
	return_all();
	close_with(541, "why");
	ck_assert(!member_facts(rig.member, rig.now).is_leading);
	consume();
	ask();
	return_all();
	throttle_channel_down(rig.channel);
	ck_assert(!member_facts(rig.member, rig.now).is_leading);
}
END_TEST

START_TEST(what_comes_after_the_channel_was_left_is_dropped)
{
	struct throttle_request request = request_of_other();

	consume();
	handle(AMQP_CANCELLED);
	expect("close3");
	rig.logged[0] = '\0';
	deliver_request(&request, ADDRESS);
	deliver("wpool-requests", TEXT(""), TEXT("hello"));
	expect("");
	expect_nothing_logged();
}
END_TEST

/* ---------- what is neither ---------- */

static void deliver_garbage(void)
{
	deliver("wpool-requests", TEXT("\0\0"), TEXT("hello"));
}

static void deliver_garbage_as_answer(void)
{
	deliver("wpool-answers", TEXT("\0\0"), TEXT("hello"));
}

static void deliver_request_as_answer(void)
{
	struct throttle_request request = request_of_other();
	struct amqp_publish publish;

	ck_assert_int_eq(throttle_request_write(&request, QUEUE, &rig.message, &publish), RC_OK);
	deliver("wpool-answers", publish.properties, publish.body);
}

static void deliver_with_figures(struct text reply_to)
{
	struct throttle_request request = request_of_other();

	request.figures.version = 5;
	request.figures.limit = 1000;
	deliver_request(&request, reply_to);
}

static void deliver_without_address(void)
{
	deliver_with_figures(TEXT(""));
}

static void deliver_with_a_queue_as_address(void)
{
	deliver_with_figures(TEXT("orders"));
}

static void deliver_with_malformed_properties(void)
{
	struct throttle_request request = request_of_other();
	struct amqp_publish publish;

	ck_assert_int_eq(throttle_request_write(&request, QUEUE, &rig.message, &publish), RC_OK);
	deliver("wpool-requests", TEXT("\2\0\40amq"), publish.body);
}

static const struct {
	void (*deliver)(void);
	const char *logged;
} forged[] = {
	{deliver_garbage, "a message in queue \"wpool.throttle.erp\" is no request ("},
	{deliver_without_address, "is no request (it has no address for the answer)"},
	{deliver_with_a_queue_as_address, "is no request (it has no address for the answer)"},
	{deliver_with_malformed_properties, "is no request (it has no address for the answer)"},
	{deliver_garbage_as_answer, "is no answer ("},
	{deliver_request_as_answer, "is no answer (it is no answer)"},
};
#define FORGED ((int)(sizeof forged / sizeof *forged))

START_TEST(what_is_no_request_and_no_answer_is_named_once)
{
	consume();
	ask();
	forged[_i].deliver();
	expect_logged(LOG_ERROR, forged[_i].logged);
	for (int i = 0; i < FORGED; i++)
		forged[i].deliver();
	expect_nothing_logged();
	expect("");
	ck_assert_uint_eq(member_figures(rig.member).version, 0);
	ck_assert_uint_eq(throttle_figures(rig.throttle)->limit, 2);
	grant(1); /* its request is still open */
	ck_assert(may_start());
}
END_TEST

/* ---------- deadlines ---------- */

START_TEST(its_deadline_is_that_of_the_member_or_of_the_next_channel)
{
	ck_assert(throttle_channel_deadline(rig.channel, true) == MTIME_NEVER);
	consume();
	ck_assert(!may_start());
	ck_assert(throttle_channel_deadline(rig.channel, true) == member_deadline(rig.member));
	tick();
	expect("ask3");
	ck_assert(throttle_channel_deadline(rig.channel, true) == rig.now + rig.asked.lease);
	close_with(541, "why");
	ck_assert(member_deadline(rig.member) == MTIME_NEVER);
	ck_assert_int_gt(throttle_channel_deadline(rig.channel, true), rig.now);
	reopen();
	ck_assert(throttle_channel_deadline(rig.channel, true) == MTIME_NEVER);
}
END_TEST

static Suite *throttle_channel_suite(void)
{
	Suite *suite = suite_create("broker/throttle_channel");
	TCase *forged_case = tcase_create("forged");

	UNIT_CASE_WITH(suite, "opening", set_up, channel_rig_tear_down,
		the_member_is_up_when_its_requests_are_consumed,
		a_queue_that_may_not_be_declared_is_only_checked,
		a_missing_queue_that_may_not_be_declared_is_named_once,
		a_queue_of_another_kind_is_named_once,
		a_channel_that_is_closed_later_is_opened_again,
		a_channel_that_is_closed_for_each_request_is_named_once,
		a_cancelled_consumer_is_replaced_on_another_channel,
		a_channel_that_has_closed_waits_all_the_same,
		a_connection_that_is_lost_leaves_nothing,
		a_connection_that_is_lost_while_it_waits_ends_the_wait,
		a_throttle_that_is_freed_closes_its_channel);
	UNIT_CASE_WITH(suite, "messages", set_up, channel_rig_tear_down,
		a_refused_task_is_asked_for_and_starts_with_the_answer,
		nothing_is_asked_for_before_requests_are_consumed,
		a_request_of_another_is_answered_to_its_address,
		a_request_that_was_delivered_before_is_dropped,
		an_own_request_that_comes_back_proves_that_it_leads, a_closed_channel_ends_the_lead,
		what_comes_after_the_channel_was_left_is_dropped,
		its_deadline_is_that_of_the_member_or_of_the_next_channel);
	tcase_add_checked_fixture(forged_case, set_up, channel_rig_tear_down);
	tcase_add_loop_test(forged_case, what_is_no_request_and_no_answer_is_named_once, 0, FORGED);
	suite_add_tcase(suite, forged_case);
	return suite;
}

UNIT_MAIN(throttle_channel_suite)
