/* Workers as another user and with limits of their own: they work in every form of pipe, have what
 * was configured and nothing of the supervisor, and end when they must; impossible settings are
 * reported. If the tests may not change users, the settings must be refused before any start. */
#include "harness/deadline.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_root(void)
{
	return geteuid() == 0;
}

static struct proc *serve_with(const char *settings)
{
	fixture_open_witness();
	return fixture_serve_pool(settings, fixture_public_copy("workers/echo"));
}

static char *of_process(pid_t pid, const char *file)
{
	char *path = scratch_text("/proc/%d/%s", (int)pid, file);
	char *text = scratch_read(path, NULL);
	ck_assert_msg(text != NULL, "%s", path);
	free(path);
	return text;
}

static void expect_in(pid_t pid, const char *file, const char *words)
{
	char *text = of_process(pid, file);
	ck_assert_msg(strstr(text, words) != NULL, "'%s' is not in %s:\n%s", words, file, text);
	free(text);
}

static void expect_refused(struct proc *serve)
{
	proc_expect(serve, "pools[0].user needs rights that wpool");
	ck_assert_int_eq(proc_wait(serve), 78);
}

static const char *const forms[] = {"path", "fifo", "corefx"};

START_TEST(workers_run_as_configured_user)
{
	char *settings = scratch_text("user: nobody, pipe: %s", forms[_i]);
	struct proc *serve = serve_with(settings);
	free(settings);
	if (!is_root()) {
		expect_refused(serve);
		return;
	}
	pid_t pid = fixture_worker_pid();
	expect_in(pid, "status", "\nUid:\t65534\t65534\t65534\t65534\n");
	expect_in(pid, "status", "\nGid:\t65534\t65534\t65534\t65534\n");
	expect_in(pid, "status", "\nGroups:\t65534 \n");
	expect_in(pid, "status", "\nCapEff:\t0000000000000000\n");
	expect_in(pid, "status", "\nNoNewPrivs:\t1\n");
	for (int i = 0; i < 50; i++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x", .correlation_id = "x"});
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("x"), 50);
	fixture_stop(serve);
}
END_TEST

START_TEST(user_may_be_a_number_with_a_group)
{
	struct proc *serve = serve_with("user: 4000000123, group: 4000000124");
	if (!is_root()) {
		expect_refused(serve);
		return;
	}
	pid_t pid = fixture_worker_pid();
	expect_in(pid, "status", "\nUid:\t4000000123\t");
	expect_in(pid, "status", "\nGid:\t4000000124\t");
	expect_in(pid, "status", "\nGroups:\t4000000124 \n");
	fixture_stop(serve);
}
END_TEST

static void expect_folder(pid_t pid, const char *folder)
{
	char *path = scratch_text("/proc/%d/cwd", (int)pid), found[4096];
	ssize_t len = readlink(path, found, sizeof found - 1);
	ck_assert_int_gt(len, 0);
	found[len] = '\0';
	ck_assert_str_eq(found, folder);
	free(path);
}

/* None of these settings needs root. */
START_TEST(workers_have_configured_rights)
{
	struct proc *serve = serve_with(
		"cwd: /usr, umask: 027, nice: 2, env: {A: 'two words', LC_ALL: C.UTF-8}, env_pass: "
		"[PATH, 'WIT*'], rlimits: {nofile: '99:100', core: 0, cpu: 1h}");
	pid_t pid = fixture_worker_pid();
	expect_folder(pid, "/usr");
	expect_in(pid, "status", "\nUmask:\t0027\n");
	expect_in(pid, "limits", "Max open files            99                   100 ");
	expect_in(pid, "limits", "Max core file size        0                    0 ");
	expect_in(pid, "limits", "Max cpu time              3600                 3600 ");
	proc_expect_variable(pid, "A=two words", true);
	proc_expect_variable(pid, "LC_ALL=C.UTF-8", true);
	proc_expect_variable(pid, "PATH=", true);
	proc_expect_variable(pid, "WITNESS=", true);
	proc_expect_variable(pid, "WPOOL_WORKER=", true);
	proc_expect_variable(pid, "WPOOL_SLOT=", true);
	proc_expect_variable(pid, "HOME=", false);
	proc_expect_variable(pid, "WPOOL_RETRY_DELAY=", false);
	fixture_stop(serve);
}
END_TEST

/* Workers are replaced one by one, as for a new command; no second pool, and no task is
 * interrupted. */
/* As in the unit: wpool's own umask is for its own files. */
START_TEST(umask_of_wpool_is_not_for_workers)
{
	static const char *const strict[] = {"sh", "-c", "umask 077; exec \"$@\"", "sh", NULL};
	char *pool = scratch_text("- {queue: %s, workers: 1, command: ['%s']%s}\n", fixture.queue,
		fixture_public_copy("workers/echo"), is_root() ? ", user: nobody" : "");
	fixture_open_witness();
	struct proc *serve = fixture_serve_under(strict, pool);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	expect_in(proc_pid(serve), "status", "Umask:\t0077");
	expect_in(fixture_worker_pid(), "status", "Umask:\t0022");
	fixture_stop(serve);
	free(pool);
}
END_TEST

START_TEST(reload_changes_rights)
{
	char *pool = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], workers: 1, ",
		fixture.queue, fixture_public_copy("workers/echo"));
	char *before = scratch_text(
		"%sumask: 022, env: {A: '1'}%s}\n", pool, is_root() ? ", user: daemon" : "");
	char *after = scratch_text("%sumask: 077, nice: 1, env: {A: '2'}, cwd: /usr%s}\n", pool,
		is_root() ? ", user: nobody" : "");
	fixture_open_witness();
	struct proc *serve = fixture_serve_pools(before);
	pid_t old = fixture_worker_pid();
	expect_in(old, "status", "\nUmask:\t0022\n");
	proc_expect_variable(old, "A=1", true);
	fixture_write_pools(after);
	proc_signal(serve, SIGHUP);
	proc_expect_gone(old);
	pid_t new = fixture_worker_pid();
	ck_assert_int_ne(new, old);
	expect_in(new, "status", "\nUmask:\t0077\n");
	proc_expect_variable(new, "A=2", true);
	expect_folder(new, "/usr");
	if (is_root())
		expect_in(new, "status", "\nUid:\t65534\t");
	fixture_stop(serve);
	free(before);
	free(after);
	free(pool);
}
END_TEST

static int oom_score_of(pid_t pid)
{
	char *text = of_process(pid, "oom_score_adj");
	int score = atoi(text);
	free(text);
	return score;
}

/* Without user and with it. A worker dies before wpool when memory is short, and a set-user-ID
 * program gives it nothing. */
START_TEST(workers_are_confined)
{
	static const char *const settings[] = {"new_privs: false", "user: nobody",
		"new_privs: true", "new_privs: true, user: nobody"};
	bool is_free = _i >= 2, is_other = _i % 2;
	struct proc *serve = serve_with(settings[_i]);
	if (is_other && !is_root()) {
		expect_refused(serve);
		return;
	}
	pid_t pid = fixture_worker_pid();
	expect_in(pid, "status", is_free ? "\nNoNewPrivs:\t0\n" : "\nNoNewPrivs:\t1\n");
	if (is_other && !is_free)
		expect_in(pid, "status", "\nCapBnd:\t0000000000000000\n");
	int64_t deadline = deadline_in(20000);
	while (oom_score_of(pid) <= oom_score_of(proc_pid(serve)))
		fixture_poll(deadline, 5, "its OOM score is above wpool's");
	fixture_stop(serve);
}
END_TEST

static const char no_limits[] = "limits.group_processes and limits.group_memory do not hold: ";

/* The start and check-config warn, once for each pool that has such limits. */
START_TEST(group_limits_hold_or_are_warned_of)
{
	static const struct {
		const char *settings, *script, *line;
	} cases[] = {
		{"group_processes: 5",
			"i=0; while [ $i -lt 20 ]; do sleep 1000 & i=$((i+1)); done; exec", "fork"},
		{"group_memory: 32MiB", "head -c 200m /dev/zero | tail; exec",
			"signal 9 (Killed), over limits.group_memory"},
	};
	fixture_open_witness();
	char *pool =
		scratch_text("- {name: tested, queue: %s, command: [sh, -c, '%s %s'], workers: "
			     "1, limits: {%s}}\n- {name: other, queue: %s, command: [%s]}\n",
			fixture.queue, cases[_i].script, fixture_public_copy("workers/echo"),
			cases[_i].settings, fixture.queue, fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pool);
	proc_expect(serve, "wpool ");
	bool hold = !proc_has_logged(serve, no_limits);
	char *file = scratch_path(fixture.folder, "wpool.yaml");
	struct proc *look = fixture_wpool((const char *const[]){"check-config", file, NULL});
	ck_assert_int_eq(proc_wait(look), 0);
	if (hold) {
		proc_expect(serve, cases[_i].line);
	} else {
		fixture_not_run("group_limits_hold", "no controllers pids and memory here");
		ck_assert_int_eq(proc_count_logged(serve, no_limits), 1);
		ck_assert_int_eq(proc_count_logged(look, no_limits), 1);
	}
	proc_signal(serve, SIGTERM);
	proc_signal(serve, SIGTERM);
	proc_wait(serve);
	free(file);
	free(pool);
}
END_TEST

/* The first pool that has such limits. */
START_TEST(group_limits_come_with_a_reload)
{
	fixture_open_witness();
	char *before = scratch_text("- {name: before, queue: %s, command: [\"%s\"]}\n",
		fixture.queue, fixture_built("workers/echo"));
	char *after = scratch_text(
		"%s- {name: tested, queue: %s, command: [sh, -c, 'i=0; while [ $i -lt 20 ]; do "
		"sleep 1000 & i=$((i+1)); done; exec %s'], workers: 1, limits: {group_processes: "
		"5}}\n",
		before, fixture.queue, fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(before);
	proc_expect(serve, "control socket: ");
	ck_assert(!proc_has_logged(serve, no_limits));
	fixture_write_pools(after);
	proc_signal(serve, SIGHUP);
	proc_expect(serve, "configuration reloaded: 2 pools");
	if (proc_has_logged(serve, no_limits))
		fixture_not_run(
			"group_limits_come_with_a_reload", "no controllers pids and memory here");
	else
		proc_expect(serve, "fork");
	proc_signal(serve, SIGTERM);
	proc_signal(serve, SIGTERM);
	proc_wait(serve);
	free(before);
	free(after);
}
END_TEST

START_TEST(impossible_rights_are_reported)
{
	static const struct {
		const char *settings, *words;
		int status; /* 0: it serves and retries */
	} cases[] = {
		{"cwd: /no/such/folder", "could not be started: cwd: No such file or directory", 0},
		{"user: no-such-user",
			"pools[0].user is \"no-such-user\", and this machine has no such user", 78},
		{"rlimits: {nofiles: 5}",
			"pools[0].rlimits: \"nofiles\" is unknown; the nearest is nofile", 78},
	};
	struct proc *serve = serve_with(cases[_i].settings);
	proc_expect(serve, cases[_i].words);
	if (cases[_i].status)
		ck_assert_int_eq(proc_wait(serve), cases[_i].status);
	else
		fixture_stop(serve);
}
END_TEST

/* A user who is not root may check a configuration for root. */
START_TEST(check_config_starts_nothing)
{
	char *file = scratch_path(fixture.folder, "look.yaml");
	scratch_write(file, "pools: [{queue: q, command: w, user: daemon}]\n");
	const char *const as_nobody[] = {"setpriv", "--reuid", "65534", "--clear-groups", NULL};
	const char *const nobody_already[] = {"env", NULL};
	const char *const *start = is_root() ? as_nobody : nobody_already;
	const char *wpool = fixture_public_copy("wpool");
	const char *argv[2][10] = {{NULL}};
	for (int i = 0; i < 2; i++) {
		size_t count = 0;
		while (start[count]) {
			argv[i][count] = start[count];
			count++;
		}
		const char *const words[2][4] = {
			{wpool, "check-config", file, NULL}, {wpool, "serve", "--config", file}};
		for (int j = 0; j < 4; j++)
			argv[i][count + (size_t)j] = words[i][j];
	}
	struct proc *look = proc_start(fixture.folder, argv[0], NULL);
	proc_expect(look, "pools[0].user needs rights that wpool (user ");
	ck_assert_int_eq(proc_wait(look), 0);
	proc_free(look);
	struct proc *serve = proc_start(fixture.folder, argv[1], NULL);
	expect_refused(serve);
	proc_free(serve);
	free(file);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("rights", {workers_run_as_configured_user, 3},
		{user_may_be_a_number_with_a_group, 1}, {workers_have_configured_rights, 1},
		{umask_of_wpool_is_not_for_workers, 1}, {reload_changes_rights, 1},
		{workers_are_confined, 4}, {group_limits_hold_or_are_warned_of, 2},
		{group_limits_come_with_a_reload, 1}, {impossible_rights_are_reported, 3},
		{check_config_starts_nothing, 1});
}
