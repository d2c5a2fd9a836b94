/* Throttles on a real broker with real workers, which record when each task begins: no window has
 * more starts than the limit, nobody else waits, and nothing is lost, whatever happens to a task
 * that exceeds it. */
#include "harness/begins.h"
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/exposition.h"
#include "harness/http.h"
#include "system/system.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SECOND BEGINS_SECOND

static struct begins begins;

/* ---------- the supervisor ---------- */

/* Pools and throttles are lines of the two lists. */
static char *lists(const char *pools, const char *throttles)
{
	return scratch_text("%sthrottles:\n%s", pools, throttles);
}

static struct proc *serve_as(const char *program, const char *point, const char *pools)
{
	char *witness = scratch_text("WITNESS=%s", fixture.witness);
	char *state = scratch_text("STATE_DIRECTORY=%s/state", fixture.folder);
	const char *const environment[] = {witness, begins_variable(), state, point, NULL};
	struct proc *proc = fixture_serve_program(program, environment, pools);
	free(witness);
	free(state);
	return proc;
}

static struct proc *serve(const char *pools, const char *throttles)
{
	char *text = lists(pools, throttles);
	struct proc *proc = serve_as("wpool", NULL, text);
	free(text);
	proc_expect(proc, "control socket: ");
	return proc;
}

static char *pool(const char *name, const char *queue, const char *more)
{
	return scratch_text("- {name: %s, queue: %s, command: ['%s'], %s}\n", name, queue,
		fixture_built("workers/echo"), more);
}

static const json_t *throttle_in(const json_t *answer, const char *name)
{
	const json_t *throttle;
	size_t i;
	json_array_foreach(json_object_get(answer, "throttles"), i, throttle)
	{
		if (strcmp(control_text(throttle, "name"), name) == 0)
			return throttle;
	}
	ck_abort_msg("there is no throttle %s", name);
	return NULL;
}

/* A member of a throttle, or of its totals; -1: null. */
static json_int_t figure(const char *name, const char *member)
{
	json_t *answer = control_get_json("/v1/throttles");
	const json_t *throttle = throttle_in(answer, name);
	const json_t *found = json_object_get(throttle, member);
	if (!found)
		found = json_object_get(json_object_get(throttle, "totals"), member);
	ck_assert_msg(json_is_number(found) || json_is_null(found), "%s", member);
	json_int_t value = json_is_null(found) ? -1 : (json_int_t)json_number_value(found);
	json_decref(answer);
	return value;
}

static void await_figure(const char *name, const char *member, json_int_t value)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	char *what = scratch_text("%s of the throttle %s is %lld", member, name, (long long)value);
	while (figure(name, member) != value)
		fixture_poll(deadline, 20, what);
	free(what);
}

/* Until a task waits for it: a pool consumes no more of them than may start soon. */
static void await_waits(const char *name)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	char *what = scratch_text("a task waits for the throttle %s", name);
	while (figure(name, "waiting") == 0)
		fixture_poll(deadline, 20, what);
	free(what);
}

/* Until a task may start: others may have started some before the supervisor did. */
static void await_open(const char *name)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (double wait = 1; wait > 0;) {
		json_t *answer = control_get_json("/v1/throttles");
		wait = json_number_value(
			json_object_get(throttle_in(answer, name), "retry_after_s"));
		json_decref(answer);
		if (wait > 0)
			fixture_poll(deadline, 20, "the throttle lets a task start");
	}
}

/* Poll until the body of a GET contains the text, whatever its status; it moves out. */
static char *await_text(const char *path, const char *text)
{
	int64_t deadline = deadline_in(2 * DEADLINE_DEFAULT_MS);
	for (;;) {
		struct http_reply reply = http_request(control_socket(), "GET", path);
		if (strstr(reply.body, text))
			return reply.body;
		http_release(&reply);
		fixture_poll(deadline, 100, text);
	}
}

static void await_witnessed(int count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (fixture_witnessed(NULL) < count)
		fixture_poll(deadline, 20, "the tasks are done");
}

static void post(const char *queue, const char *tenant, int from, int to)
{
	struct letter letters[200];
	char ids[200][40];
	size_t count = 0;
	for (int i = from; i < to; i++, count++) {
		snprintf(ids[count], sizeof ids[count], "%s-%d", tenant, i);
		letters[count] = (struct letter){.body = ids[count], .correlation_id = ids[count]};
		if (strcmp(tenant, "-") != 0) {
			letters[count].headers[0].name = "tenant";
			letters[count].headers[0].value = tenant;
		}
	}
	client_post_all(fixture.client, queue, letters, count, NULL);
}

/* It starts with a period that is longer than any test: what the tests look at before this is no
 * question of time. Without a record nothing starts for the first 10 s. */
#define LONG_PERIOD "10min"

static void shorten_period(const char *name)
{
	char *said = RUN(0, "throttle", name, "--period", "1s");
	command_expect_text(said, "in 1s");
}

static bool has_waiting_task(size_t pool)
{
	json_t *answer = control_get_json("/v1/pools");
	bool has = control_number(control_member(answer, "pools", pool), "tasks", "waiting") > 0;
	json_decref(answer);
	return has;
}

/* ---------- one limit for all ---------- */

/* Together they start 10 tasks a second, and each gets its share. */
START_TEST(pools_share_a_limit_alike)
{
	enum { EACH = 40, LIMIT = 10 };
	char *one = pool("one", fixture.queue, "workers: 4, throttle: [erp]");
	char *two = pool("two", fixture.replies, "workers: 2, concurrency: 3, throttle: [erp]");
	char *both = scratch_text("%s%s", one, two);
	post(fixture.queue, "one", 0, EACH);
	post(fixture.replies, "two", 0, EACH);
	struct proc *proc = serve(both, "- {name: erp, limit: 10, period: " LONG_PERIOD "}\n");
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!has_waiting_task(0) || !has_waiting_task(1))
		fixture_poll(deadline, 20, "tasks of both pools wait");
	shorten_period("erp");
	await_witnessed(2 * EACH);
	ck_assert_int_le(figure("erp", "starts_in_window"), LIMIT);
	ck_assert_int_eq(figure("erp", "starts"), 2 * EACH);
	ck_assert_int_gt(figure("erp", "delayed"), 0);
	begins_read(&begins);
	ck_assert_int_eq(begins_expect_windows(&begins, NULL, LIMIT, SECOND), 2 * EACH);
	int first = begins_count_queue(&begins, fixture.queue, EACH);
	ck_assert_int_ge(first, EACH / 4);
	ck_assert_int_le(first, EACH - EACH / 4);
	fixture_stop(proc);
	ck_assert_int_eq(fixture_witnessed(NULL), 2 * EACH);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	free(one);
	free(two);
	free(both);
}
END_TEST

/* Others do not wait for the pool that does. */
START_TEST(a_pool_without_the_throttle_does_not_wait)
{
	char *one = pool("one", fixture.queue, "workers: 1, prefetch: 50, throttle: [erp]");
	char *two = pool("two", fixture.replies, "workers: 1");
	char *both = scratch_text("%s%s", one, two);
	struct proc *proc = serve(both, "- {name: erp, limit: 1, period: 10min}\n");
	post(fixture.queue, "one", 0, 3);
	post(fixture.replies, "two", 0, 20);
	await_witnessed(20);
	begins_read(&begins);
	ck_assert_int_eq(begins_count_queue(&begins, fixture.replies, begins.count), 20);
	ck_assert_int_ge(figure("erp", "retry_after_s"), 1);
	fixture_stop(proc);
	free(one);
	free(two);
	free(both);
}
END_TEST

/* ---------- a limit for each key ---------- */

static const char by_tenant[] = "- {name: tenant, limit: 5, period: 1s, key: 'header:tenant'}\n";

static int count_begun(const char *tenant)
{
	int count = 0;
	begins_read(&begins);
	for (int i = 0; i < begins.count; i++)
		count += strcmp(begins.all[i].tenant, tenant) == 0;
	return count;
}

/* With one worker, which is free for the others. */
START_TEST(only_the_tenant_over_its_limit_waits)
{
	static const char *const tenants[] = {"a", "b", "c"};
	static const int first[] = {5, 5, 4};
	char *text = pool("tested", fixture.queue, "workers: 1, prefetch: 100, throttle: [tenant]");
	post(fixture.queue, "a", 0, 20);
	post(fixture.queue, "b", 0, 5);
	post(fixture.queue, "c", 0, 4);
	/* Of the 20, the last ones wait for 45 s here: after more than a minute they would go back.
	 */
	struct proc *proc =
		serve(text, "- {name: tenant, limit: 5, period: 15s, key: 'header:tenant'}\n");
	await_witnessed(14);
	ck_assert_int_eq(figure("tenant", "keys"), 3);
	await_figure("tenant", "waiting", 15);
	char *shown = control_get("/v1/throttles", 200), *metrics = control_get("/metrics", 200);
	exposition_check(metrics);
	ck_assert_double_eq(
		exposition_value(metrics, "wpool_throttle_limit{throttle=\"tenant\"}"), 5);
	ck_assert_ptr_null(strstr(shown, "\"a\""));
	ck_assert_ptr_null(strstr(metrics, "\"a\""));
	for (int tenant = 0; tenant < 3; tenant++) /* the first window of each */
		ck_assert_int_eq(count_begun(tenants[tenant]), first[tenant]);
	shorten_period("tenant");
	await_witnessed(29);
	begins_read(&begins);
	ck_assert_int_eq(begins_expect_windows(&begins, "a", 5, SECOND), 20);
	ck_assert_int_eq(begins_expect_windows(&begins, "b", 5, SECOND), 5);
	ck_assert_int_eq(begins_expect_windows(&begins, "c", 5, SECOND), 4);
	fixture_stop(proc);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	free(shown);
	free(metrics);
	free(text);
}
END_TEST

/* More than half of the window may not wait here, so the rest comes back by the retry queues: each
 * with its first attempt, and none is lost. */
START_TEST(what_does_not_fit_here_comes_back)
{
	static const char *const delays[] = {"1s", "2s", "4s", "8s", "16s", NULL};
	char *text = pool("tested", fixture.queue,
		"workers: 2, prefetch: 10, properties: true, retry: {attempts: 1}, "
		"throttle: [tenant]");
	post(fixture.queue, "a", 0, 60);
	post(fixture.queue, "b", 0, 20);
	struct proc *proc = serve(text, by_tenant);
	await_witnessed(80);
	ck_assert_int_gt(figure("tenant", "postponed"), 0);
	fixture_await_settled(delays);
	begins_read(&begins);
	ck_assert_int_eq(begins_expect_windows(&begins, "a", 5, SECOND), 60);
	ck_assert_int_eq(begins_expect_windows(&begins, "b", 5, SECOND), 20);
	for (int i = 0; i < begins.count; i++)
		ck_assert_int_eq(begins.all[i].attempt, 1);
	fixture_stop(proc);
	ck_assert_int_eq(client_ready(fixture.client, fixture.dead), 0);
	free(text);
}
END_TEST

/* ---------- refused ---------- */

START_TEST(the_caller_is_told_when_to_come_again)
{
	char *text = pool("tested", fixture.queue, "workers: 1, prefetch: 50, throttle: [erp]");
	struct proc *proc = serve(
		text, "- {name: erp, limit: 1, period: " LONG_PERIOD ", when_exceeded: reply}\n");
	await_open("erp");
	struct letter letter = {
		.body = "x", .correlation_id = "first", .headers = {{"X-Status", "201"}}};
	message_free(client_call(fixture.client, fixture.queue, &letter));
	letter.correlation_id = "second";
	struct message *refusal = client_call(fixture.client, fixture.queue, &letter);
	ck_assert_uint_eq(refusal->size, 0);
	ck_assert_int_eq(message_header_number(refusal, "Status"), 429);
	int64_t retry_after = message_header_number(refusal, "RetryAfterMilliseconds");
	ck_assert(retry_after > 0 && retry_after <= 600000);
	ck_assert(message_text_is(refusal->properties.correlation_id, "second"));
	message_free(refusal);
	ck_assert_int_eq(figure("erp", "refused"), 1);
	ck_assert_int_eq(control_figure("totals", "refused"), 1);
	command_expect_text(RUN(75, "request", "--broker", broker_url(fixture.broker), "--queue",
				    fixture.queue, "x"),
		"refused by a throttle of its pool: try again in ");
	post(fixture.queue, "-", 3, 4);
	await_figure("erp", "waiting", 1); /* without a caller */
	shorten_period("erp");
	await_witnessed(2);
	begins_read(&begins);
	ck_assert_int_eq(begins_expect_windows(&begins, NULL, 1, SECOND), 2);
	fixture_stop(proc);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	free(text);
}
END_TEST

START_TEST(what_exceeds_the_limit_becomes_a_dead_letter)
{
	char *text = pool("tested", fixture.queue, "workers: 1, prefetch: 50, throttle: [erp]");
	struct proc *proc = serve(text,
		"- {name: erp, limit: 2, period: " LONG_PERIOD ", when_exceeded: dead-letter}\n");
	await_open("erp");
	post(fixture.queue, "-", 0, 5);
	await_witnessed(2);
	for (int i = 0; i < 3; i++) {
		struct message *dead = client_take(fixture.client, fixture.dead);
		ck_assert(message_header_is(dead, "x-wpool-reason", "throttled"));
		ck_assert_int_eq(message_header_number(dead, "x-wpool-attempt"), 0);
		message_free(dead);
	}
	ck_assert_int_eq(control_figure("given_up_by_reason", "throttled"), 3);
	fixture_stop(proc);
	broker_expect_messages(fixture.broker, fixture.queue, 0);
	ck_assert_int_eq(fixture_witnessed(NULL), 2);
	free(text);
}
END_TEST

/* ---------- other figures ---------- */

static json_t *reload(const char *pools, const char *throttles)
{
	char *text = lists(pools, throttles);
	fixture_write_pools(text);
	free(text);
	return control_parse(RUN(0, "reload", "--json"));
}

/* A longer period may contain starts that are not known any more, so it closes the throttle. */
START_TEST(an_operator_sets_figures_until_others_are_configured)
{
	const char configured[] = "- {name: erp, limit: 1, period: 1s}\n";
	char *text = pool("tested", fixture.queue, "workers: 2, prefetch: 50, throttle: [erp]");
	struct proc *proc = serve(text, configured);
	command_expect_text(
		RUN(0, "throttle", "erp", "--period", "30min"), "erp: at most 1 start in 30min");
	post(fixture.queue, "-", 0, 12);
	await_waits("erp");
	command_expect_text(
		RUN(0, "throttles"), "erp       1   30min  supervisor  -            0 ");
	command_expect_text(RUN(0, "throttle", "erp", "--limit", "3", "--period", "1s"),
		"erp: at most 3 starts in 1s");
	await_witnessed(12);
	begins_read(&begins);
	ck_assert_int_eq(begins_expect_windows(&begins, NULL, 3, SECOND), 12);
	json_decref(reload(text, configured));
	ck_assert_int_eq(figure("erp", "limit"), 3);
	json_t *answer = reload(text, "- {name: erp, limit: 1, period: 8s}\n");
	ck_assert_str_eq(control_text(throttle_in(answer, "erp"), "action"), "changed");
	json_decref(answer);
	ck_assert_int_eq(figure("erp", "limit"), 3);
	ck_assert_int_eq(figure("erp", "period_s"), 8);
	json_decref(reload(text, "- {name: erp, limit: 7, period: 8s}\n"));
	ck_assert_int_eq(figure("erp", "limit"), 7);
	proc_expect(proc, "throttle erp: 1 in 30min by command, was 1 in 1s");
	proc_expect(proc, "throttle erp: 3 in 1s by command, was 1 in 30min");
	fixture_stop(proc);
	free(text);
}
END_TEST

START_TEST(wrong_figures_change_nothing)
{
	char *text = pool("tested", fixture.queue, "workers: 1, throttle: [erp, tenant]");
	struct proc *proc = serve(text, "- {name: erp, limit: 3, period: 9s}\n"
					"- {name: tenant, limit: 5, period: 1s, max_keys: 1000000, "
					"key: 'header:tenant'}\n");
	command_expect_text(RUN(64, "throttle"), "THROTTLE is needed");
	command_expect_text(RUN(64, "throttle", "erp"), "--limit or --period is needed");
	command_expect_text(RUN(64, "throttle", "erp", "--limit", "0"), "is no number from 1");
	command_expect_text(RUN(64, "throttle", "erp", "--period", "10"), "is no duration");
	command_expect_text(RUN(65, "throttle", "nobody", "--limit", "5"),
		"no pool uses a throttle \"nobody\"; there are: erp, tenant");
	command_expect_text(RUN(75, "throttle", "tenant", "--limit", "9"), "64 MiB");
	struct http_reply reply =
		http_request(control_socket(), "POST", "/v1/throttles/erp?limit=2&period=9");
	ck_assert_int_eq(reply.status, 400);
	http_release(&reply);
	ck_assert_int_eq(figure("erp", "limit"), 3);
	ck_assert_int_eq(figure("tenant", "limit"), 5);
	fixture_stop(proc);
	free(text);
}
END_TEST

/* The replaced pool works until the new one is ready. */
static void await_one_pool(void)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (size_t count = 0; count != 1;) {
		json_t *answer = control_get_json("/v1/pools");
		count = json_array_size(json_object_get(answer, "pools"));
		json_decref(answer);
		if (count != 1)
			fixture_poll(deadline, 20, "the replaced pool has gone");
	}
}

/* The list of a pool, a throttle that goes and comes, a key that moves. */
START_TEST(a_reload_changes_who_waits_for_what)
{
	char *with = pool("tested", fixture.queue, "workers: 1, prefetch: 50, throttle: [erp]");
	char *without = pool("tested", fixture.queue, "workers: 1, prefetch: 50");
	char *keyed = pool("tested", fixture.queue, "workers: 1, prefetch: 50, throttle: [tenant]");
	struct proc *proc = serve(with, "- {name: erp, limit: 1, period: 9s}\n");
	post(fixture.queue, "a", 0, 3);
	await_figure("erp", "waiting", 3);
	json_decref(reload(without, "  []\n"));
	await_witnessed(3);
	char *shown = control_get("/v1/throttles", 200);
	ck_assert_ptr_null(strstr(shown, "erp"));
	free(shown);

	json_decref(reload(keyed, by_tenant));
	post(fixture.queue, "a", 3, 14);
	await_witnessed(14);
	begins_read(&begins);
	begins_skip(&begins, 3);
	ck_assert_int_eq(begins_expect_windows(&begins, "a", 5, SECOND), 11);

	json_t *answer = reload(keyed, "- {name: tenant, limit: 1, period: 1s}\n");
	ck_assert_str_eq(control_text(control_member(answer, "pools", 0), "action"), "replaced");
	json_decref(answer);
	await_one_pool();
	post(fixture.queue, "a", 14, 16);
	post(fixture.queue, "b", 14, 16);
	await_witnessed(18);
	begins_read(&begins);
	begins_skip(&begins, 14);
	ck_assert_int_eq(begins_expect_windows(&begins, NULL, 1, SECOND), 4);
	fixture_stop(proc);
	free(with);
	free(without);
	free(keyed);
}
END_TEST

/* ---------- a restart ---------- */

static const char a_day[] = "- {name: erp, limit: 2, period: 1d}\n";

/* Without a record nothing starts for 10 s. */
START_TEST(a_killed_supervisor_starts_nothing_too_early)
{
	char *text = pool("tested", fixture.queue, "workers: 1, prefetch: 50, throttle: [erp]");
	post(fixture.queue, "-", 0, 5);
	struct proc *proc = serve(text, a_day);
	await_witnessed(2);
	for (int i = 0; i < 3; i++) {
		await_waits("erp");
		proc_signal(proc, SIGKILL);
		proc_wait(proc);
		fixture_free_program(proc);
		proc = serve(text, a_day);
		ck_assert(proc_has_logged(proc, "erp: 2 starts of the process before count"));
		await_waits("erp");
		ck_assert_int_eq(figure("erp", "starts_in_window"), 2);
		ck_assert_int_gt(figure("erp", "retry_after_s"), 86000);
	}
	command_expect_text(RUN(0, "throttle", "erp", "--limit", "4"), "at most 4 starts in 1d");
	await_witnessed(4);
	fixture_stop(proc); /* in order */
	proc = serve(text, a_day);
	await_figure(
		"erp", "starts_in_window", 2); /* the latest of four, which a limit of 2 keeps */
	ck_assert_int_gt(figure("erp", "retry_after_s"), 86000);
	ck_assert_int_eq(fixture_witnessed(NULL), 4);
	fixture_stop(proc);
	broker_expect_messages(fixture.broker, fixture.queue, 1);
	free(text);
}
END_TEST

static const struct crash {
	const char *label;
	int begun; /* whether its worker may have got the task */
} crashes[] = {{"throttle-saved", 0}, {"throttle-started", 1}};

/* It has recorded the start, and the worker has the task or not: it counts. */
START_TEST(killed_between_the_record_and_the_worker_it_counts)
{
	const struct crash *crash = &crashes[_i];
	char *text = pool("tested", fixture.queue, "workers: 1, prefetch: 50, throttle: [erp]");
	char *all = lists(text, "- {name: erp, limit: 1, period: 1d}\n");
	char *point = scratch_text("WPOOL_CRASH_AT=%s", crash->label);
	post(fixture.queue, "-", 0, 2);
	struct proc *proc = serve_as("wpool-crash", point, all);
	proc_wait(proc);
	fixture_free_program(proc);
	proc = serve_as("wpool", NULL, all);
	proc_expect(proc, "throttle erp: 1 start of the process before counts");
	proc_expect(proc, "control socket: ");
	await_waits("erp");
	ck_assert_int_eq(figure("erp", "starts_in_window"), 1);
	begins_read(&begins);
	ck_assert_int_le(begins.count, crash->begun);
	fixture_stop(proc);
	broker_expect_messages(fixture.broker, fixture.queue, 2);
	free(text);
	free(all);
	free(point);
}
END_TEST

/* Nobody knows what was started: one period, in which the pool does not consume and says why. */
START_TEST(a_damaged_record_waits_for_one_period_and_warns)
{
	char *text = pool("tested", fixture.queue, "workers: 1, prefetch: 50, throttle: [erp]");
	char *path = scratch_path(fixture.folder, "state/throttle-erp.0");
	struct proc *proc = serve(text, a_day);
	fixture_stop(proc);
	int fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "damage", 6, 20), 6);
	close(fd);
	post(fixture.queue, "-", 0, 2);
	proc = serve(text, a_day);
	ck_assert(proc_has_logged(proc, "is damaged, and now throttle-erp.*.damaged"));
	await_waits("erp");
	ck_assert_int_gt(figure("erp", "retry_after_s"), 86300);
	control_await("/readyz", 200);
	char *status = await_text("/v1/status", ": the throttle erp lets too few tasks start");
	char *metrics = control_get("/metrics", 200);
	ck_assert_double_eq(
		exposition_value(metrics, "wpool_warning{pool=\"tested\",reason=\"throttled\"}"),
		1);
	fixture_stop(proc);
	broker_expect_messages(fixture.broker, fixture.queue, 2);
	free(status);
	free(metrics);
	free(path);
	free(text);
}
END_TEST

/* ---------- sessions ---------- */

/* All that it may have belongs to sessions that wait for the throttle. */
START_TEST(a_session_pool_whose_window_is_full_names_the_throttle)
{
	char *queue = scratch_text("%s.ordered", fixture.queue);
	char *text = scratch_text("- {name: tested, queue: %s, declare: on, command: ['%s'], "
				  "prefetch: 5, session: {key: 'header:tenant'}, "
				  "throttle: [each]}\n",
		queue, fixture_built("workers/echo"));
	struct proc *proc =
		serve(text, "- {name: each, limit: 2, period: 5s, key: session, max_keys: 100}\n");
	control_await("/readyz", 200);
	post(queue, "a", 0, 8);
	char *reasons = await_text("/readyz", "the throttle each holds back some");
	await_witnessed(8);
	control_await("/readyz", 200);
	begins_read(&begins);
	ck_assert_int_eq(begins_expect_windows(&begins, "a", 2, 5 * SECOND), 8);
	for (int i = 0; i < 8; i++) { /* in order */
		char *id = scratch_text("a-%d", i);
		ck_assert_str_eq(begins.all[i].id, id);
		free(id);
	}
	fixture_stop(proc);
	free(reasons);
	free(text);
	free(queue);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("throttles", {pools_share_a_limit_alike, 1},
		{a_pool_without_the_throttle_does_not_wait, 1},
		{only_the_tenant_over_its_limit_waits, 1}, {what_does_not_fit_here_comes_back, 1},
		{the_caller_is_told_when_to_come_again, 1},
		{what_exceeds_the_limit_becomes_a_dead_letter, 1},
		{an_operator_sets_figures_until_others_are_configured, 1},
		{wrong_figures_change_nothing, 1}, {a_reload_changes_who_waits_for_what, 1},
		{a_killed_supervisor_starts_nothing_too_early, 1},
		{killed_between_the_record_and_the_worker_it_counts,
			(int)(sizeof crashes / sizeof *crashes)},
		{a_damaged_record_waits_for_one_period_and_warns, 1},
		{a_session_pool_whose_window_is_full_names_the_throttle, 1});
}
