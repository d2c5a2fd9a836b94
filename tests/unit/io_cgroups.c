/* Control groups: where they are, what a dead run left of them, and, where this machine has them,
 * that nothing gets out of one. Where it has none: that it is known why. */
#include "io/cgroups.h"
#include "io/descriptors.h"
#include "io/guard.h"
#include "io/spawn.h"
#include "unit/support/io/sandbox.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define HYBRID                                                                                     \
	"40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"        \
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 master:1 - cgroup2 cgroup2 rw\n"
#define UNIFIED    "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define NAMESPACED "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
#define OLD        "40 31 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
#define BLANK      "30 23 0:26 / /a\\040b rw - cgroup2 cgroup2 rw\n"

START_TEST(test_where_it_is)
{
	static const struct {
		const char *mounts, *own, *folder; /* NULL: nowhere */
	} cases[] = {
		{UNIFIED, "0::/system.slice/wpool.service\n",
			"/sys/fs/cgroup/system.slice/wpool.service"},
		{UNIFIED, "0::/\n", "/sys/fs/cgroup"},
		{HYBRID, "4:memory:/x\n1:cpu:/\n0::/user.slice\n",
			"/sys/fs/cgroup/unified/user.slice"},
		{HYBRID, "0::/", "/sys/fs/cgroup/unified"},
		{NAMESPACED, "0::/docker/abc\n", "/sys/fs/cgroup"},
		{NAMESPACED, "0::/docker/abc/sub\n", "/sys/fs/cgroup/sub"},
		{NAMESPACED, "0::/docker/abcd\n", NULL},
		{NAMESPACED, "0::/other\n", NULL},
		{NAMESPACED UNIFIED, "0::/other\n", "/sys/fs/cgroup/other"},
		{UNIFIED, "0::/../outside\n", NULL},
		{OLD, "0::/\n", NULL},
		{UNIFIED, "1:cpu:/\n", NULL},
		{BLANK, "0::/\n", NULL},
		{"", "", NULL},
		{"\n\n - \n cgroup2", "0::/\n", NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char found[PATH_MAX] = "";
		enum rc rc = cgroups_find(cases[i].mounts, cases[i].own, found);
		ck_assert_msg((rc == RC_OK) == !!cases[i].folder, "%zu: %s", i, found);
		if (cases[i].folder)
			ck_assert_str_eq(found, cases[i].folder);
	}
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

static void make(const char *name)
{
	ck_assert_int_eq(mkdir(in_folder(name), 0755), 0);
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

/* It is no cgroup, so nothing can be started into it: known at once, and nothing stays. */
START_TEST(test_what_is_no_cgroup)
{
	struct cgroups *cgroups;
	ck_assert_int_eq(cgroups_new(folder, "/run/wpool-x", &cgroups), RC_SYSTEM);
	ck_assert_int_ne(errno, 0);
	ck_assert(!is_there("wpool-x"));
	ck_assert_int_eq(cgroups_new(in_folder("none"), "/run/wpool-x", &cgroups), RC_SYSTEM);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* The locked one lives, whoever made it; the others' wpool is dead. */
START_TEST(test_what_dead_runs_left)
{
	struct cgroups *cgroups;
	make("wpool-deadXX");
	make("wpool-deadXX/7");
	make("wpool-deadXX/7/nested");
	make("wpool-liveXX");
	make("somebody");
	make("wpool-x.service"); /* it may be anybody's */
	int lock = open(in_folder("wpool-liveXX"), O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
	ck_assert_int_eq(cgroups_new(folder, "wpool-new", &cgroups), RC_SYSTEM);
	ck_assert(!is_there("wpool-deadXX"));
	ck_assert(is_there("wpool-liveXX"));
	ck_assert(is_there("somebody"));
	ck_assert(is_there("wpool-x.service"));
	close(lock);
	ck_assert_int_eq(rmdir(in_folder("wpool-liveXX")), 0);
	ck_assert_int_eq(rmdir(in_folder("somebody")), 0);
	ck_assert_int_eq(rmdir(in_folder("wpool-x.service")), 0);
}
END_TEST

/* As before Linux 5.14: there is no file that kills, only the list of who is in it. */
START_TEST(test_kill_by_the_list)
{
	make("wpool-x");
	make("wpool-x/1");
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	FILE *list = fopen(in_folder("wpool-x/1/cgroup.procs"), "w");
	fprintf(list, "0\n%d\n", (int)pid); /* 0: of another namespace of processes */
	ck_assert_int_eq(fclose(list), 0);
	ck_assert(!cgroups_remove(in_folder("wpool-x"))); /* here the list stays */
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(unlink(in_folder("wpool-x/1/cgroup.procs")), 0);
	ck_assert(cgroups_remove(in_folder("wpool-x")));
	ck_assert(!is_there("wpool-x"));
	ck_assert(cgroups_remove(in_folder("wpool-x"))); /* what is not there is removed */
}
END_TEST

/* ---------- the kernel's ---------- */

/* False, and the reason is one that there may be: this machine has none for us. */
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
			      errno == EINVAL || errno == EOPNOTSUPP,
		"%s: %s", own, strerror(errno));
	return false;
}

static void await(int fd)
{
	struct pollfd poller = {fd, POLLIN, 0};
	ck_assert_int_eq(poll(&poller, 1, 20000), 1);
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
	await(child.output);
	ck_assert_int_eq(read(child.output, &byte, 1), 1);
	return child;
}

static void end_worker(struct spawned *child)
{
	ck_assert_int_eq(kill(child->pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child->pid, NULL, 0), child->pid);
}

/* Nobody holds it any more. */
static void expect_end(int fd)
{
	char bytes[16];
	ssize_t n;
	do {
		await(fd);
		n = read(fd, bytes, sizeof bytes);
	} while (n > 0);
	ck_assert_int_eq(n, 0);
}

static void close_child(struct spawned *child)
{
	descriptor_close(&child->control);
	descriptor_close(&child->output);
	descriptor_close(&child->error);
	descriptor_close(&child->start);
}

static char *path_of_life(const struct cgroups *cgroups, int life)
{
	static char path[PATH_MAX + 32];
	snprintf(path, sizeof path, "%s/%d", cgroups_path(cgroups), life);
	return path;
}

/* Also where a sandbox lets nobody fork into one. */
START_TEST(test_nothing_gets_out)
{
	struct cgroups *cgroups;
	if (_i == 1)
		sandbox_refuse(SYS_clone3);
	if (!open_real(&cgroups))
		return;
	int other_group = cgroups_begin(cgroups, 2), group = cgroups_begin(cgroups, 1);
	ck_assert(group >= 0 && other_group >= 0);
	struct spawned child = start_with_daemon(group), other = start_with_daemon(other_group);
	close(group);
	close(other_group);
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
	close_child(&child);
	close_child(&other);
	struct cgroups *next; /* which also removes what was still dying */
	ck_assert(open_real(&next));
	cgroups_free(next);
}
END_TEST

/* One that ended with all it had is gone at once, and one that never began is no trouble. */
START_TEST(test_an_empty_one_goes_at_once)
{
	struct cgroups *cgroups;
	if (!open_real(&cgroups))
		return;
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s", cgroups_path(cgroups));
	close(cgroups_begin(cgroups, 1));
	cgroups_end(cgroups, 1);
	ck_assert_int_lt(access(path_of_life(cgroups, 1), F_OK), 0);
	cgroups_end(cgroups, 99);
	cgroups_free(cgroups);
	ck_assert_int_lt(access(path, F_OK), 0);
}
END_TEST

/* A supervisor that is killed: its guard ends the groups. What it may not find by mark or group of
 * processes, it finds there. */
START_TEST(test_guard_ends_them)
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
		if (guard_start("/nowhere/wpool-unit", path, &guard) != RC_OK)
			_exit(1);
		int group = cgroups_begin(cgroups, 1);
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
	Suite *s = suite_create("io_cgroups");
	UNIT_CASE(s, "kernel", test_where_it_is, test_an_empty_one_goes_at_once,
		test_guard_ends_them);
	TCase *kernel = tcase_create("kernel, sandboxed");
	tcase_add_loop_test(kernel, test_nothing_gets_out, 0, 2);
	suite_add_tcase(s, kernel);
	TCase *pretended = tcase_create("pretended");
	tcase_add_checked_fixture(pretended, set_up, tear_down);
	tcase_add_test(pretended, test_what_is_no_cgroup);
	tcase_add_test(pretended, test_what_dead_runs_left);
	tcase_add_test(pretended, test_kill_by_the_list);
	suite_add_tcase(s, pretended);
	return s;
}

UNIT_MAIN(suite)
