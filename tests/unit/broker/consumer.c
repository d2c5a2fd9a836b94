/* How a consumer ends: acks and rejections must have arrived before the channel is closed. And what
 * it does when the broker cancels it. The channel and the pool are fakes of this test, which record
 * their calls. */
#include "broker/consumer.h"

#include "amqp/channel.h"
#include "core/pool.h"
#include "core/pool_facts.h"
#include "unit/unit.h"

static char calls[256]; /* one letter for each call */

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

static bool is_open; /* the channel */

void channel_close_for(
	struct connection *connection, uint16_t channel, uint16_t code, const char *text)
{
	(void)connection, (void)channel;
	ck_assert_int_eq(code, 406);
	ck_assert_ptr_nonnull(strstr(text, " messages of "));
	record_call("4");
}

bool channel_is_open(const struct connection *connection, uint16_t channel)
{
	(void)connection, (void)channel;
	return is_open;
}

void channel_qos(struct connection *connection, uint16_t channel, uint16_t prefetch)
{
	(void)connection, (void)channel, (void)prefetch;
}

void channel_consume(struct connection *connection, uint16_t channel, struct text queue,
	struct text consumer, bool exclusive)
{
	(void)connection, (void)channel, (void)queue, (void)consumer, (void)exclusive;
	record_call("c");
}

void channel_cancel(struct connection *connection, uint16_t channel, struct text consumer)
{
	(void)connection, (void)channel, (void)consumer;
	record_call("C");
}

void channel_ack(struct connection *connection, uint16_t channel, uint64_t tag, bool multiple)
{
	(void)connection, (void)channel, (void)tag, (void)multiple;
	record_call("a");
}

void channel_nack(struct connection *connection, uint16_t channel, uint64_t tag)
{
	(void)connection, (void)channel, (void)tag;
	record_call("n");
}

void channel_reject(struct connection *connection, uint16_t channel, uint64_t tag)
{
	(void)connection, (void)channel, (void)tag;
	record_call("r");
}

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	(void)connection, (void)channel, (void)queue;
	record_call("d");
}

void pool_step(struct pool *pool, mtime now, const struct event *event)
{
	(void)pool, (void)now;
	if (event->kind == SOURCE_CANCELLED)
		record_call("L");
	if (event->kind == SOURCE_DOWN)
		record_call("D");
	if (event->kind == DELIVERY)
		delivery_free(event->source.delivery);
}

static struct pool_unacked in_hand; /* the pool's */

struct pool_unacked pool_unacked(const struct pool *pool)
{
	(void)pool;
	return in_hand;
}

static void on_log_line(void *ctx, enum log_level level, const char *text)
{
	(void)ctx, (void)level;
	if (strstr(text, "than it was asked for"))
		record_call("E");
}

static const struct channel_log channel_log = {on_log_line, NULL};
static const struct consumer_config config = {.channel = 1, .queue = TEXT("work")};
static struct consumer *consumer;

static void handle_event(enum amqp_event_kind kind, struct text tag)
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
	calls[0] = 0;
	is_open = true;
	in_hand = (struct pool_unacked){.memory = 1000, .oldest_tag = UINT64_MAX};
	consumer = consumer_new(&config, &channel_log);
	ck_assert_ptr_nonnull(consumer);
	consumer_up(consumer, (struct connection *)calls);
	handle_event(AMQP_CHANNEL_OPENED, TEXT_NONE);
	request(SOURCE_CONSUME);
	handle_event(AMQP_CONSUME_OK, TEXT_NONE);
	ck_assert_str_eq(calls, "oc");
}

static void tear_down(void)
{
	consumer_free(consumer);
}

/* Close the consumer, and answer the cancel and the steps of the barrier. */
static void close_consumer(void)
{
	request(SOURCE_CLOSE);
	handle_event(AMQP_CANCEL_OK, TEXT("wpool-0000000001"));
	while (calls[strlen(calls) - 1] == 'c')
		handle_event(AMQP_CONSUME_OK, TEXT_NONE);
}

START_TEST(channel_without_acks_is_closed_at_once)
{
	close_consumer();
	ck_assert_str_eq(calls, "ocCX");
}
END_TEST

START_TEST(requeues_need_no_barrier_before_the_close)
{
	consumer_reject(consumer, 1, REJECT_REQUEUE);
	close_consumer();
	ck_assert_str_eq(calls, "ocnCX");
}
END_TEST

START_TEST(acks_arrive_before_the_close)
{
	consumer_ack(consumer, 1, false);
	close_consumer();
	ck_assert_str_eq(calls, "ocaCcccX");
}
END_TEST

START_TEST(rejections_arrive_before_the_close)
{
	consumer_reject(consumer, 1, REJECT_DEAD_LETTER);
	close_consumer();
	ck_assert_str_eq(calls, "ocrCcccX");
}
END_TEST

/* The pool then reduces the next window by the deliveries that it still has. */
START_TEST(pool_is_informed_of_a_cancel_before_the_next_check)
{
	handle_event(AMQP_CANCELLED, TEXT("wpool-0000000009")); /* none of ours */
	ck_assert_str_eq(calls, "oc");
	handle_event(AMQP_CANCELLED, TEXT("wpool-0000000001"));
	ck_assert_str_eq(calls, "ocL");
	ck_assert_int_ne(consumer_deadline(consumer), MTIME_NEVER);
}
END_TEST

/* Readiness depends on it: a request without an answer is not enough. */
START_TEST(is_consuming_only_after_the_broker_has_confirmed_it)
{
	ck_assert(consumer_is_consuming(consumer));
	handle_event(AMQP_CANCELLED, TEXT("wpool-0000000001"));
	ck_assert(!consumer_is_consuming(consumer));
	consumer_tick(consumer, MTIME_MINUTE); /* it finds the queue and sends basic.consume */
	ck_assert_str_eq(calls, "ocLc");
	ck_assert(!consumer_is_consuming(consumer));
	handle_event(AMQP_CONSUME_OK, TEXT_NONE);
	ck_assert(consumer_is_consuming(consumer));
	consumer_request(consumer, SOURCE_CONSUME, 20); /* one more subscription */
	consumer_tick(consumer, MTIME_MINUTE);
	ck_assert_str_eq(calls, "ocLcc");
	ck_assert(consumer_is_consuming(consumer));
	consumer_down(consumer, MTIME_MINUTE);
	ck_assert(!consumer_is_consuming(consumer));
}
END_TEST

/* One more message is delivered when so many are in hand, with it. */
static void deliver(uint32_t count, mtime now)
{
	void *owner;
	ck_assert_ptr_nonnull(consumer_content_memory(consumer, 4, &owner));
	in_hand.count = count;
	consumer_on_event(consumer,
		&(struct amqp_event){.kind = AMQP_DELIVERY,
			.channel = 1,
			.tag = count,
			.content = {.owner = owner, .body = TEXT("body")}},
		now);
}

/* The broker closes it at last; the wait begins, and the channel is opened again. Its length is the
 * value. */
static mtime reopen(mtime now)
{
	is_open = false;
	consumer_on_event(
		consumer, &(struct amqp_event){.kind = AMQP_CHANNEL_CLOSE_OK, .channel = 1}, now);
	mtime due = consumer_deadline(consumer);
	ck_assert_int_gt(due, now);
	consumer_tick(consumer, due - 1);
	ck_assert_int_ne(calls[strlen(calls) - 1], 'o');
	consumer_tick(consumer, due);
	ck_assert_int_eq(calls[strlen(calls) - 1], 'o');
	is_open = true;
	handle_event(AMQP_CHANNEL_OPENED, TEXT_NONE);
	consumer_tick(consumer, due);
	consumer_on_event(
		consumer, &(struct amqp_event){.kind = AMQP_CONSUME_OK, .channel = 1}, due);
	calls[0] = 0;
	return due - now;
}

/* A window of 10: 26 may be in hand. */
START_TEST(broker_that_delivers_too_much_loses_the_channel)
{
	in_hand.latest_tag = 3;
	deliver(26, 0);
	ck_assert_str_eq(calls, "oc");
	consumer_request(consumer, SOURCE_CONSUME, 3);
	consumer_tick(consumer, 0); /* narrower: it counts when the broker has answered */
	ck_assert_str_eq(calls, "ocC");
	deliver(26, 0);
	ck_assert_str_eq(calls, "ocC");
	in_hand.count = 0;
	handle_event(AMQP_CANCEL_OK, TEXT("wpool-0000000001"));
	ck_assert_str_eq(calls, "ocCc");
	handle_event(AMQP_CONSUME_OK, TEXT_NONE);
	deliver(19, 0);
	ck_assert_str_eq(calls, "ocCc");
	deliver(20, 0);
	ck_assert_str_eq(calls, "ocCcE4D");
	deliver(21, 0); /* on its way: dropped, and no second close */
	ck_assert_str_eq(calls, "ocCcE4D");
	reopen(0);
	ck_assert(consumer_is_consuming(consumer));
}
END_TEST

START_TEST(wait_grows_while_it_goes_on)
{
	mtime last = 0, now = 0;
	for (int i = 0; i < 5; i++) {
		deliver(19 + 10, now);
		mtime wait = reopen(now);
		ck_assert_int_gt(wait, last);
		last = wait;
		now += wait;
	}
	deliver(19 + 10, now + MTIME_MINUTE);
	ck_assert_int_lt(reopen(now + MTIME_MINUTE), last / 4);
}
END_TEST

/* Messages became large, which an honest broker cannot help. */
START_TEST(wait_for_a_window_that_fits_stays_short)
{
	mtime now = 0;
	for (int i = 0; i < 5; i++) {
		in_hand.bytes = 2001;
		deliver(2, now);
		ck_assert_str_eq(calls, i == 0 ? "oc4D" : "4D");
		mtime wait = reopen(now);
		ck_assert_int_le(wait, 500 * MTIME_MS);
		now += wait;
	}
}
END_TEST

START_TEST(refused_channel_can_be_closed_for_good)
{
	deliver(29, 0);
	consumer_request(consumer, SOURCE_CLOSE, 0);
	consumer_tick(consumer, 0);
	handle_event(AMQP_CHANNEL_CLOSE_OK, TEXT_NONE);
	ck_assert_str_eq(calls, "ocE4D");
	ck_assert_int_eq(consumer_deadline(consumer), MTIME_NEVER);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/consumer");
	TCase *leaves = tcase_create("close");
	tcase_add_checked_fixture(leaves, set_up, tear_down);
	tcase_add_test(leaves, channel_without_acks_is_closed_at_once);
	tcase_add_test(leaves, requeues_need_no_barrier_before_the_close);
	tcase_add_test(leaves, acks_arrive_before_the_close);
	tcase_add_test(leaves, rejections_arrive_before_the_close);
	TCase *stays = tcase_create("cancel");
	tcase_add_checked_fixture(stays, set_up, tear_down);
	tcase_add_test(stays, pool_is_informed_of_a_cancel_before_the_next_check);
	tcase_add_test(stays, is_consuming_only_after_the_broker_has_confirmed_it);
	TCase *refused = tcase_create("refused");
	tcase_add_checked_fixture(refused, set_up, tear_down);
	tcase_add_test(refused, broker_that_delivers_too_much_loses_the_channel);
	tcase_add_test(refused, wait_grows_while_it_goes_on);
	tcase_add_test(refused, wait_for_a_window_that_fits_stays_short);
	tcase_add_test(refused, refused_channel_can_be_closed_for_good);
	suite_add_tcase(s, refused);
	suite_add_tcase(s, leaves);
	suite_add_tcase(s, stays);
	return s;
}

UNIT_MAIN(suite)
