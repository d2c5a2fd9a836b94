/* `wpool stop` and POST /v1/stop: as SIGTERM, and the end is reported. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/http.h"
#include "harness/terminal.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const one_worker[] = {"--workers", "1", "--pipeline", "1", NULL};

static struct proc *stop(const char *option, const char *another)
{
	return fixture_wpool((const char *const[]){"stop", option, option ? another : NULL, NULL});
}

/* The command must end with this code and print this text, on stderr if it failed. */
static void expect_end(struct proc *command, int code, const char *words)
{
	int got = proc_wait(command);
	char *out = proc_stdout(command), *said = proc_stderr(command);
	ck_assert_msg(got == code, "%d, not %d: %s%s", got, code, out, said);
	control_expect_text(code == 0 || code == 75 ? out : said, words);
	fixture_free_program(command);
}

START_TEST(idle_supervisor_is_stopped)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	pid_t worker = fixture_worker_pid();
	expect_end(stop(NULL, NULL), 0, "stopped, everything is settled\n");
	ck_assert_int_eq(proc_wait(serve), 0);
	proc_expect_gone(worker);
	ck_assert_int_ne(access(control_socket(), F_OK), 0);
	expect_end(stop(NULL, NULL), 69, "no supervisor listens");
}
END_TEST

/* Wait until the process is at its exit, where it stops: it has closed its connections, but is
 * there until ptrace continues it. It was seized with PTRACE_O_TRACEEXIT. */
static void await_exit_stop(pid_t pid)
{
	int status = 0;
	while (status >> 16 != PTRACE_EVENT_EXIT) {
		if (status >> 8) {
			int signal = status >> 16 ? 0 : WSTOPSIG(status);
			ck_assert_int_eq(
				ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)signal), 0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSTOPPED(status));
	}
}

/* A supervisor that is held at its exit until PTRACE_DETACH, and the command that stops it. */
static struct proc *stop_up_to_its_exit(struct proc **ret_serve)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_worker_pid();
	ck_assert_int_eq(
		ptrace(PTRACE_SEIZE, proc_pid(serve), NULL, (void *)PTRACE_O_TRACEEXIT), 0);
	struct proc *command = stop(NULL, NULL);
	await_exit_stop(proc_pid(serve));
	*ret_serve = serve;
	return command;
}

/* Without --json it has printed nothing before. */
START_TEST(stop_waits_for_the_process)
{
	struct proc *serve;
	struct proc *command = stop_up_to_its_exit(&serve);
	/* Its last answer has come: this one takes longer than the first one needs to end. */
	expect_end(stop(NULL, NULL), 69, "no supervisor listens");
	char *printed = proc_stdout(command);
	ck_assert_str_eq(printed, "");
	ck_assert_msg(proc_is_alive(command), "it does not wait for the process");
	free(printed);
	ck_assert_int_eq(ptrace(PTRACE_DETACH, proc_pid(serve), NULL, NULL), 0);
	expect_end(command, 0, "stopped, everything is settled\n");
	ck_assert_msg(!proc_is_alive(serve), "the process is still there");
	ck_assert_int_eq(proc_wait(serve), 0);
}
END_TEST

START_TEST(process_that_does_not_end_is_reported)
{
	struct proc *serve;
	struct proc *command = stop_up_to_its_exit(&serve);
	ck_assert_int_eq(proc_wait(command), 0);
	command_expect_text(proc_stderr(command), "has not ended 10 s after its last answer");
	ck_assert_int_eq(ptrace(PTRACE_DETACH, proc_pid(serve), NULL, NULL), 0);
	ck_assert_int_eq(proc_wait(serve), 0);
}
END_TEST

/* Two with the same control socket: the second one has it when the first one is gone, and each
 * answer says whose it is. */
START_TEST(stop_names_the_supervisor)
{
	char *pools = scratch_text("- {queue: %s, command: ['%s'], workers: 1}\n", fixture.queue,
		fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pools);
	proc_expect(serve, "control socket: ");
	char *file = scratch_path(fixture.folder, "wpool.yaml");
	struct proc *next = fixture_serve(
		one_worker, (const char *const[]){fixture_built("workers/echo"), NULL});
	proc_expect(next, scratch_text("serve --config %s", file));
	control_await("/readyz", 200);
	control_expect_text(RUN(0, "status"), scratch_text("\nconfiguration: %s\n", file));
	expect_end(stop(NULL, NULL), 0,
		scratch_text("pid %d (configuration: %s): stopped, everything is settled\n",
			(int)proc_pid(serve), file));
	proc_expect(next, "took over the control socket");
	expect_end(stop("--no-wait", NULL), 0,
		scratch_text("pid %d (configuration: the options and variables of its start): "
			     "draining\n",
			(int)proc_pid(next)));
	ck_assert_int_eq(proc_wait(next), 0);
	free(file);
}
END_TEST

START_TEST(next_start_finds_the_socket_free)
{
	for (int i = 0; i < 5; i++) {
		struct proc *serve = fixture_serve_echo(one_worker);
		fixture_worker_pid();
		expect_end(stop(NULL, NULL), 0, "stopped, everything is settled\n");
		ck_assert(!proc_has_logged(serve, "another supervisor has the control socket"));
		ck_assert_int_eq(proc_wait(serve), 0);
	}
}
END_TEST

/* The command returns when the stop is complete, and not before. */
START_TEST(stop_waits_for_started_tasks)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_post_held(serve, "in hand");
	struct proc *command = stop("--json", NULL);
	proc_expect(serve, "stop requested: draining");
	ck_assert_int_eq(fixture_witnessed("in hand"), 0);
	fixture_release("in hand");
	ck_assert_int_eq(proc_wait(command), 0);
	ck_assert_int_eq(fixture_witnessed("in hand"), 1);
	char *lines = proc_stdout(command);
	control_expect_text(
		lines, "{\"phase\":\"draining\",\"workers\":1,\"in_pipes\":1,\"unconfirmed\":0}\n");
	control_expect_text(lines, "\n{\"phase\":\"stopped\",\"settled\":true}\n");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

START_TEST(force_ends_the_drain)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_post_held(serve, "cut");
	expect_end(stop("--no-wait", NULL), 0, "draining\n");
	proc_expect(serve, "stop requested: draining");
	struct proc *waits = stop("--json", NULL); /* it does not end the drain */
	command_expect_out(waits, "draining");
	expect_end(stop("--force", NULL), 75, "stopped before everything was settled");
	expect_end(waits, 75, "\n{\"phase\":\"stopped\",\"settled\":false}\n");
	ck_assert_int_eq(proc_wait(serve), 75);
	ck_assert(proc_has_logged(serve, "immediate stop requested"));
	broker_expect_messages(fixture.broker, fixture.queue, 1);
}
END_TEST

START_TEST(force_needs_no_stop_before)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_post_held(serve, "cut");
	expect_end(stop("--force", "--no-wait"), 0, "stopping\n");
	ck_assert_int_eq(proc_wait(serve), 75);
}
END_TEST

/* Interrupting the command does not interrupt the stop. A killed supervisor cannot report its end.
 */
START_TEST(interrupted_stop_command_leaves_the_drain)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_post_held(serve, "in hand");
	struct proc *command = stop(NULL, NULL);
	proc_expect(serve, "stop requested: draining");
	proc_signal(command, SIGINT);
	ck_assert_int_eq(proc_wait(command), 128 + SIGINT);
	ck_assert_str_eq(control_text(control_get_json("/v1/status"), "phase"), "draining");
	struct proc *another = stop("--json", NULL);
	command_expect_out(another, "draining");
	proc_signal(serve, SIGKILL);
	proc_wait(serve);
	expect_end(another, 69, "no answer from the supervisor");
}
END_TEST

/* It does not wait for an end that it cannot print. */
START_TEST(output_error_ends_the_command)
{
	char line[1000];
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_post_held(serve, "in hand");
	ck_assert_int_lt(snprintf(line, sizeof line, "exec %s stop --json --socket %s >/dev/full",
				 fixture_built("wpool"), control_socket()),
		sizeof line);
	struct proc *command = proc_start(
		fixture.folder, (const char *const[]){"/bin/sh", "-c", line, NULL}, NULL);
	ck_assert_int_eq(proc_wait(command), 74);
	command_expect_text(proc_stderr(command), "standard output: No space left on device");
	proc_free(command);
	ck_assert_int_eq(fixture_witnessed("in hand"), 0);
	fixture_release("in hand");
	ck_assert_int_eq(proc_wait(serve), 0);
}
END_TEST

START_TEST(terminal_shows_tasks_in_hand)
{
	char *wpool = strdup(fixture_built("wpool"));
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_post_held(serve, "in hand");
	struct terminal *terminal = terminal_start(
		100, 10, (const char *const[]){wpool, "stop", "--socket", control_socket(), NULL});
	terminal_expect(terminal, "draining: 1 workers, 1 tasks with them, 0 unconfirmed");
	fixture_release("in hand");
	terminal_expect(terminal, "stopped, everything is settled");
	ck_assert_int_eq(terminal_wait(terminal), 0);
	ck_assert_int_eq(proc_wait(serve), 0);
	terminal_free(terminal);
	free(wpool);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("stop_command", {idle_supervisor_is_stopped, 1},
		{stop_waits_for_the_process, 1}, {process_that_does_not_end_is_reported, 1},
		{stop_names_the_supervisor, 1}, {next_start_finds_the_socket_free, 1},
		{stop_waits_for_started_tasks, 1}, {force_ends_the_drain, 1},
		{force_needs_no_stop_before, 1}, {interrupted_stop_command_leaves_the_drain, 1},
		{output_error_ends_the_command, 1}, {terminal_shows_tasks_in_hand, 1});
}
