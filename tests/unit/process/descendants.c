/* Which processes are below another one, where numbers do not follow ages: after the largest number
 * the kernel begins again with small ones. In a namespace of their own, where numbers can be chosen
 * and a mistake reaches nobody. */
#include "process/descendants.h"
#include "unit/unit.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD = 30, ANCESTOR = 300, KILLER = 350, ROOT = 400 };

static pid_t fork_as(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

static int status_of(pid_t pid)
{
	int status;
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

/* What is below the root is killed by a process that is left alone, as the guard does it. */
static _Noreturn void run_root(void)
{
	struct descendants *descendants = descendants_new();
	pid_t child = fork_as(CHILD);
	if (child == 0)
		for (;;)
			pause();
	pid_t killer = fork_as(KILLER);
	if (killer == 0) {
		if (!descendants || !descendants_leave(descendants, getpid()))
			_exit(1);
		descendants_kill(descendants);
		_exit(0);
	}
	bool is_killer_alone = status_of(killer) == 0;
	bool is_child_killed = status_of(child) == SIGKILL;
	_exit(is_killer_alone && is_child_killed ? 0 : 1);
}

/* The first process of its namespace, whose end is that of all others. */
static _Noreturn void run_first(void)
{
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("proc", "/proc", "proc", 0, NULL) < 0)
		_exit(2);
	pid_t ancestor = fork_as(ANCESTOR);
	if (ancestor == 0) {
		pid_t root = fork_as(ROOT);
		if (root == 0)
			run_root();
		_exit(status_of(root) == 0 ? 0 : 1);
	}
	_exit(status_of(ancestor) == 0 ? 0 : 1);
}

START_TEST(ancestors_with_larger_numbers_are_no_descendants)
{
	if (geteuid() != 0) {
		printf("not run: %s: only root chooses numbers of processes\n", __func__);
		return;
	}
	pid_t outer = fork();
	if (outer == 0) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
			_exit(2);
		pid_t first = fork();
		if (first == 0)
			run_first();
		int status = status_of(first);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	int status = status_of(outer);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/descendants");
	UNIT_CASE(s, "numbers", ancestors_with_larger_numbers_are_no_descendants);
	return s;
}

UNIT_MAIN(suite)
