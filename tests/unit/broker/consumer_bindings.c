/* A consumer that declares its queue binds it; a binding that the broker refuses keeps it from no
 * work, and is tried again on the next connection. */
#include "unit/support/broker/consumer_rig.h"
#include "unit/unit.h"

#include <signal.h>

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

static void reopen(mtime now)
{
	rig_event(AMQP_CHANNEL_OPENED, TEXT_NONE, now);
	rig_declared(0, now);
}

static void reconnect(void)
{
	consumer_down(rig_consumer, 0);
	rig_calls[0] = 0;
	consumer_up(rig_consumer, (struct connection *)rig_calls);
	reopen(0);
}

/* The exchange of the first binding is declared, and the queue bound to it. */
static void bind_first(void)
{
	rig_event(AMQP_EXCHANGE_DECLARED, TEXT_NONE, 0);
	rig_event(AMQP_QUEUE_BOUND, TEXT_NONE, 0);
}

START_TEST(refused_binding_is_skipped_until_the_next_connection)
{
	begin(&config);
	rig_declared(0, 0);
	rig_closed(406, "PRECONDITION_FAILED - inequivalent arg 'type'", 0);
	ck_assert_str_eq(rig_warning,
		"queue \"work\" cannot be bound to exchange \"events\": 406 PRECONDITION_FAILED - "
		"inequivalent arg 'type' (it exists in another form: leave out type, and it is used "
		"as it is); consuming without that binding and those after it, until "
		"the next connection");
	rig_expect("xo");
	reopen(0);
	rig_expect("dc");
	rig_event(AMQP_CONSUME_OK, TEXT_NONE, 0);
	rig_closed(541, "INTERNAL_ERROR", 0);
	consumer_tick(rig_consumer, MTIME_MINUTE);
	rig_expect("Do");
	reopen(MTIME_MINUTE);
	rig_expect("dc");
	rig_event(AMQP_CONSUME_OK, TEXT_NONE, MTIME_MINUTE);
	reconnect();
	rig_expect("odx");
}
END_TEST

/* As RabbitMQ 4 refuses it: before, it closed the connection (503). */
START_TEST(unknown_type_has_no_remedy)
{
	begin(&config);
	rig_declared(0, 0);
	rig_closed(406, "PRECONDITION_FAILED - unknown exchange type 'topics'", 0);
	ck_assert_ptr_nonnull(strstr(rig_warning, "type 'topics'; consuming without"));
}
END_TEST

START_TEST(connection_lost_before_it_consumes_skips_nothing)
{
	begin(&config);
	rig_declared(0, 0);
	rig_closed(404, "NOT_FOUND", 0);
	reconnect();
	rig_expect("odx");
}
END_TEST

/* For an unknown type of exchange the broker closes the connection. */
START_TEST(binding_that_costs_the_connection_is_skipped_on_the_next_one)
{
	begin(&config);
	rig_declared(0, 0);
	consumer_on_connection_closed(
		rig_consumer, 503, TEXT("COMMAND_INVALID - unknown exchange type 'topics'"));
	ck_assert_ptr_nonnull(strstr(rig_warning, "exchange \"events\": 503 COMMAND_INVALID"));
	ck_assert_ptr_nonnull(
		strstr(consumer_refused_binding(rig_consumer)->text, "503 COMMAND_INVALID"));
	reconnect();
	rig_expect("odc");
	ck_assert_ptr_nonnull(consumer_refused_binding(rig_consumer)->kind);
	reconnect();
	rig_expect("odx");
	bind_first();
	rig_event(AMQP_QUEUE_BOUND, TEXT_NONE, 0);
	ck_assert_ptr_null(consumer_refused_binding(rig_consumer)->kind);
}
END_TEST

START_TEST(connection_closed_for_something_else_skips_nothing)
{
	begin(&config);
	consumer_on_connection_closed(rig_consumer, 503, TEXT("COMMAND_INVALID"));
	reconnect();
	rig_expect("odx"); /* the request was not that of a binding */
	consumer_on_connection_closed(rig_consumer, 541, TEXT("INTERNAL_ERROR"));
	reconnect();
	rig_expect("odx");
	ck_assert_uint_eq(rig_warnings, 0);
}
END_TEST

/* The queue may have been deleted, and is then bound as far as the broker lets it. */
START_TEST(bindings_before_the_refused_one_are_not_skipped)
{
	begin(&config);
	rig_declared(0, 0);
	bind_first();
	rig_closed(404, "NOT_FOUND", 0);
	rig_expect("xbbo");
	reopen(0);
	bind_first();
	rig_expect("dxbc");
}
END_TEST

START_TEST(same_refusal_is_warned_of_once)
{
	begin(&config);
	rig_declared(0, 0);
	bind_first();
	rig_closed(404, "NOT_FOUND", 0);
	reopen(0);
	bind_first();
	reconnect();
	bind_first();
	rig_closed(404, "NOT_FOUND", 0);
	ck_assert_uint_eq(rig_warnings, 1);
}
END_TEST

START_TEST(another_refusal_is_warned_of)
{
	begin(&config);
	rig_declared(0, 0);
	rig_closed(404, "NOT_FOUND", 0);
	reconnect();
	bind_first();
	rig_closed(404, "NOT_FOUND", 0);
	ck_assert_uint_eq(rig_warnings, 2);
	ck_assert_ptr_nonnull(strstr(rig_warning, "\"audit\""));
}
END_TEST

START_TEST(refusal_after_all_were_bound_is_warned_of)
{
	begin(&config);
	rig_declared(0, 0);
	rig_closed(404, "NOT_FOUND", 0);
	reconnect();
	bind_first();
	rig_event(AMQP_QUEUE_BOUND, TEXT_NONE, 0);
	reconnect();
	rig_closed(404, "NOT_FOUND", 0);
	ck_assert_uint_eq(rig_warnings, 2);
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

/* check-config does not let it come here: none is left out. */
START_TEST(more_headers_than_a_binding_has_are_a_bug)
{
	static char text[] = "exchange=e\nmatch=any\nheader=a=x\nheader=b=x\nheader=c=x\n"
			     "header=d=x\nheader=e=x\nheader=f=x\nheader=g=x\nheader=h=x\n"
			     "header=i=x\nheader=j=x\nheader=k=x\nheader=l=x\nheader=m=x\n"
			     "header=n=x\nheader=o=x\nheader=p=x";
	static char *const one[] = {text, NULL};
	struct queue_settings settings = {.bindings = one};
	struct queue_binding binding;
	(void)queue_settings_binding(&settings, 0, &binding);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("broker/consumer_bindings");
	TCase *tests = tcase_create("bindings");
	tcase_add_checked_fixture(tests, NULL, rig_end);
	tcase_add_test(tests, bindings_come_after_the_queue);
	tcase_add_test(tests, passive_pool_binds_nothing);
	tcase_add_test(tests, refused_binding_is_skipped_until_the_next_connection);
	tcase_add_test(tests, unknown_type_has_no_remedy);
	tcase_add_test(tests, binding_that_costs_the_connection_is_skipped_on_the_next_one);
	tcase_add_test(tests, connection_closed_for_something_else_skips_nothing);
	tcase_add_test(tests, connection_lost_before_it_consumes_skips_nothing);
	tcase_add_test(tests, bindings_before_the_refused_one_are_not_skipped);
	tcase_add_test(tests, same_refusal_is_warned_of_once);
	tcase_add_test(tests, another_refusal_is_warned_of);
	tcase_add_test(tests, refusal_after_all_were_bound_is_warned_of);
	suite_add_tcase(suite, tests);
	tests = tcase_create("texts");
	tcase_add_test(tests, binding_is_read_with_all_its_fields);
	tcase_add_test_raise_signal(tests, more_headers_than_a_binding_has_are_a_bug, SIGABRT);
	suite_add_tcase(suite, tests);
	return suite;
}

UNIT_MAIN(suite)
