/* The backlog is shown everywhere; a missing queue has none, and nothing else changes. */
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
static void await_backlog(size_t i, json_int_t count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	for (;;) {
		const json_t *backlog = tasks_member(i, "backlog");
		json_int_t is = backlog ? json_integer_value(backlog) : -1;
		if (is == count)
			return;
		ck_assert_msg(deadline_left(deadline) > 0, "the backlog stays %lld", (long long)is);
		poll(NULL, 0, 50);
	}
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

int main(void)
{
	return SYSTEM_RUN("backlog", {backlog_is_shown, 1}, {missing_queue_has_no_backlog, 1});
}
