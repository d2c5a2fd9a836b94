/* Lines of workers in the log: JSON stays JSON, and no worker can forge where a line comes from. */
#include "unit/support/base/written.h"
#include "unit/unit.h"

#include <stdio.h>

START_TEST(objects_stay_objects_and_forge_no_origin)
{
	static const struct {
		const char *line, *json, *text;
	} cases[] = {
		{"{\"msg\":\"done\",\"n\":1.10,\"ok\":true}",
			"\"level\":\"info\",%s,\"msg\":\"done\",\"n\":1.10,\"ok\":true}",
			"info  fibonacci/3[4711] stderr: done n=1.10 ok=true"},
		{" { \"a\" : [ 1 , {\"b\":null} ] } \r",
			"\"level\":\"info\",%s,\"a\":[ 1 , {\"b\":null} ]}",
			"info  fibonacci/3[4711] stderr: a=[ 1 , {\"b\":null} ]"},
		{"{}", "\"level\":\"info\",%s}", "info  fibonacci/3[4711] stderr:"},
		{"{\"pool\":\"x\",\"\\u0073lot\":9,\"pid\":1,\"stream\":0,\"ts\":12.5,\"msg\":\"m\"}",
			"\"level\":\"info\",%s,\"worker.pool\":\"x\",\"worker.\\u0073lot\":9,"
			"\"worker.pid\":1,\"worker.stream\":0,\"worker.ts\":12.5,\"msg\":\"m\"}",
			"info  fibonacci/3[4711] stderr: m worker.pool=x worker.slot=9 worker.pid=1 "
			"worker.stream=0"},
		{"{\"level\":\"warn\",\"event\":\"odd\"}",
			"\"level\":\"warn\",%s,\"event\":\"odd\"}",
			"warn  fibonacci/3[4711] stderr: odd"},
		{"{\"level\":\"WARNING\"}", "\"level\":\"warn\",%s,\"worker.level\":\"WARNING\"}",
			"warn  fibonacci/3[4711] stderr:"},
		{"{\"severity\":\"Critical\",\"message\":\"\\u001b[2J\\n\\ud83d\\ude00\"}",
			"\"level\":\"error\",%s,\"severity\":\"Critical\","
			"\"message\":\"\\u001b[2J\\n\\ud83d\\ude00\"}",
			"error fibonacci/3[4711] stderr: \\x1b[2J\\n\xf0\x9f\x98\x80 severity=Critical"},
		{"{\"level\":50}", "\"level\":\"info\",%s,\"worker.level\":50}",
			"info  fibonacci/3[4711] stderr:"},
		{"{\"a\":\"\xff b\"}", "\"level\":\"info\",%s,\"a\":\"\xef\xbf\xbd b\"}",
			"info  fibonacci/3[4711] stderr: a=\"\xef\xbf\xbd b\""},
		{"{\"a\":1} x", "\"level\":\"info\",%s,\"msg\":\"{\\\"a\\\":1} x\"}",
			"info  fibonacci/3[4711] stderr: {\"a\":1} x"},
		{"[1]", "\"level\":\"info\",%s,\"msg\":\"[1]\"}",
			"info  fibonacci/3[4711] stderr: [1]"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char expected[400];
		const char *origin = "\"pool\":\"fibonacci\",\"slot\":3,\"pid\":4711,"
				     "\"stream\":\"stderr\"";
		const char *at = strstr(cases[i].json, "%s");
		snprintf(expected, sizeof expected, "Z\",%.*s%s%s\n", (int)(at - cases[i].json),
			cases[i].json, origin, at + 2);
		int fd = written_open(LOG_JSON, false);
		written_tell(written_worker, text_from(cases[i].line));
		ck_assert_str_eq(strchr(written_taken(fd), 'Z'), expected);
		fd = written_open(LOG_TEXT, false);
		written_tell(written_worker, text_from(cases[i].line));
		snprintf(expected, sizeof expected, "%s\n", cases[i].text);
		ck_assert_str_eq(written_after_time(written_taken(fd)), expected);
	}
}
END_TEST

/* A worker's warning is logged while its other lines are hidden. */
START_TEST(the_level_in_an_object_counts)
{
	int fd = written_open(LOG_JSON, false);
	ck_assert(log_set_level(LOG_WARN, NULL));
	written_tell(written_worker, TEXT("{\"level\":\"info\"}"));
	written_tell(written_worker, TEXT("{\"level\":\"debug\"}"));
	written_tell(written_worker, TEXT("error"));
	ck_assert_str_eq(written_taken(fd), "");
	written_tell(written_worker, TEXT("{\"level\":\"error\"}"));
	ck_assert_ptr_nonnull(strstr(written_taken(fd), "\"level\":\"error\""));
}
END_TEST

START_TEST(a_cut_object_is_logged_as_text)
{
	int fd = written_open(LOG_TEXT, false);
	struct log_worker_line line = log_worker_line(TEXT("{\"a\":1}"), true);
	log_write_worker_line(LOG_ORIGIN_NONE, &line);
	ck_assert_str_eq(written_after_time(written_taken(fd)), "info  {\"a\":1} [cut]\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("base/log_worker");
	UNIT_CASE(s, "lines", objects_stay_objects_and_forge_no_origin,
		the_level_in_an_object_counts, a_cut_object_is_logged_as_text);
	return s;
}

UNIT_MAIN(suite)
