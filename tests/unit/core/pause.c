/* A pause: no message is taken and no task begun; workers finish the tasks that they have. */
#include "unit/support/core/rig.h"

static void pause_and_rest(struct rig *rig)
{
	rig_command(rig, COMMAND_PAUSE);
	rig_expect(rig, "rest");
	rig_source_fact(rig, SOURCE_RESTED);
	rig_turn(rig);
	rig_expect(rig, "");
}

START_TEST(a_pause_finishes_tasks_of_workers_and_starts_none)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 4);
	rig_command(&rig, COMMAND_PAUSE);
	rig_deliver(&rig, 5, 5); /* it was on its way */
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "rest, ack 1");
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_answer(&rig, 0, 201);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 reply 2");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2");
	rig_expect_told(&rig, "PAUSED, TASK_DONE, TASK_DONE");
	rig_end(&rig);
}
END_TEST

/* A broker may count each return, but tasks must not stay here for ever. */
START_TEST(waiting_tasks_are_requeued_after_a_minute)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 3);
	pause_and_rest(&rig);
	rig_answer(&rig, 0, 200);
	rig_wait(&rig, 59 * MTIME_SECOND);
	rig_expect(&rig, "ack 1");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "requeue 2, requeue 3");
	rig_expect_told(&rig, "PAUSED, TASK_DONE, TASK_UNSTARTED, TASK_UNSTARTED");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_end(&rig);
}
END_TEST

START_TEST(a_short_pause_keeps_waiting_tasks)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 3);
	pause_and_rest(&rig);
	rig_answer(&rig, 0, 200);
	rig_wait(&rig, 59 * MTIME_SECOND);
	rig_command(&rig, COMMAND_RESUME);
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1, consume 6, send 0:2");
	rig_expect_told(&rig, "PAUSED, TASK_DONE, RESUMED");
	rig_wait(&rig, 30 * MTIME_SECOND);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(a_pause_outlives_the_channel)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	pause_and_rest(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_source_up(&rig); /* the channel was on its way to consume */
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "rest");
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_answer(&rig, 0, 200); /* of the lost channel */
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 7, send 0:1");
	rig_end(&rig);
}
END_TEST

/* Both are read in one turn. */
START_TEST(a_cancel_does_not_end_a_pause)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	rig_command(&rig, COMMAND_PAUSE);
	rig_command(&rig, COMMAND_PAUSE);
	rig_source_fact(&rig, SOURCE_CANCELLED);
	rig_turn(&rig);
	rig_expect(&rig, "rest");
	rig_expect_told(&rig, "PAUSED");
	rig_end(&rig);
}
END_TEST

START_TEST(a_pause_may_begin_before_the_channel_is_up)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_new(&rig, &config);
	rig_command(&rig, COMMAND_PAUSE);
	rig_turn(&rig);
	rig_ready(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.1");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_end(&rig);
}
END_TEST

START_TEST(a_new_worker_does_not_end_a_pause)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 retry 1, rest");
	rig_forget(&rig);
	rig_command(&rig, COMMAND_PAUSE);
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 7");
	rig_expect_told(&rig, "PAUSED, WORKER_READY, RESUMED, SOURCE_RESUMES");
	rig_end(&rig);
}
END_TEST

/* With a full window it consumes again when a task is done; meanwhile nothing is handed back. */
START_TEST(repeated_pauses_do_not_add_up_deliveries)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	config.prefetch = 2;
	config.hard_limit = MTIME_NEVER;
	rig_begin(&rig, config, 2);
	for (int i = 0; i < 10; i++) {
		rig_command(&rig, COMMAND_PAUSE);
		rig_source_fact(&rig, SOURCE_RESTED);
		rig_command(&rig, COMMAND_RESUME);
		rig_wait(&rig, 2 * MTIME_MINUTE);
		rig_expect(&rig, i ? "" : "rest");
	}
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(
		&rig, "send 0:2, ack 1, consume 1"); /* in this turn: no other may come for long */
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_ends_a_pause)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	rig_command(&rig, COMMAND_PAUSE);
	rig_command(&rig, COMMAND_DRAIN);
	rig_expect(&rig, "rest");
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "requeue 2, quit 0.1, ack 1, close");
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_of_a_rested_pool_requeues_at_once)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	pause_and_rest(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_expect(&rig, "requeue 2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_force_ends_a_pause)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	pause_and_rest(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_turn(&rig);
	rig_expect(&rig, "kill 0.1, requeue 1, requeue 2, close");
	rig_end(&rig);
}
END_TEST

START_TEST(a_stopping_pool_refuses_commands)
{
	static const enum command commands[] = {
		COMMAND_PAUSE, COMMAND_RESUME, COMMAND_SCALE, COMMAND_RESTART};
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	rig_command(&rig, COMMAND_DRAIN);
	rig_expect(&rig, "rest");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		rig_command(&rig, commands[i]);
		rig_turn(&rig);
		rig_expect(&rig, "");
		rig_expect_told(&rig, "COMMAND_REFUSED");
		ck_assert_str_eq(rig.what, "the pool is stopping");
	}
	rig_end(&rig);
}
END_TEST

static Suite *pause_suite(void)
{
	Suite *suite = suite_create("core/pause");
	UNIT_CASE(suite, "pause", a_pause_finishes_tasks_of_workers_and_starts_none,
		waiting_tasks_are_requeued_after_a_minute, a_short_pause_keeps_waiting_tasks,
		a_pause_outlives_the_channel, a_cancel_does_not_end_a_pause,
		a_pause_may_begin_before_the_channel_is_up, a_new_worker_does_not_end_a_pause,
		repeated_pauses_do_not_add_up_deliveries);
	UNIT_CASE(suite, "stop", a_drain_ends_a_pause, a_drain_of_a_rested_pool_requeues_at_once,
		a_force_ends_a_pause, a_stopping_pool_refuses_commands);
	return suite;
}

UNIT_MAIN(pause_suite)
