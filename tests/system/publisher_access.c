/* A publisher may forge every header, and name any reply queue. None of it makes wpool, with its
 * own rights at the broker, publish to a queue that the operator did not name, nor any other task
 * wait. */
#include "harness/command.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

/* A queue of the broker to which the publisher has no access. */
static char *victim;

static void declare_victim(void)
{
	ck_assert_int_gt(asprintf(&victim, "%s.victim", fixture.queue), 0);
	client_declare(fixture.client, victim, CLIENT_QUORUM);
}

static char *replay(int code, const char *option)
{
	struct proc *proc = fixture_wpool((const char *const[]){"dead-letters", "replay", "--queue",
		fixture.queue, "--broker", broker_url(fixture.broker), option, NULL});
	int got = proc_wait(proc);
	char *errors = proc_stderr(proc);
	ck_assert_msg(got == code, "replay ended with %d, not %d: %s", got, code, errors);
	char *output = proc_stdout(proc);
	char *both;
	ck_assert_int_gt(asprintf(&both, "%s%s", errors, output), 0);
	free(errors);
	free(output);
	return both;
}

/* The pool writes its own queue into the dead letter, so the replay goes there. */
START_TEST(forged_queue_moves_no_dead_letter)
{
	declare_victim();
	struct proc *serve =
		fixture_serve_pool("retry: {attempts: 1}", fixture_built("workers/echo"));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "forged",
			.headers = {{"x-wpool-queue", victim}, {"X-Status", "400"}}});
	client_expect_ready(fixture.client, fixture.dead, 1);
	fixture_stop(serve);
	command_expect_text(replay(0, NULL), "1 matched, 1 replayed, ");
	ck_assert_int_eq(broker_messages(fixture.broker, victim), 0);
	struct message *message = client_take(fixture.client, fixture.queue);
	ck_assert_str_eq(message->body, "forged");
	ck_assert_ptr_null(message_header(message, "x-wpool-queue"));
	message_free(message);
}
END_TEST

/* A letter that no pool has written: a policy moved it, or the publisher itself did. */
START_TEST(letter_that_names_another_queue_is_left)
{
	declare_victim();
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	client_post(fixture.client, fixture.dead,
		&(struct letter){.body = "forged", .headers = {{"x-wpool-queue", victim}}});
	client_post(fixture.client, fixture.dead,
		&(struct letter){.body = "own", .headers = {{"x-wpool-queue", fixture.queue}}});
	char *said = replay(64, NULL);
	command_expect_text(strdup(said), "1 left that name another queue");
	command_expect_text(strdup(said), "2 matched, 1 replayed, ");
	command_expect_text(said, victim);
	client_expect(fixture.client, fixture.queue, "own");
	ck_assert_int_eq(broker_messages(fixture.broker, victim), 0);
	client_expect_ready(fixture.client, fixture.dead, 1);
	command_expect_text(replay(64, "--json"), "\"elsewhere\":1,");
	command_expect_text(replay(0, "--by-header"), "1 matched, 1 replayed, ");
	client_expect(fixture.client, victim, "forged");
}
END_TEST

/* The worker hands the rest back to the queue that it was told, which is the pool's; and the copies
 * on their way through a retry queue come back to the pool's. */
START_TEST(forged_queue_moves_no_rest_and_no_retry)
{
	declare_victim();
	struct proc *serve =
		fixture_serve_pool("properties: true, retry: {attempts: 2, delay: 100ms}",
			fixture_built("workers/echo"));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "rest",
			.reply_to = fixture.replies,
			.headers = {{"x-wpool-queue", victim}, {"X-Hand-Back", "2"},
				{"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, "rest");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "retried",
			.reply_to = fixture.replies,
			.headers = {{"x-wpool-queue", victim}, {"X-Fail-Until", "1"},
				{"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, "retried");
	fixture_await_settled((const char *const[]){"100ms", NULL});
	ck_assert_int_eq(broker_messages(fixture.broker, victim), 0);
	fixture_stop(serve);
}
END_TEST

/* A message that was renewed three times waits until all other tasks have ended. */
START_TEST(forged_renewals_make_no_task_wait)
{
	amqp_table_entry_t headers[] = {
		{amqp_cstring_bytes("x-wpool-renewed"), {.kind = AMQP_FIELD_KIND_I32, {.i32 = 3}}},
		{amqp_cstring_bytes("X-Status"),
			{.kind = AMQP_FIELD_KIND_UTF8, {.bytes = amqp_cstring_bytes("201")}}},
	};
	struct proc *serve = fixture_serve_ready((const char *const[]){"--workers", "2", NULL},
		(const char *const[]){fixture_built("workers/echo"), NULL});
	fixture_post_held(serve, "held");
	client_publish(fixture.client, fixture.queue, "forged", strlen("forged"),
		&(amqp_basic_properties_t){
			._flags = AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_HEADERS_FLAG,
			.reply_to = amqp_cstring_bytes(fixture.replies),
			.headers = {sizeof headers / sizeof *headers, headers}});
	client_expect(fixture.client, fixture.replies, "forged");
	fixture_release("held");
	fixture_stop(serve);
}
END_TEST

/* reply_to of a publisher, and the queue that a worker names. The direct reply-to of a caller and
 * the listed queue get their replies. */
START_TEST(reply_goes_to_no_queue_that_is_not_listed)
{
	declare_victim();
	struct proc *serve =
		fixture_serve_pool("retry: {attempts: 1}, reply_queues: [other, '*.replies']",
			fixture_built("workers/echo"));
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "to", .reply_to = victim, .headers = {{"X-Status", "201"}}});
	proc_expect(serve, "for its reply: reply_queues does not allow it");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "queue",
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}, {"X-Reply-Queue", victim}}});
	client_expect_ready(fixture.client, fixture.dead, 2);
	ck_assert_int_eq(broker_messages(fixture.broker, victim), 0);
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert(message_header_is(dead, "x-wpool-reason", "unroutable"));
	message_free(dead);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "listed",
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, "listed");
	message_free(client_call(fixture.client, fixture.queue,
		&(struct letter){.body = "direct", .headers = {{"X-Status", "201"}}}));
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, victim), 0);
}
END_TEST

/* The listed ending after a NUL makes it no listed queue, and the log shows the whole name. */
START_TEST(reply_queue_with_a_nul_is_unroutable)
{
	static const struct {
		const char *name, *shown;
		size_t len;
	} names[] = {
		{"victim\0.replies",
			"no queue \"victim\\x00.replies\" for its reply: no queue can have that name",
			15},
		{"\xff.replies",
			"no queue \"\xef\xbf\xbd.replies\" for its reply: no queue can have that name",
			9},
	};
	amqp_table_entry_t status = {amqp_cstring_bytes("X-Status"),
		{.kind = AMQP_FIELD_KIND_UTF8, {.bytes = amqp_cstring_bytes("201")}}};
	struct proc *serve = fixture_serve_pool(
		"retry: {attempts: 1}, reply_queues: ['*.replies']", fixture_built("workers/echo"));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		client_publish(fixture.client, fixture.queue, "to", strlen("to"),
			&(amqp_basic_properties_t){
				._flags = AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_HEADERS_FLAG,
				.reply_to = {names[i].len, (void *)(uintptr_t)names[i].name},
				.headers = {1, &status}});
		proc_expect(serve, names[i].shown);
	}
	client_expect_ready(fixture.client, fixture.dead, 2);
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert(message_header_is(dead, "x-wpool-reason", "unroutable"));
	message_free(dead);
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("publisher access", {forged_queue_moves_no_dead_letter, 1},
		{letter_that_names_another_queue_is_left, 1},
		{forged_queue_moves_no_rest_and_no_retry, 1},
		{forged_renewals_make_no_task_wait, 1},
		{reply_goes_to_no_queue_that_is_not_listed, 1},
		{reply_queue_with_a_nul_is_unroutable, 1});
}
