/* The channel of a shared throttle when a leader leaves in order: the exchange at the one that
 * leaves and at the one that leads next, and what may come between. The channel is a fake of this
 * test, which records its calls; the throttle and its member are real. Times are made up. */
#include "broker/throttle/throttle_channel.h"

#include "amqp/properties.h"
#include "broker/throttle/throttle_message.h"
#include "core/throttle/throttle.h"
#include "unit/unit.h"

#include <stdio.h>

#define QUEUE   TEXT("wpool.throttle.erp")
#define ADDRESS TEXT("amq.rabbitmq.reply-to.g1h2.AAE=")
#define PERIOD  MTIME_SECOND

enum { OWN = 7, OTHER = 9, THIRD = 11 };

const char amqp_true[] = "true"; /* a fake, too */

/* What a fake connection got. */
static char calls[256], address[SHORT_STRING_MAX + 1];
static struct throttle_request asked; /* the latest that was published */
static struct throttle_answer answered;
static struct throttle_handover handed;
static uint64_t left, taking;

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
	(void)connection;
	ck_assert(text_is(consumer, TEXT("wpool-requests")));
	record_call("cancel", channel);
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection;
	ck_assert(text_is(queue->name, QUEUE));
	record_call(queue->passive ? "count" : "declare", channel);
}

void channel_consume(struct connection *connection, uint16_t channel, struct text queue,
	struct text consumer, bool no_ack)
{
	(void)connection, (void)queue, (void)consumer;
	ck_assert(no_ack);
	record_call("consume", channel);
}

static const char *read_published(const struct amqp_publish *publish)
{
	switch (throttle_message_kind(publish->body)) {
	case THROTTLE_REQUEST:
		ck_assert_pstr_eq(throttle_request_read(publish->body, &asked), NULL);
		return "ask";
	case THROTTLE_ANSWER:
		ck_assert_pstr_eq(throttle_answer_read(publish->body, &answered), NULL);
		return "answer";
	case THROTTLE_LEAVE:
		ck_assert_pstr_eq(throttle_leave_read(publish->body, &left), NULL);
		ck_assert(text_is(publish->routing_key, QUEUE));
		return "leave";
	case THROTTLE_TAKE:
		ck_assert_pstr_eq(throttle_take_read(publish->body, &taking), NULL);
		return "take";
	default:
		ck_assert_pstr_eq(throttle_handover_read(publish->body, &handed), NULL);
		return "handover";
	}
}

void channel_publish(
	struct connection *connection, uint16_t channel, const struct amqp_publish *publish)
{
	(void)connection;
	ck_assert(text_is(publish->exchange, TEXT("")));
	snprintf(address, sizeof address, "%.*s", TEXT_ARGS(publish->routing_key));
	record_call(read_published(publish), channel);
}

/* ---------- the rig ---------- */

static char logged[1024]; /* the latest line */
static struct throttle *throttle;
static struct member *member;
static struct throttle_channel *channel;
static struct connection *const connection = (struct connection *)calls;
static mtime now;
static struct buf message; /* what a test delivers */

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	if (level >= LOG_INFO)
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

static void handle(enum amqp_event_kind kind)
{
	throttle_channel_on_event(channel, &(struct amqp_event){.kind = kind, .channel = 3}, now);
}

static void tick(void)
{
	throttle_channel_tick(channel, true, now);
}

static void consume(void)
{
	throttle_channel_up(channel, connection, 3);
	handle(AMQP_CHANNEL_OPENED);
	handle(AMQP_CONSUME_OK);
	handle(AMQP_QUEUE_DECLARED);
	handle(AMQP_CONSUME_OK);
	expect("open3 consume3 declare3 consume3");
	logged[0] = '\0';
}

static bool is_leading(void)
{
	return member_facts(member, now).is_leading;
}

static bool is_granting(void)
{
	return is_leading() && !member_facts(member, now).is_silent;
}

/* The broker has put the sender's address into reply_to, if it wants an answer. */
static void deliver(const char *tag, struct text body, struct text reply_to)
{
	struct properties properties = {0};
	struct buf raw;

	if (reply_to.len > 0)
		properties_set(&properties, PROPERTY_REPLY_TO, reply_to);
	buf_init(&raw, 1024);
	properties_write(&properties, &raw);
	throttle_channel_on_event(channel,
		&(struct amqp_event){.kind = AMQP_DELIVERY,
			.channel = 3,
			.consumer = text_from(tag),
			.content = {.properties = buf_text(&raw), .body = body}},
		now);
	buf_release(&raw);
}

static void deliver_request(const struct throttle_request *request)
{
	struct amqp_publish publish;

	ck_assert_int_eq(throttle_request_write(request, QUEUE, &message, &publish), RC_OK);
	deliver("wpool-requests", publish.body, ADDRESS);
}

static void deliver_request_of_other(void)
{
	const struct throttle_request request = {.member = OTHER,
		.number = 44,
		.lease = LEASE_MIN,
		.figures = {.limit = 2, .period = PERIOD},
		.count = 1,
		.keys = {{.key = THROTTLE_NO_KEY, .starts = 1}}};

	deliver_request(&request);
}

static void deliver_leave(uint64_t leader)
{
	struct amqp_publish publish;

	ck_assert_int_eq(
		throttle_leave_write(leader, MTIME_SECOND, QUEUE, &message, &publish), RC_OK);
	deliver("wpool-requests", publish.body, ADDRESS);
}

static void deliver_take(void)
{
	struct amqp_publish publish;

	ck_assert_int_eq(throttle_take_write(OTHER, ADDRESS, &message, &publish), RC_OK);
	deliver("wpool-answers", publish.body, ADDRESS);
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
	ck_assert_int_eq(throttle_handover_write(&handover, ADDRESS, &message, &publish), RC_OK);
	deliver("wpool-answers", publish.body, TEXT(""));
}

/* What it asks comes back to it, as to the active consumer, until then. */
static void lead_until(mtime end)
{
	consume();
	while (now < end) {
		struct window *window;
		mtime at = throttle_ask(throttle, THROTTLE_NO_KEY, now, &window);
		(void)at;
		now = mtime_max(now + MTIME_MS, throttle_channel_deadline(channel, true));
		tick();
		if (*calls) {
			struct throttle_request request = asked;
			struct amqp_publish publish;
			expect("ask3");
			deliver_request(&request);
			expect("answer3");
			ck_assert_int_eq(
				throttle_answer_write(&answered, ADDRESS, &message, &publish),
				RC_OK);
			deliver("wpool-answers", publish.body, TEXT(""));
		}
	}
	ck_assert(is_leading());
	logged[0] = '\0';
}

static void lead(void)
{
	lead_until(now + PERIOD + LEASE_MAX + 100 * MTIME_MS);
	ck_assert(is_granting());
}

static void leave(void)
{
	throttle_channel_leave(channel, now);
}

static void count(uint32_t consumers)
{
	throttle_channel_on_event(channel,
		&(struct amqp_event){
			.kind = AMQP_QUEUE_DECLARED, .channel = 3, .consumers = consumers},
		now);
}

static void expect_ended(const char *wanted)
{
	expect(wanted);
	ck_assert(throttle_channel_has_left(channel));
	ck_assert(throttle_channel_deadline(channel, true) == MTIME_NEVER);
	ck_assert(!member_facts(member, now).grants.is_up);
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
	ck_assert(!throttle_channel_has_left(channel));
	handle(AMQP_CANCEL_OK);
	expect("count3");
	count(2);
	expect("leave3");
	ck_assert_uint_eq(left, OWN);
	now += MTIME_MS;
	deliver_take();
	expect_ended("handover3 close3");
	ck_assert(text_is(ADDRESS, text_from(address)));
	ck_assert_uint_eq(handed.leader, OWN);
	ck_assert_uint_eq(handed.member, OTHER);
	ck_assert_uint_ge(handed.count, 1);
	ck_assert_uint_eq(handed.figures.limit, 2);
	ck_assert_int_eq(handed.figures.period, PERIOD);
	ck_assert(handed.sure_for > 0 && handed.sure_for < PERIOD);
	ck_assert(strstr(logged, "has handed the starts of the window to the next leader"));
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
	lead_until(now + PERIOD / 2);
	ck_assert(member_facts(member, now).is_silent);
	leave();
	handle(AMQP_CANCEL_OK);
	count(1);
	deliver_take();
	expect_ended("cancel3 count3 leave3 close3");
	ck_assert_str_eq(logged, "");
}
END_TEST

static void be_offline(void)
{
}

static void be_opening(void)
{
	throttle_channel_up(channel, connection, 3);
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
		calls[0] = '\0';
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
	calls[0] = '\0';
}
#define STEPS 3

START_TEST(it_has_left_after_a_second_at_any_step)
{
	mtime began;

	to_step(_i);
	began = now;
	ck_assert(throttle_channel_deadline(channel, true) == began + MTIME_SECOND);
	now = began + MTIME_SECOND - 1;
	tick();
	expect("");
	ck_assert(!throttle_channel_has_left(channel));
	leave(); /* gives it no more time */
	expect("");
	now++;
	tick();
	expect_ended("close3");
}
END_TEST

START_TEST(it_has_left_when_the_channel_the_consumer_or_the_connection_is_gone)
{
	to_step(_i / 3);
	if (_i % 3 == 0) {
		throttle_channel_on_event(channel,
			&(struct amqp_event){
				.kind = AMQP_CHANNEL_CLOSED, .channel = 3, .code = 541},
			now);
	} else if (_i % 3 == 1) {
		handle(AMQP_CANCELLED);
	} else {
		throttle_channel_down(channel);
		ck_assert_str_eq(calls, "");
	}
	calls[0] = '\0'; /* it may close what is closed */
	expect_ended("");
	throttle_channel_down(channel);
	throttle_channel_up(channel, connection, 4);
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
	ck_assert(!throttle_channel_has_left(channel));
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
	ck_assert_int_gt(throttle_ask(throttle, THROTTLE_NO_KEY, now, &window), now);
	now = mtime_max(now, throttle_channel_deadline(channel, true));
	tick();
	expect("ask3");
	granted.number = asked.number;
	ck_assert_int_eq(throttle_answer_write(&granted, ADDRESS, &message, &publish), RC_OK);
	deliver("wpool-answers", publish.body, TEXT(""));
	leave();
	expect_ended("close3");
	now += MTIME_MS;
	ck_assert_int_le(throttle_ask(throttle, THROTTLE_NO_KEY, now, &window), now);
	throttle_charge(throttle, window, now);
	now += MTIME_MINUTE;
	ck_assert_int_gt(throttle_ask(throttle, THROTTLE_NO_KEY, now, &window), now);
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
	now += MTIME_MINUTE;
	tick();
	expect_ended("");
	throttle_channel_down(channel);
	throttle_channel_up(channel, connection, 4);
	expect_ended("");
}
END_TEST

/* ---------- the one that leads next ---------- */

START_TEST(the_next_leader_asks_and_leads_without_a_silence)
{
	consume();
	deliver_leave(OTHER);
	expect("take3");
	ck_assert_uint_eq(taking, OWN);
	ck_assert(text_is(ADDRESS, text_from(address)));
	now += 10 * MTIME_MS;
	deliver_handover(OTHER);
	expect("");
	ck_assert(is_granting());
	deliver_request_of_other();
	expect("answer3");
	ck_assert_uint_eq(answered.keys[0].starts, 1);
	deliver_request_of_other();
	expect("answer3");
	ck_assert_uint_eq(answered.keys[0].starts, 0); /* with the one that was handed over */
	now += PERIOD / 2 - 10 * MTIME_MS - 1;         /* since the question */
	ck_assert(is_leading());
	now++;
	ck_assert(!is_leading());
	ck_assert_str_eq(logged, "");
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
	now += 400 * MTIME_MS;
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
	now += PERIOD / 2;
	deliver_handover(OTHER);
	ck_assert(!is_leading());
}
END_TEST

START_TEST(what_is_no_leave_and_no_handover_is_named)
{
	consume();
	deliver("wpool-requests", TEXT("\x93\1\2\7"), TEXT("orders"));
	ck_assert(strstr(logged, "it has no address for the answer"));
	logged[0] = '\0';
	deliver("wpool-requests", TEXT("\x93\1\2\0"), ADDRESS);
	deliver("wpool-answers", TEXT("\x93\1\4\0"), TEXT(""));
	expect("");
	ck_assert_str_eq(logged, ""); /* once */
	throttle_channel_free(channel);
	channel = throttle_channel_new(member, TEXT("erp"), &channel_log, 1);
	ck_assert_ptr_nonnull(channel);
	calls[0] = '\0';
	consume();
	deliver("wpool-answers", TEXT("\x93\1\4\0"), TEXT(""));
	ck_assert(strstr(logged, "is no handover ("));
	ck_assert(!is_leading());
}
END_TEST

static Suite *throttle_channel_leave_suite(void)
{
	Suite *suite = suite_create("broker/throttle_channel_leave");
	TCase *steps = tcase_create("steps");

	UNIT_CASE_WITH(suite, "leaving", set_up, tear_down, a_leader_hands_over_and_has_left,
		a_leader_without_others_has_left_at_once, a_silent_leader_has_nothing_to_hand_over,
		it_asks_for_nothing_and_starts_what_was_granted,
		what_comes_after_its_end_is_ignored);
	tcase_add_checked_fixture(steps, set_up, tear_down);
	tcase_add_loop_test(
		steps, one_that_does_not_lead_has_left_at_once, 0, sizeof idle / sizeof *idle);
	tcase_add_loop_test(steps, it_has_left_after_a_second_at_any_step, 0, STEPS);
	tcase_add_loop_test(steps,
		it_has_left_when_the_channel_the_consumer_or_the_connection_is_gone, 0, 3 * STEPS);
	tcase_add_loop_test(steps, what_comes_out_of_turn_changes_nothing, 0, STEPS);
	suite_add_tcase(suite, steps);
	UNIT_CASE_WITH(suite, "next", set_up, tear_down,
		the_next_leader_asks_and_leads_without_a_silence,
		what_was_not_asked_for_is_not_taken_over,
		what_the_first_of_two_that_leave_sends_is_not_taken_for_the_second_ones,
		a_handover_that_comes_too_late_is_not_taken_over,
		what_is_no_leave_and_no_handover_is_named);
	return suite;
}

UNIT_MAIN(throttle_channel_leave_suite)
