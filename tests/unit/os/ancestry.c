/* What this process has started is told from what it has not. */
#include "os/ancestry.h"
#include "unit/unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(own_process_is_ours)
{
	ck_assert(ancestry_may_be_ours(getpid(), getuid()));
}
END_TEST

START_TEST(parents_and_outsiders_are_foreign)
{
	ck_assert(!ancestry_may_be_ours(getppid(), getuid()));
	ck_assert(!ancestry_may_be_ours(1, 0));
	ck_assert(!ancestry_may_be_ours(0, getuid()));
}
END_TEST

/* Write the pid of a process that has left its parent and its session, and wait to be killed. */
_Noreturn static void leave(int out)
{
	pid_t pid;
	if (fork() > 0)
		_exit(0);
	setsid();
	if (fork() > 0)
		_exit(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pid = getpid();
	if (write(out, &pid, sizeof pid) != sizeof pid)
		_exit(1);
	pause();
	_exit(0);
}

START_TEST(daemons_of_children_are_ours)
{
	pid_t child, daemon;
	int out[2];
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(out), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		leave(out[1]);
	ck_assert_int_eq(read(out[0], &daemon, sizeof daemon), sizeof daemon);
	ck_assert(ancestry_may_be_ours(daemon, getuid()));
	kill(daemon, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	/* It has ended, so that nothing is known of it but its user. */
	ck_assert(ancestry_may_be_ours(daemon, getuid()));
	close(out[0]);
	close(out[1]);
}
END_TEST

/* The child is asked about its sibling. */
START_TEST(siblings_are_foreign)
{
	int status;
	pid_t sibling = fork(), child;
	ck_assert_int_ge(sibling, 0);
	if (sibling == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(ancestry_may_be_ours(sibling, getuid()));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	kill(sibling, SIGKILL);
	waitpid(sibling, NULL, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("os/ancestry");
	TCase *tcase = tcase_create("ancestry");
	tcase_add_test(tcase, own_process_is_ours);
	tcase_add_test(tcase, parents_and_outsiders_are_foreign);
	tcase_add_test(tcase, daemons_of_children_are_ours);
	tcase_add_test(tcase, siblings_are_foreign);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
