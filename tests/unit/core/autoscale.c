/* Autoscaling, step by step: the pool chooses the number of its workers. */
#include "core/pool_facts.h"
#include "unit/support/core/keyed.h"

static void start_auto(struct rig *rig, uint16_t min, uint16_t max)
{
	struct pool_config config = rig_config(min, 1);
	config.workers_max = max;
	config.hard_limit = MTIME_NEVER;
	rig_start(rig, config);
}

START_TEST(a_change_is_reported_with_its_reason)
{
	struct rig rig;
	start_auto(&rig, 1, 4);
	struct pool_facts facts = pool_facts(rig.pool);
	ck_assert_uint_eq(facts.min, 1);
	ck_assert_uint_eq(facts.max, 4);
	ck_assert_int_eq(facts.scaling.cause, SCALING_NONE);
	rig_deliver(&rig, 1, 4);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, 100 * MTIME_MS);
	rig_expect_told(&rig, "GROWN");
	facts = pool_facts(rig.pool);
	ck_assert_uint_eq(facts.wanted, 2);
	ck_assert_int_eq(facts.scaling.cause, SCALING_GREW);
	ck_assert_uint_eq(facts.scaling.before, 1);
	ck_assert_uint_eq(facts.scaling.after, 2);
	ck_assert_uint_eq(facts.scaling.figure, 3);
	ck_assert_int_eq(facts.scaling.at, rig.now);
	rig_ready(&rig, 1, 1);
	rig_turn(&rig);
	for (int task = 0; task < 2; task++) {
		rig_answer(&rig, 0, 200);
		rig_answer(&rig, 1, 200);
		rig_turn(&rig);
	}
	rig_forget(&rig);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "quit 1.1");
	rig_expect_told(&rig, "SHRUNK");
	facts = pool_facts(rig.pool);
	ck_assert_int_eq(facts.scaling.cause, SCALING_SHRANK);
	ck_assert_uint_eq(facts.scaling.figure, 0);
	ck_assert_int_eq(facts.scaling.span, MTIME_MINUTE);
	rig_end(&rig);
}
END_TEST

/* A session is work for one worker, however much of it waits. */
START_TEST(messages_that_cannot_run_need_no_worker)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.workers_max = 4;
	config.hard_limit = MTIME_NEVER;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a a a a a a a");
	rig_forget(&rig);
	for (int i = 0; i < 10; i++)
		rig_wait(&rig, 100 * MTIME_MS);
	rig_expect_told(&rig, "");
	keyed_deliver(&rig, "b b b");
	rig_wait(&rig, 100 * MTIME_MS);
	rig_wait(&rig, 100 * MTIME_MS);
	rig_expect_told(&rig, "GROWN");
	ck_assert_uint_eq(pool_facts(rig.pool).wanted, 2);
	ck_assert_uint_eq(pool_facts(rig.pool).scaling.figure, 1);
	rig_end(&rig);
}
END_TEST

/* It has a task, and a place for another one. */
START_TEST(a_busy_worker_that_stays_after_all_gets_a_task_at_once)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 2);
	config.hard_limit = MTIME_NEVER;
	rig_begin(&rig, config, 2);
	rig_scale(&rig, 1);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_SCALE, .number = 1, .max = 2}});
	rig_deliver(&rig, 3, 6);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3");
	rig.now += 100 * MTIME_MS;
	rig_turn(&rig); /* the only one */
	rig_expect(&rig, "send 1:4");
	rig_end(&rig);
}
END_TEST

/* Idle workers leave before busy ones, and none leaves during a task. */
START_TEST(idle_workers_leave)
{
	struct rig rig;
	start_auto(&rig, 1, 4);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_SCALE, .number = 3, .max = 4}});
	rig_turn(&rig);
	rig_ready(&rig, 1, 1);
	rig_ready(&rig, 2, 1);
	rig_deliver(&rig, 1, 3);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 1, 200);
	rig_turn(&rig);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_SCALE, .number = 1, .max = 4}});
	rig_forget(&rig);
	rig_wait(&rig, 59 * MTIME_SECOND);
	rig_expect(&rig, "");
	rig_wait(&rig, 30 * MTIME_SECOND);
	ck_assert_ptr_nonnull(strstr(rig.done, "quit"));
	ck_assert_ptr_null(strstr(rig.done, "quit 2"));
	rig_end(&rig);
}
END_TEST

START_TEST(pool_does_not_grow_while_workers_fail)
{
	struct rig rig;
	start_auto(&rig, 2, 8);
	rig_gone(&rig, 1, 1); /* it came to nothing */
	rig_deliver(&rig, 1, 6);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, 500 * MTIME_MS);
	rig_expect_told(&rig, "");
	rig_wait(&rig, 600 * MTIME_MS);
	rig_ready(&rig, 1, 2);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, 9 * MTIME_SECOND);
	rig_expect_told(&rig, ""); /* it may come to nothing again */
	rig_wait(&rig, 2 * MTIME_SECOND);
	ck_assert_ptr_nonnull(strstr(rig.told, "GROWN"));
	rig_end(&rig);
}
END_TEST

/* A long task counts before it ends, which may be in a month. */
START_TEST(an_answer_ends_the_failures_of_a_worker)
{
	struct rig rig;
	start_auto(&rig, 2, 8);
	rig_gone(&rig, 1, 1);
	rig_deliver(&rig, 1, 6);
	rig_wait(&rig, 1100 * MTIME_MS);
	rig_ready(&rig, 1, 2);
	rig_turn(&rig);
	ck_assert_uint_eq(pool_facts(rig.pool).failing, 1);
	rig_answer_this(&rig, 1, 2, rig_output(200, NULL));
	ck_assert_uint_eq(pool_facts(rig.pool).failing, 0);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, MTIME_SECOND);
	ck_assert_ptr_nonnull(strstr(rig.told, "GROWN"));
	rig_end(&rig);
}
END_TEST

/* No worker is missing while the window is not full or no worker is busy. */
START_TEST(pool_does_not_grow_if_no_task_waits)
{
	struct rig rig;
	start_auto(&rig, 2, 8);
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect_told(&rig, "");
	ck_assert_int_gt(pool_deadline(rig.pool), rig.now + 10 * MTIME_SECOND);
	rig_end(&rig);
}
END_TEST

/* Tasks that wait for another reason, such as full pipes, do not make the pool grow. */
START_TEST(pool_does_not_grow_for_tasks_that_cannot_start)
{
	struct rig rig;
	start_auto(&rig, 1, 8);
	rig.send = SEND_NO_MEMORY;
	rig_deliver(&rig, 1, 3);
	rig_forget(&rig);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect_told(&rig, "");
	rig.send = SEND_OK;
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1); /* it starts again */
	rig_forget(&rig);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect_told(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(bounds_out_of_range_are_refused)
{
	static const uint32_t bounds[][2] = {
		{0, 4}, {4, 3}, {1, POOL_WORKERS_MAX + 1}, {UINT32_MAX, UINT32_MAX}};
	struct rig rig;
	start_auto(&rig, 2, 8);
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		rig_step(&rig, (struct event){.kind = COMMAND,
				       .command = {.what = COMMAND_SCALE,
					       .number = bounds[i][0],
					       .max = bounds[i][1]}});
		rig_expect_told(&rig, "COMMAND_REFUSED");
		ck_assert_uint_eq(pool_facts(rig.pool).max, 8);
	}
	rig_end(&rig);
}
END_TEST

/* Workers that are leaving do not count as busy. */
START_TEST(a_leaving_worker_does_not_count)
{
	struct rig rig;
	start_auto(&rig, 2, 8);
	rig_deliver(&rig, 1, 4);
	rig_turn(&rig);
	rig_scale(&rig, 1);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_SCALE, .number = 1, .max = 8}});
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, 100 * MTIME_MS);
	/* The one that is leaving is kept before another one is started. */
	rig_expect_told(&rig, "GROWN");
	rig_expect(&rig, "");
	rig_scale(&rig, 1);
	rig_answer(&rig, 1, 200);
	rig_end(&rig);
}
END_TEST

static Suite *autoscale_suite(void)
{
	Suite *suite = suite_create("core/autoscale");
	UNIT_CASE(suite, "steps", a_change_is_reported_with_its_reason, idle_workers_leave,
		pool_does_not_grow_while_workers_fail, an_answer_ends_the_failures_of_a_worker,
		pool_does_not_grow_if_no_task_waits, pool_does_not_grow_for_tasks_that_cannot_start,
		bounds_out_of_range_are_refused, a_leaving_worker_does_not_count,
		messages_that_cannot_run_need_no_worker,
		a_busy_worker_that_stays_after_all_gets_a_task_at_once);
	return suite;
}

UNIT_MAIN(autoscale_suite)
