/* `wpool serve --watch`: after a change of its source, the next tasks are done by the new code. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define RESTARTED "restarted: all workers are new"

static char *worker, *library;

/* The worker answers with this text, and what its library says. It begins with this line. */
static char *source_with(const char *first, const char *text)
{
	return scratch_text(
		"%s\n"
		"import os, sys\n"
		"sys.path[:0] = ['worker-sdk/python', os.path.dirname(os.path.abspath(__file__))]\n"
		"from wpool_worker import run\n"
		"try:\n"
		"    from lib.more import MORE\n"
		"except ImportError:\n"
		"    MORE = ''\n"
		"run(lambda task: '%s' + MORE)\n",
		first, text);
}

static char *source(const char *text)
{
	return source_with("", text);
}

static void write_worker(const char *text)
{
	char *lines = source(text);

	scratch_write(worker, lines);
	free(lines);
}

/* As editors do: another file is written, and renamed over the old one. lines moves in. */
static void replace_source(char *lines)
{
	char *beside = scratch_path(library, ".worker.py.new");

	scratch_write(beside, lines);
	ck_assert_int_eq(rename(beside, worker), 0);
	free(lines);
	free(beside);
}

static void replace_worker(const char *text)
{
	replace_source(source(text));
}

static struct proc *serve(void)
{
	library = scratch_path(fixture.folder, "src");
	worker = scratch_path(library, "worker.py");
	const char *const options[] = {"--workers", "2", "--watch", library, NULL};
	const char *const command[] = {"/usr/bin/python3", worker, NULL};

	ck_assert_int_eq(mkdir(library, 0755), 0);
	write_worker("one");
	return fixture_serve_ready(options, command);
}

static void expect_answer(const char *expected)
{
	const char *const request[] = {"request", "--broker", broker_url(fixture.broker), "--queue",
		fixture.queue, "--wait", "20s", "x", NULL};
	struct proc *proc = fixture_wpool(request);
	int code = proc_wait(proc);
	char *answer = proc_stdout(proc);

	ck_assert_msg(code == 0, "%s", proc_stderr(proc));
	ck_assert_str_eq(strtok(answer, "\n"), expected);
	free(answer);
}

START_TEST(new_code_works_the_next_tasks)
{
	struct proc *proc = serve();
	char *folder, *more;

	expect_answer("one");
	replace_worker("two");
	proc_expect(proc, "worker.py changed: restarting the workers of all pools");
	proc_expect(proc, RESTARTED);
	expect_answer("two");
	proc_suspend(proc); /* so that it sees two quick saves at once */
	write_worker("three");
	write_worker("four");
	proc_signal(proc, SIGCONT);
	proc_expect(proc, RESTARTED);
	expect_answer("four");
	ck_assert_int_eq(proc_count_logged(proc, "changed: restarting"), 2);

	folder = scratch_path(library, "lib");
	more = scratch_path(folder, "more.py");
	proc_suspend(proc);
	ck_assert_int_eq(mkdir(folder, 0755), 0);
	scratch_write(more, "MORE = ' and more'\n");
	proc_signal(proc, SIGCONT);
	proc_expect(proc, RESTARTED);
	expect_answer("four and more");
	scratch_write(more, "MORE = ' and a lot more'\n");
	proc_expect(proc, RESTARTED);
	expect_answer("four and a lot more");
	/* What Python has compiled is beside it by now, and was no change. */
	ck_assert_int_eq(proc_count_logged(proc, "changed: restarting"), 4);
	fixture_stop(proc);
	free(folder);
	free(more);
}
END_TEST

/* Until the descriptor is closed, a worker that reads this pipe at its start does not start. */
static int await_reader(const char *pipe)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	int fd;

	while ((fd = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		fixture_poll(deadline, 20, "a worker starts");
	return fd;
}

/* Both workers that are there now have written a file of their pid. */
static void expect_marked_workers(const char *folder)
{
	json_t *answer = control_get_json("/v1/workers");

	for (size_t i = 0; i < 2; i++) {
		int pid =
			(int)control_number(control_member(answer, "workers", i), "process", "pid");
		char *path = scratch_text("%s/%d", folder, pid);
		ck_assert_msg(access(path, F_OK) == 0, "worker %d has old code", pid);
		free(path);
	}
	json_decref(answer);
}

/* The first worker of the restart still starts, so that it and the other one have to begin again.
 */
START_TEST(a_change_during_a_restart_is_not_missed)
{
	struct proc *proc = serve();
	char *pipe = scratch_path(fixture.folder, "pipe"),
	     *held = scratch_text("open('%s').read()", pipe),
	     *marks = scratch_path(fixture.folder, "marks"),
	     *marked = scratch_text("import os; open('%s/%%d' %% os.getpid(), 'w')", marks);
	int fd;

	ck_assert_int_eq(mkfifo(pipe, 0600), 0);
	ck_assert_int_eq(mkdir(marks, 0700), 0);
	replace_source(source_with(held, "two"));
	proc_expect(proc, "changed: restarting");
	fd = await_reader(pipe);
	replace_source(source_with(marked, "three"));
	proc_expect(proc, "changed: restarting");
	close(fd);
	proc_expect(proc, RESTARTED);
	expect_marked_workers(marks);
	expect_answer("three");
	fixture_stop(proc);
	free(pipe);
	free(held);
	free(marks);
	free(marked);
}
END_TEST

START_TEST(a_missing_path_is_an_error_at_the_start)
{
	const char *const command[] = {"serve", "--queue", fixture.queue, "--watch", "/nowhere/src",
		"--", "/bin/true", NULL};
	struct proc *proc = fixture_wpool(command);

	ck_assert_int_eq(proc_wait(proc), EX_USAGE);
	proc_expect(proc, "--watch '/nowhere/src' is no file or folder here");
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("watch", {new_code_works_the_next_tasks, 1},
		{a_change_during_a_restart_is_not_missed, 1},
		{a_missing_path_is_an_error_at_the_start, 1});
}
