/* Both SDKs against the protocol: the same cases for the C and the Python worker, over each form of
 * the data pipe. SDK_TEST_BUILD names the build folder; run from the project's top. */
#include "sdk/stage.h"
#include "unit/unit.h"

#include <signal.h>
#include <string.h>

static const char *const probes[][3] = {
	{SDK_TEST_BUILD "/sdk/probe", NULL},
	{"/usr/bin/python3", "tests/sdk/probe.py", NULL},
	{"/usr/bin/python3", "tests/sdk/async_probe.py", NULL},
};

#define LANGUAGES   ((int)(sizeof probes / sizeof *probes))
#define ARRANGED    (LANGUAGES * STAGE_FORMS)
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* The number of a loop selects language and form. */
static void open_probe(struct stage *stage, int number)
{
	stage_open(stage, (enum stage_form)(number % STAGE_FORMS), probes[number / STAGE_FORMS]);
}

static const struct stage_exchange exchanges[] = {
	{"done", "", "200"},
	{"reply hello there", "", "201 'hello there'"},
	{"reply ", "", "201 ''"},
	{"reply gr\xc3\xbc\xc3\x9f", "", "201 'gr\xc3\xbc\xc3\x9f'"},
	{"reply-to other.queue", "", "201 'elsewhere' to other.queue"},
	{"header last", "", "201 'with headers' a=last n=-40000"},
	{"reject 400", "", "400"},
	{"reject 499", "", "499"},
	{"reject 500", "", "500"}, /* refused by the SDK: no answer, so a failure */
	{"fail 500", "", "500"},
	{"fail 599", "", "599"},
	{"fail 200", "", "500"},
	{"fail-after 250", "", "503 RetryAfterMilliseconds=250"},
	{"postpone 100", "", "503 PostponeMilliseconds=100"},
	{"postpone 31536000000", "", "503 PostponeMilliseconds=31536000000"},
	{"postpone 99", "", "500"}, /* refused by the SDK */
	{"postpone 31536000001", "", "500"},
	{"nothing", "", "500"},
	{"no such deed", "", "500"},
	{"hand-back rest", "", "201 'rest' to queue step=2"},
	{"hand-back rest", "step=1;kept=yes", "201 'rest' to queue kept=yes step=2"},
	{"facts", "", "201 'text,call-7,queue,none,id-1'"},
	{"facts \xff", "a=b", "201 'bytes,call-7,queue,b,id-1'"},
	{"facts", "a=;b=c", "201 'text,call-7,queue,,id-1'"},
	{"attempts", "", "201 '2 of 65535'"},
	{"attempts", "older=1", "201 'not known'"},
	{"limit", "", "201 'none'"},
	{"limit", "TimeoutMilliseconds=-1", "201 'none'"},
	{"limit", "TimeoutMilliseconds=soon", "201 'none'"},
	{"limit", "TimeoutMilliseconds=60000", "201 'some'"},
	{"limit", "TimeoutMilliseconds=0", "201 'over'"},
	{"should-stop", "", "201 'no'"},
	{"should-stop", "TimeoutMilliseconds=0", "201 'yes'"},
	{"should-stop", "TimeoutMilliseconds=60000", "201 'no'"},
	{"limit", "TimeoutMilliseconds=999999999999999999999999999999", "201 'none'"},
	{"stdin", "", "201 'empty'"},
	{"fork", "", "201 'forked'"},
	/* What C's types forbid: there no such deeds. In Python each is an exception. */
	{"wrong header", "", "500"},
	{"wrong queue", "", "500"},
	{"wrong status", "", "500"},
	{"wrong time", "", "500"},
	{"wrong delay", "", "500"},
	{"wrong note", "", "500"},
	{"wrong answer", "", "500"},
};

START_TEST(each_answer_is_what_the_handler_said)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_exchange(&stage, exchanges, COUNT(exchanges));
	stage_quit(&stage);
}
END_TEST

START_TEST(progress_comes_before_the_answer)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "progress half", "");
	ck_assert_str_eq(stage_read(&stage), "-1 'half'");
	ck_assert_str_eq(stage_read(&stage), "200");
	stage_quit(&stage);
}
END_TEST

START_TEST(a_task_is_accepted_before_the_answer)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "accept", "");
	ck_assert_str_eq(stage_read(&stage), "-2");
	ck_assert_str_eq(stage_read(&stage), "200");
	stage_quit(&stage);
}
END_TEST

/* Without the headers of the answer, which was set before. */
START_TEST(a_hard_limit_comes_before_the_answer)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "hard-limit 90000", "");
	ck_assert_str_eq(stage_read(&stage), "-1 HardLimitMilliseconds=90000");
	ck_assert_str_eq(stage_read(&stage), "201 'set' a=of the answer");
	stage_send_text(&stage, "hard-limit 31536000000", "");
	ck_assert_str_eq(stage_read(&stage), "-1 HardLimitMilliseconds=31536000000");
	ck_assert_str_eq(stage_read(&stage), "201 'set' a=of the answer");
	stage_send_text(&stage, "hard-limit -1", "");
	ck_assert_str_eq(stage_read(&stage), "500");
	stage_quit(&stage);
}
END_TEST

START_TEST(tasks_sent_ahead_are_answered_in_order)
{
	struct stage stage;
	open_probe(&stage, _i);
	for (int i = 0; i < 50; i++)
		stage_send_text(&stage, i % 2 ? "reply odd" : "reply even", "");
	for (int i = 0; i < 50; i++)
		ck_assert_str_eq(stage_read(&stage), i % 2 ? "201 'odd'" : "201 'even'");
	stage_quit(&stage);
}
END_TEST

/* The first answer comes while the second task, which was in the pipe with it, is being worked. */
START_TEST(an_answer_is_written_before_the_next_task_begins)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "reply first", "");
	stage_send_text(&stage, "until-stop", "");
	ck_assert_str_eq(stage_read(&stage), "201 'first'");
	ck_assert_str_eq(stage_read(&stage), "-1 'begun'");
	stage_write_control(&stage, "__context_switch__");
	ck_assert_str_eq(stage_read(&stage), "201 'stopped'");
	stage_quit(&stage);
}
END_TEST

START_TEST(a_task_may_come_byte_by_byte)
{
	static const char frame[] = "\0\0\0\x15\x84\xa1"
				    "0\xa8reply it\xa1"
				    "1\xa0\xa1"
				    "2\xa0\xa1"
				    "3\x80";
	struct stage stage;
	open_probe(&stage, _i);
	for (size_t i = 0; i < sizeof frame - 1; i++)
		stage_write(&stage, frame + i, 1);
	ck_assert_str_eq(stage_read(&stage), "201 'it'");
	stage_quit(&stage);
}
END_TEST

START_TEST(large_bodies_pass_both_ways)
{
	enum { LARGE = 16 << 20 };
	struct stage stage;
	open_probe(&stage, _i);
	char *body = malloc(LARGE);
	ck_assert_ptr_nonnull(body);
	memset(body, 'x', LARGE);
	memcpy(body, "size ", 5);
	stage_send(&stage, body, LARGE, "");
	ck_assert_str_eq(stage_read(&stage), "201 '16777216'");
	stage_send_text(&stage, "large 16777216", "");
	ck_assert_str_eq(stage_read(&stage), "201 '(16777216 bytes)'");
	stage_send_text(&stage, "done", "");
	ck_assert_str_eq(stage_read(&stage), "200");
	free(body);
	stage_quit(&stage);
}
END_TEST

/* Two million bytes do not fit a pipe, so reads and writes are interrupted in their middle. */
START_TEST(signals_disturb_nothing)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "done", ""); /* its handler for the signal stands */
	ck_assert_str_eq(stage_read(&stage), "200");
	for (int round = 0; round < 5; round++) {
		stage_send_text(&stage, "large 2000000", "");
		for (int i = 0; i < 20; i++)
			kill(stage.pid, SIGUSR1);
		ck_assert_str_eq(stage_read(&stage), "201 '(2000000 bytes)'");
		kill(stage.pid, SIGUSR1);
	}
	stage_quit(&stage);
}
END_TEST

START_TEST(the_soft_limit_reaches_the_task_in_hand)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "until-stop", "");
	ck_assert_str_eq(stage_read(&stage), "-1 'begun'");
	stage_write_control(&stage, "__context_switch__");
	ck_assert_str_eq(stage_read(&stage), "201 'stopped'");
	stage_send_text(&stage, "until-stop", "TimeoutMilliseconds=50");
	ck_assert_str_eq(stage_read(&stage), "-1 'begun'");
	ck_assert_str_eq(stage_read(&stage), "201 'stopped'");
	/* Beyond what poll can wait for. */
	stage_send_text(&stage, "until-stop", "TimeoutMilliseconds=3000000000");
	ck_assert_str_eq(stage_read(&stage), "-1 'begun'");
	stage_write_control(&stage, "__context_switch__");
	ck_assert_str_eq(stage_read(&stage), "201 'stopped'");
	stage_quit(&stage);
}
END_TEST

START_TEST(the_soft_limit_may_be_asked_for_twice)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "ask-twice", "");
	ck_assert_str_eq(stage_read(&stage), "-1 'begun'");
	stage_write_control(&stage, "__context_switch__");
	ck_assert_str_eq(stage_read(&stage), "201 'stopped'");
	stage_quit(&stage);
}
END_TEST

/* It was sent before the task, so it meant the one before that. */
START_TEST(a_late_soft_limit_does_not_reach_the_next_task)
{
	struct stage stage;
	open_probe(&stage, _i);
	for (int i = 0; i < 20; i++) {
		stage_write_control(&stage, "__context_switch__");
		stage_send_text(&stage, "should-stop", "");
		ck_assert_str_eq(stage_read(&stage), "201 'no'");
	}
	stage_quit(&stage);
}
END_TEST

START_TEST(unknown_control_lines_are_passed_over)
{
	char line[20000];
	struct stage stage;
	open_probe(&stage, _i);
	memset(line, 'z', sizeof line);
	line[sizeof line - 1] = '\0';
	stage_write_control(&stage, "__a_later_version__");
	stage_write_control(&stage, "");
	stage_write_control(&stage, line);
	stage_send_text(&stage, "done", "");
	ck_assert_str_eq(stage_read(&stage), "200");
	stage_quit(&stage);
}
END_TEST

START_TEST(quit_lets_the_task_in_hand_finish)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "until-stop", "TimeoutMilliseconds=50");
	ck_assert_str_eq(stage_read(&stage), "-1 'begun'");
	stage_write_control(&stage, "__quit__");
	ck_assert_str_eq(stage_read(&stage), "201 'stopped'");
	ck_assert_int_eq(stage_wait(&stage), 0);
}
END_TEST

START_TEST(the_end_of_the_data_pipe_is_the_end)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "done", "");
	ck_assert_str_eq(stage_read(&stage), "200");
	stage_close_data(&stage);
	ck_assert_int_eq(stage_wait(&stage), 0);
}
END_TEST

START_TEST(the_end_of_standard_input_is_the_end)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_close_control(&stage);
	ck_assert_int_eq(stage_wait(&stage), 0);
}
END_TEST

START_TEST(the_end_of_standard_input_stops_the_task_in_hand)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "until-stop", "");
	ck_assert_str_eq(stage_read(&stage), "-1 'begun'");
	stage_close_control(&stage);
	ck_assert_str_eq(stage_read(&stage), "201 'stopped'");
	ck_assert_int_eq(stage_wait(&stage), 0);
}
END_TEST

/* Exit 1 and not a signal: SIGPIPE must not kill it. */
START_TEST(an_answer_that_nobody_reads_ends_the_worker)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_send_text(&stage, "until-stop", "");
	ck_assert_str_eq(stage_read(&stage), "-1 'begun'");
	stage_close_data(&stage);
	stage_write_control(&stage, "__context_switch__");
	ck_assert_int_eq(stage_wait(&stage), 1);
}
END_TEST

static const struct bad_frame {
	const char *bytes;
	size_t len;
} bad_frames[] = {
	{"\0\0\0\0", 4},                              /* no length */
	{"\xff\xff\xff\xff", 4},                      /* too long */
	{"\0\0\0\1\xc1", 5},                          /* never used */
	{"\0\0\0\2\x80\x80", 6},                      /* trailing bytes */
	{"\0\0\0\2\x81\xa1", 6},                      /* cut */
	{"\0\0\0\1\x90", 5},                          /* not a map */
	{"\0\0\0\5\xdf\xff\xff\xff\xff", 9},          /* four thousand million elements */
	{"\0\0\0\7\x81\xa1\x30\xdb\x7f\xff\xff", 11}, /* a text cut in its length */
};

START_TEST(a_bad_frame_ends_the_worker)
{
	struct stage stage;
	const struct bad_frame *bad = &bad_frames[_i / LANGUAGES];
	stage_open(&stage, STAGE_PATH, probes[_i % LANGUAGES]);
	stage_write(&stage, bad->bytes, bad->len);
	ck_assert_int_eq(stage_wait(&stage), 1);
}
END_TEST

START_TEST(half_a_frame_is_no_end_in_order)
{
	struct stage stage;
	open_probe(&stage, _i);
	stage_write(&stage, "\0\0\0\5\x81", 5);
	stage_close_data(&stage);
	ck_assert_int_eq(stage_wait(&stage), 1);
}
END_TEST

static const char *const bad_addresses[] = {"/nowhere/at/all", "no-such-name"};

START_TEST(an_address_where_nobody_listens_ends_the_worker)
{
	struct stage stage;
	stage_start(&stage, probes[_i % LANGUAGES]);
	stage_write_control(&stage, bad_addresses[_i / LANGUAGES]);
	ck_assert_int_eq(stage_wait(&stage), 1);
}
END_TEST

START_TEST(fifos_that_nobody_opens_hold_no_worker)
{
	struct stage stage;
	stage_abandon(&stage, probes[_i]);
	ck_assert_int_eq(stage_wait(&stage), 0);
}
END_TEST

START_TEST(no_address_ends_the_worker)
{
	struct stage stage;
	stage_start(&stage, probes[_i]);
	stage_close_control(&stage);
	ck_assert_int_eq(stage_wait(&stage), 1);
}
END_TEST

static TCase *over_all_forms(void)
{
	static const TTest *const *const tests[] = {&each_answer_is_what_the_handler_said,
		&progress_comes_before_the_answer, &a_task_is_accepted_before_the_answer,
		&a_hard_limit_comes_before_the_answer, &tasks_sent_ahead_are_answered_in_order,
		&an_answer_is_written_before_the_next_task_begins, &a_task_may_come_byte_by_byte,
		&large_bodies_pass_both_ways, &signals_disturb_nothing,
		&the_soft_limit_reaches_the_task_in_hand, &the_soft_limit_may_be_asked_for_twice,
		&a_late_soft_limit_does_not_reach_the_next_task,
		&unknown_control_lines_are_passed_over, &quit_lets_the_task_in_hand_finish,
		&the_end_of_the_data_pipe_is_the_end, &the_end_of_standard_input_is_the_end,
		&the_end_of_standard_input_stops_the_task_in_hand,
		&an_answer_that_nobody_reads_ends_the_worker, &half_a_frame_is_no_end_in_order};
	TCase *tcase = tcase_create("over each form of the pipe");
	for (size_t i = 0; i < COUNT(tests); i++)
		tcase_add_loop_test(tcase, *tests[i], 0, ARRANGED);
	tcase_set_timeout(tcase, 60);
	return tcase;
}

static TCase *over_both_languages(void)
{
	TCase *tcase = tcase_create("in both languages");
	tcase_add_loop_test(
		tcase, a_bad_frame_ends_the_worker, 0, LANGUAGES * (int)COUNT(bad_frames));
	tcase_add_loop_test(tcase, an_address_where_nobody_listens_ends_the_worker, 0,
		LANGUAGES * (int)COUNT(bad_addresses));
	tcase_add_loop_test(tcase, fifos_that_nobody_opens_hold_no_worker, 0, LANGUAGES);
	tcase_add_loop_test(tcase, no_address_ends_the_worker, 0, LANGUAGES);
	tcase_set_timeout(tcase, 60);
	return tcase;
}

static Suite *sdk_suite(void)
{
	Suite *suite = suite_create("sdk worker");
	suite_add_tcase(suite, over_all_forms());
	suite_add_tcase(suite, over_both_languages());
	return suite;
}

UNIT_MAIN(sdk_suite)
