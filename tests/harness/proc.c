#include "harness/proc.h"

#include "harness/child.h"
#include "harness/deadline.h"
#include "harness/scratch.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct proc {
	pid_t pid;
	int pid_fd;  /* readable once it has ended */
	int inotify; /* readable when its stderr grew */
	size_t seen; /* bytes of stderr up to the end of the last matched line */
	char *out_path, *err_path;
	char *name;
};

static char **make_environment(const char *const extra[])
{
	static const char *const kept[] = {"PATH", "HOME", "LC_ALL", "TEST_SCRATCH"};
	size_t count = sizeof kept / sizeof *kept, used = 0;
	while (extra && extra[count - sizeof kept / sizeof *kept])
		count++;
	char **environment = calloc(count + 1, sizeof *environment);
	ck_assert_ptr_nonnull(environment);
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		const char *value = getenv(kept[i]);
		if (value)
			environment[used++] = scratch_text("%s=%s", kept[i], value);
	}
	for (size_t i = 0; extra && extra[i]; i++)
		environment[used++] = scratch_text("%s", extra[i]);
	return environment;
}

static void free_environment(char **environment)
{
	for (size_t i = 0; environment[i]; i++)
		free(environment[i]);
	free(environment);
}

static int open_output(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	ck_assert_msg(fd >= 0, "cannot write %s: %s", path, strerror(errno));
	return fd;
}

/* Between fork and exec; never returns. */
static _Noreturn void become(const struct proc *proc, const char *const argv[], char **environment)
{
	setpgid(0, 0);
	int nothing = open("/dev/null", O_RDONLY);
	int out = open(proc->out_path, O_WRONLY | O_APPEND);
	int err = open(proc->err_path, O_WRONLY | O_APPEND);
	if (dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	syscall(SYS_close_range, 3, ~0U, 0);
	execvpe(argv[0], (char *const *)argv, environment);
	perror(argv[0]);
	_exit(127);
}

struct proc *proc_start(const char *folder, const char *const argv[], const char *const extra[])
{
	static int number;
	struct proc *proc = calloc(1, sizeof *proc);
	ck_assert_ptr_nonnull(proc);
	const char *slash = strrchr(argv[0], '/');
	proc->name = scratch_text("%s-%d", slash ? slash + 1 : argv[0], ++number);
	proc->out_path = scratch_text("%s/%s.out", folder, proc->name);
	proc->err_path = scratch_text("%s/%s.err", folder, proc->name);
	close(open_output(proc->out_path));
	close(open_output(proc->err_path));
	proc->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	ck_assert_int_ge(proc->inotify, 0);
	ck_assert_int_ge(inotify_add_watch(proc->inotify, proc->err_path, IN_MODIFY), 0);

	char **environment = make_environment(extra);
	proc->pid = child_fork();
	if (proc->pid == 0)
		become(proc, argv, environment);
	setpgid(proc->pid, proc->pid);
	free_environment(environment);
	proc->pid_fd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
	ck_assert_int_ge(proc->pid_fd, 0);
	return proc;
}

void proc_free(struct proc *proc)
{
	if (!proc)
		return;
	kill(-proc->pid, SIGKILL);
	ck_assert_int_eq(waitpid(proc->pid, NULL, 0), proc->pid);
	close(proc->pid_fd);
	close(proc->inotify);
	free(proc->out_path);
	free(proc->err_path);
	free(proc->name);
	free(proc);
}

pid_t proc_pid(const struct proc *proc)
{
	return proc->pid;
}

pid_t proc_only_child(const struct proc *proc)
{
	int pid = (int)proc->pid;
	char *children = scratch_read(scratch_text("/proc/%d/task/%d/children", pid, pid), NULL);
	pid_t child = atoi(children);
	free(children);
	ck_assert_int_gt(child, 0);
	return child;
}

void proc_signal(struct proc *proc, int signal)
{
	ck_assert_int_eq(kill(proc->pid, signal), 0);
}

void proc_suspend(struct proc *proc)
{
	siginfo_t stop;
	proc_signal(proc, SIGSTOP);
	ck_assert_int_eq(waitid(P_PID, (id_t)proc->pid, &stop, WSTOPPED), 0);
}

char *proc_stdout(struct proc *proc)
{
	return scratch_read(proc->out_path, NULL);
}

char *proc_stderr(struct proc *proc)
{
	return scratch_read(proc->err_path, NULL);
}

/* Fail the test, with the last output of the program. */
static _Noreturn void fail_with_output(struct proc *proc, const char *what, const char *detail)
{
	char *said = proc_stderr(proc);
	size_t length = strlen(said);
	ck_abort_msg("%s: %s '%s'; it said:\n%s", proc->name, what, detail,
		length > 3000 ? said + length - 3000 : said);
}

bool proc_is_alive(struct proc *proc)
{
	struct pollfd wait = {.fd = proc->pid_fd, .events = POLLIN};
	return poll(&wait, 1, 0) == 0;
}

/* Wait until stderr has grown or the program has ended; false at the deadline. */
static bool wait_for_output(struct proc *proc, int64_t deadline)
{
	struct pollfd wait[] = {
		{.fd = proc->inotify, .events = POLLIN}, {.fd = proc->pid_fd, .events = POLLIN}};
	if (poll(wait, 2, deadline_left(deadline)) == 0)
		return false;
	char drained[4096];
	while (read(proc->inotify, drained, sizeof drained) > 0)
		;
	return true;
}

/* Move past the next whole line that contains needle. */
static bool advance(struct proc *proc, const char *needle)
{
	char *said = proc_stderr(proc);
	char *hit = strstr(said + proc->seen, needle);
	char *end = hit ? strchr(hit, '\n') : NULL;
	if (end)
		proc->seen = end + 1 - said;
	free(said);
	return end != NULL;
}

/* Return for the next look; fail at the deadline, or if no line can follow. was_alive: before the
 * last look, so that the last lines of an ended program are not missed. */
static void await_lines(struct proc *proc, bool was_alive, int64_t deadline, const char *needle)
{
	if (!was_alive)
		fail_with_output(proc, "ended without saying", needle);
	if (!wait_for_output(proc, deadline))
		fail_with_output(proc, "has not said in time", needle);
}

void proc_expect(struct proc *proc, const char *needle)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		bool was_alive = proc_is_alive(proc);
		if (advance(proc, needle))
			return;
		await_lines(proc, was_alive, deadline, needle);
	}
}

void proc_await_logged(struct proc *proc, const char *needle, int count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		bool was_alive = proc_is_alive(proc);
		if (proc_count_logged(proc, needle) >= count)
			return;
		await_lines(proc, was_alive, deadline, needle);
	}
}

int proc_count_logged(struct proc *proc, const char *needle)
{
	int count = 0;
	char *said = proc_stderr(proc);
	for (char *hit = strstr(said, needle); hit; hit = strstr(hit, needle)) {
		count++;
		hit += strcspn(hit, "\n");
	}
	free(said);
	return count;
}

bool proc_has_logged(struct proc *proc, const char *needle)
{
	return proc_count_logged(proc, needle) > 0;
}

/* Only proc_free reaps it: until then no other process gets its number, and with it our signals. */
int proc_wait(struct proc *proc)
{
	struct pollfd wait = {.fd = proc->pid_fd, .events = POLLIN};
	siginfo_t end;
	if (poll(&wait, 1, 3 * DEADLINE_DEFAULT_MS) != 1)
		fail_with_output(proc, "has not ended in time", "exit");
	ck_assert_int_eq(waitid(P_PID, (id_t)proc->pid, &end, WEXITED | WNOWAIT), 0);
	return end.si_code == CLD_EXITED ? end.si_status : 128 + end.si_status;
}

int proc_wait_any(struct proc *const procs[], int count)
{
	struct pollfd wait[PROC_WAIT_MAX];
	ck_assert_int_le(count, PROC_WAIT_MAX);
	for (int i = 0; i < count; i++)
		wait[i] = (struct pollfd){.fd = procs[i]->pid_fd, .events = POLLIN};
	if (poll(wait, (nfds_t)count, 3 * DEADLINE_DEFAULT_MS) < 1)
		fail_with_output(procs[0], "has not ended in time, nor have the others", "exit");
	for (int i = 0; i < count; i++)
		if (wait[i].revents != 0)
			return i;
	ck_abort_msg("poll reports an end, and names none");
}

void proc_expect_gone(pid_t pid)
{
	struct pollfd wait = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	if (wait.fd < 0) {
		ck_assert_int_eq(errno, ESRCH);
		return;
	}
	ck_assert_msg(poll(&wait, 1, DEADLINE_DEFAULT_MS) == 1, "process %d lives on", (int)pid);
	close(wait.fd);
}

void proc_expect_variable(pid_t pid, const char *entry, bool is_there)
{
	char *path = scratch_text("/proc/%d/environ", (int)pid);
	size_t size, len = strlen(entry);
	char *bytes = scratch_read(path, &size);
	bool found = false;
	for (char *at = bytes; at && at < bytes + size; at += strlen(at) + 1)
		found |= strncmp(at, entry, len) == 0;
	ck_assert_msg(found == is_there, "%s", entry);
	free(bytes);
	free(path);
}
