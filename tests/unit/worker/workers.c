/* The lives of workers in order: met in every form of pipe, fed, asked to leave, gone. */
#include "unit/support/process/child.h"
#include "unit/support/worker/workers_rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const enum pipe_form forms[] = {PIPE_PATH, PIPE_FIFO, PIPE_COREFX};
#define FORMS (int)(sizeof forms / sizeof *forms)

static void start(struct workers_rig *rig, enum pipe_form form, const char *behaviour)
{
	workers_rig_open(rig, form, behaviour, 1);
	workers_request(rig->workers, 0, 1, SLOT_SPAWN);
}

static void end_by_kill(struct workers_rig *rig)
{
	workers_request(rig->workers, 0, 1, SLOT_KILL);
	workers_rig_expect_gone(rig, EXIT_SIGNAL, SIGKILL);
	workers_rig_close(rig);
}

static void quit(struct workers_rig *rig)
{
	workers_request(rig->workers, 0, 1, SLOT_QUIT);
	workers_rig_expect_gone(rig, EXIT_STATUS, 0);
	workers_rig_close(rig);
}

START_TEST(tasks_are_answered_in_order)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "echo");
	const struct event *ready = workers_rig_expect(&rig, SLOT_READY);
	ck_assert_uint_eq(ready->slot.slot, 0);
	ck_assert_uint_eq(ready->slot.life, 1);
	ck_assert_int_gt(ready->slot.computed, 0);
	ck_assert_int_lt(ready->slot.computed, MTIME_MINUTE);
	ck_assert_int_lt(workers_waited(rig.workers, 0, 1), MTIME_MINUTE);
	ck_assert_int_eq(workers_waited(rig.workers, 0, 2), 0);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(workers_rig_send(&rig, 0, 100), SEND_OK);
	for (int i = 0; i < 100; i++)
		workers_rig_expect_status(&rig, STATUS_DONE);
	quit(&rig);
}
END_TEST

/* Its stdin has the control line before its pipe ends, and its end is no protocol error. */
START_TEST(a_worker_can_be_asked_to_quit_before_it_connects)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "late");
	quit(&rig); /* SLOT_GONE is the first and only event */
}
END_TEST

START_TEST(the_largest_task_and_answer_pass)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "large");
	workers_rig_expect(&rig, SLOT_READY);
	workers_rig_expect_status(&rig, STATUS_PROGRESS);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 16 * 1024 * 1024), SEND_OK);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 1), SEND_NO_MEMORY);
	size_t at = workers_rig_next(&rig);
	if (rig.pool->events[at].kind == SLOT_WRITABLE) { /* not where the socket takes all of it */
		ck_assert(!rig.pool->events[at].slot.is_writable);
		ck_assert(workers_rig_expect(&rig, SLOT_WRITABLE)->slot.is_writable);
		at = workers_rig_next(&rig);
	}
	ck_assert_int_eq(rig.pool->events[at].kind, SLOT_OUTPUT);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 17 * 1024 * 1024), SEND_TOO_LARGE);
	quit(&rig);
}
END_TEST

/* A worker that does not read: its tasks wait with us up to the high mark, and no further. */
START_TEST(no_more_tasks_are_sent_to_a_full_pipe)
{
	struct workers_rig rig;
	int sent = 0;
	start(&rig, forms[_i], "slow");
	workers_rig_expect(&rig, SLOT_READY);
	workers_rig_expect_status(&rig, STATUS_DONE);
	while (workers_rig_send(&rig, 0, 60000) == SEND_OK && sent < 1000)
		sent++;
	ck_assert_int_eq(sent, 256 * 1024 / 60000 + 1);
	while (rig.pool->seen == rig.pool->count && sent < 1000) {
		workers_flush(rig.workers); /* the kernel takes a part, and in the end none */
		while (rig.pool->seen == rig.pool->count &&
			workers_rig_send(&rig, 0, 60000) == SEND_OK)
			sent++;
	}
	ck_assert(!workers_rig_expect(&rig, SLOT_WRITABLE)->slot.is_writable);
	workers_request(rig.workers, 0, 1, SLOT_TERM);
	bool has_space = false;
	for (int answers = 0; answers < sent;) {
		size_t at = workers_rig_next(&rig);
		if (rig.pool->events[at].kind == SLOT_WRITABLE)
			has_space = rig.pool->events[at].slot.is_writable;
		else
			answers += rig.pool->events[at].kind == SLOT_OUTPUT;
	}
	ck_assert(has_space);
	quit(&rig);
}
END_TEST

/* Send tasks until one is not taken; return how many were sent. */
static int fill(bool is_throttled)
{
	struct workers_rig rig;
	int sent = 0;
	start(&rig, PIPE_PATH, "slow");
	rig.config.is_throttled = is_throttled;
	workers_rig_expect(&rig, SLOT_READY);
	workers_rig_expect_status(&rig, STATUS_DONE);
	while (rig.pool->seen == rig.pool->count && sent < 1000) {
		sent += workers_rig_send(&rig, 0, 10000) == SEND_OK;
		workers_flush(rig.workers);
	}
	ck_assert(!workers_rig_expect(&rig, SLOT_WRITABLE)->slot.is_writable);
	workers_request(rig.workers, 0, 1, SLOT_TERM);
	const struct event *event;
	do
		event = &rig.pool->events[workers_rig_next(&rig)];
	while (event->kind != SLOT_WRITABLE);
	ck_assert(event->slot.is_writable);
	workers_rig_close(&rig);
	return sent;
}

/* A throttle counts a task as started when it is sent, so it must reach the worker then. */
START_TEST(in_a_throttled_pool_no_task_waits_here)
{
	ck_assert_int_ge(fill(false) - fill(true), 256 * 1024 / 10000 - 1);
}
END_TEST

START_TEST(requests_for_another_life_are_ignored)
{
	struct workers_rig rig;
	start(&rig, PIPE_PATH, "echo");
	workers_rig_expect(&rig, SLOT_READY);
	workers_request(rig.workers, 0, 0, SLOT_KILL);
	workers_request(rig.workers, 0, 2, SLOT_QUIT);
	workers_ask(rig.workers, 0, 2, TASK_CANCEL, 1);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 1), SEND_OK);
	workers_rig_expect_status(&rig, STATUS_DONE);
	workers_request(rig.workers, 0, 1, SLOT_QUIT);
	workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	workers_request(rig.workers, 0, 1, SLOT_KILL); /* there is nobody */
	workers_ask(rig.workers, 0, 1, TASK_CANCEL, 1);
	workers_request(rig.workers, 0, 2, SLOT_SPAWN);
	ck_assert_uint_eq(workers_rig_expect(&rig, SLOT_READY)->slot.life, 2);
	workers_rig_close(&rig);
}
END_TEST

/* New workers come while others are at work, whose watchers and lists must not move. */
START_TEST(slots_can_be_added_while_workers_are_busy)
{
	struct workers_rig rig;
	start(&rig, PIPE_PATH, "echo");
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 100), SEND_OK);
	ck_assert(workers_reserve(rig.workers, 1));
	ck_assert(workers_reserve(rig.workers, 1000));
	ck_assert(workers_reserve(rig.workers, 10));
	workers_rig_expect_status(&rig, STATUS_DONE);
	workers_request(rig.workers, 999, 1, SLOT_SPAWN);
	ck_assert_uint_eq(workers_rig_expect(&rig, SLOT_READY)->slot.slot, 999);
	for (uint16_t slot = 0; slot < 1000; slot += 999) {
		ck_assert_int_eq(workers_rig_send(&rig, slot, 100), SEND_OK);
		workers_rig_expect_status(&rig, STATUS_DONE);
	}
	workers_request(rig.workers, 999, 1, SLOT_QUIT);
	workers_rig_expect_gone(&rig, EXIT_STATUS, 0);
	quit(&rig);
}
END_TEST

START_TEST(a_silent_worker_is_killed)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "silent");
	end_by_kill(&rig);
}
END_TEST

START_TEST(many_workers_work_at_once)
{
	enum { MANY = 60 };
	struct workers_rig rig;
	int ready = 0, done = 0, gone = 0;
	workers_rig_open(&rig, forms[_i], "echo", MANY);
	for (uint16_t i = 0; i < MANY; i++)
		workers_request(rig.workers, i, 1, SLOT_SPAWN);
	while (gone < MANY) {
		const struct event *event = &rig.pool->events[workers_rig_next(&rig)];
		if (event->kind == SLOT_READY && ++ready)
			workers_rig_send(&rig, event->slot.slot, 10);
		else if (event->kind == SLOT_OUTPUT && ++done)
			workers_request(rig.workers, event->slot.slot, 1, SLOT_QUIT);
		else if (event->kind == SLOT_GONE && ++gone)
			ck_assert_int_eq(event->slot.exit.kind, EXIT_STATUS);
		else
			ck_abort_msg("event %d", event->kind);
	}
	ck_assert_int_eq(ready, MANY);
	ck_assert_int_eq(done, MANY);
	workers_rig_close(&rig);
}
END_TEST

/* ---------- what cannot be started ---------- */

static void expect_not_started(struct workers_rig *rig, const char *stage, int error)
{
	const struct event *gone = workers_rig_expect(rig, SLOT_GONE);
	ck_assert_int_eq(gone->slot.exit.kind, EXIT_NOT_STARTED);
	ck_assert_str_eq(gone->slot.exit.stage, stage);
	ck_assert_int_eq(gone->slot.exit.number, error);
}

START_TEST(a_failed_start_has_its_stage_and_error)
{
	static const struct {
		const char *program;
		int error;
	} cases[] = {
		{"/nowhere/at/all", ENOENT},
		{"no-such-program-in-path", ENOENT},
		{"", ENOENT},
		{"/etc/passwd", EACCES},
		{"/etc", EACCES},
		{"/etc/passwd/x", ENOTDIR},
	};
	struct workers_rig rig;
	workers_rig_open(&rig, PIPE_PATH, "echo", 1);
	for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		rig.command[0] = (char *)cases[i].program;
		workers_request(rig.workers, 0, i, SLOT_SPAWN);
		ck_assert_uint_eq(rig.pool->count, i); /* an effect does not call back */
		expect_not_started(&rig, "exec", cases[i].error);
	}
	workers_rig_close(&rig);
}
END_TEST

static void expect_logged_last_exit(struct workers_rig *rig, int pid, const char *how)
{
	char wanted[80] = "the one before: none";
	if (how)
		snprintf(wanted, sizeof wanted, "the one before: %d %s\"", pid, how);
	while (!strstr(workers_rig_log(rig), wanted))
		workers_rig_turn(rig);
}

/* A start that failed had no process that could end: the worker hears of the one before it. */
START_TEST(a_worker_gets_how_the_latest_process_ended)
{
	struct workers_rig rig;
	uint32_t life = 1;
	start(&rig, PIPE_PATH, "remembers");
	workers_rig_expect(&rig, SLOT_READY);
	expect_logged_last_exit(&rig, 0, NULL);
	for (int kills = 0; kills < 2; kills++) {
		int pid = (int)workers_pid(rig.workers, 0, life);
		workers_request(rig.workers, 0, life, kills ? SLOT_KILL : SLOT_QUIT);
		while (rig.pool->events[workers_rig_next(&rig)].kind != SLOT_GONE)
			; /* its pipe may end before it */
		rig.command[0] = (char *)"/nowhere/at/all";
		workers_request(rig.workers, 0, ++life, SLOT_SPAWN);
		expect_not_started(&rig, "exec", ENOENT);
		rig.command[0] = (char *)unit_own_path();
		workers_request(rig.workers, 0, ++life, SLOT_SPAWN);
		workers_rig_expect(&rig, SLOT_READY);
		expect_logged_last_exit(&rig, pid, kills ? "signal 9" : "exit status 0");
	}
	workers_rig_close(&rig);
}
END_TEST

/* With every number of descriptors that is too small: never a hang, never an end, and no leak. */
START_TEST(no_limit_of_descriptors_stops_or_leaks)
{
	struct workers_rig rig;
	struct rlimit before, limit;
	uint32_t life = 0, failures = 0;
	workers_rig_open(&rig, forms[_i], "echo", 1);
	getrlimit(RLIMIT_NOFILE, &before);
	int lowest = dup(0);
	close(lowest);
	for (int more = 0; more < 32; more++) {
		limit = before;
		limit.rlim_cur = (rlim_t)(lowest + more);
		setrlimit(RLIMIT_NOFILE, &limit);
		workers_request(rig.workers, 0, ++life, SLOT_SPAWN);
		setrlimit(RLIMIT_NOFILE, &before);
		const struct event *event = &rig.pool->events[workers_rig_next(&rig)];
		if (event->kind == SLOT_READY)
			break;
		ck_assert_int_eq(event->kind, SLOT_GONE);
		ck_assert_int_eq(event->slot.exit.kind, EXIT_NOT_STARTED);
		ck_assert_int_eq(event->slot.exit.number, EMFILE);
		failures++;
		int now = dup(0);
		close(now);
		ck_assert_int_eq(now, lowest);
	}
	ck_assert_uint_ge(failures, 8);
	workers_rig_close(&rig);
}
END_TEST

/* The connection comes when no descriptor is left: it waits, is complained of once, then taken. */
START_TEST(a_connection_waits_for_a_descriptor)
{
	struct workers_rig rig;
	struct rlimit before, limit;
	start(&rig, forms[_i], "echo");
	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	limit.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &limit);
	while (!strstr(workers_rig_log(&rig), "cannot accept its connection"))
		workers_rig_turn(&rig);
	setrlimit(RLIMIT_NOFILE, &before);
	workers_rig_expect(&rig, SLOT_READY);
	char *first = strstr(workers_rig_log(&rig), "cannot accept its connection");
	ck_assert_ptr_null(strstr(first + 1, "cannot accept its connection"));
	quit(&rig);
}
END_TEST

/* The end of its pipe may be seen before its exit: then no more tasks, please. */
static void expect_end(struct workers_rig *rig, enum exit_kind kind, int32_t number)
{
	const struct event *event = &rig->pool->events[workers_rig_next(rig)];
	if (event->kind == SLOT_WRITABLE)
		event = &rig->pool->events[workers_rig_next(rig)];
	ck_assert_int_eq(event->kind, SLOT_GONE);
	ck_assert_int_eq(event->slot.exit.kind, kind);
	ck_assert_int_eq(event->slot.exit.number, number);
}

START_TEST(an_exit_has_the_last_stderr_line)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "complains");
	for (uint32_t life = 1; life <= 3; life++) {
		workers_rig_expect(&rig, SLOT_READY);
		if (life == 2) { /* which has nothing to say */
			workers_request(rig.workers, 0, life, SLOT_KILL);
			expect_end(&rig, EXIT_SIGNAL, SIGKILL);
			ck_assert_str_eq(rig.pool->words, "");
		} else {
			ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
			expect_end(&rig, EXIT_STATUS, 7);
			ck_assert_str_eq(rig.pool->words, "ValueError: 7");
		}
		if (life < 3)
			workers_request(rig.workers, 0, life + 1, SLOT_SPAWN);
	}
	workers_rig_close(&rig);
}
END_TEST

/* What stderr said before a task began is not of it: neither of the start nor of another task. */
START_TEST(a_failure_has_only_the_stderr_line_of_its_task)
{
	static const struct {
		int32_t status;
		const char *words;
	} answers[] = {{STATUS_DONE, ""}, {STATUS_FAILED, ""}, {STATUS_FAILED, "of the third"}};
	struct workers_rig rig;
	start(&rig, forms[_i], "tells");
	workers_rig_expect(&rig, SLOT_READY);
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
		workers_rig_expect_status(&rig, answers[i].status);
		ck_assert_str_eq(rig.pool->words, answers[i].words);
	}
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	expect_end(&rig, EXIT_STATUS, 7);
	ck_assert_str_eq(rig.pool->words, "");
	ck_assert_ptr_nonnull(strstr(workers_rig_log(&rig), "begun"));
	workers_rig_close(&rig);
}
END_TEST

START_TEST(the_first_stderr_line_of_a_silent_worker_is_found)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "tells-late");
	workers_rig_expect(&rig, SLOT_READY);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
		workers_rig_expect_status(&rig, STATUS_DONE);
	}
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	expect_end(&rig, EXIT_STATUS, 7);
	ck_assert_str_eq(rig.pool->words, "");
	ck_assert_ptr_nonnull(strstr(workers_rig_log(&rig), "of the tenth"));
	workers_rig_close(&rig);
}
END_TEST

START_TEST(an_exit_has_no_stderr_line_of_the_previous_task)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "tells-ahead");
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	workers_rig_expect_status(&rig, STATUS_DONE);
	workers_ask(rig.workers, 0, 1, TASK_CONTEXT_SWITCH, 0);
	expect_end(&rig, EXIT_STATUS, 7);
	ck_assert_str_eq(rig.pool->words, "");
	workers_rig_close(&rig);
}
END_TEST

/* The answer of one, the word of the next and its death are found in one turn of the loop. */
START_TEST(answer_stderr_and_exit_may_come_in_one_turn)
{
	struct workers_rig rig;
	siginfo_t info;
	start(&rig, forms[_i], "dies-ahead");
	workers_rig_expect(&rig, SLOT_READY);
	pid_t pid = workers_pid(rig.workers, 0, 1);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	workers_flush(rig.workers);
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
		ck_assert_int_eq(errno, EINTR);
	workers_rig_expect_status(&rig, STATUS_FAILED);
	expect_end(&rig, EXIT_STATUS, 7);
	ck_assert_str_eq(rig.pool->words, "of the second");
	workers_rig_close(&rig);
}
END_TEST

START_TEST(a_context_switch_reaches_the_worker)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "yields");
	workers_rig_expect(&rig, SLOT_READY);
	ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
	workers_ask(rig.workers, 0, 1, TASK_CONTEXT_SWITCH, 0);
	workers_rig_expect_status(&rig, STATUS_DONE);
	quit(&rig);
}
END_TEST

static const struct {
	uint16_t concurrency;
	enum task_request request;
	uint64_t task_id;
	const char *line;
} requests[] = {
	{1, TASK_CONTEXT_SWITCH, 0, "__context_switch__"},
	{1, TASK_CONTEXT_SWITCH, 5, "__context_switch__"},
	{1, TASK_CANCEL, 5, "__cancel__ 5"},
	{2, TASK_CONTEXT_SWITCH, 0, "__context_switch__"},
	{2, TASK_CONTEXT_SWITCH, 5, "__context_switch__ 5"},
	{10000, TASK_CANCEL, UINT64_MAX, "__cancel__ 18446744073709551615"},
};

START_TEST(a_request_names_its_task)
{
	struct workers_rig rig;
	start(&rig, forms[_i], "repeats");
	workers_rig_expect(&rig, SLOT_READY);
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		rig.config.concurrency = requests[i].concurrency;
		ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
		workers_ask(rig.workers, 0, 1, requests[i].request, requests[i].task_id);
		workers_rig_expect_status(&rig, STATUS_FAILED);
		ck_assert_str_eq(rig.pool->words, requests[i].line);
	}
	quit(&rig);
}
END_TEST

/* It does not read its stdin: lines are dropped with one warning in each life, and it works on. */
START_TEST(a_full_stdin_drops_lines_with_one_warning)
{
	static const char warning[] =
		"cannot write the control line __cancel__ 18446744073709551615";
	struct workers_rig rig;
	start(&rig, PIPE_PATH, "echo");
	for (uint32_t life = 1; life <= 2; life++) {
		const char *log = workers_rig_log(&rig), *found = NULL;
		bool was_written = true;
		size_t before = strlen(log);
		workers_rig_expect(&rig, SLOT_READY);
		for (int i = 0; i < 10000; i++)
			was_written = workers_ask(rig.workers, 0, life, TASK_CANCEL, UINT64_MAX);
		ck_assert(!was_written);
		found = strstr(workers_rig_log(&rig) + before, warning);
		ck_assert_ptr_nonnull(found);
		ck_assert_ptr_null(strstr(found + 1, warning));
		ck_assert_int_eq(workers_rig_send(&rig, 0, 10), SEND_OK);
		workers_rig_expect_status(&rig, STATUS_DONE);
		workers_request(rig.workers, 0, life, SLOT_QUIT);
		workers_rig_expect_gone(&rig, EXIT_STATUS, 3); /* it finds another line */
		ck_assert_ptr_null(strstr(workers_rig_log(&rig) + before, "line __quit__"));
		if (life == 1)
			workers_request(rig.workers, 0, 2, SLOT_SPAWN);
	}
	workers_rig_close(&rig);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("worker/workers");
	TCase *each = tcase_create("each form");
	tcase_add_loop_test(each, tasks_are_answered_in_order, 0, FORMS);
	tcase_add_loop_test(each, a_worker_can_be_asked_to_quit_before_it_connects, 0, FORMS);
	tcase_add_loop_test(each, the_largest_task_and_answer_pass, 0, FORMS);
	tcase_add_loop_test(each, no_more_tasks_are_sent_to_a_full_pipe, 0, FORMS);
	tcase_add_test(each, in_a_throttled_pool_no_task_waits_here);
	tcase_add_loop_test(each, a_silent_worker_is_killed, 0, FORMS);
	tcase_add_loop_test(each, many_workers_work_at_once, 0, FORMS);
	tcase_add_loop_test(each, no_limit_of_descriptors_stops_or_leaks, 0, FORMS);
	tcase_add_loop_test(each, a_connection_waits_for_a_descriptor, 0, FORMS);
	tcase_add_loop_test(each, an_exit_has_the_last_stderr_line, 0, FORMS);
	tcase_add_loop_test(each, a_failure_has_only_the_stderr_line_of_its_task, 0, FORMS);
	tcase_add_loop_test(each, the_first_stderr_line_of_a_silent_worker_is_found, 0, FORMS);
	tcase_add_loop_test(each, an_exit_has_no_stderr_line_of_the_previous_task, 0, FORMS);
	tcase_add_loop_test(each, answer_stderr_and_exit_may_come_in_one_turn, 0, FORMS);
	tcase_add_loop_test(each, a_context_switch_reaches_the_worker, 0, FORMS);
	tcase_add_loop_test(each, a_request_names_its_task, 0, FORMS);
	suite_add_tcase(s, each);
	UNIT_CASE(s, "one", requests_for_another_life_are_ignored,
		a_failed_start_has_its_stage_and_error, a_worker_gets_how_the_latest_process_ended,
		a_full_stdin_drops_lines_with_one_warning,
		slots_can_be_added_while_workers_are_busy);
	return s;
}

CHILD_MAIN(suite)
