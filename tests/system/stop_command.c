/* `wpool stop` and POST /v1/stop: what SIGTERM does, and that its end is told. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/http.h"
#include "harness/terminal.h"
#include "system/system.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char *const one_worker[] = {"--workers", "1", "--pipeline", "1", NULL};

static struct proc *stop(const char *option, const char *another)
{
	return site_wpool((const char *const[]){"stop", option, option ? another : NULL, NULL});
}

/* It ends with this code and says these words, on stderr where it failed. */
static void expect_end(struct proc *command, int code, const char *words)
{
	int got = proc_wait(command);
	char *out = proc_stdout(command), *said = proc_stderr(command);
	ck_assert_msg(got == code, "%d, not %d: %s%s", got, code, out, said);
	control_expect_words(code == 0 || code == 75 ? out : said, words);
	site_forget(command);
}

START_TEST(an_idle_one_is_stopped)
{
	struct proc *serve = site_serve_echo(one_worker);
	pid_t worker = site_worker_pid();
	expect_end(stop(NULL, NULL), 0, "stopped, everything is settled\n");
	ck_assert_int_eq(proc_wait(serve), 0);
	proc_expect_gone(worker);
	ck_assert_int_ne(access(control_socket(), F_OK), 0);
	expect_end(stop(NULL, NULL), 69, "no supervisor listens");
}
END_TEST

/* It returns when that is done, and not before. */
START_TEST(what_is_in_hand_is_waited_for)
{
	struct proc *serve = site_serve_echo(one_worker);
	site_post_held(serve, "in hand");
	struct proc *command = stop("--json", NULL);
	proc_expect(serve, "told to stop: draining");
	ck_assert_int_eq(site_witnessed("in hand"), 0);
	site_release("in hand");
	ck_assert_int_eq(proc_wait(command), 0);
	ck_assert_int_eq(site_witnessed("in hand"), 1);
	char *lines = proc_stdout(command);
	control_expect_words(
		lines, "{\"phase\":\"draining\",\"workers\":1,\"in_pipes\":1,\"unconfirmed\":0}\n");
	control_expect_words(lines, "\n{\"phase\":\"stopped\",\"settled\":true}\n");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
}
END_TEST

START_TEST(force_cuts_short)
{
	struct proc *serve = site_serve_echo(one_worker);
	site_post_held(serve, "cut");
	expect_end(stop("--no-wait", NULL), 0, "draining\n");
	proc_expect(serve, "told to stop: draining");
	struct proc *waits = stop("--json", NULL); /* it does not hurry anybody */
	command_expect_out(waits, "draining");
	expect_end(stop("--force", NULL), 75, "stopped before everything was settled");
	expect_end(waits, 75, "\n{\"phase\":\"stopped\",\"settled\":false}\n");
	ck_assert_int_eq(proc_wait(serve), 75);
	ck_assert(proc_has_said(serve, "told to stop at once"));
	broker_expect_messages(site.broker, site.queue, 1);
}
END_TEST

START_TEST(force_alone_is_enough)
{
	struct proc *serve = site_serve_echo(one_worker);
	site_post_held(serve, "cut");
	expect_end(stop("--force", "--no-wait"), 0, "stopping\n");
	ck_assert_int_eq(proc_wait(serve), 75);
}
END_TEST

/* Whoever waits may go: the stop goes on. One that is killed tells nobody its end. */
START_TEST(who_waits_may_go)
{
	struct proc *serve = site_serve_echo(one_worker);
	site_post_held(serve, "in hand");
	struct proc *command = stop(NULL, NULL);
	proc_expect(serve, "told to stop: draining");
	proc_signal(command, SIGINT);
	ck_assert_int_eq(proc_wait(command), 128 + SIGINT);
	ck_assert_str_eq(control_words(control_get_json("/v1/status"), "phase"), "draining");
	struct proc *another = stop("--json", NULL);
	command_expect_out(another, "draining");
	proc_signal(serve, SIGKILL);
	proc_wait(serve);
	expect_end(another, 69, "no answer from the supervisor");
}
END_TEST

START_TEST(a_terminal_shows_what_is_at_work)
{
	char *wpool = strdup(site_built("wpool"));
	struct proc *serve = site_serve_echo(one_worker);
	site_post_held(serve, "in hand");
	struct terminal *terminal = terminal_start(
		100, 10, (const char *const[]){wpool, "stop", "--socket", control_socket(), NULL});
	terminal_expect(terminal, "draining: 1 workers, 1 tasks with them, 0 unconfirmed");
	site_release("in hand");
	terminal_expect(terminal, "stopped, everything is settled");
	ck_assert_int_eq(terminal_wait(terminal), 0);
	ck_assert_int_eq(proc_wait(serve), 0);
	terminal_free(terminal);
	free(wpool);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("stop_command", {an_idle_one_is_stopped, 1},
		{what_is_in_hand_is_waited_for, 1}, {force_cuts_short, 1},
		{force_alone_is_enough, 1}, {who_waits_may_go, 1},
		{a_terminal_shows_what_is_at_work, 1});
}
