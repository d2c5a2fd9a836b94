/* Autoscaling, and the recycling of workers. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <poll.h>
#include <string.h>

/* A minute of calm is waited for, and then some. */
#define PATIENCE_MS 150000
#define TIMEOUT     "200"

static char *run(const char *const arguments[], int code)
{
	struct proc *proc = site_wpool(arguments);
	int got = proc_wait(proc);
	char *said = proc_stderr(proc);
	ck_assert_msg(got == code, "%s ended with %d, not %d: %s", arguments[0], got, code, said);
	char *out = code == 0 ? proc_stdout(proc) : said;
	site_forget(proc);
	return out;
}

#define RUN(code, ...) run((const char *const[]){__VA_ARGS__, NULL}, code)

static void post_many(int count, const char *header, const char *value)
{
	for (int i = 0; i < count; i++) {
		char *id = scratch_text("%d", i);
		client_post(site.client, site.queue,
			&(struct letter){
				.body = "x", .correlation_id = id, .headers = {{header, value}}});
		free(id);
	}
}

/* Of the one pool. */
static json_int_t figure(const char *first, const char *second)
{
	json_t *answer = control_get_json("/v1/pools");
	json_int_t is = control_number(control_member(answer, "pools", 0), first, second);
	json_decref(answer);
	return is;
}

/* Every ask is an event at the other end. */
static void await_wanted(json_int_t number)
{
	int64_t deadline = deadline_in(PATIENCE_MS);
	while (figure("workers", "wanted") != number) {
		ck_assert_msg(deadline_left(deadline) > 0, "%d workers are not wanted in the end",
			(int)number);
		poll(NULL, 0, 100);
	}
}

/* "wpool_scalings_total{...} 3": the figure behind those words; of the one pool. */
static int metric(const char *name, const char *label)
{
	json_t *answer = control_get_json("/v1/pools");
	const char *pool = control_words(control_member(answer, "pools", 0), "name");
	char *text = control_get("/metrics", 200);
	char *start = scratch_text("%s{pool=\"%s\",%s} ", name, pool, label);
	const char *found = strstr(text, start);
	ck_assert_msg(found != NULL, "no %s in %s", start, text);
	int value = atoi(found + strlen(start));
	json_decref(answer);
	free(start);
	return value;
}

START_TEST(a_burst_grows_it_and_calm_shrinks_it)
{
	struct proc *serve = site_serve_echo(
		(const char *const[]){"--workers", "1..3", "--pipeline", "1", NULL});
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	post_many(20, "X-Sleep-Ms", "500");
	proc_expect(serve, "growing from 1 to 2 workers: all workers were busy and ");
	proc_expect(serve, "growing from 2 to 3 workers: all workers were busy and ");
	control_expect_done(20);
	control_expect_words(RUN(0, "pools"), "1..3");
	ck_assert_int_eq(figure("workers", "min"), 1);
	ck_assert_int_eq(figure("workers", "max"), 3);
	await_wanted(1);
	ck_assert(proc_has_said(
		serve, "shrinking from 3 to 2 workers: at most 0 workers were needed for 60.0 s"));
	ck_assert(proc_has_said(
		serve, "shrinking from 2 to 1 workers: at most 0 workers were needed for 60.0 s"));
	ck_assert_int_eq(metric("wpool_scalings_total", "cause=\"grew\""), 2);
	ck_assert_int_eq(metric("wpool_scalings_total", "cause=\"shrank\""), 2);
	ck_assert_int_eq(figure("totals", "worker_deaths"), 0);
	ck_assert_int_eq(figure("totals", "retried"), 0);
	site_stop(serve);
}
END_TEST

/* What an operator says holds, until he says that it is left to the pool. */
START_TEST(a_number_holds_until_auto)
{
	struct proc *serve = site_serve_echo(
		(const char *const[]){"--workers", "1..4", "--pipeline", "1", NULL});
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	control_expect_words(RUN(0, "scale", site.queue, "2"), "2 workers wanted");
	post_many(10, "X-Sleep-Ms", "300");
	control_expect_done(10);
	ck_assert_int_eq(figure("workers", "wanted"), 2);
	ck_assert_int_eq(proc_count_said(serve, "growing"), 0);
	control_expect_words(RUN(0, "scale", site.queue, "auto"), "2 workers wanted");
	ck_assert_int_eq(figure("workers", "max"), 4);
	control_expect_words(RUN(0, "scale", site.queue, "1..3"), "2 workers wanted");
	post_many(10, "X-Sleep-Ms", "500");
	proc_expect(serve, "growing from 2 to 3 workers");
	control_expect_done(20);
	control_expect_words(RUN(64, "scale", site.queue, "3..2"), "'3..2' is no number from 1");
	control_expect_words(RUN(64, "scale", site.queue, "1..10001"), "no number from 1 to 10000");
	ck_assert_int_eq(figure("workers", "max"), 3);
	site_stop(serve);
}
END_TEST

START_TEST(those_that_have_done_enough_are_replaced)
{
	enum { TASKS = 1000, EACH = 40 };
	struct proc *serve = site_serve_pool("recycle: {tasks: 40}", site_built("workers/echo"));
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	post_many(TASKS, "X-Sleep-Ms", "1");
	control_expect_done(TASKS);
	ck_assert_int_ge(
		metric("wpool_workers_recycled_total", "reason=\"tasks\""), TASKS / EACH - 2);
	ck_assert_int_eq(figure("totals", "done"), TASKS);
	ck_assert_int_eq(figure("totals", "retried"), 0);
	ck_assert_int_eq(figure("totals", "worker_deaths"), 0);
	ck_assert(proc_has_said(serve, "replacing worker: it has done "));
	site_stop(serve);
}
END_TEST

START_TEST(one_that_leaks_is_replaced_when_its_task_is_done)
{
	struct proc *serve =
		site_serve_pool("recycle: {memory: 64MiB}", site_built("workers/echo"));
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	client_post(site.client, site.queue,
		&(struct letter){.body = "x",
			.correlation_id = "leaks",
			.headers = {{"X-Leak-Mib", "100"}, {"X-Until", site_until("leaks")}}});
	proc_expect(serve, "MiB, more than recycle.memory");
	site_release("leaks");
	proc_expect(serve, "worker left: exit status 0");
	control_expect_done(1);
	ck_assert_int_eq(figure("totals", "retried"), 0);
	ck_assert_int_eq(metric("wpool_workers_recycled_total", "reason=\"memory\""), 1);
	control_await("/readyz", 200);
	site_stop(serve);
}
END_TEST

/* Its task has crashed, as often as it may; others are not touched. */
START_TEST(one_that_leaks_too_much_is_killed)
{
	struct proc *serve = site_serve_pool("recycle: {memory_kill: 64MiB}, "
					     "retry: {attempts: 2, delay: [100ms]}",
		site_built("workers/echo"));
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	client_post(site.client, site.queue,
		&(struct letter){.body = "x",
			.correlation_id = "leaks",
			.headers = {{"X-Leak-Mib", "100"}, {"X-Sleep-Ms", "600000"}}});
	proc_expect(serve, "more than recycle.memory_kill");
	proc_expect(serve, "task leaks crashed (signal 9 (Killed)), attempt 1 of 2");
	proc_expect(serve, "more than recycle.memory_kill");
	proc_expect(serve, "task leaks crashed (signal 9 (Killed)), attempt 2 of 2; given up");
	broker_expect_messages(site.broker, site.dead, 1);
	post_many(5, "X-Sleep-Ms", "1");
	control_expect_done(5);
	ck_assert_int_eq(metric("wpool_workers_recycled_total", "reason=\"memory-kill\""), 2);
	site_stop(serve);
}
END_TEST

START_TEST(by_age_they_are_replaced_and_nothing_is_done_twice)
{
	struct proc *serve = site_serve_pool("recycle: {age: 1s}", site_built("workers/echo"));
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	for (int replaced = 0; replaced < 4; replaced++) {
		post_many(50, "X-Sleep-Ms", "5");
		proc_expect(serve, "replacing worker: its age is ");
	}
	control_expect_done(200);
	ck_assert_int_eq(figure("totals", "done"), 200);
	ck_assert_int_eq(figure("totals", "retried"), 0);
	ck_assert_int_eq(figure("totals", "worker_deaths"), 0);
	site_stop(serve);
}
END_TEST

int main(void)
{
	setenv("CK_DEFAULT_TIMEOUT", TIMEOUT, 1);
	return SYSTEM_RUN("autoscale", {a_burst_grows_it_and_calm_shrinks_it, 1},
		{a_number_holds_until_auto, 1}, {those_that_have_done_enough_are_replaced, 1},
		{one_that_leaks_is_replaced_when_its_task_is_done, 1},
		{one_that_leaks_too_much_is_killed, 1},
		{by_age_they_are_replaced_and_nothing_is_done_twice, 1});
}
