/* Finding out how a queue was declared, from the broker's refusals of other declares. The texts are
 * those of RabbitMQ 3.10.8 and 4.0.5. */
#include "broker/queue/queue_probe.h"

#include "unit/unit.h"

#include <stdio.h>

static char declared[512]; /* the arguments of the last declare */

void channel_declare_queue(
	struct connection *connection, uint16_t channel, const struct amqp_queue *queue)
{
	size_t len = 0;

	(void)connection, (void)channel;
	ck_assert(queue->durable && !queue->passive);
	declared[0] = 0;
	for (size_t i = 0; i < queue->argument_count; i++) {
		const struct amqp_argument *argument = &queue->arguments[i];

		len += (size_t)snprintf(
			declared + len, sizeof declared - len, " %s=", argument->key);
		if (argument->string == amqp_true || argument->string == amqp_false)
			len += (size_t)snprintf(
				declared + len, sizeof declared - len, "(%s)", argument->string);
		else if (argument->string)
			len += (size_t)snprintf(
				declared + len, sizeof declared - len, "%s", argument->string);
		else
			len += (size_t)snprintf(declared + len, sizeof declared - len, "%lld",
				(long long)argument->number);
	}
}

static void declare(const struct queue_probe *probe, const char *expected)
{
	queue_probe_declare(probe, NULL, 1, TEXT("q"));
	ck_assert_str_eq(declared, expected);
}

static bool refuse(struct queue_probe *probe, const char *difference)
{
	char text[400];

	snprintf(text, sizeof text, "PRECONDITION_FAILED - inequivalent arg %s", difference);
	return queue_probe_refused(probe, 406, text_from(text));
}

#define OURS " x-queue-type=quorum x-delivery-limit=2147483647 x-single-active-consumer=(true)"

START_TEST(our_own_queue_is_accepted_at_once)
{
	struct queue_probe probe;
	queue_probe_init(&probe);
	ck_assert_int_eq(probe.order, QUEUE_ORDER_UNKNOWN);
	declare(&probe, OURS);
	queue_probe_accepted(&probe);
	ck_assert_int_eq(probe.order, QUEUE_ORDER_SINGLE);
	ck_assert_int_eq(queue_probe_limit(&probe), INT64_MAX);
}
END_TEST

START_TEST(each_difference_is_taken_over)
{
	static const struct {
		const char *refusals[4], *declare;
		enum queue_order order;
		int64_t limit;
	} cases[] = {
		{{"'x-single-active-consumer' for queue 'q' in vhost '/': received the value "
		  "'true' of type 'bool' but current is none"},
			" x-queue-type=quorum x-delivery-limit=2147483647", QUEUE_ORDER_ALONE,
			INT64_MAX},
		{{"'x-single-active-consumer' for queue 'q' in vhost '/': received 'true' but "
		  "current is 'false'"},
			" x-queue-type=quorum x-delivery-limit=2147483647 "
			"x-single-active-consumer=(false)",
			QUEUE_ORDER_ALONE, INT64_MAX},
		{{"'x-delivery-limit' for queue 'q' in vhost '/': received '2147483647' but "
		  "current is '3'"},
			" x-queue-type=quorum x-delivery-limit=3 x-single-active-consumer=(true)",
			QUEUE_ORDER_SINGLE, 3},
		{{"'x-delivery-limit' for queue 'q' in vhost '/': received '2147483647' but "
		  "current is '-1'"},
			" x-queue-type=quorum x-delivery-limit=-1 x-single-active-consumer=(true)",
			QUEUE_ORDER_SINGLE, -1},
		{{"'x-delivery-limit' for queue 'q' in vhost '/': received the value '2147483647' "
		  "of type 'signedint' but current is none"},
			" x-queue-type=quorum x-single-active-consumer=(true)", QUEUE_ORDER_SINGLE,
			INT64_MAX},
		{{"'x-dead-letter-exchange' for queue 'q' in vhost '/': received none but current "
		  "is the value '' of type 'longstr'",
			 "'x-dead-letter-routing-key' for queue 'q' in vhost '/': received none "
			 "but current is the value 'a' of type 'b' of type 'longstr'",
			 "'x-max-length' for queue 'q' in vhost '/': received none but current is "
			 "the value '1000' of type 'long'",
			 "'x-single-active-consumer' for queue 'q' in vhost '/': received the "
			 "value 'true' of type 'bool' but current is none"},
			NULL, QUEUE_ORDER_ALONE, INT64_MAX},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct queue_probe probe;
		queue_probe_init(&probe);
		for (size_t r = 0; r < 4 && cases[i].refusals[r]; r++)
			ck_assert_msg(refuse(&probe, cases[i].refusals[r]), "case %zu", i);
		if (cases[i].declare)
			declare(&probe, cases[i].declare);
		queue_probe_accepted(&probe);
		ck_assert_int_eq(probe.order, cases[i].order);
		ck_assert_int_eq(queue_probe_limit(&probe), cases[i].limit);
		if (cases[i].declare)
			ck_assert(queue_probe_has_limit(&probe) ==
				  (strstr(cases[i].declare, "x-delivery-limit") != NULL));
	}
}
END_TEST

START_TEST(values_keep_their_types)
{
	struct queue_probe probe;
	queue_probe_init(&probe);
	ck_assert(refuse(&probe,
		"'x-dead-letter-exchange' for queue 'q' in vhost '/': received none but current is "
		"the value '' of type 'longstr'"));
	ck_assert(refuse(&probe,
		"'x-dead-letter-routing-key' for queue 'it's' in vhost '/': received none but "
		"current is the value 'it's' of type 'longstr'"));
	ck_assert(refuse(&probe,
		"'x-max-length' for queue 'q' in vhost '/': received none but current is the value "
		"'1000' of type 'long'"));
	declare(&probe,
		OURS " x-dead-letter-exchange= x-dead-letter-routing-key=it's x-max-length=1000");
}
END_TEST

START_TEST(other_types_of_queue_are_recognized)
{
	static const char *const cases[] = {
		"'x-queue-type' for queue 'q' in vhost '/': received the value 'quorum' of type "
		"'longstr' but current is none",
		"'x-queue-type' for queue 'q' in vhost '/': received 'quorum' but current is "
		"'classic'",
		"'x-queue-type' for queue 'q' in vhost '/': received 'quorum' but current is "
		"'stream'",
		"'durable' for queue 'q' in vhost '/': received 'true' but current is 'false'",
		"'auto_delete' for queue 'q' in vhost '/': received 'false' but current is 'true'",
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct queue_probe probe;
		queue_probe_init(&probe);
		ck_assert(!refuse(&probe, cases[i]));
		ck_assert_int_eq(probe.order, QUEUE_ORDER_NONE);
		declare(&probe, OURS); /* the next time, it may be another queue */
	}
}
END_TEST

START_TEST(what_cannot_be_read_is_hidden)
{
	static const char *const cases[] = {
		"'x-dead-letter-exchange' for queue 'long...",
		"'x-dead-letter-exchange' for queue 'q' in vhost '/': received none but current is "
		"the value 'lo...",
		"'x-max-length' for queue 'q' in vhost '/': received none but current is the value "
		"'many' of type 'long'",
		"'x-new' for queue 'q' in vhost '/': received none but current is none",
		"'x-an-argument-with-a-name-that-is-too-long-for-us' for queue 'q' in vhost '/': "
		"received none but current is the value '1' of type 'long'",
		"",
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct queue_probe probe;
		queue_probe_init(&probe);
		ck_assert_msg(!refuse(&probe, cases[i]), "case %zu", i);
		ck_assert_int_eq(probe.order, QUEUE_ORDER_HIDDEN);
	}
}
END_TEST

/* Nothing behind the text is read. */
START_TEST(text_that_ends_with_an_opening_quote_is_not_complete)
{
	static const char text[] =
		"PRECONDITION_FAILED - inequivalent arg 'x-dead-letter-exchange' for "
		"queue 'q' in vhost '/': received 'a' but current is '";
	struct queue_probe probe;
	queue_probe_init(&probe);
	ck_assert(refuse(&probe,
		"'x-dead-letter-exchange' for queue 'q' in vhost '/': received none but current is "
		"the value 'a' of type 'longstr'"));
	ck_assert(!queue_probe_refused(&probe, 406, text_from(text)));
	ck_assert_int_eq(probe.order, QUEUE_ORDER_HIDDEN);
}
END_TEST

START_TEST(broker_that_always_refuses_is_not_asked_for_ever)
{
	struct queue_probe probe;
	char difference[128];
	int times = 0;
	queue_probe_init(&probe);
	do
		snprintf(difference, sizeof difference,
			"'x-delivery-limit' for queue 'q' in vhost '/': received '1' but current "
			"is '%d'",
			times++);
	while (refuse(&probe, difference) && times < 100);
	ck_assert_int_lt(times, 20);
	ck_assert_int_eq(probe.order, QUEUE_ORDER_HIDDEN);
}
END_TEST

START_TEST(forbidden_declare_is_hidden)
{
	struct queue_probe probe;
	queue_probe_init(&probe);
	ck_assert(!queue_probe_refused(&probe, 403, TEXT("ACCESS_REFUSED - configure access")));
	ck_assert_int_eq(probe.order, QUEUE_ORDER_HIDDEN);
	ck_assert_str_eq(queue_order_name(probe.order), "hidden");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/queue_probe");
	TCase *all = tcase_create("all");
	tcase_add_test(all, our_own_queue_is_accepted_at_once);
	tcase_add_test(all, each_difference_is_taken_over);
	tcase_add_test(all, values_keep_their_types);
	tcase_add_test(all, other_types_of_queue_are_recognized);
	tcase_add_test(all, what_cannot_be_read_is_hidden);
	tcase_add_test(all, text_that_ends_with_an_opening_quote_is_not_complete);
	tcase_add_test(all, broker_that_always_refuses_is_not_asked_for_ever);
	tcase_add_test(all, forbidden_declare_is_hidden);
	suite_add_tcase(s, all);
	return s;
}

UNIT_MAIN(suite)
