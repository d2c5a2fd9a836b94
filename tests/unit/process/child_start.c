/* What the start pipe of a child tells, whether it or the child's exit comes first. The child is a
 * pipe that the test writes to. */
#include "process/child_start.h"
#include "process/spawn_child.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct ev_loop *loop;
static struct child_start start;
static int child; /* its end of the pipe */
static unsigned runs;

static const struct exit_info killed = {EXIT_SIGNAL, 9, NULL};

static void on_runs(void *ctx)
{
	ck_assert_ptr_eq(ctx, &runs);
	runs++;
}

static void watch(void (*on_start)(void *ctx))
{
	int ends[2];
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	child = ends[1];
	child_start_watch(&start, loop, ends[0], on_start, &runs);
}

static void set_up(void)
{
	loop = ev_default_loop(0);
	runs = 0;
	child_start_init(&start);
	watch(on_runs);
}

static void turn(void)
{
	ev_run(loop, EVRUN_NOWAIT);
}

static void exec_program(void)
{
	close(child);
}

static void fail_to_start(void)
{
	struct spawn_report report = {.step = 0, .error = ENOENT};
	ck_assert_int_eq(write(child, &report, sizeof report), sizeof report);
	close(child);
}

static void expect_exit(struct exit_info wanted)
{
	struct exit_info exit = killed;
	child_start_ended(&start, &exit);
	ck_assert_int_eq(exit.kind, wanted.kind);
	ck_assert_int_eq(exit.number, wanted.number);
	if (wanted.stage)
		ck_assert_str_eq(exit.stage, wanted.stage);
	else
		ck_assert_ptr_null(exit.stage);
}

static const struct exit_info failed = {EXIT_NOT_STARTED, ENOENT, "control group"};

START_TEST(a_program_that_runs_is_reported_once)
{
	set_up();
	turn();
	ck_assert_uint_eq(runs, 0);
	exec_program();
	turn();
	turn();
	ck_assert_uint_eq(runs, 1);
	ck_assert_int_eq(start.fd, -1);
	expect_exit(killed);
}
END_TEST

START_TEST(a_program_that_runs_need_not_be_reported)
{
	set_up();
	child_start_close(&start);
	watch(NULL);
	exec_program();
	turn();
	expect_exit(killed);
}
END_TEST

START_TEST(a_failure_is_how_it_ended_if_it_is_read_before_the_exit)
{
	set_up();
	fail_to_start();
	turn();
	ck_assert_int_eq(start.fd, -1);
	expect_exit(failed);
	ck_assert_uint_eq(runs, 0);
}
END_TEST

START_TEST(a_failure_is_how_it_ended_if_the_exit_comes_first)
{
	set_up();
	fail_to_start();
	expect_exit(failed);
	turn();
	ck_assert_uint_eq(runs, 0);
}
END_TEST

START_TEST(a_child_that_ended_before_is_not_reported_as_running)
{
	set_up();
	exec_program();
	expect_exit(killed);
	turn();
	ck_assert_uint_eq(runs, 0);
}
END_TEST

/* A child that was forked meanwhile still holds the pipe. */
START_TEST(an_exit_without_an_end_of_the_pipe_stays_as_it_is)
{
	set_up();
	expect_exit(killed);
	child_start_close(&start);
	close(child);
	turn();
	ck_assert_uint_eq(runs, 0);
}
END_TEST

START_TEST(the_failure_of_one_child_is_not_that_of_the_next)
{
	set_up();
	fail_to_start();
	expect_exit(failed);
	watch(on_runs);
	exec_program();
	expect_exit(killed);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/child_start");
	UNIT_CASE(s, "start", a_program_that_runs_is_reported_once,
		a_program_that_runs_need_not_be_reported,
		a_failure_is_how_it_ended_if_it_is_read_before_the_exit,
		a_failure_is_how_it_ended_if_the_exit_comes_first,
		a_child_that_ended_before_is_not_reported_as_running,
		an_exit_without_an_end_of_the_pipe_stays_as_it_is,
		the_failure_of_one_child_is_not_that_of_the_next);
	return s;
}

UNIT_MAIN(suite)
