/* What a child inherits, and how a start fails. The child is this program: `PROGRAM dump X` prints
 * what it sees of itself. */
#include "process/spawn.h"
#include "os/descriptors.h"
#include "process/program.h"
#include "process/spawn_child.h"
#include "unit/support/os/sandbox.h"
#include "unit/support/process/spawned.h"
#include "unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static struct spawned child;
static struct rlimit original;

static void spawn_it(char *const *command, const struct rlimit *limit)
{
	struct spawn_request request = {
		.command = command, .environment = environ, .descriptors = limit};
	struct exit_info failure;
	ck_assert_int_eq(spawn_process(&request, &child, &failure), RC_OK);
}

/* All that comes until the end of file. */
static const char *read_all(int fd)
{
	static char text[65536];
	size_t len = 0;
	ssize_t n;
	do {
		spawned_await(fd);
		n = read(fd, text + len, sizeof text - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	text[len] = '\0';
	return text;
}

/* The child's part. */
static int dump(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir))
			printf("fd %s\n", entry->d_name);
	closedir(dir);
	struct rlimit limit;
	int death = 0;
	getrlimit(RLIMIT_NOFILE, &limit);
	prctl(PR_GET_PDEATHSIG, &death);
	printf("limit %lu\n", (unsigned long)limit.rlim_cur);
	printf("death %d\n", death);
	printf("leads %d\n", getsid(0) == getpid() && getpgrp() == getpid());
	return 0;
}

static void ignore(int number)
{
	(void)number;
}

/* As posix_spawn() starts a process: libc's own two, of which signal() knows nothing. */
static void ignore_internal_signals(void)
{
	const unsigned long ignored[8] = {(unsigned long)SIG_IGN};
	for (int number = 32; number < 34; number++)
		ck_assert_int_eq(syscall(SYS_rt_sigaction, number, ignored, NULL, NSIG / 8), 0);
}

/* Under a sandbox, too, that refuses the quick way of closing descriptors. */
START_TEST(a_child_inherits_only_its_streams)
{
	if (_i == 1)
		sandbox_refuse(SYS_close_range);
	sigset_t all;
	sigfillset(&all);
	for (int number = 1; number < NSIG; number++)
		signal(number, number % 2 ? SIG_IGN : ignore);
	signal(SIGCHLD, SIG_DFL);
	ignore_internal_signals();
	sigprocmask(SIG_SETMASK, &all, NULL);
	int open_one = dup(0), open_high = fcntl(0, F_DUPFD, 300);
	char *dumps[][3] = {{(char *)"/proc/self/exe", (char *)"dump"},
		{(char *)"cat", (char *)"/proc/self/status"}};
	char limit[64];
	snprintf(limit, sizeof limit, "limit %lu\n", (unsigned long)original.rlim_cur);
	const char *const wanted[][4] = {
		{"fd 0\nfd 1\nfd 2\nlimit", limit, "death 9\n", "leads 1\n"},
		{"SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n",
			"SigCgt:\t0000000000000000\n", "SigPnd:\t0000000000000000\n"},
	};
	for (size_t i = 0; i < 2; i++) {
		spawn_it(dumps[i], &original);
		const char *seen = read_all(child.output);
		for (size_t j = 0; j < 4; j++)
			ck_assert_msg(strstr(seen, wanted[i][j]) != NULL, "%s is not in:\n%s",
				wanted[i][j], seen);
		spawned_reap(&child);
	}
	sigset_t now;
	sigprocmask(SIG_SETMASK, NULL, &now);
	ck_assert_int_eq(sigismember(&now, SIGTERM), 1); /* ours is as it was */
	close(open_one);
	close(open_high);
}
END_TEST

/* The guard knows the group of a child that runs, whatever became of its parent since the fork. */
START_TEST(a_child_records_its_group)
{
	char *command[] = {(char *)"/bin/true", NULL};
	atomic_int *group = mmap(
		NULL, sizeof *group, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int start[2];
	ck_assert_int_eq(pipe2(start, O_CLOEXEC), 0);
	struct spawn_plan plan = {.program = command[0],
		.arguments = command,
		.environment = environ,
		.group = group,
		.parent = getpid(),
		.streams = {start[0], start[1], start[1]},
		.start = start[1]};
	pid_t pid = fork();
	if (pid == 0)
		spawn_child(&plan);
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(atomic_load(group), pid);
	munmap(group, sizeof *group);
	close(start[0]);
	close(start[1]);
}
END_TEST

static struct exit_info failed_start(char *const *command, const struct rlimit *limit)
{
	struct exit_info failure = {EXIT_NONE, 0, NULL};
	spawn_it(command, limit);
	spawned_await(child.start);
	ck_assert_int_eq(spawn_outcome(child.start, &failure), SPAWN_FAILED);
	ck_assert_int_eq(failure.kind, EXIT_NOT_STARTED);
	spawned_reap(&child);
	return failure;
}

static char *script_without_interpreter(void)
{
	static char path[PATH_MAX];
	static const char words[] = "#!/no/such/interpreter\n";
	strcpy(path, "/tmp/wpool-spawn-XXXXXX");
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, words, sizeof words - 1), (ssize_t)sizeof words - 1);
	ck_assert_int_eq(fchmod(fd, 0700), 0);
	close(fd);
	return path;
}

/* A worker without limits runs anywhere; one with limits must not run outside of them. */
START_TEST(a_child_with_limits_runs_in_its_control_group_only)
{
	char *command[] = {(char *)"true", NULL};
	struct spawn_request request = {.command = command, .environment = environ};
	struct exit_info failure;
	request.cgroup = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC); /* it is none */
	ck_assert_int_gt(request.cgroup, 0);
	for (int i = 0; i < 2; i++) {
		request.is_limited = i == 1;
		ck_assert_int_eq(spawn_process(&request, &child, &failure), RC_OK);
		spawned_await(child.start);
		enum spawn_outcome outcome = spawn_outcome(child.start, &failure);
		ck_assert_int_eq(outcome, request.is_limited ? SPAWN_FAILED : SPAWN_RUNS);
		spawned_reap(&child);
	}
	ck_assert_str_eq(failure.stage, "control group");
	ck_assert_int_eq(failure.number, ENOENT);
	close(request.cgroup);
}
END_TEST

START_TEST(a_failed_step_in_the_child_is_reported)
{
	struct rlimit above = {RLIM_INFINITY, RLIM_INFINITY};
	char *folder[] = {(char *)"/etc", NULL}, *missing[] = {(char *)"/no/such/file", NULL};
	char *fine[] = {(char *)"/bin/true", NULL},
	     *script[] = {script_without_interpreter(), NULL};
	const struct {
		char *const *command;
		const struct rlimit *limit;
		const char *stage;
		int error;
	} cases[] = {
		{folder, NULL, "exec", EACCES},
		{missing, NULL, "exec", ENOENT},
		{script, NULL, "interpreter", ENOENT},
		{fine, &above, "rlimits", EPERM},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct exit_info failure = failed_start(cases[i].command, cases[i].limit);
		ck_assert_str_eq(failure.stage, cases[i].stage);
		ck_assert_int_eq(failure.number, cases[i].error);
	}
	unlink(script[0]);
}
END_TEST

/* Before anything is started, the same is said. */
START_TEST(a_program_that_cannot_start_is_found_in_advance)
{
	char *no_path[] = {(char *)"HOME=/", NULL};
	char *script = script_without_interpreter();
	const struct {
		const char *name, *stage;
		int error;
	} cases[] = {
		{"/etc", "exec", EACCES},
		{"/etc/passwd", "exec", EACCES},
		{"/no/such/file", "exec", ENOENT},
		{"no-such-program-in-path", "exec", ENOENT},
		{"", "exec", ENOENT},
		{script, "interpreter", ENOENT},
	};
	struct exit_info failure;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert(program_has_problem(cases[i].name, environ, &failure));
		ck_assert_int_eq(failure.kind, EXIT_NOT_STARTED);
		ck_assert_str_eq(failure.stage, cases[i].stage);
		ck_assert_int_eq(failure.number, cases[i].error);
	}
	ck_assert(!program_has_problem("/bin/true", no_path, &failure));
	ck_assert(!program_has_problem("true", no_path, &failure)); /* by the default path */
	ck_assert(!program_has_problem("/usr/bin/ldd", no_path, &failure)); /* a script */
	unlink(script);
}
END_TEST

START_TEST(success_closes_the_start_pipe)
{
	struct exit_info failure;
	char *command[] = {(char *)"cat", NULL}; /* found in PATH; stays until stdin ends */
	spawn_it(command, NULL);
	spawned_await(child.start);
	ck_assert_int_eq(spawn_outcome(child.start, &failure), SPAWN_RUNS);
	ck_assert_int_eq(write(child.control, "x\n", 2), 2);
	descriptor_close(&child.control);
	ck_assert_str_eq(read_all(child.output), "x\n");
	spawned_reap(&child);
}
END_TEST

/* As execvp does: no "#!", so the shell runs it, with its arguments. */
START_TEST(a_script_without_an_interpreter_runs_in_the_shell)
{
	char path[] = "/tmp/wpool-unit-XXXXXX";
	int fd = mkstemp(path);
	ck_assert_int_eq(write(fd, "echo \"$1 and $2\"\n", 17), 17);
	fchmod(fd, 0700);
	close(fd);
	char *command[] = {path, (char *)"one", (char *)"two", NULL};
	spawn_it(command, NULL);
	ck_assert_str_eq(read_all(child.output), "one and two\n");
	unlink(path);
	spawned_reap(&child);
}
END_TEST

/* The supervisor is killed: so is its child, though it holds on to nothing of it. */
START_TEST(a_child_dies_with_its_parent)
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	pid_t parent = fork();
	if (parent == 0) {
		char *command[] = {
			(char *)"sh", (char *)"-c", (char *)"echo up; exec sleep 1000 >&2", NULL};
		dup2(ends[1], 0); /* where the child's stderr would go is closed with its parent */
		spawn_it(command, NULL);
		char byte;
		spawned_await(child.output);
		ck_assert_int_eq(read(child.output, &byte, 1), 1);
		ssize_t n = write(ends[1], &child.pid, sizeof child.pid);
		_exit(n < 0);
	}
	close(ends[1]);
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* the orphan becomes ours, so that we hear of its end */
	pid_t orphan;
	ck_assert_int_eq(read(ends[0], &orphan, sizeof orphan), sizeof orphan);
	ck_assert_int_eq(waitpid(parent, NULL, 0), parent);
	int status;
	ck_assert_int_eq(waitpid(orphan, &status, 0), orphan);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	close(ends[0]);
}
END_TEST

/* Nothing is lost when 0, 1 and 2 were closed at our own start. */
START_TEST(closed_standard_descriptors_are_filled)
{
	struct rlimit limit;
	pid_t pid = fork();
	if (pid == 0) {
		close(0);
		close(1);
		close(2);
		if (descriptors_prepare(&limit) != RC_OK)
			_exit(1);
		_exit(fcntl(0, F_GETFD) < 0 || fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(the_limit_of_descriptors_is_raised)
{
	struct rlimit low, found, raised;
	getrlimit(RLIMIT_NOFILE, &low);
	low.rlim_cur = 100;
	setrlimit(RLIMIT_NOFILE, &low);
	ck_assert_int_eq(descriptors_prepare(&found), RC_OK);
	ck_assert_uint_eq(found.rlim_cur, 100);
	getrlimit(RLIMIT_NOFILE, &raised);
	ck_assert_uint_gt(raised.rlim_cur, 100);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/spawn");
	UNIT_CASE(s, "child", a_child_records_its_group,
		a_child_with_limits_runs_in_its_control_group_only,
		a_failed_step_in_the_child_is_reported,
		a_program_that_cannot_start_is_found_in_advance, success_closes_the_start_pipe,
		a_script_without_an_interpreter_runs_in_the_shell, a_child_dies_with_its_parent);
	TCase *sandboxed = tcase_create("sandboxed");
	tcase_add_loop_test(sandboxed, a_child_inherits_only_its_streams, 0, 2);
	suite_add_tcase(s, sandboxed);
	UNIT_CASE(s, "descriptors", closed_standard_descriptors_are_filled,
		the_limit_of_descriptors_is_raised);
	return s;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "dump") == 0)
		return dump();
	if (descriptors_prepare(&original) != RC_OK)
		return EXIT_FAILURE;
	return unit_run(suite());
}
