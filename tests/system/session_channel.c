/* Sessions over the life of a channel, on a real broker: renewed, cut, drained, on a queue with a
 * single active consumer, on one without, and on one that cannot keep the order. */
#include "system/system.h"

#include "harness/deadline.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define KEYS     8
#define EACH     60 /* messages of a session */
#define PARTS    4
#define WORKERS  4
#define PREFETCH 40
#define LIMIT_MS 60000

/* more: further settings of the pool. */
static struct proc *serve_sessions(const char *session, const char *more)
{
	return fixture_serve_pools(scratch_text(
		"- {name: tested, queue: '%s', command: ['%s'], workers: %d, prefetch: %d, "
		"session: {key: 'header:session', takeover_delay: none, %s}, %s}\n",
		fixture.queue, fixture_built("workers/echo"), WORKERS, PREFETCH, session, more));
}

/* On a queue that the pool declares itself. */
static struct proc *serve_single(const char *session)
{
	client_delete(fixture.client, fixture.queue);
	struct proc *serve = serve_sessions(session, "declare: on");
	proc_expect(serve, "consuming queue");
	return serve;
}

static int count_lines(struct proc *serve, const char *needle)
{
	char *log = proc_stderr(serve);
	int count = 0;

	for (char *at = log; (at = strstr(at, needle)); at++)
		count++;
	free(log);
	return count;
}

/* Wait until it has consumed on so many channels. */
static void await_channels(struct proc *serve, int count)
{
	int64_t deadline = deadline_in(LIMIT_MS);

	while (count_lines(serve, "consuming queue") < count)
		fixture_poll(deadline, 20, "the channel was renewed");
}

/* Number `number` of session `key`. */
static void post(unsigned key, unsigned number, const char *header, const char *value)
{
	char *session = scratch_text("s%u", key), *id = scratch_text("s%u-%u", key, number);

	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = id,
			.correlation_id = id,
			.headers = {{"session", session}, {header, value}}});
	free(session);
	free(id);
}

/* Those of all sessions, in turns. */
static void post_numbers(unsigned first, unsigned end)
{
	for (unsigned number = first; number < end; number++)
		for (unsigned key = 0; key < KEYS; key++)
			post(key, number, "X-Sleep-Ms", "1");
}

static void await_witnessed(int count)
{
	int64_t deadline = deadline_in(LIMIT_MS);

	while (fixture_witnessed(NULL) < count)
		fixture_poll(deadline, 20, "all messages ran");
}

/* Each session ran in order; a repeat is one of numbers that ran already, and goes on in order. The
 * value is the number of repeats. */
static unsigned check_order(unsigned each)
{
	unsigned next[KEYS] = {0}, last[KEYS] = {0}, repeats = 0;
	char *text = scratch_read(fixture.witness, NULL);

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned key, number;

		if (sscanf(line, "s%u-%u", &key, &number) != 2 || key >= KEYS)
			continue;
		ck_assert_msg(number <= next[key], "%s ran before number %u", line, next[key]);
		ck_assert_msg(number == next[key] || next[key] == 0 || number <= last[key] ||
				      number == last[key] + 1,
			"%s ran after number %u", line, last[key]);
		repeats += number < next[key];
		next[key] += number == next[key];
		last[key] = number;
	}
	for (unsigned key = 0; key < KEYS; key++)
		ck_assert_uint_eq(next[key], each);
	free(text);
	return repeats;
}

/* While one task holds its place, and another one without a key works, the channel is renewed again
 * and again. */
START_TEST(renewed_channel_repeats_nothing)
{
	struct proc *serve = serve_single("delivery_limit: none, max_unacked_age: 1s");

	fixture_post_held(serve, "unkeyed");
	post(KEYS, 0, "X-Until", fixture_release_path("held"));
	for (unsigned part = 0; part < 4; part++) {
		post_numbers(part * EACH / 4, (part + 1) * EACH / 4);
		await_channels(serve, (int)part + 2);
	}
	await_witnessed(KEYS * EACH);
	fixture_release("held");
	fixture_release("unkeyed");
	await_witnessed(KEYS * EACH + 2);
	fixture_stop(serve);
	ck_assert_uint_eq(check_order(EACH), 0);
	ck_assert_int_eq(fixture_witnessed(scratch_text("s%u-0", KEYS)), 1);
	ck_assert_int_eq(fixture_witnessed("unkeyed"), 1);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

/* An ack that was written before the cut may be lost with the connection. Its message, and of its
 * key what follows it, runs again: at most all that the broker had as unacked. */
START_TEST(cut_connection_repeats_what_was_acked_last)
{
	struct proc *serve = serve_single("delivery_limit: none");

	for (unsigned part = 0; part < PARTS; part++) {
		post_numbers(part * EACH / PARTS, (part + 1) * EACH / PARTS);
		broker_close_connections(fixture.broker);
		fixture_reconnect();
		await_channels(serve, (int)part + 2);
	}
	await_witnessed(KEYS * EACH);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
	ck_assert_uint_le(check_order(EACH), PARTS * PREFETCH);
}
END_TEST

static void post_held(struct proc *serve, const char *session, const char *id)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = id,
			.correlation_id = id,
			.headers = {{"session", session},
				{"X-Begin", scratch_text("begins %s", id)},
				{"X-Until", fixture_release_path(id)}}});
	proc_expect(serve, scratch_text("begins %s", id));
}

/* No ack is on its way: some tasks run, others wait, and what ended before is off the queue. */
START_TEST(cut_connection_repeats_no_running_task)
{
	struct proc *serve = serve_single("delivery_limit: none");

	for (unsigned part = 0; part < PARTS; part++) {
		for (unsigned key = 0; key < WORKERS; key++)
			post_held(serve, scratch_text("s%u", key),
				scratch_text("s%u-%u", key, 2 * part));
		for (unsigned key = WORKERS; key < KEYS; key++)
			post(key, 2 * part, "X-Sleep-Ms", "1");
		post_numbers(2 * part + 1, 2 * part + 2);
		broker_close_connections(fixture.broker);
		fixture_reconnect();
		await_channels(serve, (int)part + 2);
		for (unsigned key = 0; key < WORKERS; key++)
			fixture_release(scratch_text("s%u-%u", key, 2 * part));
		await_witnessed((int)(KEYS * 2 * (part + 1)));
		broker_expect_messages(fixture.broker, fixture.queue, 0);
	}
	fixture_stop(serve);
	ck_assert_uint_eq(check_order(2 * PARTS), 0);
}
END_TEST

/* The broker takes no connections while the tasks end that run, one of them without a key: the pool
 * waits until it can ack them, and leaves the rest of the session to the next one. */
START_TEST(drain_without_a_channel_repeats_nothing)
{
	struct proc *serve = serve_single("delivery_limit: none");

	fixture_post_held(serve, "unkeyed");
	post_held(serve, "s0", "s0-0");
	post(0, 1, "X-Sleep-Ms", "1");
	free(broker_eval(fixture.broker, "rabbit_maintenance:suspend_all_client_listeners()"));
	broker_close_connections(fixture.broker);
	proc_expect(serve, "retrying in");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	fixture_release("unkeyed");
	fixture_release("s0-0");
	await_witnessed(2);
	free(broker_eval(fixture.broker, "rabbit_maintenance:resume_all_client_listeners()"));
	ck_assert_int_eq(proc_wait(serve), 0);
	fixture_reconnect();
	broker_expect_messages(fixture.broker, fixture.queue, 1);
	serve = serve_sessions("delivery_limit: none", "declare: on");
	await_witnessed(3);
	fixture_stop(serve);
	ck_assert_int_eq(fixture_witnessed("unkeyed"), 1);
	ck_assert_int_eq(fixture_witnessed("s0-0"), 1);
	ck_assert_int_eq(fixture_witnessed("s0-1"), 1);
}
END_TEST

static const bool singles[] = {true, false};

/* Supervisors follow each other while messages come. On a queue without a single active consumer,
 * what was acked at the end may run again. */
START_TEST(drained_supervisors_follow_in_order)
{
	if (singles[_i])
		fixture_stop(serve_single("delivery_limit: none"));
	for (unsigned part = 0; part < 4; part++) {
		struct proc *serve = serve_sessions("delivery_limit: none", "declare: on");

		proc_expect(serve, "consuming queue");
		if (!singles[_i])
			proc_expect(serve, "no single active consumer");
		post_numbers(part * EACH / 4, (part + 1) * EACH / 4);
		if (part == 3)
			await_witnessed(KEYS * EACH);
		ck_assert_int_eq(count_lines(serve, "no single active consumer"), !singles[_i]);
		fixture_stop(serve);
	}
	unsigned repeats = check_order(EACH);
	if (singles[_i]) {
		ck_assert_uint_eq(repeats, 0);
		ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
	}
}
END_TEST

/* Until an operator has replaced it. */
START_TEST(classic_queue_is_refused)
{
	fixture_declare(CLIENT_CLASSIC);
	struct proc *serve = serve_sessions("delivery_limit: none", "declare: on");
	proc_expect(serve, "is not a quorum queue");
	ck_assert_int_eq(client_consumers(fixture.client, fixture.queue), 0);
	client_delete(fixture.client, fixture.queue);
	proc_expect(serve, "consuming queue");
	post_numbers(0, 1);
	await_witnessed(KEYS);
	fixture_stop(serve);
	ck_assert_uint_eq(check_order(1), 0);
}
END_TEST

/* A queue that is deleted while it is consumed. */
START_TEST(deleted_queue_is_looked_for)
{
	struct proc *serve = serve_single("delivery_limit: none");

	post_numbers(0, 1);
	await_witnessed(KEYS);
	client_delete(fixture.client, fixture.queue);
	await_channels(serve, 2);
	post_numbers(1, 2);
	await_witnessed(2 * KEYS);
	fixture_stop(serve);
	ck_assert_uint_eq(check_order(2), 0);
}
END_TEST

static char *pool_with_memory(const char *memory)
{
	return scratch_text("- {name: tested, queue: '%s', command: ['%s'], workers: 1, "
			    "prefetch: 40, declare: on, memory: %s, max_body: 1MiB, "
			    "session: {key: 'header:session', takeover_delay: none}}\n",
		fixture.queue, fixture_built("workers/echo"), memory);
}

/* A narrower window would break the order: it consumes nothing until it may have more in hand. */
START_TEST(too_large_messages_wait_for_more_memory)
{
	static char body[512 * 1024];
	client_delete(fixture.client, fixture.queue);
	struct proc *serve = fixture_serve_pools(pool_with_memory("1MiB"));
	proc_expect(serve, "consuming queue");
	memset(body, 'x', sizeof body - 1);
	post(KEYS, 0, "X-Until", fixture_release_path("held"));
	for (unsigned number = 0; number < 20; number++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = body,
				.correlation_id = scratch_text("s0-%u", number),
				.headers = {{"session", "s0"}}});
	proc_expect(serve, "set memory to at least");
	client_expect_consumers(fixture.client, fixture.queue, 0);
	fixture_release("held");
	fixture_write_pools(pool_with_memory("64MiB"));
	proc_signal(serve, SIGHUP);
	proc_expect(serve, "consuming queue");
	await_witnessed(21);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("session_channel", {renewed_channel_repeats_nothing, 1},
		{cut_connection_repeats_what_was_acked_last, 1},
		{cut_connection_repeats_no_running_task, 1},
		{drain_without_a_channel_repeats_nothing, 1},
		{drained_supervisors_follow_in_order, 2}, {classic_queue_is_refused, 1},
		{deleted_queue_is_looked_for, 1}, {too_large_messages_wait_for_more_memory, 1});
}
