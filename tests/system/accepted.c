/* Tasks that their workers accept: the broker has acked them while they run, and no attempt
 * follows, whatever ends them. */
#include "harness/begins.h"
#include "harness/command.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct proc *serve(const char *settings)
{
	char *pools = scratch_text("- {queue: %s, command: ['%s'], workers: 2, pipeline: 1,\n"
				   "   properties: true, retry: {attempts: 3, delay: [100ms]},\n"
				   "   %s, %s}\n",
		fixture.queue, fixture_built("workers/echo"), begins_setting(), settings);
	struct proc *proc = fixture_serve_pools(pools);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	free(pools);
	return proc;
}

static int begun(const char *id)
{
	struct begins begins = {0};
	int count = 0;
	begins_read(&begins);
	for (int i = 0; i < begins.count; i++)
		count += strcmp(begins.all[i].id, id) == 0;
	begins_release(&begins);
	return count;
}

/* It runs until fixture_release(id), and its message is acked. */
static void post_accepted(struct proc *proc, const char *id)
{
	char *begins = scratch_text("begins %s", id);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = id,
			.correlation_id = id,
			.reply_to = fixture.replies,
			.headers = {{"X-Accept", "1"}, {"X-Begin", begins},
				{"X-Until", fixture_release_path(id)}, {"X-Status", "201"}}});
	proc_expect(proc, begins);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	free(begins);
}

START_TEST(a_stop_waits_for_it_and_for_its_reply)
{
	struct proc *proc = serve("limits: {hard: 60s}");
	post_accepted(proc, "long");
	proc_signal(proc, SIGTERM);
	proc_expect(proc, "draining");
	fixture_release("long");
	ck_assert_int_eq(proc_wait(proc), 0);
	client_expect(fixture.client, fixture.replies, "long");
	ck_assert_int_eq(begun("long"), 1);
}
END_TEST

/* How it ends, and the reason of its dead letter. */
static const struct ending {
	const char *header, *value, *reason;
} endings[] = {
	{"X-Status", "500", "failed"},
	{"X-Status", "404", "rejected"},
	{"X-Crash", "11", "crashed"},
	{"X-Break", "1", "protocol-error"},
	{"X-Sleep-Ms", "600000", "timed-out"},
};
#define ENDINGS (int)(sizeof endings / sizeof *endings)

START_TEST(a_failure_is_a_dead_letter_after_one_attempt)
{
	struct proc *proc = serve("limits: {hard: 1h, grace: 200ms}");
	for (int i = 0; i < ENDINGS; i++) {
		bool hangs = strcmp(endings[i].reason, "timed-out") == 0;
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = endings[i].reason,
				.correlation_id = endings[i].reason,
				.headers = {{"X-Accept", "1"},
					{endings[i].header, endings[i].value},
					{hangs ? "X-Hard-Limit-Ms" : NULL, "700"}}});
		struct message *dead = client_take(fixture.client, fixture.dead);
		ck_assert(message_header_is(dead, "x-wpool-reason", endings[i].reason));
		ck_assert_int_eq(message_header_number(dead, "x-wpool-attempt"), 1);
		const amqp_field_value_t *accepted = message_header(dead, "x-wpool-accepted");
		ck_assert(accepted && accepted->kind == AMQP_FIELD_KIND_BOOLEAN &&
			  accepted->value.boolean);
		ck_assert_str_eq(dead->body, endings[i].reason);
		ck_assert_int_eq(begun(endings[i].reason), 1);
		message_free(dead);
	}
	ck_assert(proc_has_logged(proc, "accepted by its worker; given up"));
	fixture_stop(proc);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
}
END_TEST

static char *list_dead(const char *option)
{
	return RUN(0, "dead-letters", "list", "--queue", fixture.queue, "--broker",
		broker_url(fixture.broker), option);
}

/* The column is there only if a task was accepted. */
START_TEST(the_list_of_dead_letters_says_so)
{
	struct proc *proc = serve("limits: {hard: 60s}");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "404"}}});
	client_expect_ready(fixture.client, fixture.dead, 1);
	char *text = list_dead(NULL);
	ck_assert_ptr_null(strstr(text, "ACCEPTED"));
	free(text);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "y", .headers = {{"X-Status", "404"}, {"X-Accept", "1"}}});
	client_expect_ready(fixture.client, fixture.dead, 2);
	text = list_dead(NULL);
	ck_assert_ptr_nonnull(strstr(text, "ACCEPTED"));
	ck_assert_ptr_nonnull(strstr(text, "yes"));
	free(text);
	text = list_dead("--json");
	ck_assert_ptr_nonnull(strstr(text, "\"accepted\":true"));
	ck_assert_ptr_null(strstr(text, "\"accepted\":false"));
	free(text);
	fixture_stop(proc);
}
END_TEST

START_TEST(it_ends_with_its_supervisor)
{
	struct proc *first = serve("limits: {hard: 60s}");
	post_accepted(first, "lost");
	proc_signal(first, SIGKILL);
	ck_assert_int_eq(proc_wait(first), 128 + SIGKILL);
	struct proc *second = serve("limits: {hard: 60s}");
	post_accepted(second, "next");
	fixture_release("next");
	client_expect(fixture.client, fixture.replies, "next");
	ck_assert_int_eq(begun("lost"), 1);
	fixture_stop(second);
}
END_TEST

/* The same two tasks, and the one that is not accepted is delivered again while it runs. */
START_TEST(it_may_last_longer_than_the_broker_waits_for_an_ack)
{
	fixture_use_own_broker();
	free(broker_eval(fixture.broker, "application:set_env(rabbit, channel_tick_interval, 200), "
					 "application:set_env(rabbit, consumer_timeout, 1000)"));
	struct proc *proc = serve("limits: {hard: 60s}");
	post_accepted(proc, "long");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "plain",
			.correlation_id = "plain",
			.headers = {{"X-Until", fixture_release_path("plain")}}});
	proc_expect(proc, "timed out");
	fixture_release("plain");
	fixture_await_settled((const char *const[]){"100ms", NULL});
	fixture_release("long");
	client_expect(fixture.client, fixture.replies, "long");
	ck_assert_int_eq(begun("long"), 1);
	ck_assert_int_ge(begun("plain"), 2);
	fixture_stop(proc);
}
END_TEST

START_TEST(a_pool_with_sessions_refuses_it)
{
	struct proc *proc =
		serve("limits: {hard: 60s}, prefetch: 10, "
		      "session: {key: 'property:correlation_id', takeover_delay: none}");
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "a", .correlation_id = "a", .headers = {{"X-Accept", "1"}}});
	proc_expect(proc,
		"worker broke the pipe protocol: status -2 (accepted), which a pool with sessions refuses");
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert(message_header_is(dead, "x-wpool-reason", "protocol-error"));
	message_free(dead);
	fixture_stop(proc);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("accepted", {a_stop_waits_for_it_and_for_its_reply, 1},
		{a_failure_is_a_dead_letter_after_one_attempt, 1},
		{the_list_of_dead_letters_says_so, 1}, {it_ends_with_its_supervisor, 1},
		{it_may_last_longer_than_the_broker_waits_for_an_ack, 1},
		{a_pool_with_sessions_refuses_it, 1});
}
