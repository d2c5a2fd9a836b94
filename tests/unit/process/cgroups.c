/* Control groups: where they are, and that everything in a group ends with it. Where this machine
 * has none: that the reason is known. */
#include "process/cgroups.h"
#include "process/fork_into.h"
#include "process/guard.h"
#include "process/spawn.h"
#include "unit/support/os/sandbox.h"
#include "unit/support/process/spawned.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct cgroup_limits no_limits;

/* Its folder lists this process. */
START_TEST(the_own_group_is_found)
{
	char own[PATH_MAX], path[PATH_MAX + 16], line[32];
	bool is_listed = false;
	if (cgroups_find_own(own) != RC_OK)
		return;
	snprintf(path, sizeof path, "%s/cgroup.procs", own);
	FILE *list = fopen(path, "re");
	ck_assert_msg(list, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof line, list))
		is_listed |= atoi(line) == (int)getpid();
	fclose(list);
	ck_assert(is_listed);
}
END_TEST

/* ---------- a folder in the place of the kernel's ---------- */

static char folder[] = "/tmp/wpool-unit-XXXXXX";

static const char *in_folder(const char *name)
{
	static char paths[4][PATH_MAX];
	static int at;
	at = (at + 1) % 4;
	snprintf(paths[at], PATH_MAX, "%s/%s", folder, name);
	return paths[at];
}

static bool is_there(const char *name)
{
	return access(in_folder(name), F_OK) == 0;
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down(void)
{
	ck_assert_int_eq(rmdir(folder), 0);
}

/* Nothing can be started into it; nothing is left there. */
START_TEST(a_folder_that_is_no_group_is_refused)
{
	struct cgroups *cgroups;
	ck_assert_int_eq(cgroups_new(folder, "/run/wpool-x", &cgroups), RC_SYSTEM);
	ck_assert_int_ne(errno, 0);
	ck_assert(!is_there("wpool-x-workers"));
	ck_assert_int_eq(cgroups_new(in_folder("none"), "/run/wpool-x", &cgroups), RC_SYSTEM);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* ---------- the kernel's ---------- */

/* False: this machine has no groups for us; the reason is a known one. */
static bool open_real(struct cgroups **ret)
{
	static int runs;
	char own[PATH_MAX], run[64];
	/* Of this process alone: other tests may be running. */
	snprintf(run, sizeof run, "/run/wpool-%06d", ((int)getpid() * 10 + runs++) % 1000000);
	if (cgroups_find_own(own) != RC_OK)
		return false;
	if (cgroups_new(own, run, ret) == RC_OK)
		return true;
	ck_assert_msg(errno == EROFS || errno == EACCES || errno == EPERM || errno == ENOSYS ||
			      errno == EINVAL || errno == EOPNOTSUPP || errno == ENOENT,
		"%s: %s", own, strerror(errno));
	return false;
}

/* A worker, and a daemon of its own without mark, session or parent in common with it; both hold
 * its output. Returns when both are there. */
static struct spawned start_with_daemon(int group)
{
	char *command[] = {(char *)"sh", (char *)"-c",
		(char *)"(env -i setsid sh -c 'echo d; exec sleep 1000' &) ; exec cat", NULL};
	struct spawned child;
	struct exit_info failure;
	char byte;
	ck_assert_int_eq(spawn_process(&(struct spawn_request){.command = command,
					       .environment = environ,
					       .cgroup = group},
				 &child, &failure),
		RC_OK);
	spawned_await(child.output);
	ck_assert_int_eq(read(child.output, &byte, 1), 1);
	return child;
}

static void end_worker(struct spawned *child)
{
	ck_assert_int_eq(kill(child->pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child->pid, NULL, 0), child->pid);
}

/* Its last writer has gone. */
static void expect_end(int fd)
{
	char bytes[16];
	ssize_t n;
	do {
		spawned_await(fd);
		n = read(fd, bytes, sizeof bytes);
	} while (n > 0);
	ck_assert_int_eq(n, 0);
}

static char *path_of_life(const struct cgroups *cgroups, int life)
{
	static char path[PATH_MAX + 32];
	snprintf(path, sizeof path, "%s/%d", cgroups_path(cgroups), life);
	return path;
}

/* Also where a sandbox refuses clone3. */
START_TEST(daemons_end_with_their_group)
{
	struct cgroups *cgroups;
	struct stat status;
	char path[PATH_MAX];
	if (_i == 1)
		sandbox_refuse(SYS_clone3);
	if (!open_real(&cgroups))
		return;
	snprintf(path, sizeof path, "%s", cgroups_path(cgroups));
	int other_group = cgroups_begin(cgroups, 2, &no_limits),
	    group = cgroups_begin(cgroups, 1, &no_limits);
	ck_assert(group >= 0 && other_group >= 0);
	struct spawned child = start_with_daemon(group), other = start_with_daemon(other_group);
	close(group);
	close(other_group);
	ck_assert(cgroups_holds(cgroups, child.pid) && !cgroups_holds(cgroups, getpid()));
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0700); /* for us alone */
	end_worker(&child);
	cgroups_end(cgroups, 1);
	expect_end(child.output);
	ck_assert_int_eq(kill(other.pid, 0), 0); /* that one's life goes on */
	while (access(path_of_life(cgroups, 1), F_OK) == 0)
		cgroups_sweep(cgroups);
	ck_assert_int_eq(access(path_of_life(cgroups, 2), F_OK), 0);
	cgroups_free(cgroups); /* ends the rest */
	ck_assert_int_eq(waitpid(other.pid, NULL, 0), other.pid);
	expect_end(other.output);
	spawned_close(&child);
	spawned_close(&other);
	while (!cgroups_remove(path)) /* what was still dying */
		poll(NULL, 0, 1);
}
END_TEST

/* As a worker that a preloaded process has forked: it leaves that one's group, which lives on. */
START_TEST(a_process_can_be_moved)
{
	struct cgroups *cgroups;
	if (!open_real(&cgroups))
		return;
	int group = cgroups_begin(cgroups, 1, &no_limits);
	pid_t pid = fork(), other = fork();
	if (pid == 0 || other == 0)
		poll(NULL, 0, -1);
	ck_assert(fork_move_into(group, pid));
	close(group);
	ck_assert(cgroups_holds(cgroups, pid) && !cgroups_holds(cgroups, other));
	cgroups_end(cgroups, 1);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(kill(other, SIGKILL), 0);
	ck_assert_int_eq(waitpid(other, NULL, 0), other);
	group = cgroups_begin(cgroups, 2, &no_limits);
	ck_assert(!fork_move_into(group, pid));
	ck_assert_int_eq(errno, ESRCH);
	close(group);
	cgroups_free(cgroups);
}
END_TEST

/* Ending a life that never began does nothing. */
START_TEST(an_empty_group_is_removed_at_once)
{
	struct cgroups *cgroups;
	if (!open_real(&cgroups))
		return;
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s", cgroups_path(cgroups));
	close(cgroups_begin(cgroups, 1, &no_limits));
	cgroups_end(cgroups, 1);
	ck_assert_int_lt(access(path_of_life(cgroups, 1), F_OK), 0);
	cgroups_end(cgroups, 99);
	cgroups_free(cgroups);
	ck_assert_int_lt(access(path, F_OK), 0);
}
END_TEST

/* When the supervisor is killed. The daemon has no mark, and is in no process group of the list. */
START_TEST(the_guard_ends_the_groups)
{
	struct cgroups *cgroups;
	int ends[2];
	char path[PATH_MAX];
	if (!open_real(&cgroups))
		return;
	snprintf(path, sizeof path, "%s", cgroups_path(cgroups));
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct guard *guard;
		if (guard_start(&(struct guard_run){.directory = "/nowhere/wpool-unit",
					.mark = "unit-test-of-groups",
					.cgroup = path},
			    &guard) != RC_OK)
			_exit(1);
		int group = cgroups_begin(cgroups, 1, &no_limits);
		struct spawned child = start_with_daemon(group);
		ssize_t n = write(ends[1], &child.pid, sizeof child.pid);
		raise(n == sizeof child.pid ? SIGKILL : SIGTERM);
	}
	close(ends[1]);
	pid_t worker;
	int status;
	ck_assert_int_eq(read(ends[0], &worker, sizeof worker), sizeof worker);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
	while (access(path, F_OK) == 0) /* check's own limit ends this */
		poll(NULL, 0, 5);
	close(ends[0]);
	cgroups_free(cgroups);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process/cgroups");
	UNIT_CASE(s, "kernel", the_own_group_is_found, a_process_can_be_moved,
		an_empty_group_is_removed_at_once, the_guard_ends_the_groups);
	TCase *kernel = tcase_create("kernel, sandboxed");
	tcase_add_loop_test(kernel, daemons_end_with_their_group, 0, 2);
	suite_add_tcase(s, kernel);
	TCase *pretended = tcase_create("pretended");
	tcase_add_checked_fixture(pretended, set_up, tear_down);
	tcase_add_test(pretended, a_folder_that_is_no_group_is_refused);
	suite_add_tcase(s, pretended);
	return s;
}

UNIT_MAIN(suite)
