/* How a publisher ends, and that nothing brings it back; and what it makes of another plan. The
 * channel and the pool are this test's own: the calls to them are written down. */
#include "broker/publisher.h"

#include "unit/unit.h"

#include <string.h>

static char said[64];  /* one letter for each call */
static bool is_closed; /* the channel, by both sides */

static void say(const char *letter)
{
	ck_assert_uint_lt(strlen(said) + 1, sizeof said);
	strcat(said, letter);
}

void channel_open(struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	say("o");
}

void channel_close(struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	say("X");
}

bool channel_is_closed(const struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	return is_closed;
}

void channel_confirm_select(struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	say("s");
}

void channel_publish(
	struct connection *connection, uint16_t channel, const struct amqp_publish *publish)
{
	(void)connection, (void)channel, (void)publish;
	say("p");
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection, (void)channel, (void)queue;
	say("d");
}

void pool_step(struct pool *pool, mtime now, const struct event *event)
{
	(void)pool, (void)now;
	if (event->kind == OUTBOX_UP || event->kind == OUTBOX_DOWN)
		say(event->kind == OUTBOX_UP ? "U" : "D");
}

bool pool_is_publishing(const struct pool *pool)
{
	(void)pool;
	return false;
}

bool pool_is_refused(const struct pool *pool)
{
	(void)pool;
	return false;
}

static void on_log_line(void *ctx, enum log_level level, const char *words)
{
	(void)ctx, (void)level, (void)words;
}

static const struct channel_log channel_log = {on_log_line, NULL};
static struct publisher_config config = {.channel = 1, .queue = TEXT("work")};
static struct publisher *publisher;

static void happens(enum amqp_event_kind kind)
{
	struct amqp_event event = {.kind = kind, .channel = 1};

	publisher_on_event(publisher, &event, 0);
}

static void come_up(void)
{
	publisher_up(publisher, (struct connection *)said, 0);
}

static void set_up(void)
{
	said[0] = 0;
	is_closed = false;
	config.retry = (struct retry_plan){0};
	publisher = publisher_new(&config, &channel_log);
	ck_assert_ptr_nonnull(publisher);
	come_up();
	happens(AMQP_CHANNEL_OPENED);
	happens(AMQP_CONFIRM_SELECTED);
	ck_assert_str_eq(said, "osU");
}

static void tear_down(void)
{
	publisher_free(publisher);
}

START_TEST(it_has_ended_when_its_channel_has)
{
	ck_assert(!publisher_has_ended(publisher));
	publisher_close(publisher);
	ck_assert(!publisher_has_ended(publisher));
	is_closed = true;
	happens(AMQP_CHANNEL_CLOSE_OK);
	ck_assert(publisher_has_ended(publisher));
	ck_assert_int_eq(publisher_deadline(publisher), MTIME_NEVER);
	ck_assert_str_eq(said, "osUX");
}
END_TEST

/* The broker had closed it, and it was to be opened again in a moment. */
START_TEST(one_that_waits_for_its_channel_ends_at_once)
{
	happens(AMQP_CHANNEL_CLOSED);
	ck_assert_int_ne(publisher_deadline(publisher), MTIME_NEVER);
	is_closed = true;
	publisher_close(publisher);
	ck_assert(publisher_has_ended(publisher));
	publisher_tick(publisher, MTIME_MINUTE);
	ck_assert_str_eq(said, "osUDX");
}
END_TEST

START_TEST(a_connection_that_comes_and_goes_does_not_bring_it_back)
{
	publisher_close(publisher);
	publisher_down(publisher, LOSS_CONNECTION, 0);
	ck_assert(publisher_has_ended(publisher));
	come_up();
	happens(AMQP_CHANNEL_OPENED); /* of another one that has its number */
	publisher_tick(publisher, MTIME_MINUTE);
	ck_assert_str_eq(said, "osUX");
}
END_TEST

START_TEST(one_that_never_had_a_connection_has_ended)
{
	publisher_down(publisher, LOSS_CONNECTION, 0);
	publisher_close(publisher);
	ck_assert(publisher_has_ended(publisher));
	ck_assert_str_eq(said, "osUD");
}
END_TEST

/* A copy that was to wait for so long. */
static void comes_back(mtime delay)
{
	char name[RETRY_QUEUE_NAME_MAX + 1];
	struct amqp_event event = {.kind = AMQP_RETURN,
		.channel = 1,
		.routing_key = retry_queue_name(config.queue, delay, name, sizeof name)};

	publisher_on_event(publisher, &event, 0);
}

/* No delay of the ladder, whose queues are made for whoever asks for them. */
START_TEST(a_queue_to_wait_in_is_made_once_it_is_planned)
{
	comes_back(3 * MTIME_SECOND);
	ck_assert_str_eq(said, "osU");
	config.retry = (struct retry_plan){.delays = {3 * MTIME_SECOND}, .count = 1};
	publisher_replan(publisher);
	comes_back(3 * MTIME_SECOND);
	ck_assert_str_eq(said, "osUd");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/publisher");
	TCase *ends = tcase_create("end");
	tcase_add_checked_fixture(ends, set_up, tear_down);
	tcase_add_test(ends, it_has_ended_when_its_channel_has);
	tcase_add_test(ends, one_that_waits_for_its_channel_ends_at_once);
	tcase_add_test(ends, a_connection_that_comes_and_goes_does_not_bring_it_back);
	tcase_add_test(ends, one_that_never_had_a_connection_has_ended);
	suite_add_tcase(s, ends);
	TCase *plans = tcase_create("plan");
	tcase_add_checked_fixture(plans, set_up, tear_down);
	tcase_add_test(plans, a_queue_to_wait_in_is_made_once_it_is_planned);
	suite_add_tcase(s, plans);
	return s;
}

UNIT_MAIN(suite)
