/* How a task ends, by the status of its worker: acked, replied, retried, dead-lettered. */
#include "system/system.h"

#include <string.h>

static const char *const two_workers[] = {"--workers", "2", NULL};

static void expect_nothing_left(struct proc *serve)
{
	broker_expect_messages(fixture.broker, fixture.queue, 0); /* the stop hands none back */
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}

static void expect_reply(const char *body, const char *correlation_id)
{
	struct message *reply = client_take(fixture.client, fixture.replies);
	ck_assert_str_eq(reply->body, body);
	ck_assert(message_text_is(reply->properties.correlation_id, correlation_id));
	message_free(reply);
}

START_TEST(done_task_is_acked_once)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	for (int i = 0; i < 50; i++) {
		char *id = scratch_text("task-%d", i);
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "work", .correlation_id = id});
		free(id);
	}
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "last",
			.correlation_id = "last",
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, "last");
	expect_nothing_left(serve);
	ck_assert_int_eq(fixture_witnessed(NULL), 51);
	ck_assert_int_eq(fixture_witnessed("task-0"), 1);
	ck_assert_int_eq(fixture_witnessed("task-49"), 1);
	ck_assert_int_le(client_ready(fixture.client, fixture.dead), 0);
}
END_TEST

START_TEST(reply_goes_to_reply_to)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "question",
			.reply_to = fixture.replies,
			.correlation_id = "id-7",
			.headers = {{"X-Status", "201"}, {"X-Reply-Header", "colour=blue"}}});
	struct message *reply = client_take(fixture.client, fixture.replies);
	ck_assert_str_eq(reply->body, "question");
	ck_assert(message_text_is(reply->properties.correlation_id, "id-7"));
	ck_assert_int_eq(reply->properties.delivery_mode, AMQP_DELIVERY_PERSISTENT);
	ck_assert(message_header_is(reply, "colour", "blue"));
	ck_assert_ptr_null(message_header(reply, "X-Status"));
	message_free(reply);
	expect_nothing_left(serve);
}
END_TEST

START_TEST(reply_goes_to_a_named_queue)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "answer",
			.reply_to = "nowhere-at-all",
			.headers = {{"X-Status", "201"}, {"X-Reply-Queue", fixture.replies}}});
	client_expect(fixture.client, fixture.replies, "answer");
	expect_nothing_left(serve);
}
END_TEST

START_TEST(reply_without_target_is_acked)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "201"}}});
	proc_expect(serve, "asks for no reply");
	expect_nothing_left(serve);
	ck_assert_int_le(client_ready(fixture.client, fixture.dead), 0);
}
END_TEST

START_TEST(reply_to_a_missing_queue_is_dead_lettered)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "lost",
			.reply_to = "no-such-queue",
			.headers = {{"X-Status", "201"}}});
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert_str_eq(dead->body, "lost");
	ck_assert(message_header_is(dead, "x-wpool-reason", "unroutable"));
	message_free(dead);
	expect_nothing_left(serve);
}
END_TEST

START_TEST(rejected_is_dead_lettered_at_once)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "never",
			.correlation_id = "id-9",
			.message_id = "m-9",
			.headers = {{"X-Status", "404"}, {"mine", "kept"}}});
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert_str_eq(dead->body, "never");
	ck_assert(message_header_is(dead, "x-wpool-reason", "rejected"));
	ck_assert_int_eq(message_header_number(dead, "x-wpool-status"), 404);
	ck_assert(message_header_is(dead, "mine", "kept"));
	ck_assert(message_text_is(dead->properties.correlation_id, "id-9"));
	ck_assert(message_text_is(dead->properties.message_id, "m-9"));
	message_free(dead);
	expect_nothing_left(serve);
	ck_assert_int_eq(proc_count_logged(serve, "retrying"), 0);
}
END_TEST

START_TEST(failed_task_is_tried_three_times)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "again", .headers = {{"X-Status", "500"}}});
	proc_expect(serve, "attempt 1 of 3; retrying");
	proc_expect(serve, "attempt 2 of 3; retrying");
	proc_expect(serve, "attempt 3 of 3; given up");
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert_str_eq(dead->body, "again");
	ck_assert(message_header_is(dead, "x-wpool-reason", "failed"));
	ck_assert_int_eq(message_header_number(dead, "x-wpool-attempt"), 3);
	message_free(dead);
	expect_nothing_left(serve);
	ck_assert_int_eq(fixture_witnessed(NULL), 0);
}
END_TEST

START_TEST(failed_task_may_succeed_later)
{
	struct proc *serve = fixture_serve_pool(
		"properties: true, retry: {delay: []}", fixture_built("workers/echo"));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "third time",
			.reply_to = fixture.replies,
			.correlation_id = "id-3",
			.headers = {{"X-Fail-Until", "2"}, {"X-Status", "201"}}});
	expect_reply("third time", "id-3");
	expect_nothing_left(serve);
	ck_assert_int_eq(proc_count_logged(serve, "retrying"), 2);
	ck_assert_int_le(client_ready(fixture.client, fixture.dead), 0);
}
END_TEST

START_TEST(progress_does_not_end_the_task)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "slow",
			.reply_to = fixture.replies,
			.headers = {{"X-Progress", "5"}, {"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, "slow");
	expect_nothing_left(serve);
	ck_assert_int_eq(client_ready(fixture.client, fixture.replies), 0);
}
END_TEST

START_TEST(handed_back_task_replies_at_the_end)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "rest",
			.reply_to = fixture.replies,
			.correlation_id = "id-5",
			.headers = {{"X-Hand-Back", "4"}, {"X-Status", "201"}}});
	expect_reply("rest", "id-5");
	expect_nothing_left(serve);
	ck_assert_int_eq(fixture_witnessed(NULL), 1);
	ck_assert_int_eq(client_ready(fixture.client, fixture.replies), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("settle", {done_task_is_acked_once, 1}, {reply_goes_to_reply_to, 1},
		{reply_goes_to_a_named_queue, 1}, {reply_without_target_is_acked, 1},
		{reply_to_a_missing_queue_is_dead_lettered, 1},
		{rejected_is_dead_lettered_at_once, 1}, {failed_task_is_tried_three_times, 1},
		{failed_task_may_succeed_later, 1}, {progress_does_not_end_the_task, 1},
		{handed_back_task_replies_at_the_end, 1});
}
