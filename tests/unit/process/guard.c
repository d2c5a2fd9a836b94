/* The guard, with a supervisor that is killed; and the run directory that it removes. */
#include "process/guard.h"
#include "os/clock.h"
#include "os/proc_stat.h"
#include "os/rundir.h"
#include "unit/support/os/sandbox.h"
#include "unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct report {
	pid_t guard, leader;
	char directory[RUNDIR_PATH_BYTES];
};

static enum rc start_guard(
	const char *directory, struct descendants *descendants, struct guard **ret)
{
	return guard_start(&(struct guard_run){.directory = directory,
				   .mark = "unit-test-of-the-guard",
				   .descendants = descendants},
		ret);
}

/* A leader of a group, its child, and its grandchild, all of which ignore what can be ignored and
 * hold the alive end until they die. up: one byte from each. */
static void family(int up)
{
	setsid();
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_IGN);
	fork();
	fork();
	ssize_t n = write(up, "x", 1);
	while (n)
		pause();
	_exit(0);
}

static pid_t start_family(void)
{
	int up[2];
	char bytes[4];
	if (pipe(up) < 0)
		_exit(2);
	pid_t leader = fork();
	if (leader == 0) {
		char number[16]; /* by exec, as a worker: it holds nothing of the guard's */
		snprintf(number, sizeof number, "%d", up[1]);
		execl(unit_own_path(), "family", number, NULL);
		_exit(5);
	}
	for (int i = 0; i < 4; i++)
		if (read(up[0], bytes + i, 1) != 1)
			_exit(3);
	close(up[0]);
	close(up[1]);
	return leader;
}

/* The supervisor: two families, one of which it takes off the list again; then it waits. */
static void supervise(int out, const char *directory)
{
	struct report report = {0};
	struct guard *guard;
	if (start_guard(directory, NULL, &guard) != RC_OK)
		_exit(1);
	pid_t other = start_family();
	atomic_store(guard_place(guard, 0), other);
	report.leader = start_family();
	atomic_store(guard_place(guard, 0), report.leader);
	guard_remove(guard, other);
	kill(-other, SIGKILL);
	atomic_store(guard_place(guard, 0), report.leader); /* once more: two do no harm */
	report.guard = guard_pid(guard);
	if (write(out, &report, sizeof report) != sizeof report)
		_exit(4);
	while (true)
		pause();
}

static void expect_reaped(pid_t pid, int wanted)
{
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, wanted);
}

START_TEST(the_guard_kills_the_workers_of_a_killed_supervisor)
{
	int ends[2];
	struct rundir *rundir;
	struct report report;
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that all of them are ours to wait for */
	ck_assert_int_eq(rundir_new(false, &rundir), RC_OK);
	char path[RUNDIR_PATH_BYTES];
	rundir_next(rundir, path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(pipe(ends), 0);
	pid_t supervisor = fork();
	if (supervisor == 0)
		supervise(ends[1], rundir_path(rundir));
	ck_assert_int_eq(close(ends[1]), 0);
	ck_assert_int_eq(read(ends[0], &report, sizeof report), sizeof report);
	/* What a terminal or a service manager sends to everybody does not touch it. */
	for (int number = 1; number < NSIG; number++)
		if (number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN))
			kill(report.guard, number);
	kill(supervisor, SIGKILL);
	expect_reaped(supervisor, SIGKILL);
	expect_reaped(report.guard, 0);
	/* Every member of the family is dead: the end they all held is closed. */
	struct pollfd poller = {ends[0], POLLIN, 0};
	char byte;
	ck_assert_int_eq(poll(&poller, 1, 20000), 1);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	ck_assert_int_lt(access(rundir_path(rundir), F_OK), 0);
	rundir_free(rundir);
	close(ends[0]);
}
END_TEST

/* The first lease is over, the second is not; the third one has no limit for now. */
START_TEST(the_guard_ends_the_workers_of_a_lease_that_is_over)
{
	struct guard *guard;
	pid_t families[3];
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	ck_assert_int_eq(start_guard("/nowhere/wpool-unit-test", NULL, &guard), RC_OK);
	mtime until = clock_boot() + 100 * MTIME_MS;
	for (unsigned i = 0; i < 3; i++) {
		families[i] = start_family();
		atomic_store(guard_place(guard, i + 1), families[i]);
	}
	guard_set_lease(guard, 3, until);
	guard_set_lease(guard, 3, 0);
	guard_set_lease(guard, 2, until + MTIME_MINUTE);
	guard_set_lease(guard, 1, until);
	expect_reaped(families[0], SIGKILL);
	ck_assert_int_ge(clock_boot(), until);
	ck_assert_int_eq(waitpid(families[2], NULL, WNOHANG), 0);
	guard_set_lease(guard, 3, clock_boot()); /* by its end, what the first one did is seen */
	expect_reaped(families[2], SIGKILL);
	ck_assert_int_eq(waitpid(families[1], NULL, WNOHANG), 0);
	guard_stop(guard);
	expect_reaped(families[1], SIGKILL);
}
END_TEST

/* A family whose leader has another start than this process. */
static pid_t start_later_family(pid_t pid)
{
	struct proc_stat before, stat;
	ck_assert(proc_stat_read(pid, &before));
	for (;;) {
		pid_t later = start_family();
		ck_assert(proc_stat_read(later, &stat));
		if (stat.start != before.start)
			return later;
		kill(-later, SIGKILL);
		expect_reaped(later, SIGKILL);
	}
}

/* On a machine with few pids the number of a worker that died with its supervisor may be another's
 * when the guard comes to it. */
START_TEST(a_group_that_got_the_number_of_a_worker_lives)
{
	struct guard *guard;
	ck_assert_int_eq(start_guard("/nowhere", NULL, &guard), RC_OK);
	pid_t worker = start_family(), other = start_later_family(worker);
	atomic_int *place = guard_place(guard, 0);
	atomic_store(place, worker);
	guard_know(guard, worker);
	atomic_store(place, other); /* as if it had that number now */
	atomic_store(guard_place(guard, 0), worker);
	guard_know(guard, worker);
	guard_stop(guard);
	expect_reaped(worker, SIGKILL);
	ck_assert_int_eq(waitpid(other, NULL, WNOHANG), 0);
	kill(-other, SIGKILL);
	expect_reaped(other, SIGKILL);
}
END_TEST

static const char *proc(pid_t pid, const char *file)
{
	static char text[4096];
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

START_TEST(a_suspended_guard_can_be_stopped)
{
	struct rundir *rundir;
	struct guard *guard;
	ck_assert_int_eq(rundir_new(false, &rundir), RC_OK);
	ck_assert_int_eq(start_guard(rundir_path(rundir), NULL, &guard), RC_OK);
	pid_t pid = guard_pid(guard);
	kill(pid, SIGSTOP);
	guard_stop(guard);
	ck_assert_int_lt(kill(pid, 0), 0);
	rundir_free(rundir);
}
END_TEST

/* It holds nobody's descriptors: a reader of our output sees its end when we are gone. Not even
 * where a sandbox refuses the quick way of closing them: it would hold its own pipe, and never end.
 */
START_TEST(the_guard_holds_no_descriptor)
{
	if (_i == 1)
		sandbox_refuse(SYS_close_range);
	int ends[2];
	struct guard *guard;
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(start_guard("/nowhere", NULL, &guard), RC_OK);
	close(ends[1]);
	char byte;
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	ck_assert_str_eq(proc(guard_pid(guard), "comm"), "wpool-guard\n");
	ck_assert_int_eq(getsid(guard_pid(guard)), guard_pid(guard));
	guard_stop(guard);
	close(ends[0]);
}
END_TEST

START_TEST(thousands_of_groups_do_not_wait_for_the_guard)
{
	struct guard *guard;
	ck_assert_int_eq(start_guard("/nowhere", NULL, &guard), RC_OK);
	kill(guard_pid(guard), SIGSTOP); /* a guard that sleeps does not hold us up */
	for (pid_t group = 1000000; group < 1005000; group++)
		atomic_store(guard_place(guard, 0), group);
	for (pid_t group = 1000000; group < 1005000; group++)
		guard_remove(guard, group);
	guard_stop(guard);
}
END_TEST

/* ---------- the run directory ---------- */

START_TEST(the_run_directory_is_in_the_first_usable_folder)
{
	static const struct {
		const char *service, *runtime, *temporary, *prefix;
	} cases[] = {
		{"/tmp", "/run", NULL, "/tmp/wpool-run-"},
		{"/tmp:/run", NULL, NULL, "/tmp/wpool-run-"},
		{"/nowhere", "/tmp", NULL, "/tmp/wpool-run-"},
		{"", "/tmp", NULL, "/tmp/wpool-run-"},
		{NULL, "/tmp", NULL, "/tmp/wpool-run-"},
		{NULL, NULL, "/tmp", "/"},
		{NULL, "/nowhere", NULL, "/"},
		{NULL, "relative", NULL, "/"},
		{NULL, "/tmp/../tmp/../tmp/../tmp/../tmp/../tmp/../tmp/../tmp/../tmp/../tmp/../tmp",
			NULL, "/run/wpool-run-"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rundir *rundir;
		struct stat status;
		char path[RUNDIR_PATH_BYTES], second[RUNDIR_PATH_BYTES];
		unsetenv("RUNTIME_DIRECTORY");
		unsetenv("XDG_RUNTIME_DIR");
		unsetenv("TMPDIR");
		if (cases[i].service)
			setenv("RUNTIME_DIRECTORY", cases[i].service, 1);
		if (cases[i].runtime)
			setenv("XDG_RUNTIME_DIR", cases[i].runtime, 1);
		if (cases[i].temporary)
			setenv("TMPDIR", cases[i].temporary, 1);
		ck_assert_int_eq(rundir_new(false, &rundir), RC_OK);
		if (access("/run", W_OK) == 0)
			ck_assert_int_eq(strncmp(rundir_path(rundir), cases[i].prefix,
						 strlen(cases[i].prefix)),
				0);
		ck_assert_int_eq(stat(rundir_path(rundir), &status), 0);
		ck_assert_int_eq(status.st_mode & 07777, 0700);
		rundir_next(rundir, path);
		rundir_next(rundir, second);
		ck_assert_str_ne(path, second);
		ck_assert_int_eq(mkfifo(path, 0600), 0);
		char gone[RUNDIR_PATH_BYTES];
		strcpy(gone, rundir_path(rundir));
		rundir_free(rundir);
		ck_assert_int_lt(access(gone, F_OK), 0);
	}
}
END_TEST

START_TEST(files_outside_are_removed_with_the_run_directory)
{
	static const char name[] = RUNDIR_OUTSIDE_PREFIX "unit-test-of-wpool";
	static const char path[] =
		RUNDIR_OUTSIDE_FOLDER "/" RUNDIR_OUTSIDE_PREFIX "unit-test-of-wpool";
	struct rundir *rundir;
	ck_assert_int_eq(rundir_new(false, &rundir), RC_OK);
	ck_assert_int_eq(rundir_note_outside(rundir, name), RC_OK);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	rundir_remove(rundir_path(rundir));
	ck_assert_int_lt(access(path, F_OK), 0);
	rundir_free(rundir);
}
END_TEST

/* A supervisor and its guard were killed together, as in a container. What is in use is locked;
 * what has files is no run directory, although its name is like one. */
START_TEST(leftovers_are_removed)
{
	static const char *const names[] = {"wpool-run-AbCdEf", "wpool-run-123456",
		"wpool-run-locked", "wpool-AbCdEf", "wpool-run-longer1", "wpool-run-linked",
		"wpool-run-backup"};
	char parent[] = "/tmp/wpool-unit-XXXXXX", path[100], file[200];
	struct rundir *first, *second;
	struct stat status;
	int held = -1;
	ck_assert_ptr_nonnull(mkdtemp(parent));
	unsetenv("RUNTIME_DIRECTORY");
	setenv("XDG_RUNTIME_DIR", parent, 1);
	ck_assert_int_eq(rundir_new(false, &first), RC_OK);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", parent, names[i]);
		if (i == 5) {
			ck_assert_int_eq(symlink(rundir_path(first), path), 0);
			continue;
		}
		ck_assert_int_eq(mkdir(path, 0700), 0);
		snprintf(file, sizeof file, "%s/0", path);
		ck_assert_int_eq(mknod(file, (i == 6 ? S_IFREG : S_IFIFO) | 0600, 0), 0);
		if (i == 2) {
			held = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			ck_assert_int_eq(flock(held, LOCK_EX), 0);
		}
	}
	ck_assert_int_eq(rundir_new(false, &second), RC_OK);
	ck_assert_int_eq(stat(rundir_path(first), &status), 0);
	close(held);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", parent, names[i]);
		ck_assert_msg((lstat(path, &status) != 0) == (i < 2), "%s", names[i]);
		snprintf(file, sizeof file, "%s/0", path);
		unlink(file);
		if (i == 5)
			unlink(path);
		else
			rmdir(path);
	}
	rundir_free(first);
	rundir_free(second);
	ck_assert_int_eq(rmdir(parent), 0);
}
END_TEST

/* The killed supervisor had another environment than the next one. */
START_TEST(leftovers_in_other_folders_are_removed)
{
	char first[] = "/tmp/wpool-unit-XXXXXX", second[] = "/tmp/wpool-unit-XXXXXX", path[100];
	struct rundir *rundir;
	ck_assert_ptr_nonnull(mkdtemp(first));
	ck_assert_ptr_nonnull(mkdtemp(second));
	snprintf(path, sizeof path, "%s/wpool-run-AbCdEf", second);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	setenv("RUNTIME_DIRECTORY", first, 1);
	setenv("TMPDIR", second, 1);
	ck_assert_int_eq(rundir_new(false, &rundir), RC_OK);
	ck_assert_int_lt(access(path, F_OK), 0);
	ck_assert_int_eq(strncmp(rundir_path(rundir), first, strlen(first)), 0);
	rundir_free(rundir);
	ck_assert_int_eq(rmdir(first), 0);
	ck_assert_int_eq(rmdir(second), 0);
}
END_TEST

/* The name was given up and taken by somebody else, who would like to see his symlink followed: to
 * open a folder of ours to all, or to empty it. */
START_TEST(a_symlink_is_not_followed)
{
	char victim[] = "/tmp/wpool-unit-XXXXXX", file[64], name[RUNDIR_PATH_BYTES];
	struct rundir *rundir;
	struct stat status;
	ck_assert_ptr_nonnull(mkdtemp(victim));
	snprintf(file, sizeof file, "%s/file", victim);
	ck_assert_int_eq(mkfifo(file, 0600), 0);
	ck_assert_int_eq(rundir_new(false, &rundir), RC_OK);
	strcpy(name, rundir_path(rundir));
	ck_assert_int_eq(rmdir(name), 0);
	ck_assert_int_eq(symlink(victim, name), 0);
	rundir_share(rundir);
	ck_assert_int_eq(stat(victim, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0700);
	rundir_free(rundir);
	ck_assert_int_eq(unlink(file), 0);
	rmdir(victim);
	unlink(name);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/guard");
	UNIT_CASE(s, "guard", the_guard_kills_the_workers_of_a_killed_supervisor,
		a_group_that_got_the_number_of_a_worker_lives, a_suspended_guard_can_be_stopped,
		the_guard_ends_the_workers_of_a_lease_that_is_over,
		thousands_of_groups_do_not_wait_for_the_guard);
	UNIT_CASE(s, "rundir", the_run_directory_is_in_the_first_usable_folder,
		files_outside_are_removed_with_the_run_directory, leftovers_are_removed,
		leftovers_in_other_folders_are_removed, a_symlink_is_not_followed);
	TCase *sandboxed = tcase_create("sandboxed");
	tcase_add_loop_test(sandboxed, the_guard_holds_no_descriptor, 0, 2);
	suite_add_tcase(s, sandboxed);
	return s;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		family(atoi(argv[1]));
	return unit_run(suite());
}
