/* Nothing that a worker started outlives it: daemons that leave their worker in every way, with and
 * without control groups, as wpool's user and as another, when their worker is replaced, wpool
 * stops, and wpool is killed. Another local user cannot turn that against a process of their
 * choice. What this machine cannot show is reported as not run. */
#include "system/system.h"

#include "harness/deadline.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_MS 20000
#define OTHER    "4000000200" /* a user of nobody */
#define WAYS     5

static bool is_root(void)
{
	return geteuid() == 0;
}

/* ---------- what starts and leaves ---------- */

/* A shell that leaves its worker in every way, then becomes the worker: a child in a session of its
 * own, an orphan; both without the mark; one that moves to wpool's own control group. */
static const char leaver[] =
	"#!/bin/sh\n"
	"here=$(sed -n s/^0:://p /proc/self/cgroup)\n"
	"stay='echo stayed:$$ >&2; exec sleep 1000 >/dev/null 2>&1 </dev/null'\n"
	"move='for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do\n"
	"  echo 0 >\"$root${0%/*/*}/cgroup.procs\"; done 2>/dev/null'\n"
	"setsid sh -c \"$stay\" &\n"
	"(setsid sh -c \"$stay\" &)\n"
	"env -i PATH=\"$PATH\" setsid sh -c \"$stay\" &\n"
	"(env -i PATH=\"$PATH\" setsid sh -c \"$stay\" &)\n"
	"(env -i PATH=\"$PATH\" setsid sh -c \"$move\n$stay\" \"$here\" &)\n"
	"exec \"$1\"\n";

static char *pool_of(const char *settings)
{
	char *script = scratch_path(fixture.folder, "leaver");
	scratch_write(script, leaver);
	ck_assert_int_eq(chmod(script, 0755), 0);
	scratch_write(fixture.witness, "");
	ck_assert_int_eq(chmod(fixture.witness, 0666), 0);
	char *pool = scratch_text(
		"- {name: tested, queue: %s, command: [\"%s\", \"%s\"], workers: 1%s}\n",
		fixture.queue, script, fixture_public_copy("workers/echo"), settings);
	free(script);
	return pool;
}

/* The processes that stayed so far. */
static size_t stayed(struct proc *serve, pid_t pids[], size_t max)
{
	static const char word[] = "stayed:";
	char *lines = proc_stderr(serve);
	size_t count = 0;
	for (const char *at = lines; (at = strstr(at, word)) && count < max;) {
		at += strlen(word);
		pids[count] = atoi(at);
		ck_assert_int_gt(pids[count], 1);
		count++;
	}
	free(lines);
	return count;
}

static void await_stayed(struct proc *serve, size_t count)
{
	int64_t deadline = deadline_in(LIMIT_MS);
	pid_t pids[4 * WAYS];
	while (stayed(serve, pids, 4 * WAYS) < count)
		fixture_poll(deadline, 5, "all daemons are there");
}

/* ---------- the guard ---------- */

static char *proc_file(pid_t pid, const char *name)
{
	char *path = scratch_text("/proc/%d/%s", (int)pid, name);
	char *text = scratch_read(path, NULL);
	free(path);
	return text;
}

static pid_t find_guard(pid_t supervisor)
{
	char *name = scratch_text("task/%d/children", (int)supervisor);
	char *children = proc_file(supervisor, name);
	pid_t guard = 0;
	for (char *pid = strtok(children, " "); pid && !guard; pid = strtok(NULL, " ")) {
		char *comm = proc_file(atoi(pid), "comm");
		if (comm && strcmp(comm, "wpool-guard\n") == 0)
			guard = atoi(pid);
		free(comm);
	}
	free(children);
	free(name);
	ck_assert_int_gt(guard, 1);
	return guard;
}

static long waits_of(pid_t pid)
{
	static const char word[] = "\nvoluntary_ctxt_switches:";
	char *status = proc_file(pid, "status");
	ck_assert_ptr_nonnull(status);
	const char *at = strstr(status, word);
	ck_assert_ptr_nonnull(at);
	long waits = atol(at + strlen(word));
	free(status);
	return waits;
}

/* The guard waits between two looks: after two more waits it has looked once since. */
static void await_look(pid_t supervisor)
{
	pid_t guard = find_guard(supervisor);
	long before = waits_of(guard);
	int64_t deadline = deadline_in(LIMIT_MS);
	while (waits_of(guard) < before + 2)
		fixture_poll(deadline, 20, "the guard has looked");
}

/* ---------- daemons ---------- */

enum end { REPLACED, STOPPED, KILLED, ENDS };

static const char *const end_names[] = {"replaced", "stopped", "killed"};

/* In a mount namespace without control groups. */
static const char *const without_groups[] = {"unshare", "-m", "sh", "-c",
	"mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"", "sh", NULL};

/* A container may refuse it to its root. */
static bool can_hide_groups(void)
{
	const char *const try[] = {
		"unshare", "-m", "mount", "-t", "tmpfs", "none", "/sys/fs/cgroup", NULL};
	if (!is_root())
		return false;
	struct proc *proc = proc_start(fixture.folder, try, NULL);
	bool can = proc_wait(proc) == 0;
	proc_free(proc);
	return can;
}

static bool has_groups(struct proc *serve)
{
	return !proc_has_logged(serve, "workers have no control groups: ");
}

static void expect_gone(const pid_t pids[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		proc_expect_gone(pids[i]);
}

/* True: workers had control groups. */
static bool end_daemons(struct proc *serve, enum end end)
{
	pid_t worker = fixture_worker_pid(), pids[2 * WAYS];
	await_stayed(serve, WAYS);
	ck_assert_uint_eq(stayed(serve, pids, WAYS), WAYS);
	bool had_groups = has_groups(serve);
	if (end == REPLACED) {
		kill(worker, SIGKILL);
		expect_gone(pids, WAYS);
		await_stayed(serve, 2 * WAYS); /* those of the next worker */
		ck_assert_uint_eq(stayed(serve, pids, 2 * WAYS), 2 * WAYS);
		fixture_stop(serve);
		expect_gone(pids + WAYS, WAYS);
	} else if (end == STOPPED) {
		fixture_stop(serve);
		expect_gone(pids, WAYS);
	} else {
		await_look(proc_pid(serve));
		proc_signal(serve, SIGKILL);
		proc_expect_gone(worker);
		expect_gone(pids, WAYS);
	}
	return had_groups;
}

/* _i: the end, with control groups or without, as another user or as wpool's. */
START_TEST(daemons_end)
{
	enum end end = _i % ENDS;
	bool is_bare = _i / ENDS % 2, is_other = _i / ENDS / 2;
	char *what = scratch_text("daemons_end(%s, %s groups, %s user)", end_names[end],
		is_bare ? "without" : "with", is_other ? "other" : "same");
	if ((is_bare && !can_hide_groups()) || (is_other && !is_root())) {
		fixture_not_run(what, "only root can arrange it, with CAP_SYS_ADMIN");
		free(what);
		return;
	}
	char *pool = pool_of(is_other ? ", user: nobody" : "");
	struct proc *serve = fixture_serve_under(
		is_bare ? without_groups : (const char *const[]){"env", NULL}, pool);
	bool had_groups = end_daemons(serve, end);
	ck_assert(!(is_bare && had_groups));
	if (!is_bare && !had_groups)
		fixture_not_run(what, "no control groups here; it ran without");
	free(pool);
	free(what);
}
END_TEST

/* A shell that becomes wpool by exec may have children: they are not wpool's. */
START_TEST(children_from_before_stay)
{
	char *pool = pool_of("");
	struct proc *serve = fixture_serve_under((const char *const[]){"sh", "-c",
							 "sleep 1000 & echo before:$! >&2; "
							 "exec \"$@\"",
							 "sh", NULL},
		pool);
	pid_t pids[WAYS];
	fixture_worker_pid();
	await_stayed(serve, WAYS);
	stayed(serve, pids, WAYS);
	char *lines = proc_stderr(serve);
	pid_t before = atoi(strstr(lines, "before:") + strlen("before:"));
	free(lines);
	fixture_stop(serve);
	expect_gone(pids, WAYS);
	ck_assert_int_eq(kill(before, 0), 0);
	kill(before, SIGKILL);
	free(pool);
}
END_TEST

/* Its last processes may be dying. */
static void remove_group(const char *group)
{
	char *paths[] = {scratch_text("/sys/fs/cgroup/%s", group),
		scratch_text("/sys/fs/cgroup/unified/%s", group)};
	int64_t deadline = deadline_in(LIMIT_MS);
	for (size_t i = 0; i < 2; i++) {
		while (rmdir(paths[i]) < 0 && errno == EBUSY)
			fixture_poll(deadline, 5, "the control group is empty");
		free(paths[i]);
	}
}

/* What a wpool that is not root finds: a control group of its own, as in the unit, which its
 * workers may leave; none; none, and a /proc in which nobody sees what they may not trace, as with
 * ProtectProc=invisible: the guard does not see the supervisor there. */
enum machine { OWN_GROUP, BARE, HIDDEN, MACHINES };

#define NOT_ROOT "exec setpriv --reuid 65534 --regid 65534 --clear-groups $program \"$@\""

static struct proc *serve_not_as_root(enum machine machine, const char *group, const char *pool)
{
	static const char *const mounts[] = {[BARE] = "mount -t tmpfs none /sys/fs/cgroup",
		[HIDDEN] = "mount -t tmpfs none /sys/fs/cgroup && "
			   "mount -t proc -o hidepid=2 none /proc"};
	char *script =
		machine == OWN_GROUP
			? scratch_text("for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do\n"
				       "[ -e $root/cgroup.kill ] || [ -e $root/cgroup.stat ] || "
				       "continue\n"
				       "mkdir $root/%s && chown -R nobody $root/%s &&\n"
				       "echo $$ >$root/%s/cgroup.procs\ndone\n"
				       "program=$1; shift 2\n" NOT_ROOT,
				  group, group, group)
			: scratch_text("%s && program=$1 && shift 2 && " NOT_ROOT, mounts[machine]);
	const char *program = fixture_public_copy("wpool");
	const char *const own[] = {"sh", "-c", script, "sh", program, NULL};
	const char *const apart[] = {"unshare", "-m", "sh", "-c", script, "sh", program, NULL};
	struct proc *serve = fixture_serve_under(machine == OWN_GROUP ? own : apart, pool);
	free(script);
	return serve;
}

/* _i: the end, and the machine. */
START_TEST(daemons_end_with_a_wpool_that_is_not_root)
{
	static const char *const machines[] = {"own group", "no groups", "hidden processes"};
	enum end end = _i % ENDS;
	enum machine machine = _i / ENDS;
	char *what = scratch_text("daemons_end_with_a_wpool_that_is_not_root(%s, %s)",
		end_names[end], machines[machine]);
	if (!is_root() || (machine != OWN_GROUP && !can_hide_groups())) {
		fixture_not_run(what, "only root can arrange it, with CAP_SYS_ADMIN");
		free(what);
		return;
	}
	char *pool = pool_of("");
	char *group = scratch_text("wpool-test-%d", (int)getpid());
	struct proc *serve = serve_not_as_root(machine, group, pool);
	bool had_groups = end_daemons(serve, end);
	ck_assert(machine == OWN_GROUP || !had_groups);
	if (machine == OWN_GROUP && !had_groups)
		fixture_not_run(what, "no control groups here; it ran without");
	remove_group(group);
	free(group);
	free(pool);
	free(what);
}
END_TEST

/* ---------- another local user ---------- */

/* The value of a worker's mark: "run/life". */
static char *mark_of(pid_t worker)
{
	char *path = scratch_text("/proc/%d/environ", (int)worker), *mark = NULL;
	size_t size;
	char *bytes = scratch_read(path, &size);
	for (char *at = bytes; at && at < bytes + size && !mark; at += strlen(at) + 1)
		if (strncmp(at, "WPOOL_WORKER=", 13) == 0)
			mark = scratch_text("%s", at);
	ck_assert_ptr_nonnull(mark);
	free(bytes);
	free(path);
	return mark;
}

/* Even one who knew the mark; and nobody can guess it from the names in /run. */
START_TEST(marks_of_other_users_kill_nothing)
{
	if (!is_root()) {
		fixture_not_run("marks_of_other_users_kill_nothing", "only root has other users");
		return;
	}
	char *pool = pool_of(", user: nobody");
	struct proc *serve = fixture_serve_under((const char *const[]){"env", NULL}, pool);
	char *mark = mark_of(fixture_worker_pid());
	const char *value = strchr(mark, '=') + 1;
	ck_assert_uint_eq(strspn(value, "0123456789abcdef"), 32);
	ck_assert_int_eq(value[32], '/');
	struct proc *other = proc_start(fixture.folder,
		(const char *const[]){"setpriv", "--reuid", OTHER, "--regid", OTHER,
			"--clear-groups", "env", mark, "sh", "-c",
			"echo there >&2; exec sleep 1000", NULL},
		NULL);
	proc_expect(other, "there");
	fixture_stop(serve);
	ck_assert(proc_is_alive(other));
	proc_free(other);
	free(mark);
	free(pool);
}
END_TEST

/* The folder of a run's groups: nobody else may enter it. */
START_TEST(groups_are_closed_to_other_users)
{
	char *pool = pool_of("");
	struct proc *serve = fixture_serve_under((const char *const[]){"env", NULL}, pool);
	pid_t worker = fixture_worker_pid();
	if (!has_groups(serve)) {
		fixture_not_run("groups_are_closed_to_other_users", "no control groups here");
		free(pool);
		return;
	}
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char *list = proc_file(worker, "cgroup"), *group = strstr(list, "0::");
	struct stat status;
	bool is_found = false;
	ck_assert_ptr_nonnull(group);
	group[strcspn(group, "\n")] = '\0';
	*strrchr(group, '/') = '\0';
	for (size_t i = 0; i < 2 && !is_found; i++) {
		char *path = scratch_text("%s%s", mounts[i], group + strlen("0::"));
		is_found = stat(path, &status) == 0;
		free(path);
	}
	ck_assert_msg(is_found, "%s", group);
	ck_assert_int_eq(status.st_mode & 0777, 0700);
	fixture_stop(serve);
	free(list);
	free(pool);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("outlive", {daemons_end, 4 * ENDS},
		{daemons_end_with_a_wpool_that_is_not_root, MACHINES * ENDS},
		{children_from_before_stay, 1}, {marks_of_other_users_kill_nothing, 1},
		{groups_are_closed_to_other_users, 1});
}
