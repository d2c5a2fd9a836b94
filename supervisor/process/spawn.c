#include "process/spawn.h"

#include "os/descriptors.h"
#include "process/child_pipes.h"
#include "process/fork_into.h"
#include "process/program.h"
#include "process/spawn_child.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHELL "/bin/sh"

static struct exit_info failure(const char *stage, int number)
{
	return (struct exit_info){EXIT_NOT_STARTED, number, stage};
}

/* ---------- the command ---------- */

/* {SHELL, program, the command's arguments, NULL}; owned by the caller, its members borrowed. */
static char **command_by_shell(char *const *command, char *program)
{
	size_t count = 0;
	while (command[count])
		count++;
	char **by_shell = calloc(count + 2, sizeof *by_shell);
	if (!by_shell)
		return NULL;
	by_shell[0] = (char *)SHELL; /* no process writes to it */
	by_shell[1] = program;
	for (size_t i = 1; i < count; i++)
		by_shell[i + 1] = command[i];
	return by_shell;
}

/* ---------- the start pipe ---------- */

static void close_start(int start[2])
{
	int error = errno;
	descriptor_close(&start[0]);
	descriptor_close(&start[1]);
	errno = error;
}

static bool open_start(int ret[2])
{
	if (pipe2(ret, O_CLOEXEC) < 0) {
		ret[0] = ret[1] = -1;
		return false;
	}
	return fcntl(ret[0], F_SETFL, O_NONBLOCK) >= 0;
}

/* ---------- the fork ---------- */

/* All signals are blocked meanwhile: a handler that runs in the child would write to the loop's
 * wake-up descriptor, which both processes share. */
static pid_t fork_child(const struct spawn_request *request, const char *program,
	char *const *by_shell, const struct child_pipes *pipes, int start)
{
	struct spawn_plan plan = {
		.program = program,
		.arguments = request->command,
		.by_shell = by_shell,
		.environment = request->environment,
		.descriptors = request->descriptors,
		.rights = request->rights,
		.folder = request->folder,
		.reach = request->reach,
		.group = request->group,
		.parent = getpid(),
		.streams = {pipes->theirs[CHILD_INPUT], pipes->theirs[CHILD_OUTPUT],
			pipes->theirs[CHILD_ERROR]},
		.start = start,
	};
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool is_inside; /* a worker without limits also works outside of its control group */
	pid_t pid = fork_into(request->cgroup, &is_inside);
	if (pid == 0) {
		bool is_lost = request->cgroup > 0 && request->is_limited && !is_inside;
		plan.cgroup_error = is_lost ? errno : 0;
		spawn_child(&plan);
	}
	int error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return pid;
}

enum rc spawn_process(
	const struct spawn_request *request, struct spawned *ret, struct exit_info *ret_failure)
{
	char program[PATH_MAX];
	if (!program_find(request->command[0], request->environment, program)) {
		*ret_failure = failure("exec", errno);
		return RC_SYSTEM;
	}
	char **by_shell = command_by_shell(request->command, program);
	if (!by_shell) {
		*ret_failure = failure("memory", ENOMEM);
		return RC_MEMORY;
	}
	enum rc rc = RC_SYSTEM;
	pid_t pid = -1;
	struct child_pipes pipes;
	int start[2] = {-1, -1};
	if (!child_pipes_open(&pipes, request->has_socket) || !open_start(start)) {
		*ret_failure = failure("pipe", errno);
		goto done;
	}
	pid = fork_child(request, program, by_shell, &pipes, start[1]);
	if (pid < 0) {
		*ret_failure = failure("fork", errno);
		goto done;
	}
	if (request->group)
		atomic_store(request->group, pid);
	*ret = (struct spawned){pid, child_pipes_take(&pipes, CHILD_INPUT),
		child_pipes_take(&pipes, CHILD_OUTPUT), child_pipes_take(&pipes, CHILD_ERROR),
		start[0]};
	start[0] = -1;
	rc = RC_OK;
done:
	child_pipes_close(&pipes);
	close_start(start);
	free(by_shell);
	return rc;
}

void spawn_set_session_priority(pid_t pid)
{
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/autogroup", (int)pid);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) /* the kernel does not schedule by session */
		return;
	dprintf(fd, "%d", getpriority(PRIO_PROCESS, (id_t)pid));
	close(fd);
}

enum spawn_outcome spawn_outcome(int start, struct exit_info *ret_failure)
{
	static const char *const stages[] = {
#define X(step, text) text,
		SPAWN_STEPS(X)
#undef X
	};
	struct spawn_report report;
	ssize_t n = read(start, &report, sizeof report);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return SPAWN_PENDING;
	if (n != (ssize_t)sizeof report)
		return SPAWN_RUNS;
	bool is_known = report.step >= 0 && (size_t)report.step < sizeof stages / sizeof *stages;
	*ret_failure = failure(is_known ? stages[report.step] : "start", report.error);
	return SPAWN_FAILED;
}

void spawn_signal(pid_t pid, int number)
{
	assert(pid > 0); /* 0 would be our own group */
	/* Directly after the fork the child does not lead a group yet. */
	if (kill(-pid, number) < 0 && errno == ESRCH)
		kill(pid, number);
}
