/* Many tasks at once in one worker of the C SDK: in an event loop with poll or epoll, or in
 * threads. SDK_TEST_BUILD names the build folder; run from the project's top. */
#include "sdk/stage.h"
#include "unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PROBE       SDK_TEST_BUILD "/sdk/probe_many"
#define COUNT(list) (sizeof(list) / sizeof *(list))
#define MANY        200

static const char *const ways[][3] = {
	{PROBE, "poll", NULL},
	{PROBE, "epoll", NULL},
	{PROBE, "threads", NULL},
};
static const char *const one_by_one[] = {PROBE, "run", NULL};

/* FIFOs and the socket of the default. */
static const enum stage_form forms[] = {STAGE_PATH, STAGE_FIFO};

#define WAYS     ((int)COUNT(ways))
#define ARRANGED (WAYS * (int)COUNT(forms))

static void set_concurrency(const char *number)
{
	setenv("WPOOL_CONCURRENCY", number, 1);
}

/* The number of a loop selects way and form. */
static void open_probe(struct stage *stage, int number, const char *concurrency)
{
	set_concurrency(concurrency);
	stage_open(stage, forms[number / WAYS], ways[number % WAYS]);
}

static void expect(struct stage *stage, const char *output)
{
	ck_assert_str_eq(stage_read(stage), output);
}

/* Read one output for each id from first on, in any order; each must be the text, and its id. */
static void expect_each(struct stage *stage, unsigned first, unsigned count, const char *text)
{
	bool has_come[1024] = {false};
	ck_assert_uint_le(count, COUNT(has_come));
	for (unsigned i = 0; i < count; i++) {
		char expected[256];
		const char *output = stage_read(stage), *mark = strrchr(output, '#');
		ck_assert_msg(mark != NULL, "no id: %s", output);
		unsigned id = (unsigned)strtoul(mark + 1, NULL, 10);
		ck_assert_uint_ge(id, first);
		ck_assert_uint_lt(id - first, count);
		ck_assert_msg(!has_come[id - first], "a second time: %s", output);
		has_come[id - first] = true;
		snprintf(expected, sizeof expected, "%s #%u", text, id);
		ck_assert_str_eq(output, expected);
	}
}

static void hold_each(struct stage *stage, unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		stage_send_id(stage, first + i, "hold");
	expect_each(stage, first, count, "-1 'begun'");
}

/* 7 has no divisor in common with MANY, so each comes once. */
static unsigned shuffled(unsigned i)
{
	return i * 7 % MANY;
}

START_TEST(each_of_many_is_asked_by_its_id)
{
	struct stage stage;
	open_probe(&stage, _i, "200");
	hold_each(&stage, 1000, MANY);
	for (unsigned i = 0; i < MANY; i++)
		stage_request(
			&stage, i % 2 ? "__cancel__" : "__context_switch__", 1000 + shuffled(i));
	for (unsigned i = 0; i < MANY; i++) {
		const char *output = stage_read(&stage);
		unsigned id;
		if (sscanf(output, "555 #%u", &id) != 1)
			ck_assert_int_eq(sscanf(output, "201 'switched' #%u", &id), 1);
		/* MANY and 7: an id is odd where i was. */
		ck_assert_msg((*output == '5') == (id % 2), "%s", output);
	}
	stage_quit(&stage);
}
END_TEST

START_TEST(answers_overtake_each_other)
{
	struct stage stage;
	open_probe(&stage, _i, "3");
	hold_each(&stage, 1, 2);
	stage_send_id(&stage, 3, "reply three");
	expect(&stage, "201 'three' #3");
	stage_request(&stage, "__cancel__", 2);
	expect(&stage, "555 #2");
	stage_send_id(&stage, 18446744073709551615u, "reply last");
	expect(&stage, "201 'last' #18446744073709551615");
	stage_request(&stage, "__cancel__", 1);
	expect(&stage, "555 #1");
	stage_quit(&stage);
}
END_TEST

START_TEST(no_more_than_the_concurrency_are_begun)
{
	struct stage stage;
	open_probe(&stage, _i, "2");
	stage_send_id(&stage, 1, "hold");
	stage_send_id(&stage, 2, "hold");
	stage_send_id(&stage, 3, "hold");
	expect_each(&stage, 1, 2, "-1 'begun'");
	stage_request(&stage, "__cancel__", 2);
	expect(&stage, "555 #2");
	expect(&stage, "-1 'begun' #3");
	stage_request(&stage, "__cancel__", 3);
	expect(&stage, "555 #3");
	stage_request(&stage, "__cancel__", 1);
	expect(&stage, "555 #1");
	stage_quit(&stage);
}
END_TEST

/* Of concurrency 1 with a pipeline: the tasks that were read together begin one after the other.
 * Not more than the pipe takes, because meanwhile nobody reads the answers. */
START_TEST(one_at_a_time_are_answered_in_order)
{
	struct stage stage;
	open_probe(&stage, _i, "1");
	for (unsigned i = 1; i <= 50; i++)
		stage_send_id(&stage, i, i % 2 ? "later x" : "reply x");
	for (unsigned i = 1; i <= 50; i++) {
		char expected[32];
		snprintf(expected, sizeof expected, "201 'x' #%u", i);
		expect(&stage, expected);
	}
	stage_send_id(&stage, 500, "hold");
	expect(&stage, "-1 'begun' #500");
	stage_write_control(&stage, "__context_switch__");
	expect(&stage, "201 'switched' #500");
	stage_quit(&stage);
}
END_TEST

START_TEST(tasks_know_their_facts)
{
	struct stage stage;
	open_probe(&stage, _i, "5");
	stage_send_id(&stage, 7, "facts");
	expect(&stage, "201 'queue' id=7 #7");
	stage_send_id(&stage, 8, "twice");
	expect(&stage, "200 #8");
	stage_send_id(&stage, 9, "no such command");
	expect(&stage, "500 #9");
	stage_send_id(&stage, 10, "give-up");
	expect(&stage, "-1 'begun' #10");
	stage_request(&stage, "__cancel__", 10);
	expect(&stage, "500 #10");
	stage_send_text(&stage, "reply a task of a pool without ids", "");
	expect(&stage, "201 'a task of a pool without ids'");
	stage_quit(&stage);
}
END_TEST

START_TEST(answers_from_outside_the_callback_are_written)
{
	struct stage stage;
	open_probe(&stage, _i, "64");
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < 60; i++)
			stage_send_id(&stage, 1 + round * 60 + i, "later x");
		expect_each(&stage, 1 + round * 60, 60, "201 'x'");
	}
	stage_quit(&stage);
}
END_TEST

static const char *const ignored[] = {"__cancel__ 99", "__cancel__ 0", "__cancel__ -1",
	"__cancel__ 1x", "__cancel__ 18446744073709551616", "__cancel__  1",
	"__context_switch__ 99", "__quit__ 1", "__cancel__1", "__later__ 1"};

START_TEST(requests_for_others_are_ignored)
{
	struct stage stage;
	open_probe(&stage, _i, "2");
	hold_each(&stage, 1, 1);
	for (size_t i = 0; i < COUNT(ignored); i++)
		stage_write_control(&stage, ignored[i]);
	stage_send_id(&stage, 2, "reply still here");
	expect(&stage, "201 'still here' #2");
	stage_request(&stage, "__context_switch__", 2); /* answered already */
	stage_request(&stage, "__context_switch__", 1);
	expect(&stage, "201 'switched' #1");
	stage_quit(&stage);
}
END_TEST

/* The line overtakes the task, which comes by another way. The reply shows that it was read. */
START_TEST(a_request_may_come_before_its_task)
{
	struct stage stage;
	open_probe(&stage, _i, "4");
	stage_request(&stage, "__cancel__", 3);
	stage_request(&stage, "__context_switch__", 2);
	stage_send_id(&stage, 1, "reply x");
	expect(&stage, "201 'x' #1");
	stage_send_id(&stage, 2, "hold");
	expect(&stage, "-1 'begun' #2");
	expect(&stage, "201 'switched' #2");
	stage_send_id(&stage, 3, "hold");
	expect(&stage, "-1 'begun' #3");
	expect(&stage, "555 #3");
	stage_quit(&stage);
}
END_TEST

START_TEST(quit_waits_for_open_tasks)
{
	struct stage stage;
	open_probe(&stage, _i, "20");
	hold_each(&stage, 1, 20);
	stage_write_control(&stage, "__quit__");
	for (unsigned i = 1; i <= 20; i++)
		stage_request(&stage, "__cancel__", i);
	expect_each(&stage, 1, 20, "555");
	ck_assert_int_eq(stage_wait(&stage), 0);
}
END_TEST

static const char three_frames[] = "\0\0\0\x18\x85\xa1"
				   "0\xa8reply it\xa1"
				   "1\xa0\xa1"
				   "2\xa0\xa1"
				   "3\x80\xa1"
				   "7\x01"
				   "\0\0\0\x18\x85\xa1"
				   "0\xa8reply it\xa1"
				   "1\xa0\xa1"
				   "2\xa0\xa1"
				   "3\x80\xa1"
				   "7\x02"
				   "\0\0\0\x18\x85\xa1"
				   "0\xa8reply it\xa1"
				   "1\xa0\xa1"
				   "2\xa0\xa1"
				   "3\x80\xa1"
				   "7\x03";

/* What is sent meanwhile is there at once when it goes on. */
static void halt(struct stage *stage)
{
	kill(stage->pid, SIGSTOP);
	ck_assert_int_eq(waitpid(stage->pid, NULL, WUNTRACED), stage->pid);
}

static void go_on(struct stage *stage)
{
	kill(stage->pid, SIGCONT);
}

static const char *const places[] = {"20", "2"};

START_TEST(quit_comes_after_what_is_in_the_pipe)
{
	struct stage stage;
	for (size_t i = 0; i < COUNT(places); i++) {
		open_probe(&stage, _i, places[i]);
		halt(&stage);
		for (unsigned id = 1; id <= 20; id++)
			stage_send_id(&stage, id, "later x");
		stage_write_control(&stage, "__quit__");
		go_on(&stage);
		expect_each(&stage, 1, 20, "201 'x'");
		ck_assert_int_eq(stage_wait(&stage), 0);
	}
}
END_TEST

/* The answer to the cancelled task shows that the line before its own was read. */
START_TEST(quit_waits_for_the_rest_of_a_frame)
{
	struct stage stage;
	open_probe(&stage, _i, "20");
	hold_each(&stage, 100, 1);
	halt(&stage);
	stage_write(&stage, three_frames, 10);
	stage_write_control(&stage, "__quit__");
	stage_request(&stage, "__cancel__", 100);
	go_on(&stage);
	expect(&stage, "555 #100");
	stage_write(&stage, three_frames + 10, sizeof three_frames - 1 - 10);
	stage_end_data(&stage);
	expect_each(&stage, 1, 3, "201 'it'");
	ck_assert_int_eq(stage_wait(&stage), 0);
}
END_TEST

START_TEST(the_end_of_tasks_waits_for_open_ones)
{
	struct stage stage;
	open_probe(&stage, _i, "20");
	hold_each(&stage, 1, 20);
	stage_send_id(&stage, 21, "reply the last");
	stage_end_data(&stage);
	for (unsigned i = 1; i <= 20; i++)
		stage_request(&stage, "__context_switch__", i);
	for (unsigned i = 0; i < 21; i++)
		ck_assert_int_eq(strncmp(stage_read(&stage), "201 '", 5), 0);
	ck_assert_int_eq(stage_wait(&stage), 0);
}
END_TEST

START_TEST(an_idle_worker_leaves)
{
	struct stage stage;
	open_probe(&stage, _i, "20");
	stage_send_id(&stage, 1, "reply x");
	expect(&stage, "201 'x' #1");
	stage_end_data(&stage);
	ck_assert_int_eq(stage_wait(&stage), 0);
	open_probe(&stage, _i, "20");
	stage_close_control(&stage);
	ck_assert_int_eq(stage_wait(&stage), 0);
}
END_TEST

START_TEST(answers_that_nobody_reads_end_the_worker)
{
	struct stage stage;
	open_probe(&stage, _i, "20");
	hold_each(&stage, 1, 20);
	stage_close_data(&stage);
	stage_request(&stage, "__cancel__", 1);
	ck_assert_int_eq(stage_wait(&stage), 1);
}
END_TEST

START_TEST(tasks_may_come_byte_by_byte)
{
	struct stage stage;
	open_probe(&stage, _i, "20");
	for (size_t i = 0; i < sizeof three_frames - 1; i++)
		stage_write(&stage, three_frames + i, 1);
	expect_each(&stage, 1, 3, "201 'it'");
	stage_quit(&stage);
}
END_TEST

START_TEST(a_large_answer_comes_among_small_ones)
{
	struct stage stage;
	open_probe(&stage, _i, "300");
	for (unsigned i = 1; i <= 100; i++)
		stage_send_id(&stage, i, "reply x");
	stage_send_id(&stage, 101, "large 16777216");
	for (unsigned i = 102; i <= 201; i++)
		stage_send_id(&stage, i, "later x");
	bool was_large = false;
	for (unsigned i = 0; i < 201; i++) {
		const char *output = stage_read(&stage);
		if (strcmp(output, "201 '(16777216 bytes)' #101") == 0)
			was_large = true;
		else
			ck_assert_int_eq(strncmp(output, "201 'x' #", 9), 0);
	}
	ck_assert(was_large);
	stage_quit(&stage);
}
END_TEST

START_TEST(large_tasks_come_among_small_ones)
{
	enum { LARGE = 16 << 20 };
	struct stage stage;
	char *body = malloc(LARGE + 1);
	open_probe(&stage, _i, "300");
	ck_assert_ptr_nonnull(body);
	memset(body, 'x', LARGE);
	memcpy(body, "reply ", 6);
	for (unsigned i = 1; i <= 30; i++) {
		body[i % 10 == 0 ? LARGE : 1006] = '\0';
		stage_send_id(&stage, i, body);
		body[1006] = 'x';
	}
	for (unsigned i = 1; i <= 30; i++) {
		const char *output = stage_read(&stage);
		unsigned id = (unsigned)strtoul(strrchr(output, '#') + 1, NULL, 10);
		bool is_large = strncmp(output, "201 '(16777210 bytes)'", 22) == 0;
		ck_assert_int_eq(is_large, id % 10 == 0);
	}
	free(body);
	stage_quit(&stage);
}
END_TEST

/* The worker reads a task and acts on it while 20 MB of its answers are not read. */
START_TEST(a_slow_reader_blocks_nothing)
{
	char folder[] = "/tmp/wpool-many-XXXXXX", fifo[64], command[80];
	struct stage stage;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(fifo, sizeof fifo, "%s/fifo", folder);
	snprintf(command, sizeof command, "signal %s", fifo);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	struct pollfd begun = {open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC), POLLIN, 0};
	open_probe(&stage, _i, "300");
	for (unsigned i = 1; i <= MANY; i++)
		stage_send_id(&stage, i, "large 100000");
	stage_send_id(&stage, MANY + 1, command);
	ck_assert_int_eq(poll(&begun, 1, 20000), 1);
	unsigned large = 0;
	for (unsigned i = 0; i <= MANY; i++)
		large += strncmp(stage_read(&stage), "201 '(100000 bytes)' #", 22) == 0;
	ck_assert_uint_eq(large, MANY);
	stage_quit(&stage);
	close(begun.fd);
	unlink(fifo);
	rmdir(folder);
}
END_TEST

START_TEST(a_bad_frame_ends_a_busy_worker)
{
	struct stage stage;
	open_probe(&stage, _i, "20");
	hold_each(&stage, 1, 10);
	stage_write(&stage, "\0\0\0\1\xc1", 5);
	ck_assert_int_eq(stage_wait(&stage), 1);
}
END_TEST

/* It ends without the address, so before it connects. */
START_TEST(a_plain_handler_refuses_many_tasks)
{
	char said[512];
	set_concurrency("2");
	ck_assert_int_eq(stage_refuse(one_by_one, said, sizeof said), 1);
	ck_assert_msg(
		strstr(said, "use wpool_worker_run_threads or wpool/loop.h") != NULL, "%s", said);
	ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
}
END_TEST

static const char *const no_numbers[] = {
	"", "0", "-1", "+1", " 1", "1 ", "12x", "many", "1.5", "10001", "18446744073709551617"};

static void expect_refusal(const char *const *argv, const char *number)
{
	char said[512], expected[128];
	snprintf(expected, sizeof expected,
		"wpool worker: WPOOL_CONCURRENCY is '%s': not a number from 1 to 10000, exiting\n",
		number);
	set_concurrency(number);
	ck_assert_int_eq(stage_refuse(argv, said, sizeof said), 1);
	ck_assert_str_eq(said, expected);
}

START_TEST(a_concurrency_that_is_no_number_is_refused)
{
	expect_refusal(one_by_one, no_numbers[_i]);
	for (size_t i = 0; i < COUNT(ways); i++)
		expect_refusal(ways[i], no_numbers[_i]);
}
END_TEST

START_TEST(a_plain_handler_is_asked_with_or_without_id)
{
	static const struct {
		const char *line, *output;
	} cases[] = {
		{"__context_switch__", "201 'switched' #1"},
		{"__context_switch__ 1", "201 'switched' #1"},
		{"__cancel__ 1", "555 #1"},
	};
	struct stage stage;
	set_concurrency("1");
	for (size_t i = 0; i < COUNT(cases); i++) {
		stage_open(&stage, forms[_i], one_by_one);
		stage_send_id(&stage, 1, "hold");
		expect(&stage, "-1 'begun' #1");
		stage_write_control(&stage, cases[i].line);
		expect(&stage, cases[i].output);
		stage_quit(&stage);
	}
}
END_TEST

static Suite *many_suite(void)
{
	static const TTest *const *const tests[] = {&each_of_many_is_asked_by_its_id,
		&answers_overtake_each_other, &no_more_than_the_concurrency_are_begun,
		&one_at_a_time_are_answered_in_order, &tasks_know_their_facts,
		&answers_from_outside_the_callback_are_written, &requests_for_others_are_ignored,
		&a_request_may_come_before_its_task, &quit_waits_for_open_tasks,
		&quit_comes_after_what_is_in_the_pipe, &quit_waits_for_the_rest_of_a_frame,
		&the_end_of_tasks_waits_for_open_ones, &an_idle_worker_leaves,
		&answers_that_nobody_reads_end_the_worker, &tasks_may_come_byte_by_byte,
		&a_large_answer_comes_among_small_ones, &large_tasks_come_among_small_ones,
		&a_slow_reader_blocks_nothing, &a_bad_frame_ends_a_busy_worker};
	Suite *suite = suite_create("sdk many");
	TCase *each = tcase_create("in each way, over socket and FIFOs");
	for (size_t i = 0; i < COUNT(tests); i++)
		tcase_add_loop_test(each, *tests[i], 0, ARRANGED);
	tcase_set_timeout(each, 60);
	suite_add_tcase(suite, each);
	TCase *plain = tcase_create("one by one");
	tcase_add_test(plain, a_plain_handler_refuses_many_tasks);
	tcase_add_loop_test(
		plain, a_concurrency_that_is_no_number_is_refused, 0, (int)COUNT(no_numbers));
	tcase_add_loop_test(
		plain, a_plain_handler_is_asked_with_or_without_id, 0, (int)COUNT(forms));
	tcase_set_timeout(plain, 60);
	suite_add_tcase(suite, plain);
	return suite;
}

UNIT_MAIN(many_suite)
