/* The pure parts of the configuration: variables, words, quantities, nearest names. */
#include "config/value/environment.h"
#include "config/value/nearest.h"
#include "config/value/quantity.h"
#include "config/value/words.h"
#include "unit/unit.h"

static const char *const variables[] = {
	"A=1", "EMPTY=", "AB=2=3", "WORDS=x # y", "NESTED=${A}", NULL};
#define environment ((char *const *)variables)

START_TEST(test_find)
{
	ck_assert_str_eq(environment_find(environment, TEXT("A")), "1");
	ck_assert_str_eq(environment_find(environment, TEXT("AB")), "2=3");
	ck_assert_str_eq(environment_find(environment, TEXT("EMPTY")), "");
	ck_assert_ptr_null(environment_value(environment, "EMPTY"));
	ck_assert_ptr_null(environment_find(environment, TEXT("B")));
	ck_assert_ptr_null(environment_find(NULL, TEXT("A")));
}
END_TEST

static const struct {
	const char *in, *out; /* out NULL: refused, name says which */
	const char *name;
} expansions[] = {
	{"", "", NULL},
	{"plain", "plain", NULL},
	{"${A}", "1", NULL},
	{"x${A}y${AB}z", "x1y2=3z", NULL},
	{"${EMPTY}", "", NULL},
	{"${EMPTY:-d}", "d", NULL},
	{"${NONE:-}", "", NULL},
	{"${NONE:-a b#c:-d}", "a b#c:-d", NULL},
	{"${A:-d}", "1", NULL},
	{"${WORDS}", "x # y", NULL},
	{"${NESTED}", "${A}", NULL},
	{"${NONE:-$$}", "$$", NULL},
	{"$$", "$", NULL},
	{"$${A}", "${A}", NULL},
	{"$$$$ $A $", "$$ $A $", NULL},
	{"${NONE}", NULL, "NONE"},
	{"${}", NULL, ""},
	{"${A", NULL, ""},
	{"${1A}", NULL, ""},
	{"${A-b}", NULL, ""},
	{"${A b}", NULL, ""},
	{"${:-x}", NULL, ""},
	{"${NONE:-a${", NULL, ""},
	{"${NONE:-$a}}", "$a}", NULL},
};

START_TEST(test_expand)
{
	for (size_t i = 0; i < sizeof expansions / sizeof *expansions; i++) {
		struct text name = TEXT_NONE;
		struct buf out;
		buf_init(&out, 100);
		enum rc rc =
			environment_expand(text_from(expansions[i].in), environment, &out, &name);
		if (expansions[i].out) {
			ck_assert_msg(rc == RC_OK, "%s", expansions[i].in);
			ck_assert_msg(text_is(buf_text(&out), text_from(expansions[i].out)),
				"%s: %.*s", expansions[i].in, TEXT_ARGS(buf_text(&out)));
		} else {
			ck_assert_msg(rc == RC_MALFORMED, "%s", expansions[i].in);
			ck_assert(text_is(name, text_from(expansions[i].name)));
		}
		buf_release(&out);
	}
}
END_TEST

/* Otherwise the first "}" would end the default, and the second would be text. */
START_TEST(test_default_has_no_braces)
{
	static const struct {
		const char *in, *name;
	} cases[] = {{"${A:-${AB}}", "A"}, {"${NONE:-${AB}}", "NONE"}, {"${EMPTY:-x${AB}", "EMPTY"},
		{"a${A}b${AB:-$${A}}", "AB"}, {"${A:-{\"x\": 1}}", "A"},
		{"${NONE:-{\"x\": 1}}", "NONE"}, {"${NONE:-{}", "NONE"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct text name = TEXT_NONE;
		struct buf out;
		buf_init(&out, 100);
		ck_assert_msg(environment_expand(text_from(cases[i].in), environment, &out,
				      &name) == RC_REFUSED,
			"%s", cases[i].in);
		ck_assert(text_is(name, text_from(cases[i].name)));
		buf_release(&out);
	}
}
END_TEST

START_TEST(test_expand_limit)
{
	struct text name;
	struct buf out;
	buf_init(&out, 4);
	ck_assert_int_eq(environment_expand(TEXT("${AB}x"), environment, &out, &name), RC_OK);
	buf_clear(&out);
	ck_assert_int_eq(environment_expand(TEXT("${AB}xy"), environment, &out, &name), RC_LIMIT);
	buf_release(&out);
}
END_TEST

static const struct {
	const char *line;
	const char *words[6]; /* the first NULL: refused */
} lines[] = {
	{"a", {"a"}},
	{"  a  b\tc\n", {"a", "b", "c"}},
	{"'a b' \"c d\"", {"a b", "c d"}},
	{"a'b'\"c\"d", {"abcd"}},
	{"'' \"\"", {"", ""}},
	{"a\\ b \\\\ \\' \\\"", {"a b", "\\", "'", "\""}},
	{"'a\\b'", {"a\\b"}},
	{"\"a\\\"b\\\\c\\$d\\`e\\fg\"", {"a\"b\\c$d`e\\fg"}},
	{"$A `b` *", {"$A", "`b`", "*"}},
	{"'it'\\''s'", {"it's"}},
	{"'a", {NULL}},
	{"\"a", {NULL}},
	{"a\\", {NULL}},
	{"\"a\\", {NULL}},
};

START_TEST(test_words)
{
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		char **words;
		enum rc rc = words_split(text_from(lines[i].line), &words);
		ck_assert_msg((rc == RC_OK) == !!lines[i].words[0], "%s", lines[i].line);
		if (rc != RC_OK)
			continue;
		size_t count = words_count(words);
		for (size_t j = 0; j < count; j++) {
			ck_assert_ptr_nonnull(lines[i].words[j]);
			ck_assert_str_eq(words[j], lines[i].words[j]);
		}
		ck_assert_ptr_null(lines[i].words[count]);
		words_free(words);
	}
}
END_TEST

START_TEST(test_words_limits)
{
	static char line[4 * WORDS_MAX];
	char **words;
	ck_assert_int_eq(words_split(TEXT("  "), &words), RC_OK);
	ck_assert_uint_eq(words_count(words), 0);
	words_free(words);
	for (size_t i = 0; i < WORDS_MAX; i++)
		memcpy(line + 2 * i, "x ", 2);
	ck_assert_int_eq(words_split(text_of(line, 2 * WORDS_MAX), &words), RC_OK);
	ck_assert_uint_eq(words_count(words), WORDS_MAX);
	words_free(words);
	line[2 * WORDS_MAX] = 'x';
	ck_assert_int_eq(words_split(text_of(line, 2 * WORDS_MAX + 1), &words), RC_LIMIT);
}
END_TEST

static const struct {
	const char *text;
	int64_t number; /* -1: refused */
	const char *printed;
} durations[] = {
	{"0s", 0, "0s"},
	{"1us", 1, "1us"},
	{"1500us", 1500, "1500us"},
	{"10ms", 10000, "10ms"},
	{"1.5s", 1500000, "1500ms"},
	{"30s", 30000000, "30s"},
	{"90s", 90000000, "90s"},
	{"1m", 60000000, "1min"},
	{"25min", 1500000000, "25min"},
	{"1h", 3600000000, "1h"},
	{"0.5d", 43200000000, "12h"},
	{"1d", 86400000000, "1d"},
	{"0.0000019s", 1, "1us"},
	{"106751991d", 9223372022400000000, "106751991d"},
	{"106751992d", -1, NULL},
	{"999999999999999999d", -1, NULL},
	{"1000000000000000000us", -1, NULL},
	{"", -1, NULL},
	{"30", -1, NULL},
	{"s", -1, NULL},
	{"-1s", -1, NULL},
	{"+1s", -1, NULL},
	{" 1s", -1, NULL},
	{"1 s", -1, NULL},
	{"1.s", -1, NULL},
	{".5s", -1, NULL},
	{"1S", -1, NULL},
	{"1hour", -1, NULL},
	{"1h30m", -1, NULL},
	{"1MiB", -1, NULL},
	{"1e3s", -1, NULL},
};

START_TEST(test_durations)
{
	for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
		int64_t number = -1;
		struct buf out;
		bool good = quantity_read_duration(text_from(durations[i].text), &number);
		ck_assert_msg(good == !!durations[i].printed, "%s", durations[i].text);
		ck_assert_int_eq(number, durations[i].number);
		if (!good)
			continue;
		buf_init(&out, 100);
		quantity_append_duration(&out, number);
		ck_assert(text_is(buf_text(&out), text_from(durations[i].printed)));
		buf_release(&out);
	}
}
END_TEST

START_TEST(test_sizes)
{
	static const struct {
		const char *text;
		int64_t number;
		const char *printed;
	} cases[] = {
		{"0B", 0, "0B"},
		{"1B", 1, "1B"},
		{"1kB", 1000, "1000B"},
		{"1KiB", 1024, "1KiB"},
		{"1.5KiB", 1536, "1536B"},
		{"16MiB", 16 << 20, "16MiB"},
		{"1MB", 1000000, "1000000B"},
		{"2GiB", (int64_t)2 << 30, "2GiB"},
		{"1GB", 1000000000, "1000000000B"},
		{"16", -1, NULL},
		{"16M", -1, NULL},
		{"16mib", -1, NULL},
		{"9999999999GiB", -1, NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t number = -1;
		struct buf out;
		bool good = quantity_read_size(text_from(cases[i].text), &number);
		ck_assert_msg(good == !!cases[i].printed, "%s", cases[i].text);
		ck_assert_int_eq(number, cases[i].number);
		if (!good)
			continue;
		buf_init(&out, 100);
		quantity_append_size(&out, number);
		ck_assert(text_is(buf_text(&out), text_from(cases[i].printed)));
		buf_release(&out);
	}
}
END_TEST

START_TEST(test_nearest)
{
	static const char *const names[] = {
		"workers", "queue", "prefetch", "pipe", "pipeline", NULL};
	static const char *const cases[][2] = {
		{"worker", "workers"},
		{"wrokers", "workers"},
		{"Workers", "workers"},
		{"queu", "queue"},
		{"pre-fetch", "prefetch"},
		{"pipes", "pipe"},
		{"pipelin", "pipeline"},
		{"soft", NULL},
		{"", NULL},
		{"something_else", NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *found = nearest_name(text_from(cases[i][0]), names);
		if (cases[i][1])
			ck_assert_str_eq(found ? found : "none", cases[i][1]);
		else
			ck_assert_ptr_null(found);
	}
}
END_TEST

START_TEST(test_distance)
{
	static char longer[65];
	memset(longer, 'x', sizeof longer);
	ck_assert_uint_eq(nearest_distance(TEXT("abc"), TEXT("abc")), 0);
	ck_assert_uint_eq(nearest_distance(TEXT("abc"), TEXT("")), 3);
	ck_assert_uint_eq(nearest_distance(TEXT("abcd"), TEXT("acbd")), 1);
	ck_assert_uint_eq(nearest_distance(TEXT("kitten"), TEXT("sitting")), 3);
	ck_assert_uint_eq(nearest_distance(text_of(longer, 64), TEXT("x")), 63);
	ck_assert_uint_eq(nearest_distance(text_of(longer, 65), TEXT("x")), SIZE_MAX);
}
END_TEST

/* What is wrong with a unit, and which there are; never a secret. */
START_TEST(test_units)
{
	static const struct {
		const char *text, *expected;
		enum quantity quantity;
	} units[] = {
		{"5 s", ", with a blank in front of the unit", QUANTITY_DURATION},
		{"1.5", ", which has no unit (us, ms, s, m, min, h, d)", QUANTITY_DURATION},
		{"5sec", ", and \"sec\" is no unit (us, ms, s, m, min, h, d)", QUANTITY_DURATION},
		{"5 amqp://u:secret@h", ", and \"***\" is no unit (us, ms, s, m, min, h, d)",
			QUANTITY_DURATION},
		{"5s", "", QUANTITY_DURATION},
		{"s", "", QUANTITY_DURATION},
		{"5s", ", and \"s\" is no unit (kB, MB, GB, B, KiB, MiB, GiB)", QUANTITY_SIZE},
	};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		struct buf out;
		buf_init(&out, 1000);
		bool found = quantity_append_unit_problem(
			&out, text_from(units[i].text), units[i].quantity);
		ck_assert_int_eq(found, *units[i].expected != 0);
		ck_assert_msg(text_is(buf_text(&out), text_from(units[i].expected)), "%.*s",
			TEXT_ARGS(buf_text(&out)));
		buf_release(&out);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/parts");
	UNIT_CASE(s, "environment", test_units, test_find, test_expand, test_default_has_no_braces,
		test_expand_limit);
	UNIT_CASE(s, "words", test_words, test_words_limits);
	UNIT_CASE(s, "quantity", test_durations, test_sizes);
	UNIT_CASE(s, "nearest", test_nearest, test_distance);
	return s;
}

UNIT_MAIN(suite)
