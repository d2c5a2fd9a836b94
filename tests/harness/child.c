#include "harness/child.h"

#include <check.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_WITHOUT_TEST 126

static void restore_default_actions(void)
{
	static const int handled[] = {SIGALRM, SIGINT, SIGTERM}; /* by check */
	for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
		signal(handled[i], SIG_DFL);
}

static void die_with(pid_t test)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != test)
		_exit(EXIT_WITHOUT_TEST);
}

/* All signals are blocked meanwhile, so that no handler runs in the child. */
pid_t child_fork(void)
{
	pid_t test = getpid();
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid == 0) {
		restore_default_actions();
		die_with(test);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid != 0)
		ck_assert_int_ge(pid, 0);
	return pid;
}

void child_end(pid_t pid)
{
	int status;
	ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}
