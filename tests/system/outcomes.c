/* Every way in which a task can end, on both types of queue, with the supervisor killed, the broker
 * restarted, or neither: nothing is lost, no queue keeps a message, and the dead letters are the
 * expected ones, after the expected attempts. */
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define ATTEMPTS 3
#define TIMES    2 /* tasks of each outcome that ends a worker, or waits */
#define CHEAP    5 /* of the others */
#define PREFETCH 32

enum end { DONE, REPLIED, DEAD };

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
	{"done", {{NULL, NULL}}, NULL, CHEAP, DONE, NULL, 0, 0},
	{"reply", {{"X-Status", "201"}}, NULL, CHEAP, REPLIED, NULL, 0, 0},
	{"failed", {{"X-Status", "500"}}, NULL, CHEAP, DEAD, "failed", ATTEMPTS, ATTEMPTS - 1},
	{"recovering", {{"X-Fail-Until", "2"}}, NULL, CHEAP, DONE, NULL, 0, 2},
	{"rejected", {{"X-Status", "404"}}, NULL, CHEAP, DEAD, "rejected", 1, 0},
	{"crashing", {{"X-Crash", "11"}}, NULL, TIMES, DEAD, "crashed", ATTEMPTS, ATTEMPTS - 1},
	{"hanging", {{"X-Sleep-Ms", "600000"}}, NULL, TIMES, DEAD, "timed-out", ATTEMPTS,
		ATTEMPTS - 1},
	{"breaking", {{"X-Break", "1"}}, NULL, TIMES, DEAD, "protocol-error", ATTEMPTS,
		ATTEMPTS - 1},
	{"unroutable", {{"X-Status", "201"}}, "no-such-queue", CHEAP, DEAD, "unroutable", 1, 0},
	{"handed-back", {{"X-Hand-Back", "2"}}, NULL, CHEAP, DONE, NULL, 0, 2},
};
#define OUTCOMES (sizeof outcomes / sizeof *outcomes)

enum trouble { NONE, SUPERVISOR, BROKER, TROUBLES };

/* How often each task ended as expected. Its id is "name-number". */
struct account {
	int ends[OUTCOMES][CHEAP];
	int repeated;
};

static void post(const struct outcome *outcome, int number)
{
	char *id = scratch_text("%s-%d", outcome->name, number);
	struct letter letter = {.body = id,
		.correlation_id = id,
		.reply_to = outcome->reply_to ? outcome->reply_to : fixture.replies};
	for (size_t i = 0; i < 2 && outcome->headers[i].name; i++) {
		letter.headers[i].name = outcome->headers[i].name;
		letter.headers[i].value = outcome->headers[i].value;
	}
	client_post(fixture.client, fixture.queue, &letter);
	free(id);
}

static void post_all(void)
{
	for (int number = 0; number < CHEAP; number++)
		for (size_t i = 0; i < OUTCOMES; i++)
			if (number < outcomes[i].times)
				post(&outcomes[i], number);
}

static struct proc *serve(void)
{
	char *pool = scratch_text(
		"- {queue: %s, command: [\"%s\"], workers: 8, pipeline: 4,\n"
		"   prefetch: %d, properties: true, limits: {hard: 700ms, grace: 200ms},\n"
		"   retry: {attempts: %d, delay: [100ms, 200ms]}}\n",
		fixture.queue, fixture_built("workers/echo"), PREFETCH, ATTEMPTS);
	struct proc *proc = fixture_serve_pools(pool);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	free(pool);
	return proc;
}

/* ---------- the account ---------- */

static void book(struct account *account, const char *id, enum end end, struct message *message)
{
	for (size_t i = 0; i < OUTCOMES; i++) {
		const struct outcome *outcome = &outcomes[i];
		size_t length = strlen(outcome->name);
		if (strncmp(id, outcome->name, length) != 0 || id[length] != '-')
			continue;
		ck_assert_msg(outcome->end == end, "%s ended otherwise", id);
		int number = atoi(id + length + 1);
		ck_assert(number >= 0 && number < outcome->times);
		account->repeated += account->ends[i][number]++ > 0;
		if (end == DEAD) {
			ck_assert_msg(message_header_is(message, "x-wpool-reason", outcome->reason),
				"%s is not dead for being %s", id, outcome->reason);
			ck_assert_msg(message_header_number(message, "x-wpool-attempt") ==
					      outcome->attempts,
				"%s has %ld attempts", id,
				(long)message_header_number(message, "x-wpool-attempt"));
		}
		return;
	}
	ck_abort_msg("nobody published %s", id);
}

static void book_queue(struct account *account, const char *queue, enum end end)
{
	for (long left = broker_messages(fixture.broker, queue); left > 0; left--) {
		struct message *message = client_take(fixture.client, queue);
		book(account, message->body, end, message);
		message_free(message);
	}
}

static void book_witness(struct account *account)
{
	char *text = scratch_read(fixture.witness, NULL), *rest = NULL;
	ck_assert_ptr_nonnull(text);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		/* Tasks with a reply have a line, too, but their end is the reply. */
		if (strncmp(line, "reply-", 6) != 0 && strncmp(line, "unroutable-", 11) != 0)
			book(account, line, DONE, NULL);
	free(text);
}

/* The fault may come between an effect and its ack. A copy is delivered before its confirm has
 * come, so a task and all its copies may be unacked in that moment, and each may end again. */
static int ends_max(const struct outcome *outcome, enum trouble trouble)
{
	return trouble == NONE ? 1 : 2 + outcome->copies;
}

static void close_account(struct account *account, enum trouble trouble)
{
	book_queue(account, fixture.dead, DEAD);
	book_queue(account, fixture.replies, REPLIED);
	book_witness(account);
	for (size_t i = 0; i < OUTCOMES; i++)
		for (int number = 0; number < outcomes[i].times; number++) {
			int ends = account->ends[i][number];
			ck_assert_msg(ends > 0, "%s-%d is lost", outcomes[i].name, number);
			ck_assert_msg(ends <= ends_max(&outcomes[i], trouble),
				"%s-%d ended %d times", outcomes[i].name, number, ends);
		}
	ck_assert_int_le(account->repeated, trouble == NONE ? 0 : PREFETCH);
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
		"crashed, %d timed-out, %d protocol-error, %d unroutable), 0 replies dropped, 0 "
		"back to the broker unstarted, 0 cut short",
		4 * CHEAP, 2 * CHEAP, 4 * CHEAP + 6 * TIMES, 4 * CHEAP, 2 * TIMES, 2 * TIMES,
		2 * TIMES, 3 * CHEAP + 3 * TIMES, CHEAP, CHEAP, TIMES, TIMES, TIMES, CHEAP);
	proc_expect(proc, sums);
	free(sums);
}

START_TEST(every_task_ends_as_expected)
{
	static const enum client_queue kinds[] = {CLIENT_QUORUM, CLIENT_CLASSIC};
	enum trouble trouble = (enum trouble)(_i / 2);
	struct account account = {0};
	if (trouble == BROKER)
		fixture_use_own_broker();
	client_delete(fixture.client, fixture.queue);
	client_declare(fixture.client, fixture.queue, kinds[_i % 2]);
	struct proc *proc = serve();
	post_all();
	proc = make_trouble(proc, trouble);
	fixture_await_settled(delays);
	fixture_stop(proc);
	if (trouble == NONE)
		expect_sums(proc);
	fixture_await_settled(delays);
	close_account(&account, trouble);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("outcomes", {every_task_ends_as_expected, 2 * TROUBLES});
}
