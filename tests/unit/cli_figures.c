/* What a table shows of an answer, and of one that is of another version, or nonsense. */
#include "cli/figures.h"
#include "unit/unit.h"

static json_t *json;
static char room[FIGURE_ROOM];

static void set_up(void)
{
	json = json_loads("{\"a\": {\"b\": 1234567, \"s\": \"words\", \"z\": 0, \"half\": 0.5},"
			  " \"n\": null, \"t\": true, \"neg\": -1}",
		0, NULL);
	ck_assert_ptr_nonnull(json);
}

static void tear_down(void)
{
	json_decref(json);
}

#define EXPECT(call, words)                                                                        \
	do {                                                                                       \
		struct text said = call;                                                           \
		ck_assert_msg(text_is(said, text_from(words)), "%.*s", TEXT_ARGS(said));           \
	} while (0)

START_TEST(what_is_there_is_shown)
{
	EXPECT(figure_text(json, "a.s"), "words");
	EXPECT(figure_number(json, "a.b", room), "1,234,567");
	EXPECT(figure_plain(json, "a.b", room), "1234567");
	EXPECT(figure_size(json, "a.b", room), "1.2 MB");
	EXPECT(figure_size(json, "a.z", room), "0 B");
	EXPECT(figure_pair(json, "a.z", "a.b", room), "0/1234567");
	EXPECT(figure_share(json, "a.half", "a.half", room), "100 %");
	ck_assert_ptr_null(figure_find(json, "a.x"));
	ck_assert_ptr_eq(figure_find(json, ""), json);
}
END_TEST

START_TEST(what_is_missing_or_odd_is_a_dash)
{
	static const char *const odd[] = {"x", "a.x", "a.b.c", "n", "t", "a", "", "neg"};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		EXPECT(figure_text(json, odd[i]), "-");
		EXPECT(figure_number(json, odd[i], room), "-");
		EXPECT(figure_plain(json, odd[i], room), "-");
		EXPECT(figure_span(json, odd[i], room), "-");
		EXPECT(figure_size(json, odd[i], room), "-");
		EXPECT(figure_share(json, odd[i], "a.b", room), "-");
		EXPECT(figure_pair(json, "a.b", odd[i], room), "-");
	}
	EXPECT(figure_share(json, "a.b", "a.z", room), "-");
	EXPECT(figure_number(NULL, "a", room), "-");
}
END_TEST

START_TEST(spans_are_short)
{
	static const struct {
		double seconds;
		const char *words;
	} cases[] = {{0, "0 ms"}, {0.0123, "12.3 ms"}, {1.26, "1.3 s"}, {119, "119.0 s"},
		{125, "2 min"}, {7300, "2 h"}, {200000, "2 d"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *one = json_pack("{s:f}", "s", cases[i].seconds);
		EXPECT(figure_span(one, "s", room), cases[i].words);
		json_decref(one);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cli_figures");
	TCase *tcase = tcase_create("figures");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, what_is_there_is_shown);
	tcase_add_test(tcase, what_is_missing_or_odd_is_a_dash);
	tcase_add_test(tcase, spans_are_short);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
