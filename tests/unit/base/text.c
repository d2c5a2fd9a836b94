/* UTF-8, JSON strings, result codes, lists, times and decimals. */
#include "base/json.h"
#include "base/list.h"
#include "base/mtime.h"
#include "base/utf8.h"
#include "unit/unit.h"

#include <stdio.h>

#define REPLACED "\xef\xbf\xbd"

struct utf8_case {
	const char *bytes, *repaired; /* repaired NULL: well formed */
};

/* Ranges of RFC 3629, 4, at both ends; the maximal parts of Unicode 15, 3.9, table 3-8 and 3-9. */
static const struct utf8_case utf8_cases[] = {
	{"", NULL},
	{"plain ascii that is longer than one word of the fast path", NULL},
	{"\x7f\xc2\x80\xdf\xbf", NULL},
	{"\xe0\xa0\x80\xec\xbf\xbf\xed\x80\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", NULL},
	{"\xf0\x90\x80\x80\xf3\xbf\xbf\xbf\xf4\x80\x80\x80\xf4\x8f\xbf\xbf", NULL},
	{"\x80", REPLACED},
	{"\xc0\xaf", REPLACED REPLACED},
	{"\xc1\xbf", REPLACED REPLACED},
	{"\xe0\x9f\xbf", REPLACED REPLACED REPLACED},
	{"\xed\xa0\x80", REPLACED REPLACED REPLACED},
	{"\xf0\x8f\xbf\xbf", REPLACED REPLACED REPLACED REPLACED},
	{"\xf4\x90\x80\x80", REPLACED REPLACED REPLACED REPLACED},
	{"\xf5\x80", REPLACED REPLACED},
	{"\xff", REPLACED},
	{"12345678\xe2\x82", "12345678" REPLACED},
	{"\xe2\x82x", REPLACED "x"},
	{"\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64",
		REPLACED REPLACED REPLACED "b" REPLACED "c" REPLACED REPLACED "d"},
	{"1234567\xc3\xa9 tail that is long enough for a word", NULL},
};

START_TEST(ill_formed_utf8_is_found_and_repaired)
{
	for (size_t i = 0; i < sizeof utf8_cases / sizeof *utf8_cases; i++) {
		const struct utf8_case *c = &utf8_cases[i];
		struct text expected = text_from(c->repaired ? c->repaired : c->bytes);
		struct buf out;
		buf_init(&out, 1000);
		ck_assert_msg(utf8_is_valid(text_from(c->bytes)) == !c->repaired, "case %zu", i);
		utf8_append_valid(&out, text_from(c->bytes));
		ck_assert_msg(text_is(buf_text(&out), expected), "case %zu", i);
		ck_assert(utf8_is_valid(buf_text(&out)));
		buf_release(&out);
	}
}
END_TEST

/* Every pair of bytes after a fixed beginning: the repaired text is valid, and a valid text is not
 * changed. */
START_TEST(repair_changes_only_ill_formed_utf8)
{
	static const char *const starts[] = {"", "\xe1", "\xf1\x80", "\xed", "\xf4"};
	for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
		for (unsigned pair = 0; pair < 65536; pair++) {
			char bytes[8];
			size_t len = strlen(starts[s]);
			struct buf out;
			memcpy(bytes, starts[s], len);
			bytes[len++] = (char)(pair >> 8);
			bytes[len++] = (char)pair;
			buf_init(&out, 100);
			utf8_append_valid(&out, text_of(bytes, len));
			ck_assert(utf8_is_valid(buf_text(&out)));
			bool same = text_is(buf_text(&out), text_of(bytes, len));
			ck_assert(same == utf8_is_valid(text_of(bytes, len)));
			buf_release(&out);
		}
	}
}
END_TEST

START_TEST(the_ascii_prefix_ends_at_the_first_other_byte)
{
	char bytes[40];
	for (size_t at = 0; at < sizeof bytes; at++) {
		memset(bytes, 'a', sizeof bytes);
		bytes[at] = (char)0x80;
		ck_assert_uint_eq(utf8_ascii_prefix(text_of(bytes, sizeof bytes)), at);
	}
	ck_assert_uint_eq(utf8_ascii_prefix(TEXT_NONE), 0);
}
END_TEST

START_TEST(json_strings_are_escaped)
{
	static const struct {
		struct text in;
		const char *out;
	} cases[] = {
		{TEXT(""), "\"\""},
		{TEXT("a\"b\\c/d"), "\"a\\\"b\\\\c/d\""},
		{TEXT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
		{TEXT("\0\x1f\x7f"), "\"\\u0000\\u001f\\u007f\""},
		{TEXT("\xc3\xa9\xff"), "\"\xc3\xa9" REPLACED "\""},
		{TEXT("\xc2\x80\xc2\x9f\xc2\xa0\xd8\x9c"), "\"\\u0080\\u009f\xc2\xa0\\u061c\""},
		{TEXT("\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xaf"),
			"\"\xe2\x80\x8d\\u200e\\u2028\\u202e\xe2\x80\xaf\""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf out;
		buf_init(&out, 100);
		json_append_string(&out, cases[i].in);
		ck_assert_msg(text_is(buf_text(&out), text_from(cases[i].out)), "case %zu: %.*s", i,
			TEXT_ARGS(buf_text(&out)));
		buf_release(&out);
	}
}
END_TEST

/* Every character of the basic plane: what is named as a control, and nothing else, is escaped, as
 * text and in JSON. */
START_TEST(controls_are_escaped_and_nothing_else)
{
	char escape[12];
	for (uint32_t code = 0; code < 0x10000; code++) {
		bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
				  code == 0x200e || code == 0x200f ||
				  (code >= 0x2028 && code <= 0x202e) ||
				  (code >= 0x2066 && code <= 0x2069);
		ck_assert_msg(utf8_is_control(code) == is_control, "U+%04X", code);
		if (code < 0x800 || (code >= 0xd800 && code < 0xe000))
			continue;
		const char bytes[] = {(char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)),
			(char)(0x80 | (code & 0x3f))};
		struct text character = text_of(bytes, sizeof bytes);
		struct buf out;
		buf_init(&out, 100);
		ck_assert_uint_eq(utf8_code(character), code);
		utf8_append_escaped(&out, character);
		snprintf(escape, sizeof escape, "\\u%04x", code);
		ck_assert(text_is(buf_text(&out), is_control ? text_from(escape) : character));
		buf_clear(&out);
		json_append_written(&out, character);
		ck_assert(text_is(buf_text(&out), is_control ? text_from(escape) : character));
		buf_release(&out);
	}
}
END_TEST

#define HOSTILE TEXT("a\0\t\n\r\x1b[31m\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xff\xc3")
#define ESCAPED "a\\x00\t\\n\\r\\x1b[31m\\x7f\\x9b\\u202e\\u2028" REPLACED REPLACED

/* Escaping is done once, however often it is asked for. */
START_TEST(escaping_again_changes_nothing)
{
	struct buf once, twice;
	buf_init(&once, 1000);
	buf_init(&twice, 1000);
	utf8_append_escaped(&once, HOSTILE);
	utf8_append_escaped(&twice, buf_text(&once));
	ck_assert(text_is(buf_text(&once), TEXT(ESCAPED)));
	ck_assert(text_is(buf_text(&twice), TEXT(ESCAPED)));
	buf_release(&once);
	buf_release(&twice);
}
END_TEST

/* Cut anywhere, it ends with a whole character or a whole escape. */
START_TEST(escaped_copies_end_with_a_whole_character)
{
	static const struct {
		struct text in;
		size_t size;
		const char *out;
	} cases[] = {
		{TEXT(""), 1, ""},
		{TEXT("abc"), 4, "abc"},
		{TEXT("abc"), 3, "ab"},
		{TEXT("a\xc3\xa9"), 4, "a\xc3\xa9"},
		{TEXT("a\xc3\xa9"), 3, "a"},
		{TEXT("a\xc3"), 5, "a" REPLACED},
		{TEXT("a\xc3"), 4, "a"},
		{TEXT("a\x1b["), 6, "a\\x1b"},
		{TEXT("a\x1b["), 5, "a"},
		{TEXT("a\0b"), 7, "a\\x00b"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char out[16];
		memset(out, '#', sizeof out);
		utf8_copy_escaped(out, cases[i].size, cases[i].in);
		ck_assert_msg(strcmp(out, cases[i].out) == 0, "case %zu: %s", i, out);
		ck_assert_int_eq(out[cases[i].size], '#');
	}
}
END_TEST

/* JSON of others keeps its meaning, and its blanks. */
START_TEST(json_of_others_keeps_its_meaning)
{
	static const struct {
		struct text in;
		const char *out;
	} cases[] = {
		{TEXT("{\"a\":\t[1,\r\n\"\\u001b\"]}"), "{\"a\":\t[1, \n\"\\u001b\"]}"},
		{TEXT("\"\x7f\xc2\x9b\xe2\x81\xa6\xff\""), "\"\\u007f\\u009b\\u2066" REPLACED "\""},
		{TEXT("\x1b\0"), "\\u001b\\u0000"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf out;
		buf_init(&out, 100);
		json_append_written(&out, cases[i].in);
		ck_assert_msg(text_is(buf_text(&out), text_from(cases[i].out)), "case %zu: %.*s", i,
			TEXT_ARGS(buf_text(&out)));
		buf_release(&out);
	}
}
END_TEST

START_TEST(each_rc_has_a_text)
{
	ck_assert_str_eq(rc_text(RC_OK), "ok");
	ck_assert_str_eq(rc_text(RC_SYSTEM), "system error");
	ck_assert_ptr_nonnull(rc_text((enum rc)1000));
	ck_assert_ptr_nonnull(rc_text((enum rc) - 1));
}
END_TEST

START_TEST(a_list_keeps_the_order_of_its_links)
{
	struct link list, a, b, c;
	list_init(&list);
	list_init(&a);
	ck_assert_ptr_null(list_first(&list));
	list_append(&list, &a);
	list_append(&list, &b);
	list_prepend(&list, &c);
	ck_assert_ptr_eq(list_first(&list), &c);
	list_remove(&c);
	list_remove(&c);
	ck_assert_ptr_eq(list_first(&list), &a);
	list_remove(&a);
	list_remove(&b);
	ck_assert(list_is_empty(&list));
}
END_TEST

START_TEST(mtime_saturates)
{
	ck_assert_int_eq(mtime_after(5, MTIME_NEVER), MTIME_NEVER);
	ck_assert_int_eq(mtime_after(MTIME_NEVER, 5), MTIME_NEVER);
	ck_assert_int_eq(mtime_after(5, MTIME_SECOND), 1000005);
	ck_assert_int_eq(mtime_min(MTIME_NEVER, 3), 3);
}
END_TEST

START_TEST(decimals_are_written)
{
	static const uint64_t numbers[] = {0, 7, 10, 99, 100, 4294967296, UINT64_MAX};
	static const char *const words[] = {
		"0", "7", "10", "99", "100", "4294967296", "18446744073709551615"};
	char buffer[TEXT_DECIMAL_MAX];
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		ck_assert(text_is(text_decimal(numbers[i], buffer), text_from(words[i])));
}
END_TEST

START_TEST(decimals_are_read_up_to_a_maximum)
{
	uint64_t number;
	ck_assert(text_read_decimal(TEXT("007"), 9, &number));
	ck_assert_uint_eq(number, 7);
	ck_assert(text_read_decimal(TEXT("18446744073709551615"), UINT64_MAX, &number));
	ck_assert_uint_eq(number, UINT64_MAX);
	ck_assert(text_read_decimal(TEXT("10"), 10, &number));
	ck_assert(!text_read_decimal(TEXT("11"), 10, &number));
	ck_assert(!text_read_decimal(TEXT("9"), 8, &number));
	ck_assert(!text_read_decimal(TEXT("18446744073709551616"), UINT64_MAX, &number));
	ck_assert(!text_read_decimal(TEXT("1 "), 10, &number));
	ck_assert(!text_read_decimal(TEXT("-1"), 10, &number));
	ck_assert(!text_read_decimal(TEXT_NONE, 10, &number));
}
END_TEST

START_TEST(signed_decimals_are_read)
{
	int64_t number = 1;
	ck_assert(text_read_signed(TEXT("-17"), &number));
	ck_assert_int_eq(number, -17);
	ck_assert(text_read_signed(TEXT("9223372036854775807"), &number));
	ck_assert_int_eq(number, INT64_MAX);
	ck_assert(text_read_signed(TEXT("-9223372036854775807"), &number));
	ck_assert_int_eq(number, -INT64_MAX);
	ck_assert(!text_read_signed(TEXT("-"), &number));
	ck_assert(!text_read_signed(TEXT("--1"), &number));
	ck_assert(!text_read_signed(TEXT("+1"), &number));
	ck_assert(!text_read_signed(TEXT("9223372036854775808"), &number));
	ck_assert(!text_read_signed(TEXT_NONE, &number));
}
END_TEST

START_TEST(a_name_is_found_by_its_index)
{
	static const char *const names[] = {"one", "two", NULL};
	ck_assert_uint_eq(text_index(TEXT("one"), names), 0);
	ck_assert_uint_eq(text_index(TEXT("two"), names), 1);
	ck_assert_uint_eq(text_index(TEXT("tw"), names), 2);
	ck_assert_uint_eq(text_index(TEXT("twos"), names), 2);
	ck_assert_uint_eq(text_index(TEXT_NONE, names), 2);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("base/text");
	UNIT_CASE(s, "utf8", ill_formed_utf8_is_found_and_repaired,
		repair_changes_only_ill_formed_utf8, the_ascii_prefix_ends_at_the_first_other_byte,
		controls_are_escaped_and_nothing_else, escaping_again_changes_nothing,
		escaped_copies_end_with_a_whole_character);
	UNIT_CASE(s, "rest", json_strings_are_escaped, json_of_others_keeps_its_meaning,
		each_rc_has_a_text, a_list_keeps_the_order_of_its_links, mtime_saturates,
		decimals_are_written, decimals_are_read_up_to_a_maximum, signed_decimals_are_read,
		a_name_is_found_by_its_index);
	return s;
}

UNIT_MAIN(suite)
