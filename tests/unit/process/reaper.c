/* Every child is reaped, in whichever order they end; only owners hear of theirs. */
#include "process/reaper.h"
#include "os/loop.h"
#include "unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 300

static struct ev_loop *loop;
static struct reaper *reaper;
static int told;

struct expectation {
	pid_t pid;
	struct exit_info exit;
	int times;
};

static void on_exit_of(void *ctx, pid_t pid, struct exit_info exit)
{
	struct expectation *expected = ctx;
	ck_assert_int_eq(pid, expected->pid);
	ck_assert_int_eq(exit.kind, expected->exit.kind);
	ck_assert_int_eq(exit.number, expected->exit.number);
	expected->times++;
	told++;
}

static void start(struct expectation *expected, struct exit_info exit)
{
	*expected = (struct expectation){.exit = exit};
	expected->pid = fork();
	if (expected->pid == 0) {
		if (exit.kind == EXIT_SIGNAL) {
			signal(exit.number, SIG_DFL); /* check has its own ideas */
			raise(exit.number);
		}
		_exit(exit.number);
	}
}

static void set_up(void)
{
	loop = loop_default();
	reaper = reaper_new(loop);
	told = 0;
}

static void tear_down(void)
{
	reaper_free(reaper);
	ev_loop_destroy(loop);
}

START_TEST(each_exit_is_reported_once)
{
	static struct expectation all[CHILDREN];
	for (int i = 0; i < CHILDREN; i++) {
		struct exit_info by_status = {EXIT_STATUS, i % 256, NULL};
		struct exit_info by_signal = {EXIT_SIGNAL, i % 2 ? SIGKILL : SIGTERM, NULL};
		start(&all[i], i % 3 ? by_status : by_signal);
		ck_assert(reaper_watch(reaper, all[i].pid, on_exit_of, &all[i]));
	}
	while (told < CHILDREN)
		ev_run(loop, EVRUN_ONCE);
	for (int i = 0; i < CHILDREN; i++)
		ck_assert_int_eq(all[i].times, 1);
}
END_TEST

/* A process that nobody watches, or not any more, is reaped without a word. */
START_TEST(an_unknown_child_is_reaped)
{
	struct expectation stranger, forgotten, last;
	start(&stranger, (struct exit_info){EXIT_STATUS, 1, NULL});
	start(&forgotten, (struct exit_info){EXIT_STATUS, 2, NULL});
	ck_assert(reaper_watch(reaper, forgotten.pid, on_exit_of, &forgotten));
	reaper_forget(reaper, forgotten.pid);
	reaper_forget(reaper, 1);
	while (kill(stranger.pid, 0) == 0 || kill(forgotten.pid, 0) == 0)
		ev_run(loop, EVRUN_ONCE);
	ck_assert_int_eq(errno, ESRCH);
	start(&last, (struct exit_info){EXIT_STATUS, 3, NULL});
	ck_assert(reaper_watch(reaper, last.pid, on_exit_of, &last));
	while (!told)
		ev_run(loop, EVRUN_ONCE);
	ck_assert_int_eq(last.times, 1);
	ck_assert_int_lt(waitpid(-1, NULL, WNOHANG), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/reaper");
	TCase *reaping = tcase_create("reaping");
	tcase_add_checked_fixture(reaping, set_up, tear_down);
	tcase_add_test(reaping, each_exit_is_reported_once);
	tcase_add_test(reaping, an_unknown_child_is_reaped);
	suite_add_tcase(s, reaping);
	return s;
}

UNIT_MAIN(suite)
