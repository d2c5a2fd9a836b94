/* The backlog and the number of dead letters are shown everywhere; a missing queue has none, and
 * nothing else changes. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "system/system.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

/* A member of `tasks` of pool i; NULL for null. */
static const json_t *tasks_member(size_t i, const char *key)
{
	const json_t *pool = control_member(control_get_json("/v1/pools"), "pools", i);
	const json_t *member = json_object_get(json_object_get(pool, "tasks"), key);
	ck_assert_ptr_nonnull(member);
	return json_is_null(member) ? NULL : member;
}

/* count: -1 if it is not known. */
static void await_messages(size_t i, const char *key, json_int_t count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		const json_t *member = tasks_member(i, key);
		json_int_t is = member ? json_integer_value(member) : -1;
		if (is == count)
			return;
		ck_assert_msg(deadline_left(deadline) > 0, "%s stays %lld", key, (long long)is);
		poll(NULL, 0, 50);
	}
}

static void await_backlog(size_t i, json_int_t count)
{
	await_messages(i, "backlog", count);
}

static void await_table(const char *text)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	bool found = false;
	while (!found) {
		fixture_poll(deadline, 20, text);
		struct proc *table = fixture_wpool((const char *const[]){"pools", NULL});
		ck_assert_int_eq(proc_wait(table), 0);
		char *output = proc_stdout(table);
		found = strstr(output, text) != NULL;
		free(output);
		fixture_free_program(table);
	}
}

/* A paused pool beside a pool whose queue is missing. */
START_TEST(backlog_is_shown)
{
	const char *pools =
		scratch_text("- {name: here, queue: %s, command: [%s], workers: 1}\n"
			     "- {name: gone, queue: %s.gone, command: [%s], workers: 1}\n",
			fixture.queue, fixture_built("workers/echo"), fixture.queue,
			fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pools);
	proc_expect(serve, "does not exist");
	await_backlog(0, 0);
	ck_assert_ptr_null(tasks_member(1, "backlog"));
	ck_assert_ptr_null(tasks_member(1, "backlog_age_s"));
	struct proc *pause = fixture_wpool((const char *const[]){"pause", "here", NULL});
	ck_assert_int_eq(proc_wait(pause), 0);
	client_expect_consumers(fixture.client, fixture.queue, 0);
	control_post_many(0, 20);
	await_backlog(0, 20);
	ck_assert(json_real_value(tasks_member(0, "backlog_age_s")) >= 0);
	ck_assert_ptr_null(tasks_member(1, "backlog"));
	char *metrics = control_get("/metrics", 200);
	control_expect_text(metrics, "wpool_backlog{pool=\"here\"} 20\n");
	ck_assert_ptr_null(strstr(metrics, "wpool_backlog{pool=\"gone\"}"));
	proc_signal(serve, SIGUSR1);
	proc_expect(serve, "backlog: 20; tasks: ");
	await_table("  BACKLOG  ");
	await_table("  20 ("); /* and its age, above a second */
}
END_TEST

/* Tasks are in hand, whose acks use the connection on which the backlog is asked for. */
START_TEST(missing_queue_has_no_backlog)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "2", NULL});
	control_await("/readyz", 200);
	await_backlog(0, 0);
	client_delete(fixture.client, fixture.queue);
	await_backlog(0, -1);
	client_declare(fixture.client, fixture.queue, CLIENT_QUORUM);
	proc_expect(serve, "consuming queue");
	await_backlog(0, 0);
	control_post_many(0, 20);
	control_expect_done(20);
	fixture_stop(serve);
}
END_TEST

static void await_warnings(const char *text)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		const json_t *status = control_get_json("/v1/status");
		char *warnings = json_dumps(json_object_get(status, "warnings"), JSON_ENCODE_ANY);
		bool is_found = strstr(warnings, text) != NULL;
		free(warnings);
		if (is_found)
			return;
		fixture_poll(deadline, 50, text);
	}
}

/* Beside a pool whose dead letters its queue's own policy moves: where is not known here. */
START_TEST(dead_letters_are_counted)
{
	const char *pools = scratch_text(
		"- {name: here, queue: %s, command: [%s], workers: 1, retry: {attempts: 1}}\n"
		"- {name: policy, queue: %s.other, command: [%s], workers: 1, "
		"retry: {dead_letter: broker}}\n",
		fixture.queue, fixture_built("workers/echo"), fixture.queue,
		fixture_built("workers/echo"));
	struct proc *serve = fixture_serve_pools(pools);
	proc_expect(serve, "consuming queue");
	await_messages(0, "dead_letters", 0);
	client_post(fixture.client, fixture.queue,
		&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	await_messages(0, "dead_letters", 1);
	ck_assert(json_real_value(tasks_member(0, "dead_letters_age_s")) >= 0);
	ck_assert_ptr_null(tasks_member(1, "dead_letters"));
	ck_assert_ptr_null(tasks_member(1, "dead_letters_age_s"));
	await_warnings(scratch_text(
		"pool here: 1 message is in its dead-letter queue \\\"%s\\\"", fixture.dead));
	control_expect_text(control_get("/metrics", 200), "wpool_dead_letters{pool=\"here\"} 1\n");
	control_expect_text(control_get("/metrics", 200),
		"wpool_warning{pool=\"here\",reason=\"dead-letters\"} 1\n");
	await_table("  DEAD  ");
	control_await("/readyz", 503); /* of the other pool, whose queue is missing */
	client_purge(fixture.client, fixture.dead);
	await_messages(0, "dead_letters", 0);
	await_warnings("[]");
	client_delete(fixture.client, fixture.dead);
	await_messages(0, "dead_letters", -1);
}
END_TEST

/* A message that waits in the broker is shown: also by a supervisor that has not put it there. */
START_TEST(what_waits_for_its_time_is_counted)
{
	struct proc *serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	char *body = scratch_path(fixture.folder, "body");
	await_messages(0, "later", 0);
	scratch_write(body, "later");
	free(RUN(0, "publish", "--broker", broker_url(fixture.broker), "--queue", fixture.queue,
		"--delay", "1h", body));
	await_messages(0, "later", 1);
	proc_signal(serve, SIGKILL);
	proc_wait(serve);
	serve = fixture_serve_echo((const char *const[]){"--workers", "1", NULL});
	await_messages(0, "later", 1);
	ck_assert(json_real_value(tasks_member(0, "later_age_s")) >= 0);
	const json_t *pool = control_member(control_get_json("/v1/pools"), "pools", 0);
	const json_t *steps = json_object_get(pool, "later_by_step");
	ck_assert_uint_eq(json_object_size(steps), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(steps, "3600s")), 1);
	char *sample = scratch_text("wpool_wait_queue_messages{pool=\"%s\"} 1\n", fixture.queue);
	control_expect_text(control_get("/metrics", 200), sample);
	await_table("  LATER  ");
	fixture_stop(serve);
	free(body);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("backlog", {backlog_is_shown, 1}, {missing_queue_has_no_backlog, 1},
		{dead_letters_are_counted, 1}, {what_waits_for_its_time_is_counted, 1});
}
