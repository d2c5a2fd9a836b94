/* Workers as another user and with limits of their own: they work in every form of pipe, have what
 * was configured and nothing of the supervisor, and end when they must; impossible settings are
 * reported. If the tests may not change users, the settings must be refused before any start. */
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_root(void)
{
	return geteuid() == 0;
}

/* A copy that every user can execute: the build folder may be in a home folder. */
static const char *public_copy(const char *name)
{
	char *path =
		scratch_path(fixture.folder, strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
	const char *const command[] = {"install", "-m", "755", fixture_built(name), path, NULL};
	struct proc *copy = proc_start(fixture.folder, command, NULL);
	ck_assert_int_eq(proc_wait(copy), 0);
	proc_free(copy);
	return path;
}

/* Let every user write the witness. */
static void open_witness(void)
{
	scratch_write(fixture.witness, "");
	ck_assert_int_eq(chmod(fixture.witness, 0666), 0);
}

static struct proc *serve_with(const char *settings)
{
	open_witness();
	return fixture_serve_pool(settings, public_copy("workers/echo"));
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

static void expect_variable(pid_t pid, const char *entry, bool is_there)
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
	expect_variable(pid, "A=two words", true);
	expect_variable(pid, "LC_ALL=C.UTF-8", true);
	expect_variable(pid, "PATH=", true);
	expect_variable(pid, "WITNESS=", true);
	expect_variable(pid, "WPOOL_WORKER=", true);
	expect_variable(pid, "HOME=", false);
	expect_variable(pid, "WPOOL_RETRY_DELAY=", false);
	fixture_stop(serve);
}
END_TEST

/* Workers are replaced one by one, as for a new command; no second pool, and no task is
 * interrupted. */
START_TEST(reload_changes_rights)
{
	char *pool = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], workers: 1, ",
		fixture.queue, public_copy("workers/echo"));
	char *before = scratch_text(
		"%sumask: 022, env: {A: '1'}%s}\n", pool, is_root() ? ", user: daemon" : "");
	char *after = scratch_text("%sumask: 077, nice: 1, env: {A: '2'}, cwd: /usr%s}\n", pool,
		is_root() ? ", user: nobody" : "");
	open_witness();
	struct proc *serve = fixture_serve_pools(before);
	pid_t old = fixture_worker_pid();
	expect_in(old, "status", "\nUmask:\t0022\n");
	expect_variable(old, "A=1", true);
	fixture_write_pools(after);
	proc_signal(serve, SIGHUP);
	proc_expect_gone(old);
	pid_t new = fixture_worker_pid();
	ck_assert_int_ne(new, old);
	expect_in(new, "status", "\nUmask:\t0077\n");
	expect_variable(new, "A=2", true);
	expect_folder(new, "/usr");
	if (is_root())
		expect_in(new, "status", "\nUid:\t65534\t");
	fixture_stop(serve);
	free(before);
	free(after);
	free(pool);
}
END_TEST

/* The process whose number the worker's shell wrote to stderr. */
static pid_t daemon_of(struct proc *serve)
{
	char *lines = proc_stderr(serve);
	const char *number = strstr(lines, "stayed:");
	ck_assert_ptr_nonnull(number);
	pid_t daemon = atoi(number + strlen("stayed:"));
	ck_assert_int_gt(daemon, 1);
	free(lines);
	return daemon;
}

/* Also processes that a user of the workers could not signal. */
START_TEST(workers_of_other_user_end_with_supervisor)
{
	open_witness();
	char *pool = scratch_text(
		"- {name: tested, queue: %s, user: nobody, command: [sh, -c, 'setsid sleep 1000 & "
		"echo stayed:$! >&2; exec %s'], workers: 1}\n",
		fixture.queue, public_copy("workers/echo"));
	struct proc *serve = fixture_serve_pools(pool);
	free(pool);
	if (!is_root()) {
		expect_refused(serve);
		return;
	}
	pid_t worker = fixture_worker_pid();
	pid_t daemon = daemon_of(serve);
	expect_in(daemon, "status", "\nUid:\t65534\t");
	proc_signal(serve, SIGKILL);
	proc_expect_gone(worker);
	proc_expect_gone(daemon);
}
END_TEST

/* It has no mark, session or parent in common with its worker, only the control group, if this
 * machine has control groups. */
START_TEST(daemon_ends_with_its_worker)
{
	open_witness();
	char *pool = scratch_text(
		"- {name: tested, queue: %s, command: [sh, -c, '(env -i setsid sleep 1000 & echo "
		"stayed:$! >&2); exec %s'], workers: 1}\n",
		fixture.queue, fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pool);
	free(pool);
	pid_t worker = fixture_worker_pid();
	pid_t daemon = daemon_of(serve);
	if (proc_has_logged(serve, "workers have no control groups: ")) {
		kill(daemon, SIGKILL); /* as docs/operations.md says */
	} else {
		kill(worker, SIGKILL);
		proc_expect_gone(daemon);
	}
	fixture_stop(serve);
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
			"pools[0].user is \"no-such-user\", which this machine has no user of", 78},
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
	const char *wpool = public_copy("wpool");
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
		{reload_changes_rights, 1}, {workers_of_other_user_end_with_supervisor, 1},
		{daemon_ends_with_its_worker, 1}, {impossible_rights_are_reported, 3},
		{check_config_starts_nothing, 1});
}
