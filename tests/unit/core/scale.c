/* More workers, or fewer: no task is interrupted, and none waits for a leaving worker. */
#include "unit/support/core/memory.h"
#include "unit/support/core/rig.h"

START_TEST(new_workers_are_started_and_get_tasks)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 3);
	rig_scale(&rig, 3);
	rig_expect_told(&rig, "SCALED");
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.1, spawn 2.1");
	rig_ready(&rig, 2, 1);
	rig_ready(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "send 2:2, send 1:3");
	rig_end(&rig);
}
END_TEST

/* A start takes time: many are spread over turns, as at the beginning. */
START_TEST(a_turn_starts_a_few_of_many_workers)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_scale(&rig, 1000);
	rig_turn(&rig);
	int starts = 0;
	for (const char *at = rig.done; (at = strstr(at, "spawn")); at++)
		starts++;
	ck_assert_int_eq(starts, 4);
	ck_assert_int_le(pool_deadline(rig.pool), rig.now + 1);
	rig_end(&rig);
}
END_TEST

START_TEST(the_last_idle_worker_leaves_first)
{
	struct rig rig;
	rig_begin(&rig, rig_config(4, 1), 2); /* to 0 and 1 */
	rig_scale(&rig, 3);
	rig_expect(&rig, "quit 3.1");
	rig_scale(&rig, 2);
	rig_expect(&rig, "quit 2.1");
	rig_gone(&rig, 3, 1);
	rig_gone(&rig, 2, 1);
	rig_wait(&rig, MTIME_MINUTE / 2);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "SCALED, SCALED, WORKER_LEFT, WORKER_LEFT");
	ck_assert_int_eq(rig.duration, MTIME_NEVER); /* not started again */
	rig_end(&rig);
}
END_TEST

START_TEST(slots_without_a_worker_leave_first)
{
	struct rig rig;
	rig_start(&rig, rig_config(4, 1));
	rig_gone(&rig, 1, 1); /* waits for a second */
	rig_broken(&rig, 2, 1);
	rig_expect(&rig, "kill 2.1");
	rig_forget(&rig);
	rig_scale(&rig, 3);
	rig_scale(&rig, 2);
	rig_gone(&rig, 2, 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "SCALED, SCALED, WORKER_DIED");
	rig_end(&rig);
}
END_TEST

START_TEST(a_starting_worker_is_killed)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_scale(&rig, 2);
	rig_turn(&rig);
	rig_scale(&rig, 1);
	rig_expect(&rig, "spawn 1.1, kill 1.1");
	rig_ready(&rig, 1, 1);
	rig_gone(&rig, 1, 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "SCALED, SCALED, WORKER_LEFT");
	rig_end(&rig);
}
END_TEST

START_TEST(a_busy_worker_finishes_its_pipe_and_gets_no_task)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 2), 6); /* 1, 3 and 2, 4 */
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:5, ack 1");
	rig_scale(&rig, 1); /* both are full: the last */
	rig_answer(&rig, 1, 200);
	rig_set_writable(&rig, 1, false);
	rig_set_writable(&rig, 1, true);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2");
	rig_answer(&rig, 1, 201);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 reply 4, quit 1.1");
	rig_gone(&rig, 1, 1);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(the_worker_with_fewest_tasks_leaves)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 2), 4);
	rig_answer(&rig, 0, 200);
	rig_scale(&rig, 1);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1, ack 1, ack 3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_leaving_worker_keeps_its_limit_and_may_crash)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 2), 4);
	rig_scale(&rig, 1);
	rig_wait(&rig, 60 * MTIME_SECOND);
	rig_expect(&rig, "term 0.1, term 1.1");
	rig_forget(&rig);
	rig_gone(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 retry 2");
	rig_expect_told(&rig, "WORKER_DIED, TASK_RETRIED");
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	/* The tasks behind these two go to the next worker. */
	ck_assert_ptr_nonnull(strstr(rig.done, "send 0:3, send 0:4"));
	rig_end(&rig);
}
END_TEST

START_TEST(a_busy_worker_is_kept_again)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 1), 3);
	rig_scale(&rig, 1);
	rig_scale(&rig, 2);
	rig_answer(&rig, 1, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:3, ack 2");
	rig_end(&rig);
}
END_TEST

/* The end of a life that was asked to end is no failure: the next one starts at once. */
START_TEST(a_worker_that_was_asked_to_leave_is_replaced)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	rig_scale(&rig, 1);
	rig_scale(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "quit 1.1");
	rig_gone(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.2");
	rig_gone(&rig, 1, 2);
	rig_expect_told(&rig, "SCALED, SCALED, WORKER_LEFT, WORKER_DIED");
	ck_assert_int_eq(rig.duration, MTIME_SECOND);
	rig_end(&rig);
}
END_TEST

START_TEST(a_retired_slot_is_reused)
{
	struct rig rig;
	rig_start(&rig, rig_config(3, 1));
	rig_scale(&rig, 1);
	rig_gone(&rig, 1, 1);
	rig_gone(&rig, 2, 1);
	rig_turn(&rig);
	rig_expect(&rig, "quit 2.1, quit 1.1");
	rig_scale(&rig, 4);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.2, spawn 3.1, spawn 2.2");
	rig_end(&rig);
}
END_TEST

/* With the failing slot its failures are gone: the pool does not rest because of them. */
START_TEST(failures_of_a_retired_slot_do_not_count)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	rig_gone(&rig, 1, 1);
	rig_scale(&rig, 1);
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, ack 1, spawn 0.2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_number_out_of_range_is_refused)
{
	static const uint32_t numbers[] = {0, POOL_WORKERS_MAX + 1, 65536, UINT32_MAX};
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		rig_scale(&rig, numbers[i]);
		rig_turn(&rig);
		rig_expect(&rig, "");
		rig_expect_told(&rig, "COMMAND_REFUSED");
		ck_assert_str_eq(rig.what, "a pool has 1 to 10000 workers");
	}
	rig_end(&rig);
}
END_TEST

/* Whichever allocation fails, the pool is as before. */
START_TEST(scaling_without_memory_is_refused_as_a_whole)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	rig.slots_max = 3;
	/* What was allocated before one failed is kept for the next attempt. */
	static const long allocations[] = {0, 1, 1, LONG_MAX};
	for (int i = 0; i < 4; i++) {
		rig_scale(&rig, 4);
		rig_turn(&rig);
		rig_expect(&rig, "");
		rig_expect_told(&rig, "COMMAND_REFUSED");
		ck_assert_str_eq(rig.what, "there is no memory for so many workers");
		rig.slots_max = 0;
		callocs_left = allocations[i];
	}
	rig_scale(&rig, 4);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 2.1, spawn 3.1");
	rig_end(&rig);
}
END_TEST

START_TEST(the_window_follows_the_number_of_workers)
{
	struct rig rig;
	struct pool_config config = rig_config(4, 1);
	config.prefetch = 0;
	rig_start(&rig, config);
	rig_scale(&rig, 6);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 4.1, spawn 5.1, consume 12");
	rig_scale(&rig, 5); /* narrowing costs something, and is no hurry */
	rig_turn(&rig);
	rig_expect(&rig, "kill 5.1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_or_a_force_ends_leaving_workers)
{
	struct rig rig;
	rig_begin(&rig, rig_config(4, 1), 3);
	rig_scale(&rig, 3);
	rig_gone(&rig, 3, 1);
	rig_scale(&rig, 2);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_answer(&rig, 2, 200);
	rig_turn(&rig);
	rig_expect(&rig, "rest, quit 2.1, ack 3");
	rig_command(&rig, COMMAND_FORCE);
	rig_expect(&rig, "kill 0.1, requeue 1, kill 1.1, requeue 2, kill 2.1");
	for (uint16_t slot = 0; slot < 3; slot++)
		rig_gone(&rig, slot, 1);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	ck_assert(pool_is_quiet(rig.pool));
	rig_end(&rig);
}
END_TEST

static Suite *scale_suite(void)
{
	Suite *suite = suite_create("core/scale");
	UNIT_CASE(suite, "more", new_workers_are_started_and_get_tasks,
		a_turn_starts_a_few_of_many_workers, a_busy_worker_is_kept_again,
		a_worker_that_was_asked_to_leave_is_replaced, a_retired_slot_is_reused,
		the_window_follows_the_number_of_workers);
	UNIT_CASE(suite, "less", the_last_idle_worker_leaves_first,
		slots_without_a_worker_leave_first, a_starting_worker_is_killed,
		a_busy_worker_finishes_its_pipe_and_gets_no_task,
		the_worker_with_fewest_tasks_leaves, a_leaving_worker_keeps_its_limit_and_may_crash,
		failures_of_a_retired_slot_do_not_count, a_drain_or_a_force_ends_leaving_workers);
	UNIT_CASE(suite, "refused", a_number_out_of_range_is_refused,
		scaling_without_memory_is_refused_as_a_whole);
	return suite;
}

UNIT_MAIN(scale_suite)
