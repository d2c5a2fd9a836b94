/* How the gauge asks: one question at a time, on a channel that may be lost at any of them. The
 * channel is this test's own: the calls to it are written down. */
#include "broker/backlog_probe.h"

#include "unit/unit.h"

#include <stdio.h>

#define CHANNEL 2

static char said[64]; /* a letter for each call */
static bool is_open;
static uint16_t channel_max;

static void say(const char *letter)
{
	ck_assert_uint_lt(strlen(said) + 1, sizeof said);
	strcat(said, letter);
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
	say("o");
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
	ck_assert(queue->passive);
	ck_assert(text_is(queue->name, TEXT("orders")));
	say("?");
}

static struct backlog_probe probe;
static mtime now;

static void expect(const char *words)
{
	ck_assert_str_eq(said, words);
	said[0] = '\0';
}

static void expect_backlog(mtime at, uint32_t messages)
{
	ck_assert_int_eq(probe.backlog.at, at);
	if (at != MTIME_NEVER)
		ck_assert_uint_eq(probe.backlog.messages, messages);
}

static void happens(enum amqp_event_kind kind, uint32_t messages)
{
	struct amqp_event event = {.kind = kind, .channel = CHANNEL, .messages = messages};
	is_open = kind == AMQP_CHANNEL_OPENED || (is_open && kind != AMQP_CHANNEL_CLOSED);
	backlog_probe_on_event(&probe, &event, now);
}

/* Not a moment before that. */
static void wait_for(mtime span)
{
	ck_assert_int_eq(backlog_probe_deadline(&probe), now + span);
	now += span - 1;
	backlog_probe_tick(&probe, now);
	expect("");
	backlog_probe_tick(&probe, ++now);
}

static void go_up(uint16_t most)
{
	is_open = false;
	channel_max = most;
	backlog_probe_up(&probe, (struct connection *)said, CHANNEL, now);
}

static void set_up(void)
{
	said[0] = '\0';
	now = MTIME_MINUTE;
	backlog_probe_init(&probe, TEXT("orders"));
	ck_assert_int_eq(backlog_probe_deadline(&probe), MTIME_NEVER);
	go_up(CHANNEL);
	wait_for(PROBE_FIRST);
	expect("o");
	happens(AMQP_CHANNEL_OPENED, 0);
	expect("?");
	expect_backlog(MTIME_NEVER, 0);
}

START_TEST(it_asks_again_and_again)
{
	set_up();
	happens(AMQP_QUEUE_DECLARED, 5);
	expect_backlog(now, 5);
	mtime before = now;
	wait_for(PROBE_EVERY);
	expect("?");
	expect_backlog(before, 5);
	happens(AMQP_QUEUE_DECLARED, 0);
	expect_backlog(now, 0);
}
END_TEST

START_TEST(a_late_answer_is_waited_for)
{
	set_up();
	ck_assert_int_eq(backlog_probe_deadline(&probe), MTIME_NEVER);
	now += 60 * MTIME_MINUTE;
	backlog_probe_tick(&probe, now);
	expect("");
	happens(AMQP_QUEUE_DECLARED, 3);
	expect_backlog(now, 3);
}
END_TEST

START_TEST(a_missing_queue_is_asked_about_rarely_until_it_is_seen)
{
	set_up();
	happens(AMQP_QUEUE_DECLARED, 5);
	backlog_probe_hint(&probe, now);
	wait_for(PROBE_EVERY); /* a hint does not make it more often */
	expect("?");
	happens(AMQP_CHANNEL_CLOSED, 0);
	expect_backlog(MTIME_NEVER, 0);
	wait_for(PROBE_MISSING);
	expect("o");
	happens(AMQP_CHANNEL_CLOSED, 0);
	backlog_probe_hint(&probe, now);
	backlog_probe_hint(&probe, now);
	wait_for(PROBE_EVERY); /* it is there, and the look may fail again */
	expect("o");
	happens(AMQP_CHANNEL_CLOSED, 0);
	now += PROBE_MISSING / 2;
	backlog_probe_hint(&probe, now);
	backlog_probe_tick(&probe, now);
	expect("o");
	happens(AMQP_CHANNEL_OPENED, 0);
	expect("?");
}
END_TEST

START_TEST(a_connection_takes_the_figure_with_it)
{
	set_up();
	happens(AMQP_QUEUE_DECLARED, 5);
	backlog_probe_down(&probe);
	expect_backlog(MTIME_NEVER, 0);
	ck_assert_int_eq(backlog_probe_deadline(&probe), MTIME_NEVER);
	backlog_probe_hint(&probe, now);
	backlog_probe_tick(&probe, now + MTIME_MINUTE);
	expect("");
	go_up(CHANNEL);
	wait_for(PROBE_FIRST);
	expect("o");
}
END_TEST

START_TEST(without_a_channel_nothing_is_asked)
{
	backlog_probe_init(&probe, TEXT("orders"));
	go_up(CHANNEL - 1);
	ck_assert_int_eq(backlog_probe_deadline(&probe), MTIME_NEVER);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/backlog_probe");
	UNIT_CASE(s, "gauge", it_asks_again_and_again, a_late_answer_is_waited_for,
		a_missing_queue_is_asked_about_rarely_until_it_is_seen,
		a_connection_takes_the_figure_with_it, without_a_channel_nothing_is_asked);
	return s;
}

UNIT_MAIN(suite)
