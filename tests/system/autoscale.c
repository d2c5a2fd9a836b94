/* Autoscaling, and the recycling of workers. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <poll.h>
#include <string.h>

/* Longer than the minute of calm after which a pool shrinks. */
#define PATIENCE_MS 150000
#define TIMEOUT     "200"

static void post_many(int count, const char *header, const char *value)
{
	for (int i = 0; i < count; i++) {
		char *id = scratch_text("%d", i);
		client_post(fixture.client, fixture.queue,
			&(struct letter){
				.body = "x", .correlation_id = id, .headers = {{header, value}}});
		free(id);
	}
}

static void await_wanted(json_int_t number)
{
	int64_t deadline = deadline_in(PATIENCE_MS);
	while (control_figure("workers", "wanted") != number) {
		ck_assert_msg(deadline_left(deadline) > 0, "%d workers are not wanted in the end",
			(int)number);
		poll(NULL, 0, 100);
	}
}

/* The value of a series of the only pool: "wpool_scalings_total{...} 3". */
static int metric(const char *name, const char *label)
{
	json_t *answer = control_get_json("/v1/pools");
	const char *pool = control_text(control_member(answer, "pools", 0), "name");
	char *text = control_get("/metrics", 200);
	char *start = scratch_text("%s{pool=\"%s\",%s} ", name, pool, label);
	const char *found = strstr(text, start);
	ck_assert_msg(found != NULL, "no %s in %s", start, text);
	int value = atoi(found + strlen(start));
	json_decref(answer);
	free(start);
	return value;
}

static void expect_shrunk(struct proc *serve, const char *words)
{
	if (!proc_has_logged(serve, words))
		fixture_fail(words);
}

START_TEST(pool_grows_in_burst_and_shrinks_when_calm)
{
	struct proc *serve = fixture_serve_echo(
		(const char *const[]){"--workers", "1..3", "--pipeline", "1", NULL});
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	post_many(20, "X-Until", fixture_release_path("burst"));
	proc_expect(serve, "growing from 1 to 2 workers: no worker was free and ");
	proc_expect(serve, "growing from 2 to 3 workers: no worker was free and ");
	fixture_release("burst");
	control_expect_done(20);
	control_expect_text(RUN(0, "pools"), "1..3");
	ck_assert_int_eq(control_figure("workers", "min"), 1);
	ck_assert_int_eq(control_figure("workers", "max"), 3);
	await_wanted(1);
	expect_shrunk(serve, "shrinking from 3 to 2 workers: at most "); /* 1 of the burst, or 0 */
	expect_shrunk(serve, "shrinking from 2 to 1 workers: at most 0 workers were needed for 6");
	ck_assert_int_eq(metric("wpool_scalings_total", "cause=\"grew\""), 2);
	ck_assert_int_eq(metric("wpool_scalings_total", "cause=\"shrank\""), 2);
	ck_assert_int_eq(control_figure("totals", "worker_deaths"), 0);
	ck_assert_int_eq(control_figure("totals", "retried"), 0);
	fixture_stop(serve);
}
END_TEST

/* With concurrency it grows when no place is free, not when no worker is idle, and shrinks to what
 * the open tasks need. */
START_TEST(pool_with_concurrency_scales_by_its_places)
{
	char *hold = scratch_text("hold %s", fixture_release_path("all"));
	struct proc *serve = fixture_serve_pools(
		scratch_text("- {name: tested, queue: %s, command: [\"%s\"], workers: 1..2, "
			     "concurrency: 4, prefetch: 20}\n",
			fixture.queue, fixture_built("workers/many")));
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	for (int i = 0; i < 8; i++) {
		char *id = scratch_text("%d", i);
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = hold, .correlation_id = id});
		if (i == 3)
			control_await_figure("tasks", "open", 4);
	}
	proc_expect(serve, "growing from 1 to 2 workers");
	control_await_figure("tasks", "open", 8);
	ck_assert_int_eq(control_figure("tasks", "places"), 8);
	ck_assert_int_eq(metric("wpool_scalings_total", "cause=\"grew\""), 1);
	fixture_release("all");
	control_expect_done(8);
	await_wanted(1);
	ck_assert_int_eq(control_figure("totals", "worker_deaths"), 0);
	ck_assert_int_eq(control_figure("totals", "retried"), 0);
	fixture_stop(serve);
}
END_TEST

/* A number set by an operator holds until `scale auto`. */
START_TEST(scale_to_number_holds_until_scale_auto)
{
	struct proc *serve = fixture_serve_echo(
		(const char *const[]){"--workers", "1..4", "--pipeline", "1", NULL});
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	control_expect_text(RUN(0, "scale", fixture.queue, "2"), "2 workers wanted");
	post_many(10, "X-Sleep-Ms", "300");
	control_expect_done(10);
	ck_assert_int_eq(control_figure("workers", "wanted"), 2);
	ck_assert_int_eq(proc_count_logged(serve, "growing"), 0);
	control_expect_text(RUN(0, "scale", fixture.queue, "auto"), "2 workers wanted");
	ck_assert_int_eq(control_figure("workers", "max"), 4);
	control_expect_text(RUN(0, "scale", fixture.queue, "1..3"),
		"2 workers wanted, as many as are needed from 1 to 3");
	post_many(10, "X-Until", fixture_release_path("burst"));
	proc_expect(serve, "growing from 2 to 3 workers");
	fixture_release("burst");
	control_expect_done(20);
	control_expect_text(RUN(64, "scale", fixture.queue, "3..2"), "'3..2' is no number from 1");
	control_expect_text(
		RUN(64, "scale", fixture.queue, "1..10001"), "no number from 1 to 10000");
	ck_assert_int_eq(control_figure("workers", "max"), 3);
	fixture_stop(serve);
}
END_TEST

START_TEST(workers_are_replaced_after_max_tasks)
{
	enum { TASKS = 1000, EACH = 40 };
	struct proc *serve =
		fixture_serve_pool("recycle: {tasks: 40}", fixture_built("workers/echo"));
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	post_many(TASKS, "X-Sleep-Ms", "1");
	control_expect_done(TASKS);
	ck_assert_int_ge(
		metric("wpool_workers_recycled_total", "reason=\"tasks\""), TASKS / EACH - 2);
	ck_assert_int_eq(control_figure("totals", "done"), TASKS);
	ck_assert_int_eq(control_figure("totals", "retried"), 0);
	ck_assert_int_eq(control_figure("totals", "worker_deaths"), 0);
	ck_assert(proc_has_logged(serve, "replacing worker: it has done "));
	fixture_stop(serve);
}
END_TEST

START_TEST(worker_over_memory_limit_is_replaced_after_its_task)
{
	struct proc *serve =
		fixture_serve_pool("recycle: {memory: 64MiB}", fixture_built("workers/echo"));
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.correlation_id = "leaks",
			.headers = {{"X-Leak-Mib", "100"},
				{"X-Until", fixture_release_path("leaks")}}});
	proc_expect(serve, "MiB, more than recycle.memory");
	fixture_release("leaks");
	proc_expect(serve, "worker left: exit status 0");
	control_expect_done(1);
	ck_assert_int_eq(control_figure("totals", "retried"), 0);
	ck_assert_int_eq(metric("wpool_workers_recycled_total", "reason=\"memory\""), 1);
	control_await("/readyz", 200);
	fixture_stop(serve);
}
END_TEST

/* Its task crashes in all its attempts; other tasks are not affected. */
START_TEST(worker_over_memory_kill_limit_is_killed)
{
	struct proc *serve = fixture_serve_pool("recycle: {memory_kill: 64MiB}, "
						"retry: {attempts: 2, delay: [100ms]}",
		fixture_built("workers/echo"));
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.correlation_id = "leaks",
			.headers = {{"X-Leak-Mib", "100"}, {"X-Sleep-Ms", "600000"}}});
	proc_expect(serve, "more than recycle.memory_kill");
	proc_expect(serve, "task leaks crashed (signal 9 (Killed)), attempt 1 of 2");
	proc_expect(serve, "more than recycle.memory_kill");
	proc_expect(serve, "task leaks crashed (signal 9 (Killed)), attempt 2 of 2; given up");
	broker_expect_messages(fixture.broker, fixture.dead, 1);
	post_many(5, "X-Sleep-Ms", "1");
	control_expect_done(5);
	ck_assert_int_eq(metric("wpool_workers_recycled_total", "reason=\"memory-kill\""), 2);
	fixture_stop(serve);
}
END_TEST

START_TEST(workers_are_replaced_by_age_without_repeats)
{
	struct proc *serve =
		fixture_serve_pool("recycle: {age: 1s}", fixture_built("workers/echo"));
	proc_expect(serve, "control socket: ");
	control_await("/readyz", 200);
	for (int replaced = 0; replaced < 4; replaced++) {
		post_many(50, "X-Sleep-Ms", "5");
		proc_expect(serve, "replacing worker: its age is ");
	}
	control_expect_done(200);
	ck_assert_int_eq(control_figure("totals", "done"), 200);
	ck_assert_int_eq(control_figure("totals", "retried"), 0);
	ck_assert_int_eq(control_figure("totals", "worker_deaths"), 0);
	fixture_stop(serve);
}
END_TEST

int main(void)
{
	setenv("CK_DEFAULT_TIMEOUT", TIMEOUT, 1);
	return SYSTEM_RUN("autoscale", {pool_grows_in_burst_and_shrinks_when_calm, 1},
		{pool_with_concurrency_scales_by_its_places, 1},
		{scale_to_number_holds_until_scale_auto, 1},
		{workers_are_replaced_after_max_tasks, 1},
		{worker_over_memory_limit_is_replaced_after_its_task, 1},
		{worker_over_memory_kill_limit_is_killed, 1},
		{workers_are_replaced_by_age_without_repeats, 1});
}
