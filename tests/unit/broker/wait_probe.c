/* When the probe asks for the messages in wait queues: one queue after the other, and one that is
 * missing only once. The channel is a fake of this test, which records its calls. */
#include "broker/backlog/wait_probe.h"

#include "message/retry_queue.h"
#include "unit/unit.h"

#include <stdio.h>

#define CHANNEL 5
#define ALL     ((UINT32_C(1) << WAIT_STEPS_MAX) - 1)

static char calls[4096]; /* "open", or the name of a queue; each with a space behind it */
static bool is_open;
static uint16_t channel_max;

static void record_call(struct text call)
{
	size_t used = strlen(calls);
	snprintf(calls + used, sizeof calls - used, "%.*s ", TEXT_ARGS(call));
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
	record_call(TEXT("open"));
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
	ck_assert(queue->passive); /* it must not make a queue */
	record_call(queue->name);
}

void channel_close(struct connection *connection, uint16_t channel)
{
	(void)connection;
	ck_abort_msg("it closes channel %u", channel);
}

static struct wait_probe probe;
static mtime now;

static void expect_calls(const char *expected)
{
	ck_assert_str_eq(calls, expected);
	calls[0] = '\0';
}

static void handle_event(enum amqp_event_kind kind, uint32_t messages)
{
	struct amqp_event event = {.kind = kind, .channel = CHANNEL, .messages = messages};
	is_open = kind == AMQP_CHANNEL_OPENED || (is_open && kind != AMQP_CHANNEL_CLOSED);
	wait_probe_on_event(&probe, &event, now);
}

/* Check that the probe acts after span, and not earlier. */
static void wait_for(mtime span)
{
	ck_assert_int_eq(wait_probe_deadline(&probe), now + span);
	now += span - 1;
	wait_probe_tick(&probe, now);
	expect_calls("");
	wait_probe_tick(&probe, ++now);
}

static void connect(uint16_t max)
{
	is_open = false;
	channel_max = max;
	wait_probe_up(&probe, (struct connection *)calls, CHANNEL, now);
}

static void set_up(const char *queue)
{
	calls[0] = '\0';
	now = MTIME_MINUTE;
	wait_probe_init(&probe, text_from(queue));
	ck_assert_int_eq(wait_probe_deadline(&probe), MTIME_NEVER);
	connect(CHANNEL);
}

/* The broker answers a round, which has begun with an open channel: queues of these steps exist,
 * with so many messages each. */
static void answer_round(uint32_t asked, uint32_t existing, uint32_t messages)
{
	for (size_t i = 0; i < WAIT_STEPS_MAX; i++) {
		char name[RETRY_QUEUE_NAME_MAX + 1], expected[sizeof name + 1];
		if (!(asked & UINT32_C(1) << i))
			continue;
		if (!is_open) {
			expect_calls("open ");
			handle_event(AMQP_CHANNEL_OPENED, 0);
		}
		wait_queue_name(TEXT("orders"), wait_steps[i], name, sizeof name);
		snprintf(expected, sizeof expected, "%s ", name);
		expect_calls(expected);
		ck_assert_int_eq(wait_probe_deadline(&probe), MTIME_NEVER);
		handle_event(
			existing & UINT32_C(1) << i ? AMQP_QUEUE_DECLARED : AMQP_CHANNEL_CLOSED,
			messages);
	}
	expect_calls("");
}

static void expect_total(uint64_t total)
{
	ck_assert_int_eq(probe.known_at, now);
	ck_assert_uint_eq(probe.total, total);
}

START_TEST(each_queue_is_asked_for_periodically)
{
	set_up("orders");
	wait_for(PROBE_FIRST);
	ck_assert_int_eq(probe.known_at, MTIME_NEVER);
	answer_round(ALL, ALL, 2);
	expect_total(2 * WAIT_STEPS_MAX);
	wait_for(PROBE_EVERY);
	answer_round(ALL, ALL, 0);
	expect_total(0);
}
END_TEST

/* Each costs a channel and a line in the broker's log. */
START_TEST(missing_queues_are_asked_for_once)
{
	set_up("orders");
	wait_for(PROBE_FIRST);
	answer_round(ALL, 1 << 3 | 1 << 9, 5);
	expect_total(10);
	ck_assert_uint_eq(probe.messages[9], 5);
	ck_assert_uint_eq(probe.messages[8], 0);
	wait_for(PROBE_EVERY);
	answer_round(1 << 3 | 1 << 9, 1 << 3, 4);
	expect_total(4);
	ck_assert_uint_eq(probe.messages[9], 0);
	wait_probe_down(&probe);
	ck_assert_int_eq(probe.known_at, MTIME_NEVER);
	connect(CHANNEL);
	wait_for(PROBE_FIRST);
	answer_round(1 << 3, 0, 0);
	wait_for(PROBE_EVERY);
	expect_total(0);
}
END_TEST

START_TEST(hint_asks_again_but_once_a_minute)
{
	set_up("orders");
	wait_for(PROBE_FIRST);
	answer_round(ALL, 1, 1);
	wait_probe_hint(&probe, 1 | 1 << 4);
	wait_for(PROBE_EVERY);
	answer_round(1 | 1 << 4, 1, 1);
	wait_probe_hint(&probe, 1 << 4);
	mtime later = now + PROBE_MISSING;
	while (now < later) {
		wait_for(PROBE_EVERY);
		answer_round(now < later ? 1 : 1 | 1 << 4, 1 | 1 << 4, 7);
	}
	expect_total(14);
}
END_TEST

START_TEST(name_that_is_too_long_is_not_asked_for)
{
	static char queue[RETRY_QUEUE_NAME_MAX - 10 + 1];
	memset(queue, 'q', sizeof queue - 1);
	set_up(queue);
	wait_for(PROBE_FIRST);
	size_t asked = 0;
	while (wait_probe_deadline(&probe) == MTIME_NEVER) {
		bool opens = strcmp(calls, "open ") == 0;
		asked += !opens;
		calls[0] = '\0';
		handle_event(opens ? AMQP_CHANNEL_OPENED : AMQP_QUEUE_DECLARED, 1);
	}
	ck_assert_uint_lt(asked, WAIT_STEPS_MAX);
	expect_total(asked);
	wait_probe_init(&probe, text_from(queue));
	connect(CHANNEL - 1); /* no channel for it */
	ck_assert_int_eq(wait_probe_deadline(&probe), MTIME_NEVER);
}
END_TEST

/* A close that is no answer says nothing of a queue. */
START_TEST(channel_that_closes_alone_is_opened_again)
{
	set_up("orders");
	wait_for(PROBE_FIRST);
	expect_calls("open ");
	handle_event(AMQP_CHANNEL_CLOSED, 0);
	wait_for(PROBE_MISSING);
	answer_round(ALL, ALL, 0);
	handle_event(AMQP_CHANNEL_CLOSED, 0);
	ck_assert_uint_eq(probe.missing, 0);
	wait_for(PROBE_EVERY);
	answer_round(ALL, ALL, 3);
	expect_total(3 * WAIT_STEPS_MAX);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/wait_probe");
	UNIT_CASE(s, "probe", each_queue_is_asked_for_periodically,
		missing_queues_are_asked_for_once, hint_asks_again_but_once_a_minute,
		name_that_is_too_long_is_not_asked_for, channel_that_closes_alone_is_opened_again);
	return s;
}

UNIT_MAIN(suite)
