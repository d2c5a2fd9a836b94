/* The HTTP API: each endpoint shows the state, over the socket and over TCP. */
#include "harness/control.h"
#include "harness/command.h"
#include "harness/deadline.h"
#include "harness/exposition.h"
#include "harness/http.h"
#include "system/system.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char *const two_workers[] = {"--workers", "2", "--pipeline", "1", NULL};

START_TEST(health_endpoints_answer)
{
	fixture_serve_echo(two_workers);
	control_await("/readyz", 200);
	ck_assert_str_eq(control_get("/livez", 200), "alive\n");
	ck_assert_str_eq(control_get("/readyz", 200), "ready\n");
	ck_assert_str_eq(control_get("/healthz", 200), "ready\n");
}
END_TEST

START_TEST(status_shows_the_supervisor)
{
	struct proc *serve = fixture_serve_echo(two_workers);
	control_await("/readyz", 200);
	json_t *status = control_get_json("/v1/status");
	ck_assert_str_eq(control_text(status, "phase"), "serving");
	ck_assert_int_eq(json_integer_value(json_object_get(status, "pid")), proc_pid(serve));
	ck_assert(json_is_true(json_object_get(status, "ready")));
	ck_assert_uint_eq(json_array_size(json_object_get(status, "reasons")), 0);
	ck_assert_int_gt(control_number(status, "process", "memory_bytes"), 0);
	ck_assert(json_is_true(json_object_get(
		json_object_get(json_object_get(status, "connections"), "consume"), "up")));
}
END_TEST

START_TEST(pools_are_listed)
{
	fixture_serve_echo(two_workers);
	control_await_figure("workers", "ready", 2);
	control_post_many(0, 20);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	client_expect_ready(fixture.client, fixture.dead, 1);
	control_expect_done(20);
	json_t *answer = control_get_json("/v1/pools");
	const json_t *pool = control_member(answer, "pools", 0);
	ck_assert_uint_eq(json_array_size(json_object_get(answer, "pools")), 1);
	ck_assert_str_eq(control_text(pool, "name"), fixture.queue);
	ck_assert_str_eq(control_text(pool, "queue"), fixture.queue);
	ck_assert_str_eq(control_text(pool, "state"), "consuming");
	ck_assert(json_is_true(json_object_get(pool, "consuming")));
	ck_assert_int_eq(control_number(pool, "workers", "wanted"), 2);
	ck_assert_int_eq(control_number(pool, "workers", "ready"), 2);
	ck_assert_int_eq(control_number(pool, "totals", "done"), 20);
	ck_assert_int_eq(control_number(pool, "totals", "given_up"), 1);
	ck_assert_int_eq(control_number(pool, "totals", "deliveries"), 21);
	ck_assert_int_eq(control_number(pool, "given_up_by_reason", "rejected"), 1);
	ck_assert_int_eq(control_number(pool, "task_time", "count"), 21);
	ck_assert(json_is_real(json_object_get(pool, "last_delivery_age_s")));
}
END_TEST

/* The sum of a column over all seconds. */
static json_int_t sum_of_seconds(const json_t *history, size_t column)
{
	json_int_t sum = 0;
	json_t *second;
	size_t i;

	json_array_foreach(json_object_get(history, "seconds"), i, second) sum +=
		json_integer_value(json_array_get(second, column));
	return sum;
}

/* The counts of the first entry that has ended all of them. */
static const json_t *await_history(const char *path, json_int_t done)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	const json_t *history;

	while (history = control_member(control_get_json(path), "history", 0),
		sum_of_seconds(history, 2) < done)
		fixture_poll(deadline, 50, "the history has what was done");
	return history;
}

START_TEST(history_has_what_was_done)
{
	enum { BACK, IN, DONE, RETRIED, P50, P95, P99 };
	fixture_serve_echo(two_workers);
	control_post_many(0, 20);
	const json_t *all = await_history("/v1/history", 20);
	ck_assert(json_is_null(json_object_get(all, "pool")));
	const json_t *pool = control_member(control_get_json("/v1/history"), "history", 1);
	ck_assert_str_eq(control_text(pool, "pool"), fixture.queue);
	const json_t *only = await_history(scratch_text("/v1/history?pool=%s", fixture.queue), 20);
	ck_assert_str_eq(control_text(only, "pool"), fixture.queue);
	ck_assert_int_eq(sum_of_seconds(only, IN), 20);
	ck_assert_int_eq(sum_of_seconds(only, DONE), 20);
	ck_assert_int_eq(sum_of_seconds(only, RETRIED), 0);
	const json_t *seconds = json_object_get(only, "seconds");
	const json_t *last = json_array_get(seconds, json_array_size(seconds) - 1);
	ck_assert_int_lt(json_integer_value(json_array_get(last, BACK)),
		json_integer_value(json_object_get(only, "kept")));
	ck_assert(json_number_value(json_array_get(last, P50)) > 0);
	ck_assert(json_number_value(json_array_get(last, P99)) >=
		  json_number_value(json_array_get(last, P95)));
	ck_assert(json_is_real(json_object_get(only, "age_s")));
}
END_TEST

START_TEST(workers_are_listed)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	pid_t pid = fixture_worker_pid();
	fixture_post_held(serve, "the long one");
	json_t *answer = control_get_json("/v1/workers");
	const json_t *worker = control_member(answer, "workers", 0);
	ck_assert_str_eq(control_text(worker, "state"), "busy");
	ck_assert_int_eq(control_number(worker, "process", "pid"), pid);
	ck_assert_int_gt(control_number(worker, "process", "memory_bytes"), 0);
	ck_assert_str_eq(control_text(json_object_get(worker, "task"), "name"), "the long one");
	ck_assert_int_eq(control_number(worker, "task", "attempt"), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(worker, "tasks_answered")), 1);
}
END_TEST

/* The latest report (status -1) of the running task. Over TCP its text is not shown. */
START_TEST(progress_of_a_task_is_listed)
{
	static const char *const environment[] = {"WPOOL_HTTP_LISTEN=127.0.0.1:0", NULL};
	struct proc *serve = fixture_serve_program("wpool", environment,
		scratch_text("- {queue: %s, command: [\"%s\"], workers: 1}\n", fixture.queue,
			fixture_built("workers/echo")));
	proc_expect(serve, "metrics and health: http://127.0.0.1:0 (port ");
	char *where = scratch_text("127.0.0.1:%d", atoi(strstr(proc_stderr(serve), "(port ") + 6));
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x",
			.headers = {{"X-Progress", "3"}, {"X-Until", fixture_release_path("x")}}});
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!strstr(control_get("/v1/workers", 200), "\"3 of 3\""))
		fixture_poll(deadline, 5, "the latest progress is listed");
	control_expect_text(RUN(0, "workers"), "3 of 3, ");
	char *far = http_get(where, "/v1/workers", 200);
	ck_assert_ptr_null(strstr(far, "of 3"));
	control_expect_text(far, "\"progress\":{\"text\":null,\"age_s\":");
	fixture_release("x");
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	fixture_stop(serve);
}
END_TEST

START_TEST(lists_are_filtered_by_pool)
{
	char *other = scratch_text("%s.other", fixture.queue);
	client_declare(fixture.client, other, CLIENT_CLASSIC);
	fixture_serve_pools(
		scratch_text("- {name: one, queue: %s, command: [\"%s\"], workers: 2}\n"
			     "- {name: two, queue: %s, command: [\"%s\"], workers: 3}\n",
			fixture.queue, fixture_built("workers/echo"), other,
			fixture_built("workers/echo")));
	client_expect_consumers(fixture.client, other, 1);
	static const struct {
		const char *path, *list;
		size_t count;
	} cases[] = {
		{"/v1/pools", "pools", 2},
		{"/v1/pools?pool=two", "pools", 1},
		{"/v1/workers", "workers", 5},
		{"/v1/workers?pool=two", "workers", 3},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_uint_eq(json_array_size(json_object_get(
					  control_get_json(cases[i].path), cases[i].list)),
			cases[i].count);
	control_expect_text(control_get("/v1/workers?pool=three", 404), "no pool");
	client_delete(fixture.client, other);
}
END_TEST

/* The value of a series of the only pool, with one more label or none. */
static double metric(const char *text, const char *name, const char *label)
{
	char *series =
		scratch_text("%s{pool=\"%s\"%s%s}", name, fixture.queue, *label ? "," : "", label);
	double value = exposition_value(text, series);
	free(series);
	return value;
}

START_TEST(metrics_are_correct_and_well_formed)
{
	fixture_serve_echo(two_workers);
	exposition_check(control_get("/metrics", 200));
	control_await_figure("workers", "ready", 2);
	control_post_many(0, 30);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	client_expect_ready(fixture.client, fixture.dead, 1);
	control_expect_done(30);
	char *text = control_get("/metrics", 200);
	exposition_check(text);
	ck_assert(exposition_value(text, "wpool_ready") == 1);
	ck_assert(strstr(text, "\nwpool_not_ready{") == NULL);
	ck_assert(exposition_value(text, "wpool_connected{connection=\"consume\"}") == 1);
	ck_assert(metric(text, "wpool_deliveries_total", "") == 31);
	ck_assert(metric(text, "wpool_settlements_total", "outcome=\"done\"") == 30);
	ck_assert(metric(text, "wpool_settlements_total", "outcome=\"given-up\"") == 1);
	ck_assert(metric(text, "wpool_dead_letters_total", "reason=\"rejected\"") == 1);
	ck_assert(metric(text, "wpool_workers", "state=\"idle\"") == 2);
	ck_assert(metric(text, "wpool_workers_wanted", "") == 2);
	ck_assert(metric(text, "wpool_consuming", "") == 1);
	ck_assert(metric(text, "wpool_tasks_unacked", "") == 0);
	ck_assert(metric(text, "wpool_task_duration_seconds_count", "") == 31);
	ck_assert(metric(text, "wpool_queue_wait_seconds_count", "") == 31);
	ck_assert(metric(text, "wpool_last_delivery_age_seconds", "") >= 0);
}
END_TEST

START_TEST(crash_loop_is_not_ready)
{
	struct proc *serve = fixture_serve(two_workers, (const char *const[]){"/bin/false", NULL});
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS), failing = 0, deaths = 0;
	proc_expect(serve, "control socket: ");
	/* The third death is the second one in a row of a worker. */
	while ((failing < 2 || deaths < 3) && deadline_left(deadline) > 0) {
		char *text = control_get("/metrics", 200);
		failing = (int64_t)metric(text, "wpool_workers_failing", "");
		deaths = (int64_t)metric(text, "wpool_worker_deaths_total", "cause=\"exit\"");
		free(text);
		poll(NULL, 0, 20);
	}
	ck_assert_int_eq(failing, 2);
	control_expect_text(control_get("/readyz", 503), "crash loop: 2 of 2 workers failed");
	ck_assert(metric(control_get("/metrics", 200), "wpool_worker_deaths_total",
			  "cause=\"exit\"") >= 2);
}
END_TEST

static void await_text(const char *path, const char *text)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	char *answer = control_get(path, 200);

	while (!strstr(answer, text)) {
		fixture_poll(deadline, 20, text);
		free(answer);
		answer = control_get(path, 200);
	}
	free(answer);
}

/* Connected and with workers, but it cannot consume. */
START_TEST(missing_queue_is_not_ready)
{
	fixture_serve_echo(two_workers);
	control_await("/readyz", 200);
	client_delete(fixture.client, fixture.queue);
	control_await("/readyz", 503);
	control_expect_text(control_get("/readyz", 503), "not consuming");
	await_text("/v1/pools", "\"state\":\"not consuming\"");
	control_expect_text(control_get("/metrics", 200), "wpool_ready 0\n");
	ck_assert(metric(control_get("/metrics", 200), "wpool_not_ready",
			  "reason=\"no-consumer\"") == 1);
	control_get("/livez", 200);
	client_declare(fixture.client, fixture.queue, CLIENT_QUORUM);
	control_await("/readyz", 200);
}
END_TEST

START_TEST(lost_broker_is_not_ready)
{
	fixture_use_own_broker();
	struct proc *serve = fixture_serve_echo(two_workers);
	control_await("/readyz", 200);
	broker_command(fixture.broker, "kill");
	control_await("/readyz", 503);
	control_expect_text(control_get("/readyz", 503), "connection to the broker");
	control_get("/livez", 200);
	proc_signal(serve, SIGKILL);
	proc_wait(serve);
	broker_command(fixture.broker, "restart");
	fixture_reconnect();
}
END_TEST

START_TEST(drain_is_not_ready)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	fixture_post_held(serve, "stays");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	control_expect_text(control_get("/readyz", 503), "draining");
	control_expect_text(
		control_get("/metrics", 200), "\nwpool_not_ready{reason=\"draining\"} 1\n");
	ck_assert_str_eq(control_text(control_get_json("/v1/status"), "phase"), "draining");
	ck_assert_str_eq(
		control_text(control_member(control_get_json("/v1/pools"), "pools", 0), "state"),
		"draining");
	proc_signal(serve, SIGTERM);
	ck_assert_int_eq(proc_wait(serve), 75);
	ck_assert_int_ne(access(control_socket(), F_OK), 0);
}
END_TEST

/* RssAnon of proc(5), in kB. */
static long own_memory(pid_t pid)
{
	char *path = scratch_text("/proc/%d/status", (int)pid);
	char *text = scratch_read(path, NULL);
	const char *line = strstr(text, "RssAnon:");
	ck_assert_ptr_nonnull(line);
	long kilobytes = atol(line + strlen("RssAnon:"));
	free(text);
	free(path);
	return kilobytes;
}

START_TEST(requests_do_not_leak_memory)
{
	static const char *const paths[] = {
		"/metrics", "/v1/status", "/v1/pools", "/v1/workers", "/v1/history"};
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "4", NULL});
	control_await("/readyz", 200);
	for (int i = 0; i < 400; i++)
		free(control_get(paths[i % 4], 200));
	ck_assert_int_le(own_memory(proc_pid(serve)), 4096);
}
END_TEST

/* With as many reasons as possible in each response. */
START_TEST(requests_do_not_leak_memory_in_crash_loop)
{
	enum { WARM = 100, ASKED = 2000, GROWN_KB = 256 };
	const char *const arguments[] = {"serve", "--broker", "amqp://127.0.0.1:1", "--queue", "q",
		"--workers", "1", "--", "/bin/false", NULL};
	struct proc *serve = fixture_wpool(arguments);
	proc_expect(serve, "control socket: ");
	for (int i = 0; i < WARM; i++)
		free(control_get("/v1/pools", 200));
	long before = own_memory(proc_pid(serve));
	for (int i = 0; i < ASKED; i++)
		free(control_get("/v1/pools", 200));
	ck_assert_int_lt(own_memory(proc_pid(serve)) - before, GROWN_KB);
	json_t *answer = control_get_json("/v1/pools");
	const json_t *reasons = json_object_get(control_member(answer, "pools", 0), "reasons");
	control_expect_text(json_string_value(json_array_get(reasons, 0)),
		"no consuming connection to the broker: ");
	control_expect_text(json_string_value(json_array_get(reasons, 1)), "1 of 1 worker failed");
}
END_TEST

START_TEST(tcp_is_read_only)
{
	static const char *const environment[] = {"WPOOL_HTTP_LISTEN=127.0.0.1:0", NULL};
	struct proc *serve = fixture_serve_program("wpool", environment,
		scratch_text("- {queue: %s, command: [\"%s\"], workers: 1}\n", fixture.queue,
			fixture_built("workers/echo")));
	proc_expect(serve, "metrics and health: http://127.0.0.1:0 (port ");
	char *said = proc_stderr(serve);
	char *where = scratch_text("127.0.0.1:%d", atoi(strstr(said, "(port ") + 6));
	control_await("/readyz", 200);
	exposition_check(http_get(where, "/metrics", 200));
	http_get(where, "/livez", 200);
	http_get(where, "/readyz", 200);
	json_decref(control_parse(http_get(where, "/v1/status", 200)));
	json_decref(control_parse(http_get(where, "/v1/pools", 200)));
	fixture_worker_pid();
	fixture_post_held(serve, "whose it is");
	control_expect_text(control_get("/v1/workers", 200), "\"whose it is\"");
	json_t *answer = control_parse(http_get(where, "/v1/workers", 200));
	const json_t *task = json_object_get(control_member(answer, "workers", 0), "task");
	ck_assert(json_is_null(json_object_get(task, "name")));
	ck_assert_int_eq(json_integer_value(json_object_get(task, "attempt")), 1);
	http_get(where, "/v1/nothing", 404);
	ck_assert_int_eq(http_request(where, "POST", "/v1/pause").status, 403);
	struct http_reply reply = http_request(where, "POST", "/livez");
	ck_assert_int_eq(reply.status, 405);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("control", {health_endpoints_answer, 1}, {status_shows_the_supervisor, 1},
		{pools_are_listed, 1}, {history_has_what_was_done, 1}, {workers_are_listed, 1},
		{progress_of_a_task_is_listed, 1}, {lists_are_filtered_by_pool, 1},
		{metrics_are_correct_and_well_formed, 1}, {crash_loop_is_not_ready, 1},
		{missing_queue_is_not_ready, 1}, {lost_broker_is_not_ready, 1},
		{drain_is_not_ready, 1}, {requests_do_not_leak_memory, 1},
		{requests_do_not_leak_memory_in_crash_loop, 1}, {tcp_is_read_only, 1});
}
