/* `wpool logs`, `wpool log-level`, and the lines of workers. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "harness/supervisor_log.h"
#include "harness/terminal.h"
#include "system/system.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char *const one_worker[] = {"--workers", "1", "--pipeline", "1", NULL};

/* Let a worker write this line to stderr in a task, which is done when this returns. */
static void say(const char *words)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "x", .correlation_id = "x", .headers = {{"X-Say", words}}});
	broker_expect_messages(fixture.broker, fixture.queue, 0);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;
	for (; (text = strchr(text, '\n')); text++)
		count++;
	return count;
}

static bool has_printed(struct proc *proc, const char *words)
{
	char *printed = proc_stdout(proc);
	bool has = strstr(printed, words) != NULL;
	free(printed);
	return has;
}

/* ---------- lines of workers ---------- */

START_TEST(json_lines_of_workers_stay_json)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	pid_t pid = fixture_worker_pid();
	say("{\"msg\":\"it is odd\",\"level\":\"warning\",\"n\":1.50,\"pool\":\"forged\"}");
	say("just words");
	char *lines = supervisor_log_await("just words");
	json_t *line = supervisor_log_find_line(lines, "it is odd");
	ck_assert_str_eq(control_text(line, "pool"), fixture.queue);
	ck_assert_str_eq(control_text(line, "worker.pool"), "forged");
	ck_assert_str_eq(control_text(line, "level"), "warn");
	ck_assert_str_eq(control_text(line, "worker.level"), "warning");
	ck_assert_str_eq(control_text(line, "msg"), "it is odd");
	ck_assert_str_eq(control_text(line, "stream"), "stderr");
	ck_assert_int_eq(json_integer_value(json_object_get(line, "slot")), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(line, "pid")), pid);
	control_expect_text(lines, "\"n\":1.50,");
	ck_assert_str_eq(
		control_text(supervisor_log_find_line(lines, "just words"), "msg"), "just words");
	char *shown = scratch_text(
		"warn  %s/0[%d] stderr: it is odd n=1.50 worker.pool=forged\n", fixture.queue, pid);
	proc_expect(serve, "it is odd");
	control_expect_text(proc_stderr(serve), shown);
	control_expect_text(RUN(0, "logs", "--text"), shown);
	fixture_stop(serve);
}
END_TEST

START_TEST(long_lines_and_odd_bytes_are_logged)
{
	supervisor_log_serve_script("head -c 100000 /dev/zero | tr \"\\\\0\" x; echo; "
				    "printf \"\\\\377\\\\033[2J{\\\\n\"; "
				    "printf \"{\\\"a\\\":\\\"\\\\377\\\"}\\\\n\"; echo last",
		"");
	char *lines = supervisor_log_await("\"last\"");
	json_t *line = supervisor_log_find_line(lines, "xxxx");
	const char *words = control_text(line, "msg");
	ck_assert_uint_eq(strlen(words), 16384);
	ck_assert_str_eq(words + 16384 - 7, "x [cut]");
	control_expect_text(lines, "\"msg\":\"\xef\xbf\xbd\\u001b[2J{\"");
	control_expect_text(lines, "\"stream\":\"stdout\",\"a\":\"\xef\xbf\xbd\"}\n");
	ck_assert_uint_lt(strlen(strstr(lines, "xxxx")), 20000); /* and no further piece of it */
}
END_TEST

/* ---------- reading the log ---------- */

START_TEST(logs_prints_recent_lines)
{
	fixture_serve_echo(one_worker);
	fixture_worker_pid();
	say("first");
	say("{\"level\":\"error\",\"msg\":\"second\"}");
	say("third");
	free(supervisor_log_await("third"));
	char *all = RUN(0, "logs");
	control_expect_text(all, "\"msg\":\"control socket: ");
	control_expect_text(all, "first");
	ck_assert_uint_eq(count_lines(RUN(0, "logs", "-n", "2")), 2);
	control_expect_text(RUN(0, "logs", "--lines", "1"), "\"third\"");
	ck_assert_str_eq(RUN(0, "logs", "--lines", "0"), "");
	char *errors = RUN(0, "logs", "--level", "error", "--json");
	ck_assert_uint_eq(count_lines(errors), 1);
	control_expect_text(errors, "second");
	char *slot = RUN(0, "logs", "--pool", fixture.queue, "--slot", "0", "-n", "100");
	ck_assert_ptr_null(strstr(slot, "control socket"));
	control_expect_text(slot, "third");
	ck_assert_str_eq(RUN(0, "logs", "--slot", "7"), "");
	control_expect_text(RUN(65, "logs", "--pool", "nobody"), "nobody");
	control_expect_text(RUN(64, "logs", "--level", "loud"), "'loud' is none of debug");
	control_expect_text(RUN(64, "logs", "-n", "x"), "--lines 'x' is no number");
	control_expect_text(RUN(64, "logs", "--json", "--text"), "contradict");
	control_expect_text(control_get("/v1/logs?level=loud", 400), "level is debug");
	control_expect_text(control_get("/v1/logs?slot=x", 400), "slot is a number");
	control_expect_text(control_get("/v1/logs?lines=-1", 400), "lines is a number");
}
END_TEST

START_TEST(follow_prints_new_lines_until_the_end)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_worker_pid();
	struct proc *all = fixture_wpool((const char *const[]){"logs", "--follow", NULL});
	struct proc *some = fixture_wpool(
		(const char *const[]){"logs", "-f", "--level", "error", "--lines", "0", NULL});
	command_expect_out(all, "control socket");
	/* It shows nothing of before, so it is told of again and again until it is there. */
	for (int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS); !has_printed(some, "\"zero\"");) {
		say("{\"level\":\"error\",\"msg\":\"zero\"}");
		fixture_poll(deadline, 20, "the second command follows");
	}
	proc_signal(all, SIGPIPE); /* a socket's, as its output has a reader: ignored */
	say("one");
	command_expect_out(all, "\"one\"");
	say("{\"level\":\"error\",\"msg\":\"two\"}");
	command_expect_out(all, "\"two\"");
	command_expect_out(some, "\"two\"");
	struct proc *gone = fixture_wpool((const char *const[]){"logs", "-f", NULL});
	command_expect_out(gone, "\"two\"");
	proc_signal(gone, SIGINT);
	ck_assert_int_eq(proc_wait(gone), 128 + SIGINT);
	fixture_stop(serve);
	ck_assert_int_eq(proc_wait(all), 0);
	ck_assert_int_eq(proc_wait(some), 0);
	control_expect_text(proc_stdout(all), "\"msg\":\"stopped, everything is settled\"}\n");
	ck_assert(!has_printed(some, "\"one\"") && !has_printed(some, "\"level\":\"info\""));
}
END_TEST

START_TEST(logs_on_terminal_are_text)
{
	char *wpool = strdup(fixture_built("wpool"));
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_worker_pid();
	struct terminal *terminal = terminal_start(120, 20,
		(const char *const[]){wpool, "logs", "-f", "--socket", control_socket(), NULL});
	terminal_expect(terminal, "control socket: ");
	say("{\"msg\":\"look\",\"level\":\"error\",\"n\":3}");
	control_expect_text(terminal_expect(terminal, "look"), "] stderr: look n=3");
	terminal_type(terminal, "\003");
	ck_assert_int_eq(terminal_wait(terminal), 128 + SIGINT);
	terminal_free(terminal);
	free(wpool);
	fixture_stop(serve);
}
END_TEST

/* ---------- levels ---------- */

START_TEST(log_level_changes_at_run_time)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_worker_pid();
	ck_assert_str_eq(RUN(0, "log-level"), "info\n");
	ck_assert_str_eq(RUN(0, "log-level", "debug"), "debug\n");
	proc_expect(serve, "log level: debug, was info");
	say("a");
	proc_expect(serve, "task x done in ");
	RUN(0, "log-level", "error");
	proc_expect(serve, "log level: error, was debug");
	say("hidden");
	say("{\"level\":\"error\",\"msg\":\"seen\"}");
	proc_expect(serve, "stderr: seen");
	ck_assert(!proc_has_logged(serve, "hidden"));
	char *answer = RUN(0, "log-level", "debug", fixture.queue);
	ck_assert_str_eq(answer, scratch_text("error\n%s: debug\n", fixture.queue));
	say("now it is");
	free(supervisor_log_await("stderr\",\"msg\":\"now it is\""));
	ck_assert_int_eq(proc_count_logged(serve, "task x done in "), 2);
	json_t *json = control_parse(RUN(0, "log-level", "info", "--json"));
	ck_assert_str_eq(control_text(json, "level"), "info");
	ck_assert_uint_eq(json_object_size(json_object_get(json, "pools")), 0);
	control_expect_text(RUN(64, "log-level", "loud"), "'loud' is none of");
	control_expect_text(RUN(65, "log-level", "info", "nobody"), "nobody");
	control_expect_text(RUN(64, "log-level", "info", "a", "b"), "unexpected 'b'");
	ck_assert_int_eq(
		http_request(control_socket(), "POST", "/v1/log-level?level=loud").status, 400);
	ck_assert_int_eq(http_request(control_socket(), "POST", "/v1/log-level").status, 400);
	struct http_reply reply = http_request(control_socket(), "DELETE", "/v1/log-level");
	ck_assert_int_eq(reply.status, 405);
	control_expect_text(reply.head, "Allow: GET, HEAD, POST");
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("logs", {json_lines_of_workers_stay_json, 1},
		{long_lines_and_odd_bytes_are_logged, 1}, {logs_prints_recent_lines, 1},
		{follow_prints_new_lines_until_the_end, 1}, {logs_on_terminal_are_text, 1},
		{log_level_changes_at_run_time, 1});
}
