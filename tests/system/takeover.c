/* Two supervisors of one queue with sessions: one is active, the other one stands by. The active
 * one is killed, stopped, drained; the broker takes no publishes for longer than a lease; others
 * publish to the token's queue. takeover_delay is 10 s, so a lease is 5 s. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define DELAY_MS 10000
#define LEASE_MS (DELAY_MS / 2)

static char *pools(const char *settings)
{
	return scratch_text(
		"- {name: tested, queue: %s, command: [\"%s\"], workers: 1, prefetch: "
		"100, declare: on, session: {key: 'header:Key', takeover_delay: 10s}%s}\n",
		fixture.queue, fixture_built("workers/echo"), settings);
}

static struct proc *start_standby(void)
{
	struct proc *serve = fixture_serve_pools(pools(""));

	proc_expect(serve, "waiting for the token of queue");
	return serve;
}

/* wpool declares the queue, with a single active consumer. */
static struct proc *start_active(void)
{
	struct proc *serve;

	client_delete(fixture.client, fixture.queue);
	serve = start_standby();
	proc_expect(serve, "active: has the token");
	proc_expect(serve, "consuming queue");
	return serve;
}

/* The worker logs "begins ID". It waits for fixture_release("end") if is_held. */
static void post(const char *key, const char *id, bool is_held)
{
	char *begins = scratch_text("begins %s", id);

	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = id,
			.correlation_id = id,
			.headers = {{"Key", key}, {"X-Begin", begins},
				{is_held ? "X-Until" : "X-Unused", fixture_release_path("end")}}});
}

static void expect_once_in_order(const char *wanted)
{
	char *text = scratch_read(fixture.witness, NULL);

	ck_assert_str_eq(text ? text : "", wanted);
	free(text);
}

/* What the killed one ran waits for the delay, its session too; a message that was never delivered
 * does not. */
START_TEST(a_killed_supervisor_is_replaced_after_the_delay)
{
	struct proc *active = start_active(), *standby = start_standby();
	int64_t killed;

	post("a", "a1", true);
	proc_expect(active, "begins a1");
	post("a", "a2", false);
	killed = deadline_now_ms();
	proc_signal(active, SIGKILL);
	proc_expect(standby, "did not pass it on, so redelivered messages wait for 10 s");
	proc_expect(standby, "consuming queue");
	post("b", "b1", false);
	proc_expect(standby, "begins b1");
	fixture_release("end"); /* not before: a1 would have kept the only worker */
	proc_expect(standby, "begins a1");
	ck_assert_int_ge(deadline_now_ms() - killed, DELAY_MS);
	proc_expect(standby, "begins a2");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_once_in_order("b1\na1\na2\n");
	fixture_stop(standby);
}
END_TEST

START_TEST(a_drained_supervisor_is_replaced_at_once)
{
	struct proc *active = start_active(), *standby = start_standby();

	/* Its own wait as the first holder of that queue would be passed on. */
	fixture_stop(active);
	proc_expect(standby, "active: has the token");
	active = standby;
	standby = start_standby();
	fixture_stop(active);
	proc_expect(standby, "active: has the token");
	post("a", "a1", true);
	proc_expect(standby, "begins a1");
	post("a", "a2", false);
	active = standby;
	standby = start_standby();
	proc_signal(active, SIGTERM);
	proc_expect(active, "draining");
	ck_assert(!proc_has_logged(standby, "active:"));
	fixture_release("end");
	ck_assert_int_eq(proc_wait(active), 0);
	proc_expect(standby, "begins a2");
	ck_assert(!proc_has_logged(standby, "did not pass it on, so"));
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_once_in_order("a1\na2\n");
	fixture_stop(standby);
}
END_TEST

/* The guard ends its workers, before the standby may run what they had. */
START_TEST(the_workers_of_a_stopped_supervisor_end_with_its_lease)
{
	struct proc *active = start_active(), *standby = start_standby();
	pid_t worker = fixture_worker_pid();
	int64_t stopped;

	post("a", "a1", true);
	proc_expect(active, "begins a1");
	stopped = deadline_now_ms();
	proc_signal(active, SIGSTOP);
	proc_expect_gone(worker);
	ck_assert_int_ge(deadline_now_ms() - stopped, LEASE_MS - DELAY_MS / 6 - 100);
	ck_assert(!proc_has_logged(standby, "active: has the token"));
	proc_signal(active, SIGCONT);
	proc_expect(active, "was not renewed in time");
	proc_signal(active, SIGKILL);
	proc_expect(standby, "active: has the token");
	fixture_release("end");
	proc_expect(standby, "begins a1");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(standby);
}
END_TEST

/* A task that takes longer than a lease ends under the alarm: the token was renewed all the time.
 */
START_TEST(an_alarm_of_the_broker_costs_no_token)
{
	struct proc *active;
	int64_t began;

	fixture_use_own_broker();
	active = start_active();
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "slow",
			.correlation_id = "slow",
			.headers = {{"Key", "a"}, {"X-Begin", "begins slow"},
				{"X-Sleep-Ms", "12000"}, {"X-Say", "ends slow"}}});
	proc_expect(active, "begins slow");
	began = deadline_now_ms();
	free(broker_eval(fixture.broker, "vm_memory_monitor:set_vm_memory_high_watermark(0)"));
	proc_expect(active, "takes no publishes for now");
	proc_expect(active, "ends slow");
	ck_assert_int_ge(deadline_now_ms() - began, DELAY_MS);
	ck_assert(proc_has_logged(active, "takes no publishes for now"));
	ck_assert(!proc_has_logged(active, "takes publishes again"));
	ck_assert(!proc_has_logged(active, "was not renewed in time"));
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	free(broker_eval(fixture.broker, "vm_memory_monitor:set_vm_memory_high_watermark(0.4)"));
	proc_expect(active, "takes publishes again");
	fixture_stop(active);
	ck_assert_int_eq(fixture_witnessed("slow"), 1);
}
END_TEST

START_TEST(what_is_no_token_is_dropped)
{
	struct proc *active = start_active();

	client_send(fixture.client, scratch_text("%s.token", fixture.queue), "hello");
	proc_expect(active, "is no token (it does not begin with a line of JSON); dropping it");
	post("a", "a1", false);
	proc_expect(active, "begins a1");
	fixture_stop(active);
	/* The orderly token is all that is left. */
	broker_expect_messages(fixture.broker, scratch_text("%s.token", fixture.queue), 1);
}
END_TEST

/* Anyone who may publish to the queue can do this; wait_ms and orderly are meant to skip the delay,
 * and no epoch can follow the highest one. */
static void forge_token(const char *epoch, const char *orderly)
{
	client_send(fixture.client, scratch_text("%s.token", fixture.queue),
		scratch_text("{\"wpool_token\":1,\"holder\":\"forger\",\"epoch\":%s,\"counter\":0,"
			     "\"window\":100,\"wait_ms\":0,\"orderly\":%s,\"deaths\":9}\n",
			epoch, orderly));
}

static const struct {
	const char *epoch, *orderly;
} forged[] = {{"1000", "false"}, {"1099511627775", "true"}};

/* The holder ends what it runs, as after a lost lease, takes the token over, and runs it again. */
START_TEST(a_forged_token_is_taken_over)
{
	struct proc *active = start_active();

	post("a", "a1", true);
	proc_expect(active, "begins a1");
	post("a", "a2", false);
	forge_token(forged[_i].epoch, forged[_i].orderly);
	proc_expect(active, "active: has the token");
	fixture_release("end");
	proc_expect(active, "begins a1");
	proc_expect(active, "begins a2");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_once_in_order("a1\na2\n");
	/* Not in the middle of a renewal, whose token the next holder would ack. */
	broker_expect_messages(fixture.broker, scratch_text("%s.token", fixture.queue), 1);
	fixture_stop(active);
	broker_expect_messages(fixture.broker, scratch_text("%s.token", fixture.queue), 1);
}
END_TEST

/* With the queue goes the token that was unacked: the holder publishes another one, and a standby
 * knows it. */
START_TEST(a_deleted_token_is_published_again)
{
	struct proc *active = start_active(), *standby = start_standby();

	post("a", "a1", true);
	proc_expect(active, "begins a1");
	client_purge(fixture.client, scratch_text("%s.token", fixture.queue));
	client_delete(fixture.client, scratch_text("%s.token", fixture.queue));
	post("a", "a2", false);
	fixture_release("end");
	broker_expect_messages(fixture.broker, scratch_text("%s.token", fixture.queue), 1);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("a1"), 1);
	ck_assert_int_eq(fixture_witnessed("a2"), 1);
	fixture_stop(active);
	proc_expect(standby, "active: has the token");
	post("a", "a3", false);
	proc_expect(standby, "begins a3");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(standby);
}
END_TEST

/* From three deaths in a row on, what was redelivered runs alone and is named in the token. So the
 * message with which the next holder dies, too, is found. */
START_TEST(a_message_that_ends_each_supervisor_is_given_up)
{
	struct proc *active = start_active();

	post("a", "a1", true);
	post("a", "a2", false);
	post("b", "b1", false);
	for (int deaths = 0; deaths < 4; deaths++) {
		proc_expect(active, "begins a1");
		proc_signal(active, SIGKILL);
		active = start_standby();
		proc_expect(active, "did not pass it on");
	}
	fixture_release("end");
	proc_expect(active, "begins a2");
	client_expect(fixture.client, fixture.dead, "a1");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("a1"), 0);
	ck_assert_int_eq(fixture_witnessed("a2"), 1);
	ck_assert_int_ge(fixture_witnessed("b1"), 1);
	fixture_stop(active);
}
END_TEST

static char *with_prefetch(const char *number)
{
	char *text = pools("");

	memcpy(strstr(text, "100"), number, 3);
	return text;
}

static struct proc *start_with_prefetch(const char *number)
{
	struct proc *serve = fixture_serve_pools(with_prefetch(number));

	proc_expect(serve, "waiting for the token of queue");
	return serve;
}

static void reload_prefetch(struct proc *active, const char *number)
{
	fixture_write_pools(with_prefetch(number));
	proc_signal(active, SIGHUP);
	proc_expect(active, "configuration reloaded");
}

/* A window of 100, then one of 7: the next one may narrow it only when nothing can come back. */
START_TEST(a_standby_with_a_smaller_prefetch_takes_the_larger_window_over)
{
	struct proc *active = start_active(), *standby = start_with_prefetch("  7");

	post("a", "a1", true);
	proc_expect(active, "begins a1");
	post("a", "a2", false);
	proc_signal(active, SIGKILL);
	proc_expect(standby, "up to 100 messages may be unacked, as before");
	proc_expect(standby, "consuming queue");
	proc_expect(standby, "begins a1");
	fixture_release("end");
	proc_expect(standby, "begins a2");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	/* At the latest now; at once if the queue was asked before it had delivered anything. */
	if (!proc_has_logged(standby, "because another prefetch is configured"))
		proc_expect(standby, "because another prefetch is configured");
	post("a", "a3", false);
	proc_expect(standby, "begins a3");
	fixture_stop(standby);
	active = start_with_prefetch("100");
	proc_expect(active, "active: has the token");
	ck_assert(!proc_has_logged(active, "as before"));
	fixture_stop(active);
}
END_TEST

START_TEST(a_reload_to_a_smaller_prefetch_keeps_the_window_while_anything_is_unacked)
{
	struct proc *active = start_active(), *standby;

	post("a", "a1", true);
	proc_expect(active, "begins a1");
	post("a", "a2", false);
	reload_prefetch(active, "  7");
	ck_assert(proc_has_logged(active, "up to 100 messages may be unacked, as before"));
	standby = start_with_prefetch("  5");
	proc_signal(active, SIGKILL);
	proc_expect(standby, "up to 100 messages may be unacked, as before");
	fixture_release("end");
	proc_expect(standby, "begins a2");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	if (!proc_has_logged(standby, "because another prefetch is configured"))
		proc_expect(standby, "because another prefetch is configured");
	fixture_stop(standby);
}
END_TEST

/* The larger one is named before it is used: a standby with a smaller one finds it in the token. */
START_TEST(a_reload_to_a_larger_prefetch_is_named_before_it_is_used)
{
	struct proc *active = start_active(), *standby;

	post("a", "a1", true);
	proc_expect(active, "begins a1");
	reload_prefetch(active, "300");
	standby = start_with_prefetch("  5");
	fixture_release("end");
	proc_expect(active, "because another prefetch is configured");
	post("a", "a2", false);
	proc_expect(active, "begins a2");
	proc_signal(active, SIGKILL);
	proc_expect(standby, "up to 300 messages may be unacked, as before");
	fixture_stop(standby);
}
END_TEST

/* Another key makes another pool, which takes the token of the old one over. */
START_TEST(a_reload_of_key_and_prefetch_passes_the_token_on)
{
	struct proc *active = start_active();
	char *text = with_prefetch("  7");

	post("a", "a1", true);
	proc_expect(active, "begins a1");
	post("a", "a2", false);
	memcpy(strstr(text, "Key"), "key", 3);
	fixture_write_pools(text);
	proc_signal(active, SIGHUP);
	proc_expect(active, "waiting for the token of queue");
	fixture_release("end");
	proc_expect(active, "up to 100 messages may be unacked, as before");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_once_in_order("a1\na2\n");
	fixture_stop(active);
}
END_TEST

/* Another program consumes the queue, which has a single active consumer. */
START_TEST(a_consumer_without_a_token_is_named)
{
	struct proc *active = start_active(), *foreign;

	fixture_stop(active);
	foreign = fixture_serve_pools(
		scratch_text("- {name: foreign, queue: %s, command: [\"%s\"]}\n", fixture.queue,
			fixture_built("workers/echo")));
	proc_expect(foreign, "consuming queue");
	active = start_standby();
	proc_expect(active, "has a consumer that knows no token");
	fixture_stop(foreign);
	proc_expect(active, "consuming queue");
	post("a", "a1", false);
	proc_expect(active, "begins a1");
	fixture_stop(active);
}
END_TEST

/* Another key replaces the pool: the new one is the standby of the old one. */
START_TEST(a_replaced_pool_passes_its_token_on)
{
	struct proc *active = start_active();

	post("a", "a1", true);
	proc_expect(active, "begins a1");
	post("a", "a2", false);
	char *text = pools("");
	char *key = strstr(text, "Key");
	memcpy(key, "key", 3);
	fixture_write_pools(text);
	proc_signal(active, SIGHUP);
	proc_expect(active, "waiting for the token of queue");
	RUN(0, "session", "pause", "tested", "b"); /* goes to the active one, and is handed over */
	fixture_release("end");
	proc_expect(active, "active: has the token");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	expect_once_in_order("a1\na2\n");
	ck_assert_str_eq(
		RUN(0, "sessions", "tested", "--where", "state=paused key=b", "--count"), "1\n");
	fixture_stop(active);
}
END_TEST

/* ---------- few channels ---------- */

static void allow_channels(int number)
{
	fixture_use_own_broker();
	free(broker_eval(fixture.broker,
		scratch_text("application:set_env(rabbit, channel_max, %d)", number)));
}

static char *other_queue(const char *name)
{
	return scratch_text("%s.%s", fixture.queue, name);
}

static char *other_pool(const char *name)
{
	return scratch_text("- {name: %s, queue: %s, command: [\"%s\"], workers: 1, declare: on}\n",
		name, other_queue(name), fixture_built("workers/echo"));
}

static void reload_pools(struct proc *serve, const char *first, const char *second)
{
	fixture_write_pools(scratch_text("%s%s", first, second));
	proc_signal(serve, SIGHUP);
	proc_expect(serve, "configuration reloaded");
}

static void call_other(struct proc *serve, const char *name)
{
	proc_expect(serve, scratch_text("consuming queue \"%s\"", other_queue(name)));
	message_free(client_call(fixture.client, other_queue(name),
		&(struct letter){.body = "", .headers = {{"X-Status", "201"}}}));
}

/* The pool with the token has two channels of the publish connection, the next one has the third.
 */
START_TEST(a_pool_without_a_channel_publishes_on_that_of_a_pool_that_has_left)
{
	struct proc *active;
	char *last = other_pool("last");

	allow_channels(3);
	active = start_active();
	reload_pools(active, pools(""), other_pool("other"));
	call_other(active, "other");
	reload_pools(active, pools(""), scratch_text("%s%s", other_pool("other"), last));
	reload_pools(active, pools(""), last);
	call_other(active, "last");
	ck_assert(proc_has_logged(active, "pool last: the broker allows 3 channels a connection"));
	post("a", "a1", false);
	proc_expect(active, "begins a1");
	fixture_stop(active);
}
END_TEST

/* Else none would serve the queue. */
START_TEST(a_pool_whose_token_has_no_channel_replaces_none)
{
	struct proc *active;
	char *text, *other;
	int64_t deadline;

	allow_channels(4);
	other = other_pool("other");
	client_delete(fixture.client, fixture.queue);
	active = fixture_serve_pools(scratch_text("%s%s", pools(""), other));
	proc_expect(active, "active: has the token");
	text = pools("");
	memcpy(strstr(text, "Key"), "key", 3);
	reload_pools(active, text, other);
	ck_assert(proc_has_logged(active, "which leaves none for its token"));
	deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!strstr(control_get("/v1/status", 200), "cannot become the active one"))
		fixture_poll(deadline, 20, "the pool without a token is named");
	post("a", "a1", false);
	proc_expect(active, "begins a1");
	ck_assert(!proc_has_logged(active, "draining"));
	reload_pools(active, text, "");
	proc_expect(active, "active: has the token");
	post("a", "a2", false);
	proc_expect(active, "begins a2");
	fixture_stop(active);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("takeover", {a_killed_supervisor_is_replaced_after_the_delay, 1},
		{a_drained_supervisor_is_replaced_at_once, 1},
		{the_workers_of_a_stopped_supervisor_end_with_its_lease, 1},
		{an_alarm_of_the_broker_costs_no_token, 1}, {what_is_no_token_is_dropped, 1},
		{a_forged_token_is_taken_over, sizeof forged / sizeof *forged},
		{a_deleted_token_is_published_again, 1},
		{a_message_that_ends_each_supervisor_is_given_up, 1},
		{a_standby_with_a_smaller_prefetch_takes_the_larger_window_over, 1},
		{a_reload_to_a_smaller_prefetch_keeps_the_window_while_anything_is_unacked, 1},
		{a_reload_to_a_larger_prefetch_is_named_before_it_is_used, 1},
		{a_reload_of_key_and_prefetch_passes_the_token_on, 1},
		{a_consumer_without_a_token_is_named, 1}, {a_replaced_pool_passes_its_token_on, 1},
		{a_pool_without_a_channel_publishes_on_that_of_a_pool_that_has_left, 1},
		{a_pool_whose_token_has_no_channel_replaces_none, 1});
}
