/* What stops a rolling restart: new workers that fail, and a lack of memory. */
#include "unit/support/core/rig.h"

static void expect_stop(struct rig *rig, const char *what, uint32_t failures)
{
	ck_assert_ptr_nonnull(strstr(rig->told, "ROLL_STOPS"));
	ck_assert_str_eq(rig->what, what);
	ck_assert_uint_eq(rig->number, failures);
	rig_forget(rig);
	rig_wait(rig, MTIME_MINUTE);
	rig_expect(rig, "");
}

START_TEST(a_command_that_does_not_start_stops_a_restart)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	for (uint32_t life = 1; life <= 3; life++) {
		ck_assert_ptr_null(strstr(rig.told, "ROLL_STOPS"));
		rig_fail_start(&rig, 2, life);
	}
	rig_expect(&rig, "spawn 2.1, spawn 2.2, spawn 2.3");
	expect_stop(&rig, "three new workers in a row did not become ready", 3);
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, send 1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(workers_that_die_of_their_first_task_stop_a_restart)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	config.policy.attempts = 10;
	config.hard_limit = MTIME_NEVER;
	rig_begin(&rig, config, 9);
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	for (uint32_t life = 1; life <= 3; life++) {
		rig_ready(&rig, 2, life);
		rig_turn(&rig);
		ck_assert_ptr_nonnull(strstr(rig.done, "send 2:"));
		rig_fail_start(&rig, 2, life);
	}
	expect_stop(&rig, "three new workers in a row ended before they answered anything", 3);
	rig_answer(&rig, 0, 200); /* it was to leave for the new one, and has stayed */
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "send 0:"));
	rig_end(&rig);
}
END_TEST

/* Workers that never were ready count until one is, useless ones until one has answered. */
START_TEST(failures_that_are_not_in_a_row_do_not_stop_a_restart)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 40);
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	rig_fail_start(&rig, 1, 1);
	rig_fail_start(&rig, 1, 2);
	for (uint32_t life = 3; life <= 4; life++) {
		rig_ready(&rig, 1, life);
		rig_turn(&rig);
		rig_gone(&rig, 1, life); /* of its task */
		rig_wait(&rig, 9 * MTIME_SECOND);
	}
	rig_ready(&rig, 1, 5);
	rig_turn(&rig);
	rig_done(&rig, 1, 5);
	rig_gone(&rig, 1, 5);
	rig_turn(&rig);
	rig_ready(&rig, 1, 6);
	rig_answer(&rig, 0, 200); /* the old one, which leaves */
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.told, "ROLL_STOPS"));
	ck_assert_ptr_nonnull(strstr(rig.told, "ROLL_ENDS"));
	rig_end(&rig);
}
END_TEST

/* An idle worker was asked to leave at once: it leaves, and the new one starts again. */
START_TEST(a_worker_that_was_asked_to_leave_is_not_kept)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	for (uint32_t life = 1; life <= 3; life++) {
		rig_ready(&rig, 2, life);
		rig_turn(&rig);
		rig_gone(&rig, 2, life);
		if (life < 3)
			rig_wait(&rig, life * MTIME_SECOND);
	}
	rig_turn(&rig);
	rig_expect(&rig, "spawn 2.1, quit 0.1, spawn 2.2, spawn 2.3");
	ck_assert_ptr_nonnull(strstr(rig.told, "ROLL_STOPS"));
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, 4 * MTIME_SECOND);
	rig_expect(&rig, "spawn 2.4");
	rig_end(&rig);
}
END_TEST

START_TEST(a_lack_of_memory_stops_a_restart)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	rig.slots_max = 2;
	rig_command(&rig, COMMAND_RESTART);
	rig_turn(&rig);
	expect_stop(&rig, "there is no memory for one worker more", 0);
	rig_end(&rig);
}
END_TEST

static Suite *stops_suite(void)
{
	Suite *suite = suite_create("core/roll_stops");
	UNIT_CASE(suite, "given up", a_command_that_does_not_start_stops_a_restart,
		workers_that_die_of_their_first_task_stop_a_restart,
		failures_that_are_not_in_a_row_do_not_stop_a_restart,
		a_worker_that_was_asked_to_leave_is_not_kept, a_lack_of_memory_stops_a_restart);
	return suite;
}

UNIT_MAIN(stops_suite)
