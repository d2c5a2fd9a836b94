/* wpool declare: it makes what is missing, changes nothing, and shows what the order of sessions
 * rests on. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/rude_broker.h"
#include "system/system.h"

#include <stdio.h>

/* A file with the pool "tested" on the fixture's queue; session: the settings in the section. */
static const char *write_config(const char *session)
{
	char *pool = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], session: {%s}}\n",
		fixture.queue, fixture_built("workers/echo"), session);
	fixture_write_pools(pool);
	return scratch_path(fixture.folder, "wpool.yaml");
}

/* settings: of a pool "tested" on the fixture's queue. */
static const char *write_pool(const char *settings)
{
	char *pool = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], %s}\n",
		fixture.queue, fixture_built("workers/echo"), settings);
	fixture_write_pools(pool);
	return scratch_path(fixture.folder, "wpool.yaml");
}

static char *queue_of(const char *suffix)
{
	return scratch_text("%s%s", fixture.queue, suffix);
}

/* line: of the queue or the binding, on standard output. */
static void expect_different(const char *file, const char *line, const char *words)
{
	struct proc *declare = fixture_wpool((const char *const[]){"declare", file, NULL});

	ck_assert_int_eq(proc_wait(declare), 78);
	control_expect_text(proc_stdout(declare), line);
	control_expect_text(proc_stderr(declare), words);
}

START_TEST(missing_queues_are_made_once)
{
	static const char *const derived[] = {
		"", ".dead", ".retry.10s", ".wait.10ms", ".wait.2592000s", ".token"};
	const char *file = write_config("key: routing_key, delivery_limit: none");
	char *lines = scratch_text("own\n  queue \"%s\": declared\n  queue \"%s\": exists\n",
		fixture.queue, fixture.dead);
	char *out;
	client_delete(fixture.client, fixture.queue);
	client_declare(fixture.client, fixture.dead, CLIENT_QUORUM);
	out = RUN(0, "declare", file);
	control_expect_text(out,
		"tested: 20 queues made; a single active consumer, no delivery limit of its own\n");
	control_expect_text(out, lines);
	control_expect_text(
		out, scratch_text("  queue \"%s.retry.10s\": declared\n", fixture.queue));
	control_expect_text(out, scratch_text("  queue \"%s.token\": declared\n", fixture.queue));
	control_expect_text(out,
		scratch_text("  wait queues \"%s.wait.*\": 15 declared, 0 exist\n", fixture.queue));
	for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
		ck_assert_int_eq(client_ready(fixture.client, queue_of(derived[i])), 0);
	out = RUN(0, "declare", file, "tested");
	control_expect_text(out,
		"tested: 0 queues made; a single active consumer, no delivery limit of its own\n");
	control_expect_text(out, scratch_text("  queue \"%s.token\": exists\n", fixture.queue));
}
END_TEST

/* What pools use, and is shared. */
START_TEST(queues_of_throttles_are_declared)
{
	char *queue = scratch_text("wpool.throttle.%s", fixture.queue);
	char *lists =
		scratch_text("- {name: used, queue: %s, command: [cat], throttle: [%s, alone]}\n"
			     "- {name: other, queue: %s, command: [cat], "
			     "retry: {attempts: 1, dead_letter: broker}}\n"
			     "throttles:\n"
			     "- {name: %s, limit: 5, period: 1s, scope: cluster}\n"
			     "- {name: unused, limit: 5, period: 1s, scope: cluster}\n"
			     "- {name: alone, limit: 5, period: 1s}\n",
			fixture.queue, fixture.queue, fixture.replies, fixture.queue);
	char *file = scratch_path(fixture.folder, "wpool.yaml");
	fixture_write_pools(lists);
	char *line = scratch_text("throttle %s: queue \"%s\" declared\n", fixture.queue, queue);
	char *out = RUN(0, "declare", file);
	control_expect_text(out, line);
	ck_assert_ptr_null(strstr(out, "unused"));
	ck_assert_ptr_null(strstr(out, "alone"));
	line = scratch_text("throttle %s: queue \"%s\" exists\n", fixture.queue, queue);
	control_expect_text(RUN(0, "declare", file, "used"), line);
	ck_assert_ptr_null(strstr(RUN(0, "declare", file, "other"), "throttle"));
	client_delete(fixture.client, queue);
	client_declare(fixture.client, queue, CLIENT_CLASSIC);
	expect_different(file, "used: ",
		"is no quorum queue with a single active consumer, which it needs: delete it");
	client_delete(fixture.client, queue);
}
END_TEST

START_TEST(pool_without_sessions_has_no_token)
{
	const char *file = write_pool("workers: 1");
	control_expect_text(RUN(0, "declare", file), "tested: 19 queues made\n");
	ck_assert_int_eq(client_ready(fixture.client, queue_of(".token")), -1);
	file = write_config("key: routing_key, takeover_delay: none");
	RUN(0, "declare", file);
	ck_assert_int_eq(client_ready(fixture.client, queue_of(".token")), -1);
}
END_TEST

START_TEST(existing_queue_is_shown_as_it_is)
{
	const char *file = write_config("key: routing_key, delivery_limit: none");
	control_expect_text(RUN(0, "declare", file), "tested: 20 queues made; no single active "
						     "consumer (docs/ordering.md), no "
						     "x-delivery-limit");
	client_delete(fixture.client, fixture.queue);
	client_declare_limited(fixture.client, fixture.queue, 7);
	struct proc *declare = fixture_wpool((const char *const[]){"declare", file, NULL});
	ck_assert_int_eq(proc_wait(declare), 78);
	control_expect_text(proc_stdout(declare), "x-delivery-limit 7\n");
	control_expect_text(proc_stderr(declare),
		"pool tested: session.delivery_limit is none, but the queue has the "
		"x-delivery-limit 7");
	file = write_config("key: routing_key");
	control_expect_text(RUN(0, "declare", file), "x-delivery-limit 7\n");
	fixture_declare(CLIENT_CLASSIC);
	expect_different(file,
		scratch_text("tested: refused\n  queue \"%s\": unsuitable\n", fixture.queue),
		"is not a quorum queue, which sessions need");
}
END_TEST

START_TEST(token_queue_of_another_kind_is_named)
{
	const char *file = write_config("key: routing_key");
	client_declare(fixture.client, queue_of(".token"), CLIENT_CLASSIC);
	expect_different(file, scratch_text("  queue \"%s.token\": refused\n", fixture.queue),
		"is no quorum queue with a single active consumer and without a delivery limit, "
		"which the token needs: delete it");
	client_delete(fixture.client, queue_of(".token"));
	control_expect_text(RUN(0, "declare", file), "tested: ");
}
END_TEST

START_TEST(arguments_are_declared_and_compared)
{
	static const char *const sessions[] = {"", ", session: {key: routing_key}"};
	char *asked = scratch_text("queue_arguments: {x-max-length: 7, x-overflow: reject-publish, "
				   "x-dead-letter-exchange: \"5\"}%s",
		sessions[_i]);
	client_delete(fixture.client, fixture.queue);
	control_expect_text(RUN(0, "declare", write_pool(asked)), "tested: ");
	control_expect_text(RUN(0, "declare", write_pool(asked)), "tested: 0 queues made");
	asked = scratch_text("queue_arguments: {x-max-length: 8, x-overflow: reject-publish, "
			     "x-dead-letter-exchange: lost, x-message-ttl: 1000}%s",
		sessions[_i]);
	expect_different(write_pool(asked), "\": differs\n",
		"exists with other arguments: x-max-length is 7, not 8; x-dead-letter-exchange is "
		"\"5\", not \"lost\"; x-message-ttl is not set, not 1000");
}
END_TEST

/* It was declared without any argument of ours. */
START_TEST(foreign_queue_is_compared)
{
	const char *file = write_pool("queue_arguments: {x-max-length: 8}");
	client_delete(fixture.client, fixture.queue);
	client_declare_limited(fixture.client, fixture.queue, 7);
	expect_different(file, "\": differs\n", "x-max-length is not set, not 8 (they");
	fixture_declare(CLIENT_CLASSIC);
	expect_different(file, "\": differs\n",
		"cannot be compared with queue_arguments: it is a classic queue; set declare: passive, or leave out queue_arguments");
}
END_TEST

static void publish(const char *exchange, const char *key, const char *header)
{
	char *body = scratch_path(fixture.folder, "body");
	scratch_write(body, key);
	RUN(0, "publish", "--broker", broker_url(fixture.broker), "--exchange", exchange,
		"--routing-key", key, "--header", header, body);
	free(body);
}

START_TEST(bindings_are_made)
{
	char *exchange = scratch_text("%s.events", fixture.queue);
	char *settings = scratch_text(
		"bindings: [{exchange: %s, type: topic, routing_key: [order.*, 'bill.#']}, "
		"{exchange: amq.headers, headers: {queue: %s, other: x}, match: any}]",
		exchange, fixture.queue);
	char *header = scratch_text("queue=%s", fixture.queue);
	const char *file = write_pool(settings);
	client_delete(fixture.client, fixture.queue);
	RUN(0, "declare", file);
	control_expect_text(RUN(0, "declare", file),
		scratch_text("  exchange \"%s\", routing key \"order.*\": bound\n", exchange));
	publish(exchange, "order.new", "a=b");
	publish(exchange, "bill.new.large", "a=b");
	publish("amq.headers", "by header", header);
	client_expect(fixture.client, fixture.queue, "order.new");
	client_expect(fixture.client, fixture.queue, "bill.new.large");
	client_expect(fixture.client, fixture.queue, "by header");
	settings = scratch_text("bindings: [{exchange: %s, type: fanout}]", exchange);
	expect_different(write_pool(settings), "\": refused\n",
		"(it exists in another form: leave out type, and it is used as it is)");
	settings = scratch_text("bindings: [{exchange: %s.none, routing_key: k}]", exchange);
	expect_different(write_pool(settings), "\": refused\n", "404 NOT_FOUND - no exchange");
}
END_TEST

/* The broker closes the connection, which is opened again; from RabbitMQ 4 on the channel. */
START_TEST(unknown_type_of_exchange_is_refused)
{
	char *settings =
		scratch_text("bindings: [{exchange: %s.odd, type: x-no-such-type}]", fixture.queue);
	expect_different(write_pool(settings), "\": refused\n",
		" - unknown exchange type 'x-no-such-type'\n");
}
END_TEST

/* And consumes all the same if one of them is refused. */
START_TEST(serve_makes_bindings)
{
	static const struct {
		const char *other, *refusal;
	} cases[] = {
		{"", NULL},
		{", {exchange: no-such-exchange}", "to exchange \"no-such-exchange\": 404"},
		/* 503 and the connection, from RabbitMQ 4 on 406 and the channel */
		{", {exchange: odd, type: x-no-such-type}",
			"unknown exchange type 'x-no-such-type'"},
	};
	char *settings = scratch_text("declare: on, queue_arguments: {x-max-length: 99}, "
				      "bindings: [{exchange: amq.direct, routing_key: %s}%s]",
		fixture.queue, cases[_i].other);
	client_delete(fixture.client, fixture.queue);
	struct proc *serve = fixture_serve_echo_pool(settings);
	if (cases[_i].refusal) {
		proc_expect(serve, cases[_i].refusal);
		control_await("/readyz", 200);
		control_expect_text(RUN(0, "status"), cases[_i].refusal);
	}
	char *body = scratch_path(fixture.folder, "body");
	scratch_write(body, "x");
	RUN(0, "publish", "--broker", broker_url(fixture.broker), "--exchange", "amq.direct",
		"--routing-key", fixture.queue, "--reply-to", fixture.replies, "--header",
		"X-Status=201", body);
	client_expect(fixture.client, fixture.replies, "x");
	fixture_stop(serve);
	free(body);
}
END_TEST

/* The queue is worked as it is, and stays as it is. */
static void expect_served(const char *settings, const char *words)
{
	struct proc *serve = fixture_serve_echo_pool(settings);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, "x");
	control_await("/readyz", 200);
	control_expect_text(RUN(0, "status"), words);
	fixture_stop(serve);
	ck_assert_int_eq(proc_count_logged(serve, words), 1);
	ck_assert(proc_has_logged(serve, "; consuming it as it is"));
}

START_TEST(serve_names_what_differs)
{
	static const char *const sessions[] = {
		"", ", session: {key: routing_key, takeover_delay: none}"};
	const char *file;
	client_delete(fixture.client, fixture.queue);
	file = write_pool(scratch_text("queue_arguments: {x-max-length: 7}%s", sessions[_i]));
	RUN(0, "declare", file);
	expect_served(scratch_text("declare: on, queue_arguments: {x-max-length: 8, "
				   "x-dead-letter-exchange: lost}%s",
			      sessions[_i]),
		"exists with other arguments: x-max-length is 7, not 8; x-dead-letter-exchange is "
		"not set, not \"lost\"");
	file = write_pool(scratch_text("queue_arguments: {x-max-length: 7}%s", sessions[_i]));
	RUN(0, "declare", file);
}
END_TEST

START_TEST(serve_names_another_type)
{
	fixture_declare(CLIENT_CLASSIC);
	expect_served("declare: on, queue_arguments: {x-max-length: 8}",
		"cannot be compared with queue_arguments: it is a classic queue");
}
END_TEST

START_TEST(serve_does_not_warn_of_an_equal_queue)
{
	static const char settings[] =
		"declare: on, queue_arguments: {x-max-length: 8, x-queue-leader-locator: balanced}";
	client_delete(fixture.client, fixture.queue);
	for (int i = 0; i < 2; i++) { /* made, then found */
		struct proc *serve = fixture_serve_pool(settings, fixture_built("workers/echo"));
		client_expect_consumers(fixture.client, fixture.queue, 1);
		fixture_stop(serve);
		ck_assert(!proc_has_logged(serve, "queue_arguments"));
	}
}
END_TEST

/* Two pools of one queue each, at another broker. */
static const char *write_two_pools(const struct rude_broker *rude)
{
	const char *file = scratch_path(fixture.folder, "wpool.yaml");
	const char *settings = "command: [w], retry: {attempts: 1, dead_letter: broker}";

	scratch_write(file, scratch_text("broker: {url: '%s'}\npools: [{name: one, queue: q1, %s}, "
					 "{name: two, queue: q2, %s}]\n",
				    rude_broker_url(rude), settings, settings));
	return file;
}

/* It is not the configuration that is wrong. */
START_TEST(broker_that_fails_is_retried)
{
	struct rude_broker *rude = rude_broker_start(RUDE_FAILS, "INTERNAL_ERROR", 14);
	struct proc *declare = fixture_wpool(
		(const char *const[]){"declare", "--wait", "2s", write_two_pools(rude), NULL});

	proc_expect(declare, "541 INTERNAL_ERROR; retrying in");
	ck_assert_int_eq(proc_wait(declare), 75);
	control_expect_text(proc_stderr(declare),
		"pool one: the broker closed the connection: 541 INTERNAL_ERROR");
	control_expect_text(scratch_text("[%s]", proc_stdout(declare)), "[]");
	rude_broker_free(rude);
}
END_TEST

/* Neither the pool that is complete nor the next one, of which nothing was asked, is refused. */
START_TEST(error_between_pools_is_no_answer)
{
	struct rude_broker *rude = rude_broker_start(RUDE_FAILS_BETWEEN, "ODD", 3);
	struct proc *declare =
		fixture_wpool((const char *const[]){"declare", write_two_pools(rude), NULL});

	ck_assert_int_eq(proc_wait(declare), 0);
	control_expect_text(proc_stdout(declare),
		"one: 0 queues made\n  queue \"q1\": exists\n"
		"  wait queues \"q1.wait.*\": 0 declared, 15 exist\n"
		"two: 0 queues made\n  queue \"q2\": exists\n"
		"  wait queues \"q2.wait.*\": 0 declared, 15 exist\n");
	rude_broker_free(rude);
}
END_TEST

START_TEST(mistakes_are_named)
{
	const char *file = write_config("key: routing_key");
	control_expect_text(RUN(64, "declare"), "a FILE is needed");
	control_expect_text(RUN(65, "declare", file, "other"), "there is no pool other");
	control_expect_text(RUN(78, "declare", "/no/such/file"), "/no/such/file");
	file = write_config("quantum: 1");
	control_expect_text(RUN(78, "declare", file), "session.key is missing");
	scratch_write(file, "broker: {url: 'amqp://127.0.0.1:1'}\n"
			    "pools: [{queue: q, command: w}]\n");
	control_expect_text(
		RUN(69, "declare", "--wait", "300ms", file), "no connection to the broker");
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("declare", {missing_queues_are_made_once, 1},
		{arguments_are_declared_and_compared, 2}, {foreign_queue_is_compared, 1},
		{bindings_are_made, 1}, {unknown_type_of_exchange_is_refused, 1},
		{serve_makes_bindings, 3}, {serve_names_what_differs, 2},
		{serve_names_another_type, 1}, {serve_does_not_warn_of_an_equal_queue, 1},
		{queues_of_throttles_are_declared, 1}, {pool_without_sessions_has_no_token, 1},
		{existing_queue_is_shown_as_it_is, 1}, {token_queue_of_another_kind_is_named, 1},
		{broker_that_fails_is_retried, 1}, {error_between_pools_is_no_answer, 1},
		{mistakes_are_named, 1});
}
