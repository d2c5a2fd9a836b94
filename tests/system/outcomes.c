/* Every way in which a task can end, on both types of queue, with the supervisor killed, the broker
 * restarted, or neither: nothing is lost, no queue keeps a message, and the dead letters are the
 * expected ones, after the expected attempts. */
#include "harness/ends.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ATTEMPTS 3
#define TIMES    2 /* tasks of each outcome that ends a worker, or waits */
#define CHEAP    5 /* of the others */
#define PREFETCH 32

/* The headers that make a worker do it, and how the task must end. */
static const struct outcome {
	const char *name;
	struct {
		const char *name, *value;
	} headers[2];
	const char *reply_to; /* NULL: the test's own queue */
	int times;
	enum end end;
	const char *reason;
	int attempts;
	int copies; /* copies published before that end */
} outcomes[] = {
	{"done", {{NULL, NULL}}, NULL, CHEAP, END_DONE, NULL, 0, 0},
	{"reply", {{"X-Status", "201"}}, NULL, CHEAP, END_REPLIED, NULL, 0, 0},
	{"failed", {{"X-Status", "500"}}, NULL, CHEAP, END_DEAD, "failed", ATTEMPTS, ATTEMPTS - 1},
	{"recovering", {{"X-Fail-Until", "2"}}, NULL, CHEAP, END_DONE, NULL, 0, 2},
	{"rejected", {{"X-Status", "404"}}, NULL, CHEAP, END_DEAD, "rejected", 1, 0},
	{"crashing", {{"X-Crash", "11"}}, NULL, TIMES, END_DEAD, "crashed", ATTEMPTS, ATTEMPTS - 1},
	{"hanging", {{"X-Sleep-Ms", "600000"}, {"X-Hard-Limit-Ms", "700"}}, NULL, TIMES, END_DEAD,
		"timed-out", ATTEMPTS, ATTEMPTS - 1},
	{"breaking", {{"X-Break", "1"}}, NULL, TIMES, END_DEAD, "protocol-error", ATTEMPTS,
		ATTEMPTS - 1},
	{"unroutable", {{"X-Status", "201"}}, "no-such-queue", CHEAP, END_DEAD, "unroutable", 1, 0},
	{"handed-back", {{"X-Hand-Back", "2"}}, NULL, CHEAP, END_DONE, NULL, 0, 2},
};
#define OUTCOMES (sizeof outcomes / sizeof *outcomes)

enum trouble { NONE, SUPERVISOR, BROKER, TROUBLES };

/* The outcome of each task, by its number. */
static const struct outcome *posted[OUTCOMES * CHEAP];

static void post(struct ends *ends, const struct outcome *outcome)
{
	char *id = scratch_text("%ld", ends->count);
	struct letter letter = {.body = id,
		.correlation_id = id,
		.reply_to = outcome->reply_to ? outcome->reply_to : fixture.replies};
	bool asks_for_reply = false;
	for (size_t i = 0; i < 2 && outcome->headers[i].name; i++) {
		letter.headers[i].name = outcome->headers[i].name;
		letter.headers[i].value = outcome->headers[i].value;
		asks_for_reply |= strcmp(outcome->headers[i].value, "201") == 0;
	}
	posted[ends->count] = outcome;
	ends_add(ends, outcome->end, asks_for_reply);
	client_post(fixture.client, fixture.queue, &letter);
	free(id);
}

static void post_all(struct ends *ends)
{
	for (int number = 0; number < CHEAP; number++)
		for (size_t i = 0; i < OUTCOMES; i++)
			if (number < outcomes[i].times)
				post(ends, &outcomes[i]);
}

static struct proc *serve(void)
{
	char *pool = scratch_text(
		"- {queue: %s, command: [\"%s\"], workers: 8, pipeline: 4,\n"
		"   prefetch: %d, properties: true, limits: {hard: 1h, grace: 200ms},\n"
		"   retry: {attempts: %d, delay: [100ms, 200ms]}}\n",
		fixture.queue, fixture_built("workers/echo"), PREFETCH, ATTEMPTS);
	struct proc *proc = fixture_serve_pools(pool);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	free(pool);
	return proc;
}

/* ---------- how the tasks ended ---------- */

static void check_dead(long number, const struct message *dead)
{
	const struct outcome *outcome = posted[number];
	long attempts = (long)message_header_number(dead, "x-wpool-attempt");
	ck_assert_msg(message_header_is(dead, "x-wpool-reason", outcome->reason),
		"%s %ld is dead for another reason than %s", outcome->name, number,
		outcome->reason);
	ck_assert_msg(attempts == outcome->attempts, "%s %ld is dead after %ld attempts, not %d",
		outcome->name, number, attempts, outcome->attempts);
}

/* The fault may come between an effect and its ack. A copy is delivered before its confirm has
 * come, so a task and all its copies may be unacked in that moment, and each may end again. */
static int ends_max(const struct outcome *outcome, enum trouble trouble)
{
	return trouble == NONE ? 1 : 2 + outcome->copies;
}

static void expect_all_ended(struct ends *ends, enum trouble trouble)
{
	int repeated = 0;
	ends_read(ends, check_dead);
	for (long i = 0; i < ends->count; i++) {
		int count = ends->tasks[i].count;
		ck_assert_msg(count > 0, "%s %ld is lost", posted[i]->name, i);
		ck_assert_msg(count <= ends_max(posted[i], trouble), "%s %ld ended %d times",
			posted[i]->name, i, count);
		repeated += count - 1;
	}
	ck_assert_int_le(repeated, trouble == NONE ? 0 : PREFETCH);
	ends_release(ends);
}

/* ---------- the way there ---------- */

static const char *const delays[] = {"100ms", "200ms", NULL};

/* Wait until some tasks have ended, some wait for a retry, and some are with workers. */
static void await_middle(struct proc *proc)
{
	for (int i = 0; i < 2 * TIMES; i++)
		proc_expect(proc, "retrying");
}

static struct proc *make_trouble(struct proc *proc, enum trouble trouble)
{
	if (trouble == NONE)
		return proc;
	await_middle(proc);
	if (trouble == SUPERVISOR) {
		proc_signal(proc, SIGKILL);
		ck_assert_int_eq(proc_wait(proc), 128 + SIGKILL);
		return serve();
	}
	broker_command(fixture.broker, "restart");
	fixture_reconnect();
	client_expect_consumers(fixture.client, fixture.queue, 1);
	return proc;
}

/* Without a fault every count is exact. */
static void expect_sums(struct proc *proc)
{
	char *sums = scratch_text(
		"drained: %d done, %d handed on in slices, %d retried (%d failed, %d crashed, "
		"%d timed-out, %d protocol-error), %d given up (%d failed, %d rejected, %d "
		"crashed, %d timed-out, %d protocol-error, %d unroutable)\n",
		4 * CHEAP, 2 * CHEAP, 4 * CHEAP + 6 * TIMES, 4 * CHEAP, 2 * TIMES, 2 * TIMES,
		2 * TIMES, 3 * CHEAP + 3 * TIMES, CHEAP, CHEAP, TIMES, TIMES, TIMES, CHEAP);
	proc_expect(proc, sums);
	free(sums);
}

START_TEST(every_task_ends_as_expected)
{
	static const enum client_queue kinds[] = {CLIENT_QUORUM, CLIENT_CLASSIC};
	enum trouble trouble = (enum trouble)(_i / 2);
	if (trouble == BROKER)
		fixture_use_own_broker();
	struct ends ends = {.at = ends_fixture_place()};
	fixture_declare(kinds[_i % 2]);
	struct proc *proc = serve();
	post_all(&ends);
	proc = make_trouble(proc, trouble);
	fixture_await_settled(delays);
	fixture_stop(proc);
	if (trouble == NONE)
		expect_sums(proc);
	fixture_await_settled(delays);
	expect_all_ended(&ends, trouble);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("outcomes", {every_task_ends_as_expected, 2 * TROUBLES});
}
