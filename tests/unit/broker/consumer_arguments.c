/* A consumer that declares its queue compares an existing one with queue_arguments, and consumes it
 * whatever it finds. */
#include "unit/support/broker/consumer_rig.h"
#include "unit/unit.h"

#include <stdio.h>

static char length[] = "x-max-length=8", exchange[] = "x-dead-letter-exchange=lost";
static char *const arguments[] = {length, exchange, NULL};

#define CONFIG(is_on, ordered)                                                                     \
	{                                                                                          \
		.channel = 1, .queue = TEXT("work"), .declare = (is_on),                           \
		.settings = {.arguments = arguments}, .is_ordered = (ordered)                      \
	}

static const struct consumer_config config = CONFIG(DECLARE_ON, false);
static const struct consumer_config config_passive = CONFIG(DECLARE_PASSIVE, false);
static const struct consumer_config config_ordered = CONFIG(DECLARE_ON, true);

#define LENGTH_IS_7 "x-max-length", "received '8' but current is '7'"
#define LENGTH_IS_9 "x-max-length", "received '8' but current is '9'"
#define EXCHANGE_IS_NONE                                                                           \
	"x-dead-letter-exchange", "received the value 'lost' of type 'longstr' but current is none"

/* The broker refuses the declare, because the argument differs. */
static void refuse(const char *argument, const char *difference)
{
	char reason[256];

	snprintf(reason, sizeof reason,
		"PRECONDITION_FAILED - inequivalent arg '%s' for queue 'work' in vhost '/': %s",
		argument, difference);
	rig_closed(406, reason, 0);
}

static void begin(const struct consumer_config *of)
{
	rig_begin(of);
	rig_request(SOURCE_CONSUME, 10);
	rig_expect("o");
}

/* The channel is open, and the queue there. */
static void find_queue(void)
{
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_declared(0, 0);
}

static void consume_ok(void)
{
	rig_event(AMQP_CONSUME_OK, TEXT_NONE, 0);
	ck_assert(consumer_is_consuming(rig_consumer));
}

static void expect_difference(const char *text)
{
	const struct channel_refusal *difference = consumer_difference(rig_consumer);

	if (!text) {
		ck_assert_ptr_null(difference->kind);
		return;
	}
	ck_assert_ptr_nonnull(difference->kind);
	ck_assert_ptr_nonnull(strstr(difference->text, text));
}

static void reconnect(void)
{
	consumer_down(rig_consumer, 0);
	rig_calls[0] = 0;
	consumer_up(rig_consumer, (struct connection *)rig_calls);
	rig_expect("o");
	find_queue();
}

/* Both arguments differ; it consumes. */
static void find_differences(void)
{
	begin(&config);
	find_queue();
	refuse(LENGTH_IS_7);
	find_queue();
	refuse(EXCHANGE_IS_NONE);
	find_queue();
	rig_expect("dmodmodm");
	rig_declared(0, 0);
	rig_expect("c");
	consume_ok();
}

START_TEST(equal_queue_is_not_warned_of)
{
	begin(&config);
	find_queue();
	rig_expect("dm");
	rig_declared(0, 0);
	rig_expect("c");
	consume_ok();
	expect_difference(NULL);
	ck_assert_uint_eq(rig_warnings, 0);
}
END_TEST

START_TEST(each_difference_is_named_and_the_queue_consumed)
{
	find_differences();
	ck_assert_str_eq(rig_warning,
		"queue \"work\" exists with other arguments: x-max-length is 7, not 8; "
		"x-dead-letter-exchange is not set, not \"lost\" (they cannot be changed: adapt "
		"queue_arguments, or declare another queue and move the messages there); consuming "
		"it as it is");
	expect_difference("x-max-length is 7, not 8; x-dead-letter-exchange is not set");
	ck_assert_uint_eq(rig_warnings, 1);
}
END_TEST

START_TEST(passive_pool_compares_nothing)
{
	begin(&config_passive);
	find_queue();
	rig_expect("dc");
}
END_TEST

START_TEST(missing_queue_is_made_and_not_compared)
{
	begin(&config);
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_closed(404, "NOT_FOUND", 0);
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_expect("dom");
	rig_declared(0, 0);
	rig_expect("c");
	expect_difference(NULL);
}
END_TEST

/* Not on each channel; and what it knows already spares a refusal. */
START_TEST(it_is_compared_once_on_each_connection)
{
	find_differences();
	rig_closed(541, "INTERNAL_ERROR", 0);
	consumer_tick(rig_consumer, MTIME_MINUTE);
	find_queue();
	rig_expect("Dodc");
	consume_ok();
	reconnect();
	rig_expect("dm");
	rig_declared(0, 0);
	consume_ok();
	expect_difference("x-max-length is 7, not 8");
	ck_assert_uint_eq(rig_warnings, 2); /* one of the lost channel */
}
END_TEST

START_TEST(another_difference_is_warned_of)
{
	find_differences();
	reconnect();
	refuse(LENGTH_IS_9);
	find_queue();
	rig_declared(0, 0);
	consume_ok();
	expect_difference("x-max-length is 9, not 8");
	ck_assert_uint_eq(rig_warnings, 2);
}
END_TEST

START_TEST(queue_that_was_made_anew_has_no_difference)
{
	find_differences();
	consumer_down(rig_consumer, 0);
	consumer_up(rig_consumer, (struct connection *)rig_calls);
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_closed(404, "NOT_FOUND", 0);
	expect_difference(NULL);
	rig_calls[0] = 0;
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_declared(0, 0);
	rig_expect("mc");
	consume_ok();
	expect_difference(NULL);
}
END_TEST

#define CLASSIC                                                                                     \
	"cannot be compared with queue_arguments: it is a classic queue; set declare: passive, or " \
	"leave out queue_arguments"

/* A queue of another type, no right to configure it, and a broker that fails. */
START_TEST(queue_that_shows_nothing_is_consumed)
{
	static const struct {
		uint16_t code;
		const char *reason, *expected;
	} cases[] = {
		{406,
			"PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'work' in "
			"vhost '/': received 'quorum' but current is 'classic'",
			CLASSIC},
		{406,
			"PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'work' in "
			"vhost '/': received the value 'quorum' of type 'longstr' but current is none",
			CLASSIC},
		{406,
			"PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'work' in vhost "
			"'/': received 'true' but current is 'false'",
			CLASSIC},
		{406,
			"PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'work' in "
			"vhost '/': received 'quorum' but current is 'stream'",
			"with queue_arguments: 406 PRECONDITION_FAILED - inequivalent arg"},
		{403, "ACCESS_REFUSED - configure access to queue 'work' refused",
			"with queue_arguments: 403 ACCESS_REFUSED - configure access"},
		{541, "INTERNAL_ERROR", "with queue_arguments: 541 INTERNAL_ERROR"},
	};
	begin(&config);
	find_queue();
	rig_closed(cases[_i].code, cases[_i].reason, 0);
	find_queue();
	rig_expect("dmodc");
	consume_ok();
	expect_difference(cases[_i].expected);
	ck_assert_uint_eq(rig_warnings, 1);
	reconnect();
	rig_expect("dm");
}
END_TEST

/* The declare that shows the order shows this, too. */
START_TEST(queue_of_sessions_is_compared)
{
	begin(&config_ordered);
	find_queue();
	refuse(LENGTH_IS_7);
	find_queue();
	rig_declared(0, 0);
	rig_declared(0, 0);
	rig_expect("dmodmdc");
	consume_ok();
	ck_assert_int_eq(consumer_order(rig_consumer), QUEUE_ORDER_SINGLE);
	expect_difference("x-max-length is 7, not 8 (they");
	ck_assert_uint_eq(rig_warnings, 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("broker/consumer_arguments");
	TCase *tests = tcase_create("arguments");
	tcase_add_checked_fixture(tests, NULL, rig_end);
	tcase_add_test(tests, equal_queue_is_not_warned_of);
	tcase_add_test(tests, each_difference_is_named_and_the_queue_consumed);
	tcase_add_test(tests, passive_pool_compares_nothing);
	tcase_add_test(tests, missing_queue_is_made_and_not_compared);
	tcase_add_test(tests, it_is_compared_once_on_each_connection);
	tcase_add_test(tests, another_difference_is_warned_of);
	tcase_add_test(tests, queue_that_was_made_anew_has_no_difference);
	tcase_add_loop_test(tests, queue_that_shows_nothing_is_consumed, 0, 6);
	tcase_add_test(tests, queue_of_sessions_is_compared);
	suite_add_tcase(suite, tests);
	return suite;
}

UNIT_MAIN(suite)
