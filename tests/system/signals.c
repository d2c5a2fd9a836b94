/* Signals to a supervisor that serves: pause, resume, log its state. */
#include "system/system.h"

#include <signal.h>
#include <string.h>

static const char *const one_worker[] = {
	"--workers", "1", "--prefetch", "100", "--pipeline", "1", NULL};

static void post(const char *id)
{
	client_post(site.client, site.queue, &(struct letter){.body = id, .correlation_id = id});
}

static void pause_all(struct proc *serve)
{
	proc_signal(serve, SIGTSTP);
	proc_expect(serve, "paused: no new tasks");
}

/* A quorum queue counts a consumer that is cancelled until all that it has is settled. */
static void pause_idle(struct proc *serve)
{
	pause_all(serve);
	client_expect_consumers(site.client, site.queue, 0);
}

static void resume_all(struct proc *serve)
{
	proc_signal(serve, SIGCONT);
	proc_expect(serve, "resumed");
}

START_TEST(in_a_pause_nothing_is_taken)
{
	struct proc *serve = site_serve_echo(NULL);
	pause_idle(serve);
	for (int i = 0; i < 20; i++)
		post("x");
	client_expect_ready(site.client, site.queue, 20);
	ck_assert_int_eq(site_witnessed("x"), 0);
	resume_all(serve);
	broker_expect_messages(site.broker, site.queue, 0);
	ck_assert_int_eq(site_witnessed("x"), 20);
	site_stop(serve);
}
END_TEST

/* One is at work, one waits for it: that one is begun when the pause is over. */
START_TEST(what_is_in_hand_is_finished_and_what_waits_stays)
{
	struct proc *serve = site_serve_echo(one_worker);
	site_post_held(serve, "begun");
	post("waits");
	client_expect_ready(site.client, site.queue, 0);
	pause_all(serve);
	site_release("begun");
	broker_expect_messages(site.broker, site.queue, 1);
	ck_assert_int_eq(site_witnessed("begun"), 1);
	ck_assert_int_eq(site_witnessed("waits"), 0);
	resume_all(serve);
	broker_expect_messages(site.broker, site.queue, 0);
	ck_assert_int_eq(site_witnessed("waits"), 1);
	site_stop(serve);
}
END_TEST

START_TEST(it_outlives_the_connection)
{
	struct proc *serve = site_serve_echo(NULL);
	pause_idle(serve);
	broker_close_connections(site.broker); /* our own client's, too */
	site.client = client_open(broker_url(site.broker));
	proc_expect(serve, "connected");
	proc_expect(serve, "connected");
	post("x");
	client_expect_ready(site.client, site.queue, 1);
	ck_assert_int_eq(client_consumers(site.client, site.queue), 0);
	resume_all(serve);
	broker_expect_messages(site.broker, site.queue, 0);
	site_stop(serve);
}
END_TEST

/* The worker is busy, so that there is always something in hand when it is told. */
START_TEST(pauses_in_full_flow_repeat_nothing)
{
	enum { POSTED = 3000, PAUSES = 50 };
	struct proc *serve = site_serve_echo((const char *const[]){"--workers", "4", NULL});
	for (int i = 0; i < POSTED; i++) {
		char *id = scratch_text("%d", i);
		client_post(site.client, site.queue,
			&(struct letter){.body = "x", .correlation_id = id});
		free(id);
		if (i % (POSTED / PAUSES) == 0) {
			proc_signal(serve, SIGTSTP);
			proc_expect(serve, "paused");
			proc_signal(serve, SIGCONT);
			proc_expect(serve, "resumed");
		}
	}
	broker_expect_messages(site.broker, site.queue, 0);
	ck_assert_int_eq(site_witnessed(NULL), POSTED);
	ck_assert_int_eq(proc_count_said(serve, "paused"), PAUSES);
	site_stop(serve);
}
END_TEST

START_TEST(it_is_stopped_in_a_pause)
{
	struct proc *serve = site_serve_echo(one_worker);
	site_post_held(serve, "begun");
	post("waits");
	client_expect_ready(site.client, site.queue, 0);
	pause_all(serve);
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	site_release("begun");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(site_witnessed("begun"), 1);
	ck_assert_int_eq(site_witnessed("waits"), 0);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 1);
}
END_TEST

/* Two pools, one signal; that goes on which never paused, too, and says nothing of it. */
START_TEST(every_pool_is_told)
{
	char *pools = scratch_text("- {queue: %s, command: [\"%s\"]}\n"
				   "- {name: other, queue: %s, command: [\"%s\"], declare: on}\n",
		site.queue, site_built("workers/echo"), site.replies, site_built("workers/echo"));
	struct proc *serve = site_serve_pools(pools);
	free(pools);
	client_expect_consumers(site.client, site.queue, 1);
	client_expect_consumers(site.client, site.replies, 1);
	proc_signal(serve, SIGCONT);
	pause_idle(serve);
	client_expect_consumers(site.client, site.replies, 0);
	resume_all(serve);
	client_expect_consumers(site.client, site.queue, 1);
	client_expect_consumers(site.client, site.replies, 1);
	ck_assert_int_eq(proc_count_said(serve, "paused"), 2);
	ck_assert_int_eq(proc_count_said(serve, "resumed"), 2);
	site_stop(serve);
}
END_TEST

START_TEST(the_state_is_told_in_the_log)
{
	struct proc *serve = site_serve_echo(one_worker);
	proc_signal(serve, SIGUSR1);
	proc_expect(serve, "consuming; workers: 1 wanted, 1 ready, 0 of them busy, 0 starting, "
			   "0 waiting to start, 0 leaving; backlog: ");
	ck_assert_int_eq(proc_count_said(serve, "; tasks: 0 with workers, 0 waiting, 0 unacked "
						"(window 100), 0 unconfirmed; no delivery yet; "
						"0 done, 0 retried, 0 given up"),
		1);
	post("done");
	broker_expect_messages(site.broker, site.queue, 0);
	site_post_held(serve, "begun");
	post("waits");
	client_expect_ready(site.client, site.queue, 0);
	pause_all(serve);
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
	return SYSTEM_RUN("signals", {in_a_pause_nothing_is_taken, 1},
		{what_is_in_hand_is_finished_and_what_waits_stays, 1},
		{it_outlives_the_connection, 1}, {pauses_in_full_flow_repeat_nothing, 1},
		{it_is_stopped_in_a_pause, 1}, {every_pool_is_told, 1},
		{the_state_is_told_in_the_log, 1});
}
