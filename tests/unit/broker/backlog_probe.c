/* When the probe asks for the backlog: one request at a time, on a channel that each may close. The
 * channel is a fake of this test, which records its calls. */
#include "broker/backlog/backlog_probe.h"

#include "unit/unit.h"

#include <stdio.h>

#define CHANNEL 2

static char calls[64]; /* a letter for each call */
static bool is_open;
static uint16_t channel_max;

static void record_call(const char *letter)
{
	ck_assert_uint_lt(strlen(calls) + 1, sizeof calls);
	strcat(calls, letter);
}

uint16_t connection_channel_max(const struct connection *connection)
{
	(void)connection;
	return channel_max;
}

void channel_open(struct connection *connection, uint16_t channel)
{
	(void)connection;
	ck_assert_uint_eq(channel, CHANNEL);
	ck_assert(!is_open);
	record_call("o");
}

bool channel_is_open(const struct connection *connection, uint16_t channel)
{
	(void)connection;
	ck_assert_uint_eq(channel, CHANNEL);
	return is_open;
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection;
	ck_assert_uint_eq(channel, CHANNEL);
	ck_assert(is_open);
	ck_assert(text_is(queue->name, TEXT("orders")));
	/* The other one must not be able to make a queue. */
	ck_assert(queue->passive || (queue->durable && queue->argument_count == 1 &&
					    strcmp(queue->arguments[0].key, "x-max-length") == 0 &&
					    queue->arguments[0].number == -1));
	record_call(queue->passive ? "?" : "d");
}

void channel_consume_nothing(struct connection *connection, uint16_t channel, struct text queue)
{
	(void)connection;
	ck_assert_uint_eq(channel, CHANNEL);
	ck_assert(is_open);
	ck_assert(text_is(queue, TEXT("orders")));
	record_call("t");
}

void channel_close(struct connection *connection, uint16_t channel)
{
	(void)connection;
	ck_assert_uint_eq(channel, CHANNEL);
	record_call("x");
}

static struct backlog_probe probe;
static mtime now;

static void expect_calls(const char *expected)
{
	ck_assert_str_eq(calls, expected);
	calls[0] = '\0';
}

static void expect_backlog(mtime at, uint32_t messages)
{
	ck_assert_int_eq(probe.backlog.at, at);
	if (at != MTIME_NEVER)
		ck_assert_uint_eq(probe.backlog.messages, messages);
}

static void handle_event(enum amqp_event_kind kind, uint32_t messages)
{
	struct amqp_event event = {.kind = kind, .channel = CHANNEL, .messages = messages};
	is_open = kind == AMQP_CHANNEL_OPENED || (is_open && kind != AMQP_CHANNEL_CLOSED);
	backlog_probe_on_event(&probe, &event, now);
}

/* Check that the probe acts after span, and not earlier. */
static void wait_for(mtime span)
{
	ck_assert_int_eq(backlog_probe_deadline(&probe), now + span);
	now += span - 1;
	backlog_probe_tick(&probe, now);
	expect_calls("");
	backlog_probe_tick(&probe, ++now);
}

static void connect(uint16_t max)
{
	is_open = false;
	channel_max = max;
	backlog_probe_up(&probe, (struct connection *)calls, CHANNEL, now);
}

static void set_up(void)
{
	calls[0] = '\0';
	now = MTIME_MINUTE;
	backlog_probe_init(&probe, TEXT("orders"));
	ck_assert_int_eq(backlog_probe_deadline(&probe), MTIME_NEVER);
	connect(CHANNEL);
	wait_for(PROBE_FIRST);
	expect_calls("o");
	handle_event(AMQP_CHANNEL_OPENED, 0);
	expect_calls("?");
	expect_backlog(MTIME_NEVER, 0);
}

START_TEST(count_is_requested_periodically)
{
	set_up();
	handle_event(AMQP_QUEUE_DECLARED, 5);
	expect_backlog(now, 5);
	mtime before = now;
	wait_for(PROBE_EVERY);
	expect_calls("?");
	expect_backlog(before, 5);
	handle_event(AMQP_QUEUE_DECLARED, 0);
	expect_backlog(now, 0);
}
END_TEST

/* A consumer that is about to leave is in one answer only. */
START_TEST(a_shared_queue_is_seen_in_two_answers)
{
	struct amqp_event event = {.kind = AMQP_QUEUE_DECLARED, .channel = CHANNEL, .consumers = 2};

	set_up();
	backlog_probe_on_event(&probe, &event, now);
	ck_assert(!probe.backlog.is_shared);
	wait_for(PROBE_EVERY);
	expect_calls("?");
	backlog_probe_on_event(&probe, &event, now);
	ck_assert(probe.backlog.is_shared);
	wait_for(PROBE_EVERY);
	expect_calls("?");
	event.consumers = 1;
	backlog_probe_on_event(&probe, &event, now);
	ck_assert(!probe.backlog.is_shared);
}
END_TEST

START_TEST(no_request_while_an_answer_is_awaited)
{
	set_up();
	ck_assert_int_eq(backlog_probe_deadline(&probe), MTIME_NEVER);
	now += 60 * MTIME_MINUTE;
	backlog_probe_tick(&probe, now);
	expect_calls("");
	handle_event(AMQP_QUEUE_DECLARED, 3);
	expect_backlog(now, 3);
}
END_TEST

START_TEST(missing_queue_is_checked_rarely_until_a_hint)
{
	set_up();
	handle_event(AMQP_QUEUE_DECLARED, 5);
	backlog_probe_hint(&probe, now);
	wait_for(PROBE_EVERY); /* a hint does not shorten this interval */
	expect_calls("?");
	handle_event(AMQP_CHANNEL_CLOSED, 0);
	expect_backlog(MTIME_NEVER, 0);
	wait_for(PROBE_MISSING);
	expect_calls("o");
	handle_event(AMQP_CHANNEL_CLOSED, 0);
	backlog_probe_hint(&probe, now);
	backlog_probe_hint(&probe, now);
	wait_for(PROBE_EVERY); /* after a hint; the check may fail again */
	expect_calls("o");
	handle_event(AMQP_CHANNEL_CLOSED, 0);
	now += PROBE_MISSING / 2;
	backlog_probe_hint(&probe, now);
	backlog_probe_tick(&probe, now);
	expect_calls("o");
	handle_event(AMQP_CHANNEL_OPENED, 0);
	expect_calls("?");
}
END_TEST

START_TEST(backlog_is_unknown_after_the_connection_is_lost)
{
	set_up();
	handle_event(AMQP_QUEUE_DECLARED, 5);
	backlog_probe_down(&probe);
	expect_backlog(MTIME_NEVER, 0);
	ck_assert_int_eq(backlog_probe_deadline(&probe), MTIME_NEVER);
	backlog_probe_hint(&probe, now);
	backlog_probe_tick(&probe, now + MTIME_MINUTE);
	expect_calls("");
	connect(CHANNEL);
	wait_for(PROBE_FIRST);
	expect_calls("o");
}
END_TEST

START_TEST(no_request_above_channel_max)
{
	backlog_probe_init(&probe, TEXT("orders"));
	connect(CHANNEL - 1);
	ck_assert_int_eq(backlog_probe_deadline(&probe), MTIME_NEVER);
}
END_TEST

static void close_for(uint16_t code, const char *reason)
{
	struct amqp_event event = {.kind = AMQP_CHANNEL_CLOSED,
		.channel = CHANNEL,
		.code = code,
		.text = text_from(reason)};
	is_open = false;
	backlog_probe_on_event(&probe, &event, now);
}

/* The texts are those of RabbitMQ 3.10.8 and 4.0.5. */
static const struct {
	uint16_t code;
	const char *reason;
	const char *name;
} types[] = {
	{406,
		"PRECONDITION_FAILED - invalid arg 'x-stream-offset' for queue 'orders' in vhost '/' "
		"of queue type rabbit_classic_queue",
		"classic"},
	{406,
		"PRECONDITION_FAILED - invalid arg 'x-stream-offset' for queue 'orders' in vhost '/' "
		"of queue type rabbit_quorum_queue",
		"quorum"},
	{406,
		"PRECONDITION_FAILED - consumer prefetch count is not set for 'queue 'orders' in "
		"vhost '/''",
		"stream"},
	{406,
		"PRECONDITION_FAILED - consumer prefetch count is not set for stream queue 'orders' "
		"in vhost '/'",
		"stream"},
	{406, "PRECONDITION_FAILED - invalid arg 'x-stream-offset' for queue 'ord...", "unknown"},
	{403, "ACCESS_REFUSED - access to queue 'orders' in vhost '/' refused for user 'clerk'",
		"unknown"},
	{404, "NOT_FOUND - no queue 'orders' in vhost '/'", "unknown"},
};

/* It costs the channel, and the backlog is asked again soon. */
START_TEST(type_is_read_from_the_refusal)
{
	set_up();
	handle_event(AMQP_QUEUE_DECLARED, 5);
	backlog_probe_ask_type(&probe, now);
	wait_for(0);
	expect_calls("t");
	ck_assert(backlog_probe_is_asking_type(&probe));
	ck_assert_int_eq(probe.durability, QUEUE_DURABILITY_UNASKED);
	close_for(types[_i].code, types[_i].reason);
	ck_assert(!backlog_probe_is_asking_type(&probe));
	ck_assert_str_eq(queue_type_name(probe.type), types[_i].name);
	ck_assert_int_eq(
		probe.durability == QUEUE_DURABILITY_UNKNOWN, probe.type == QUEUE_TYPE_UNKNOWN);
	expect_backlog(now, 5);
	wait_for(PROBE_FIRST);
	expect_calls("o");
	handle_event(AMQP_CHANNEL_OPENED, 0);
	expect_calls(probe.type == QUEUE_TYPE_CLASSIC ? "d" : "?");
}
END_TEST

/* The same. */
static const struct {
	uint16_t code;
	const char *reason;
	const char *name;
} durabilities[] = {
	{406,
		"PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'orders' in vhost '/': "
		"received 'true' but current is 'false'",
		"no"},
	{406,
		"PRECONDITION_FAILED - inequivalent arg 'auto_delete' for queue 'orders' in vhost "
		"'/': received 'false' but current is 'true'",
		"yes"},
	{406,
		"PRECONDITION_FAILED - inequivalent arg 'x-max-length' for queue 'orders' in vhost "
		"'/': received the value '-1' of type 'signedint' but current is none",
		"yes"},
	{406,
		"PRECONDITION_FAILED - invalid arg 'x-max-length' for queue 'orders' in vhost '/': "
		"{value_negative,-1}",
		"unknown"},
	{403, "ACCESS_REFUSED - access to queue 'orders' in vhost '/' refused for user 'clerk'",
		"unknown"},
	{405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'orders'",
		"unknown"},
};

START_TEST(durability_of_a_classic_queue_is_read_from_a_refusal)
{
	set_up();
	handle_event(AMQP_QUEUE_DECLARED, 5);
	backlog_probe_ask_type(&probe, now);
	wait_for(0);
	expect_calls("t");
	close_for(types[0].code, types[0].reason);
	ck_assert(!backlog_probe_is_asking_type(&probe)); /* the consumer need not wait */
	ck_assert_str_eq(queue_durability_name(probe.durability), "not-asked");
	wait_for(PROBE_FIRST);
	expect_calls("o");
	handle_event(AMQP_CHANNEL_OPENED, 0);
	expect_calls("d");
	close_for(durabilities[_i].code, durabilities[_i].reason);
	ck_assert_str_eq(queue_durability_name(probe.durability), durabilities[_i].name);
	expect_backlog(now - PROBE_FIRST, 5);
	wait_for(PROBE_FIRST);
	expect_calls("o");
	handle_event(AMQP_CHANNEL_OPENED, 0);
	expect_calls("?");
}
END_TEST

START_TEST(other_types_are_durable)
{
	set_up();
	backlog_probe_ask_type(&probe, now);
	handle_event(AMQP_QUEUE_DECLARED, 5);
	wait_for(0);
	expect_calls("t");
	close_for(types[1].code, types[1].reason);
	ck_assert_int_eq(probe.durability, QUEUE_DURABLE);
	wait_for(PROBE_FIRST);
	expect_calls("o");
	handle_event(AMQP_CHANNEL_OPENED, 0);
	expect_calls("?");
}
END_TEST

START_TEST(type_waits_for_an_open_request)
{
	set_up();
	backlog_probe_ask_type(&probe, now);
	backlog_probe_tick(&probe, now);
	expect_calls("");
	close_for(404, "NOT_FOUND - no queue");
	wait_for(0);
	expect_calls("o");
	handle_event(AMQP_CHANNEL_OPENED, 0);
	expect_calls("t");
	handle_event(AMQP_CONSUME_OK, 0); /* no known broker */
	expect_calls("x");
	ck_assert(!backlog_probe_is_asking_type(&probe));
	ck_assert_int_eq(probe.type, QUEUE_TYPE_UNKNOWN);
	is_open = false;
	handle_event(AMQP_CHANNEL_CLOSE_OK, 0);
	wait_for(PROBE_FIRST);
	expect_calls("o");
}
END_TEST

START_TEST(type_is_unknown_without_a_connection)
{
	set_up();
	backlog_probe_ask_type(&probe, now);
	backlog_probe_down(&probe);
	ck_assert(!backlog_probe_is_asking_type(&probe));
	backlog_probe_ask_type(&probe, now);
	ck_assert(!backlog_probe_is_asking_type(&probe));
	ck_assert_int_eq(probe.type, QUEUE_TYPE_UNKNOWN);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/backlog_probe");
	UNIT_CASE(s, "probe", count_is_requested_periodically,
		a_shared_queue_is_seen_in_two_answers, no_request_while_an_answer_is_awaited,
		missing_queue_is_checked_rarely_until_a_hint,
		backlog_is_unknown_after_the_connection_is_lost, no_request_above_channel_max);
	UNIT_CASE(s, "type", other_types_are_durable, type_waits_for_an_open_request,
		type_is_unknown_without_a_connection);
	TCase *texts = tcase_create("texts");
	tcase_add_loop_test(texts, type_is_read_from_the_refusal, 0, sizeof types / sizeof *types);
	tcase_add_loop_test(texts, durability_of_a_classic_queue_is_read_from_a_refusal, 0,
		sizeof durabilities / sizeof *durabilities);
	suite_add_tcase(s, texts);
	return s;
}

UNIT_MAIN(suite)
