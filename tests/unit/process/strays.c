/* Daemons that workers leave: ended with their worker, not before, and not those of others. */
#include "process/strays.h"
#include "os/loop.h"
#include "process/guard.h"
#include "process/mark.h"
#include "process/reaper.h"
#include "unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN "/nowhere/wpool-unit-test"

static struct ev_loop *loop;
static struct reaper *reaper;
static struct strays *strays;

/* This program again, as a worker: it makes a daemon, which makes another, and ends. Both hold the
 * pipe until they die; each writes a byte when it is there. */
static _Noreturn void leave_daemons(int up)
{
	if (fork() > 0)
		_exit(0);
	setsid();
	if (fork() == 0)
		setsid();
	if (write(up, "x", 1) == 1)
		poll(&(struct pollfd){up, 0, 0}, 1, -1); /* until there is nobody to read */
	_exit(0);
}

static void on_exit_of_worker(void *ctx, pid_t pid, struct exit_info exit)
{
	(void)pid;
	(void)exit;
	*(bool *)ctx = true;
}

/* Returns when the worker is reaped and its daemons are there: the end of a pipe that they hold. */
static int start_worker(char *mark)
{
	int ends[2];
	bool is_over = false;
	char number[16], bytes[2];
	char *arguments[] = {(char *)"worker", number, NULL}, *environment[] = {mark, NULL};
	const char *self = unit_own_path();
	ck_assert_int_eq(pipe(ends), 0);
	snprintf(number, sizeof number, "%d", ends[1]);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		execve(self, arguments, environment);
		_exit(5);
	}
	ck_assert(reaper_watch(reaper, pid, on_exit_of_worker, &is_over));
	close(ends[1]);
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(read(ends[0], bytes + i, 1), 1);
	while (!is_over)
		ev_run(loop, EVRUN_ONCE);
	return ends[0];
}

static bool has_ended(int pipe)
{
	struct pollfd poller = {pipe, POLLIN, 0};
	return poll(&poller, 1, 0) == 1;
}

static void expect_end(int pipe)
{
	while (!has_ended(pipe)) { /* check's own limit ends this */
		ev_run(loop, EVRUN_NOWAIT);
		poll(NULL, 0, 1);
	}
	close(pipe);
}

static void set_up(void)
{
	loop = loop_default();
	reaper = reaper_new(loop);
	strays = strays_new(loop, reaper, RUN, NULL);
	ck_assert_ptr_nonnull(strays);
}

static void tear_down(void)
{
	strays_free(strays);
	reaper_free(reaper);
	ev_loop_destroy(loop);
}

START_TEST(daemons_end_with_their_worker_only)
{
	struct stray_life first = {0}, second = {0};
	char mark[MARK_SIZE];
	strays_begin(strays, &first);
	mark_write(mark, RUN, first.number);
	int of_first = start_worker(mark);
	strays_begin(strays, &second);
	mark_write(mark, RUN, second.number);
	int of_second = start_worker(mark);
	mark_write(mark, RUN "-2", first.number);
	int of_another_run = start_worker(mark);
	int of_nobody = start_worker((char *)"PATH=/bin");
	strays_end(strays, &first);
	expect_end(of_first);
	ck_assert(!has_ended(of_second) && !has_ended(of_another_run) && !has_ended(of_nobody));
	strays_end(strays, &second);
	strays_end(strays, &second); /* once more does nothing */
	expect_end(of_second);
	ck_assert(!has_ended(of_another_run) && !has_ended(of_nobody));
	ck_assert_int_eq(mark_kill_all(RUN "-2"), 2);
	expect_end(of_another_run);
	close(of_nobody);
}
END_TEST

/* Whether it was killed or stopped in order: the guard takes those with it that are in no group. */
START_TEST(the_guard_ends_what_bears_the_mark)
{
	struct guard *guard;
	struct stray_life life = {0};
	char mark[MARK_SIZE];
	ck_assert_int_eq(guard_start(RUN, NULL, &guard), RC_OK);
	strays_begin(strays, &life);
	mark_write(mark, RUN, life.number);
	int pipe = start_worker(mark);
	ck_assert(!has_ended(pipe));
	guard_stop(guard);
	expect_end(pipe);
	strays_end(strays, &life);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/strays");
	TCase *tcase = tcase_create("strays");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, daemons_end_with_their_worker_only);
	tcase_add_test(tcase, the_guard_ends_what_bears_the_mark);
	suite_add_tcase(s, tcase);
	return s;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		leave_daemons(atoi(argv[1]));
	return unit_run(suite());
}
