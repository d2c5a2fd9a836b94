/* What a message of `wpool publish` and POST /v1/publish may have, and what is refused. */
#include "broker/envelope.h"
#include "unit/unit.h"

static struct envelope e;

static void set_up(void)
{
	envelope_init(&e);
}

static void tear_down(void)
{
	envelope_release(&e);
}

START_TEST(priorities_are_octets)
{
	static const struct {
		struct text value;
		int priority; /* -1: refused */
	} cases[] = {
		{TEXT("0"), 0},
		{TEXT("255"), 255},
		{TEXT("007"), 7},
		{TEXT("256"), -1},
		{TEXT("-1"), -1},
		{TEXT(""), -1},
		{TEXT("5 "), -1},
		{TEXT("5\0"), -1},
	};
	const char *problem = envelope_set_priority(&e, cases[_i].value);
	ck_assert_int_eq(problem == NULL, cases[_i].priority >= 0);
	if (!problem)
		ck_assert_int_eq(e.priority, cases[_i].priority);
}
END_TEST

START_TEST(expirations_have_the_limit_of_the_broker)
{
	ck_assert_ptr_null(envelope_set_expiration(&e, 0));
	ck_assert_ptr_null(envelope_set_expiration(&e, ENVELOPE_EXPIRATION_MAX_MS));
	ck_assert_ptr_nonnull(envelope_set_expiration(&e, ENVELOPE_EXPIRATION_MAX_MS + 1));
	ck_assert_ptr_nonnull(envelope_set_expiration(&e, -1));
	ck_assert_int_eq(e.expiration_ms, ENVELOPE_EXPIRATION_MAX_MS);
}
END_TEST

START_TEST(delays_have_the_limit_of_a_year)
{
	ck_assert_ptr_null(envelope_set_delay(&e, 1));
	ck_assert_ptr_null(envelope_set_delay(&e, INT64_C(365) * 86400000));
	ck_assert_ptr_nonnull(envelope_set_delay(&e, INT64_C(365) * 86400000 + 1));
	ck_assert_ptr_nonnull(envelope_set_delay(&e, -1));
	ck_assert_ptr_null(envelope_set(&e, ENVELOPE_QUEUE, TEXT("q")));
	ck_assert_ptr_null(envelope_problem(&e));
	ck_assert_ptr_null(envelope_add_header(&e, TEXT("NotBefore=1")));
	ck_assert_ptr_nonnull(envelope_problem(&e));
}
END_TEST

START_TEST(fields_have_at_most_255_bytes)
{
	char text[257] = "";
	memset(text, 'x', 256);
	for (enum envelope_field field = 0; field < ENVELOPE_FIELD_COUNT; field++) {
		ck_assert_ptr_nonnull(envelope_set(&e, field, text_of(text, 256)));
		ck_assert_ptr_null(e.field[field].ptr);
		ck_assert_ptr_null(envelope_set(&e, field, text_of(text, 255)));
	}
	ck_assert_ptr_nonnull(envelope_set(&e, ENVELOPE_QUEUE, TEXT("")));
	ck_assert_ptr_null(envelope_set(&e, ENVELOPE_EXCHANGE, TEXT("")));
}
END_TEST

START_TEST(a_header_has_one_value)
{
	ck_assert_ptr_null(envelope_add_header(&e, TEXT("A=1")));
	ck_assert_ptr_null(envelope_add_header(&e, TEXT("a=1")));
	size_t len = buf_len(&e.headers);
	ck_assert_str_eq(envelope_add_header(&e, TEXT("A=2")),
		"has the name of another one: a header has one value");
	ck_assert_uint_eq(buf_len(&e.headers), len);
}
END_TEST

START_TEST(contradictions_are_named)
{
	ck_assert_str_eq(envelope_problem(&e), "a queue or an exchange is needed");
	ck_assert_ptr_null(envelope_set(&e, ENVELOPE_ROUTING_KEY, TEXT("k")));
	ck_assert_str_eq(envelope_problem(&e), "a routing key needs an exchange");
	ck_assert_ptr_null(envelope_set(&e, ENVELOPE_EXCHANGE, TEXT("x")));
	ck_assert_ptr_null(envelope_problem(&e));
	ck_assert_ptr_null(envelope_set_priority(&e, TEXT("1")));
	e.is_high = true;
	ck_assert_ptr_nonnull(envelope_problem(&e));
	e.is_high = false;
	ck_assert_ptr_null(envelope_set(&e, ENVELOPE_TYPE, TEXT("t")));
	ck_assert_ptr_null(envelope_set_session_key(&e, "property:type"));
	ck_assert_ptr_null(envelope_problem(&e));
	ck_assert_ptr_null(envelope_set_session(&e, TEXT("s")));
	ck_assert_ptr_nonnull(envelope_problem(&e));
	ck_assert_ptr_null(envelope_set_session_key(&e, "header:session"));
	ck_assert_ptr_null(envelope_problem(&e));
	ck_assert_ptr_null(envelope_set(&e, ENVELOPE_QUEUE, TEXT("q")));
	ck_assert_ptr_nonnull(envelope_problem(&e));
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("broker/envelope");
	TCase *tests = tcase_create("envelope");
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, priorities_are_octets, 0, 8);
	tcase_add_test(tests, expirations_have_the_limit_of_the_broker);
	tcase_add_test(tests, delays_have_the_limit_of_a_year);
	tcase_add_test(tests, fields_have_at_most_255_bytes);
	tcase_add_test(tests, a_header_has_one_value);
	tcase_add_test(tests, contradictions_are_named);
	suite_add_tcase(suite, tests);
	return suite;
}

UNIT_MAIN(suite)
