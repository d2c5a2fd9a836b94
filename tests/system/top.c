/* `wpool top` in a terminal: what it draws, what its keys do, and how it leaves the terminal. */
#include "harness/control.h"
#include "harness/terminal.h"
#include "system/system.h"

#include <signal.h>
#include <string.h>

static struct terminal *start(size_t width, size_t height)
{
	const char *const argv[] = {
		fixture_built("wpool"), "top", "--socket", control_socket(), NULL};

	return terminal_start(width, height, argv);
}

static struct proc *serve_two(void)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "2", NULL});

	control_await_figure("workers", "ready", 2);
	return serve;
}

static void quit(struct terminal *top)
{
	terminal_type(top, "q");
	ck_assert_int_eq(terminal_wait(top), 0);
	ck_assert(terminal_is_restored(top));
	terminal_free(top);
}

START_TEST(top_shows_pools_and_workers)
{
	struct proc *serve = serve_two();
	struct terminal *top = start(120, 30);
	const char *pool;

	fixture_post_held(serve, "the long one");
	terminal_expect(top, "ready: wpool ");
	terminal_expect(top, "broker: consuming connected, publishing connected");
	terminal_expect(top, scratch_text("2 workers of %s", fixture.queue));
	pool = terminal_expect(top, scratch_text("> %s", fixture.queue));
	ck_assert_ptr_nonnull(strstr(pool, "consuming"));
	ck_assert_ptr_nonnull(strstr(pool, "2/2"));
	ck_assert_ptr_nonnull(strstr(terminal_expect(top, "the long one"), "busy"));
	terminal_expect(top, "idle");
	ck_assert_ptr_nonnull(strstr(terminal_line(top, 29), "q quit"));
	terminal_resize(top, 60, 14);
	terminal_expect(top, "q quit");
	ck_assert_ptr_nonnull(strstr(terminal_line(top, 13), "q quit"));
	terminal_expect(top, "1 pool");
	terminal_resize(top, 20, 2); /* too small to show anything */
	terminal_expect(top, "q quit");
	terminal_resize(top, 120, 30);
	terminal_expect(top, "the long one");
	quit(top);
	proc_signal(serve, SIGQUIT);
	proc_wait(serve);
}
END_TEST

START_TEST(keys_control_a_pool)
{
	struct proc *serve = serve_two();
	struct terminal *top = start(120, 30);
	pid_t before = fixture_worker_pid();

	terminal_expect(top, "2/2");
	terminal_type(top, "+");
	terminal_expect(top, "3 workers wanted");
	terminal_expect(top, "3/3");
	terminal_expect(top, "3 workers of");
	terminal_type(top, "++++");
	terminal_expect(top, "7 workers wanted");
	terminal_expect(top, "7/7");
	terminal_type(top, "------");
	terminal_expect(top, "1/1");
	terminal_expect(top, "1 worker of");
	terminal_type(top, "-");
	terminal_expect(top, "a pool has 1 to 10000 workers");
	terminal_type(top, "p");
	terminal_expect(top, "NOT READY");
	terminal_expect(top, "paused by an operator");
	terminal_type(top, "p");
	terminal_expect(top, "  consuming");
	terminal_expect_gone(top, "NOT READY");
	terminal_type(top, "r");
	terminal_expect(top, "replace all workers");
	terminal_type(top, "n");
	terminal_expect_gone(top, "replace all workers");
	terminal_type(top, "ry");
	terminal_expect(top, "restarting, one by one");
	proc_expect(serve, "restarted: all workers are new");
	proc_expect_gone(before);
	quit(top);
	fixture_stop(serve);
}
END_TEST

START_TEST(keys_kill_a_task)
{
	struct proc *serve = fixture_serve_pools(
		scratch_text("- {name: one, queue: %s, command: [%s], workers: 1, limits: {grace: "
			     "100ms}, retry: {delay: []}}\n",
			fixture.queue, fixture_built("workers/echo")));
	struct terminal *top;

	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	top = start(120, 30);
	terminal_expect(top, "1 worker of one");
	terminal_type(top, "x7r");
	terminal_expect(top, "there is no worker in slot 7");
	terminal_type(top, "x0r");
	terminal_expect(top, "the worker in slot 0 had no task when it was chosen");
	fixture_post_held(serve, "held");
	terminal_expect(top, "held");
	terminal_type(top, "x");
	terminal_expect(top, "kill the task of the worker in slot: _");
	terminal_type(top, "0n");
	terminal_expect_gone(top, "kill the task of");
	terminal_type(top, "x0");
	terminal_expect(top, "slot: 0_ task 1:");
	terminal_type(top, "g");
	terminal_expect(top, "one: the worker was asked to give up the task");
	proc_expect(serve, "task held killed");
	quit(top);
	fixture_release("held");
	fixture_stop(serve);
}
END_TEST

/* Two pools on one queue: chosen by both kinds of keys, and kept when they are sorted. */
START_TEST(keys_choose_and_sort)
{
	struct proc *serve = fixture_serve_pools(
		scratch_text("- {name: one, queue: %s, command: [%s], workers: 1}\n"
			     "- {name: two, queue: %s, command: [%s], workers: 2}\n",
			fixture.queue, fixture_built("workers/echo"), fixture.queue,
			fixture_built("workers/echo")));
	struct terminal *top;

	client_expect_consumers(fixture.client, fixture.queue, 2);
	control_await("/readyz", 200);
	top = start(120, 30);
	terminal_expect(top, "> one");
	terminal_expect(top, "1 worker of one");
	terminal_type(top, "j");
	terminal_expect(top, "> two");
	terminal_expect(top, "2 workers of two");
	terminal_type(top, "\x1b[B"); /* there is none below */
	terminal_type(top, "\x1b[A");
	terminal_expect(top, "1 worker of one");
	terminal_type(top, "\x1bOB");
	terminal_expect(top, "2 workers of two");
	terminal_type(top, "+");
	terminal_expect(top, "two: 3 workers wanted");
	terminal_type(top, "sss");
	terminal_expect(top, "2 pools, by READY");
	terminal_expect(top, "> two");
	terminal_type(top, "S");
	terminal_expect(top, "3 workers of two, by SLOT");
	terminal_type(top, "?");
	terminal_expect(top, "Any key goes back.");
	terminal_type(top, "x");
	terminal_expect(top, "workers of two");
	terminal_expect_gone(top, "Any key goes back.");
	quit(top);
	fixture_stop(serve);
}
END_TEST

START_TEST(top_waits_for_lost_supervisor)
{
	struct proc *serve = serve_two();
	struct terminal *top = start(120, 30);

	terminal_expect(top, "2/2");
	proc_signal(serve, SIGSTOP);
	terminal_expect(top, "waiting for the supervisor; the last answer was");
	proc_signal(serve, SIGCONT);
	terminal_expect_gone(top, "waiting for the supervisor");
	fixture_stop(serve);
	terminal_expect(top, "no supervisor listens at");
	terminal_type(top, "+");
	terminal_expect(top, scratch_text("%s: no supervisor listens at", fixture.queue));
	serve = serve_two();
	terminal_expect_gone(top, "the last answer was");
	terminal_expect(top, "2/2");
	quit(top);
	fixture_stop(serve);
}
END_TEST

static const struct {
	int signal, exit_code;
} ends[] = {{SIGINT, 0}, {SIGTERM, 0}, {SIGHUP, 0}, {SIGQUIT, 0}, {SIGABRT, 128 + SIGABRT},
	{SIGSEGV, 128 + SIGSEGV}};

enum { ENDS = sizeof ends / sizeof *ends };

START_TEST(signals_restore_the_terminal)
{
	struct proc *serve = serve_two();
	struct terminal *top = start(100, 25);

	terminal_expect(top, "2/2");
	ck_assert(!terminal_is_restored(top));
	kill(terminal_pid(top), ends[_i].signal);
	ck_assert_int_eq(terminal_wait(top), ends[_i].exit_code);
	ck_assert(terminal_is_restored(top));
	terminal_free(top);
	fixture_stop(serve);
}
END_TEST

START_TEST(suspended_top_resumes)
{
	struct proc *serve = serve_two();
	struct terminal *top = start(100, 25);

	terminal_expect(top, "2/2");
	terminal_type(top, "\x1a"); /* ^Z */
	terminal_expect_stopped(top);
	ck_assert(terminal_is_restored(top));
	kill(terminal_pid(top), SIGCONT);
	terminal_expect(top, "2/2");
	ck_assert(!terminal_is_restored(top));
	quit(top);
	fixture_stop(serve);
}
END_TEST

START_TEST(missing_terminal_or_supervisor_is_reported)
{
	static const struct {
		const char *arguments[3];
		const char *words;
	} cases[] = {
		{{"top"}, "standard output is no terminal; programs can use wpool status --json"},
		{{"top", "--json"}, "--json is for wpool status"},
	};
	struct terminal *top;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct proc *proc = fixture_wpool(cases[i].arguments);
		ck_assert_int_eq(proc_wait(proc), 64);
		control_expect_text(proc_stderr(proc), cases[i].words);
	}
	top = start(200, 25);
	terminal_expect(top, "wpool top: no supervisor listens at");
	ck_assert_int_eq(terminal_wait(top), 69);
	ck_assert(terminal_is_restored(top));
	terminal_free(top);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("top", {top_shows_pools_and_workers, 1}, {keys_control_a_pool, 1},
		{keys_kill_a_task, 1}, {keys_choose_and_sort, 1},
		{top_waits_for_lost_supervisor, 1}, {signals_restore_the_terminal, ENDS},
		{suspended_top_resumes, 1}, {missing_terminal_or_supervisor_is_reported, 1});
}
