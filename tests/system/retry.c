/* Failed tasks return after their delay, unchanged and with the right number of attempts, whatever
 * restarts in between; a dead letter has its reason. Tests bound delays from below only. Also:
 * x-wpool-stderr of a worker that survives, and retry queues that may not be declared. */
#include "system/system.h"

#include "harness/deadline.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const enum client_queue kinds[] = {CLIENT_QUORUM, CLIENT_CLASSIC};

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

START_TEST(each_attempt_waits_for_its_delay)
{
	fixture_declare(kinds[_i]);
	struct proc *serve =
		fixture_serve_echo_pool("retry: {attempts: 4, delay: [300ms, 600ms], jitter: 0}");
	int64_t start = deadline_now_ms();
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "again", .headers = {{"X-Status", "503"}}});
	proc_expect(serve, "attempt 1 of 4; retrying in 300 ms");
	proc_expect(serve, "attempt 2 of 4; retrying in 600 ms");
	ck_assert_int_ge(deadline_now_ms() - start, 300);
	proc_expect(serve, "attempt 3 of 4; retrying in 600 ms");
	ck_assert_int_ge(deadline_now_ms() - start, 300 + 600);
	proc_expect(serve, "attempt 4 of 4; given up");
	ck_assert_int_ge(deadline_now_ms() - start, 300 + 600 + 600);
	struct message *dead = take_dead("failed", 4);
	ck_assert_str_eq(dead->body, "again");
	ck_assert_int_eq(message_header_number(dead, "x-wpool-status"), 503);
	message_free(dead);
	expect_clean_end(serve);
	char *waiting = retry_queue("300ms");
	ck_assert_int_eq(broker_messages(fixture.broker, waiting), 0);
	free(waiting);
}
END_TEST

/* Jitter lengthens the delay: nothing returns early. */
START_TEST(jitter_only_adds_delay)
{
	struct proc *serve =
		fixture_serve_echo_pool("retry: {attempts: 2, delay: [500ms], jitter: 100}");
	int64_t start = deadline_now_ms();
	for (int i = 0; i < 20; i++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x", .headers = {{"X-Status", "500"}}});
	for (int i = 0; i < 20; i++)
		message_free(take_dead("failed", 2));
	ck_assert_int_ge(deadline_now_ms() - start, 500);
	expect_clean_end(serve);
}
END_TEST

START_TEST(zero_delay_needs_no_retry_queue)
{
	fixture_declare(kinds[_i]);
	struct proc *serve = fixture_serve_echo_pool("retry: {delay: []}");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "at once", .headers = {{"X-Status", "500"}}});
	message_free(take_dead("failed", 3));
	ck_assert_int_eq(proc_count_logged(serve, "retrying"), 2);
	ck_assert_int_eq(proc_count_logged(serve, "retrying in"), 0);
	expect_clean_end(serve);
	char *waiting = retry_queue("1s");
	ck_assert_int_eq(client_ready(fixture.client, waiting), -1);
	free(waiting);
}
END_TEST

/* The delay is rounded up to a step with its own queue, which is declared when it is first needed.
 */
START_TEST(worker_may_choose_the_delay)
{
	fixture_declare(kinds[_i]);
	struct proc *serve = fixture_serve_echo_pool("retry: {attempts: 2, delay: [300ms]}");
	char *waiting = retry_queue("2s");
	ck_assert_int_eq(client_ready(fixture.client, waiting), -1);
	int64_t start = deadline_now_ms();
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "later",
			.headers = {{"X-Status", "500"}, {"X-Retry-After-Ms", "1001"}}});
	proc_expect(serve, "attempt 1 of 2; retrying in 2.0 s");
	message_free(take_dead("failed", 2));
	ck_assert_int_ge(deadline_now_ms() - start, 2000);
	ck_assert_int_eq(broker_messages(fixture.broker, waiting), 0);

	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "at once",
			.headers = {{"X-Status", "500"}, {"X-Retry-After-Ms", "0"}}});
	message_free(take_dead("failed", 2));
	ck_assert_int_eq(proc_count_logged(serve, "retrying in"), 1);
	ck_assert_int_eq(proc_count_logged(serve, "does not exist; making it"), 1);
	ck_assert_int_eq(proc_count_logged(serve, "found no queue"), 0);
	expect_clean_end(serve);
	client_delete(fixture.client, waiting);
	free(waiting);
}
END_TEST

/* The supervisor is killed while the task waits for its second attempt. The delay is long enough
 * for a slow machine. */
START_TEST(attempts_survive_supervisor_restart)
{
	fixture_declare(kinds[_i]);
	static const char settings[] = "retry: {attempts: 3, delay: [5s]}";
	struct proc *serve = fixture_serve_echo_pool(settings);
	char *waiting = retry_queue("5s");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "survivor", .headers = {{"X-Status", "500"}}});
	proc_expect(serve, "attempt 1 of 3");
	broker_expect_messages(fixture.broker, waiting, 1);
	broker_expect_messages(fixture.broker, fixture.queue, 0); /* the original is acked */
	proc_signal(serve, SIGKILL);
	ck_assert_int_eq(proc_wait(serve), 128 + SIGKILL);
	serve = fixture_serve_echo_pool(settings);
	message_free(take_dead("failed", 3));
	ck_assert_int_eq(proc_count_logged(serve, "attempt 1 of 3"), 0);
	ck_assert_int_eq(proc_count_logged(serve, "attempt 2 of 3"), 1);
	expect_clean_end(serve);
	client_delete(fixture.client, waiting);
	free(waiting);
}
END_TEST

/* A task that a killed supervisor had counts as not tried. */
START_TEST(killed_supervisor_costs_no_attempt)
{
	fixture_declare(kinds[_i]);
	static const char settings[] = "retry: {attempts: 1}";
	for (int i = 0; i < 3; i++) {
		struct proc *serve = fixture_serve_echo_pool(settings);
		if (i == 0)
			client_post(fixture.client, fixture.queue,
				&(struct letter){.body = "patient",
					.headers = {{"X-Begin", "begins"},
						{"X-Until", fixture_release_path("patient")},
						{"X-Status", "500"}}});
		proc_expect(serve, "begins");
		proc_signal(serve, SIGKILL);
		ck_assert_int_eq(proc_wait(serve), 128 + SIGKILL);
		client_expect_ready(fixture.client, fixture.queue, 1);
	}
	fixture_release("patient");
	struct proc *serve = fixture_serve_echo_pool(settings);
	message_free(take_dead("failed", 1));
	expect_clean_end(serve);
}
END_TEST

/* On a private node, which is restarted while a task on each type of queue waits. */
START_TEST(attempts_survive_broker_restart)
{
	char *folder = scratch_path(fixture.folder, "node"), *queues[2], *waiting[2];
	struct proc *serves[2];
	struct client *shared = fixture.client;
	fixture.broker = broker_start(folder);
	fixture.client = client_open(broker_url(fixture.broker));
	for (int i = 0; i < 2; i++) {
		fixture.queue = queues[i] = scratch_text("kind-%d", i);
		client_declare(fixture.client, queues[i], kinds[i]);
		serves[i] = fixture_serve_echo_pool("retry: {attempts: 2, delay: [5s]}");
		client_post(fixture.client, queues[i],
			&(struct letter){.body = "survivor", .headers = {{"X-Status", "500"}}});
		waiting[i] = retry_queue("5s");
		broker_expect_messages(fixture.broker, waiting[i], 1);
		broker_expect_messages(fixture.broker, queues[i], 0); /* the original is acked */
	}
	broker_command(fixture.broker, "restart");
	client_free(fixture.client);
	fixture.client = client_open(broker_url(fixture.broker));
	for (int i = 0; i < 2; i++) {
		fixture.queue = queues[i];
		fixture.dead = scratch_text("%s.dead", queues[i]);
		message_free(take_dead("failed", 2));
		ck_assert_int_eq(broker_messages(fixture.broker, waiting[i]), 0);
		expect_clean_end(serves[i]);
		free(waiting[i]);
	}
	/* Before its folder is removed, which is needed to stop it. */
	client_free(fixture.client);
	broker_free(fixture.broker);
	fixture.client = shared;
	fixture.broker = broker_shared();
	free(folder);
}
END_TEST

static amqp_table_entry_t entry(const char *name, amqp_field_value_t value)
{
	return (amqp_table_entry_t){.key = amqp_cstring_bytes(name), .value = value};
}

/* Through a retry queue and then, rejected, to the dead letters. */
START_TEST(message_is_unchanged_by_retry)
{
	fixture_declare(kinds[_i]);
	struct proc *serve = fixture_serve_echo_pool("properties: true, retry: {delay: [200ms]}");
	amqp_field_value_t members[] = {
		{.kind = AMQP_FIELD_KIND_I16, .value.i16 = -7}, {.kind = AMQP_FIELD_KIND_VOID}};
	amqp_table_entry_t entries[] = {
		entry("X-Fail-Until",
			(amqp_field_value_t){.kind = AMQP_FIELD_KIND_I32, .value.i32 = 1}),
		entry("X-Status",
			(amqp_field_value_t){.kind = AMQP_FIELD_KIND_I64, .value.i64 = 410}),
		entry("yes",
			(amqp_field_value_t){.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = 1}),
		entry("when",
			(amqp_field_value_t){.kind = AMQP_FIELD_KIND_TIMESTAMP, .value.u64 = 9}),
		entry("list", (amqp_field_value_t){.kind = AMQP_FIELD_KIND_ARRAY,
				      .value.array = {2, members}}),
	};
	amqp_basic_properties_t sent = {
		._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_PRIORITY_FLAG |
			  AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_REPLY_TO_FLAG |
			  AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_TYPE_FLAG |
			  AMQP_BASIC_EXPIRATION_FLAG,
		.headers = {sizeof entries / sizeof *entries, entries},
		.priority = 7,
		.timestamp = 1700000000,
		.reply_to = amqp_cstring_bytes(fixture.replies),
		.correlation_id = amqp_cstring_bytes("id-1"),
		.type = amqp_cstring_bytes("order"),
		.expiration = amqp_cstring_bytes("60000"),
	};
	client_publish(fixture.client, fixture.queue, "\0binary\xff", 8, &sent);
	struct message *dead = take_dead("rejected", 2);
	ck_assert_uint_eq(dead->size, 8);
	ck_assert_int_eq(memcmp(dead->body, "\0binary\xff", 8), 0);
	ck_assert_int_eq(dead->properties.priority, 7);
	ck_assert_uint_eq(dead->properties.timestamp, 1700000000);
	ck_assert(message_text_is(dead->properties.reply_to, fixture.replies));
	ck_assert(message_text_is(dead->properties.correlation_id, "id-1"));
	ck_assert(message_text_is(dead->properties.type, "order"));
	ck_assert(!(dead->properties._flags & AMQP_BASIC_EXPIRATION_FLAG));
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		char *name = scratch_text(
			"%.*s", (int)entries[i].key.len, (const char *)entries[i].key.bytes);
		const amqp_field_value_t *value = message_header(dead, name);
		ck_assert_msg(value && value->kind == entries[i].value.kind, "%s", name);
		free(name);
	}
	const amqp_field_value_t *list = message_header(dead, "list");
	ck_assert_int_eq(list->value.array.num_entries, 2);
	ck_assert_int_eq(list->value.array.entries[0].kind, AMQP_FIELD_KIND_I16);
	ck_assert_int_eq(list->value.array.entries[0].value.i16, -7);
	message_free(dead);
	expect_clean_end(serve);
}
END_TEST

/* How a worker can fail, and the headers of the dead letter. */
static const struct {
	const char *behaviour, *reason, *exit;
} failures[] = {
	{"crash", "crashed", "signal 11"},
	{"exit-zero", "crashed", "exit status 0"},
	{"hang", "timed-out", "signal 15"},
	{"hang-ignoring", "timed-out", "signal 9"},
	{"close-pipe", "protocol-error", "closed its pipe; signal 9"},
	{"unknown-status", "protocol-error", "an unknown status: 999; signal 9"},
};
#define FAILURES (int)(sizeof failures / sizeof *failures)

/* Only a worker that hangs may reach its limit, whatever the machine does. */
static struct proc *serve_evil(const char *behaviour, const char *retry)
{
	const char *hard = strncmp(behaviour, "hang", 4) == 0 ? "400ms" : "1min";
	char *command = scratch_text("env\", \"EVIL_SAYS=cause of %s\", \"%s\", \"%s", behaviour,
		fixture_built("workers/evil"), behaviour);
	char *settings = scratch_text("limits: {hard: %s, grace: 300ms}, retry: {%s}", hard, retry);
	struct proc *serve = fixture_serve_pool(settings, command);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	free(settings);
	free(command);
	return serve;
}

START_TEST(dead_letter_has_its_reason)
{
	const int which = _i % FAILURES;
	fixture_declare(kinds[_i / FAILURES]);
	struct proc *serve = serve_evil(failures[which].behaviour, "attempts: 2, delay: [100ms]");
	char *words = scratch_text("cause of %s", failures[which].behaviour);
	client_send(fixture.client, fixture.queue, "poison");
	struct message *dead = take_dead(failures[which].reason, 2);
	ck_assert_str_eq(dead->body, "poison");
	ck_assert(message_header_is(dead, "x-wpool-exit", failures[which].exit));
	ck_assert(message_header_is(dead, "x-wpool-stderr", words));
	ck_assert_ptr_null(message_header(dead, "x-wpool-status"));
	message_free(dead);
	free(words);
	expect_clean_end(serve);
}
END_TEST

START_TEST(only_chosen_outcomes_are_retried)
{
	struct proc *serve = serve_evil("crash", "delay: [100ms], on: [failed, timed-out]");
	client_send(fixture.client, fixture.queue, "poison");
	message_free(take_dead("crashed", 1));
	ck_assert_int_eq(proc_count_logged(serve, "retrying"), 0);
	expect_clean_end(serve);
}
END_TEST

START_TEST(unroutable_reply_may_be_retried)
{
	fixture_declare(kinds[_i]);
	struct proc *serve =
		fixture_serve_echo_pool("unroutable: retry, retry: {attempts: 2, delay: [100ms]}");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "lost",
			.reply_to = "no-such-queue",
			.headers = {{"X-Status", "201"}}});
	message_free(take_dead("unroutable", 2));
	expect_clean_end(serve);
}
END_TEST

START_TEST(long_limits_are_warned_of)
{
	struct proc *serve = fixture_serve_echo_pool("limits: {soft: 29min, hard: 40min}");
	ck_assert(proc_has_logged(serve, "limits.hard: a broker takes back"));
	ck_assert(!proc_has_logged(serve, "limits.soft is"));
	fixture_stop(serve);
}
END_TEST

static char *with_attempts(int count)
{
	return scratch_text("- {name: tested, queue: %s, command: [\"%s\"],"
			    " retry: {attempts: %d, delay: [300ms]}}\n",
		fixture.queue, fixture_built("workers/echo"), count);
}

/* A reload allows retries for the first time, with a delay whose queue does not exist. */
START_TEST(retry_without_own_queue_uses_another)
{
	struct proc *serve = fixture_serve_pools(with_attempts(1));
	client_expect_consumers(fixture.client, fixture.queue, 1);
	fixture_write_pools(with_attempts(2));
	proc_signal(serve, SIGHUP);
	proc_expect(serve, "changed: retry.attempts 1 -> 2");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "again", .headers = {{"X-Status", "503"}}});
	proc_expect(serve, ".retry.300ms\" does not exist; making it");
	proc_expect(serve, "attempt 2 of 2; given up");
	message_free(take_dead("failed", 2));
	expect_clean_end(serve);
}
END_TEST

/* A worker that survives: x-wpool-stderr has the lines of this task only. */
START_TEST(dead_letter_has_only_its_own_error)
{
	static const struct {
		const char *status, *text, *reason, *expected;
	} tasks[] = {
		{"500", "of the first", "failed", "of the first"},
		{"404", "of the second", "rejected", "of the second"},
		{"200", "of the third", NULL, NULL},
		{"500", NULL, "failed", NULL},
		{"404", NULL, "rejected", NULL},
	};
	fixture_declare(kinds[_i]);
	struct proc *serve = fixture_serve_echo_pool("pipeline: 1, retry: {attempts: 1}");
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x",
				.headers = {{"X-Status", tasks[i].status},
					{tasks[i].text ? "X-Say" : NULL, tasks[i].text}}});
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

/* The retry queue for this delay may not be declared. */
START_TEST(delay_without_queue_uses_nearest_queue)
{
	static const char settings[] = "retry: {attempts: 2, delay: [300ms]}";
	char *wanted = retry_queue("2s"), *taken = retry_queue("300ms");
	fixture_stop(fixture_serve_echo_pool(settings)); /* this declares the queues of the pool */
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
	return SYSTEM_RUN("retry", {each_attempt_waits_for_its_delay, 2},
		{jitter_only_adds_delay, 1}, {zero_delay_needs_no_retry_queue, 2},
		{worker_may_choose_the_delay, 2}, {attempts_survive_supervisor_restart, 2},
		{killed_supervisor_costs_no_attempt, 2}, {attempts_survive_broker_restart, 1},
		{message_is_unchanged_by_retry, 2}, {dead_letter_has_its_reason, 2 * FAILURES},
		{only_chosen_outcomes_are_retried, 1}, {unroutable_reply_may_be_retried, 2},
		{long_limits_are_warned_of, 1}, {retry_without_own_queue_uses_another, 1},
		{dead_letter_has_only_its_own_error, 2},
		{delay_without_queue_uses_nearest_queue, 1});
}
