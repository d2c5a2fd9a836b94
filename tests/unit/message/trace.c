/* trace_id: what counts as a traceparent, after the examples and rules of W3C Trace Context. */
#include "message/trace.h"
#include "unit/support/message/message.h"

#define ID     "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static const struct {
	const char *value;
	bool is_one;
} cases[] = {
	{"00-" ID "-" PARENT "-01", true},
	{"00-" ID "-" PARENT "-00", true},
	{"cc-" ID "-" PARENT "-01", true},
	{"cc-" ID "-" PARENT "-01-what-the-future-brings", true},
	{"cc-" ID "-" PARENT "-01.what", false},
	{"00-" ID "-" PARENT "-01-what", false},
	{"ff-" ID "-" PARENT "-01", false},
	{"00-" ID "-" PARENT "-0", false},
	{"00-" ID "-" PARENT "-", false},
	{"00-" ID "-" PARENT "-0h", false},
	{"00-" ID "_" PARENT "-01", false},
	{"00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01", false},
	{"00-4bf92f3577b34da6a3ce929d0e0e473-" PARENT "-001", false},
	{"00-00000000000000000000000000000000-" PARENT "-01", false},
	{"00-" ID "-0000000000000000-01", false},
	{"0-" ID "-" PARENT "-01", false},
	{" 00-" ID "-" PARENT "-01", false},
	{ID, false},
	{"", false},
};

START_TEST(a_valid_traceparent_has_an_id)
{
	struct buf table;
	struct text found;
	buf_init(&table, SIZE_MAX);
	table_put_string(&table, TEXT("other"), TEXT("x"));
	table_put_string(&table, TEXT("traceparent"), text_from(cases[_i].value));
	found = trace_id(buf_text(&table));
	ck_assert_text_eq(found, cases[_i].is_one ? TEXT(ID) : TEXT_NONE);
	buf_release(&table);
}
END_TEST

START_TEST(a_traceparent_is_a_string_or_bytes)
{
	static const struct {
		char type;
		bool is_one;
	} types[] = {{'S', true}, {'x', true}, {'A', false}, {'F', false}};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct buf table;
		struct table_field field = {
			TEXT("traceparent"), types[i].type, TEXT("00-" ID "-" PARENT "-01")};
		buf_init(&table, SIZE_MAX);
		table_put_field(&table, &field);
		ck_assert_uint_eq(
			trace_id(buf_text(&table)).len, types[i].is_one ? TRACE_ID_LEN : 0);
		buf_release(&table);
	}
}
END_TEST

START_TEST(without_a_traceparent_there_is_no_id)
{
	struct buf table;
	buf_init(&table, SIZE_MAX);
	ck_assert_uint_eq(trace_id(TEXT_NONE).len, 0);
	table_put_string(&table, TEXT("Traceparent"), TEXT("00-" ID "-" PARENT "-01"));
	ck_assert_uint_eq(trace_id(buf_text(&table)).len, 0);
	buf_release(&table);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/trace");
	TCase *tcase = tcase_create("traceparent");
	tcase_add_loop_test(tcase, a_valid_traceparent_has_an_id, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tcase, a_traceparent_is_a_string_or_bytes);
	tcase_add_test(tcase, without_a_traceparent_there_is_no_id);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
