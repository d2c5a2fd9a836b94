/* What a line of `wpool request --lines` may say, and how its answers are written. */
#include "publish/request_line.h"

#include "amqp/table.h"
#include "unit/unit.h"

static const struct {
	struct text line;
	const char *problem;
} cases[] = {
	{TEXT("{\"body\":\"b\"}"), NULL},
	{TEXT(" { \"body\" : \"\" , \"queue\": \"other\", \"headers\": {\"K\": \"=v\", \"L\": \"\"}} "),
		NULL},
	{TEXT("{\"body\":\"a\\u0000b\"}"), "the line is not a JSON object"},
	{TEXT(""), "the line is not a JSON object"},
	{TEXT("[]"), "the line is not a JSON object"},
	{TEXT("{\"body\":\"\xff\"}"), "the line is not a JSON object"},
	{TEXT("{\"body\":\"b\"}x"), "the line is not a JSON object"},
	{TEXT("{\"body\":\"b\",\"body\":\"c\"}"), "the line is not a JSON object"},
	{TEXT("{}"), "body is missing"},
	{TEXT("{\"queue\":\"\",\"body\":\"b\"}"), "queue is empty or over 255 bytes"},
	{TEXT("{\"body\":1}"), "queue and body must be texts"},
	{TEXT("{\"body\":\"b\",\"queue\":null}"), "queue and body must be texts"},
	{TEXT("{\"body\":\"b\",\"header\":{}}"),
		"there is a member other than queue, headers and body"},
	{TEXT("{\"body\":\"b\",\"headers\":[]}"), "headers must be an object"},
	{TEXT("{\"body\":\"b\",\"headers\":{\"K\":1}}"),
		"headers must be texts, and their names without a \"=\""},
	{TEXT("{\"body\":\"b\",\"headers\":{\"K=\":\"v\"}}"),
		"headers must be texts, and their names without a \"=\""},
	{TEXT("{\"body\":\"b\",\"headers\":{\"\":\"v\"}}"),
		"a header is empty, too long, or the broker's own (CC, BCC)"},
	{TEXT("{\"body\":\"b\",\"headers\":{\"CC\":\"v\"}}"),
		"a header is empty, too long, or the broker's own (CC, BCC)"},
};

START_TEST(lines_are_read_or_their_mistake_is_named)
{
	struct envelope envelope;
	struct request_line line;
	envelope_init(&envelope);
	ck_assert_ptr_null(envelope_set(&envelope, ENVELOPE_QUEUE, TEXT("q")));
	const char *problem = request_line_read(cases[_i].line, &envelope, &line);
	ck_assert_pstr_eq(problem, cases[_i].problem);
	request_line_release(&line);
	envelope_release(&envelope);
}
END_TEST

START_TEST(line_wins_over_options)
{
	struct envelope envelope;
	struct request_line line;
	envelope_init(&envelope);
	ck_assert_ptr_null(envelope_set(&envelope, ENVELOPE_QUEUE, TEXT("q")));
	ck_assert_ptr_null(envelope_add_header(&envelope, TEXT("A=1")));
	size_t len = buf_len(&envelope.headers);
	ck_assert_ptr_null(request_line_read(cases[1].line, &envelope, &line));
	ck_assert(text_is(envelope.field[ENVELOPE_QUEUE], TEXT("other")));
	ck_assert_uint_gt(buf_len(&envelope.headers), len);
	ck_assert_ptr_nonnull(line.body.ptr);
	ck_assert_uint_eq(line.body.len, 0);
	request_line_release(&line);
	envelope_release(&envelope);
}
END_TEST

static const char *header(const struct envelope *envelope, struct text key)
{
	struct text rest = buf_text(&envelope->headers);
	struct table_field field;
	static char found[64];
	*found = '\0';
	while (table_next(&rest, true, &field)) {
		size_t len = strlen(found);
		if (text_is(field.key, key))
			snprintf(found + len, sizeof found - len, "[%.*s]", TEXT_ARGS(field.value));
	}
	return found;
}

/* Of two headers with one name it would depend on the reader which one counts. */
START_TEST(header_of_a_line_replaces_that_of_the_options)
{
	struct envelope envelope;
	struct request_line line;
	envelope_init(&envelope);
	ck_assert_ptr_null(envelope_set(&envelope, ENVELOPE_QUEUE, TEXT("q")));
	ck_assert_ptr_null(envelope_add_header(&envelope, TEXT("A=1")));
	ck_assert_ptr_null(envelope_add_header(&envelope, TEXT("B=2")));
	ck_assert_ptr_null(envelope_add_header(&envelope, TEXT("C=3")));
	ck_assert_ptr_null(request_line_read(
		TEXT("{\"body\":\"\",\"headers\":{\"B\":\"longer\",\"D\":\"4\"}}"), &envelope,
		&line));
	ck_assert_str_eq(header(&envelope, TEXT("A")), "[1]");
	ck_assert_str_eq(header(&envelope, TEXT("B")), "[longer]");
	ck_assert_str_eq(header(&envelope, TEXT("C")), "[3]");
	ck_assert_str_eq(header(&envelope, TEXT("D")), "[4]");
	request_line_release(&line);
	envelope_release(&envelope);
}
END_TEST

START_TEST(answers_are_one_line_of_json)
{
	struct buf out;
	buf_init(&out, 10000);
	request_line_append_reply(&out, TEXT("q\""), TEXT("a\nb\x1b"));
	request_line_append_reply(&out, TEXT("q"), TEXT("\xff"));
	request_line_append_reply(&out, TEXT("q"), TEXT(""));
	request_line_append_error(&out, TEXT("q"), TEXT("why\xff"));
	ck_assert(
		text_is(buf_text(&out), TEXT("{\"queue\":\"q\\\"\",\"body\":\"a\\nb\\u001b\"}\n"
					     "{\"queue\":\"q\",\"body_base64\":\"/w==\"}\n"
					     "{\"queue\":\"q\",\"body\":\"\"}\n"
					     "{\"queue\":\"q\",\"error\":\"why\xef\xbf\xbd\"}\n")));
	buf_release(&out);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("publish/request_line");
	TCase *tcase = tcase_create("lines");
	tcase_add_loop_test(
		tcase, lines_are_read_or_their_mistake_is_named, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tcase, line_wins_over_options);
	tcase_add_test(tcase, header_of_a_line_replaces_that_of_the_options);
	tcase_add_test(tcase, answers_are_one_line_of_json);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
