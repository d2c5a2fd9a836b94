/* Seen from outside: each endpoint says what is so, over the socket and over TCP. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/exposition.h"
#include "harness/http.h"
#include "system/system.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char *const two_workers[] = {"--workers", "2", "--pipeline", "1", NULL};

START_TEST(health_is_told)
{
	site_serve_echo(two_workers);
	control_await("/readyz", 200);
	ck_assert_str_eq(control_get("/livez", 200), "alive\n");
	ck_assert_str_eq(control_get("/readyz", 200), "ready\n");
	ck_assert_str_eq(control_get("/healthz", 200), "ready\n");
}
END_TEST

START_TEST(the_whole_is_told)
{
	struct proc *serve = site_serve_echo(two_workers);
	control_await("/readyz", 200);
	json_t *status = control_get_json("/v1/status");
	ck_assert_str_eq(control_words(status, "phase"), "serving");
	ck_assert_int_eq(json_integer_value(json_object_get(status, "pid")), proc_pid(serve));
	ck_assert(json_is_true(json_object_get(status, "ready")));
	ck_assert_uint_eq(json_array_size(json_object_get(status, "reasons")), 0);
	ck_assert_int_gt(control_number(status, "process", "memory_bytes"), 0);
	ck_assert(json_is_true(json_object_get(
		json_object_get(json_object_get(status, "connections"), "consume"), "up")));
}
END_TEST

START_TEST(pools_are_told)
{
	site_serve_echo(two_workers);
	control_post_many(0, 20);
	client_post(site.client, site.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	client_expect_ready(site.client, site.dead, 1);
	control_expect_done(20);
	json_t *answer = control_get_json("/v1/pools");
	const json_t *pool = control_member(answer, "pools", 0);
	ck_assert_uint_eq(json_array_size(json_object_get(answer, "pools")), 1);
	ck_assert_str_eq(control_words(pool, "name"), site.queue);
	ck_assert_str_eq(control_words(pool, "queue"), site.queue);
	ck_assert_str_eq(control_words(pool, "state"), "consuming");
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

START_TEST(workers_are_told)
{
	struct proc *serve = site_serve_echo((const char *const[]){"--workers", "1", NULL});
	pid_t pid = site_worker_pid();
	site_post_held(serve, "the long one");
	json_t *answer = control_get_json("/v1/workers");
	const json_t *worker = control_member(answer, "workers", 0);
	ck_assert_str_eq(control_words(worker, "state"), "busy");
	ck_assert_int_eq(control_number(worker, "process", "pid"), pid);
	ck_assert_int_gt(control_number(worker, "process", "memory_bytes"), 0);
	ck_assert_str_eq(control_words(json_object_get(worker, "task"), "name"), "the long one");
	ck_assert_int_eq(control_number(worker, "task", "attempt"), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(worker, "tasks_answered")), 1);
}
END_TEST

START_TEST(lists_are_of_one_pool_where_one_is_named)
{
	char *other = scratch_text("%s.other", site.queue);
	client_declare(site.client, other, CLIENT_CLASSIC);
	site_serve_pools(scratch_text("- {name: one, queue: %s, command: [\"%s\"], workers: 2}\n"
				      "- {name: two, queue: %s, command: [\"%s\"], workers: 3}\n",
		site.queue, site_built("workers/echo"), other, site_built("workers/echo")));
	client_expect_consumers(site.client, other, 1);
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
	control_expect_words(control_get("/v1/workers?pool=three", 404), "no pool");
	client_delete(site.client, other);
}
END_TEST

/* A series of the one pool, with one more label or none. */
static double metric(const char *text, const char *name, const char *label)
{
	char *series =
		scratch_text("%s{pool=\"%s\"%s%s}", name, site.queue, *label ? "," : "", label);
	double value = exposition_value(text, series);
	free(series);
	return value;
}

START_TEST(metrics_are_right_and_well_formed)
{
	site_serve_echo(two_workers);
	exposition_check(control_get("/metrics", 200));
	control_post_many(0, 30);
	client_post(site.client, site.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	client_expect_ready(site.client, site.dead, 1);
	control_expect_done(30);
	char *text = control_get("/metrics", 200);
	exposition_check(text);
	ck_assert(exposition_value(text, "wpool_ready") == 1);
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

START_TEST(a_crash_loop_shows)
{
	struct proc *serve = site_serve(two_workers, (const char *const[]){"/bin/false", NULL});
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS), failing = 0;
	proc_expect(serve, "control socket: ");
	while (failing < 2 && deadline_left(deadline) > 0) {
		char *text = control_get("/metrics", 200);
		failing = (int64_t)metric(text, "wpool_workers_failing", "");
		free(text);
		poll(NULL, 0, 20);
	}
	ck_assert_int_eq(failing, 2);
	control_expect_words(control_get("/readyz", 503), "crash loop: 2 of 2 workers failed");
	ck_assert(metric(control_get("/metrics", 200), "wpool_worker_deaths_total",
			  "cause=\"exit\"") >= 2);
}
END_TEST

/* Connected and with workers, and yet nothing would ever come: that is not health. */
START_TEST(a_queue_that_goes_is_not_health)
{
	site_serve_echo(two_workers);
	control_await("/readyz", 200);
	client_delete(site.client, site.queue);
	control_await("/readyz", 503);
	control_expect_words(control_get("/readyz", 503), "not consuming");
	control_expect_words(control_get("/metrics", 200), "wpool_ready 0\n");
	control_get("/livez", 200);
	client_declare(site.client, site.queue, CLIENT_QUORUM);
	control_await("/readyz", 200);
}
END_TEST

START_TEST(a_lost_broker_is_not_health)
{
	site_move_to_own_broker();
	struct proc *serve = site_serve_echo(two_workers);
	control_await("/readyz", 200);
	broker_command(site.broker, "kill");
	control_await("/readyz", 503);
	control_expect_words(control_get("/readyz", 503), "connection to the broker");
	control_get("/livez", 200);
	proc_signal(serve, SIGKILL);
	proc_wait(serve);
	broker_command(site.broker, "restart");
	site_reconnect();
}
END_TEST

START_TEST(a_drain_shows)
{
	struct proc *serve = site_serve_echo((const char *const[]){"--workers", "1", NULL});
	site_post_held(serve, "stays");
	proc_signal(serve, SIGTERM);
	proc_expect(serve, "draining");
	control_expect_words(control_get("/readyz", 503), "draining");
	ck_assert_str_eq(control_words(control_get_json("/v1/status"), "phase"), "draining");
	ck_assert_str_eq(
		control_words(control_member(control_get_json("/v1/pools"), "pools", 0), "state"),
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

START_TEST(asking_leaves_no_memory_behind)
{
	static const char *const paths[] = {"/metrics", "/v1/status", "/v1/pools", "/v1/workers"};
	struct proc *serve = site_serve_echo((const char *const[]){"--workers", "4", NULL});
	control_await("/readyz", 200);
	for (int i = 0; i < 400; i++)
		free(control_get(paths[i % 4], 200));
	ck_assert_int_le(own_memory(proc_pid(serve)), 4096);
}
END_TEST

/* With everything that can be wrong: each answer has reasons to tell. */
START_TEST(nor_does_it_where_nothing_works)
{
	enum { WARM = 100, ASKED = 2000, GROWN_KB = 256 };
	const char *const arguments[] = {"serve", "--broker", "amqp://127.0.0.1:1", "--queue", "q",
		"--workers", "1", "--", "/bin/false", NULL};
	struct proc *serve = site_wpool(arguments);
	proc_expect(serve, "control socket: ");
	for (int i = 0; i < WARM; i++)
		free(control_get("/v1/pools", 200));
	long before = own_memory(proc_pid(serve));
	for (int i = 0; i < ASKED; i++)
		free(control_get("/v1/pools", 200));
	ck_assert_int_lt(own_memory(proc_pid(serve)) - before, GROWN_KB);
	json_t *answer = control_get_json("/v1/pools");
	const json_t *reasons = json_object_get(control_member(answer, "pools", 0), "reasons");
	control_expect_words(json_string_value(json_array_get(reasons, 0)),
		"no consuming connection to the broker: ");
	control_expect_words(
		json_string_value(json_array_get(reasons, 1)), "crash loop: 1 of 1 worker failed");
}
END_TEST

START_TEST(over_tcp_it_can_be_seen_and_not_steered)
{
	static const char *const environment[] = {"WPOOL_HTTP_LISTEN=127.0.0.1:0", NULL};
	struct proc *serve = site_serve_program("wpool", environment,
		scratch_text("- {queue: %s, command: [\"%s\"], workers: 1}\n", site.queue,
			site_built("workers/echo")));
	proc_expect(serve, "metrics and health: 127.0.0.1:0 (port ");
	char *said = proc_stderr(serve);
	char *where = scratch_text("127.0.0.1:%d", atoi(strstr(said, "(port ") + 6));
	control_await("/readyz", 200);
	exposition_check(http_get(where, "/metrics", 200));
	http_get(where, "/livez", 200);
	http_get(where, "/readyz", 200);
	json_decref(control_parse(http_get(where, "/v1/status", 200)));
	json_decref(control_parse(http_get(where, "/v1/pools", 200)));
	site_worker_pid();
	site_post_held(serve, "whose it is");
	control_expect_words(control_get("/v1/workers", 200), "\"whose it is\"");
	json_t *answer = control_parse(http_get(where, "/v1/workers", 200));
	const json_t *task = json_object_get(control_member(answer, "workers", 0), "task");
	ck_assert(json_is_null(json_object_get(task, "name")));
	ck_assert_int_eq(json_integer_value(json_object_get(task, "attempt")), 1);
	http_get(where, "/v1/nothing", 404);
	ck_assert_int_eq(http_ask(where, "POST", "/v1/pause").status, 403);
	struct http_reply reply = http_ask(where, "POST", "/livez");
	ck_assert_int_eq(reply.status, 405);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("control", {health_is_told, 1}, {the_whole_is_told, 1},
		{pools_are_told, 1}, {workers_are_told, 1},
		{lists_are_of_one_pool_where_one_is_named, 1},
		{metrics_are_right_and_well_formed, 1}, {a_crash_loop_shows, 1},
		{a_queue_that_goes_is_not_health, 1}, {a_lost_broker_is_not_health, 1},
		{a_drain_shows, 1}, {asking_leaves_no_memory_behind, 1},
		{nor_does_it_where_nothing_works, 1}, {over_tcp_it_can_be_seen_and_not_steered, 1});
}
