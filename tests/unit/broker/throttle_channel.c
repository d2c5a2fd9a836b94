/* The channel of a shared throttle: opened in its order, opened again, closed; requests, answers,
 * and messages that are neither. The channel is a fake of this test, which records its calls; the
 * throttle and its member are real. Times are made up. */
#include "broker/throttle/throttle_channel.h"

#include "amqp/properties.h"
#include "broker/throttle/throttle_message.h"
#include "core/throttle/throttle.h"
#include "unit/unit.h"

#include <stdio.h>

#define QUEUE   TEXT("wpool.throttle.erp")
#define ADDRESS TEXT("amq.rabbitmq.reply-to.g1h2.AAE=")
#define PERIOD  SHARED_PERIOD_MIN

enum { OWN = 7, OTHER = 9 };

const char amqp_true[] = "true"; /* a fake, too */

/* What a fake connection got. */
static char calls[256], address[SHORT_STRING_MAX + 1];
static struct throttle_request asked;   /* the latest that was published */
static struct throttle_answer answered; /* the same */

static void record_call(const char *what, uint16_t channel)
{
	size_t len = strlen(calls);

	snprintf(calls + len, sizeof calls - len, "%s%s%u", len > 0 ? " " : "", what, channel);
	ck_assert_uint_lt(strlen(calls), sizeof calls - 1);
}

void channel_open(struct connection *connection, uint16_t channel)
{
	(void)connection;
	record_call("open", channel);
}

void channel_close(struct connection *connection, uint16_t channel)
{
	(void)connection;
	record_call("close", channel);
}

void channel_cancel(struct connection *connection, uint16_t channel, struct text consumer)
{
	(void)connection, (void)consumer;
	record_call("cancel", channel);
}

static void expect_argument(
	const struct amqp_argument *argument, const char *key, const char *string, int64_t number)
{
	ck_assert_str_eq(argument->key, key);
	ck_assert_pstr_eq(argument->string, string);
	ck_assert_int_eq(argument->number, number);
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection;
	ck_assert(text_is(queue->name, QUEUE));
	ck_assert(queue->durable && !queue->exclusive && !queue->auto_delete);
	ck_assert_uint_eq(queue->argument_count, 3);
	expect_argument(&queue->arguments[0], "x-queue-type", "quorum", 0);
	expect_argument(&queue->arguments[1], "x-single-active-consumer", amqp_true, 0);
	ck_assert_ptr_eq(queue->arguments[1].string, amqp_true);
	expect_argument(&queue->arguments[2], "x-expires", NULL, 86400000);
	record_call(queue->passive ? "check" : "declare", channel);
}

void channel_consume(struct connection *connection, uint16_t channel, struct text queue,
	struct text consumer, bool no_ack)
{
	bool is_for_answers = text_is(queue, TEXT("amq.rabbitmq.reply-to"));

	(void)connection;
	ck_assert(no_ack);
	ck_assert(is_for_answers || text_is(queue, QUEUE));
	ck_assert(
		text_is(consumer, is_for_answers ? TEXT("wpool-answers") : TEXT("wpool-requests")));
	record_call(is_for_answers ? "consume-answers" : "consume-requests", channel);
}

void channel_publish(
	struct connection *connection, uint16_t channel, const struct amqp_publish *publish)
{
	struct properties properties;

	(void)connection;
	ck_assert(text_is(publish->exchange, TEXT("")));
	ck_assert_int_eq(properties_parse(publish->properties, &properties), RC_OK);
	if (text_is(publish->routing_key, QUEUE)) {
		ck_assert_pstr_eq(throttle_request_read(publish->body, &asked), NULL);
		ck_assert(text_is(
			properties.value[PROPERTY_REPLY_TO], TEXT("amq.rabbitmq.reply-to")));
		record_call("ask", channel);
	} else {
		ck_assert_pstr_eq(throttle_answer_read(publish->body, &answered), NULL);
		snprintf(address, sizeof address, "%.*s", TEXT_ARGS(publish->routing_key));
		record_call("answer", channel);
	}
}

/* ---------- the rig ---------- */

static char logged[1024]; /* the latest line of logged_level or above */
static enum log_level logged_level;
static struct throttle *throttle;
static struct member *member;
static struct throttle_channel *channel;
static struct connection *const connection = (struct connection *)calls;
static mtime now;
static struct buf message; /* what a test delivers */

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	if (level < LOG_INFO)
		return;
	logged_level = level;
	snprintf(logged, sizeof logged, "%s", text);
}

static const struct channel_log channel_log = {on_log_line, NULL};

static void set_up(void)
{
	const struct throttle_figures figures = {.limit = 2, .period = PERIOD, .max_keys = 1};

	calls[0] = address[0] = logged[0] = '\0';
	now = MTIME_MINUTE;
	buf_init(&message, THROTTLE_MESSAGE_MAX);
	throttle = throttle_new(&figures, 1);
	ck_assert_ptr_nonnull(throttle);
	member = member_new(throttle, OWN);
	ck_assert_ptr_nonnull(member);
	channel = throttle_channel_new(member, TEXT("erp"), &channel_log, 1);
	ck_assert_ptr_nonnull(channel);
}

static void tear_down(void)
{
	throttle_channel_free(channel);
	member_free(member);
	throttle_free(throttle);
	buf_release(&message);
}

static void expect(const char *wanted)
{
	ck_assert_str_eq(calls, wanted);
	calls[0] = '\0';
}

static void expect_logged(enum log_level level, const char *part)
{
	ck_assert_int_eq(logged_level, level);
	ck_assert_msg(strstr(logged, part), "%s", logged);
	logged[0] = '\0';
}

static void expect_nothing_logged(void)
{
	ck_assert_str_eq(logged, "");
}

static bool is_up(void)
{
	return member_facts(member, now).grants.is_up;
}

static void handle(enum amqp_event_kind kind)
{
	throttle_channel_on_event(channel, &(struct amqp_event){.kind = kind, .channel = 3}, now);
}

static void close_with(uint16_t code, const char *why)
{
	const struct amqp_event event = {
		.kind = AMQP_CHANNEL_CLOSED, .channel = 3, .code = code, .text = text_from(why)};

	throttle_channel_on_event(channel, &event, now);
}

static void tick(void)
{
	throttle_channel_tick(channel, true, now);
}

/* Wait until it opens the channel again. Return for how long. */
static mtime reopen(void)
{
	mtime began = now;

	now = throttle_channel_deadline(channel, true) - 1;
	tick();
	expect("");
	now++;
	tick();
	expect("open3");
	return now - began;
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

static void consume(void)
{
	throttle_channel_up(channel, connection, 3);
	declare();
	start_requests();
	expect("open3 consume-answers3 declare3 consume-requests3");
	logged[0] = '\0';
}

/* A task asks for its start. */
static bool may_start(void)
{
	struct window *window;

	return throttle_ask(throttle, THROTTLE_NO_KEY, now, &window) <= now;
}

static void ask(void)
{
	struct window *window;
	mtime at = throttle_ask(throttle, THROTTLE_NO_KEY, now, &window);

	ck_assert_int_gt(at, now);
	if (throttle_channel_deadline(channel, true) == MTIME_NEVER) {
		now = at; /* the latest answer named it */
		ck_assert(!may_start());
	}
	now = mtime_max(now, throttle_channel_deadline(channel, true));
	tick();
	expect("ask3");
}

/* ---------- messages ---------- */

static bool is_redelivered;

static void deliver(const char *tag, struct text properties, struct text body)
{
	const struct amqp_event event = {.kind = AMQP_DELIVERY,
		.channel = 3,
		.redelivered = is_redelivered,
		.consumer = text_from(tag),
		.content = {.properties = properties, .body = body}};

	throttle_channel_on_event(channel, &event, now);
}

static void deliver_request(const struct throttle_request *request, struct text reply_to)
{
	struct properties properties = {0};
	struct amqp_publish publish;
	struct buf raw;

	ck_assert_int_eq(throttle_request_write(request, QUEUE, &message, &publish), RC_OK);
	if (reply_to.len > 0)
		properties_set(&properties, PROPERTY_REPLY_TO, reply_to);
	buf_init(&raw, 1024);
	properties_write(&properties, &raw);
	deliver("wpool-requests", buf_text(&raw), publish.body);
	buf_release(&raw);
}

static void deliver_answer(const struct throttle_answer *answer)
{
	struct amqp_publish publish;

	ck_assert_int_eq(throttle_answer_write(answer, ADDRESS, &message, &publish), RC_OK);
	deliver("wpool-answers", publish.properties, publish.body);
}

/* As the broker and a leader do with the latest request. */
static void grant(uint32_t starts)
{
	const struct throttle_answer answer = {.leader = OTHER,
		.member = OWN,
		.number = asked.number,
		.figures = asked.figures,
		.stamp = now,
		.count = 1,
		.keys = {{.key = asked.keys[0].key, .starts = starts}}};

	deliver_answer(&answer);
}

static struct throttle_request request_of_other(void)
{
	return (struct throttle_request){.member = OTHER,
		.number = 44,
		.lease = LEASE_MIN,
		.figures = {.limit = 2, .period = PERIOD},
		.count = 1,
		.keys = {{.key = THROTTLE_NO_KEY, .starts = 1}}};
}

/* ---------- opening ---------- */

START_TEST(the_member_is_up_when_its_requests_are_consumed)
{
	throttle_channel_up(channel, connection, 3);
	expect("open3");
	handle(AMQP_CHANNEL_OPENED);
	expect("consume-answers3");
	handle(AMQP_CONSUME_OK);
	expect("declare3");
	handle(AMQP_QUEUE_DECLARED);
	expect("consume-requests3");
	ck_assert(throttle_channel_deadline(channel, true) == MTIME_NEVER);
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
	throttle_channel_up(channel, connection, 3);
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
	throttle_channel_up(channel, connection, 3);
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
		calls[0] = '\0';
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
	throttle_channel_up(channel, connection, 3);
	declare();
	close_with(406, "inequivalent arg\n'x-queue-type'");
	expect_logged(LOG_WARN,
		"no quorum queue with a single active consumer (inequivalent arg\\n'x-queue-type')");
	calls[0] = '\0';
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
	throttle_channel_down(channel);
	ck_assert(!is_up());
	ck_assert(throttle_channel_deadline(channel, true) == MTIME_NEVER);
	now += MTIME_MINUTE;
	tick();
	expect("");
	throttle_channel_up(channel, connection, 4);
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
	throttle_channel_down(channel);
	ck_assert(throttle_channel_deadline(channel, true) == MTIME_NEVER);
	now += MTIME_MINUTE;
	tick();
	expect("");
}
END_TEST

START_TEST(a_throttle_that_is_freed_closes_its_channel)
{
	consume();
	throttle_channel_free(channel);
	expect("close3");
	channel = throttle_channel_new(member, TEXT("erp"), &channel_log, 1);
	throttle_channel_up(channel, connection, 3);
	throttle_channel_down(channel);
	throttle_channel_free(channel);
	expect("open3");
	throttle_channel_free(NULL);
	channel = NULL;
}
END_TEST

/* ---------- requests and answers ---------- */

START_TEST(a_refused_task_is_asked_for_and_starts_with_the_answer)
{
	consume();
	ck_assert(throttle_channel_deadline(channel, false) == MTIME_NEVER);
	throttle_channel_tick(channel, false, now);
	expect("");
	tick(); /* it asks for nothing, to hear of the figures */
	expect("ask3");
	ck_assert_uint_eq(asked.count, 0);
	ask();
	ck_assert_uint_eq(asked.member, OWN);
	ck_assert_uint_eq(asked.count, 1);
	ck_assert_uint_eq(asked.keys[0].key, THROTTLE_NO_KEY);
	ck_assert_uint_eq(asked.keys[0].starts, 1);
	tick();
	expect("");
	now += MTIME_MS;
	grant(1);
	expect("");
	ck_assert(may_start());
}
END_TEST

START_TEST(nothing_is_asked_for_before_requests_are_consumed)
{
	throttle_channel_up(channel, connection, 3);
	ck_assert(!may_start());
	declare();
	handle(AMQP_QUEUE_DECLARED);
	calls[0] = '\0';
	tick();
	expect("");
	handle(AMQP_CONSUME_OK);
	ck_assert(throttle_channel_deadline(channel, true) <= now);
	tick();
	expect("ask3");
}
END_TEST

/* Its returned starts would go back twice. */
START_TEST(a_request_that_was_delivered_before_is_dropped)
{
	struct throttle_request request = request_of_other();

	consume();
	is_redelivered = true;
	deliver_request(&request, ADDRESS);
	expect("");
	is_redelivered = false;
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
	ck_assert(text_is(ADDRESS, text_from(address)));
	ck_assert_uint_eq(answered.leader, OWN);
	ck_assert_uint_eq(answered.member, OTHER);
	ck_assert_uint_eq(answered.number, 44);
	ck_assert_uint_eq(answered.count, 1);
	ck_assert_uint_eq(answered.keys[0].starts, 0); /* it has not proved that it leads */
	ck_assert(answered.keys[0].is_unsure);
	expect_nothing_logged();
	tick(); /* with a request of its own */
	expect("ask3");
}
END_TEST

/* As the broker does with what this one sends while it is the active consumer. */
static void return_all(void)
{
	struct throttle_request request = asked;
	struct throttle_answer answer;

	ck_assert(!member_facts(member, now).is_leading || is_up());
	deliver_request(&request, ADDRESS);
	expect("answer3");
	answer = answered;
	deliver_answer(&answer);
}

START_TEST(an_own_request_that_comes_back_proves_that_it_leads)
{
	mtime began;

	consume();
	ask();
	began = now;
	ck_assert(!member_facts(member, now).is_leading);
	return_all();
	ck_assert(member_facts(member, now).is_leading);
	ck_assert(member_facts(member, now).is_silent);
	while (!may_start()) {
		ck_assert_int_lt(now - began, 2 * MTIME_SECOND);
		now = mtime_max(now + MTIME_MS, throttle_channel_deadline(channel, true));
		tick();
		if (*calls) {
			expect("ask3");
			return_all();
		}
	}
	ck_assert_int_ge(now - began, PERIOD + LEASE_MAX);
	ck_assert(!member_facts(member, now).is_silent);
}
END_TEST

/* It cannot know what others grant now. */
START_TEST(a_closed_channel_ends_the_lead)
{
	consume();
	ask();
	return_all();
	close_with(541, "why");
	ck_assert(!member_facts(member, now).is_leading);
	consume();
	ask();
	return_all();
	throttle_channel_down(channel);
	ck_assert(!member_facts(member, now).is_leading);
}
END_TEST

START_TEST(what_comes_after_the_channel_was_left_is_dropped)
{
	struct throttle_request request = request_of_other();

	consume();
	handle(AMQP_CANCELLED);
	expect("close3");
	logged[0] = '\0';
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

	ck_assert_int_eq(throttle_request_write(&request, QUEUE, &message, &publish), RC_OK);
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

	ck_assert_int_eq(throttle_request_write(&request, QUEUE, &message, &publish), RC_OK);
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
	ck_assert_uint_eq(member_figures(member).version, 0);
	ck_assert_uint_eq(throttle_figures(throttle)->limit, 2);
	grant(1); /* its request is still open */
	ck_assert(may_start());
}
END_TEST

/* ---------- deadlines ---------- */

START_TEST(its_deadline_is_that_of_the_member_or_of_the_next_channel)
{
	ck_assert(throttle_channel_deadline(channel, true) == MTIME_NEVER);
	consume();
	ck_assert(!may_start());
	ck_assert(throttle_channel_deadline(channel, true) == member_deadline(member));
	tick();
	expect("ask3");
	ck_assert(throttle_channel_deadline(channel, true) == now + asked.lease);
	close_with(541, "why");
	ck_assert(member_deadline(member) == MTIME_NEVER);
	ck_assert_int_gt(throttle_channel_deadline(channel, true), now);
	reopen();
	ck_assert(throttle_channel_deadline(channel, true) == MTIME_NEVER);
}
END_TEST

static Suite *throttle_channel_suite(void)
{
	Suite *suite = suite_create("broker/throttle_channel");
	TCase *forged_case = tcase_create("forged");

	UNIT_CASE_WITH(suite, "opening", set_up, tear_down,
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
	UNIT_CASE_WITH(suite, "messages", set_up, tear_down,
		a_refused_task_is_asked_for_and_starts_with_the_answer,
		nothing_is_asked_for_before_requests_are_consumed,
		a_request_of_another_is_answered_to_its_address,
		a_request_that_was_delivered_before_is_dropped,
		an_own_request_that_comes_back_proves_that_it_leads, a_closed_channel_ends_the_lead,
		what_comes_after_the_channel_was_left_is_dropped,
		its_deadline_is_that_of_the_member_or_of_the_next_channel);
	tcase_add_checked_fixture(forged_case, set_up, tear_down);
	tcase_add_loop_test(forged_case, what_is_no_request_and_no_answer_is_named_once, 0, FORGED);
	suite_add_tcase(suite, forged_case);
	return suite;
}

UNIT_MAIN(throttle_channel_suite)
