/* The graceful stop: what is in hand is finished, what is not goes back, nobody is left behind. */
#include "system/system.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char *const one_worker[] = {
	"--workers", "1", "--prefetch", "100", "--pipeline", "1", NULL};

static void post_slow(const char *id, const char *ms)
{
	client_post(site.client, site.queue,
		&(struct letter){
			.body = id, .correlation_id = id, .headers = {{"X-Sleep-Ms", ms}}});
}

START_TEST(an_idle_one_leaves_at_once)
{
	static const int signals[] = {SIGTERM, SIGINT};
	struct proc *serve = site_serve_echo(NULL);
	pid_t worker = site_worker_pid();
	proc_signal(serve, signals[_i]);
	ck_assert_int_eq(proc_wait(serve), 0);
	proc_expect_gone(worker);
	client_expect_consumers(site.client, site.queue, 0);
}
END_TEST

START_TEST(what_is_in_hand_is_finished_and_the_rest_goes_back)
{
	struct proc *serve = site_serve_echo(one_worker);
	site_post_held(serve, "in-hand");
	for (int i = 0; i < 20; i++)
		post_slow("later", "700");
	client_expect_ready(site.client, site.queue, 0);
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	site_release("in-hand");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(site_witnessed("in-hand"), 1);
	int later = site_witnessed("later");
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 20 - later);
	ck_assert_int_lt(later, 20);
}
END_TEST

START_TEST(a_reply_is_confirmed_before_it_leaves)
{
	struct proc *serve = site_serve_echo(one_worker);
	client_post(site.client, site.queue,
		&(struct letter){.body = "late answer",
			.reply_to = site.replies,
			.headers = {{"X-Begin", "begins"}, {"X-Until", site_until("late answer")},
				{"X-Status", "201"}}});
	proc_expect(serve, "begins");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	site_release("late answer");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
	client_expect(site.client, site.replies, "late answer");
}
END_TEST

START_TEST(a_stop_in_full_flow_repeats_nothing)
{
	struct proc *serve = site_serve_echo((const char *const[]){"--workers", "4", NULL});
	for (int i = 0; i < 2000; i++) {
		char *id = scratch_text("%d", i);
		client_post(site.client, site.queue,
			&(struct letter){.body = "x", .correlation_id = id});
		free(id);
		if (i == 1200)
			proc_signal(serve, SIGTERM);
	}
	ck_assert_int_eq(proc_wait(serve), 0);
	int done = site_witnessed(NULL);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 2000 - done);

	/* The rest, by another: what was worked twice would make the witness longer than 2,000. */
	serve = site_serve_echo((const char *const[]){"--workers", "4", NULL});
	broker_expect_messages(site.broker, site.queue, 0); /* none that it would hand back */
	site_stop(serve);
	ck_assert_int_eq(site_witnessed(NULL), 2000);
}
END_TEST

/* What the last line of the pool says. */
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

/* Without a queue for dead letters they are only rejected, many at once and right before the end:
 * what the broker has not heard of by then would be worked again. */
START_TEST(what_it_rejected_last_does_not_come_back)
{
	enum { POSTED = 3000 };
	for (int i = 0; i < POSTED; i++)
		client_post(site.client, site.queue,
			&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	client_expect_ready(site.client, site.queue, POSTED);
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: 8, pipeline: 8,\n"
				  "   prefetch: 300, retry: {attempts: 1, dead_letter: broker}}\n",
		site.queue, site_built("workers/echo"));
	struct proc *serve = site_serve_pools(pool);
	free(pool);
	while (client_ready(site.client, site.queue) > POSTED / 2)
		poll(NULL, 0, 5);
	site_stop(serve);
	int rejected = given_up(serve);
	ck_assert_int_ge(rejected, 2);
	broker_expect_messages(site.broker, site.queue, POSTED - rejected);
}
END_TEST

START_TEST(a_second_signal_forces)
{
	struct proc *serve = site_serve_echo(one_worker);
	pid_t worker = site_worker_pid();
	site_post_held(serve, "stuck");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	ck_assert(proc_is_alive(serve));
	proc_signal(serve, SIGTERM);
	ck_assert_int_eq(proc_wait(serve), 75);
	proc_expect_gone(worker);
	client_expect_ready(site.client, site.queue, 1);
	ck_assert_int_eq(site_witnessed("stuck"), 0);
}
END_TEST

/* Stopped for longer than the drain may take, with a task in hand that goes on for a while after:
 * nobody could do anything in that time, so it is not over. The nap is the fault. */
START_TEST(time_in_which_it_was_stopped_is_not_the_drains)
{
	static const char *const environment[] = {"WPOOL_DRAIN=5s", NULL};
	char *pool = scratch_text("- {queue: %s, command: [\"%s\"], workers: 1}\n", site.queue,
		site_built("workers/echo"));
	struct proc *serve = site_serve_program("wpool", environment, pool);
	free(pool);
	client_expect_consumers(site.client, site.queue, 1);
	site_post_held(serve, "in-hand");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	proc_signal(serve, SIGSTOP);
	poll(NULL, 0, 6500);
	proc_signal(serve, SIGCONT);
	proc_signal(serve, SIGUSR1);
	proc_expect(serve, "draining; workers: ");
	site_release("in-hand");
	ck_assert_int_eq(proc_wait(serve), 0);
	ck_assert_int_eq(site_witnessed("in-hand"), 1);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
}
END_TEST

START_TEST(a_worker_that_will_not_leave_is_ended)
{
	struct proc *serve = site_serve_pool("limits: {grace: 500ms}",
		scratch_text("%s\", \"outstay", site_built("workers/evil")));
	client_send(site.client, site.queue, "x");
	broker_expect_messages(site.broker, site.queue, 0);
	site_stop(serve);
	ck_assert_int_eq(broker_messages(site.broker, site.queue), 0);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("stop", {an_idle_one_leaves_at_once, 2},
		{what_is_in_hand_is_finished_and_the_rest_goes_back, 1},
		{a_reply_is_confirmed_before_it_leaves, 1},
		{a_stop_in_full_flow_repeats_nothing, 1}, {a_second_signal_forces, 1},
		{what_it_rejected_last_does_not_come_back, 1},
		{time_in_which_it_was_stopped_is_not_the_drains, 1},
		{a_worker_that_will_not_leave_is_ended, 1});
}
