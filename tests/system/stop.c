/* The graceful stop: started tasks are finished, others go back to the broker, no process stays. */
#include "harness/deadline.h"
#include "system/system.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const one_worker[] = {
	"--workers", "1", "--prefetch", "100", "--pipeline", "1", NULL};

static void post_slow(const char *id, const char *ms)
{
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = id, .correlation_id = id, .headers = {{"X-Sleep-Ms", ms}}});
}

START_TEST(idle_supervisor_stops_at_once)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGQUIT};
	struct proc *serve = fixture_serve_echo(NULL);
	pid_t worker = fixture_worker_pid();
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	proc_signal(serve, signals[_i]);
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert(proc_has_logged(serve, "stopped, everything is settled"));
	proc_expect_gone(worker);
	client_expect_consumers(fixture.client, fixture.queue, 0);
}
END_TEST

START_TEST(stop_finishes_started_tasks_and_requeues_others)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	fixture_post_held(serve, "in-hand");
	for (int i = 0; i < 20; i++)
		post_slow("later", "700");
	client_expect_ready(fixture.client, fixture.queue, 0);
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	fixture_release("in-hand");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(fixture_witnessed("in-hand"), 1);
	int later = fixture_witnessed("later");
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 20 - later);
	ck_assert_int_lt(later, 20);
}
END_TEST

START_TEST(stop_waits_for_confirm_of_reply)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "late answer",
			.reply_to = fixture.replies,
			.headers = {{"X-Begin", "begins"},
				{"X-Until", fixture_release_path("late answer")},
				{"X-Status", "201"}}});
	proc_expect(serve, "begins");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	fixture_release("late answer");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
	client_expect(fixture.client, fixture.replies, "late answer");
}
END_TEST

START_TEST(stop_under_load_repeats_nothing)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "4", NULL});
	for (int i = 0; i < 2000; i++) {
		char *id = scratch_text("%d", i);
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x", .correlation_id = id});
		free(id);
		if (i == 1200)
			proc_signal(serve, SIGTERM);
	}
	ck_assert_int_eq(proc_wait(serve), 0);
	int done = fixture_witnessed(NULL);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 2000 - done);

	/* Another supervisor does the rest: a repeated task would make the witness longer than
	 * 2,000 lines. */
	serve = fixture_serve_echo((const char *const[]){"--workers", "4", NULL});
	broker_expect_messages(
		fixture.broker, fixture.queue, 0); /* so that the stop requeues none */
	fixture_stop(serve);
	ck_assert_int_eq(fixture_witnessed(NULL), 2000);
}
END_TEST

/* The number given up, from the last line of the pool. */
static int given_up(struct proc *serve)
{
	char *text = proc_stderr(serve);
	const char *sums = strstr(text, "drained: "),
		   *end = sums ? strstr(sums, " given up") : NULL;
	ck_assert_msg(end != NULL, "%s", text);
	while (end > sums && end[-1] != ' ')
		end--;
	int count = atoi(end);
	free(text);
	return count;
}

/* Without a dead-letter queue tasks are only rejected, many at once and right before the end: those
 * of which the broker does not learn would be redelivered. */
START_TEST(last_rejected_task_is_not_redelivered)
{
	enum { POSTED = 3000 };
	for (int i = 0; i < POSTED; i++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	client_expect_ready(fixture.client, fixture.queue, POSTED);
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: 8, pipeline: 8,\n"
				  "   prefetch: 300, retry: {attempts: 1, dead_letter: broker}}\n",
		fixture.queue, fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pool);
	free(pool);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (client_ready(fixture.client, fixture.queue) > POSTED / 2)
		fixture_poll(deadline, 5, "half of the messages are delivered");
	fixture_stop(serve);
	int rejected = given_up(serve);
	ck_assert_int_ge(rejected, 2);
	broker_expect_messages(fixture.broker, fixture.queue, POSTED - rejected);
}
END_TEST

START_TEST(second_signal_ends_the_drain)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	pid_t worker = fixture_worker_pid();
	fixture_post_held(serve, "stuck");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	ck_assert(proc_is_alive(serve));
	proc_signal(serve, SIGTERM);
	ck_assert_int_eq(proc_wait(serve), 75);
	proc_expect_gone(worker);
	client_expect_ready(fixture.client, fixture.queue, 1);
	ck_assert_int_eq(fixture_witnessed("stuck"), 0);
}
END_TEST

/* The supervisor is suspended for longer than its drain may take, with a task in hand that ends
 * later: that time does not count. The sleep is the fault under test. */
START_TEST(drain_time_does_not_count_suspension)
{
	static const char *const environment[] = {"WPOOL_DRAIN=5s", NULL};
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: 1}\n", fixture.queue,
		fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_program("wpool", environment, pool);
	free(pool);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	fixture_post_held(serve, "in-hand");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	proc_suspend(serve);
	poll(NULL, 0, 6500);
	proc_signal(serve, SIGCONT);
	proc_signal(serve, SIGUSR1);
	proc_expect(serve, "draining; workers: ");
	fixture_release("in-hand");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(fixture_witnessed("in-hand"), 1);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

START_TEST(worker_that_ignores_quit_is_killed)
{
	struct proc *serve = fixture_serve_pool("limits: {grace: 500ms}",
		scratch_text("%s\", \"outstay", fixture_built("workers/evil")));
	client_send(fixture.client, fixture.queue, "x");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 0);
}
END_TEST

/* While it opens its configuration, a FIFO, it has no handlers yet. */
START_TEST(pid_1_keeps_a_signal_that_comes_before_its_handlers)
{
	const char *program = fixture_built("wpool");
	char *fifo = scratch_path(fixture.folder, "fifo");
	char *text = scratch_text("broker: {url: '%s'}\n"
				  "pools: [{queue: '%s', command: [cat]}]\n",
		broker_url(fixture.broker), fixture.queue);
	if (!fixture_can_run((const char *const[]){
		    "unshare", "--pid", "--fork", "--mount-proc", "true", NULL})) {
		fixture_not_run("pid_1_keeps_a_signal_that_comes_before_its_handlers",
			"no namespace of processes can be made");
		return;
	}
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	struct proc *proc = proc_start(fixture.folder,
		(const char *const[]){"unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
			program, "serve", "--config", fifo, NULL},
		NULL);
	int writer = open(fifo, O_WRONLY);
	ck_assert_int_ge(writer, 0);
	ck_assert_int_eq(kill(proc_only_child(proc), SIGTERM), 0);
	ck_assert_int_eq(write(writer, text, strlen(text)), (ssize_t)strlen(text));
	close(writer);
	ck_assert_int_eq(proc_wait(proc), 0);
	ck_assert(proc_has_logged(proc, "stopped, everything is settled"));
	proc_free(proc);
	free(text);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("stop", {idle_supervisor_stops_at_once, 3},
		{stop_finishes_started_tasks_and_requeues_others, 1},
		{stop_waits_for_confirm_of_reply, 1}, {stop_under_load_repeats_nothing, 1},
		{second_signal_ends_the_drain, 1}, {last_rejected_task_is_not_redelivered, 1},
		{drain_time_does_not_count_suspension, 1}, {worker_that_ignores_quit_is_killed, 1},
		{pid_1_keeps_a_signal_that_comes_before_its_handlers, 1});
}
