/* A log with too many lines, and one that nobody reads: lost lines are counted and reported, and
 * messages are not delayed. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/exposition.h"
#include "harness/http.h"
#include "harness/supervisor_log.h"
#include "system/system.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLLOWERS 8 /* as many followers as the supervisor allows */

static const char *const one_worker[] = {"--workers", "1", "--pipeline", "1", NULL};

/* Lines logged and lines reported as dropped add up to all lines, and tasks are done meanwhile. */
START_TEST(log_rate_limits_a_flood)
{
	enum { FLOOD = 10000, TASKS = 300 };
	struct proc *serve =
		supervisor_log_serve_script("seq -f \"flood %.0f\" 10000 >&2 & :", "log_rate: 50,");
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	json_int_t logged = 0, dropped = 0;
	control_post_many(0, TASKS);
	control_expect_done(TASKS);
	while (logged + dropped < FLOOD) {
		json_t *answer = control_get_json("/v1/pools");
		const json_t *pool = control_member(answer, "pools", 0);
		logged = control_number(pool, "worker_lines", "logged");
		dropped = control_number(pool, "worker_lines", "dropped");
		json_decref(answer);
		fixture_poll(deadline, 20, "every line is counted as logged or dropped");
	}
	ck_assert_int_eq(logged + dropped, FLOOD);
	char *metrics = control_get("/metrics", 200);
	exposition_check(metrics);
	ck_assert(exposition_value(metrics, "wpool_worker_lines_total{pool=\"p\"}") == logged);
	ck_assert(exposition_value(metrics, "wpool_worker_lines_dropped_total{pool=\"p\"}") ==
		  dropped);
	fixture_stop(serve);
	char *said = proc_stderr(serve);
	json_int_t told = 0;
	for (const char *at = said; (at = strstr(at, " lines of workers were dropped")); at += 10) {
		const char *number = at;
		while (number[-1] != ' ')
			number--;
		told += atoll(number);
	}
	ck_assert_int_eq(told, dropped);
	ck_assert_int_eq(proc_count_logged(serve, "flood "), logged);
}
END_TEST

/* The largest lines: 15,900 control characters take four bytes each in text. Those in the log take
 * as many bytes as are counted, no more than the seconds allow, however many these were, and the
 * rest is dropped and counted. */
START_TEST(log_rate_limits_bytes)
{
	enum { FLOOD = 300, LINE = 4 * 15900, RATE = 1 << 20 };
	int64_t begin = deadline_now_ms(), span;
	struct proc *serve = supervisor_log_serve_script(
		"tr \"\\000\" \"\\033\" </dev/zero | fold -b -w 15900 | head -n 300 >&2 & :",
		"log_rate: [1000000000, 1MiB],");
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	json_int_t logged = 0, dropped = 0, bytes = 0, found = 0;
	while (logged + dropped < FLOOD) {
		json_t *answer = control_get_json("/v1/pools");
		const json_t *pool = control_member(answer, "pools", 0);
		logged = control_number(pool, "worker_lines", "logged");
		bytes = control_number(pool, "worker_lines", "logged_bytes");
		dropped = control_number(pool, "worker_lines", "dropped");
		json_decref(answer);
		fixture_poll(deadline, 20, "every line is counted as logged or dropped");
	}
	span = deadline_now_ms() - begin;
	ck_assert_int_eq(logged + dropped, FLOOD);
	ck_assert_int_ge(bytes, logged * LINE);
	ck_assert_int_le(bytes, RATE + span * RATE / 1000 + 2 * LINE);
	fixture_stop(serve);
	char *said = proc_stderr(serve);
	for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
		found += strstr(line, "\\x1b\\x1b") ? (json_int_t)strlen(line) + 1 : 0;
	ck_assert_int_eq(found, bytes);
	ck_assert_int_eq(proc_count_logged(serve, "\\x1b\\x1b"), logged);
	ck_assert((proc_count_logged(serve, ", or than 1MiB, in a second (log_rate)") > 0) ==
		  (dropped > 0));
}
END_TEST

/* ---------- readers ---------- */

/* A follower whose request is not answered yet. */
static int follow(void)
{
	static const char request[] =
		"GET /v1/logs?follow=true HTTP/1.0\r\nHost: localhost\r\n\r\n";
	int fd = http_connect(control_socket());
	http_send(fd, request, sizeof request - 1);
	return fd;
}

/* A follower that gets what is logged from now on. */
static int follow_answered(void)
{
	struct pollfd answered = {.fd = follow(), .events = POLLIN};
	ck_assert_int_eq(poll(&answered, 1, DEADLINE_DEFAULT_MS), 1);
	return answered.fd;
}

/* Read until the text comes. */
static void await_words(int fd, const char *words)
{
	char bytes[64 * 1024 + 1];
	size_t len = 0, keep = strlen(words) - 1; /* it may be cut by a read */
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	do {
		struct pollfd poller = {.fd = fd, .events = POLLIN};
		ck_assert_msg(poll(&poller, 1, deadline_left(deadline)) == 1, "never: %s", words);
		if (len > keep) {
			memmove(bytes, bytes + len - keep, keep);
			len = keep;
		}
		ssize_t n = read(fd, bytes + len, sizeof bytes - 1 - len);
		ck_assert_int_gt(n, 0);
		len += (size_t)n;
		bytes[len] = '\0';
	} while (!strstr(bytes, words));
}

/* One follower does not read, another is far too slow: tasks are done, memory is bounded, and a
 * slow reader gets the number of lines that it missed. */
START_TEST(slow_followers_delay_no_other)
{
	enum { TASKS = 200 };
	char *gate = scratch_path(fixture.folder, "gate");
	char *script = scratch_text("{ cat \"%s\"; seq -f \"flood %%.0f and some words to make it "
				    "longer\" 40000; } & :",
		gate);
	ck_assert_int_eq(mkfifo(gate, 0600), 0);
	struct proc *serve = supervisor_log_serve_script(script, "log_rate: [1000000, 512MiB],");
	int never = follow_answered(), slow = follow_answered();
	int opened = open(gate, O_WRONLY | O_CLOEXEC); /* the flood begins */
	ck_assert_int_ge(opened, 0);
	close(opened);
	control_post_many(0, TASKS);
	control_expect_done(TASKS);
	free(supervisor_log_await("flood 40000 "));
	await_words(slow, " log lines were missed: this reader is too slow\"}\n");
	fixture_stop(serve);
	close(slow);
	close(never);
	free(script);
	free(gate);
}
END_TEST

/* One follower more than allowed is refused. After a follower has left, another is accepted, even
 * if nothing is logged. */
START_TEST(follower_places_are_released)
{
	int fds[FOLLOWERS];
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_worker_pid();
	for (int i = 0; i < FOLLOWERS; i++)
		fds[i] = follow_answered();
	control_expect_text(control_get("/v1/logs?follow=true", 503),
		"too many clients wait or follow already");
	for (int i = 0; i < FOLLOWERS; i++)
		close(fds[i]);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	char byte = 0;
	do {
		int fd = follow();
		struct pollfd answered = {.fd = fd, .events = POLLIN};
		char head[13] = "";
		ck_assert_int_eq(poll(&answered, 1, deadline_left(deadline)), 1);
		ck_assert_int_eq(read(fd, head, 12), 12);
		byte = head[9]; /* of "HTTP/1.1 200" */
		close(fd);
		poll(NULL, 0, 20);
	} while (byte != '2');
	control_post_many(0, 100);
	control_expect_done(100);
	fixture_stop(serve);
}
END_TEST

/* ---------- a log that nobody takes ---------- */

static json_int_t lines_lost(void)
{
	json_t *status = control_get_json("/v1/status");
	json_int_t lost = json_integer_value(json_object_get(status, "log_lines_lost"));
	json_decref(status);
	return lost;
}

static struct proc *serve_into(const char *target)
{
	const char *const starter[] = {"sh", "-c", "exec \"$@\" 2>\"$0\"", target, NULL};
	char *pools = scratch_text("- {queue: %s, command: [\"%s\"], workers: 1, pipeline: 1}\n",
		fixture.queue, fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_under(starter, pools);
	free(pools);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (access(control_socket(), F_OK) != 0)
		fixture_poll(deadline, 20, "the control socket exists");
	control_await("/readyz", 200);
	return serve;
}

/* The contents of a pipe. */
static char *drained(int fd)
{
	enum { TEXT_SIZE = 1 << 20 };
	char *text = malloc(TEXT_SIZE);
	size_t len = 0;
	ssize_t got;
	while ((got = read(fd, text + len, TEXT_SIZE - 1 - len)) > 0)
		len += (size_t)got;
	text[len] = '\0';
	return text;
}

/* `wpool serve 2>&1 | reader` with a reader that stops: tasks are done, lost lines are counted, and
 * `wpool logs` still has them. When the reader resumes, the log has the number of lost lines. */
START_TEST(stalled_log_reader_delays_no_task)
{
	enum { TASKS = 3000 };
	char *fifo = scratch_path(fixture.folder, "log");
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	int fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct proc *serve = serve_into(fifo);
	RUN(0, "log-level", "debug");
	control_post_many(0, TASKS);
	control_expect_done(TASKS);
	json_int_t lost = lines_lost();
	ck_assert_int_gt(lost, 0);
	control_expect_text(RUN(0, "logs", "-n", "20"), " done in ");
	free(drained(fd));
	RUN(0, "log-level", "info");
	char *said = drained(fd);
	control_expect_text(said, "log lines were lost here: stderr could not be written\n");
	control_expect_text(said, "log level: info, was debug\n");
	ck_assert_int_eq(lines_lost(), lost);
	close(fd); /* now the reader closes the pipe */
	RUN(0, "log-level", "debug");
	control_post_many(TASKS, TASKS + 100);
	control_expect_done(TASKS + 100);
	ck_assert_int_gt(lines_lost(), lost);
	fixture_stop(serve);
}
END_TEST

START_TEST(full_disk_delays_no_task)
{
	struct proc *serve = serve_into("/dev/full");
	control_post_many(0, 200);
	control_expect_done(200);
	ck_assert_int_gt(lines_lost(), 0);
	control_expect_text(RUN(0, "logs"), "control socket: ");
	char *metrics = control_get("/metrics", 200);
	ck_assert(exposition_value(metrics, "wpool_log_lines_lost_total") > 0);
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("log_overload", {log_rate_limits_a_flood, 1}, {log_rate_limits_bytes, 1},
		{slow_followers_delay_no_other, 1}, {follower_places_are_released, 1},
		{stalled_log_reader_delays_no_task, 1}, {full_disk_delays_no_task, 1});
}
