/* Dead letters in the hand: which are meant, and how they look. */
#include "unit/unit.h"

#include "amqp/table.h"
#include "dead_letters/json.h"
#include "dead_letters/letter_fingerprint.h"
#include "dead_letters/show.h"
#include "tty/text_table.h"

#include <stdio.h>

/* ---------- a letter ---------- */

static struct buf headers, raw, out;
static struct dead_letter letter;

static void set_up(void)
{
	buf_init(&headers, SIZE_MAX);
	buf_init(&raw, SIZE_MAX);
	buf_init(&out, SIZE_MAX);
}

static void tear_down(void)
{
	buf_release(&headers);
	buf_release(&raw);
	buf_release(&out);
}

static void put_raw(char type, const char *key, const char *value, size_t len)
{
	table_put_field(&headers, &(struct table_field){text_from(key), type, text_of(value, len)});
}

/* One with these headers and properties, as the broker would deliver it. */
static void make_letter(const struct properties *given, struct text body)
{
	struct properties properties = *given;
	if (buf_len(&headers) > 0)
		properties_set(&properties, PROPERTY_HEADERS, buf_text(&headers));
	buf_clear(&raw);
	properties_write(&properties, &raw);
	struct amqp_event event = {.kind = AMQP_DELIVERY,
		.tag = 7,
		.exchange = TEXT("amq.topic"),
		.routing_key = TEXT("key"),
		.content = {NULL, buf_text(&raw), body}};
	dead_letter_read(&letter, &event, 3);
}

/* Valid until the next call. */
static const char *fingerprint(void)
{
	static char text[FINGERPRINT_SIZE];
	ck_assert(dead_letter_fingerprint(&letter, text));
	return text;
}

static void expect_out(const char *expected)
{
	ck_assert(!out.failed);
	ck_assert_msg(text_is(buf_text(&out), text_from(expected)), "got \"%.*s\", wanted \"%s\"",
		TEXT_ARGS(buf_text(&out)), expected);
}

static void put_crashed(void)
{
	static const char when[8] = {0, 0, 0, 0, 0x65, 0x53, (char)0xf1, 0};
	table_put_string(&headers, TEXT("x-wpool-reason"), TEXT("crashed"));
	table_put_integer(&headers, TEXT("x-wpool-attempt"), 3);
	put_raw('T', "x-wpool-first-failed", when, sizeof when);
	table_put_bool(&headers, TEXT("flag"), true);
	put_raw('S', "bad", "\xff", 1);
}

static const struct {
	const char *conditions[3];
	enum match match;
} match_cases[] = {
	{{NULL}, MATCH_YES},
	{{"x-wpool-reason=crashed"}, MATCH_YES},
	{{"x-wpool-reason=crash"}, MATCH_NO},
	{{"x-wpool-attempt=3"}, MATCH_YES},
	{{"x-wpool-attempt=03"}, MATCH_NO},
	{{"flag=true"}, MATCH_YES},
	{{"bad=\xef\xbf\xbd"}, MATCH_YES},
	{{"none="}, MATCH_NO},
	{{"message_id=m=1"}, MATCH_YES},
	{{"message_id=m"}, MATCH_NO},
	{{"correlation_id="}, MATCH_NO},
	{{"x-wpool-reason=crashed", "message_id=m=1"}, MATCH_YES},
	{{"x-wpool-reason=crashed", "message_id=m"}, MATCH_NO},
};

START_TEST(conditions_select_dead_letters)
{
	struct properties given = {0};
	properties_set(&given, PROPERTY_MESSAGE_ID, TEXT("m=1"));
	put_crashed();
	make_letter(&given, TEXT("body"));
	for (size_t i = 0; i < sizeof match_cases / sizeof *match_cases; i++) {
		struct matches matches = {0};
		for (size_t j = 0; j < 3 && match_cases[i].conditions[j]; j++)
			ck_assert_ptr_null(matches_add(&matches, match_cases[i].conditions[j]));
		ck_assert_msg(
			matches_meet(&matches, &letter) == match_cases[i].match, "case %zu", i);
	}
}
END_TEST

START_TEST(malformed_conditions_are_refused)
{
	struct matches matches = {0};
	ck_assert_ptr_nonnull(matches_add(&matches, "no equals sign"));
	ck_assert_ptr_nonnull(matches_add(&matches, "=value"));
	ck_assert_uint_eq(matches.count, 0);
	for (int i = 0; i < MATCHES_MAX; i++)
		ck_assert_ptr_null(matches_add(&matches, "a="));
	ck_assert_ptr_nonnull(matches_add(&matches, "a="));
}
END_TEST

START_TEST(a_dead_letter_is_named_by_its_ids)
{
	struct properties given = {0};
	make_letter(&given, TEXT(""));
	dead_letter_name(&letter, &out);
	expect_out("message 3");
	buf_clear(&out);
	properties_set(&given, PROPERTY_CORRELATION_ID, TEXT("c\033[1m"));
	make_letter(&given, TEXT(""));
	dead_letter_name(&letter, &out);
	expect_out("message 3 (correlation_id c\\x1b[1m)");
	buf_clear(&out);
	properties_set(&given, PROPERTY_MESSAGE_ID, TEXT("m"));
	make_letter(&given, TEXT(""));
	dead_letter_name(&letter, &out);
	expect_out("message 3 (message_id m)");
}
END_TEST

START_TEST(an_unreadable_dead_letter_has_no_headers)
{
	buf_append_text(&headers, TEXT("\1k?"));
	make_letter(&(struct properties){0}, TEXT("b"));
	ck_assert(letter.is_unreadable);
	ck_assert_uint_eq(letter.headers.len, 0);
	struct amqp_event event = {.content = {NULL, TEXT("\x80"), TEXT("b")}};
	dead_letter_read(&letter, &event, 1);
	ck_assert(letter.is_unreadable);
	dead_letter_write_json(&out, &letter, true);
	dead_letter_write_text(&out, &letter);
	ck_assert(!out.failed);
}
END_TEST

/* ---------- JSON ---------- */

static const struct {
	char type;
	const char *value;
	size_t len;
	const char *json;
} json_cases[] = {
	{'t', "\1", 1, "{\"type\":\"bool\",\"value\":true}"},
	{'b', "\xff", 1, "{\"type\":\"int8\",\"value\":-1}"},
	{'B', "\xff", 1, "{\"type\":\"uint8\",\"value\":255}"},
	{'s', "\xff\xfe", 2, "{\"type\":\"int16\",\"value\":-2}"},
	{'u', "\xff\xfe", 2, "{\"type\":\"uint16\",\"value\":65534}"},
	{'I', "\0\0\0\5", 4, "{\"type\":\"int32\",\"value\":5}"},
	{'i', "\xff\xff\xff\xff", 4, "{\"type\":\"uint32\",\"value\":4294967295}"},
	{'l', "\0\0\0\0\0\0\0\5", 8, "{\"type\":\"int64\",\"value\":5}"},
	{'L', "\xff\xff\xff\xff\xff\xff\xff\xff", 8,
		"{\"type\":\"uint64\",\"value\":18446744073709551615}"},
	{'f', "\x3f\x80\0\0", 4, "{\"type\":\"float\",\"value\":1}"},
	{'d', "\x7f\xf0\0\0\0\0\0\0", 8, "{\"type\":\"double\",\"value\":null}"},
	{'D', "\2\0\0\4\xd2", 5, "{\"type\":\"decimal\",\"value\":\"12.34\"}"},
	{'S', "a\"b", 3, "{\"type\":\"string\",\"value\":\"a\\\"b\"}"},
	{'S', "\xff", 1, "{\"type\":\"string\",\"value_base64\":\"/w==\"}"},
	{'x', "\xff\xfe", 2, "{\"type\":\"bytes\",\"value_base64\":\"//4=\"}"},
	{'x', "\xff\xfe\xfd", 3, "{\"type\":\"bytes\",\"value_base64\":\"//79\"}"},
	{'A', "b\1V", 3,
		"{\"type\":\"array\",\"value\":[{\"type\":\"int8\",\"value\":1},"
		"{\"type\":\"void\",\"value\":null}]}"},
	{'F', "\1kt\1", 4,
		"{\"type\":\"table\",\"value\":{\"k\":{\"type\":\"bool\",\"value\":true}}}"},
	{'T', "\0\0\0\0\0\0\0\5", 8, "{\"type\":\"timestamp\",\"value\":5}"},
	{'V', "", 0, "{\"type\":\"void\",\"value\":null}"},
};

START_TEST(json_has_the_types_of_headers)
{
	for (size_t i = 0; i < sizeof json_cases / sizeof *json_cases; i++) {
		char wanted[300];
		buf_clear(&headers);
		buf_clear(&out);
		put_raw(json_cases[i].type, "h", json_cases[i].value, json_cases[i].len);
		make_letter(&(struct properties){0}, TEXT(""));
		dead_letter_write_json(&out, &letter, false);
		snprintf(wanted, sizeof wanted,
			"{\"position\":3,\"fingerprint\":\"%s\",\"wpool\":{},"
			"\"properties\":{},\"headers\":{\"h\":%s},\"unreadable\":false,"
			"\"redelivered\":false,\"exchange\":\"amq.topic\","
			"\"routing_key\":\"key\",\"size\":0}",
			fingerprint(), json_cases[i].json);
		expect_out(wanted);
	}
}
END_TEST

START_TEST(json_has_the_whole_dead_letter)
{
	struct properties given = {0};
	properties_set(&given, PROPERTY_PRIORITY, TEXT("\5"));
	properties_set(&given, PROPERTY_MESSAGE_ID, TEXT("m\xff"));
	properties_set(&given, PROPERTY_TIMESTAMP, TEXT("\0\0\0\0\0\0\1\0"));
	table_put_integer(&headers, TEXT("x-wpool-first-failed"), 9);
	table_put_string(&headers, TEXT("x-wpool-exit"), TEXT("signal 6"));
	make_letter(&given, TEXT("\xff\xfe\xfd\xfc"));
	dead_letter_write_json(&out, &letter, true);
	char wanted[500];
	snprintf(wanted, sizeof wanted,
		"{\"position\":3,\"fingerprint\":\"%s\","
		"\"wpool\":{\"first_failed\":9,\"exit\":\"signal 6\"},"
		"\"properties\":{\"priority\":5,\"message_id_base64\":\"bf8=\","
		"\"timestamp\":256},\"headers\":{"
		"\"x-wpool-first-failed\":{\"type\":\"int64\",\"value\":9},"
		"\"x-wpool-exit\":{\"type\":\"string\",\"value\":\"signal 6\"}},"
		"\"unreadable\":false,\"redelivered\":false,\"exchange\":\"amq.topic\","
		"\"routing_key\":\"key\",\"size\":4,\"body_base64\":\"//79/A==\"}",
		fingerprint());
	expect_out(wanted);
}
END_TEST

/* ---------- text ---------- */

START_TEST(a_dead_letter_is_shown_as_text)
{
	struct properties given = {0};
	properties_set(&given, PROPERTY_PRIORITY, TEXT("\5"));
	put_crashed();
	make_letter(&given, TEXT("two\nlines\033"));
	dead_letter_write_text(&out, &letter);
	expect_out("message 3\n"
		   "  properties:\n"
		   "    priority: 5\n"
		   "  headers:\n"
		   "    x-wpool-reason (string): crashed\n"
		   "    x-wpool-attempt (int64): 3\n"
		   "    x-wpool-first-failed (timestamp): 2023-11-14 22:13:20Z\n"
		   "    flag (bool): true\n"
		   "    bad (string): \xef\xbf\xbd\n"
		   "  body: 10 bytes\n"
		   "    two\n"
		   "    lines\\x1b\n");
}
END_TEST

START_TEST(long_bodies_are_cut)
{
	static char body[SHOWN_TEXT_MAX + 4];
	memset(body, 'x', sizeof body);
	memcpy(body + SHOWN_TEXT_MAX - 1, "\xc3\xa9", 2); /* not in its middle */
	make_letter(&(struct properties){0}, text_of(body, sizeof body));
	dead_letter_write_text(&out, &letter);
	struct text end = TEXT("x\n    ... 5 more bytes; --json has them all\n");
	struct text got = buf_text(&out);
	ck_assert_uint_gt(got.len, end.len);
	ck_assert(text_is(text_of(got.ptr + got.len - end.len, end.len), end));
	buf_clear(&out);
	make_letter(&(struct properties){0}, TEXT("\xff Z"));
	dead_letter_write_text(&out, &letter);
	expect_out("message 3\n  properties:\n  headers:\n  body: 3 bytes, not UTF-8\n"
		   "    000000  ff 20 5a                                         . Z\n");
}
END_TEST

static const struct text_table_column columns[] = {
	{.title = "ONE"},
	{.title = "EMPTY"},
	{.title = "N", .is_right = true, .is_whole = true},
	{.title = "LAST"},
};

static void put_rows(struct text_table *table)
{
	static const char *const cells[] = {
		"a", "", "1,000", "x", "l\xc3\xa4nger als", "", "7", "tab\there \033"};
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
		text_table_add(table, text_from(cells[i]));
}

static const struct {
	size_t width;
	const char *lines;
} grid_cases[] = {
	{0, "ONE             N  LAST\n"
	    "a           1,000  x\n"
	    "l\xc3\xa4nger als      7  tab here \\x1b\n"},
	{27, "ONE            N  LAST\n"
	     "a          1,000  x\n"
	     "l\xc3\xa4nger a\xe2\x80\xa6      7  tab here\xe2\x80\xa6\n"},
	{1, "ONE       N  LAST\n"
	    "a     1,000  x\n"
	    "l\xc3\xa4n\xe2\x80\xa6      7  tab\xe2\x80\xa6\n"},
};

START_TEST(columns_are_aligned_and_cut)
{
	for (size_t i = 0; i < sizeof grid_cases / sizeof *grid_cases; i++) {
		struct text_table table;
		buf_clear(&out);
		text_table_init(&table, columns, 4);
		put_rows(&table);
		text_table_write(&table, grid_cases[i].width, &out);
		expect_out(grid_cases[i].lines);
		text_table_release(&table);
	}
}
END_TEST

/* A foreign message's reason may be as long as a frame. */
START_TEST(long_cells_are_cut)
{
	static char wide[2 * TEXT_TABLE_CELL_MAX];
	struct text_table table;
	memset(wide, 'w', sizeof wide);
	text_table_init(&table, columns, 4);
	for (size_t i = 0; i < 4; i++)
		text_table_add(&table, text_of(wide, sizeof wide));
	text_table_write(&table, 0, &out);
	text_table_release(&table);
	ck_assert_uint_eq(table.widths[0], TEXT_TABLE_CELL_MAX);
	ck_assert_uint_eq(table.widths[2], TEXT_TABLE_WHOLE_MAX);
	ck_assert_uint_lt(buf_len(&out), 2 * (4 * TEXT_TABLE_CELL_MAX));
}
END_TEST

START_TEST(a_table_without_rows_has_no_titles)
{
	struct text_table table;
	text_table_init(&table, columns, 4);
	text_table_write(&table, 80, &out);
	expect_out("");
	text_table_release(&table);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("dead_letters/reader");
	TCase *dead_letters = tcase_create("dead letters");
	tcase_add_checked_fixture(dead_letters, set_up, tear_down);
	tcase_add_test(dead_letters, conditions_select_dead_letters);
	tcase_add_test(dead_letters, malformed_conditions_are_refused);
	tcase_add_test(dead_letters, a_dead_letter_is_named_by_its_ids);
	tcase_add_test(dead_letters, an_unreadable_dead_letter_has_no_headers);
	tcase_add_test(dead_letters, json_has_the_types_of_headers);
	tcase_add_test(dead_letters, json_has_the_whole_dead_letter);
	tcase_add_test(dead_letters, a_dead_letter_is_shown_as_text);
	tcase_add_test(dead_letters, long_bodies_are_cut);
	tcase_add_test(dead_letters, columns_are_aligned_and_cut);
	tcase_add_test(dead_letters, long_cells_are_cut);
	tcase_add_test(dead_letters, a_table_without_rows_has_no_titles);
	suite_add_tcase(s, dead_letters);
	return s;
}

UNIT_MAIN(suite)
