/* Workers, the supervisor, connections and the broker fail. Nothing is lost. */
#include "harness/command.h"
#include "system/system.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const one_worker[] = {"--workers", "1", "--pipeline", "1", NULL};

START_TEST(killed_worker_costs_one_attempt_and_is_replaced)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	pid_t first = fixture_worker_pid();
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "interrupted",
			.reply_to = fixture.replies,
			.headers = {{"X-Begin", "at it"},
				{"X-Until", fixture_release_path("killed")}, {"X-Status", "201"}}});
	proc_expect(serve, "at it");
	ck_assert_int_eq(kill(first, SIGKILL), 0);
	fixture_release("killed");
	proc_expect(serve, "attempt 1 of 3; retrying");
	client_expect(fixture.client, fixture.replies, "interrupted");
	ck_assert_int_ne(fixture_worker_pid(), first);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

/* All of them are open when the killer ends its worker, so the others of this worker begin
 * again, alone. */
START_TEST(killer_among_many_open_tasks_costs_no_other_an_attempt)
{
	static const char *const none[] = {NULL};
	enum { OTHERS = 7 };
	char ids[OTHERS][8];
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: 2, concurrency: 4,\n"
				  "   retry: {attempts: 1}}\n",
		fixture.queue, fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pool);
	free(pool);
	for (int i = 0; i < OTHERS; i++) {
		snprintf(ids[i], sizeof ids[i], "%d", i);
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x",
				.correlation_id = ids[i],
				.headers = {{"X-Until", fixture_release_path("others")}}});
	}
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "killer",
			.headers = {{"X-Begin", "all are open"},
				{"X-Until", fixture_release_path("killer")}, {"X-Crash", "9"}}});
	proc_expect(serve, "all are open");
	fixture_release("killer");
	proc_expect(serve, "worker died: signal 9");
	fixture_release("others");
	fixture_await_settled(none);
	fixture_stop(serve);
	client_expect(fixture.client, fixture.dead, "killer");
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.dead), 0);
	for (int i = 0; i < OTHERS; i++)
		ck_assert_int_ge(fixture_witnessed(ids[i]), 1);
	ck_assert_int_eq(proc_count_logged(serve, "attempt 1 of 1"), 1);
}
END_TEST

START_TEST(workers_end_with_killed_supervisor)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	pid_t worker = fixture_worker_pid();
	fixture_post_held(serve, "orphan");
	proc_signal(serve, SIGKILL);
	ck_assert_int_eq(proc_wait(serve), 128 + SIGKILL);
	client_expect_ready(fixture.client, fixture.queue, 1);
	proc_expect_gone(worker);
	ck_assert_int_eq(fixture_witnessed("orphan"), 0);
}
END_TEST

START_TEST(closed_connections_are_reopened)
{
	struct proc *serve = fixture_serve_echo(NULL);
	/* The connections of the test's client are closed, too. */
	broker_close_connections(fixture.broker);
	fixture.client = client_open(broker_url(fixture.broker));
	client_expect_consumers(fixture.client, fixture.queue, 1);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "after",
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, "after");
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

START_TEST(deleted_queue_is_consumed_when_declared_again)
{
	struct proc *serve = fixture_serve_echo(NULL);
	proc_expect(serve, "consuming");
	client_delete(fixture.client, fixture.queue);
	proc_expect(serve, "looking for it again");
	client_declare(fixture.client, fixture.queue, CLIENT_QUORUM);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "back",
			.reply_to = fixture.replies,
			.headers = {{"X-Status", "201"}}});
	client_expect(fixture.client, fixture.replies, "back");
	fixture_stop(serve);
}
END_TEST

/* On a private node. */
static void restart_under_load(const char *how)
{
	char *folder = scratch_path(fixture.folder, "node");
	struct broker *broker = broker_start(folder);
	struct client *client = client_open(broker_url(broker));
	const char *const options[] = {"--broker", broker_url(broker), "--workers", "2", NULL};
	client_declare(client, fixture.queue, CLIENT_QUORUM);
	struct proc *serve =
		fixture_serve(options, (const char *const[]){fixture_built("workers/echo"), NULL});
	client_expect_consumers(client, fixture.queue, 1);
	for (int i = 0; i < 200; i++) {
		char *id = scratch_text("%d", i);
		client_post(client, fixture.queue,
			&(struct letter){.body = "x",
				.correlation_id = id,
				.headers = {{"X-Sleep-Ms", "5"}}});
		free(id);
	}
	broker_command(broker, how);
	if (strcmp(how, "kill") == 0)
		broker_command(broker, "restart");
	client = client_open(broker_url(broker));
	client_expect_consumers(client, fixture.queue, 1);
	/* All of them: what the old consumer held becomes ready only some time after the restart.
	 */
	broker_expect_messages(broker, fixture.queue, 0);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(broker, fixture.queue), 0);
	for (int i = 0; i < 200; i++) {
		char *id = scratch_text("%d", i);
		ck_assert_int_ge(fixture_witnessed(id), 1);
		free(id);
	}
	char *log = broker_log(broker);
	ck_assert_ptr_null(strstr(log, "unknown delivery tag"));
	free(log);
	broker_free(broker);
	free(folder);
}

START_TEST(supervisor_reconnects_to_restarted_broker)
{
	restart_under_load("restart");
}
END_TEST

START_TEST(supervisor_reconnects_to_killed_broker)
{
	restart_under_load("kill");
}
END_TEST

static void set_memory_limit(struct broker *broker, const char *share)
{
	char *expression =
		scratch_text("vm_memory_monitor:set_vm_memory_high_watermark(%s)", share);
	free(broker_eval(broker, expression));
	free(expression);
}

/* Under an alarm the broker reads no publishes until the alarm ends. */
static void raise_alarm(struct broker *broker, struct client *client, struct proc *serve)
{
	const char *const levels[] = {"0.00001", "0.4"};
	const char *const words[] = {"takes no publishes for now", "takes publishes again"};
	client_post(client, fixture.queue,
		&(struct letter){.body = "patience",
			.reply_to = fixture.replies,
			.headers = {{"X-Begin", "begins"},
				{"X-Until", fixture_release_path("patience")},
				{"X-Status", "201"}}});
	proc_expect(serve, "begins");
	for (int i = 0; i < 2; i++) {
		set_memory_limit(broker, levels[i]);
		fixture_release("patience");
		proc_expect(serve, words[i]);
	}
	client_expect(client, fixture.replies, "patience");
}

/* A forced stop ends long before the heartbeat would fail. */
START_TEST(stop_does_not_wait_for_blocked_or_silent_broker)
{
	char *folder = scratch_path(fixture.folder, "node");
	struct broker *broker = broker_start(folder);
	struct client *client = client_open(broker_url(broker));
	const char *const options[] = {"--broker", broker_url(broker), "--workers", "2", NULL};
	client_declare(client, fixture.queue, CLIENT_QUORUM);
	client_declare(client, fixture.replies, CLIENT_QUORUM);
	struct proc *serve =
		fixture_serve(options, (const char *const[]){fixture_built("workers/echo"), NULL});
	client_expect_consumers(client, fixture.queue, 1);
	raise_alarm(broker, client, serve);
	broker_command(broker, "pause");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	proc_signal(serve, SIGTERM);
	ck_assert_int_eq(proc_wait(serve), 75);
	ck_assert(proc_has_logged(serve, "the broker does not answer"));
	ck_assert(!proc_has_logged(serve, "two heartbeats"));
	broker_command(broker, "resume");
	broker_free(broker);
	free(folder);
}
END_TEST

/* A command under an alarm: a broker that blocks it counts as away. */
static void expect_blocked(const char *const arguments[], int interrupt, int exit_code)
{
	struct proc *proc = fixture_wpool(arguments);
	const char *message = interrupt ? "accepts no messages now" : "accepts no messages";
	if (interrupt) {
		proc_expect(proc, message);
		proc_signal(proc, interrupt);
	}
	ck_assert_int_eq(proc_wait(proc), exit_code);
	command_expect_text(proc_stderr(proc), message);
}

START_TEST(a_broker_that_blocks_a_command_counts_as_away)
{
	char *folder = scratch_path(fixture.folder, "node");
	char *file = scratch_path(fixture.folder, "message");
	struct broker *broker = broker_start(folder);
	struct client *client = client_open(broker_url(broker));
	const char *url = broker_url(broker), *queue = fixture.queue;
	client_declare(client, queue, CLIENT_QUORUM);
	scratch_write(file, "message");
	set_memory_limit(broker, "0.00001");
	expect_blocked((const char *const[]){"publish", "--broker", url, "--queue", queue, "--wait",
			       "3s", file, NULL},
		0, 69);
	expect_blocked((const char *const[]){"publish", "--broker", url, "--queue", queue, "--wait",
			       "1h", file, NULL},
		SIGTERM, 75);
	expect_blocked((const char *const[]){"request", "--broker", url, "--queue", queue, "--wait",
			       "3s", "message", NULL},
		0, 69);
	broker_free(broker);
	free(folder);
	free(file);
}
END_TEST

/* The consuming channel declared it at its start. */
START_TEST(deleted_dead_letter_queue_is_declared_again)
{
	struct proc *serve = fixture_serve_echo(NULL);
	proc_expect(serve, "consuming");
	client_delete(fixture.client, fixture.dead);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "hopeless", .headers = {{"X-Status", "400"}}});
	proc_expect(serve, "is gone; making it again");
	broker_expect_messages(fixture.broker, fixture.dead, 1);
	client_expect(fixture.client, fixture.dead, "hopeless");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
}
END_TEST

START_TEST(worker_in_crash_loop_gets_no_task)
{
	struct proc *serve = fixture_serve(one_worker, (const char *const[]){"/bin/false", NULL});
	proc_expect(serve, "worker died: exit status 1");
	for (int i = 0; i < 5; i++)
		client_send(fixture.client, fixture.queue, "unharmed");
	proc_expect(serve, "worker died: exit status 1");
	ck_assert_int_eq(client_ready(fixture.client, fixture.queue), 5);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 5);
	ck_assert_int_le(client_ready(fixture.client, fixture.dead), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("faults", {killed_worker_costs_one_attempt_and_is_replaced, 1},
		{killer_among_many_open_tasks_costs_no_other_an_attempt, 1},
		{workers_end_with_killed_supervisor, 1}, {closed_connections_are_reopened, 1},
		{deleted_queue_is_consumed_when_declared_again, 1},
		{supervisor_reconnects_to_restarted_broker, 1},
		{supervisor_reconnects_to_killed_broker, 1},
		{stop_does_not_wait_for_blocked_or_silent_broker, 1},
		{a_broker_that_blocks_a_command_counts_as_away, 1},
		{deleted_dead_letter_queue_is_declared_again, 1},
		{worker_in_crash_loop_gets_no_task, 1});
}
