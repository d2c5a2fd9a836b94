/* The supervisor is killed at labelled points between answer, publish, confirm and ack, and another
 * one continues: nothing is lost, and no more tasks are repeated than were in flight. */
#include "harness/deadline.h"
#include "harness/ends.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PREFETCH 16
#define EACH     10 /* tasks of each kind */

#define COUNTS 3

/* The label, and at which passes of it. Flushes happen once in each turn of the loop; the first
 * turns only log in. */
static const struct point {
	const char *label;
	int counts[COUNTS];
} points[] = {
	{"delivery-taken", {1, 3, 8}},
	{"answer-read", {1, 3, 8}},
	{"copy-published", {1, 3, 8}},
	{"before-flush", {25, 40, 60}},
	{"acks-flushed", {25, 40, 60}},
	{"copies-flushed", {25, 40, 60}},
	{"confirm-received", {1, 3, 8}},
	{"confirm-counted", {1, 3, 8}},
	{"ack-appended", {1, 3, 8}},
};
#define POINTS (int)(sizeof points / sizeof *points)

/* Task number N is of kind N % KINDS. */
enum { DONE, REPLIED, FAILED, REJECTED, KINDS };
static const char *const statuses[KINDS] = {"200", "201", "500", "404"};

static const char *const delays[] = {"100ms", NULL};

static struct proc *serve(const char *program, const char *crash_at)
{
	char *text = scratch_text("broker: {url: \"%s\"}\npools:\n"
				  "- {queue: %s, command: [\"%s\"], workers: 2, pipeline: 4,\n"
				  "   prefetch: %d, retry: {attempts: 2, delay: [100ms]}}\n",
		broker_url(fixture.broker), fixture.queue, fixture_built("workers/echo"), PREFETCH);
	char *path = scratch_path(fixture.folder, "wpool.yaml");
	char *witness = scratch_text("WITNESS=%s", fixture.witness);
	char *point = scratch_text("WPOOL_CRASH_AT=%s", crash_at);
	const char *argv[] = {fixture_built(program), "serve", "--config", path, NULL};
	const char *environment[] = {witness, point, NULL};
	scratch_write(path, text);
	struct proc *proc = proc_start(fixture.folder, argv, environment);
	free(text);
	free(path);
	free(witness);
	free(point);
	return proc;
}

static void post_all(void)
{
	for (int i = 0; i < KINDS * EACH; i++) {
		char *id = scratch_text("%d", i);
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = id,
				.correlation_id = id,
				.reply_to = fixture.replies,
				.headers = {{"X-Status", statuses[i % KINDS]}}});
		free(id);
	}
}

static void check_attempt(long number, const struct message *dead)
{
	ck_assert_int_eq(
		message_header_number(dead, "x-wpool-attempt"), number % KINDS == FAILED ? 2 : 1);
}

static void expect_all_ended(const char *crash_at)
{
	static const enum end expected[KINDS] = {END_DONE, END_REPLIED, END_DEAD, END_DEAD};
	struct ends ends = {.at = ends_fixture_place()};
	int repeated = 0;
	for (int i = 0; i < KINDS * EACH; i++)
		ends_add(&ends, expected[i % KINDS], i % KINDS == REPLIED);
	ends_read(&ends, check_attempt);
	for (int i = 0; i < KINDS * EACH; i++) {
		ck_assert_msg(ends.tasks[i].count > 0, "%s: %d is lost", crash_at, i);
		repeated += ends.tasks[i].count - 1;
	}
	ck_assert_msg(repeated <= PREFETCH, "%s: %d repeated", crash_at, repeated);
	printf("%s: %d repeated\n", crash_at, repeated);
	ends_release(&ends);
}

/* A starved supervisor does all tasks in a few turns of its loop; each signal makes one more. */
static void await_crash(struct proc *proc)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (proc_is_alive(proc)) {
		if (proc_has_logged(proc, "consuming queue")) /* it handles signals */
			proc_signal(proc, SIGUSR1);
		fixture_poll(deadline, 50, "the supervisor crashes");
	}
}

START_TEST(crash_at_any_point_loses_nothing)
{
	const struct point *point = &points[_i / COUNTS];
	char *crash_at = scratch_text("%s:%d", point->label, point->counts[_i % COUNTS]);
	struct proc *first = serve("wpool-crash", crash_at);
	post_all();
	await_crash(first);
	ck_assert_int_eq(proc_wait(first), 128 + SIGKILL);
	struct proc *second = serve("wpool", "");
	client_expect_consumers(fixture.client, fixture.queue, 1);
	fixture_await_settled(delays);
	fixture_stop(second);
	fixture_await_settled(delays);
	expect_all_ended(crash_at);
	proc_free(first);
	proc_free(second);
	free(crash_at);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("crash points", {crash_at_any_point_loses_nothing, POINTS * COUNTS});
}
