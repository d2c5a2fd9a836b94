/* How a pool leaves: drain and force. */
#include "unit/support/core/rig.h"

static void expect_quiet(struct rig *rig, bool quiet)
{
	ck_assert_int_eq(pool_is_quiet(rig->pool), quiet);
}

/* A drained pool without deliveries needs no further event to be quiet. */
START_TEST(a_rest_reported_after_the_turn_asks_for_another_turn)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_command(&rig, COMMAND_DRAIN);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	ck_assert_int_eq(pool_deadline(rig.pool), MTIME_NEVER);
	rig_source_fact(&rig, SOURCE_RESTED);
	ck_assert_int_le(pool_deadline(rig.pool), rig.now);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "close");
	ck_assert_int_eq(pool_deadline(rig.pool), MTIME_NEVER);
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_finishes_confirms_acks_and_requeues)
{
	struct rig rig;
	rig_begin(&rig, rig_config(3, 2), 8); /* 6 in pipes, 7 and 8 wait */
	rig_answer(&rig, 2, 200);
	rig_answer(&rig, 2, 200);
	rig_command(&rig, COMMAND_DRAIN);
	rig_command(&rig, COMMAND_DRAIN);
	rig_expect(&rig, "rest, quit 2.1");
	rig_turn(&rig);
	rig_expect(&rig, "ack 3, ack 6");
	rig_deliver(&rig, 9, 9); /* it was on its way */
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_expect(&rig, "requeue 7, requeue 8, requeue 9");
	rig_deliver(&rig, 10, 10); /* it should not have come */
	rig_expect(&rig, "requeue 10");
	rig_answer(&rig, 0, 201);
	rig_answer(&rig, 0, 500);
	rig_answer(&rig, 1, 200);
	rig_answer(&rig, 1, 200);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 reply 1, publish 2 retry 4, quit 0.1, quit 1.1, ack 2, ack 5");
	for (uint16_t slot = 0; slot < 3; slot++)
		rig_gone(&rig, slot, 1);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_outbox_fact(&rig, CONFIRMED, 2, true);
	rig_turn(&rig);
	rig_expect(&rig, "ack 4*, close");
	expect_quiet(&rig, false);
	rig_source_fact(&rig, SOURCE_RESTED); /* once more, for nothing */
	rig_expect(&rig, "");
	rig.told[0] = 0;
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_expect_told(&rig, "DRAINED");
	expect_quiet(&rig, true);
	ck_assert(!pool_was_cut_short(rig.pool));
	ck_assert_int_eq(pool_deadline(rig.pool), MTIME_NEVER);
	rig_turn(&rig);
	rig_expect_told(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(a_worker_that_does_not_leave_is_killed)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 2));
	rig_command(&rig, COMMAND_DRAIN);
	rig_expect(&rig, "rest, quit 0.1");
	rig_answer(&rig, 0, 200); /* what it still says is not heard, and no reason to kill it */
	rig_broken(&rig, 0, 1);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "term 0.1");
	ck_assert_str_eq(rig.what, "grace after quit");
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "kill 0.1");
	rig.told[0] = 0;
	rig_gone(&rig, 0, 1);
	rig_expect_told(&rig, "WORKER_LEFT");
	rig_end(&rig);
}
END_TEST

START_TEST(a_crash_during_a_drain_is_not_replaced)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 3), 3);
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "rest, publish 1 retry 1, requeue 2, requeue 3");
	rig_expect_told(&rig, "WORKER_DIED, TASK_RETRIED, TASK_UNSTARTED, TASK_UNSTARTED");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_expect(&rig, "ack 1, close");
	expect_quiet(&rig, true);
	rig_end(&rig);
}
END_TEST

/* Before SOURCE_RESTED, what is handed back would be delivered again at once. */
START_TEST(tasks_are_not_requeued_before_the_consumer_is_gone)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 3);
	rig_command(&rig, COMMAND_DRAIN);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "rest, publish 1 retry 1");
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_expect(&rig, "requeue 2, requeue 3");
	rig_end(&rig);
}
END_TEST

START_TEST(refused_parcels_are_retried_during_a_drain)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 1);
	rig_answer(&rig, 0, 500);
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_outbox_fact(&rig, REFUSED, 1, false);
	rig_gone(&rig, 0, 1);
	rig_forget(&rig);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "publish 2 retry 1");
	expect_quiet(&rig, false);
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_without_channels_waits_for_nothing)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 2), 3);
	rig_answer(&rig, 0, 201);
	rig_outbox_down(&rig, LOSS_CONNECTION);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_expect(&rig, "rest");
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 1, 200);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1, quit 1.1, close");
	rig_gone(&rig, 0, 1);
	expect_quiet(&rig, false);
	rig_gone(&rig, 1, 1);
	expect_quiet(&rig, true);
	rig_source_up(&rig); /* it was on its way */
	rig_expect(&rig, "close");
	expect_quiet(&rig, false);
	rig_deliver(&rig, 1, 1);
	rig_source_fact(&rig, SOURCE_DOWN);
	expect_quiet(&rig, true);
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_before_the_first_event_ends)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 2);
	rig_new(&rig, &config);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "close");
	expect_quiet(&rig, true);
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_does_not_wait_for_a_booting_worker)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 2);
	rig_new(&rig, &config);
	rig_turn(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_expect(&rig, "spawn 0.1, kill 0.1");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "close");
	expect_quiet(&rig, true);
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_of_a_pool_without_workers_requeues)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_expect(&rig, "requeue 2");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1, close");
	rig_end(&rig);
}
END_TEST

/* It is quiet at once, and then the channel delivers that was being opened. */
START_TEST(a_drained_pool_requeues_what_a_late_channel_delivers)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 0);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_gone(&rig, 0, 1);
	rig_command(&rig, COMMAND_DRAIN);
	expect_quiet(&rig, true);
	rig_source_up(&rig);
	expect_quiet(&rig, false);
	rig_deliver(&rig, 1, 2);
	rig_forget(&rig);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_expect(&rig, "requeue 1, requeue 2");
	rig_turn(&rig);
	rig_expect(&rig, "close");
	rig_source_fact(&rig, SOURCE_DOWN);
	expect_quiet(&rig, true);
	rig_end(&rig);
}
END_TEST

START_TEST(force_kills_requeues_and_closes)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 2), 5);
	rig_answer(&rig, 0, 201);
	rig_answer(&rig, 1, 200);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_command(&rig, COMMAND_FORCE);
	rig_command(&rig, COMMAND_DRAIN);
	rig_expect(&rig, "kill 0.1, requeue 3, kill 1.1, requeue 4, requeue 5");
	rig_expect_told(&rig, "TASK_CUT_SHORT, TASK_CUT_SHORT, TASK_UNSTARTED");
	rig_turn(&rig);
	rig_expect(&rig, "ack 2, close");
	rig_answer(&rig, 0, 200);
	rig_confirm(&rig, 1); /* too late: the close gives it back */
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_gone(&rig, 0, 1);
	rig_gone(&rig, 1, 1);
	expect_quiet(&rig, false);
	rig_source_fact(&rig, SOURCE_DOWN);
	expect_quiet(&rig, true);
	ck_assert(pool_was_cut_short(rig.pool));
	rig_end(&rig);
}
END_TEST

START_TEST(force_after_a_drain_cuts_it_short)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 2), 4);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 0, 200);
	rig_command(&rig, COMMAND_DRAIN);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_FORCE); /* orphans in pipes: nothing to say of them */
	rig_expect(&rig, "kill 0.1, kill 1.1");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_expect(&rig, "close");
	rig_gone(&rig, 0, 1);
	rig_gone(&rig, 1, 1);
	expect_quiet(&rig, true);
	ck_assert(pool_was_cut_short(rig.pool));
	rig_end(&rig);
}
END_TEST

START_TEST(force_on_a_quiet_pool_cuts_nothing)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_new(&rig, &config);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_turn(&rig);
	ck_assert(!pool_was_cut_short(rig.pool));
	expect_quiet(&rig, true);
	rig_end(&rig);
}
END_TEST

/* Workers without a task are killed, and tasks that none has begun go back, as in a drain. */
START_TEST(force_without_begun_tasks_cuts_nothing)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	rig_answer(&rig, 0, 200);
	rig_command(&rig, COMMAND_PAUSE); /* the second task waits */
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_RESTED);
	ck_assert(!pool_has_unfinished(rig.pool));
	rig_forget(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_expect(&rig, "kill 0.1, requeue 2");
	rig_turn(&rig);
	rig_expect(&rig, "close");
	rig_gone(&rig, 0, 1);
	ck_assert(pool_was_cut_short(rig.pool)); /* the broker may not have got the ack */
	rig_source_fact(&rig, SOURCE_DOWN);
	expect_quiet(&rig, true);
	ck_assert(!pool_was_cut_short(rig.pool));
	rig_end(&rig);
}
END_TEST

START_TEST(force_cuts_an_unconfirmed_reply_short)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	rig_answer(&rig, 0, 201);
	ck_assert(pool_has_unfinished(rig.pool));
	rig_command(&rig, COMMAND_FORCE);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_source_fact(&rig, SOURCE_DOWN);
	expect_quiet(&rig, true);
	ck_assert(pool_was_cut_short(rig.pool));
	rig_end(&rig);
}
END_TEST

/* With dead_letter: broker a reply may be judged while the channel is being closed. */
START_TEST(a_closing_channel_gets_no_reject)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 2);
	config.policy.dead_letter_by_broker = true;
	rig_begin(&rig, config, 2);
	rig_answer(&rig, 0, 201);
	rig_command(&rig, COMMAND_FORCE);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_outbox_fact(&rig, RETURNED, 1, false);
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

static Suite *drain_suite(void)
{
	Suite *suite = suite_create("core/drain");
	UNIT_CASE(suite, "drain", a_drain_finishes_confirms_acks_and_requeues,
		a_worker_that_does_not_leave_is_killed, a_crash_during_a_drain_is_not_replaced,
		tasks_are_not_requeued_before_the_consumer_is_gone,
		refused_parcels_are_retried_during_a_drain,
		a_drain_without_channels_waits_for_nothing, a_drain_before_the_first_event_ends,
		a_drain_does_not_wait_for_a_booting_worker,
		a_drained_pool_requeues_what_a_late_channel_delivers,
		a_drain_of_a_pool_without_workers_requeues,
		a_rest_reported_after_the_turn_asks_for_another_turn);
	UNIT_CASE(suite, "force", force_kills_requeues_and_closes,
		force_after_a_drain_cuts_it_short, force_on_a_quiet_pool_cuts_nothing,
		force_without_begun_tasks_cuts_nothing, force_cuts_an_unconfirmed_reply_short,
		a_closing_channel_gets_no_reject);
	return suite;
}

UNIT_MAIN(drain_suite)
