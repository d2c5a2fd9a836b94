/* The section session of the configuration: what check-config prints and refuses, what a start
 * refuses, and what a reload changes while messages with keys are worked: their order holds. Each
 * test of order runs on the fixture's quorum queue, and on one with a single active consumer that
 * wpool declares. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

enum { KEYS = 5, EACH = 20, QUEUES = 2 };

/* The pool "tested"; session: the settings in the section. */
static char *tested(const char *session)
{
	return scratch_text("- {name: tested, queue: %s, command: [\"%s\"], workers: 3, prefetch: "
			    "100, declare: on, session: {%s}}\n",
		fixture.queue, fixture_built("workers/echo"), session);
}

static struct proc *serve(const char *session, bool is_single)
{
	if (is_single)
		client_delete(fixture.client, fixture.queue);
	struct proc *proc = fixture_serve_pools(tested(session));
	proc_expect(proc, "consuming queue");
	return proc;
}

static json_t *reload(const char *session)
{
	fixture_write_pools(tested(session));
	struct http_reply reply = http_request(control_socket(), "POST", "/v1/reload");
	ck_assert_msg(reply.status == 200, "%d: %s", reply.status, reply.body);
	return control_parse(strdup(reply.body));
}

static void expect_action(const char *session, const char *action)
{
	json_t *answer = reload(session);
	ck_assert_str_eq(control_text(control_member(answer, "pools", 0), "action"), action);
	json_decref(answer);
}

/* Two headers with the key; the id is "KEY NUMBER". */
static void post_numbered(int key, int number)
{
	char name[8], id[32];
	snprintf(name, sizeof name, "k%d", key);
	snprintf(id, sizeof id, "%s %d", name, number);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = id,
			.correlation_id = id,
			.headers = {{"Key", name}, {"Other", name}}});
}

static void post_to_all(int from, int below)
{
	for (int number = from; number < below; number++)
		for (int key = 0; key < KEYS; key++)
			post_numbered(key, number);
}

/* Each key has the numbers from 0 to below count in the witness, in order. Only where may_repeat is
 * true, a tail may come again: then all numbers that follow it come again, too. */
static void expect_order(int count, bool may_repeat)
{
	int next[KEYS] = {0};
	char *text = scratch_read(fixture.witness, NULL);
	for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n")) {
		int key, number;
		ck_assert_msg(sscanf(line, "k%d %d", &key, &number) == 2, "%s", line);
		if (number > next[key] || (number < next[key] && !may_repeat))
			fixture_fail(scratch_text("%s after %d", line, next[key] - 1));
		next[key] = number + 1;
	}
	free(text);
	for (int key = 0; key < KEYS; key++)
		ck_assert_int_eq(next[key], count);
}

/* Every number below count of each key has been worked, in any order. */
static void expect_all(int count)
{
	for (int id = 0; id < KEYS * count; id++)
		ck_assert_int_ge(
			fixture_witnessed(scratch_text("k%d %d", id % KEYS, id / KEYS)), 1);
}

/* In any order with other lines. */
static void await_logged(struct proc *proc, const char *text)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!proc_has_logged(proc, text))
		fixture_poll(deadline, 10, text);
}

/* ---------- check-config and the start ---------- */

static const char *write_config(const char *session)
{
	char *path = scratch_path(fixture.folder, "wpool.yaml");
	char *text = scratch_text("pools:\n- queue: q\n  command: [w]\n  session: {%s}\n", session);
	scratch_write(path, text);
	return path;
}

START_TEST(check_config_prints_and_explains)
{
	const char *path = write_config("key: 'header:session'");
	struct proc *check = fixture_wpool((const char *const[]){"check-config", path, NULL});
	ck_assert_int_eq(proc_wait(check), 0);
	control_expect_text(proc_stdout(check), "key: \"header:session\"");
	control_expect_text(proc_stdout(check), "takeover_delay: 30s");
	control_expect_text(proc_stdout(check), "prefetch: 2000");
	control_expect_text(proc_stderr(check),
		scratch_text("%s:2: warning: pools[0].session.delivery_limit is unknown", path));
}
END_TEST

/* With the line, and the same text at the start. */
START_TEST(mistakes_are_refused)
{
	static const struct {
		const char *session, *words;
	} cases[] = {
		{"key: 'header:x-wpool-attempt'", ":4: pools[0].session.key"},
		{"quantum: 5", ":4: pools[0].session.key is missing"},
		{"key: routing_key, takeover_delay: 9s", ":4: pools[0].session.takeover_delay"},
		{"key: routing_key, on_failure: block", "session.delivery_limit: none"},
		{"key: routing_key}\n  unroutable: retry\n  rlimits: {", "unroutable contradicts"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *path = write_config(cases[i].session);
		control_expect_text(RUN(78, "check-config", path), cases[i].words);
		control_expect_text(RUN(78, "serve", "--config", path), cases[i].words);
	}
}
END_TEST

START_TEST(variables_switch_sessions_on)
{
	const char *const argv[] = {fixture_built("wpool"), "serve", NULL};
	const char *const environment[] = {"WPOOL_SESSION_KEY=header:Key", "PREFETCH=70",
		scratch_text("AMQP_URL=%s", broker_url(fixture.broker)),
		scratch_text("QUEUENAME=%s", fixture.queue),
		scratch_text("WORKER_COMMAND=%s", fixture_built("workers/echo")),
		scratch_text("WITNESS=%s", fixture.witness), "WPOOL_CONTROL_SOCKET=off", NULL};
	struct proc *proc = proc_start(fixture.folder, argv, environment);
	proc_expect(proc, "70 at a time");
	post_to_all(0, EACH);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_order(EACH, false);
	fixture_stop(proc);
}
END_TEST

/* ---------- reload ---------- */

#define KEY "key: 'header:Key'"

START_TEST(reloads_keep_the_order)
{
	static const struct {
		const char *session, *action;
	} steps[] = {
		{KEY ", quantum: 1", "changed"},
		{KEY ", quantum: 1ms", "changed"},
		{KEY ", idle: 1s", "changed"},
		{KEY ", max_active: 2", "changed"},
		{KEY ", max_sessions: 2", "changed"},
		{KEY ", max_unacked_age: 1min", "changed"},
		{KEY ", delivery_limit: none", "changed"},
		{KEY ", delivery_limit: none, on_failure: block", "changed"},
		{KEY ", takeover_delay: 10s", "changed"},
		{KEY ", takeover_delay: 10s", "unchanged"},
		{KEY ", takeover_delay: none", "replaced"},
		{"key: 'header:Other', takeover_delay: none", "replaced"},
		{KEY ", takeover_delay: none, without_key: reject", "replaced"},
	};
	int number = EACH;
	struct proc *proc = serve(KEY, _i == 1);
	post_to_all(0, EACH);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++, number += EACH) {
		expect_action(steps[i].session, steps[i].action);
		post_to_all(number, number + EACH);
	}
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_order(number, _i == 0); /* a queue without single active consumer */
	fixture_stop(proc);
}
END_TEST

/* A token that was never passed on: what comes again would wait for takeover_delay, so the queue is
 * empty when the new pool takes over. */
START_TEST(token_is_switched_on)
{
	struct proc *proc = serve(KEY ", takeover_delay: none", _i == 1);
	ck_assert(!proc_has_logged(proc, "the token of queue"));
	post_to_all(0, EACH);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_action(KEY ", takeover_delay: 20s", "replaced");
	await_logged(proc, "active: has the token of queue");
	await_logged(proc, "drained: ");
	post_to_all(EACH, 2 * EACH);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_order(2 * EACH, _i == 0);
	fixture_stop(proc);
}
END_TEST

static void post_rejected(int key, int number)
{
	char name[8];
	snprintf(name, sizeof name, "k%d", key);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = scratch_text("%s %d", name, number),
			.headers = {{"Key", name}, {"X-Status", "400"}}});
}

static void await_witness(const char *line)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (fixture_witnessed(line) == 0)
		fixture_poll(deadline, 10, line);
}

/* A session that is blocked stays so; the next failures are skipped. */
START_TEST(on_failure_changes_at_once)
{
	struct proc *proc = serve(KEY ", delivery_limit: none, on_failure: block", true);
	post_rejected(0, 0);
	post_numbered(0, 1);
	post_numbered(1, 0);
	await_witness("k1 0");
	control_await_figure("sessions", "blocked", 1);
	expect_action(KEY ", delivery_limit: none", "changed");
	ck_assert_int_eq(fixture_witnessed("k0 1"), 0);
	RUN(0, "session", "skip", "tested", "k0");
	await_witness("k0 1");
	post_rejected(0, 2);
	post_numbered(0, 3);
	await_witness("k0 3");
	client_expect_ready(fixture.client, fixture.dead, 2);
	fixture_stop(proc);
}
END_TEST

/* The old pool finishes what its workers have, then the new one consumes; and back. */
START_TEST(sessions_are_switched_on_and_off)
{
	if (_i == 1)
		client_delete(fixture.client, fixture.queue);
	char *plain = scratch_text("- {name: tested, queue: %s, command: [\"%s\"], workers: 2, "
				   "declare: on}\n",
		fixture.queue, fixture_built("workers/echo"));
	struct proc *proc = fixture_serve_pools(plain);
	proc_expect(proc, "consuming queue");
	fixture_post_held(proc, "long");
	expect_action(KEY, "replaced");
	fixture_release("long");
	await_logged(proc, "active: has the token of queue");
	await_logged(proc, "drained: ");
	post_to_all(0, EACH);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("long"), 1);
	expect_all(EACH);
	fixture_write_pools(plain);
	control_expect_text(RUN(0, "reload"), "replaced");
	post_to_all(EACH, 2 * EACH);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_all(2 * EACH);
	fixture_stop(proc);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("session_config", {check_config_prints_and_explains, 1},
		{mistakes_are_refused, 1}, {variables_switch_sessions_on, 1},
		{reloads_keep_the_order, QUEUES}, {token_is_switched_on, QUEUES},
		{on_failure_changes_at_once, 1}, {sessions_are_switched_on_and_off, QUEUES});
}
