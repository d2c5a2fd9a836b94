/* A consumer that declares its queue binds it; a binding that the broker refuses keeps it from no
 * work, and is tried again on the next connection. */
#include "unit/support/broker/consumer_rig.h"
#include "unit/unit.h"

static char first[] = "exchange=events\ntype=topic\nrouting_key=order.*",
	    second[] = "exchange=audit\nmatch=any\nheader=kind=order";
static char *const bindings[] = {first, second, NULL};

static const struct consumer_config config = {.channel = 1,
	.queue = TEXT("work"),
	.declare = DECLARE_ON,
	.settings = {.bindings = bindings}};
static const struct consumer_config passive = {.channel = 1,
	.queue = TEXT("work"),
	.declare = DECLARE_PASSIVE,
	.settings = {.bindings = bindings}};

static void begin(const struct consumer_config *of)
{
	rig_begin(of);
	rig_request(SOURCE_CONSUME, 10);
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_expect("od");
}

START_TEST(bindings_come_after_the_queue)
{
	begin(&config);
	rig_declared(0, 0);
	rig_expect("x");
	rig_event(AMQP_EXCHANGE_DECLARED, TEXT_NONE, 0);
	rig_expect("b");
	rig_event(AMQP_QUEUE_BOUND, TEXT_NONE, 0);
	rig_expect("b");
	rig_event(AMQP_QUEUE_BOUND, TEXT_NONE, 0);
	rig_expect("c");
}
END_TEST

START_TEST(passive_pool_binds_nothing)
{
	begin(&passive);
	rig_declared(0, 0);
	rig_expect("c");
}
END_TEST

START_TEST(refused_binding_is_skipped_until_it_consumed)
{
	begin(&config);
	rig_declared(0, 0);
	rig_closed(406, "PRECONDITION_FAILED - inequivalent arg 'type'", 0);
	ck_assert_str_eq(rig_warning,
		"queue \"work\" cannot be bound to exchange \"events\": 406 PRECONDITION_FAILED - "
		"inequivalent arg 'type'; consuming without that binding and those after it, until "
		"the next connection");
	rig_expect("xo");
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, 0);
	rig_declared(0, 0);
	rig_expect("dc");
	rig_event(AMQP_CONSUME_OK, TEXT_NONE, 0);
	rig_closed(541, "INTERNAL_ERROR", 0);
	consumer_tick(rig_consumer, MTIME_MINUTE);
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, MTIME_MINUTE);
	rig_declared(0, MTIME_MINUTE);
	ck_assert_int_eq(rig_calls[strlen(rig_calls) - 1], 'x');
}
END_TEST

START_TEST(binding_is_read_with_all_its_fields)
{
	struct queue_settings settings = {.bindings = bindings};
	struct queue_binding binding;
	ck_assert(queue_settings_binding(&settings, 1, &binding));
	ck_assert(text_is(binding.exchange, TEXT("audit")));
	ck_assert_uint_eq(binding.routing_key.len + binding.type.len, 0);
	ck_assert_uint_eq(binding.header_count, 2);
	ck_assert_str_eq(binding.headers[0].key, "x-match");
	ck_assert_str_eq(binding.headers[0].string, "any");
	ck_assert_str_eq(binding.headers[1].key, "kind");
	ck_assert_str_eq(binding.headers[1].string, "order");
	ck_assert(!queue_settings_binding(&settings, 2, &binding));
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("broker/consumer_bindings");
	TCase *tests = tcase_create("bindings");
	tcase_add_checked_fixture(tests, NULL, rig_end);
	tcase_add_test(tests, bindings_come_after_the_queue);
	tcase_add_test(tests, passive_pool_binds_nothing);
	tcase_add_test(tests, refused_binding_is_skipped_until_it_consumed);
	suite_add_tcase(suite, tests);
	tests = tcase_create("texts");
	tcase_add_test(tests, binding_is_read_with_all_its_fields);
	suite_add_tcase(suite, tests);
	return suite;
}

UNIT_MAIN(suite)
