/* What a table shows of an answer, also of one with missing or odd members. */
#include "client/json_cells.h"
#include "unit/unit.h"

static json_t *json;
static char buffer[JSON_CELL_SIZE];

static void set_up(void)
{
	json = json_loads(
		"{\"a\": {\"b\": 1234567, \"s\": \"words\", \"z\": 0, \"half\": 0.5, \"old\": 4.2},"
		" \"n\": null, \"t\": true, \"neg\": -1}",
		0, NULL);
	ck_assert_ptr_nonnull(json);
}

static void tear_down(void)
{
	json_decref(json);
}

#define EXPECT(call, expected)                                                                     \
	do {                                                                                       \
		struct text found = call;                                                          \
		ck_assert_msg(text_is(found, text_from(expected)), "%.*s", TEXT_ARGS(found));      \
	} while (0)

START_TEST(members_are_shown)
{
	EXPECT(json_cell_text(json, "a.s"), "words");
	EXPECT(json_cell_number(json, "a.b", buffer), "1,234,567");
	EXPECT(json_cell_plain(json, "a.b", buffer), "1234567");
	EXPECT(json_cell_size(json, "a.b", buffer), "1.2 MB");
	EXPECT(json_cell_size(json, "a.z", buffer), "0 B");
	EXPECT(json_cell_pair(json, "a.z", "a.b", buffer), "0/1234567");
	EXPECT(json_cell_aged(json, "a.b", "a.old", buffer), "1,234,567 (4 s)");
	EXPECT(json_cell_aged(json, "a.b", "a.half", buffer), "1,234,567");
	EXPECT(json_cell_aged(json, "a.b", "a.x", buffer), "1,234,567");
	EXPECT(json_cell_aged(json, "a.x", "a.old", buffer), "-");
	EXPECT(json_cell_aged(json, "a.b", "a.b", buffer), "1,234,567 (old)");
	EXPECT(json_cell_range(json, "a.z", "a.b", buffer), "0..1234567");
	EXPECT(json_cell_range(json, "a.b", "a.b", buffer), "-");
	EXPECT(json_cell_share(json, "a.half", "a.half", buffer), "100 %");
	ck_assert_ptr_null(json_cell_find(json, "a.x"));
	ck_assert_ptr_eq(json_cell_find(json, ""), json);
}
END_TEST

START_TEST(missing_and_odd_members_become_a_dash)
{
	static const char *const odd[] = {"x", "a.x", "a.b.c", "n", "t", "a", "", "neg"};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		EXPECT(json_cell_text(json, odd[i]), "-");
		EXPECT(json_cell_number(json, odd[i], buffer), "-");
		EXPECT(json_cell_plain(json, odd[i], buffer), "-");
		EXPECT(json_cell_span(json, odd[i], buffer), "-");
		EXPECT(json_cell_size(json, odd[i], buffer), "-");
		EXPECT(json_cell_share(json, odd[i], "a.b", buffer), "-");
		EXPECT(json_cell_pair(json, "a.b", odd[i], buffer), "-");
	}
	EXPECT(json_cell_share(json, "a.b", "a.z", buffer), "-");
	EXPECT(json_cell_number(NULL, "a", buffer), "-");
}
END_TEST

START_TEST(a_list_is_joined)
{
	json_t *lists = json_pack(
		"{s:[s,s],s:[s],s:[],s:[i,s]}", "two", "a", "b", "one", "a", "none", "odd", 1, "b");
	EXPECT(json_cell_list(lists, "two", buffer), "a, b");
	EXPECT(json_cell_list(lists, "one", buffer), "a");
	EXPECT(json_cell_list(lists, "none", buffer), "-");
	EXPECT(json_cell_list(lists, "odd", buffer), "b");
	EXPECT(json_cell_list(lists, "missing", buffer), "-");
	EXPECT(json_cell_list(NULL, "two", buffer), "-");
	json_decref(lists);
}
END_TEST

START_TEST(spans_are_short)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {{0, "0 ms"}, {0.0123, "12.3 ms"}, {1.26, "1.3 s"}, {119, "119.0 s"},
		{125, "2 min"}, {7300, "2 h"}, {200000, "2 d"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *one = json_pack("{s:f}", "s", cases[i].seconds);
		EXPECT(json_cell_span(one, "s", buffer), cases[i].text);
		json_decref(one);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("client/json_cells");
	TCase *tcase = tcase_create("figures");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, members_are_shown);
	tcase_add_test(tcase, missing_and_odd_members_become_a_dash);
	tcase_add_test(tcase, a_list_is_joined);
	tcase_add_test(tcase, spans_are_short);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
