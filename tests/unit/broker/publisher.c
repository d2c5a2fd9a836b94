/* How a publisher ends for good, which retry queues it declares after its plan has changed, and
 * where a copy goes that must wait. The channel and the pool are fakes of this test, which record
 * their calls. */
#include "broker/publisher.h"
#include "amqp/properties.h"

#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

static char calls[64]; /* one letter for each call */
static bool is_closed; /* the channel, by both sides */
static struct {
	char queue[RETRY_QUEUE_NAME_MAX + 1], expiration[TEXT_DECIMAL_MAX + 1];
	char properties[256]; /* raw */
	size_t properties_len;
	enum parcel_kind kind;
} published;                                    /* the last one */
static char declared[RETRY_QUEUE_NAME_MAX + 1]; /* the last queue, and its time limit in ms */
static int64_t declared_ttl;
static bool is_published_again; /* what was returned last */

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
	struct text raw = publish->properties;
	struct properties properties;

	(void)connection, (void)channel;
	record_call("p");
	ck_assert(publish->mandatory);
	ck_assert_uint_le(raw.len, sizeof published.properties);
	ck_assert_int_eq(properties_parse(raw, &properties), RC_OK);
	snprintf(published.queue, sizeof published.queue, "%.*s", TEXT_ARGS(publish->routing_key));
	snprintf(published.expiration, sizeof published.expiration, "%.*s",
		TEXT_ARGS(properties.value[PROPERTY_EXPIRATION]));
	memcpy(published.properties, raw.ptr, raw.len);
	published.properties_len = raw.len;
}

uint32_t connection_frame_max(const struct connection *connection)
{
	(void)connection;
	return 131072;
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection, (void)channel;
	record_call("d");
	snprintf(declared, sizeof declared, "%.*s", TEXT_ARGS(queue->name));
	declared_ttl = 0;
	for (size_t i = 0; i < queue->argument_count; i++)
		if (strcmp(queue->arguments[i].key, "x-message-ttl") == 0)
			declared_ttl = queue->arguments[i].number;
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
	if (event->kind == RETURNED) {
		ck_assert_uint_eq(event->outbox.seq, 1);
		is_published_again = event->outbox.again;
	}
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

bool pool_must_wait(const struct pool *pool, uint64_t seq)
{
	(void)pool;
	ck_assert_uint_eq(seq, 1);
	return published.kind == PARCEL_POSTPONE;
}

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx, (void)level, (void)text;
}

static const struct channel_log channel_log = {on_log_line, NULL};
static struct publisher_config config = {.queue = TEXT("work")};
static struct publisher *publisher;

static void handle_event(enum amqp_event_kind kind)
{
	struct amqp_event event = {.kind = kind, .channel = 1};

	publisher_on_event(publisher, &event, 0);
}

static void connect(void)
{
	publisher_up(publisher, (struct connection *)calls, 1, 0);
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

/* ---------- a copy that must wait ---------- */

static void publish(enum parcel_kind kind, mtime delay)
{
	struct delivery *delivery = delivery_new(2);
	struct parcel parcel = {
		.kind = kind, .delay = delay, .delivery = delivery, .seq.number = 1};

	memset(delivery->bytes, 0, 2);
	delivery->properties = text_of(delivery->bytes, 2);
	parcel.reason = kind == PARCEL_RETRY ? REASON_FAILED : REASON_NONE;
	published.kind = kind;
	publisher_publish(publisher, &parcel);
	delivery_free(delivery);
}

/* The broker returns what was published last. True: it is published again at once. */
static bool return_published(mtime now)
{
	struct amqp_event event = {.kind = AMQP_RETURN,
		.channel = 1,
		.routing_key = text_from(published.queue),
		.content.properties = text_of(published.properties, published.properties_len)};

	is_published_again = false;
	publisher_on_event(publisher, &event, now);
	return is_published_again;
}

/* As for a worker that asks for a delay. The pool has no delays of its own. */
START_TEST(a_postponed_copy_has_its_retry_queue_declared)
{
	publish(PARCEL_POSTPONE, 3600 * MTIME_SECOND);
	ck_assert_str_eq(published.queue, "work.retry.3600s");
	ck_assert_str_eq(published.expiration, "3600000");
	ck_assert(!return_published(0)); /* it waits for QUEUE_FOUND */
	ck_assert_str_eq(calls, "osUpd");
	ck_assert_str_eq(declared, "work.retry.3600s");
	ck_assert_int_eq(declared_ttl, 3600000);
	handle_event(AMQP_QUEUE_DECLARED);
	publish(PARCEL_POSTPONE, 3600 * MTIME_SECOND);
	ck_assert_str_eq(published.queue, "work.retry.3600s");
	ck_assert_str_eq(calls, "osUpdp");
}
END_TEST

/* The user may not declare queues: the channel is closed, and opened again. */
static void refuse_declaration(void)
{
	struct amqp_event event = {.kind = AMQP_CHANNEL_CLOSED,
		.channel = 1,
		.code = CODE_ACCESS_REFUSED,
		.text = TEXT("ACCESS_REFUSED")};

	publisher_on_event(publisher, &event, 0);
	publisher_tick(publisher, MTIME_SECOND);
	handle_event(AMQP_CHANNEL_OPENED);
	handle_event(AMQP_CONFIRM_SELECTED);
}

START_TEST(without_the_right_it_waits_in_the_nearest_queue)
{
	publish(PARCEL_POSTPONE, 5 * MTIME_SECOND);
	ck_assert(!return_published(0));
	refuse_declaration();
	publish(PARCEL_POSTPONE, 5 * MTIME_SECOND);
	ck_assert_str_eq(published.queue, "work.retry.10s");
	ck_assert_str_eq(published.expiration, "10000");
	ck_assert_str_eq(declared, "work.retry.5s");
}
END_TEST

/* Publish it until the broker has returned it from each queue. The value is how often. */
static unsigned publish_until_held(enum parcel_kind kind, mtime now)
{
	unsigned times = 0;

	do {
		publish(kind, 5 * MTIME_SECOND);
		ck_assert_uint_lt(++times, 100);
		calls[0] = 0;
	} while (strcmp(published.queue, "work") != 0 && return_published(now));
	return times;
}

/* In the pool's own queue it would come back at once, and be postponed again without end. */
START_TEST(without_any_retry_queue_it_is_held)
{
	publish(PARCEL_POSTPONE, 5 * MTIME_SECOND);
	ck_assert(!return_published(0));
	refuse_declaration();
	ck_assert_uint_eq(
		publish_until_held(PARCEL_POSTPONE, MTIME_SECOND), retry_ladder_count - 1);
	ck_assert_str_eq(published.queue, "work.retry.1s");
	publish(PARCEL_POSTPONE, 5 * MTIME_SECOND);
	ck_assert_str_eq(published.queue, "work.retry.5s"); /* it may have been declared since */
	ck_assert(!return_published(MTIME_SECOND));
	publish(PARCEL_RETRY, 5 * MTIME_SECOND);
	ck_assert_str_eq(published.queue, "work");
	ck_assert_str_eq(published.expiration, "");
	publisher_tick(publisher, 2 * MTIME_MINUTE); /* then the others are tried again */
	ck_assert_uint_eq(
		publish_until_held(PARCEL_POSTPONE, 2 * MTIME_MINUTE), retry_ladder_count);
}
END_TEST

/* Without the jitter of retries: the time is exact. */
START_TEST(a_copy_for_later_has_its_wait_queue_declared)
{
	config.retry.jitter = 50;
	publish(PARCEL_LATER, 3 * MTIME_SECOND);
	ck_assert_str_eq(published.queue, "work.wait.3s");
	ck_assert_str_eq(published.expiration, "3000");
	ck_assert(!return_published(0)); /* it waits for QUEUE_FOUND */
	ck_assert_str_eq(declared, "work.wait.3s");
	ck_assert_int_eq(declared_ttl, 3000);
	handle_event(AMQP_QUEUE_DECLARED);
	publish(PARCEL_LATER, 30 * 24 * 3600 * MTIME_SECOND);
	ck_assert_str_eq(published.queue, "work.wait.2592000s");
	ck_assert_str_eq(published.expiration, "2592000000");
}
END_TEST

/* The one that is returned is missing. */
START_TEST(used_wait_queues_are_those_that_took_a_copy)
{
	publish(PARCEL_RETRY, 5 * MTIME_SECOND);
	ck_assert_uint_eq(publisher_take_wait_queues(publisher), 0);
	publish(PARCEL_LATER, 10 * MTIME_MS);
	publish(PARCEL_LATER, 3 * MTIME_SECOND);
	ck_assert(!return_published(0));
	ck_assert_uint_eq(publisher_take_wait_queues(publisher), 1 << 0);
	publish(PARCEL_LATER, 3 * MTIME_SECOND);
	ck_assert_uint_eq(publisher_take_wait_queues(publisher), 1 << 5);
	ck_assert_uint_eq(publisher_take_wait_queues(publisher), 0);
}
END_TEST

START_TEST(without_the_right_it_waits_in_a_shorter_queue_or_is_held)
{
	publish(PARCEL_LATER, 3 * MTIME_SECOND);
	ck_assert(!return_published(0));
	refuse_declaration();
	publish(PARCEL_LATER, 3 * MTIME_SECOND);
	ck_assert_str_eq(published.queue, "work.wait.1s");
	ck_assert_str_eq(published.expiration, "1000");
	for (int shorter = 0; shorter < 4; shorter++) { /* 1 s, 300 ms, 100 ms, 30 ms */
		ck_assert(return_published(MTIME_SECOND));
		publish(PARCEL_LATER, 3 * MTIME_SECOND);
	}
	ck_assert_str_eq(published.queue, "work.wait.10ms");
	ck_assert(!return_published(MTIME_SECOND));
	publish(PARCEL_RETRY, 5 * MTIME_SECOND); /* which has queues of its own */
	ck_assert_str_eq(published.queue, "work.retry.5s");
	publisher_tick(publisher, 2 * MTIME_MINUTE);
	publish(PARCEL_LATER, 3 * MTIME_SECOND);
	ck_assert_str_eq(published.queue, "work.wait.3s");
}
END_TEST

START_TEST(a_retry_of_the_same_pool_is_published_at_once)
{
	publish(PARCEL_RETRY, 5 * MTIME_SECOND);
	ck_assert(!return_published(0));
	refuse_declaration();
	ck_assert_uint_eq(publish_until_held(PARCEL_RETRY, MTIME_SECOND), retry_ladder_count);
	ck_assert_str_eq(published.queue, "work");
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
	TCase *waits = tcase_create("wait");
	tcase_add_checked_fixture(waits, set_up, tear_down);
	tcase_add_test(waits, a_postponed_copy_has_its_retry_queue_declared);
	tcase_add_test(waits, without_the_right_it_waits_in_the_nearest_queue);
	tcase_add_test(waits, without_any_retry_queue_it_is_held);
	tcase_add_test(waits, a_copy_for_later_has_its_wait_queue_declared);
	tcase_add_test(waits, used_wait_queues_are_those_that_took_a_copy);
	tcase_add_test(waits, without_the_right_it_waits_in_a_shorter_queue_or_is_held);
	tcase_add_test(waits, a_retry_of_the_same_pool_is_published_at_once);
	suite_add_tcase(s, waits);
	return s;
}

UNIT_MAIN(suite)
