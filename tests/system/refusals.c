/* What the broker refuses is named where an operator looks: the operation, and the right that is
 * missing or what the queue is. A pool that drains only says so. */
#include "harness/client_internal.h"
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool has_text(const json_t *texts, const char *needle)
{
	const json_t *text;
	size_t i;
	json_array_foreach(texts, i, text) if (strstr(json_string_value(text), needle)) return true;
	return false;
}

/* Poll until a reason or warning of status has the text, or fail at the deadline. */
static void await_text(const char *list, const char *needle)
{
	int64_t deadline = deadline_in(CLIENT_LIMIT_MS);
	for (;;) {
		json_t *status = control_get_json("/v1/status");
		bool found = has_text(json_object_get(status, list), needle);
		json_decref(status);
		if (found)
			return;
		fixture_poll(deadline, 20, needle);
	}
}

static void set_rights(const char *configure, const char *write, const char *read)
{
	free(broker_eval(fixture.broker,
		scratch_text("catch rabbit_auth_backend_internal:add_user(<<\"clerk\">>, "
			     "<<\"clerk\">>, <<\"test\">>), "
			     "rabbit_auth_backend_internal:set_permissions(<<\"clerk\">>, "
			     "<<\"/\">>, <<\"%s\">>, <<\"%s\">>, <<\"%s\">>, <<\"test\">>)",
			configure, write, read)));
}

static void forget_clerk(void)
{
	free(broker_eval(fixture.broker,
		"rabbit_auth_backend_internal:delete_user(<<\"clerk\">>, <<\"test\">>)"));
}

static struct proc *serve_as_clerk(const char *settings)
{
	char *text = scratch_text("broker: {url: \"amqp://clerk:clerk@127.0.0.1:%d/%%2f\"}\n"
				  "pools:\n- {name: tested, queue: %s, command: [\"%s\"], "
				  "workers: 1, %s}\n",
		broker_port(fixture.broker), fixture.queue, fixture_built("workers/echo"),
		settings);
	char *path = scratch_path(fixture.folder, "clerk.yaml");
	scratch_write(path, text);
	struct proc *serve = fixture_wpool(
		(const char *const[]){"serve", "--config", path, "--log-format", "text", NULL});
	proc_expect(serve, "control socket: ");
	free(path);
	free(text);
	return serve;
}

static const char no_right[] = "pool tested: not consuming its queue \"%s\": ";

/* Without the right to configure it, the queue cannot be compared with queue_arguments. */
START_TEST(queue_that_may_not_be_configured_is_consumed)
{
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	set_rights("^$", ".*", ".*");
	struct proc *serve = serve_as_clerk(
		"declare: on, queue_arguments: {x-max-length: 8}, retry: {attempts: 1}");
	await_text("warnings", "cannot be compared with queue_arguments: 403 ACCESS_REFUSED");
	control_await("/readyz", 200);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "now", .correlation_id = "now"});
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(proc_count_logged(serve, "cannot be compared"), 1);
	struct proc *declare = fixture_wpool(
		(const char *const[]){"declare", scratch_path(fixture.folder, "clerk.yaml"), NULL});
	ck_assert_int_eq(proc_wait(declare), 77);
	control_expect_text(
		proc_stdout(declare), scratch_text("  queue \"%s\": exists\n", fixture.queue));
	control_expect_text(proc_stderr(declare), "cannot be compared with queue_arguments: 403");
	control_expect_text(proc_stdout(declare),
		scratch_text("  queue \"%s.wait.10ms\": refused\n", fixture.queue));
	control_expect_text(proc_stderr(declare),
		scratch_text("403 ACCESS_REFUSED - access to queue '%s.wait.10ms'", fixture.queue));
	fixture_stop(serve);
	forget_clerk();
}
END_TEST

/* A task that its worker postpones, and one that is published for later; both are witnessed in
 * time. */
static void expect_later(const char *postponed, const char *later)
{
	struct timespec now;
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	clock_gettime(CLOCK_REALTIME, &now);
	char *time = scratch_text("%lld", (long long)now.tv_sec * 1000 + 2500);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.correlation_id = postponed,
			.headers = {{"X-Postpone-Until", time}}});
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "x", .correlation_id = later, .headers = {{"NotBefore", time}}});
	while (!fixture_witnessed(postponed) || !fixture_witnessed(later))
		fixture_poll(deadline, 20, later);
	free(time);
}

/* First they are held, because no wait queue may be declared; they begin in time all the same. Then
 * a user with the right has run `wpool declare`. */
START_TEST(wait_queues_may_be_declared_by_another_user)
{
	const char *settings = "retry: {attempts: 1}";
	char *wait = scratch_text("%s.wait.1s", fixture.queue);
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	set_rights("^$", ".*", ".*");
	struct proc *serve = serve_as_clerk(settings);
	expect_later("postponed", "later");
	proc_expect(serve, "; what is to begin later waits in a shorter wait queue");
	ck_assert(proc_has_logged(serve, "has no right to configure"));
	ck_assert(proc_has_logged(serve, "wpool declare"));
	fixture_stop(serve);
	ck_assert_int_eq(client_ready(fixture.client, wait), -1);
	char *pool = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], %s}\n",
		fixture.queue, fixture_built("workers/echo"), settings);
	fixture_write_pools(pool);
	control_expect_text(RUN(0, "declare", scratch_path(fixture.folder, "wpool.yaml")),
		"15 declared, 0 exist\n");
	serve = serve_as_clerk(settings);
	control_await("/readyz", 200);
	expect_later("postponed again", "again later");
	fixture_stop(serve);
	ck_assert_int_eq(client_ready(fixture.client, wait), 0);
	ck_assert(!proc_has_logged(serve, "wait queue"));
	ck_assert_int_eq(proc_count_logged(serve, "too early"), 0);
	struct proc *declare = fixture_wpool(
		(const char *const[]){"declare", scratch_path(fixture.folder, "clerk.yaml"), NULL});
	ck_assert_int_eq(proc_wait(declare), 0);
	control_expect_text(proc_stdout(declare), "0 declared, 15 exist\n");
	forget_clerk();
}
END_TEST

START_TEST(missing_right_is_named)
{
	static const struct {
		const char *configure, *read;
		const char *settings, *text; /* text: behind the queue's name */
	} cases[] = {
		{"^$", ".*", "retry: {attempts: 1}",
			".dead\" does not exist, and the broker refuses its declaration: the user "
			"has no right to configure it ("},
		{".*", "^$", "retry: {attempts: 1}",
			"the broker refuses to let us consume queue \"%s\": the user has no right "
			"to read it ("},
		{"^$", ".*", "retry: {attempts: 2, delay: [300ms], dead_letter: broker}",
			".retry.300ms\" does not exist, and the broker refuses its declaration: "
			"the user has no right to configure"},
	};
	client_declare(fixture.client, fixture.queue, CLIENT_QUORUM);
	set_rights(cases[_i].configure, ".*", cases[_i].read);
	struct proc *serve = serve_as_clerk(cases[_i].settings);
	char *text = strchr(cases[_i].text, '%') ? scratch_text(cases[_i].text, fixture.queue)
						 : scratch_text("%s", cases[_i].text);
	await_text("reasons", text);
	await_text("reasons", scratch_text(no_right, fixture.queue));
	proc_expect(serve, text);
	set_rights(".*", ".*", ".*");
	control_await("/readyz", 200);
	ck_assert_int_eq(proc_count_logged(serve, text), 1);
	fixture_stop(serve);
	forget_clerk();
	free(text);
}
END_TEST

/* A task is given up, and its copy for the dead-letter queue is refused. */
START_TEST(missing_right_to_publish_is_a_warning)
{
	client_declare(fixture.client, fixture.queue, CLIENT_QUORUM);
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	set_rights(".*", "^$", ".*");
	struct proc *serve = serve_as_clerk("retry: {attempts: 1}");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "500"}}});
	await_text("warnings",
		"the broker refuses publishes: the user has no right to write exchange "
		"\"amq.default\" (");
	set_rights(".*", ".*", ".*");
	client_expect_ready(fixture.client, fixture.dead, 1);
	fixture_stop(serve);
	forget_clerk();
}
END_TEST

static void consume_exclusively(amqp_channel_t channel)
{
	amqp_connection_state_t connection = fixture.client->consumer;
	client_open_channel(connection, channel);
	amqp_basic_consume(connection, channel, amqp_cstring_bytes(fixture.queue), amqp_empty_bytes,
		0, 0, 1, amqp_empty_table);
	client_must(amqp_get_rpc_reply(connection), "consume exclusively");
}

START_TEST(queue_in_exclusive_use_is_named)
{
	fixture_declare(CLIENT_CLASSIC);
	consume_exclusively(7);
	struct proc *serve =
		fixture_serve_pool("retry: {attempts: 1}", fixture_built("workers/echo"));
	proc_expect(serve, "control socket: ");
	await_text("reasons", "it is in exclusive use by another consumer (");
	client_must(amqp_channel_close(fixture.client->consumer, 7, AMQP_REPLY_SUCCESS), "close");
	control_await("/readyz", 200);
	fixture_stop(serve);
}
END_TEST

static void declare_stream(void)
{
	amqp_connection_state_t connection = fixture.client->consumer;
	amqp_table_entry_t entry = {.key = amqp_cstring_bytes("x-queue-type"),
		.value = {
			.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("stream")}};
	client_delete(fixture.client, fixture.queue);
	amqp_queue_declare(connection, 1, amqp_cstring_bytes(fixture.queue), 0, 1, 0, 0,
		(amqp_table_t){1, &entry});
	client_must(amqp_get_rpc_reply(connection), "declare a stream");
}

/* No message of it is worked, also one that comes now. A user without the right to configure
 * suffices, and the next queue of that name is consumed. */
START_TEST(stream_is_refused)
{
	declare_stream();
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	set_rights("^$", ".*", ".*");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "before", .correlation_id = "before"});
	struct proc *serve = serve_as_clerk("retry: {attempts: 1}");
	await_text("reasons", scratch_text("queue \"%s\" is a stream: ", fixture.queue));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "now", .correlation_id = "now"});
	fixture_declare(_i ? CLIENT_CLASSIC : CLIENT_QUORUM);
	control_await("/readyz", 200);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "later", .correlation_id = "later"});
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("later"), 1);
	ck_assert_int_eq(fixture_witnessed("before") + fixture_witnessed("now"), 0);
	ck_assert_int_eq(proc_count_logged(serve, "is a stream"), 1);
	json_t *pools = control_get_json("/v1/pools");
	ck_assert_str_eq(control_text(control_member(pools, "pools", 0), "queue_type"),
		_i ? "classic" : "quorum");
	json_decref(pools);
	fixture_stop(serve);
	forget_clerk();
}
END_TEST

/* Declare the fixture's queue as a classic one. */
static void declare_classic(bool is_durable, bool is_limited)
{
	amqp_connection_state_t connection = fixture.client->consumer;
	amqp_table_entry_t entry = {.key = amqp_cstring_bytes("x-max-length"),
		.value = {.kind = AMQP_FIELD_KIND_I32, .value.i32 = 1000}};
	client_delete(fixture.client, fixture.queue);
	amqp_queue_declare(connection, 1, amqp_cstring_bytes(fixture.queue), 0, is_durable, 0, 0,
		(amqp_table_t){is_limited, &entry});
	client_must(amqp_get_rpc_reply(connection), "declare a classic queue");
}

/* What the supervisor relies on when it asks: if the queue is deleted just before, none is made. */
START_TEST(impossible_declaration_makes_no_queue)
{
	amqp_connection_state_t connection = fixture.client->consumer;
	amqp_table_entry_t entry = {.key = amqp_cstring_bytes("x-max-length"),
		.value = {.kind = AMQP_FIELD_KIND_I32, .value.i32 = -1}};
	client_delete(fixture.client, fixture.queue);
	client_open_channel(connection, 7);
	amqp_queue_declare(connection, 7, amqp_cstring_bytes(fixture.queue), 0, 1, 0, 0,
		(amqp_table_t){1, &entry});
	ck_assert_int_eq(amqp_get_rpc_reply(connection).reply_type, AMQP_RESPONSE_SERVER_EXCEPTION);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), -1);
}
END_TEST

static void await_durability(const char *expected)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	bool is_known = false;
	while (!is_known) {
		fixture_poll(deadline, 20, scratch_text("queue_durable is %s", expected));
		json_t *pools = control_get_json("/v1/pools");
		const json_t *pool = control_member(pools, "pools", 0);
		is_known = json_is_true(json_object_get(pool, "consuming")) &&
			   strcmp(control_text(pool, "queue_type"), "classic") == 0 &&
			   strcmp(control_text(pool, "queue_durable"), expected) == 0;
		json_decref(pools);
	}
}

/* It is consumed, and warned of. Whether it is durable only a user knows who may configure it. The
 * queue stays as it was declared. */
START_TEST(transient_queue_is_warned_of)
{
	static const struct {
		bool is_durable, is_limited, may_configure;
		const char *durable, *shown;
	} cases[] = {
		{false, false, true, "no", "is not durable: a restart of the broker loses it"},
		{false, true, true, "no", "is not durable: a restart of the broker loses it"},
		{true, false, true, "yes", NULL},
		{true, true, true, "yes", NULL},
		{false, false, false, "unknown", "unknown whether its queue is durable"},
	};
	declare_classic(cases[_i].is_durable, cases[_i].is_limited);
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	set_rights(cases[_i].may_configure ? ".*" : "^$", ".*", ".*");
	struct proc *serve = serve_as_clerk("retry: {attempts: 1}");
	control_await("/readyz", 200);
	if (cases[_i].may_configure) /* also before the broker was asked */
		ck_assert_ptr_null(strstr(RUN(0, "status"), "unknown whether"));
	if (cases[_i].may_configure)
		await_durability(cases[_i].durable);
	else
		proc_expect(
			serve, "is durable is unknown: only a user with the right to configure");
	control_await("/readyz", 200);
	char *status = RUN(0, "status");
	if (cases[_i].shown)
		control_expect_text(status, cases[_i].shown);
	else
		ck_assert_ptr_null(strstr(status, "durable"));
	ck_assert_int_eq(proc_count_logged(serve, "is not durable"),
		cases[_i].may_configure && !cases[_i].is_durable);
	client_post(fixture.client, fixture.queue, &(struct letter){.body = "a"});
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
	forget_clerk();
}
END_TEST

static void await_no_consumer(void)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	bool is_consuming = true;
	while (is_consuming) {
		fixture_poll(deadline, 20, "the consumer is cancelled");
		json_t *pools = control_get_json("/v1/pools");
		is_consuming = json_is_true(
			json_object_get(control_member(pools, "pools", 0), "consuming"));
		json_decref(pools);
	}
}

/* Without consumer and with no idle worker, it is as it was asked to be. */
START_TEST(draining_pool_is_draining)
{
	struct proc *serve =
		fixture_serve_pool("retry: {attempts: 1}", fixture_built("workers/echo"));
	fixture_post_held(serve, "held");
	proc_signal(serve, SIGTERM);
	await_no_consumer();
	json_t *status = control_get_json("/v1/status");
	json_t *pools = control_get_json("/v1/pools");
	const json_t *reasons = json_object_get(status, "reasons");
	const json_t *own = json_object_get(control_member(pools, "pools", 0), "reasons");
	ck_assert_uint_eq(json_array_size(reasons), 1);
	ck_assert_str_eq(json_string_value(json_array_get(reasons, 0)), "draining");
	ck_assert_uint_eq(json_array_size(own), 1);
	ck_assert_str_eq(json_string_value(json_array_get(own, 0)), "draining");
	json_decref(status);
	json_decref(pools);
	fixture_release("held");
	ck_assert_int_eq(proc_wait(serve), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("refusals", {missing_right_is_named, 3},
		{queue_that_may_not_be_configured_is_consumed, 1},
		{wait_queues_may_be_declared_by_another_user, 1},
		{missing_right_to_publish_is_a_warning, 1}, {queue_in_exclusive_use_is_named, 1},
		{stream_is_refused, 2}, {impossible_declaration_makes_no_queue, 1},
		{transient_queue_is_warned_of, 5}, {draining_pool_is_draining, 1});
}
