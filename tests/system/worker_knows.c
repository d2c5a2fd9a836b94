/* What a worker knows and may decide, with both SDKs: its place, its attempt, the form of its tasks
 * and how the process before it ended, and the hard limit of the task in hand. The workers are
 * tests/workers/knowing.c and knowing.py. */
#include "harness/command.h"
#include "harness/control.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANGUAGES = 2 };

/* The pool "tested" of two workers in that language. Ready when this returns. */
static struct proc *serve(int language, const char *settings)
{
	const char *command = language == 0
				      ? scratch_text("\"%s\"", fixture_built("workers/knowing"))
				      : "/usr/bin/python3, tests/workers/knowing.py";
	struct proc *proc = fixture_serve_pools(scratch_text(
		"- {name: tested, queue: %s, command: [%s], workers: 2, properties: true, %s}\n",
		fixture.queue, command, settings));
	proc_expect(proc, "control socket: ");
	control_await("/readyz", 200);
	return proc;
}

static void post(const char *name, const char *body)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = body, .correlation_id = name});
}

/* "tested 1 of 2, attempt 3 of 3": slot and workers. */
static void expect_reply(const struct letter *letter, const char *workers, const char *attempts)
{
	struct message *reply = client_call(fixture.client, fixture.queue, letter);
	char slot[16], rest[100];
	ck_assert_msg(sscanf(reply->body, "tested %15[0-9] %99[^\n]", slot, rest) == 2, "%s",
		reply->body);
	ck_assert_int_lt(atoi(slot), 2);
	ck_assert_str_eq(rest, scratch_text("of %s, attempt %s", workers, attempts));
	message_free(reply);
}

/* Its last attempt is another one: by then the worker knows that a failure would be final. */
START_TEST(limit_of_the_worker_ends_all_attempts_but_the_last)
{
	struct proc *proc =
		serve(_i, "retry: {attempts: 3, delay: [100ms]}, limits: {hard: 1h, grace: 300ms}");
	expect_reply(&(struct letter){.body = "limit 300", .correlation_id = "l"}, "2", "3 of 3");
	ck_assert_int_eq(
		proc_count_logged(proc, "exceeded its hard limit, which it set itself with "
					"HardLimitMilliseconds (300 ms); ending it"),
		2);
	ck_assert(proc_has_logged(proc, "task l timed-out"));
	ck_assert(proc_has_logged(proc, "attempt 2 of 3; retrying"));
	expect_reply(&(struct letter){.body = "tell"}, "2", "1 of 3");
	ck_assert_int_eq(control_figure("totals", "retried"), 2);
	fixture_stop(proc);
}
END_TEST

/* A task without a limit of its own, which begins later, ends before it at that of the pool. */
START_TEST(limit_of_the_worker_may_be_longer)
{
	struct proc *proc = serve(_i, "retry: {attempts: 1}, limits: {hard: 3s, grace: 300ms}");
	post("long", scratch_text("wait 3600000 %s", fixture_release_path("long")));
	control_await_figure("tasks", "open", 1);
	post("short", "stay");
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert(message_text_is(dead->properties.correlation_id, "short"));
	ck_assert(message_header_is(dead, "x-wpool-reason", "timed-out"));
	message_free(dead);
	ck_assert(proc_has_logged(proc, "exceeded its hard limit (3.0 s); ending it"));
	fixture_release("long");
	control_await_figure("totals", "done", 1);
	ck_assert_int_eq(control_figure("totals", "retried"), 0);
	ck_assert_int_eq(control_figure("totals", "given_up"), 1);
	fixture_stop(proc);
}
END_TEST

/* Workers that start after a scale know the number of then. The new one has the slot that was left
 * free. */
START_TEST(scaled_workers_know_their_number)
{
	struct proc *proc = serve(_i, "retry: {attempts: 1}");
	control_expect_text(RUN(0, "scale", "tested", "1"), "1 worker wanted");
	control_await_figure("workers", "ready", 1);
	expect_reply(&(struct letter){.body = "tell"}, "2", "1 of 1");
	control_expect_text(RUN(0, "restart", "tested"), "");
	proc_expect(proc, "restarted: all workers are new");
	expect_reply(&(struct letter){.body = "tell"}, "1", "1 of 1");
	fixture_stop(proc);
}
END_TEST

/* The pid of the worker, which knows that of the one before it. */
static int expect_before(const char *before)
{
	struct message *reply =
		client_call(fixture.client, fixture.queue, &(struct letter){.body = "before"});
	char *rest;
	int pid = (int)strtol(reply->body, &rest, 10);
	ck_assert_str_eq(
		rest, scratch_text(": body: auto, headers: text, properties: true; %s", before));
	message_free(reply);
	return pid;
}

START_TEST(a_new_worker_knows_how_the_one_before_ended)
{
	struct proc *proc = serve(_i, "retry: {attempts: 3, delay: [100ms]}");
	control_expect_text(RUN(0, "scale", "tested", "1"), "1 worker wanted");
	control_await_figure("workers", "ready", 1);
	int pid = expect_before("none");
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	proc_expect_gone(pid);
	expect_before(scratch_text("%d signal 9", pid));
	fixture_stop(proc);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("worker_knows",
		{limit_of_the_worker_ends_all_attempts_but_the_last, LANGUAGES},
		{limit_of_the_worker_may_be_longer, LANGUAGES},
		{scaled_workers_know_their_number, LANGUAGES},
		{a_new_worker_knows_how_the_one_before_ended, LANGUAGES});
}
