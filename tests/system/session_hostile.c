/* What a publisher or an operator can do to sessions on purpose or by mistake: many keys, a flood
 * for one of them, a purge while the channel is lost. */
#include "fault/proxy.h"
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

#define KEYS         5000
#define FLOOD        5000
#define PREFETCH     100
#define MAX_SESSIONS 200
#define LIMIT_MS     120000

static struct proc *serve_at(const char *url, const char *session)
{
	char *path = scratch_path(fixture.folder, "hostile.yaml");
	client_delete(fixture.client, fixture.queue);
	scratch_write(path,
		scratch_text(
			"broker: {url: \"%s\"}\npools:\n"
			"- {name: tested, queue: %s, command: [\"%s\"], workers: 4, prefetch: %d, "
			"declare: on, session: {key: 'header:session', takeover_delay: none, %s}}\n",
			url, fixture.queue, fixture_built("workers/echo"), PREFETCH, session));
	struct proc *proc = fixture_wpool(
		(const char *const[]){"serve", "--config", path, "--log-format", "text", NULL});
	proc_expect(proc, "consuming queue");
	return proc;
}

static void post(const char *key, const char *id, const char *header, const char *value)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = id,
			.correlation_id = id,
			.headers = {{"session", key}, {header, value}}});
}

/* Wait until so many tasks have run. Meanwhile never more are in hand or remembered than the limits
 * allow. */
static void await_done(long count)
{
	int64_t deadline = deadline_in(LIMIT_MS);
	while (control_figure("totals", "done") < count) {
		ck_assert_int_le(control_figure("tasks", "unacked"), PREFETCH);
		ck_assert_int_le(control_figure("sessions", "remembered"), MAX_SESSIONS + PREFETCH);
		fixture_poll(deadline, 50, "all tasks have run");
	}
}

/* Each key once, all to be remembered for an hour, if that were possible. */
START_TEST(of_many_keys_so_many_are_remembered_as_are_allowed)
{
	static struct letter letters[KEYS];
	static char keys[KEYS][16];
	static unsigned nacks[KEYS];
	struct proc *proc = serve_at(broker_url(fixture.broker),
		scratch_text("idle: 1h, max_sessions: %d", MAX_SESSIONS));
	for (int i = 0; i < KEYS; i++) {
		snprintf(keys[i], sizeof keys[i], "key-%d", i);
		letters[i] = (struct letter){.body = "x", .headers = {{"session", keys[i]}}};
	}
	client_post_all(fixture.client, fixture.queue, letters, KEYS, nacks);
	await_done(KEYS);
	ck_assert_int_le(control_figure("sessions", "remembered"), MAX_SESSIONS);
	ck_assert_str_eq(
		RUN(0, "sessions", "tested", "--count"), scratch_text("%d\n", MAX_SESSIONS));
	fixture_stop(proc);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

/* All in the high lane of one session; then the other one has its message. */
START_TEST(a_flood_for_one_key_stays_within_the_window)
{
	char *path = scratch_path(fixture.folder, "flood"), *lines = malloc(2 * FLOOD + 1);
	struct proc *proc = serve_at(broker_url(fixture.broker), "quantum: 10");
	for (int i = 0; i < FLOOD; i++)
		memcpy(lines + 2 * i, "x\n", 3);
	scratch_write(path, lines);
	post("flooded", "held", "X-Until", fixture_release_path("held"));
	RUN(0, "publish", "--queue", fixture.queue, "--broker", broker_url(fixture.broker),
		"--lines", "--session", "flooded", "--high", path);
	control_await_figure("tasks", "unacked", PREFETCH);
	fixture_release("held");
	post("other", "other", NULL, NULL);
	await_done(FLOOD + 2);
	fixture_stop(proc);
	ck_assert_int_eq(fixture_witnessed("other"), 1);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
	free(lines);
}
END_TEST

/* The task that runs goes on, and nothing of its session runs beside it; what waited is gone with
 * the queue's messages, and later messages run. */
START_TEST(a_purge_while_the_channel_is_lost_removes_what_waits)
{
	struct proxy_plan never = PROXY_CLEAN;
	struct proxy *proxy = proxy_start(broker_port(fixture.broker));
	char *url = scratch_text("amqp://guest:guest@127.0.0.1:%d/%%2f", proxy_port(proxy));
	struct proc *proc = serve_at(url, "quantum: 10");
	post("a", "a1", "X-Until", fixture_release_path("a1"));
	post("a", "a2", NULL, NULL);
	post("a", "a3", NULL, NULL);
	control_await_figure("tasks", "waiting", 2);
	never.cut_at[PROXY_TO_CLIENT] = 0;
	proxy_plan_rest(proxy, &never);
	proxy_cut(proxy, "wpool consume", false);
	client_expect_ready(fixture.client, fixture.queue, 3);
	client_purge(fixture.client, fixture.queue);
	proxy_plan_rest(proxy, &PROXY_CLEAN);
	post("a", "a4", NULL, NULL);
	post("b", "b1", NULL, NULL);
	control_await_figure("sessions", "given_up", 3);
	client_expect_ready(fixture.client, fixture.queue, 0);
	control_await_figure("totals", "done", 1);
	ck_assert_int_eq(fixture_witnessed("b1"), 1);
	ck_assert_int_eq(fixture_witnessed("a4"), 0);
	fixture_release("a1");
	control_await_figure("tasks", "unacked", 0);
	char *ran = scratch_read(fixture.witness, NULL);
	ck_assert_str_eq(ran, "b1\na1\na4\n");
	free(ran);
	fixture_stop(proc);
	proxy_free(proxy);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("session_hostile",
		{of_many_keys_so_many_are_remembered_as_are_allowed, 1},
		{a_flood_for_one_key_stays_within_the_window, 1},
		{a_purge_while_the_channel_is_lost_removes_what_waits, 1});
}
