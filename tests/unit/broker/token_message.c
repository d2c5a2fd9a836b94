/* The message of a token: what is written is read back, and what others may have published is
 * refused with a reason. */
#include "broker/token_message.h"

#include "message/copy.h"
#include "unit/unit.h"

static const struct token_content example = {
	.holder = TEXT("web-1/4711/2/0123abcd"),
	.epoch = TOKEN_NUMBER_MAX - 1,
	.counter = 7,
	.window = 2000,
	.delay = 30 * MTIME_SECOND,
	.is_orderly = true,
	.deaths = UINT32_MAX,
	.handover = TEXT("\0bytes\n{}"),
};

START_TEST(what_is_written_is_read_back)
{
	struct buf scratch;
	struct amqp_publish publish;
	struct properties properties;
	struct token_content content;

	buf_init(&scratch, TOKEN_BODY_MAX + 1024);
	ck_assert_int_eq(
		token_message_write(&example, 17, TEXT("work.token"), &scratch, &publish), RC_OK);
	ck_assert(publish.mandatory && text_is(publish.routing_key, TEXT("work.token")));
	ck_assert_int_eq(properties_parse(publish.properties, &properties), RC_OK);
	ck_assert_uint_eq(properties_octet(&properties, PROPERTY_DELIVERY_MODE), 2);
	ck_assert_uint_eq(copy_returned_number(publish.properties), 17);
	ck_assert_ptr_null(token_message_read(publish.body, &content));
	ck_assert(text_is(content.holder, example.holder));
	ck_assert(text_is(content.handover, example.handover));
	ck_assert_uint_eq(content.epoch, example.epoch);
	ck_assert_uint_eq(content.counter, example.counter);
	ck_assert_uint_eq(content.window, example.window);
	ck_assert_uint_eq(content.deaths, example.deaths);
	ck_assert(content.is_orderly && content.delay == example.delay);
	buf_release(&scratch);
}
END_TEST

START_TEST(a_wait_is_never_shortened)
{
	struct token_content content = example;
	struct buf scratch;
	struct amqp_publish publish;

	buf_init(&scratch, TOKEN_BODY_MAX + 1024);
	content.delay = 1;
	ck_assert_int_eq(token_message_write(&content, 1, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert_ptr_null(token_message_read(publish.body, &content));
	ck_assert(content.delay == MTIME_MS);
	buf_release(&scratch);
}
END_TEST

START_TEST(a_largest_token_fits)
{
	static char holder[TOKEN_HOLDER_MAX], handover[TOKEN_HANDOVER_MAX];
	struct token_content content = example;
	struct buf scratch;
	struct amqp_publish publish;

	memset(holder, 'h', sizeof holder);
	content.holder = text_of(holder, sizeof holder);
	content.handover = text_of(handover, sizeof handover);
	buf_init(&scratch, TOKEN_BODY_MAX + 1024);
	ck_assert_int_eq(
		token_message_write(&content, UINT64_MAX, TEXT("q"), &scratch, &publish), RC_OK);
	ck_assert_ptr_null(token_message_read(publish.body, &content));
	ck_assert_uint_eq(content.handover.len, TOKEN_HANDOVER_MAX);
	buf_release(&scratch);
}
END_TEST

#define LINE(holder, epoch, counter, window, wait, orderly, deaths)                                \
	"{\"wpool_token\":1,\"holder\":" holder ",\"epoch\":" epoch ",\"counter\":" counter        \
	",\"window\":" window ",\"wait_ms\":" wait ",\"orderly\":" orderly ",\"deaths\":" deaths   \
	"}\n"

/* why NULL: it is a token. */
static const struct {
	const char *body, *why;
} bodies[] = {
	{LINE("\"\"", "0", "0", "1", "0", "false", "0"), NULL},
	{"{\"later\":{\"a\":[1]},\"wpool_token\":1,\"holder\":\"h\",\"epoch\":1,\"counter\":0,"
	 "\"window\":1,\"wait_ms\":0,\"orderly\":true,\"deaths\":0}\nrest",
		NULL},
	{"", "it does not begin with a line of JSON"},
	{"\n", "it does not begin with a line of JSON"},
	{"[]\n", "it does not begin with a line of JSON"},
	{"{}", "it does not begin with a line of JSON"},
	{"{\"wpool_token\":1,}\n", "it does not begin with a line of JSON"},
	{"{}\n", "a member is missing, or there twice"},
	{"{\"wpool_token\":1,\"holder\":\"h\",\"epoch\":1,\"counter\":0,\"window\":1,"
	 "\"wait_ms\":0,\"orderly\":true,\"deaths\":0,\"epoch\":2}\n",
		"a member is missing, or there twice"},
	{"{\"wpool_token\":2,\"holder\":\"h\",\"epoch\":1,\"counter\":0,\"window\":1,"
	 "\"wait_ms\":0,\"orderly\":true,\"deaths\":0}\n",
		"it is of another version of wpool"},
	{LINE("7", "1", "0", "1", "0", "false", "0"), "its holder is no valid name"},
	{LINE("\"a b\"", "1", "0", "1", "0", "false", "0"), "its holder is no valid name"},
	{LINE("\"\\u0041\"", "1", "0", "1", "0", "false", "0"), "its holder is no valid name"},
	{LINE("\"\xc3\xa4\"", "1", "0", "1", "0", "false", "0"), "its holder is no valid name"},
	{LINE("\"\"", "1", "0", "1", "0", "false", "0"), "it has an epoch, but no holder"},
	{LINE("\"h\"", "1099511627776", "0", "1", "0", "false", "0"),
		"its epoch or counter is no number, or too large"},
	{LINE("\"h\"", "1", "-1", "1", "0", "false", "0"),
		"its epoch or counter is no number, or too large"},
	{LINE("\"h\"", "1.5", "0", "1", "0", "false", "0"),
		"its epoch or counter is no number, or too large"},
	{LINE("\"h\"", "1", "0", "0", "0", "false", "0"),
		"its window is no number from 1 to 65535"},
	{LINE("\"h\"", "1", "0", "65536", "0", "false", "0"),
		"its window is no number from 1 to 65535"},
	{LINE("\"h\"", "1", "0", "1", "86400000", "false", "0"), NULL},
	{LINE("\"h\"", "1", "0", "1", "86400001", "false", "0"),
		"its wait_ms is no number, or too large"},
	{LINE("\"h\"", "1", "0", "1", "0", "0", "0"), "its orderly or deaths has another type"},
	{LINE("\"h\"", "1", "0", "1", "0", "true", "4294967296"),
		"its orderly or deaths has another type"},
};

START_TEST(what_others_publish_is_refused_with_a_reason)
{
	struct token_content content = example;
	const char *why = token_message_read(text_from(bodies[_i].body), &content);

	ck_assert_pstr_eq(why, bodies[_i].why);
	if (why)
		ck_assert(text_is(content.holder, example.holder)); /* untouched */
}
END_TEST

START_TEST(too_large_ones_are_refused)
{
	static char bytes[TOKEN_BODY_MAX + 1];
	struct token_content content;

	memset(bytes, ' ', sizeof bytes);
	ck_assert_str_eq(
		token_message_read(text_of(bytes, sizeof bytes), &content), "it is too large");
	memcpy(bytes, "{", 1);
	memcpy(bytes + TOKEN_LINE_MAX, "}\n", 2);
	ck_assert_str_eq(token_message_read(text_of(bytes, TOKEN_LINE_MAX + 2), &content),
		"it does not begin with a line of JSON");
}
END_TEST

static Suite *token_message_suite(void)
{
	Suite *suite = suite_create("broker/token_message");
	TCase *tcase = tcase_create("message");

	tcase_add_test(tcase, what_is_written_is_read_back);
	tcase_add_test(tcase, a_wait_is_never_shortened);
	tcase_add_test(tcase, a_largest_token_fits);
	tcase_add_loop_test(tcase, what_others_publish_is_refused_with_a_reason, 0,
		sizeof bodies / sizeof *bodies);
	tcase_add_test(tcase, too_large_ones_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(token_message_suite)
