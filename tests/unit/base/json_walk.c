/* JSON objects in a text: which texts are objects, and which members they have. */
#include "base/json_walk.h"
#include "unit/unit.h"

#include <stdio.h>

static const char *const good[] = {
	"{}",
	" \t\r\n{ } ",
	"{\"a\":1}",
	"{\"a\":-0.5e+10,\"b\":0,\"c\":1E2,\"d\":12.25}",
	"{\"\":\"\"}",
	"{\"a\":{\"b\":[[],{},[1,2,\"x\"]]},\"c\":null}",
	"{\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\":true,\"b\":false}",
	"{\"a\":\"\\ud83d\\ude00\\u0000\"}",
	"{\"a\":\"\xff\x7f\xc3\"}",
};

static const char *const bad[] = {"", " ", "{", "}", "{}{}", "{} x", "[]", "null", "\"a\"", "{a:1}",
	"{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}", "{\"a\":01}", "{\"a\":+1}",
	"{\"a\":1.}", "{\"a\":.5}", "{\"a\":1e}", "{\"a\":-}", "{\"a\":tru}", "{\"a\":\"\n\"}",
	"{\"a\":\"\\x\"}", "{\"a\":\"\\u12g4\"}", "{\"a\":\"\\ud83d\"}", "{\"a\":\"\\ude00\"}",
	"{\"a\":\"\\ud83d\\u0041\"}", "{\"a\":\"", "{\"a\":\"\\", "{\"a\":\"\\u00", "{\"a\":[1,]}",
	"{\"a\":[1 2]}", "{\"a\":[}", "{'a':1}", "{\"a\":1}}", "{\"a\":NaN}"};

START_TEST(objects_are_accepted)
{
	ck_assert(json_walk_is_object(text_from(good[_i])));
}
END_TEST

START_TEST(other_texts_are_refused)
{
	ck_assert_msg(!json_walk_is_object(text_from(bad[_i])), "%s", bad[_i]);
}
END_TEST

START_TEST(an_object_without_its_end_is_refused)
{
	size_t whole = strlen(good[_i]);
	while (good[_i][whole - 1] == ' ')
		whole--;
	for (size_t len = 0; len < whole; len++)
		ck_assert(!json_walk_is_object(text_of(good[_i], len)));
}
END_TEST

START_TEST(the_depth_is_limited)
{
	for (int depth = JSON_WALK_DEPTH - 1; depth <= JSON_WALK_DEPTH; depth++) {
		char text[4 * JSON_WALK_DEPTH] = "{\"a\":", *at = text + 5;
		memset(at, '[', (size_t)depth);
		memset(at + depth, ']', (size_t)depth);
		at[2 * depth] = '}';
		ck_assert_int_eq(json_walk_is_object(text_of(text, 6 + 2 * (size_t)depth)),
			depth < JSON_WALK_DEPTH);
	}
}
END_TEST

START_TEST(members_are_found_in_order)
{
	static const struct {
		const char *key, *value;
	} expected[] = {{"a", "1"}, {"b\\n", "\"x,}\""}, {"c", "{\"d\" : [1, 2]}"}, {"e", "null"}};
	struct text rest =
		TEXT(" {\"a\" : 1 , \"b\\n\":\"x,}\",\"c\":{\"d\" : [1, 2]} ,\"e\":null }");
	struct json_member member;
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		ck_assert(json_walk_next(&rest, &member));
		ck_assert(text_is(member.key, text_from(expected[i].key)));
		ck_assert(text_is(member.value, text_from(expected[i].value)));
	}
	ck_assert(!json_walk_next(&rest, &member));
	rest = TEXT("{ }");
	ck_assert(!json_walk_next(&rest, &member));
}
END_TEST

START_TEST(escapes_are_decoded)
{
	ck_assert(json_walk_means(TEXT("pool"), "pool"));
	ck_assert(json_walk_means(TEXT("\\u0070o\\u006Fl"), "pool"));
	ck_assert(!json_walk_means(TEXT("poo"), "pool"));
	ck_assert(!json_walk_means(TEXT("pools"), "pool"));
	ck_assert(!json_walk_means(TEXT("\\u0170ool"), "pool"));
	ck_assert(json_walk_means(TEXT(""), ""));
	struct text word;
	ck_assert(json_walk_string(TEXT("\"x\\\"y\""), &word) && text_is(word, TEXT("x\\\"y")));
	ck_assert(!json_walk_string(TEXT("12"), &word));
	struct buf out;
	buf_init(&out, 1000);
	json_walk_append_decoded(
		&out, TEXT("\\u00e9\\ud83d\\ude00\\u20ac \\\"q\\\" \\u001b\\/ \xff"));
	ck_assert(text_is(buf_text(&out),
		TEXT("\xc3\xa9\xf0\x9f\x98\x80\xe2\x82\xac \"q\" \\x1b/ \xef\xbf\xbd")));
	buf_release(&out);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("base/json_walk");
	TCase *grammar = tcase_create("grammar");
	tcase_add_loop_test(grammar, objects_are_accepted, 0, sizeof good / sizeof *good);
	tcase_add_loop_test(
		grammar, an_object_without_its_end_is_refused, 0, sizeof good / sizeof *good);
	tcase_add_loop_test(grammar, other_texts_are_refused, 0, sizeof bad / sizeof *bad);
	suite_add_tcase(s, grammar);
	UNIT_CASE(s, "walk", the_depth_is_limited, members_are_found_in_order, escapes_are_decoded);
	return s;
}

UNIT_MAIN(suite)
