/* The worker of the SDK checks in C: the first word of the body is a command, the rest its
 * argument. probe.py is the same worker in Python; both give the same answers. */
#include "sdk/probe_replies.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wpool/worker.h>

static void do_done(struct wpool_task *task, const char *rest)
{
	(void)rest;
	wpool_done(task);
}

static void do_reply(struct wpool_task *task, const char *rest)
{
	reply_text(task, rest);
}

static void do_reply_to(struct wpool_task *task, const char *rest)
{
	wpool_reply_to(task, rest, "elsewhere", 9);
}

static void do_header(struct wpool_task *task, const char *rest)
{
	wpool_reply_header(task, "a", "first");
	wpool_reply_header(task, "n", "text");
	wpool_reply_header(task, "a", rest);
	wpool_reply_header_integer(task, "n", -40000);
	reply_text(task, "with headers");
}

static void do_reject(struct wpool_task *task, const char *rest)
{
	wpool_reject(task, atoi(rest));
}

static void do_fail(struct wpool_task *task, const char *rest)
{
	wpool_fail(task, atoi(rest));
}

static void do_fail_after(struct wpool_task *task, const char *rest)
{
	wpool_fail_after(task, 503, atoi(rest));
}

static void do_postpone(struct wpool_task *task, const char *rest)
{
	wpool_postpone(task, atoll(rest));
}

static void do_nothing(struct wpool_task *task, const char *rest)
{
	(void)task;
	(void)rest;
}

static void do_accept(struct wpool_task *task, const char *rest)
{
	(void)rest;
	wpool_accept(task);
	wpool_done(task);
	if (wpool_accept(task) == 0)
		fprintf(stderr, "accepted after the answer\n");
}

static void do_progress(struct wpool_task *task, const char *rest)
{
	wpool_progress(task, rest, strlen(rest));
	wpool_done(task);
}

static void do_hard_limit(struct wpool_task *task, const char *rest)
{
	if (atoll(rest) > 0)
		wpool_reply_header(task, "a", "of the answer");
	if (wpool_set_hard_limit(task, atoll(rest)) < 0)
		wpool_fail(task, 500);
	else
		reply_text(task,
			wpool_set_hard_limit(task, 0) < 0 &&
					wpool_set_hard_limit(task, WPOOL_HARD_LIMIT_MAX + 1) < 0
				? "set"
				: "also a bad one");
}

static void do_hand_back(struct wpool_task *task, const char *rest)
{
	wpool_reply_header(task, "step", "2");
	wpool_hand_back(task, rest, strlen(rest));
}

static void do_facts(struct wpool_task *task, const char *rest)
{
	char text[512];
	const char *a = wpool_task_header(task, "a");
	struct wpool_value id = {.kind = WPOOL_NIL};
	bool has_id = wpool_task_property(task, "message_id", &id) && id.kind == WPOOL_TEXT;
	(void)rest;
	snprintf(text, sizeof text, "%s,%s,%s,%s,%s",
		wpool_task_body_is_text(task) ? "text" : "bytes", wpool_task_correlation_id(task),
		wpool_task_queue(task), a ? a : "none", has_id ? id.text.data : "none");
	reply_text(task, text);
}

static void do_attempts(struct wpool_task *task, const char *rest)
{
	char text[64];
	(void)rest;
	snprintf(
		text, sizeof text, "%u of %u", wpool_task_attempt(task), wpool_task_attempts(task));
	reply_text(task, wpool_task_attempts(task) ? text : "not known");
}

static void do_limit(struct wpool_task *task, const char *rest)
{
	(void)rest;
	reply_text(task, wpool_task_remaining_ms(task) == WPOOL_NO_LIMIT ? "none"
			 : wpool_task_remaining_ms(task) > 0             ? "some"
									 : "over");
}

static void do_size(struct wpool_task *task, const char *rest)
{
	char text[32];
	(void)rest;
	snprintf(text, sizeof text, "%zu", wpool_task_body(task).len);
	reply_text(task, text);
}

static void do_should_stop(struct wpool_task *task, const char *rest)
{
	(void)rest;
	reply_text(task, wpool_should_stop(task) ? "yes" : "no");
}

/* Report progress, and work until asked to stop. */
static void do_until_stop(struct wpool_task *task, const char *rest)
{
	(void)rest;
	wpool_progress(task, "begun", 5);
	while (!wpool_should_stop(task))
		usleep(1000);
	reply_text(task, "stopped");
}

static void do_request_twice(struct wpool_task *task, const char *rest)
{
	(void)rest;
	wpool_progress(task, "begun", 5);
	while (!wpool_should_stop(task))
		usleep(1000);
	reply_text(task, wpool_should_stop(task) ? "stopped" : "not stopped");
}

/* A child that holds all our descriptors, and outlives the task. */
static void do_fork(struct wpool_task *task, const char *rest)
{
	pid_t parent = getpid();
	(void)rest;
	if (fork() == 0) {
		while (getppid() == parent)
			usleep(10000);
		_exit(0);
	}
	reply_text(task, "forked");
}

/* What a program started by a handler would read. */
static void do_stdin(struct wpool_task *task, const char *rest)
{
	char byte;
	(void)rest;
	reply_text(task, read(STDIN_FILENO, &byte, 1) == 0 ? "empty" : "not empty");
}

static const struct action {
	const char *name;
	void (*act)(struct wpool_task *, const char *rest);
} actions[] = {
	{"done", do_done},
	{"reply", do_reply},
	{"reply-to", do_reply_to},
	{"header", do_header},
	{"reject", do_reject},
	{"fail", do_fail},
	{"fail-after", do_fail_after},
	{"postpone", do_postpone},
	{"nothing", do_nothing},
	{"accept", do_accept},
	{"progress", do_progress},
	{"hard-limit", do_hard_limit},
	{"hand-back", do_hand_back},
	{"facts", do_facts},
	{"attempts", do_attempts},
	{"limit", do_limit},
	{"size", do_size},
	{"large", do_large},
	{"should-stop", do_should_stop},
	{"until-stop", do_until_stop},
	{"ask-twice", do_request_twice},
	{"fork", do_fork},
	{"stdin", do_stdin},
};

/* What a task holds, for sdk_vectors.c. */
static void report(struct wpool_task *task)
{
	struct wpool_text body = wpool_task_body(task), name;
	struct wpool_value value;
	char key[128];
	wpool_reply_header(task, "correlation_id", wpool_task_correlation_id(task));
	wpool_reply_header(task, "queue", wpool_task_queue(task));
	if (wpool_task_session(task).len > 0)
		wpool_reply_header(task, "session", wpool_task_session(task).data);
	wpool_reply_header(task, "type", wpool_task_body_is_text(task) ? "str" : "bin");
	for (size_t i = 0; i < wpool_task_header_count(task); i++) {
		if (!wpool_task_header_at(task, i, &name, &value))
			continue;
		snprintf(key, sizeof key, "h.%.*s", (int)name.len, name.data);
		wpool_reply_header(task, key, value.text.data);
	}
	wpool_reply(task, body.data, body.len);
}

static void handle(struct wpool_task *task, void *context)
{
	(void)context;
	if (getenv("PROBE_REPORTS")) {
		report(task);
		return;
	}
	struct wpool_text body = wpool_task_body(task);
	size_t word = strcspn(body.data, " ");
	const char *rest = body.data + word + (body.data[word] == ' ');
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
		if (strlen(actions[i].name) == word &&
			memcmp(actions[i].name, body.data, word) == 0)
			actions[i].act(task, rest);
}

static void on_signal(int number)
{
	(void)number;
}

int main(void)
{
	struct sigaction interrupting = {.sa_handler = on_signal};
	sigaction(SIGUSR1, &interrupting, NULL);
	return wpool_worker_run(handle, NULL);
}
