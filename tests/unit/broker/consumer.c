/* How a consumer leaves: what was settled on its channel must have arrived before it is closed. And
 * how it stays when the broker cancels it. The channel and the pool are this test's own: the calls
 * to them are written down. */
#include "broker/consumer.h"

#include "amqp/channel.h"
#include "core/pool.h"
#include "unit/unit.h"

static char said[256]; /* one letter for each call */

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

bool channel_is_open(const struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	return true;
}

void channel_qos(struct connection *connection, uint16_t channel, uint16_t prefetch)
{
	(void)connection, (void)channel, (void)prefetch;
}

void channel_consume(struct connection *connection, uint16_t channel, struct text queue,
	struct text consumer, bool exclusive)
{
	(void)connection, (void)channel, (void)queue, (void)consumer, (void)exclusive;
	say("c");
}

void channel_cancel(struct connection *connection, uint16_t channel, struct text consumer)
{
	(void)connection, (void)channel, (void)consumer;
	say("C");
}

void channel_ack(struct connection *connection, uint16_t channel, uint64_t tag, bool multiple)
{
	(void)connection, (void)channel, (void)tag, (void)multiple;
	say("a");
}

void channel_nack(
	struct connection *connection, uint16_t channel, uint64_t tag, bool multiple, bool requeue)
{
	(void)connection, (void)channel, (void)tag, (void)multiple, (void)requeue;
	say("n");
}

void channel_reject(struct connection *connection, uint16_t channel, uint64_t tag, bool requeue)
{
	(void)connection, (void)channel, (void)tag, (void)requeue;
	say("r");
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
	if (event->kind == SOURCE_CANCELLED)
		say("L");
}

static void on_log_line(void *ctx, enum log_level level, const char *words)
{
	(void)ctx, (void)level, (void)words;
}

static const struct channel_log channel_log = {on_log_line, NULL};
static const struct consumer_config config = {.channel = 1, .queue = TEXT("work")};
static struct consumer *consumer;

static void happens(enum amqp_event_kind kind, struct text tag)
{
	struct amqp_event event = {.kind = kind, .channel = 1, .consumer = tag};

	consumer_on_event(consumer, &event, 0);
}

static void request(enum source_request what)
{
	consumer_request(consumer, what, 10);
	consumer_tick(consumer, 0);
}

static void set_up(void)
{
	said[0] = 0;
	consumer = consumer_new(&config, &channel_log);
	ck_assert_ptr_nonnull(consumer);
	consumer_up(consumer, (struct connection *)said);
	happens(AMQP_CHANNEL_OPENED, TEXT_NONE);
	request(SOURCE_CONSUME);
	happens(AMQP_CONSUME_OK, TEXT_NONE);
	ck_assert_str_eq(said, "oc");
}

static void tear_down(void)
{
	consumer_free(consumer);
}

/* The consumer is cancelled, and what the barrier takes is answered. */
static void leave(void)
{
	request(SOURCE_CLOSE);
	happens(AMQP_CANCEL_OK, TEXT("wpool-0000000001"));
	while (said[strlen(said) - 1] == 'c')
		happens(AMQP_CONSUME_OK, TEXT_NONE);
}

START_TEST(who_settled_nothing_closes_at_once)
{
	leave();
	ck_assert_str_eq(said, "ocCX");
}
END_TEST

START_TEST(what_was_never_begun_may_go_back_with_the_channel)
{
	consumer_reject(consumer, 1, REJECT_REQUEUE);
	leave();
	ck_assert_str_eq(said, "ocnCX");
}
END_TEST

START_TEST(acks_arrive_before_the_close)
{
	consumer_ack(consumer, 1, false);
	leave();
	ck_assert_str_eq(said, "ocaCcccX");
}
END_TEST

START_TEST(rejections_arrive_before_the_close)
{
	consumer_reject(consumer, 1, REJECT_DEAD_LETTER);
	leave();
	ck_assert_str_eq(said, "ocrCcccX");
}
END_TEST

/* What is told then narrows what is consumed next: the pool knows what is in hand. */
START_TEST(a_cancel_by_the_broker_is_told_before_the_next_look)
{
	happens(AMQP_CANCELLED, TEXT("wpool-0000000009")); /* none of ours */
	ck_assert_str_eq(said, "oc");
	happens(AMQP_CANCELLED, TEXT("wpool-0000000001"));
	ck_assert_str_eq(said, "ocL");
	ck_assert_int_ne(consumer_deadline(consumer), MTIME_NEVER);
}
END_TEST

/* What readiness rests on: a wish is not enough, nor what was asked for and not granted. */
START_TEST(it_consumes_when_the_broker_has_said_so)
{
	ck_assert(consumer_is_consuming(consumer));
	happens(AMQP_CANCELLED, TEXT("wpool-0000000001"));
	ck_assert(!consumer_is_consuming(consumer));
	consumer_tick(consumer, MTIME_MINUTE); /* it looks, finds the queue, asks */
	ck_assert_str_eq(said, "ocLc");
	ck_assert(!consumer_is_consuming(consumer));
	happens(AMQP_CONSUME_OK, TEXT_NONE);
	ck_assert(consumer_is_consuming(consumer));
	consumer_request(consumer, SOURCE_CONSUME, 20); /* one more beside it */
	consumer_tick(consumer, MTIME_MINUTE);
	ck_assert_str_eq(said, "ocLcc");
	ck_assert(consumer_is_consuming(consumer));
	consumer_down(consumer, MTIME_MINUTE);
	ck_assert(!consumer_is_consuming(consumer));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/consumer");
	TCase *leaves = tcase_create("leave");
	tcase_add_checked_fixture(leaves, set_up, tear_down);
	tcase_add_test(leaves, who_settled_nothing_closes_at_once);
	tcase_add_test(leaves, what_was_never_begun_may_go_back_with_the_channel);
	tcase_add_test(leaves, acks_arrive_before_the_close);
	tcase_add_test(leaves, rejections_arrive_before_the_close);
	TCase *stays = tcase_create("stay");
	tcase_add_checked_fixture(stays, set_up, tear_down);
	tcase_add_test(stays, a_cancel_by_the_broker_is_told_before_the_next_look);
	tcase_add_test(stays, it_consumes_when_the_broker_has_said_so);
	suite_add_tcase(s, leaves);
	suite_add_tcase(s, stays);
	return s;
}

UNIT_MAIN(suite)
