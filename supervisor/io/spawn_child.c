#include "io/spawn_child.h"

#include "io/descriptors.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXIT_BEFORE_EXEC 127 /* nobody reads it: the report says more */

static bool step_session(const struct spawn_plan *plan)
{
	(void)plan;
	return setsid() >= 0;
}

/* By the bare system call: sigaction() refuses the two signals that libc keeps for itself, and they
 * come ignored to whatever was started by posix_spawn(), as commands of make are. SIGKILL and
 * SIGSTOP refuse, and are at their default anyway. */
static bool step_signals(const struct spawn_plan *plan)
{
	(void)plan;
	static const unsigned long by_default[8] = {0}; /* SIG_DFL, no flags, no mask */
	for (int number = 1; number < NSIG; number++)
		syscall(SYS_rt_sigaction, number, by_default, NULL, NSIG / 8);
	sigset_t none;
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* By the child itself: before it can have children of its own, which only the guard would find. */
static bool step_group(const struct spawn_plan *plan)
{
	if (plan->group)
		atomic_store(plan->group, getpid());
	return true;
}

static bool step_limits(const struct spawn_plan *plan)
{
	return !plan->descriptors || setrlimit(RLIMIT_NOFILE, plan->descriptors) == 0;
}

static bool step_parent(const struct spawn_plan *plan)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return false;
	if (getppid() != plan->parent) /* it died before that: no signal will come */
		_exit(EXIT_BEFORE_EXEC);
	return true;
}

static bool step_streams(const struct spawn_plan *plan)
{
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(plan->streams[fd], fd) < 0)
			return false;
	return true;
}

static bool step_descriptors(const struct spawn_plan *plan)
{
	(void)plan;
	descriptors_range(3, CLOSE_RANGE_CLOEXEC);
	return true;
}

/* The kernel has one error for a program that is not there and for one whose interpreter is not. */
static bool is_there(const char *program)
{
	struct stat status;
	return stat(program, &status) == 0 && S_ISREG(status.st_mode) && access(program, X_OK) == 0;
}

/* True: it failed, but not for the program's sake. */
static bool step_exec(const struct spawn_plan *plan)
{
	execve(plan->program, plan->arguments, plan->environment);
	if (errno == ENOEXEC)
		execve(plan->by_shell[0], plan->by_shell, plan->environment);
	int error = errno;
	bool is_others = (error == ENOENT || error == EACCES) && is_there(plan->program);
	errno = error;
	return is_others;
}

static bool step_interpreter(const struct spawn_plan *plan)
{
	(void)plan;
	return false;
}

_Noreturn void spawn_child(const struct spawn_plan *plan)
{
	static bool (*const steps[])(const struct spawn_plan *) = {
#define X(name) step_##name,
		SPAWN_STEPS(X)
#undef X
	};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		if (steps[i](plan))
			continue;
		struct spawn_report report = {(int32_t)i, errno};
		ssize_t written = write(plan->start, &report, sizeof report);
		(void)written; /* no other way to tell */
		break;
	}
	_exit(EXIT_BEFORE_EXEC);
}
