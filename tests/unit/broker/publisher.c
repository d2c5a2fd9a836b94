/* How a publisher ends for good, and which retry queues it declares after its plan has changed. The
 * channel and the pool are fakes of this test, which record their calls. */
#include "broker/publisher.h"

#include "unit/unit.h"

#include <string.h>

static char calls[64]; /* one letter for each call */
static bool is_closed; /* the channel, by both sides */

static void record_call(const char *letter)
{
	ck_assert_uint_lt(strlen(calls) + 1, sizeof calls);
	strcat(calls, letter);
}

void channel_open(struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	record_call("o");
}

void channel_close(struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	record_call("X");
}

bool channel_is_closed(const struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	return is_closed;
}

void channel_confirm_select(struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	record_call("s");
}

void channel_publish(
	struct connection *connection, uint16_t channel, const struct amqp_publish *publish)
{
	(void)connection, (void)channel, (void)publish;
	record_call("p");
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection, (void)channel, (void)queue;
	record_call("d");
}

void channel_declare_exchange(struct connection *connection, uint16_t channel, struct text name,
	struct text type, bool passive, bool durable)
{
	(void)connection, (void)channel, (void)name, (void)type, (void)passive, (void)durable;
	record_call("x");
}

void channel_bind_queue_by(struct connection *connection, uint16_t channel, struct text queue,
	struct text exchange, struct text routing_key, const struct amqp_argument *arguments,
	size_t count)
{
	(void)connection, (void)channel, (void)queue, (void)exchange, (void)routing_key;
	(void)arguments, (void)count;
	record_call("b");
}

void pool_step(struct pool *pool, mtime now, const struct event *event)
{
	(void)pool, (void)now;
	if (event->kind == OUTBOX_UP || event->kind == OUTBOX_DOWN)
		record_call(event->kind == OUTBOX_UP ? "U" : "D");
}

bool pool_is_publishing(const struct pool *pool)
{
	(void)pool;
	return true;
}

bool pool_is_refused(const struct pool *pool)
{
	(void)pool;
	return false;
}

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx, (void)level, (void)text;
}

static const struct channel_log channel_log = {on_log_line, NULL};
static struct publisher_config config = {.channel = 1, .queue = TEXT("work")};
static struct publisher *publisher;

static void handle_event(enum amqp_event_kind kind)
{
	struct amqp_event event = {.kind = kind, .channel = 1};

	publisher_on_event(publisher, &event, 0);
}

static void connect(void)
{
	publisher_up(publisher, (struct connection *)calls, 0);
}

static void set_up(void)
{
	calls[0] = 0;
	is_closed = false;
	config.retry = (struct retry_plan){0};
	publisher = publisher_new(&config, &channel_log);
	ck_assert_ptr_nonnull(publisher);
	connect();
	handle_event(AMQP_CHANNEL_OPENED);
	handle_event(AMQP_CONFIRM_SELECTED);
	ck_assert_str_eq(calls, "osU");
}

static void tear_down(void)
{
	publisher_free(publisher);
}

START_TEST(ends_when_the_broker_has_closed_the_channel)
{
	ck_assert(!publisher_has_ended(publisher));
	publisher_close(publisher);
	ck_assert(!publisher_has_ended(publisher));
	is_closed = true;
	handle_event(AMQP_CHANNEL_CLOSE_OK);
	ck_assert(publisher_has_ended(publisher));
	ck_assert_int_eq(publisher_deadline(publisher), MTIME_NEVER);
	ck_assert_str_eq(calls, "osUX");
}
END_TEST

/* The broker closed the channel, and the publisher would reopen it later. */
START_TEST(ends_at_once_while_it_waits_to_reopen_the_channel)
{
	handle_event(AMQP_CHANNEL_CLOSED);
	ck_assert_int_ne(publisher_deadline(publisher), MTIME_NEVER);
	is_closed = true;
	publisher_close(publisher);
	ck_assert(publisher_has_ended(publisher));
	publisher_tick(publisher, MTIME_MINUTE);
	ck_assert_str_eq(calls, "osUDX");
}
END_TEST

START_TEST(closed_publisher_stays_closed_on_a_new_connection)
{
	publisher_close(publisher);
	publisher_down(publisher, LOSS_CONNECTION, 0);
	ck_assert(publisher_has_ended(publisher));
	connect();
	handle_event(AMQP_CHANNEL_OPENED); /* of another publisher with the same channel number */
	publisher_tick(publisher, MTIME_MINUTE);
	ck_assert_str_eq(calls, "osUX");
}
END_TEST

START_TEST(ends_at_once_without_a_connection)
{
	publisher_down(publisher, LOSS_CONNECTION, 0);
	publisher_close(publisher);
	ck_assert(publisher_has_ended(publisher));
	ck_assert_str_eq(calls, "osUD");
}
END_TEST

/* What it has sent is confirmed nowhere, so it is not the cause of what happens to the others. */
START_TEST(publishes_nothing_after_its_close)
{
	ck_assert(publisher_is_publishing(publisher));
	publisher_close(publisher);
	ck_assert(!publisher_is_publishing(publisher));
}
END_TEST

/* Return a copy that was published with this delay. */
static void return_copy(mtime delay)
{
	char name[RETRY_QUEUE_NAME_MAX + 1];
	struct amqp_event event = {.kind = AMQP_RETURN,
		.channel = 1,
		.routing_key = retry_queue_name(config.queue, delay, name, sizeof name)};

	publisher_on_event(publisher, &event, 0);
}

/* The delay is none of the ladder, whose queues are declared for any worker that requests them. */
START_TEST(missing_retry_queue_is_declared_only_if_it_is_in_the_plan)
{
	return_copy(3 * MTIME_SECOND);
	ck_assert_str_eq(calls, "osU");
	config.retry = (struct retry_plan){.delays = {3 * MTIME_SECOND}, .count = 1};
	publisher_replan(publisher);
	return_copy(3 * MTIME_SECOND);
	ck_assert_str_eq(calls, "osUd");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/publisher");
	TCase *ends = tcase_create("end");
	tcase_add_checked_fixture(ends, set_up, tear_down);
	tcase_add_test(ends, ends_when_the_broker_has_closed_the_channel);
	tcase_add_test(ends, ends_at_once_while_it_waits_to_reopen_the_channel);
	tcase_add_test(ends, closed_publisher_stays_closed_on_a_new_connection);
	tcase_add_test(ends, ends_at_once_without_a_connection);
	tcase_add_test(ends, publishes_nothing_after_its_close);
	suite_add_tcase(s, ends);
	TCase *plans = tcase_create("plan");
	tcase_add_checked_fixture(plans, set_up, tear_down);
	tcase_add_test(plans, missing_retry_queue_is_declared_only_if_it_is_in_the_plan);
	suite_add_tcase(s, plans);
	return s;
}

UNIT_MAIN(suite)
