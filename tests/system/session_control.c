/* Sessions seen and controlled: `wpool sessions`, `wpool session`, their API on the control socket,
 * and what pools, metrics and health show of sessions. Never a key over TCP. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "harness/page.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A failed task stays parked until the test is over. */
#define PARKED "retry: {attempts: 2, delay: [1h]}"

static char *pool(const char *settings, const char *session)
{
	return scratch_text("- {name: tested, queue: '%s', declare: on, command: ['%s'], "
			    "session: {key: 'header:session', %s}, %s}\n",
		fixture.queue, fixture_built("workers/echo"), session, settings);
}

/* The pool "tested" of echo workers, on a queue that wpool itself declares. */
static struct proc *serve(const char *settings, const char *session)
{
	struct proc *proc;

	client_delete(fixture.client, fixture.queue);
	proc = fixture_serve_pools(pool(settings, session));
	proc_expect(proc, "consuming queue");
	control_await("/readyz", 200);
	return proc;
}

static void post(const char *key, const char *id, const char *header, const char *value)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.correlation_id = id,
			.headers = {{"session", key}, {header, value}}});
}

static void post_done(const char *key, const char *id)
{
	post(key, id, "X-Status", "200");
}

/* It works until fixture_release(id). */
static void post_held(struct proc *proc, const char *key, const char *id)
{
	char *began = scratch_text("%s has begun", id);

	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.correlation_id = id,
			.headers = {{"session", key}, {"X-Begin", began},
				{"X-Until", fixture_release_path(id)}}});
	proc_expect(proc, began);
}

static json_int_t count(const char *where)
{
	json_t *answer =
		control_parse(RUN(0, "sessions", "tested", "--count", "--json", "--where", where));
	json_int_t found = json_integer_value(json_object_get(answer, "count"));

	json_decref(answer);
	return found;
}

static void await_count(const char *where, json_int_t wanted)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);

	while (count(where) != wanted)
		fixture_poll(deadline, 20, where);
}

static int post_request(const char *path)
{
	return http_request(control_socket(), "POST", path).status;
}

static void await_text(const char *path, const char *needle)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);

	while (!strstr(http_request(control_socket(), "GET", path).body, needle))
		fixture_poll(deadline, 20, needle);
}

/* ---------- what is shown ---------- */

/* Of the session a one task runs and two wait, one of them in the high lane; b is parked. */
static struct proc *serve_two_sessions(void)
{
	struct proc *proc = serve("workers: 2, prefetch: 50, " PARKED, "idle: 1h");

	post_held(proc, "a", "a1");
	post_done("a", "a2");
	post_done("a", "a3");
	post("b", "b1", "X-Status", "500");
	post_done("b", "b2");
	await_count("state=parked backlog=1", 1);
	await_count("state=running backlog=2", 1);
	return proc;
}

START_TEST(sessions_are_listed_counted_and_shown)
{
	struct proc *proc = serve_two_sessions();
	char *table = RUN(0, "sessions", "tested"), *shown;
	json_t *answer;
	const json_t *session;

	control_expect_text(table, "KEY  STATE");
	control_expect_text(table, "running");
	control_expect_text(table, "parked");
	control_expect_text(table, "failed");
	control_expect_text(table, " min"); /* until its next attempt */
	ck_assert_str_eq(RUN(0, "sessions", "tested", "--count"), "2\n");
	answer = control_parse(RUN(0, "sessions", "tested", "--json", "--where", "key=b for<1h"));
	session = control_member(answer, "sessions", 0);
	ck_assert_str_eq(control_text(session, "key"), "b");
	ck_assert_str_eq(control_text(session, "reason"), "failed");
	ck_assert_int_eq(json_integer_value(json_object_get(session, "attempts")), 1);
	ck_assert_uint_eq(json_array_size(json_object_get(answer, "sessions")), 1);
	ck_assert(json_is_false(json_object_get(answer, "more")));
	control_expect_text(RUN(0, "sessions", "tested", "--limit", "1"), "there are more");
	shown = RUN(0, "session", "show", "tested", "a", "b");
	for (const char *const *id = (const char *const[]){"a1", "a2", "a3", "b1", "b2", NULL}; *id;
		id++)
		control_expect_text(shown, *id);
	fixture_release("a1");
	await_count("state=idle key=a", 1);
	fixture_stop(proc);
}
END_TEST

START_TEST(a_session_shows_both_of_its_orders)
{
	struct proc *proc = serve_two_sessions();
	json_t *answer;
	const json_t *orders;

	RUN(0, "session", "drain", "tested", "a");
	RUN(0, "session", "pause", "tested", "a", "b");
	control_expect_text(RUN(0, "sessions", "tested"), "drain, pause");
	answer = control_parse(RUN(0, "sessions", "tested", "--json", "--where", "key=b"));
	orders = json_object_get(control_member(answer, "sessions", 0), "orders");
	ck_assert_uint_eq(json_array_size(orders), 1);
	ck_assert_str_eq(json_string_value(json_array_get(orders, 0)), "pause");
	RUN(0, "session", "resume", "tested", "a", "b");
	control_expect_text(RUN(0, "sessions", "tested", "--where", "key=a"), "drain\n");
	fixture_release("a1");
	await_count("state=idle key=a", 0);
	fixture_stop(proc);
}
END_TEST

START_TEST(mistakes_have_their_exit_codes)
{
	static const char other[] = "- {name: plain, queue: other, command: [/bin/cat]}\n";
	struct proc *proc;

	client_delete(fixture.client, fixture.queue);
	proc = fixture_serve_pools(scratch_text("%s%s", pool("workers: 1", "idle: 1h"), other));
	proc_expect(proc, "control socket: ");
	control_expect_text(RUN(65, "sessions", "nobody"), "there is no pool \"nobody\"");
	control_expect_text(RUN(75, "sessions", "plain"), "this pool has no sessions");
	control_expect_text(RUN(75, "session", "pause", "plain", "k"), "has no sessions");
	control_expect_text(RUN(65, "session", "drain", "tested", "k"), "no session \"k\" now");
	control_expect_text(RUN(65, "session", "show", "tested", "k"), "no session \"k\" now");
	control_expect_text(RUN(64, "sessions", "tested", "--where", "state=x"),
		"malformed at position 7: the states are ready");
	control_expect_text(RUN(64, "session", "resume", "tested", "--where", ""), "is empty");
	control_expect_text(RUN(64, "session", "close", "tested", "k"), "close needs --queued");
	control_expect_text(
		RUN(64, "session", "pause", "tested", "k", "--queued", "keep"), "for close and");
	control_expect_text(RUN(64, "session", "retry", "tested", "k", "--wait"), "--wait is for");
	control_expect_text(RUN(64, "session", "kick", "tested", "k"), "no verb 'kick'");
	control_expect_text(RUN(64, "session", "pause", "tested"), "either a KEY or --where");
	control_expect_text(RUN(64, "sessions"), "POOL is needed");
	control_expect_text(
		control_get("/v1/pools/tested/sessions?where=state%3Dx", 400), "\"position\":7");
	control_expect_text(
		control_get("/v1/pools/tested/sessions?key=a&where=high%3E0", 400), "contradict");
	control_get("/v1/pools/tested/sessions?key=", 400);
	control_get("/v1/pools/tested/sessions/pause?key=a", 405);
}
END_TEST

START_TEST(the_api_needs_to_be_told_where_queued_tasks_go)
{
	struct proc *proc = serve("workers: 1, prefetch: 50", "idle: 1h");

	post_done("a", "a1");
	await_count("state=idle", 1);
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/close?key=a"), 400);
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/close?key=a&queued=away"), 400);
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/drain?key=a&queued=keep"), 400);
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/drain"), 400);
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/drain?key=b"), 404);
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/retry?key=a"), 409);
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/kick?key=a"), 404);
	ck_assert_int_eq(count("key=a"), 1);
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/close?key=a&queued=keep"), 200);
	await_count("key=a", 0);
	fixture_stop(proc);
}
END_TEST

/* Keys come from publishers: a terminal does not obey them, and a command finds them. */
START_TEST(keys_are_escaped)
{
	static const char key[] = "evil\x1b[31m\nkey & ?x=\xc3\xa4";
	struct proc *proc = serve("workers: 1, prefetch: 50", "idle: 1h");
	char *table;

	post_done(key, "e1");
	await_count("state=idle", 1);
	table = RUN(0, "sessions", "tested");
	control_expect_text(table, "evil\\x1b[31m\\nkey & ?x=\xc3\xa4");
	ck_assert_ptr_null(strchr(table, '\x1b'));
	control_expect_text(RUN(0, "sessions", "tested", "--json"), "evil\\u001b[31m\\nkey");
	control_expect_text(RUN(0, "session", "drain", "tested", key, "--wait"), "evil\\x1b[31m");
	await_count("high>=0", 0);
	/* A NUL ends no key. */
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/pause?key=a%00b"), 200);
	control_get("/v1/pools/tested/sessions?key=a", 404);
	control_expect_text(RUN(0, "sessions", "tested"), "a\\x00b  paused");
	control_expect_text(
		control_get("/v1/pools/tested/sessions?key=a%00b", 200), "\"a\\u0000b\"");
	fixture_stop(proc);
}
END_TEST

/* Over TCP everybody of the machine reads. */
START_TEST(no_key_over_tcp_nor_in_a_label)
{
	static const char *const paths[] = {
		"/v1/pools?status=true", "/v1/workers", "/metrics", "/readyz", "/v1/status"};
	struct http_reply reply;

	client_delete(fixture.client, fixture.queue);
	page_serve(pool("workers: 1, prefetch: 50, " PARKED, "idle: 1h"), 0);
	control_await("/readyz", 200);
	post("the-key", "k1", "X-Status", "500");
	await_count("state=parked key=the-key", 1);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		ck_assert_ptr_null(strstr(http_get(page_address(), paths[i], 200), "the-key"));
	ck_assert_ptr_null(strstr(control_get("/metrics", 200), "the-key"));
	reply = http_request(page_address(), "GET", "/v1/pools/tested/sessions");
	ck_assert_int_eq(reply.status, 403);
	reply = http_request(page_address(), "POST", "/v1/pools/tested/sessions/pause?key=x");
	ck_assert_int_eq(reply.status, 403);
	await_count("key=x", 0);
}
END_TEST

/* ---------- verbs ---------- */

static void expect_dead(const char *id, const char *reason)
{
	struct message *dead = client_take(fixture.client, fixture.dead);

	ck_assert_msg(message_text_is(dead->properties.correlation_id, id), "not %s", id);
	ck_assert(message_header_is(dead, "x-wpool-reason", reason));
	message_free(dead);
}

/* A running task of session a, and two that wait. */
static struct proc *serve_queued(const char *session)
{
	struct proc *proc = serve("workers: 1, prefetch: 50, limits: {grace: 1s}", session);

	post_held(proc, "a", "a1");
	post_done("a", "a2");
	post_done("a", "a3");
	await_count("state=running backlog=2", 1);
	return proc;
}

START_TEST(close_sends_what_is_queued_to_the_dead_letters)
{
	struct proc *proc = serve_queued("idle: 1h");

	control_expect_text(RUN(0, "session", "close", "tested", "a", "--queued", "dead-letter"),
		"a: closing; 2 queued tasks in hand, the broker may hold more\n");
	fixture_release("a1");
	await_count("key=a", 0);
	expect_dead("a2", "session-closed");
	expect_dead("a3", "session-closed");
	ck_assert_int_eq(fixture_witnessed(NULL), 1);
	fixture_await_settled((const char *const[]){NULL});
	fixture_stop(proc);
}
END_TEST

START_TEST(close_discards_what_is_queued)
{
	struct proc *proc = serve_queued("idle: 1h");

	RUN(0, "session", "close", "tested", "--where", "key^=a", "--queued", "discard");
	fixture_release("a1");
	await_count("key=a", 0);
	proc_expect(proc, "an operator discards task a2 with its session");
	proc_expect(proc, "an operator discards task a3 with its session");
	ck_assert_int_eq(fixture_witnessed(NULL), 1);
	fixture_await_settled((const char *const[]){NULL});
	ck_assert_int_eq(client_ready(fixture.client, fixture.dead), 0);
	fixture_stop(proc);
}
END_TEST

/* The next life begins when the old one has ended, for which --wait waits. */
START_TEST(close_keeps_what_is_queued_for_the_next_life)
{
	struct proc *proc = serve_queued("idle: 1h"), *waits;
	json_t *answer;

	waits = fixture_wpool((const char *const[]){
		"session", "close", "tested", "a", "--queued", "keep", "--wait", "--json", NULL});
	proc_expect(proc, "close by command: 1 session; 0 refused");
	ck_assert_int_eq(count("state=running backlog=2"), 1);
	fixture_release("a1");
	ck_assert_int_eq(proc_wait(waits), 0);
	answer = control_parse(strdup(proc_stdout(waits)));
	ck_assert_int_eq(json_integer_value(json_object_get(answer, "queued")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(answer, "sessions")), 1);
	control_expect_text(control_text(answer, "note"), "the broker may hold more");
	control_expect_done(3);
	await_count("state=idle key=a", 1);
	fixture_stop(proc);
}
END_TEST

/* In one go: beyond the quantum, though another session waits. */
START_TEST(drain_runs_what_is_queued_in_one_go)
{
	struct proc *proc = serve("workers: 1, prefetch: 50", "quantum: 1, idle: 1h");
	char *witness;
	size_t len;

	post_held(proc, "a", "a1");
	for (int i = 2; i <= 5; i++)
		post_done("a", scratch_text("a%d", i));
	post_done("b", "b1");
	await_count("state=ready key=b", 1);
	control_expect_text(
		RUN(0, "session", "drain", "tested", "a"), "a: draining; 4 queued tasks in hand");
	fixture_release("a1");
	control_expect_done(6);
	witness = scratch_read(fixture.witness, &len);
	ck_assert_str_eq(witness, "a1\na2\na3\na4\na5\nb1\n");
	await_count("key=a", 0);
	ck_assert_int_eq(count("key=b"), 1);
	fixture_stop(proc);
}
END_TEST

/* The echo worker does not give the task up, so it is ended when limits.grace is over. */
START_TEST(abort_ends_a_worker_that_goes_on)
{
	struct proc *proc = serve_queued("idle: 1h");

	control_expect_text(
		RUN(0, "session", "abort", "tested", "a", "--queued", "dead-letter", "--wait"),
		"a: aborting, and ended; 2 queued tasks in hand");
	ck_assert_int_eq(count("key=a"), 0);
	client_expect_ready(fixture.client, fixture.dead, 3);
	ck_assert_int_eq(fixture_witnessed(NULL), 0);
	fixture_await_settled((const char *const[]){NULL});
	fixture_stop(proc);
}
END_TEST

/* Tasks of other sessions that its worker had open run again, and no attempt of theirs is counted.
 */
START_TEST(abort_gives_back_what_else_its_worker_had)
{
	struct proc *proc;

	client_delete(fixture.client, fixture.queue);
	proc = fixture_serve_pools(scratch_text(
		"- {name: tested, queue: '%s', declare: on, command: ['%s'], workers: 1, "
		"concurrency: 4, prefetch: 50, limits: {grace: 1s}, session: {key: "
		"'header:session', idle: 1h}}\n",
		fixture.queue, fixture_built("workers/many")));
	proc_expect(proc, "consuming queue");
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = scratch_text("hold %s", fixture_release_path("b")),
			.correlation_id = "b1",
			.headers = {{"session", "b"}}});
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "hang", .correlation_id = "a1", .headers = {{"session", "a"}}});
	control_await_figure("tasks", "open", 2);
	RUN(0, "session", "abort", "tested", "a", "--queued", "dead-letter", "--wait");
	expect_dead("a1", "session-closed");
	control_await_figure("tasks", "open", 1);
	ck_assert_int_eq(count("state=running key=b attempts=0"), 1);
	fixture_release("b");
	control_expect_done(1);
	ck_assert_int_eq(control_figure("totals", "retried"), 0);
	fixture_stop(proc);
}
END_TEST

START_TEST(a_session_that_does_not_exist_yet_is_paused)
{
	struct proc *proc = serve("workers: 1, prefetch: 50", "idle: none");

	ck_assert_str_eq(RUN(0, "session", "pause", "tested", "a", "b"), "a: paused\nb: paused\n");
	post_done("a", "a1");
	post_done("c", "c1");
	await_count("state=paused key=a backlog=1", 1);
	control_await_figure("totals", "done", 1);
	ck_assert_int_eq(fixture_witnessed("a1"), 0);
	RUN(0, "session", "resume", "tested", "--where", "state=paused");
	control_expect_done(2);
	await_count("high>=0", 0);
	fixture_stop(proc);
}
END_TEST

START_TEST(pause_waits_until_nothing_runs)
{
	struct proc *proc = serve_queued("idle: 1h"), *waits;

	waits = fixture_wpool(
		(const char *const[]){"session", "pause", "tested", "a", "--wait", NULL});
	proc_expect(proc, "pause by command: 1 session; 0 refused");
	fixture_release("a1");
	ck_assert_int_eq(proc_wait(waits), 0);
	ck_assert_str_eq(proc_stdout(waits), "a: paused, and nothing of it runs\n");
	ck_assert_int_eq(count("state=paused backlog=2"), 1);
	ck_assert_int_eq(fixture_witnessed(NULL), 1);
	RUN(0, "session", "resume", "tested", "a");
	control_expect_done(3);
	fixture_stop(proc);
}
END_TEST

START_TEST(retry_and_skip_decide_about_the_front)
{
	struct proc *proc =
		serve("workers: 2, prefetch: 50, properties: true, " PARKED, "idle: 1h");

	post("a", "a1", "X-Fail-Until", "1");
	post_done("a", "a2");
	post("b", "b1", "X-Status", "500");
	post_done("b", "b2");
	await_count("state=parked", 2);
	control_expect_text(
		RUN(0, "session", "retry", "tested", "--where", "key=a high=0", "--json"),
		"\"refused\":0");
	control_await_figure("totals", "done", 2);
	ck_assert_str_eq(RUN(0, "session", "skip", "tested", "b"), "b: skipping\n");
	control_expect_done(3);
	expect_dead("b1", "failed");
	control_expect_text(
		RUN(75, "session", "skip", "tested", "b"), "session \"b\": no failed task");
	fixture_stop(proc);
}
END_TEST

/* Each line to each session that matches, in the order of the lines. */
START_TEST(messages_are_published_to_sessions)
{
	struct proc *proc = serve("workers: 2, prefetch: 50", "idle: 1h");
	char *lines = scratch_path(fixture.folder, "lines"), *shown;
	const char *broker = broker_url(fixture.broker);

	ck_assert_str_eq(RUN(0, "sessions", "tested"), "no sessions\n");
	ck_assert_uint_eq(
		json_array_size(json_object_get(
			control_parse(RUN(0, "sessions", "tested", "--json")), "sessions")),
		0);
	RUN(0, "session", "pause", "tested", "a-1", "a-2", "b-1");
	ck_assert_str_eq(RUN(0, "sessions", "tested", "--where", "key=c"), "no session matches\n");
	scratch_write(lines, "one\ntwo\n");
	control_expect_text(RUN(0, "publish", "--broker", broker, "--sessions", "tested", "--where",
				    "key^=a-", "--correlation-id", "x", "--lines", lines),
		"published 4 messages");
	control_expect_text(RUN(0, "publish", "--broker", broker, "--sessions", "tested", "--where",
				    "key=a-2", "--correlation-id", "first", "--high", lines),
		"published 1 message");
	await_count("state=paused backlog=2 high=0 key=a-1", 1);
	await_count("state=paused backlog=3 high=1 key=a-2", 1);
	ck_assert_int_eq(count("key=b-1 backlog=0"), 1);
	shown = RUN(0, "session", "show", "tested", "a-2");
	ck_assert(strstr(shown, "first") < strstr(shown, "normal"));
	control_expect_text(RUN(65, "publish", "--broker", broker, "--sessions", "tested",
				    "--where", "key=c", lines),
		"no session of tested matches key=c");
	control_expect_text(
		RUN(64, "publish", "--broker", broker, "--sessions", "tested", lines), "--where");
	control_expect_text(RUN(64, "publish", "--broker", broker, "--sessions", "tested",
				    "--where", "key<c", lines),
		"position 4");
	RUN(0, "session", "resume", "tested", "--where", "state=paused");
	control_await_figure("totals", "done", 5);
	fixture_stop(proc);
}
END_TEST

/* Many sessions get a command a few at a time, each once. */
START_TEST(an_expression_reaches_each_session_once)
{
	enum { SESSIONS = 3000 };
	static struct letter letters[SESSIONS];
	struct proc *proc = serve("workers: 2, prefetch: 4000", "idle: 1h");
	json_t *answer;

	for (int i = 0; i < SESSIONS; i++)
		letters[i] = (struct letter){.body = "x",
			.correlation_id = scratch_text("%d", i),
			.headers = {{"session", scratch_text("key-%d", i)}}};
	client_post_all(fixture.client, fixture.queue, letters, SESSIONS, NULL);
	await_count("state=idle", SESSIONS);
	answer = control_parse(
		RUN(0, "session", "pause", "tested", "--where", "key^=key-1", "--json"));
	ck_assert_int_eq(json_integer_value(json_object_get(answer, "sessions")), 1111);
	ck_assert_int_eq(count("state=paused"), 1111);
	answer = control_parse(RUN(0, "sessions", "tested", "--json"));
	ck_assert_uint_eq(json_array_size(json_object_get(answer, "sessions")), SESSIONS);
	RUN(0, "session", "resume", "tested", "--where", "state=paused");
	answer = control_parse(
		RUN(0, "session", "drain", "tested", "--where", "key^=key-", "--wait", "--json"));
	ck_assert_int_eq(json_integer_value(json_object_get(answer, "sessions")), SESSIONS);
	ck_assert_int_eq(count("high>=0"), 0);
	fixture_stop(proc);
}
END_TEST

/* ---------- figures and health ---------- */

START_TEST(figures_show_sessions)
{
	struct proc *proc = serve_two_sessions();
	char *metrics = control_get("/metrics", 200);

	ck_assert_int_eq(control_figure("sessions", "active"), 2);
	ck_assert_int_eq(control_figure("sessions", "running"), 1);
	ck_assert_int_eq(control_figure("sessions", "parked"), 1);
	ck_assert_int_eq(control_figure("sessions", "stuck"), 2);
	control_expect_text(metrics, "wpool_sessions{pool=\"tested\",state=\"parked\"} 1\n");
	control_expect_text(metrics, "wpool_sessions{pool=\"tested\",state=\"blocked\"} 0\n");
	control_expect_text(metrics, "wpool_window_stuck{pool=\"tested\"} 2\n");
	control_expect_text(metrics, "wpool_active{pool=\"tested\"} 1\n");
	control_expect_text(
		metrics, "wpool_sessions_ended_total{pool=\"tested\",cause=\"drained\"} 0\n");
	control_expect_text(
		metrics, "wpool_channel_renewals_total{pool=\"tested\",reason=\"age\"} 0\n");
	control_expect_text(RUN(0, "pools"), "SESSIONS  PARKED  BLOCKED  STUCK");
	control_expect_text(RUN(0, "pools"), "2/50");
	proc_signal(proc, SIGUSR1);
	proc_expect(proc,
		"sessions: active here; 2 remembered, 2 active: 0 ready (for up to 0 ms), "
		"1 running, 1 parked");
	RUN(0, "session", "drain", "tested", "b"); /* its front task is parked */
	RUN(0, "session", "skip", "tested", "b");
	await_count("key=b", 0);
	control_expect_text(control_get("/metrics", 200),
		"wpool_sessions_ended_total{pool=\"tested\",cause=\"drained\"} 1\n");
	fixture_release("a1");
	fixture_stop(proc);
}
END_TEST

START_TEST(pools_without_sessions_have_no_such_figures)
{
	struct proc *proc =
		fixture_serve_pool("retry: {attempts: 1}", fixture_built("workers/echo"));
	char *metrics;

	proc_expect(proc, "control socket: ");
	control_await("/readyz", 200);
	metrics = control_get("/metrics", 200);
	ck_assert_ptr_null(strstr(metrics, "wpool_sessions{"));
	ck_assert_ptr_null(strstr(metrics, "wpool_active{"));
	ck_assert_ptr_null(strstr(control_get("/v1/pools", 200), "session"));
	ck_assert_ptr_null(strstr(RUN(0, "pools"), "BLOCKED"));
	fixture_stop(proc);
}
END_TEST

START_TEST(a_window_full_of_parked_messages_is_not_ready)
{
	struct proc *proc = serve("workers: 2, prefetch: 4, " PARKED, "idle: 1h");

	post("a", "a1", "X-Status", "500");
	post_done("a", "a2");
	post("b", "b1", "X-Status", "500");
	await_count("state=parked", 2);
	control_get("/readyz", 200);
	post_done("b", "b2");
	control_await("/readyz", 503);
	control_expect_text(control_get("/readyz", 503),
		"pool tested: all 4 messages of its window (prefetch) wait in sessions that cannot "
		"run now: 2 parked, 0 blocked, 0 paused");
	RUN(75, "status");
	RUN(0, "session", "skip", "tested", "a");
	control_await("/readyz", 200);
	RUN(0, "session", "skip", "tested", "b");
	control_expect_done(2);
	fixture_stop(proc);
}
END_TEST

START_TEST(an_unfit_message_is_skipped_and_not_retried)
{
	struct proc *proc = serve("workers: 1, prefetch: 50, max_body: 4B",
		"idle: 1h, on_failure: block, delivery_limit: none");

	post_done("a", "a1");
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "12345", .correlation_id = "a2", .headers = {{"session", "a"}}});
	post_done("a", "a3");
	await_count("state=blocked reason=too-large backlog=1", 1);
	control_expect_text(
		RUN(75, "session", "retry", "tested", "a"), "cannot be sent to a worker");
	ck_assert_int_eq(post_request("/v1/pools/tested/sessions/retry?key=a"), 409);
	RUN(0, "session", "skip", "tested", "a");
	control_expect_done(2);
	expect_dead("a2", "too-large");
	fixture_stop(proc);
}
END_TEST

START_TEST(a_blocked_session_is_a_warning)
{
	struct proc *proc = serve("workers: 1, prefetch: 50, retry: {attempts: 1}",
		"idle: 1h, on_failure: block, delivery_limit: none");

	post("a", "a1", "X-Status", "500");
	post_done("a", "a2");
	await_count("state=blocked reason=failed backlog=1", 1);
	control_get("/readyz", 200);
	control_expect_text(RUN(0, "status"), "pool tested: 1 session is blocked");
	control_expect_text(RUN(0, "pools"), "wpool session retry or skip decides");
	RUN(0, "session", "skip", "tested", "--where", "state=blocked");
	control_expect_done(1);
	expect_dead("a1", "failed");
	ck_assert_ptr_null(strstr(RUN(0, "status"), "blocked"));
	fixture_stop(proc);
}
END_TEST

/* The publisher and the configuration mean different places. */
START_TEST(a_pool_that_finds_no_key_warns)
{
	struct proc *proc = serve("workers: 1, prefetch: 50", "idle: 1h");

	ck_assert_ptr_null(strstr(RUN(0, "status"), "had no key"));
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "x", .correlation_id = "n1", .headers = {{"X-Status", "200"}}});
	control_expect_done(1);
	control_expect_text(RUN(0, "status"),
		"its only message so far had no key: session.key is header:session");
	control_get("/readyz", 200);
	post_done("a", "a1");
	control_expect_done(2);
	ck_assert_ptr_null(strstr(RUN(0, "status"), "had no key"));
	fixture_stop(proc);
}
END_TEST

static bool is_standby(const char *socket)
{
	json_t *answer = control_parse(http_get(socket, "/v1/pools", 200));
	const json_t *pool = control_member(answer, "pools", 0);
	bool is = strcmp(control_text(pool, "state"), "standby") == 0;

	ck_assert_int_eq(json_is_false(json_object_get(pool, "active")), is);
	json_decref(answer);
	return is;
}

/* It is ready, does not consume, and takes over when the active one has left. */
START_TEST(a_standby_is_ready)
{
	char *socket = scratch_path(fixture.folder, "second.sock");
	struct proc *first = serve("workers: 1, prefetch: 50", "idle: 1h"), *second;
	int64_t deadline;

	second = fixture_serve_program("wpool",
		(const char *const[]){scratch_text("WPOOL_CONTROL_SOCKET=%s", socket), NULL},
		pool("workers: 1, prefetch: 50", "idle: 1h"));
	proc_expect(second, "waiting for the token");
	deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (http_request(socket, "GET", "/readyz").status != 200)
		fixture_poll(deadline, 20, "the standby is ready");
	ck_assert(is_standby(socket));
	ck_assert(!is_standby(control_socket()));
	control_expect_text(http_get(socket, "/metrics", 200), "wpool_active{pool=\"tested\"} 0\n");
	control_expect_text(RUN(0, "pools", "--socket", socket), "standby");
	control_expect_text(
		RUN(0, "sessions", "tested", "--socket", socket), "this supervisor stands by");
	control_expect_text(RUN(65, "session", "show", "tested", "a", "--socket", socket),
		"this supervisor stands by");
	client_expect_consumers(fixture.client, fixture.queue, 1);
	/* It would take effect here only, and later, if at all. */
	control_expect_text(RUN(75, "session", "pause", "tested", "a", "--socket", socket),
		"this supervisor stands by");
	control_expect_text(
		RUN(75, "session", "drain", "tested", "--where", "high>=0", "--socket", socket),
		"this supervisor stands by");
	ck_assert_str_eq(RUN(0, "sessions", "tested", "--count", "--socket", socket), "0\n");
	fixture_stop(first);
	deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (is_standby(socket))
		fixture_poll(deadline, 20, "the standby takes over");
	fixture_stop(second);
}
END_TEST

START_TEST(a_queue_that_keeps_no_order_is_named)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);

	client_declare(fixture.client, fixture.replies, CLIENT_CLASSIC);
	proc_expect(fixture_serve_pools(
			    scratch_text("- {name: classic, queue: '%s', command: ['%s'], session: "
					 "{key: 'header:session'}}\n"
					 "- {name: plain, queue: '%s', command: ['%s'], session: "
					 "{key: 'header:session'}}\n",
				    fixture.replies, fixture_built("workers/echo"), fixture.queue,
				    fixture_built("workers/echo"))),
		"control socket: ");
	await_text("/v1/status", "pool plain: its queue");
	await_text("/readyz", "pool classic: its queue");
	control_expect_text(control_get("/readyz", 503), "does not keep the order of sessions");
	control_expect_text(control_get("/v1/status", 200), "has no single active consumer");
	control_expect_text(control_get("/v1/pools", 200), "\"order\":\"no-other-consumer\"");
	while (strstr(control_get("/readyz", 503), "plain"))
		fixture_poll(deadline, 20, "the pool plain is ready");
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("session_control", {sessions_are_listed_counted_and_shown, 1},
		{a_session_shows_both_of_its_orders, 1}, {mistakes_have_their_exit_codes, 1},
		{the_api_needs_to_be_told_where_queued_tasks_go, 1}, {keys_are_escaped, 1},
		{no_key_over_tcp_nor_in_a_label, 1},
		{close_sends_what_is_queued_to_the_dead_letters, 1},
		{close_discards_what_is_queued, 1},
		{close_keeps_what_is_queued_for_the_next_life, 1},
		{drain_runs_what_is_queued_in_one_go, 1}, {abort_ends_a_worker_that_goes_on, 1},
		{abort_gives_back_what_else_its_worker_had, 1},
		{a_session_that_does_not_exist_yet_is_paused, 1},
		{pause_waits_until_nothing_runs, 1}, {retry_and_skip_decide_about_the_front, 1},
		{messages_are_published_to_sessions, 1},
		{an_expression_reaches_each_session_once, 1}, {figures_show_sessions, 1},
		{pools_without_sessions_have_no_such_figures, 1},
		{a_window_full_of_parked_messages_is_not_ready, 1},
		{an_unfit_message_is_skipped_and_not_retried, 1},
		{a_blocked_session_is_a_warning, 1}, {a_pool_that_finds_no_key_warns, 1},
		{a_standby_is_ready, 1}, {a_queue_that_keeps_no_order_is_named, 1});
}
