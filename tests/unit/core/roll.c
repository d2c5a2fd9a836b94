/* The rolling restart: a new worker is ready before an old one leaves. */
#include "unit/support/core/roll.h"

START_TEST(one_after_the_other)
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

START_TEST(the_least_busy_leaves_first_and_finishes)
{
	struct rig rig;
	roll_start(&rig, rig_config(2, 2), 5);
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

/* Known to work are the workers of the old program, not those of the new one in the same slot. */
START_TEST(a_slot_is_proven_anew)
{
	struct rig rig;
	roll_start(&rig, rig_config(1, 1), 1);
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

START_TEST(those_that_had_failed_start_at_once)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	for (uint32_t life = 1; life <= 3; life++)
		roll_come_to_nothing(&rig, 1, life);
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

START_TEST(a_pool_without_workers_is_restarted_too)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	for (uint32_t life = 1; life <= 4; life++)
		roll_come_to_nothing(&rig, 0, life);
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

/* The last old one dies by itself: its next life is a new one, and there is one too many. */
START_TEST(an_old_one_that_dies_is_replaced_thereby)
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

START_TEST(the_new_one_dies_while_an_old_one_leaves)
{
	struct rig rig;
	roll_start(&rig, rig_config(2, 1), 9);
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_ready(&rig, 2, 1);
	rig_turn(&rig); /* 0 leaves when it is done */
	roll_answer(&rig, 2, 1);
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

START_TEST(a_second_restart_begins_anew)
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

START_TEST(it_goes_on_with_more_workers_and_with_fewer)
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

START_TEST(a_pause_does_not_hold_it_up)
{
	struct rig rig;
	roll_start(&rig, rig_config(1, 1), 2);
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

START_TEST(a_drain_and_a_force_end_it)
{
	struct rig rig;
	roll_start(&rig, rig_config(2, 1), 2);
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
	UNIT_CASE(suite, "roll", one_after_the_other, the_least_busy_leaves_first_and_finishes,
		those_that_had_failed_start_at_once, a_pool_without_workers_is_restarted_too,
		an_old_one_that_dies_is_replaced_thereby, the_new_one_dies_while_an_old_one_leaves,
		a_slot_is_proven_anew);
	UNIT_CASE(suite, "meanwhile", a_second_restart_begins_anew,
		it_goes_on_with_more_workers_and_with_fewer, a_pause_does_not_hold_it_up,
		a_drain_and_a_force_end_it);
	return suite;
}

UNIT_MAIN(roll_suite)
