/* Signals to a supervisor that serves: pause, resume, log its state. */
#include "system/system.h"

#include <signal.h>
#include <string.h>

static const char *const one_worker[] = {
	"--workers", "1", "--prefetch", "100", "--pipeline", "1", NULL};

static void post(const char *id)
{
	client_post(
		fixture.client, fixture.queue, &(struct letter){.body = id, .correlation_id = id});
}

static void pause_all(struct proc *serve)
{
	proc_signal(serve, SIGTSTP);
	proc_expect(serve, "paused: no new tasks");
}

/* A quorum queue counts a cancelled consumer until all its deliveries are settled. */
static void pause_idle(struct proc *serve)
{
	pause_all(serve);
	client_expect_consumers(fixture.client, fixture.queue, 0);
}

/* The task "begun" is with the worker, "waits" in the pool. */
static void pause_busy(struct proc *serve)
{
	fixture_post_held(serve, "begun");
	post("waits");
	client_expect_ready(fixture.client, fixture.queue, 0);
	pause_all(serve);
}

static void resume_all(struct proc *serve)
{
	proc_signal(serve, SIGCONT);
	proc_expect(serve, "resumed");
}

START_TEST(paused_pool_takes_no_task)
{
	struct proc *serve = fixture_serve_echo(NULL);
	pause_idle(serve);
	for (int i = 0; i < 20; i++)
		post("x");
	client_expect_ready(fixture.client, fixture.queue, 20);
	ck_assert_int_eq(fixture_witnessed("x"), 0);
	resume_all(serve);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("x"), 20);
	fixture_stop(serve);
}
END_TEST

/* A task that waits in the pool is begun after the pause. */
START_TEST(pause_finishes_started_tasks_only)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	pause_busy(serve);
	fixture_release("begun");
	broker_expect_messages(fixture.broker, fixture.queue, 1);
	ck_assert_int_eq(fixture_witnessed("begun"), 1);
	ck_assert_int_eq(fixture_witnessed("waits"), 0);
	resume_all(serve);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed("waits"), 1);
	fixture_stop(serve);
}
END_TEST

START_TEST(pause_survives_lost_connection)
{
	struct proc *serve = fixture_serve_echo(NULL);
	pause_idle(serve);
	broker_close_connections(fixture.broker); /* also of the test's client */
	fixture.client = client_open(broker_url(fixture.broker));
	proc_expect(serve, "connected");
	proc_expect(serve, "connected");
	post("x");
	client_expect_ready(fixture.client, fixture.queue, 1);
	ck_assert_int_eq(client_consumers(fixture.client, fixture.queue), 0);
	resume_all(serve);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
}
END_TEST

/* The worker is busy, so that a task is in hand at each signal. */
START_TEST(pauses_under_load_repeat_nothing)
{
	enum { POSTED = 3000, PAUSES = 50 };
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "4", NULL});
	for (int i = 0; i < POSTED; i++) {
		char *id = scratch_text("%d", i);
		post(id);
		free(id);
		if (i % (POSTED / PAUSES) == 0) {
			proc_signal(serve, SIGTSTP);
			proc_expect(serve, "paused");
			proc_signal(serve, SIGCONT);
			proc_expect(serve, "resumed");
		}
	}
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed(NULL), POSTED);
	ck_assert_int_eq(proc_count_logged(serve, "paused"), PAUSES);
	fixture_stop(serve);
}
END_TEST

START_TEST(paused_supervisor_can_be_stopped)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	pause_busy(serve);
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	fixture_release("begun");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(fixture_witnessed("begun"), 1);
	ck_assert_int_eq(fixture_witnessed("waits"), 0);
	ck_assert_int_eq(broker_messages(fixture.broker, fixture.queue), 1);
}
END_TEST

/* One signal for two pools. A pool that was not paused goes on and logs nothing. */
START_TEST(signal_pauses_every_pool)
{
	char *pools = scratch_text("- {queue: %s, command: [\"%s\"]}\n"
				   "- {name: other, queue: %s, command: [\"%s\"], declare: on}\n",
		fixture.queue, fixture_built("workers/echo"), fixture.replies,
		fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pools);
	free(pools);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	client_expect_consumers(fixture.client, fixture.replies, 1);
	proc_signal(serve, SIGCONT);
	pause_idle(serve);
	client_expect_consumers(fixture.client, fixture.replies, 0);
	resume_all(serve);
	client_expect_consumers(fixture.client, fixture.queue, 1);
	client_expect_consumers(fixture.client, fixture.replies, 1);
	ck_assert_int_eq(proc_count_logged(serve, "paused"), 2);
	ck_assert_int_eq(proc_count_logged(serve, "resumed"), 2);
	fixture_stop(serve);
}
END_TEST

START_TEST(signal_logs_the_state)
{
	struct proc *serve = fixture_serve_echo(one_worker);
	proc_signal(serve, SIGUSR1);
	proc_expect(serve, "consuming; workers: 1 wanted, 1 ready, 0 of them busy, 0 starting, "
			   "0 waiting to start, 0 leaving; backlog: ");
	ck_assert_int_eq(proc_count_logged(serve, "; tasks: 0 with workers, 0 waiting, 0 unacked "
						  "(window 100), 0 unconfirmed; no delivery yet; "
						  "0 done, 0 retried, 0 given up"),
		1);
	post("done");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	pause_busy(serve);
	proc_signal(serve, SIGUSR1);
	proc_expect(serve, "paused; workers: 1 wanted, 1 ready, 1 of them busy, ");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining: ");
	proc_signal(serve, SIGUSR1);
	proc_expect(serve, "draining; workers: 1 wanted, 1 ready, 1 of them busy, ");
	proc_signal(serve, SIGTERM);
	ck_assert_int_eq(proc_wait(serve), 75);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("signals", {paused_pool_takes_no_task, 1},
		{pause_finishes_started_tasks_only, 1}, {pause_survives_lost_connection, 1},
		{pauses_under_load_repeat_nothing, 1}, {paused_supervisor_can_be_stopped, 1},
		{signal_pauses_every_pool, 1}, {signal_logs_the_state, 1});
}
