/* The rolling restart: a new worker is ready before an old one leaves. */
#include "unit/support/core/rig.h"

START_TEST(workers_are_replaced_one_by_one)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 2.1");
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_ready(&rig, 2, 1);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1");
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2");
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "quit 1.1");
	rig_expect_told(&rig, "ROLL_BEGINS, WORKER_READY, WORKER_LEFT, WORKER_READY");
	rig_gone(&rig, 1, 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "WORKER_LEFT, ROLL_ENDS");
	rig_end(&rig);
}
END_TEST

START_TEST(the_least_busy_worker_leaves_first_and_finishes)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 2), 5);
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_answer(&rig, 1, 200);
	rig_ready(&rig, 2, 1);
	rig_forget(&rig);
	rig_turn(&rig); /* 1 has one task left, and the new one takes what waits */
	rig_expect(&rig, "send 2:5, ack 2");
	rig_turn(&rig);
	rig_answer(&rig, 1, 200);
	rig_turn(&rig);
	rig_expect(&rig, "quit 1.1, ack 4");
	rig_end(&rig);
}
END_TEST

/* The success of the old program in a slot says nothing about the new one. */
START_TEST(a_restart_resets_is_proven)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	rig_answer(&rig, 0, 200);
	rig_command(&rig, COMMAND_RESTART);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_deliver(&rig, 2, 2);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_gone(&rig, 0, 2); /* no poison: a failure, and the first one */
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "publish 1 retry 2, spawn 0.3, rest");
	rig_end(&rig);
}
END_TEST

START_TEST(failed_workers_start_at_once)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	for (uint32_t life = 1; life <= 3; life++)
		rig_fail_start(&rig, 1, life);
	rig_gone(&rig, 1, 4);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.5, spawn 2.1");
	rig_ready(&rig, 2, 1); /* as many as are wanted: 0 stays until there is one more */
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_ready(&rig, 1, 5);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.told, "ROLL_ENDS"));
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_without_workers_can_be_restarted)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	for (uint32_t life = 1; life <= 4; life++)
		rig_fail_start(&rig, 0, life);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.5");
	rig_ready(&rig, 0, 5);
	rig_turn(&rig);
	rig_expect_told(&rig, "ROLL_BEGINS, WORKER_READY, ROLL_ENDS, SOURCE_RESUMES");
	rig_end(&rig);
}
END_TEST

/* The last old worker dies by itself: its next life is new, and one worker is surplus. */
START_TEST(an_old_worker_that_dies_counts_as_replaced)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.1");
	rig_ready(&rig, 1, 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "ROLL_BEGINS, WORKER_DIED, WORKER_READY, ROLL_ENDS");
	rig_end(&rig);
}
END_TEST

START_TEST(a_new_worker_may_die_while_an_old_one_leaves)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 1), 9);
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_ready(&rig, 2, 1);
	rig_turn(&rig); /* 0 leaves when it is done */
	rig_done(&rig, 2, 1);
	rig_gone(&rig, 2, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_answer(&rig, 0, 200);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	/* One more is started, and none leaves until three are ready. */
	rig_expect(&rig, "quit 0.1, spawn 0.2, ack 1");
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "quit"));
	rig_answer(&rig, 1, 200);
	rig_ready(&rig, 2, 2);
	rig_forget(&rig);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "quit 1.1"));
	rig_end(&rig);
}
END_TEST

START_TEST(a_second_restart_starts_over)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_ready(&rig, 2, 1);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 2.1, quit 0.1, spawn 0.2, quit 1.1");
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_gone(&rig, 1, 1);
	rig_turn(&rig);
	rig_ready(&rig, 1, 2);
	rig_turn(&rig);
	rig_gone(&rig, 0, 2);
	rig_turn(&rig);
	rig_ready(&rig, 0, 3);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.2, quit 0.2, spawn 0.3, quit 2.1");
	rig_forget(&rig);
	rig_gone(&rig, 2, 1);
	rig_turn(&rig);
	rig_expect_told(&rig, "WORKER_LEFT, ROLL_ENDS");
	rig_end(&rig);
}
END_TEST

START_TEST(a_restart_continues_with_more_or_fewer_workers)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_scale(&rig, 3); /* the one that comes is the third */
	rig_turn(&rig);
	rig_expect(&rig, "spawn 2.1, spawn 3.1");
	rig_ready(&rig, 2, 1);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_scale(&rig, 1); /* one that starts, and of the others an old one */
	rig_expect(&rig, "kill 3.1, quit 1.1, quit 0.1");
	rig_forget(&rig);
	rig_gone(&rig, 3, 1);
	rig_gone(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect_told(&rig, "WORKER_LEFT, WORKER_LEFT");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect_told(&rig, "WORKER_LEFT, ROLL_ENDS");
	rig_end(&rig);
}
END_TEST

START_TEST(a_pause_does_not_delay_a_restart)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	rig_command(&rig, COMMAND_RESTART);
	rig_command(&rig, COMMAND_PAUSE);
	rig_turn(&rig);
	rig_ready(&rig, 1, 1);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "rest, spawn 1.1, quit 0.1, ack 1");
	rig_expect_told(
		&rig, "ROLL_BEGINS, PAUSED, WORKER_READY, TASK_DONE, WORKER_LEFT, ROLL_ENDS");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 7, send 1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_or_a_force_ends_a_restart)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 1), 2);
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_answer(&rig, 0, 200);
	rig_gone(&rig, 2, 1);
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "rest, kill 2.1, quit 0.1, ack 1");
	rig_command(&rig, COMMAND_FORCE);
	rig_turn(&rig);
	rig_expect(&rig, "kill 1.1, requeue 2, close");
	rig_end(&rig);
}
END_TEST

static Suite *roll_suite(void)
{
	Suite *suite = suite_create("core/roll");
	UNIT_CASE(suite, "roll", workers_are_replaced_one_by_one,
		the_least_busy_worker_leaves_first_and_finishes, failed_workers_start_at_once,
		a_pool_without_workers_can_be_restarted, an_old_worker_that_dies_counts_as_replaced,
		a_new_worker_may_die_while_an_old_one_leaves, a_restart_resets_is_proven);
	UNIT_CASE(suite, "meanwhile", a_second_restart_starts_over,
		a_restart_continues_with_more_or_fewer_workers, a_pause_does_not_delay_a_restart,
		a_drain_or_a_force_ends_a_restart);
	return suite;
}

UNIT_MAIN(roll_suite)
