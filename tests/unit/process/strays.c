/* Daemons that workers leave: ended with their worker, not before, and not those of others. */
#include "process/strays.h"
#include "os/loop.h"
#include "os/proc_stat.h"
#include "process/descendants.h"
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

#define RUN       "0123456789abcdef0123456789abcde0"
#define OTHER_RUN "0123456789abcdef0123456789abcde1"

static struct ev_loop *loop;
static struct reaper *reaper;
static struct descendants *descendants;
static struct strays *strays;

/* This program again, as a worker: it makes daemons, of which the last makes another, and ends. All
 * hold the pipe until they die; each writes a byte when it is there. */
static _Noreturn void leave_daemons(int up, int count)
{
	int made = 1;
	while (fork() > 0)
		if (made++ == count)
			_exit(0);
	setsid();
	if (made == count && fork() == 0)
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
static int start_worker_with(char *mark, int count)
{
	int ends[2];
	bool is_over = false;
	char number[16], daemons[16], byte;
	char *arguments[] = {(char *)"worker", number, daemons, NULL},
	     *environment[] = {mark, NULL};
	const char *self = unit_own_path();
	ck_assert_int_eq(pipe(ends), 0);
	snprintf(number, sizeof number, "%d", ends[1]);
	snprintf(daemons, sizeof daemons, "%d", count);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		execve(self, arguments, environment);
		_exit(5);
	}
	ck_assert(reaper_watch(reaper, pid, on_exit_of_worker, &is_over));
	close(ends[1]);
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	for (int i = 0; i <= count; i++)
		ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	while (!is_over)
		ev_run(loop, EVRUN_ONCE);
	return ends[0];
}

static int start_worker(char *mark)
{
	return start_worker_with(mark, 1);
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

/* Until a process that starts now is younger than those that are there. */
static void next_tick(void)
{
	uint64_t now = proc_stat_now();
	while (proc_stat_now() == now)
		poll(NULL, 0, 1);
}

/* Until nothing is left to be looked at. */
static void expect_looks(struct strays *looker)
{
	while (strays_is_looking(looker))
		ev_run(loop, EVRUN_ONCE);
}

static void set_up(void)
{
	loop = loop_default();
	reaper = reaper_new(loop);
	descendants = descendants_new();
	ck_assert_ptr_nonnull(descendants);
	strays = strays_new(loop, reaper, RUN, NULL, descendants);
	ck_assert_ptr_nonnull(strays);
}

static void tear_down(void)
{
	strays_free(strays);
	reaper_free(reaper);
	descendants_free(descendants);
	ev_loop_destroy(loop);
}

/* One process of each pair of a worker's daemons holds the pipe at least. */
START_TEST(daemons_end_with_their_worker_only)
{
	struct stray_life first = {0}, second = {0};
	char mark[MARK_SIZE];
	uid_t user = getuid();
	strays_begin(strays, &first);
	mark_write(mark, RUN, first.number);
	int of_first = start_worker(mark);
	strays_begin(strays, &second);
	mark_write(mark, RUN, second.number);
	int of_second = start_worker(mark);
	mark_write(mark, OTHER_RUN, first.number);
	int of_another_run = start_worker(mark);
	strays_end(strays, &first);
	expect_end(of_first);
	ck_assert(!has_ended(of_second) && !has_ended(of_another_run));
	strays_end(strays, &second);
	strays_end(strays, &second); /* once more does nothing */
	expect_end(of_second);
	expect_end(of_another_run); /* a foreign mark is none */
	ck_assert_int_eq(mark_kill_all(RUN, &user, 1), 0);
}
END_TEST

/* It is of no one worker that can be named, so it lives until no worker is older. */
START_TEST(daemons_without_a_mark_end_with_the_workers_of_their_time)
{
	struct stray_life old = {0}, young = {0};
	int later[3];
	strays_begin(strays, &old);
	strays_begin(strays, &young);
	int unmarked = start_worker((char *)"PATH=/bin");
	next_tick();
	strays_end(strays, &old);
	/* Its replacements; what one look would kill, and then its child, ends before the last. */
	for (int i = 0; i < 3; i++) {
		strays_begin(strays, &old);
		later[i] = start_worker((char *)"PATH=/bin");
		strays_end(strays, &old);
		expect_looks(strays);
	}
	ck_assert(!has_ended(unmarked));
	strays_end(strays, &young);
	expect_end(unmarked);
	for (int i = 0; i < 3; i++)
		expect_end(later[i]);
}
END_TEST

/* What a forked worker leaves may show the environment of the preloaded process, which lives on and
 * is of no single worker; but the guard knows that it is of this run. */
START_TEST(a_mark_without_a_life_counts_as_none)
{
	struct stray_life life = {0};
	char mark[MARK_SIZE];
	uint64_t read = 1;
	uid_t user = getuid();
	strays_begin(strays, &life);
	mark_write(mark, RUN, 0);
	int first = start_worker(mark);
	expect_looks(strays);
	ck_assert(!has_ended(first));
	next_tick();
	strays_end(strays, &life);
	expect_end(first);
	int second = start_worker(mark);
	ck_assert_int_eq(mark_kill_all(RUN, &user, 1), 2);
	expect_end(second);
	setenv(MARK_NAME, "x", 1);
	ck_assert(!mark_read(getpid(), RUN, &read));
	ck_assert_uint_eq(read, 1);
}
END_TEST

static void on_exit_of_adopted(void *ctx, pid_t pid, struct exit_info exit)
{
	ck_assert_int_eq(exit.kind, EXIT_SIGNAL);
	*(pid_t *)ctx = pid;
}

/* A preloaded process has forked it, and a look has come before the answer. */
START_TEST(an_adopted_orphan_is_no_stray)
{
	struct stray_life old = {0}, own = {0};
	struct proc_stat stat;
	int ends[2];
	pid_t pid, ended = 0;
	ck_assert_int_eq(pipe(ends), 0);
	strays_begin(strays, &old);
	pid_t middle = fork();
	if (middle == 0) {
		pid = fork();
		if (pid == 0)
			poll(NULL, 0, -1);
		_exit(write(ends[1], &pid, sizeof pid) != sizeof pid);
	}
	ck_assert_int_eq(read(ends[0], &pid, sizeof pid), sizeof pid);
	while (!reaper_knows(reaper, pid)) /* the middle one's end causes a look */
		ev_run(loop, EVRUN_ONCE);
	strays_adopt(strays, pid);
	strays_adopt(strays, pid); /* once more does nothing */
	ck_assert(!reaper_knows(reaper, pid));
	ck_assert(reaper_watch(reaper, pid, on_exit_of_adopted, &ended));
	strays_begin(strays, &own);
	ck_assert(strays_enter_group(strays, &own, NULL, pid)); /* there are none */
	next_tick();
	strays_end(strays, &old);
	expect_looks(strays);
	ck_assert(proc_stat_read(pid, &stat) && stat.state != 'Z');
	kill(pid, SIGKILL);
	while (!ended)
		ev_run(loop, EVRUN_ONCE);
	ck_assert_int_eq(ended, pid);
	strays_end(strays, &own);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* A program that became wpool by exec has children of its own, which leave orphans. */
START_TEST(children_from_before_are_left_alone)
{
	int ends[2];
	char byte;
	ck_assert_int_eq(pipe(ends), 0);
	pid_t before = fork();
	if (before == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 7 : 8);
	}
	struct descendants *with_child = descendants_new();
	struct reaper *other_reaper = reaper_new(loop);
	struct strays *other = strays_new(loop, other_reaper, RUN, NULL, with_child);
	ck_assert(descendants_is_left(with_child, before));
	struct stray_life life = {0};
	strays_begin(other, &life);
	int orphan = start_worker((char *)"PATH=/bin");
	next_tick();
	strays_end(other, &life);
	expect_looks(other);
	ck_assert(!has_ended(orphan));
	ck_assert(waitpid(before, NULL, WNOHANG) == 0);
	descendants_kill(with_child); /* at the end */
	expect_end(orphan);
	ck_assert(waitpid(before, NULL, WNOHANG) == 0);
	close(ends[1]);
	int status;
	ck_assert_int_eq(waitpid(before, &status, 0), before);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	strays_free(other);
	reaper_free(other_reaper);
	descendants_free(with_child);
	close(ends[0]);
}
END_TEST

/* With 1,000 workers that end all the time, looks must leave the loop to its work. */
START_TEST(not_every_turn_looks)
{
	struct stray_life life = {0};
	int rests = 0;
	for (int i = 0; i < 1000; i++) {
		strays_begin(strays, &life);
		strays_end(strays, &life);
		ev_run(loop, EVRUN_NOWAIT);
		rests += strays_is_looking(strays);
	}
	ck_assert_int_gt(rests, 0);
	expect_looks(strays);
}
END_TEST

/* The loop must not wait until each of ten thousands was looked at. */
START_TEST(a_look_at_many_takes_several_turns)
{
	struct stray_life life = {0};
	char mark[MARK_SIZE];
	strays_begin(strays, &life);
	mark_write(mark, RUN, life.number);
	int pipe = start_worker_with(mark, 150);
	ck_assert(!strays_is_looking(strays));
	strays_end(strays, &life);
	ev_run(loop, EVRUN_ONCE);
	ck_assert(strays_is_looking(strays));
	expect_end(pipe);
	expect_looks(strays);
}
END_TEST

/* Whether it was killed or stopped in order: the guard takes those with it that are in no group. */
START_TEST(the_guard_ends_what_bears_the_mark)
{
	struct guard *guard;
	struct stray_life life = {0};
	char mark[MARK_SIZE];
	const struct guard_run run = {.directory = "/nowhere/wpool-unit-test", .mark = RUN};
	ck_assert_int_eq(guard_start(&run, &guard), RC_OK);
	guard_allow_user(guard, getuid() + 1);
	guard_allow_user(guard, getuid());
	strays_begin(strays, &life);
	mark_write(mark, RUN, life.number);
	int pipe = start_worker(mark);
	ck_assert(!has_ended(pipe));
	guard_stop(guard);
	expect_end(pipe);
	strays_end(strays, &life);
}
END_TEST

/* Whatever it is; also while the supervisor lives, as at the end of a stop. */
START_TEST(the_guard_ends_what_is_below_the_supervisor)
{
	struct guard *guard;
	const struct guard_run run = {
		.directory = "/nowhere/wpool-unit-test", .mark = RUN, .descendants = descendants};
	ck_assert_int_eq(guard_start(&run, &guard), RC_OK);
	int pipe = start_worker((char *)"PATH=/bin");
	ck_assert(!has_ended(pipe));
	guard_stop(guard);
	expect_end(pipe);
}
END_TEST

static void supervise(int up)
{
	char byte;
	int ends[2];
	struct descendants *below = descendants_new();
	if (!below || pipe(ends) < 0)
		_exit(1);
	if (fork() == 0) {
		close(ends[1]);
		setsid();
		poll(&(struct pollfd){up, 0, 0}, 1, -1);
	}
	descendants_look(below);
	if (fork() == 0) {
		close(up);
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 0) /* the supervisor is dead */
			descendants_kill(below);
		_exit(0);
	}
	raise(SIGKILL);
}

/* They are not below it any more, so they must have been seen before. */
START_TEST(what_was_seen_below_a_killed_supervisor_ends)
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t supervisor = fork();
	if (supervisor == 0) {
		close(ends[0]);
		supervise(ends[1]);
	}
	close(ends[1]);
	expect_end(ends[0]);
	waitpid(supervisor, NULL, 0); /* if the loop has not reaped it */
}
END_TEST

/* A user whom no pool has can give the mark to a program that changes its user. */
START_TEST(marks_of_other_users_are_not_believed)
{
	struct stray_life life = {0};
	char mark[MARK_SIZE];
	const uid_t others[] = {getuid() + 1, getuid() + 2}, all[] = {getuid() + 1, getuid()};
	strays_begin(strays, &life);
	mark_write(mark, RUN, life.number);
	int pipe = start_worker(mark);
	ck_assert_int_eq(mark_kill_all(RUN, others, 2), 0);
	ck_assert_int_eq(mark_kill_all(RUN, NULL, 0), 0);
	ck_assert_int_eq(mark_kill_all(RUN, all, 2), 2);
	expect_end(pipe);
	strays_end(strays, &life);
}
END_TEST

START_TEST(runs_differ)
{
	char one[MARK_RUN_SIZE], other[MARK_RUN_SIZE];
	ck_assert_int_eq(mark_draw_run(one), RC_OK);
	ck_assert_int_eq(mark_draw_run(other), RC_OK);
	ck_assert_uint_eq(strlen(one), 32);
	ck_assert_uint_eq(strspn(one, "0123456789abcdef"), 32);
	ck_assert_str_ne(one, other);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/strays");
	TCase *tcase = tcase_create("strays");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, daemons_end_with_their_worker_only);
	tcase_add_test(tcase, daemons_without_a_mark_end_with_the_workers_of_their_time);
	tcase_add_test(tcase, a_mark_without_a_life_counts_as_none);
	tcase_add_test(tcase, an_adopted_orphan_is_no_stray);
	tcase_add_test(tcase, children_from_before_are_left_alone);
	tcase_add_test(tcase, not_every_turn_looks);
	tcase_add_test(tcase, a_look_at_many_takes_several_turns);
	tcase_add_test(tcase, the_guard_ends_what_bears_the_mark);
	tcase_add_test(tcase, the_guard_ends_what_is_below_the_supervisor);
	tcase_add_test(tcase, what_was_seen_below_a_killed_supervisor_ends);
	tcase_add_test(tcase, marks_of_other_users_are_not_believed);
	tcase_add_test(tcase, runs_differ);
	suite_add_tcase(s, tcase);
	return s;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		leave_daemons(atoi(argv[1]), atoi(argv[2]));
	return unit_run(suite());
}
