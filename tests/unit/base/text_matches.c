/* text_matches: what a * stands for. */
#include "base/text.h"
#include "unit/unit.h"

static const struct {
	const char *text, *pattern;
	bool wanted;
} rows[] = {
	{"", "", true},
	{"a", "", false},
	{"", "a", false},
	{"", "*", true},
	{"", "**", true},
	{"abc", "abc", true},
	{"abc", "ab", false},
	{"ab", "abc", false},
	{"abc", "*", true},
	{"abc", "a*", true},
	{"abc", "*c", true},
	{"abc", "*b*", true},
	{"abc", "a*c", true},
	{"abc", "abc*", true},
	{"abc", "*abc", true},
	{"abc", "*b", false},
	{"abc", "b*", false},
	{"abc", "a*b", false},
	{"aab", "*ab", true},
	{"ababac", "*aba*c", true},
	{"ababab", "a*b*b", true},
	{"abab", "*ba", false},
	{"a*c", "a*c", true},
	{"a?c", "a?c", true},
	{"abc", "a?c", false},
	{"replies.x", "replies.*", true},
	{"replies", "replies.*", false},
};

START_TEST(a_star_stands_for_any_characters)
{
	ck_assert_int_eq(text_matches(text_from(rows[_i].text), text_from(rows[_i].pattern)),
		rows[_i].wanted);
}
END_TEST

/* Without an end, or in exponential time, a pool would wait for a name. */
START_TEST(many_stars_take_no_time)
{
	char text[255], pattern[255];
	memset(text, 'a', sizeof text);
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = i % 2 ? 'a' : '*';
	pattern[sizeof pattern - 1] = 'b';
	ck_assert(!text_matches(text_of(text, sizeof text), text_of(pattern, sizeof pattern)));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("base/text_matches");
	TCase *matches = tcase_create("matches");
	tcase_add_loop_test(
		matches, a_star_stands_for_any_characters, 0, sizeof rows / sizeof *rows);
	tcase_add_test(matches, many_stars_take_no_time);
	suite_add_tcase(s, matches);
	return s;
}

UNIT_MAIN(suite)
