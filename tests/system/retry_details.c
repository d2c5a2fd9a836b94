/* Details of retries: what a dead letter says of a worker that survives, and where a task waits
 * if its retry queue may not be declared. */
#include "system/system.h"

#include <stdio.h>
#include <string.h>

static const enum client_queue kinds[] = {CLIENT_QUORUM, CLIENT_CLASSIC};

/* The fixture's queue, of the kind of this round. */
static void declare(enum client_queue kind)
{
	client_delete(fixture.client, fixture.queue);
	client_declare(fixture.client, fixture.queue, kind);
}

static struct proc *serve_echo(const char *settings)
{
	struct proc *serve = fixture_serve_pool(settings, fixture_built("workers/echo"));
	client_expect_consumers(fixture.client, fixture.queue, 1);
	return serve;
}

static char *retry_queue(const char *delay)
{
	return scratch_text("%s.retry.%s", fixture.queue, delay);
}

/* The only dead letter, given up for this reason after so many attempts. */
static struct message *take_dead(const char *reason, int64_t attempts)
{
	struct message *dead = client_take(fixture.client, fixture.dead);
	ck_assert_msg(message_header_is(dead, "x-wpool-reason", reason), "not %s", reason);
	ck_assert_int_eq(message_header_number(dead, "x-wpool-attempt"), attempts);
	ck_assert(message_header_is(dead, "x-wpool-queue", fixture.queue));
	ck_assert_ptr_nonnull(message_header(dead, "x-wpool-first-failed"));
	ck_assert_ptr_null(message_header(dead, "x-death"));
	return dead;
}

static void expect_clean_end(struct proc *serve)
{
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), 0);
}

/* Of a worker that lives on: an answer that says no has its own words, and none but its own. */
START_TEST(dead_letter_has_only_its_own_error)
{
	static const struct {
		const char *status, *words, *reason, *expected;
	} tasks[] = {
		{"500", "of the first", "failed", "of the first"},
		{"404", "of the second", "rejected", "of the second"},
		{"200", "of the third", NULL, NULL},
		{"500", NULL, "failed", NULL},
		{"404", NULL, "rejected", NULL},
	};
	declare(kinds[_i]);
	struct proc *serve = serve_echo("pipeline: 1, retry: {attempts: 1}");
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x",
				.headers = {{"X-Status", tasks[i].status},
					{tasks[i].words ? "X-Say" : NULL, tasks[i].words}}});
		if (!tasks[i].reason)
			continue;
		struct message *dead = take_dead(tasks[i].reason, 1);
		if (tasks[i].expected)
			ck_assert(message_header_is(dead, "x-wpool-stderr", tasks[i].expected));
		else
			ck_assert_ptr_null(message_header(dead, "x-wpool-stderr"));
		message_free(dead);
	}
	expect_clean_end(serve);
}
END_TEST

static struct proc *serve_as_clerk(const char *settings)
{
	char *text = scratch_text("broker: {url: \"amqp://clerk:clerk@127.0.0.1:%d/%%2f\"}\n"
				  "pools:\n- {queue: %s, command: [\"%s\"], %s}\n",
		broker_port(fixture.broker), fixture.queue, fixture_built("workers/echo"),
		settings);
	char *path = scratch_path(fixture.folder, "clerk.yaml");
	const char *const arguments[] = {"serve", "--config", path, "--log-format", "text", NULL};
	scratch_write(path, text);
	struct proc *serve = fixture_wpool(arguments);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	free(path);
	free(text);
	return serve;
}

/* The queue for the wait that the worker wants may not be made: another one does. */
START_TEST(delay_without_queue_uses_nearest_queue)
{
	static const char settings[] = "retry: {attempts: 2, delay: [300ms]}";
	char *wanted = retry_queue("2s"), *taken = retry_queue("300ms");
	fixture_stop(serve_echo(settings)); /* which makes the queues of the pool */
	free(broker_eval(fixture.broker,
		"rabbit_auth_backend_internal:add_user(<<\"clerk\">>, <<\"clerk\">>, <<\"test\">>), "
		"rabbit_auth_backend_internal:set_permissions(<<\"clerk\">>, <<\"/\">>, <<\"^$\">>, "
		"<<\".*\">>, <<\".*\">>, <<\"test\">>)"));
	struct proc *serve = serve_as_clerk(settings);
	for (int i = 0; i < 2; i++) {
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "later",
				.headers = {{"X-Status", "500"}, {"X-Retry-After-Ms", "1500"}}});
		message_free(take_dead("failed", 2));
		ck_assert_int_eq(client_ready(fixture.client, wanted), -1);
	}
	ck_assert_int_eq(proc_count_logged(serve, "retry queue with the nearest delay"), 1);
	ck_assert_int_eq(broker_messages(fixture.broker, taken), 0);
	expect_clean_end(serve);
	free(broker_eval(fixture.broker,
		"rabbit_auth_backend_internal:delete_user(<<\"clerk\">>, <<\"test\">>)"));
	free(wanted);
	free(taken);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("retry_details", {dead_letter_has_only_its_own_error, 2},
		{delay_without_queue_uses_nearest_queue, 1});
}
