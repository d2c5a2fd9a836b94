/* Misbehaving workers: the task of such a worker ends as expected, all other tasks are done, and
 * the supervisor stops cleanly. */
#include "harness/bad_worker.h"
#include "harness/control.h"
#include "system/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS 6

/* A task that must succeed gets a limit that no slow machine reaches. The other tasks have attempts
 * to spare. */
static struct proc *serve_evil(const char *behaviour)
{
	char *command =
		scratch_text("%s\", \"%s\", \"EVIL", fixture_built("workers/evil"), behaviour);
	char *settings = scratch_text(
		"limits: {hard: %s, grace: 300ms, boot: 1s}, retry: {attempts: 3, delay: [100ms]}",
		bad_worker_is_harmless(behaviour) ? "1min" : "1s");
	struct proc *serve = fixture_serve_pool(settings, command);
	free(settings);
	free(command);
	return serve;
}

static void expect_burned(const char *behaviour)
{
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert_msg(strcmp(dead->body, "EVIL") == 0, "%s: %s is dead", behaviour, dead->body);
	message_free(dead);
}

/* A retry returns to the queue also without a supervisor. */
static void expect_nothing_waits(void)
{
	char *waiting = scratch_text("%s.retry.100ms", fixture.queue);
	if (broker_messages(fixture.broker, waiting) > 0)
		broker_expect_messages(fixture.broker, waiting, 0);
	free(waiting);
}

/* From the summary at the end. An answer without a task may settle the task that is just being
 * sent, because a frame does not name its task. */
static long done_by(struct proc *serve)
{
	char *said = proc_stderr(serve);
	const char *sums = strstr(said, "drained: ");
	ck_assert_ptr_nonnull(sums);
	long done = strtol(sums + strlen("drained: "), NULL, 10);
	free(said);
	return done;
}

static void try_behaviour(const char *behaviour)
{
	struct proc *serve = serve_evil(behaviour);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "EVIL", .reply_to = fixture.replies});
	for (int i = 0; i < NEIGHBOURS; i++)
		client_send(fixture.client, fixture.queue, "good");
	if (bad_worker_never_works(behaviour)) {
		proc_expect(serve, "starting another in");
	} else {
		/* Another task may be repeated: the worker died while it was at the head of its
		 * pipe. */
		broker_expect_messages(fixture.broker, fixture.queue, 0);
		expect_nothing_waits();
		broker_expect_messages(fixture.broker, fixture.queue, 0);
		if (!bad_worker_is_harmless(behaviour))
			expect_burned(behaviour);
	}
	fixture_stop(serve);
	expect_nothing_waits();
	long left = broker_messages(fixture.broker, fixture.queue);
	long dead = client_ready(fixture.client, fixture.dead), done = done_by(serve);
	if (strcmp(behaviour, "answer-without-task") != 0 && bad_worker_never_works(behaviour))
		ck_assert_int_eq(done, 0);
	if (bad_worker_never_works(behaviour))
		ck_assert_msg(left + (dead > 0 ? dead : 0) + done == NEIGHBOURS + 1,
			"%s: %ld left, %ld dead and %ld done of %d", behaviour, left, dead, done,
			NEIGHBOURS + 1);
	else
		ck_assert_msg(
			left == 0 && dead <= 0, "%s: %ld left, %ld dead", behaviour, left, dead);
	client_purge(fixture.client, fixture.queue);
}

/* An eighth of the behaviours in each loop, so that a hang names few of them. */
START_TEST(every_bad_worker_is_survived)
{
	static struct bad_behaviours manners;
	bad_worker_read(&manners);
	for (int i = _i; i < manners.count; i += 8)
		try_behaviour(manners.names[i]);
}
END_TEST

/* What the log has of a worker's protocol error, and what the control socket has. */
static const struct {
	const char *behaviour, *log, *exit, *detail;
} errors[] = {
	{"http-text",
		"worker broke the pipe protocol: a frame over max_frame (48 54 54 50 is 1213486160, "
		"max_frame is 17825792; this looks like HTTP: \"HTTP/1.1 400 Bad Request...\"); "
		"killing it",
		"signal 9 (Killed), ended by wpool: a frame over max_frame",
		"48 54 54 50 is 1213486160, max_frame is 17825792; this looks like HTTP: "
		"\"HTTP/1.1 400 Bad Request...\""},
	{"little-endian", "max_frame is 17825792; this looks like a little-endian 5); killing it",
		"signal 9 (Killed), ended by wpool: a frame over max_frame",
		"05 00 00 00 is 83886080, max_frame is 17825792; this looks like a little-endian 5"},
	{"unknown-status", "task #1 protocol-error (an unknown status: 999), attempt 1 of 1",
		"signal 9 (Killed), ended by wpool: an unknown status", "999"},
	{"boolean-keys", "a key that is neither text nor 0 to 9 (true); killing it",
		"signal 9 (Killed), ended by wpool: a key that is neither text nor 0 to 9", "true"},
	{"half-frame",
		"worker died: exit status 0 (6 of the 9 bytes of a frame came: 00 00 00 05 81 a1)",
		"exit status 0", "6 of the 9 bytes of a frame came: 00 00 00 05 81 a1"},
	{"half-frame-and-hang",
		"worker died: signal 15 (Terminated) (6 of the 9 bytes of a frame came: ",
		"signal 15 (Terminated), ended by wpool: hard limit",
		"6 of the 9 bytes of a frame came: 00 00 00 05 81 a1"},
};

START_TEST(a_protocol_error_shows_what_came)
{
	struct proc *serve = fixture_serve_pools(
		scratch_text("- {name: tested, queue: %s, command: ['%s', '%s', EVIL], workers: 1, "
			     "limits: {hard: %s, grace: 300ms}, retry: {attempts: 1}}\n",
			fixture.queue, fixture_built("workers/evil"), errors[_i].behaviour,
			strstr(errors[_i].exit, "hard limit") ? "1s" : "1min"));
	client_send(fixture.client, fixture.queue, "EVIL");
	proc_expect(serve, errors[_i].log);
	control_await_figure("totals", "worker_deaths", 1);
	const json_t *pool = control_member(control_get_json("/v1/pools"), "pools", 0);
	const json_t *worker = control_member(control_get_json("/v1/workers"), "workers", 0);
	const json_t *death = json_object_get(pool, "last_death"),
		     *exit = json_object_get(worker, "last_exit");
	ck_assert_str_eq(control_text(death, "exit"), errors[_i].exit);
	ck_assert_str_eq(control_text(death, "detail"), errors[_i].detail);
	ck_assert_str_eq(control_text(exit, "exit"), errors[_i].exit);
	ck_assert_str_eq(control_text(exit, "detail"), errors[_i].detail);
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("bad_workers", {every_bad_worker_is_survived, 8},
		{a_protocol_error_shows_what_came, (int)(sizeof errors / sizeof *errors)});
}
