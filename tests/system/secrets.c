/* The broker's password stays with the supervisor: a worker of wpool's own user reaches neither the
 * supervisor nor the guard. */
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nobody else's. Root may read every process, so that a test by root serves as this user. */
#define USER "4000000151"

static const char *const as_user[] = {
	"setpriv", "--pdeathsig", "KILL", "--reuid", USER, "--regid", USER, "--clear-groups", NULL};
static const char *const as_is[] = {"env", NULL};

static const char *const *starter(void)
{
	return geteuid() == 0 ? as_user : as_is;
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

static void open_witness(void)
{
	scratch_write(fixture.witness, "");
	ck_assert_int_eq(chmod(fixture.witness, 0666), 0);
}

/* `wpool serve` as an unprivileged user with one worker, whose command is a list in YAML. */
static struct proc *serve_unprivileged(const char *settings, const char *command)
{
	open_witness();
	char *pools = scratch_text("- {name: tested, queue: %s, workers: 1, command: %s%s}\n",
		fixture.queue, command, settings);
	struct proc *serve = fixture_serve_under(starter(), pools);
	free(pools);
	return serve;
}

/* The session's priority, too, which the worker may not set while it is as hidden as wpool. */
START_TEST(worker_loses_nothing)
{
	char *command = scratch_text("[%s]", public_copy("workers/echo"));
	struct proc *serve = serve_unprivileged(", nice: 3", command);
	pid_t worker = fixture_worker_pid();
	char *path = scratch_text("/proc/%d/autogroup", (int)worker);
	char *session = scratch_read(path, NULL);
	if (session)
		ck_assert_msg(strstr(session, " nice 3\n"), "%s", session);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)worker), 3);
	fixture_stop(serve);
	free(session);
	free(path);
	free(command);
}
END_TEST

/* The guard finds a process that left the session of its worker by the mark in its environment. */
START_TEST(guard_still_finds_processes)
{
	char *command = scratch_text("[sh, -c, 'setsid sleep 1000 & echo stayed:$! >&2; exec %s']",
		public_copy("workers/echo"));
	struct proc *serve = serve_unprivileged("", command);
	pid_t worker = fixture_worker_pid();
	char *lines = proc_stderr(serve);
	const char *number = strstr(lines, "stayed:");
	ck_assert_ptr_nonnull(number);
	pid_t daemon = atoi(number + strlen("stayed:"));
	ck_assert_int_gt(daemon, 1);
	proc_signal(serve, SIGKILL);
	proc_expect_gone(worker);
	proc_expect_gone(daemon);
	free(lines);
	free(command);
}
END_TEST

static void expect_each(struct proc *serve, const char *who, const char *result)
{
	static const char *const attempts[] = {"environ", "mem", "maps", "auxv", "fd", "map_files",
		"descriptor", "copy", "ptrace"};
	for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
		char *line = scratch_text("spy: %s %s: %s", who, attempts[i], result);
		ck_assert_msg(
			proc_has_logged(serve, line), "missing: %s\n%s", line, proc_stderr(serve));
		free(line);
	}
}

START_TEST(worker_of_same_user_reads_no_memory)
{
	char *command =
		scratch_text("[%s, %s]", public_copy("workers/spy"), public_copy("workers/echo"));
	struct proc *serve = serve_unprivileged("", command);
	proc_expect(serve, "spy: done");
	/* That each attempt can succeed. */
	expect_each(serve, "own child", "open");
	expect_each(serve, "supervisor", "refused");
	expect_each(serve, "guard", "refused");
	ck_assert_int_gt(fixture_worker_pid(), 1);
	fixture_stop(serve);
	free(command);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("secrets", {worker_of_same_user_reads_no_memory, 1},
		{worker_loses_nothing, 1}, {guard_still_finds_processes, 1});
}
