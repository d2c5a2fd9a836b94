/* Tasks that wait in a pipe behind a task that takes much longer than those before. */
#include "unit/support/core/rig.h"

/* The pipe holds as many tasks of 50 us each as fit into the wait; then come those from 41 on. */
static void make_deep(struct rig *rig, mtime pipe_wait, uint64_t last)
{
	struct pool_config config = rig_config(1, 0);
	config.pipe_wait = pipe_wait;
	rig_start(rig, config);
	for (uint64_t tag = 1; tag <= 40; tag++) {
		rig_deliver(rig, tag, tag);
		rig_turn(rig);
		rig->now += 50;
		rig_answer(rig, 0, 200);
	}
	rig_turn(rig);
	rig_forget(rig);
	rig_deliver(rig, 41, last);
	rig_turn(rig);
}

START_TEST(a_slow_task_is_reported_and_no_task_is_sent_behind_it)
{
	struct rig rig;
	make_deep(&rig, 110, 43);
	rig_expect(&rig, "send 0:41, send 0:42");
	rig.now += 110;
	rig_turn(&rig);
	rig.now += 110;
	rig_answer(&rig, 0, 200);
	rig_expect_told(&rig, "TASKS_HELD_UP, TASK_DONE");
	rig_turn(&rig);
	rig_expect(&rig, "ack 41"); /* and 43 is not sent ahead any more */
	rig.now += 50;
	rig_answer(&rig, 0, 200);
	rig_expect_told(&rig, "TASK_DONE");
	rig_turn(&rig);
	rig_expect(&rig, "send 0:43, ack 42");
	rig_end(&rig);
}
END_TEST

/* The answer waited while this process was busy. */
START_TEST(time_in_which_the_supervisor_was_busy_does_not_count)
{
	struct rig rig;
	make_deep(&rig, 110, 42);
	rig_expect(&rig, "send 0:41, send 0:42");
	rig.arrived_after = rig.now + 50;
	rig.now += 1000;
	rig_turn(&rig); /* nothing is known of it yet that would be too long */
	rig_answer(&rig, 0, 200);
	rig_expect_told(&rig, "TASK_DONE");
	rig_turn(&rig);
	rig_forget(&rig);
	/* Time that was not counted for one task counts for the next. */
	rig.arrived_after += 100;
	rig.now += 1;
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect_told(&rig, "TASK_DONE");
	rig_forget(&rig);
	rig.arrived_after = 0;
	rig_deliver(&rig, 43, 45);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:43"); /* 100 us are as long as the wait */
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_that_ends_in_time_is_not_reported)
{
	struct rig rig;
	make_deep(&rig, 110, 42);
	rig_expect(&rig, "send 0:41, send 0:42");
	rig.now += 109;
	rig_answer(&rig, 0, 200);
	rig_expect_told(&rig, "TASK_DONE");
	rig_end(&rig);
}
END_TEST

START_TEST(a_worker_that_dies_late_is_reported)
{
	struct rig rig;
	make_deep(&rig, 110, 42);
	rig.now += 110;
	rig_gone(&rig, 0, 1);
	rig_expect_told(&rig, "WORKER_DIED, TASKS_HELD_UP, TASK_RETRIED");
	ck_assert_uint_eq(rig.latest_life, 1);
	rig_end(&rig);
}
END_TEST

/* The tasks behind it were not begun when it was given up: their times are unknown. */
START_TEST(a_late_answer_is_reported_once)
{
	struct rig rig;
	make_deep(&rig, 160, 43);
	rig_expect(&rig, "send 0:41, send 0:42, send 0:43");
	rig.now += 60 * MTIME_SECOND;
	rig_turn(&rig);
	rig_forget(&rig);
	rig_answer(&rig, 0, 200);
	rig_expect_told(&rig, "TASKS_HELD_UP, TASK_DONE");
	rig.now += MTIME_SECOND;
	rig_gone(&rig, 0, 1);
	rig_expect_told(&rig, "WORKER_DIED");
	rig_end(&rig);
}
END_TEST

/* With a fixed depth nobody watches how long a task runs; the task that runs when that ends is
 * watched from then on. */
START_TEST(a_task_sent_with_a_fixed_pipeline_is_watched_once_the_depth_is_automatic)
{
	struct rig rig;
	struct pool_config automatic = rig_config(1, 0), fixed = rig_config(1, 1);
	automatic.pipe_wait = fixed.pipe_wait = 110;
	make_deep(&rig, 110, 40); /* the depth is found */
	rig_configure(&rig, fixed);
	rig_deliver(&rig, 41, 43);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:41");
	rig.now += 110;
	rig_configure(&rig, automatic);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(a_slow_task_stays_one_through_a_fixed_pipeline)
{
	struct rig rig;
	struct pool_config automatic = rig_config(1, 0), fixed = rig_config(1, 3);
	automatic.pipe_wait = fixed.pipe_wait = 110;
	make_deep(&rig, 110, 41);
	rig.now += 110;
	rig_turn(&rig);
	rig_configure(&rig, fixed);
	rig_configure(&rig, automatic);
	rig_forget(&rig);
	rig_deliver(&rig, 42, 42);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:42, ack 41");
	rig_end(&rig);
}
END_TEST

static Suite *held_up_suite(void)
{
	Suite *suite = suite_create("core/held_up");
	UNIT_CASE(suite, "held up", a_slow_task_is_reported_and_no_task_is_sent_behind_it,
		time_in_which_the_supervisor_was_busy_does_not_count,
		a_task_that_ends_in_time_is_not_reported, a_worker_that_dies_late_is_reported,
		a_late_answer_is_reported_once,
		a_task_sent_with_a_fixed_pipeline_is_watched_once_the_depth_is_automatic,
		a_slow_task_stays_one_through_a_fixed_pipeline);
	return suite;
}

UNIT_MAIN(held_up_suite)
