/* Pools with a preloaded process, which loads once and forks the workers, in Python with the SDK
 * (tests/workers/preloaded.py) and in C by the protocol alone (preload_raw.c): what workers have
 * and share, how they and the process are replaced, what is left, and what is refused. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LANGUAGES = 2 };

static const char *program(int language, const char *mode)
{
	return language == 0 ? scratch_text("\"%s\", %s",
				       fixture_public_copy("workers/preload_raw"), mode)
			     : "/usr/bin/python3, tests/workers/preloaded.py";
}

static char *pool_of(int language, const char *mode, const char *settings)
{
	return scratch_text("- {name: tested, queue: %s, preload: [%s], %s}\n", fixture.queue,
		program(language, mode), settings);
}

static struct proc *begin(const char *pools)
{
	struct proc *proc = fixture_serve_pools(pools);
	proc_expect(proc, "control socket: ");
	return proc;
}

/* Of preload_raw.c in this mode, with so many workers, which are ready when this returns. */
static struct proc *begin_ready(const char *mode, int workers)
{
	struct proc *proc = begin(pool_of(0, mode, scratch_text("workers: %d", workers)));
	control_await_figure("workers", "ready", workers);
	return proc;
}

static struct proc *serve(int language, const char *settings)
{
	struct proc *proc = begin(pool_of(language, "good", settings));
	control_await("/readyz", 200);
	return proc;
}

/* The reply of a worker: see preloaded.py. */
struct facts {
	int pid, slot, workers, loader, loaded;
	char pool[32], mark[64], preload[8];
};

static struct facts facts_of_next(void)
{
	struct facts facts;
	struct message *reply =
		client_call(fixture.client, fixture.queue, &(struct letter){.body = "tell"});
	ck_assert_msg(
		sscanf(reply->body,
			"pid %d pool %31s slot %d of %d mark %63s preload %7s loaded %d by %d",
			&facts.pid, facts.pool, &facts.slot, &facts.workers, facts.mark,
			facts.preload, &facts.loaded, &facts.loader) == 8,
		"%s", reply->body);
	message_free(reply);
	return facts;
}

static void post(const char *body)
{
	client_post(fixture.client, fixture.queue, &(struct letter){.body = body});
}

static char *of_process(pid_t pid, const char *file)
{
	char *text = scratch_read(scratch_text("/proc/%d/%s", (int)pid, file), NULL);
	ck_assert_msg(text != NULL, "/proc/%d/%s", (int)pid, file);
	return text;
}

static void expect_in(pid_t pid, const char *file, const char *text)
{
	ck_assert_msg(strstr(of_process(pid, file), text) != NULL, "'%s' is not in %s:\n%s", text,
		file, of_process(pid, file));
}

static pid_t parent_of(pid_t pid)
{
	const char *line = strstr(of_process(pid, "status"), "\nPPid:");
	return line ? atoi(line + sizeof "\nPPid:" - 1) : 0;
}

/* ---------- what workers are ---------- */

START_TEST(workers_are_forked_by_one_process)
{
	struct proc *proc = serve(_i, "workers: 2, pipeline: 1");
	struct facts facts = facts_of_next();
	ck_assert_str_eq(facts.pool, "tested");
	ck_assert_int_lt(facts.slot, 2);
	ck_assert_int_eq(facts.workers, 2);
	ck_assert_str_eq(facts.preload, "unset");
	ck_assert_int_ne(facts.loader, facts.pid);
	ck_assert_int_eq(parent_of(facts.loader), proc_pid(proc));
	ck_assert_int_eq(parent_of(facts.pid), proc_pid(proc));
	ck_assert_int_eq(getsid(facts.pid), facts.pid);
	/* The other worker is of the same process, and has a mark of its own. */
	ck_assert_int_eq(kill(facts.pid, SIGSTOP), 0);
	post("tell");
	struct facts other = facts_of_next();
	ck_assert_int_eq(kill(facts.pid, SIGCONT), 0);
	ck_assert_int_eq(other.loader, facts.loader);
	ck_assert_int_ne(other.slot, facts.slot);
	ck_assert_str_ne(other.mark, facts.mark);
	ck_assert_int_eq(proc_count_logged(proc, "the preloaded process was started"), 1);
	fixture_stop(proc);
	proc_expect_gone(facts.loader);
}
END_TEST

static const char *const forms[] = {"path", "fifo", "corefx"};

START_TEST(each_form_of_pipe_works)
{
	int language = _i / 3;
	/* The C# client's form has no typed task; its workers are not those of Python. */
	if (language == 1 && _i % 3 == 2)
		return;
	struct proc *proc = serve(language, scratch_text("workers: 1, pipe: %s", forms[_i % 3]));
	for (int i = 0; i < 20; i++)
		ck_assert_int_gt(facts_of_next().pid, 0);
	fixture_stop(proc);
}
END_TEST

/* What user, rlimits, nice, umask and cwd ask for holds for the process, and so for its workers. */
START_TEST(workers_have_the_configured_rights)
{
	bool is_root = geteuid() == 0;
	struct proc *proc = serve(
		0, scratch_text(
			   "workers: 1, cwd: /usr, umask: 027, nice: 2, rlimits: {nofile: '99:100'}"
			   "%s",
			   is_root ? ", user: nobody" : ""));
	struct facts facts = facts_of_next();
	pid_t both[] = {facts.pid, facts.loader};
	for (int i = 0; i < 2; i++) {
		char folder[64];
		ssize_t len = readlink(
			scratch_text("/proc/%d/cwd", (int)both[i]), folder, sizeof folder - 1);
		ck_assert(len == 4 && memcmp(folder, "/usr", 4) == 0);
		expect_in(both[i], "status", "\nUmask:\t0027\n");
		expect_in(both[i], "status", "\nNoNewPrivs:\t1\n");
		expect_in(both[i], "limits", "Max open files            99                   100 ");
		if (is_root) {
			expect_in(both[i], "status", "\nUid:\t65534\t65534\t65534\t65534\n");
			expect_in(both[i], "status", "\nGroups:\t65534 \n");
			expect_in(both[i], "status", "\nCapEff:\t0000000000000000\n");
		}
	}
	fixture_stop(proc);
}
END_TEST

/* Where there are control groups; the memory that is shared stays with the process that loaded it.
 */
START_TEST(each_worker_has_a_control_group_of_its_own)
{
	struct proc *proc = serve(_i, "workers: 1");
	struct facts facts = facts_of_next();
	if (proc_has_logged(proc, "workers have no control groups")) {
		fixture_not_run("control_groups_of_forked_workers", "no control groups here");
	} else {
		ck_assert_str_ne(
			of_process(facts.pid, "cgroup"), of_process(facts.loader, "cgroup"));
		ck_assert_str_ne(
			of_process(facts.pid, "cgroup"), of_process(proc_pid(proc), "cgroup"));
	}
	fixture_stop(proc);
}
END_TEST

/* ---------- replacement ---------- */

/* A crash costs a fork: the process is the same one. */
START_TEST(a_crashed_worker_is_forked_again)
{
	struct proc *proc = serve(_i, "workers: 1, retry: {attempts: 1}");
	struct facts before = facts_of_next();
	post("crash");
	message_free(client_take(fixture.client, fixture.dead));
	struct facts after = facts_of_next();
	ck_assert_int_ne(after.pid, before.pid);
	ck_assert_int_eq(after.loader, before.loader);
	ck_assert_int_eq(proc_count_logged(proc, "the preloaded process was started"), 1);
	fixture_stop(proc);
}
END_TEST

START_TEST(a_killed_process_is_started_again)
{
	struct proc *proc = serve(_i, "workers: 1");
	struct facts before = facts_of_next();
	ck_assert_int_eq(kill(before.loader, SIGKILL), 0);
	proc_expect(proc, "the preloaded process ended with signal 9: it is started again");
	ck_assert_int_eq(facts_of_next().pid, before.pid); /* its workers live on */
	ck_assert_int_eq(kill(before.pid, SIGKILL), 0);
	struct facts after = facts_of_next();
	ck_assert_int_ne(after.loader, before.loader);
	fixture_stop(proc);
}
END_TEST

static void wpool(const char *verb)
{
	struct proc *command = fixture_wpool(
		(const char *const[]){verb, "--socket", control_socket(), "tested", NULL});
	ck_assert_int_eq(proc_wait(command), 0);
}

/* In the API, and as a line of its own. */
static void expect_preloaded(size_t i, const char *state, pid_t pid)
{
	const json_t *process = control_member(control_get_json("/v1/workers"), "preloaded", i);
	ck_assert_str_eq(control_text(process, "state"), state);
	ck_assert_int_eq(control_number(process, "process", "pid"), pid);
	ck_assert_int_gt(control_number(process, "process", "memory_bytes"), 0);
	control_expect_text(
		RUN(0, "workers", "tested"), scratch_text(" -  %d  %s ", (int)pid, state));
}

/* As a whole: what it loads may have changed. No task in hand is interrupted. */
START_TEST(a_restart_replaces_process_and_workers)
{
	struct proc *proc = serve(_i, "workers: 2");
	struct facts before = facts_of_next();
	wpool("restart");
	struct facts after = before;
	int64_t deadline = deadline_in(20000);
	do {
		after = facts_of_next();
		fixture_poll(deadline, 5, "a worker of the new process answers");
	} while (after.loader == before.loader);
	proc_expect_gone(before.loader);
	control_await_figure("workers", "ready", 2);
	expect_preloaded(0, "preloaded", after.loader);
	fixture_stop(proc);
}
END_TEST

/* The program of the pool, which a restart reads again. */
static char *script;

static void write_script(const char *line)
{
	scratch_write(script, scratch_text("#!/bin/sh\n%s\n", line));
	ck_assert_int_eq(chmod(script, 0755), 0);
}

static const char *good_line(void)
{
	return scratch_text("exec %s good", fixture_public_copy("workers/preload_raw"));
}

/* From the script, which is good at first. */
static struct proc *begin_script(const char *settings)
{
	script = scratch_path(fixture.folder, "program");
	write_script(good_line());
	return begin(scratch_text("- {name: tested, queue: %s, preload: [%s], %s}\n", fixture.queue,
		script, settings));
}

/* As a warning, since the former workers do all tasks. */
static void expect_given_up(const char *why)
{
	control_expect_text(RUN(0, "status"), why);
	control_expect_text(RUN(0, "pools"), "warning: its last restart was given up");
	control_expect_text(control_get("/metrics", 200),
		"wpool_warning{pool=\"tested\",reason=\"restart-given-up\"} 1");
}

/* Of new code whatever fails: the former process forks those that are missing, until other code is
 * good. */
START_TEST(a_restart_that_is_given_up_keeps_the_former_process)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{"echo no model >&2; exit 3", "ended before it forked it; last stderr line: no "
					      "model (wpool logs has what \""},
		{"exec sleep 1000", "the last one: the preloaded process "},
		{"exec /nowhere/at/all", "ended before it forked it; last stderr line: "},
		{NULL, " (wpool logs has what \""},
	};
	/* The last one forks workers that end at once. */
	const char *line = cases[_i].line ? cases[_i].line
					  : scratch_text("exec %s dead",
						    fixture_public_copy("workers/preload_raw"));
	struct proc *proc = begin_script("workers: 2, limits: {boot: 2s, grace: 100ms}");
	control_await_figure("workers", "ready", 2);
	struct facts before = facts_of_next();
	write_script(line);
	control_expect_text(RUN(75, "restart", "tested", "--wait"),
		"tested: restart given up: three new workers in a row did not become ready, the "
		"last one: ");
	proc_expect(proc, "restart given up: three new workers in a row did not become ready");
	proc_expect(proc, "the former preloaded process goes on forking workers");
	expect_given_up(cases[_i].why);
	ck_assert_int_eq(kill(before.pid, SIGKILL), 0);
	proc_expect(proc, "worker died: signal 9");
	control_await_figure("workers", "ready", 2);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(facts_of_next().loader, before.loader);
	write_script(good_line());
	command_expect_text(
		RUN(0, "restart", "tested", "--wait"), "tested: restarted: all workers are new");
	ck_assert(json_is_null(json_object_get(
		control_member(control_get_json("/v1/pools"), "pools", 0), "restart_given_up")));
	ck_assert_int_ne(facts_of_next().loader, before.loader);
	proc_expect_gone(before.loader);
	fixture_stop(proc);
}
END_TEST

/* The same for a program of another name, which stays configured: the next restart tries it again.
 */
START_TEST(a_reload_to_a_bad_program_keeps_the_former_process)
{
	static const char settings[] = "workers: 2, limits: {grace: 100ms}";
	struct proc *proc = begin(pool_of(0, "good", settings));
	control_await_figure("workers", "ready", 2);
	struct facts before = facts_of_next();
	fixture_write_pools(pool_of(0, "dies", settings));
	proc_signal(proc, SIGHUP);
	proc_expect(proc, "the former preloaded process goes on forking workers");
	ck_assert_int_eq(kill(before.pid, SIGKILL), 0);
	proc_expect(proc, "worker died: signal 9");
	control_await_figure("workers", "ready", 2);
	ck_assert_int_eq(facts_of_next().loader, before.loader);
	json_t *answer = control_parse(RUN(75, "restart", "tested", "--wait", "--json"));
	const json_t *pool = control_member(answer, "pools", 0);
	ck_assert_ptr_nonnull(strstr(control_text(json_object_get(pool, "restart_given_up"), "why"),
		"the preloaded process ended before it forked it"));
	ck_assert_int_eq(facts_of_next().loader, before.loader);
	fixture_stop(proc);
}
END_TEST

/* The new process never forks. An earlier restart was given up, whose reason is not this one's. */
START_TEST(a_wait_for_a_restart_ends_with_the_supervisor)
{
	struct proc *proc = begin_script("workers: 1");
	facts_of_next();
	write_script("exit 3");
	RUN(75, "restart", "tested", "--wait");
	write_script("echo hangs >&2; exec sleep 1000");
	struct proc *command = fixture_wpool((const char *const[]){
		"restart", "tested", "--wait", "--socket", control_socket(), NULL});
	proc_expect(proc, "hangs");
	fixture_stop(proc);
	ck_assert_int_eq(proc_wait(command), 75);
	control_expect_text(proc_stderr(command),
		"tested: restart given up: the pool ends, or another one replaces it");
}
END_TEST

/* Both processes end with a supervisor that is killed during a restart. */
START_TEST(nothing_outlives_a_supervisor_that_is_killed_during_a_restart)
{
	struct proc *proc = begin_script("workers: 1");
	struct facts former = facts_of_next();
	char *file = scratch_path(fixture.folder, "pid");
	write_script(scratch_text(
		"echo $$ > %s.part; mv %s.part %s; exec sleep 1000", file, file, file));
	wpool("restart");
	int64_t deadline = deadline_in(20000);
	while (access(file, F_OK) != 0)
		fixture_poll(deadline, 5, "the new process runs");
	pid_t pids[] = {former.pid, former.loader, atoi(scratch_read(file, NULL))};
	expect_preloaded(0, "former preloaded", former.loader);
	expect_preloaded(1, "preloading", pids[2]);
	if (_i == 0) {
		proc_signal(proc, SIGKILL);
		proc_wait(proc);
	} else {
		fixture_stop(proc);
	}
	for (int i = 0; i < 3; i++)
		proc_expect_gone(pids[i]);
}
END_TEST

START_TEST(a_reload_replaces_it_and_may_change_the_kind)
{
	struct proc *proc = serve(1, "workers: 1, env: {PRELOADED_MIB: '1'}");
	struct facts before = facts_of_next();
	ck_assert_int_eq(before.loaded, 1);
	fixture_write_pools(pool_of(1, "", "workers: 1, env: {PRELOADED_MIB: '2'}"));
	proc_signal(proc, SIGHUP);
	proc_expect_gone(before.loader);
	proc_expect_gone(before.pid);
	struct facts after = facts_of_next();
	ck_assert_int_eq(after.loaded, 2);
	fixture_write_pools(scratch_text("- {name: tested, queue: %s, command: [%s], workers: 1}\n",
		fixture.queue, program(1, "")));
	proc_signal(proc, SIGHUP);
	proc_expect_gone(after.pid);
	proc_expect_gone(after.loader);
	struct facts executed = facts_of_next();
	ck_assert_int_eq(executed.loader, executed.pid);
	fixture_stop(proc);
}
END_TEST

/* ---------- what is left ---------- */

/* Killed with the supervisor: by the guard, and by the kernel. */
START_TEST(nothing_outlives_a_killed_supervisor)
{
	struct proc *proc = serve(_i, "workers: 2");
	control_await_figure("workers", "ready", 2);
	json_t *workers = control_get_json("/v1/workers");
	pid_t pids[] = {facts_of_next().loader,
		(pid_t)control_number(control_member(workers, "workers", 0), "process", "pid"),
		(pid_t)control_number(control_member(workers, "workers", 1), "process", "pid")};
	proc_signal(proc, SIGKILL);
	proc_wait(proc);
	for (int i = 0; i < 3; i++)
		proc_expect_gone(pids[i]);
}
END_TEST

/* ---------- processes that break the protocol ---------- */

/* The pool reports it, keeps trying, and works as soon as the process is a good one. */
START_TEST(a_bad_process_is_reported_and_loses_nothing)
{
	static const struct {
		const char *mode, *log;
	} cases[] = {
		{"dies", "the preloaded process ended with exit status 3: it forked no worker"},
		{"silent", "the preloaded process forked no worker in time: killing it"},
		{"refuses", "the preloaded process cannot fork: no memory for another one"},
		{"self", "which is no worker: wpool knows it already"},
		{"sessionless", "which is no worker: it does not lead a session"},
		{"unasked", "the preloaded process answered without a request: killing it"},
		{"closes", "the preloaded process ended with signal 9: it forked no worker"},
	};
	static const char settings[] = "workers: 2, limits: {boot: 1s, grace: 100ms}";
	struct proc *proc = begin(pool_of(0, cases[_i].mode, settings));
	proc_expect(proc, cases[_i].log);
	proc_expect(proc, "worker could not be started: the preloaded process ");
	control_await("/readyz", 503);
	post("tell");
	fixture_write_pools(pool_of(0, "good", settings));
	proc_signal(proc, SIGHUP);
	control_await_figure("totals", "done", 1);
	ck_assert_int_gt(facts_of_next().pid, 0);
	fixture_stop(proc);
}
END_TEST

/* It ends after each worker: all workers come, each from another process. */
START_TEST(a_process_may_end_after_each_fork)
{
	struct proc *proc = begin_ready("once", 3);
	ck_assert_int_ge(proc_count_logged(proc, "the preloaded process was started"), 3);
	ck_assert_int_gt(facts_of_next().pid, 0);
	fixture_stop(proc);
}
END_TEST

/* The second process of a request is no worker: it ends with the worker, or with wpool. */
START_TEST(a_process_that_forks_twice_leaves_nothing)
{
	struct proc *proc = begin_ready("twice", 1);
	struct facts facts = facts_of_next();
	fixture_stop(proc);
	proc_expect_gone(facts.loader);
	/* It has the worker's streams, so its end is theirs; proc_wait in fixture_stop saw it. */
	ck_assert_int_ne(kill(-facts.pid, 0), 0);
}
END_TEST

/* The last line that it wrote is shown with the failure. */
START_TEST(a_failed_load_shows_its_last_line)
{
	struct proc *proc =
		fixture_serve_pools(pool_of(1, "", "workers: 1, env: {PRELOADED_THREAD: '1'}"));
	proc_expect(proc, "cannot fork workers while there are other threads (early)");
	proc_expect(proc, "the preloaded process ended with exit status 1: it forked no worker");
	fixture_free_program(proc);
	proc = fixture_serve_pools(pool_of(1, "", "workers: 1, env: {PRELOADED_EXIT: '1'}"));
	proc_expect(proc, "last stderr line: loaded 0 MiB in process");
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("preload", {workers_are_forked_by_one_process, LANGUAGES},
		{each_form_of_pipe_works, 3 * LANGUAGES}, {workers_have_the_configured_rights, 1},
		{each_worker_has_a_control_group_of_its_own, LANGUAGES},
		{a_crashed_worker_is_forked_again, LANGUAGES},
		{a_killed_process_is_started_again, LANGUAGES},
		{a_restart_replaces_process_and_workers, LANGUAGES},
		{a_restart_that_is_given_up_keeps_the_former_process, 4},
		{a_reload_to_a_bad_program_keeps_the_former_process, 1},
		{a_wait_for_a_restart_ends_with_the_supervisor, 1},
		{nothing_outlives_a_supervisor_that_is_killed_during_a_restart, 2},
		{a_reload_replaces_it_and_may_change_the_kind, 1},
		{nothing_outlives_a_killed_supervisor, LANGUAGES},
		{a_bad_process_is_reported_and_loses_nothing, 7},
		{a_process_may_end_after_each_fork, 1},
		{a_process_that_forks_twice_leaves_nothing, 1},
		{a_failed_load_shows_its_last_line, 1});
}
