/* What breaks under it: workers, the supervisor itself, connections, the broker. Nothing is lost.
 */
#include "system/system.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const one_worker[] = {"--workers", "1", "--pipeline", "1", NULL};

START_TEST(a_killed_worker_costs_an_attempt_and_is_replaced)
{
	struct proc *serve = site_serve_echo(one_worker);
	pid_t first = site_worker_pid();
	client_post(site.client, site.queue,
		&(struct letter){.body = "interrupted",
			.reply_to = site.replies,
			.headers = {{"X-Begin", "at it"}, {"X-Until", site_until("killed")},
				{"X-Status", "201"}}});
	proc_expect(serve, "at it");
	ck_assert_int_eq(kill(first, SIGKILL), 0);
	site_release("killed");
	proc_expect(serve, "attempt 1 of 3; retrying");
	client_expect(site.client, site.replies, "interrupted");
	ck_assert_int_ne(site_worker_pid(), first);
	site_stop(serve);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
}
END_TEST

START_TEST(a_killed_supervisor_takes_its_workers_along)
{
	struct proc *serve = site_serve_echo(one_worker);
	pid_t worker = site_worker_pid();
	site_post_held(serve, "orphan");
	proc_signal(serve, SIGKILL);
	ck_assert_int_eq(proc_wait(serve), 128 + SIGKILL);
	client_expect_ready(site.client, site.queue, 1);
	proc_expect_gone(worker);
	ck_assert_int_eq(site_witnessed("orphan"), 0);
}
END_TEST

START_TEST(cut_connections_come_back)
{
	struct proc *serve = site_serve_echo(NULL);
	/* Our own client is cut too. */
	broker_close_connections(site.broker);
	site.client = client_open(broker_url(site.broker));
	client_expect_consumers(site.client, site.queue, 1);
	client_post(site.client, site.queue,
		&(struct letter){.body = "after",
			.reply_to = site.replies,
			.headers = {{"X-Status", "201"}}});
	client_expect(site.client, site.replies, "after");
	site_stop(serve);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
}
END_TEST

START_TEST(a_deleted_queue_is_consumed_again_once_it_is_back)
{
	struct proc *serve = site_serve_echo(NULL);
	proc_expect(serve, "consuming");
	client_delete(site.client, site.queue);
	proc_expect(serve, "looking for it again");
	client_declare(site.client, site.queue, CLIENT_QUORUM);
	client_expect_consumers(site.client, site.queue, 1);
	client_post(site.client, site.queue,
		&(struct letter){.body = "back",
			.reply_to = site.replies,
			.headers = {{"X-Status", "201"}}});
	client_expect(site.client, site.replies, "back");
	site_stop(serve);
}
END_TEST

/* On a node of its own: the others' must live. */
static void restart_under_load(const char *how)
{
	char *folder = scratch_path(site.folder, "node");
	struct broker *broker = broker_start(folder);
	struct client *client = client_open(broker_url(broker));
	const char *const options[] = {"--broker", broker_url(broker), "--workers", "2", NULL};
	client_declare(client, site.queue, CLIENT_QUORUM);
	struct proc *serve =
		site_serve(options, (const char *const[]){site_built("workers/echo"), NULL});
	client_expect_consumers(client, site.queue, 1);
	for (int i = 0; i < 200; i++) {
		char *id = scratch_text("%d", i);
		client_post(client, site.queue,
			&(struct letter){.body = "x",
				.correlation_id = id,
				.headers = {{"X-Sleep-Ms", "5"}}});
		free(id);
	}
	broker_command(broker, how);
	if (strcmp(how, "kill") == 0)
		broker_command(broker, "restart");
	client = client_open(broker_url(broker));
	client_expect_consumers(client, site.queue, 1);
	/* All of them: what the old consumer held becomes ready only some time after the restart.
	 */
	broker_expect_messages(broker, site.queue, 0);
	site_stop(serve);
	ck_assert_int_eq(broker_messages(broker, site.queue), 0);
	for (int i = 0; i < 200; i++) {
		char *id = scratch_text("%d", i);
		ck_assert_int_ge(site_witnessed(id), 1);
		free(id);
	}
	char *log = broker_log(broker);
	ck_assert_ptr_null(strstr(log, "unknown delivery tag"));
	free(log);
	broker_free(broker);
	free(folder);
}

START_TEST(a_restarted_broker_is_taken_up_again)
{
	restart_under_load("restart");
}
END_TEST

START_TEST(a_killed_broker_is_taken_up_again)
{
	restart_under_load("kill");
}
END_TEST

/* Under an alarm the broker reads no publishes; what is published waits for its end. */
static void raise_alarm(struct broker *broker, struct client *client, struct proc *serve)
{
	const char *const levels[] = {"0.00001", "0.4"};
	const char *const words[] = {"takes no publishes for now", "takes publishes again"};
	client_post(client, site.queue,
		&(struct letter){.body = "patience",
			.reply_to = site.replies,
			.headers = {{"X-Begin", "begins"}, {"X-Until", site_until("patience")},
				{"X-Status", "201"}}});
	proc_expect(serve, "begins");
	for (int i = 0; i < 2; i++) {
		char *expression = scratch_text(
			"vm_memory_monitor:set_vm_memory_high_watermark(%s)", levels[i]);
		free(broker_eval(broker, expression));
		free(expression);
		site_release("patience");
		proc_expect(serve, words[i]);
	}
	client_expect(client, site.replies, "patience");
}

/* A forced stop ends long before a heartbeat would tell that nobody listens any more. */
START_TEST(neither_an_alarm_nor_a_silent_broker_holds_it_up)
{
	char *folder = scratch_path(site.folder, "node");
	struct broker *broker = broker_start(folder);
	struct client *client = client_open(broker_url(broker));
	const char *const options[] = {"--broker", broker_url(broker), "--workers", "2", NULL};
	client_declare(client, site.queue, CLIENT_QUORUM);
	client_declare(client, site.replies, CLIENT_QUORUM);
	struct proc *serve =
		site_serve(options, (const char *const[]){site_built("workers/echo"), NULL});
	client_expect_consumers(client, site.queue, 1);
	raise_alarm(broker, client, serve);
	broker_command(broker, "pause");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	proc_signal(serve, SIGTERM);
	time_t before = time(NULL);
	ck_assert_int_eq(proc_wait(serve), 75);
	ck_assert_int_le(time(NULL) - before, 10);
	ck_assert(proc_has_said(serve, "the broker does not answer"));
	broker_command(broker, "resume");
	broker_free(broker);
	free(folder);
}
END_TEST

/* It is ours to declare, and the consuming channel looked for it long ago. */
START_TEST(a_deleted_dead_letter_queue_is_made_again)
{
	struct proc *serve = site_serve_echo(NULL);
	proc_expect(serve, "consuming");
	client_delete(site.client, site.dead);
	client_post(site.client, site.queue,
		&(struct letter){.body = "hopeless", .headers = {{"X-Status", "400"}}});
	proc_expect(serve, "is gone; making it again");
	broker_expect_messages(site.broker, site.dead, 1);
	client_expect(site.client, site.dead, "hopeless");
	broker_expect_messages(site.broker, site.queue, 0);
	site_stop(serve);
}
END_TEST

START_TEST(a_worker_that_always_dies_is_not_fed)
{
	struct proc *serve = site_serve(one_worker, (const char *const[]){"/bin/false", NULL});
	proc_expect(serve, "worker died: exit status 1");
	for (int i = 0; i < 5; i++)
		client_send(site.client, site.queue, "unharmed");
	proc_expect(serve, "worker died: exit status 1");
	ck_assert_int_eq(client_ready(site.client, site.queue), 5);
	site_stop(serve);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 5);
	ck_assert_int_le(client_ready(site.client, site.dead), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("faults", {a_killed_worker_costs_an_attempt_and_is_replaced, 1},
		{a_killed_supervisor_takes_its_workers_along, 1}, {cut_connections_come_back, 1},
		{a_deleted_queue_is_consumed_again_once_it_is_back, 1},
		{a_restarted_broker_is_taken_up_again, 1}, {a_killed_broker_is_taken_up_again, 1},
		{neither_an_alarm_nor_a_silent_broker_holds_it_up, 1},
		{a_deleted_dead_letter_queue_is_made_again, 1},
		{a_worker_that_always_dies_is_not_fed, 1});
}
