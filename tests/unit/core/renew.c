/* Messages that come back again and again: first renewed, then run alone, then given up. */
#include "unit/support/core/rig.h"

static void deliver(struct rig *rig, uint64_t tag, uint32_t returns, uint16_t renewed)
{
	struct delivery *delivery = rig_delivery(tag);
	delivery->returns = returns;
	delivery->renewed = renewed;
	delivery->redelivered = returns > 0;
	delivery->attempt = 1;
	rig_deliver_this(rig, delivery);
}

START_TEST(a_task_that_came_back_ten_times_is_renewed)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	deliver(&rig, 1, 9, 9);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1/2");
	deliver(&rig, 2, 10, 0);
	rig_expect(&rig, "publish 1 renew 2");
	rig_expect_told(&rig, "TASK_RENEWED");
	deliver(&rig, 3, UINT32_MAX, 9);
	rig_expect(&rig, "publish 2 renew 3");
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_outbox_fact(&rig, CONFIRMED, 2, true);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2, ack 3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_renewed_ten_times_is_given_up)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	deliver(&rig, 1, 10, 10);
	rig_expect(&rig, "publish 1 dead 1");
	rig_expect_told(&rig, "TASK_GIVEN_UP");
	ck_assert_int_eq(rig.reason, REASON_COMES_BACK);
	ck_assert_str_eq(reason_name(rig.reason), "comes-back");
	rig_end(&rig);
	struct pool_config config = rig_config(1, 1);
	config.policy.dead_letter_by_broker = true;
	rig_start(&rig, config);
	deliver(&rig, 1, 10, UINT16_MAX);
	rig_expect(&rig, "reject 1");
	rig_end(&rig);
}
END_TEST

START_TEST(an_invalid_delivery_is_not_renewed)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	struct delivery *delivery = rig_delivery(1);
	delivery->returns = 10;
	delivery->invalid = REASON_TOO_LARGE;
	rig_deliver_this(&rig, delivery);
	rig_expect(&rig, "publish 1 dead 1");
	ck_assert_int_eq(rig.reason, REASON_TOO_LARGE);
	rig_end(&rig);
}
END_TEST

/* The drain waits for its confirm as for any other. */
START_TEST(a_drain_waits_for_the_confirm_of_a_renewal)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_command(&rig, COMMAND_DRAIN);
	deliver(&rig, 1, 10, 0);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "rest, quit 0.1, publish 1 renew 1");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1, close");
	rig_end(&rig);
}
END_TEST

START_TEST(an_exclusive_task_runs_alone_in_its_pool)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 2));
	deliver(&rig, 1, 1, 2);
	deliver(&rig, 2, 1, 2);
	deliver(&rig, 3, 1, 3);
	deliver(&rig, 4, 0, 0);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1/2, send 1:2/2");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1"); /* nobody overtakes it */
	rig_answer(&rig, 1, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:3/2, ack 2");
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_answer(&rig, 1, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:4/2, ack 3");
	rig_end(&rig);
}
END_TEST

/* Any publisher can write that it was renewed; only the broker can write that it came back. */
START_TEST(a_forged_number_of_renewals_delays_no_other_task)
{
	struct rig rig;
	rig_start(&rig, rig_config(3, 1));
	deliver(&rig, 1, 0, 0);
	deliver(&rig, 2, 0, UINT16_MAX);
	deliver(&rig, 3, 0, 0);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1/2, send 1:2/2, send 2:3/2");
	rig_end(&rig);
}
END_TEST

START_TEST(two_exclusive_tasks_run_one_after_the_other)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 2));
	deliver(&rig, 1, 1, 3);
	deliver(&rig, 2, 1, 10);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1/2");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 1");
	rig_turn(&rig);
	rig_expect(&rig, "send 1:2/2");
	rig_end(&rig);
}
END_TEST

/* A worker still has a task of the lost channel: the exclusive one waits for its end too. */
START_TEST(an_exclusive_task_waits_for_orphans)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 1));
	deliver(&rig, 1, 0, 0);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	deliver(&rig, 1, 1, 3);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1/2");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:1/2");
	rig_end(&rig);
}
END_TEST

/* Its worker is stopped, with tasks behind the head: they leave the pipe with it. */
START_TEST(an_exclusive_task_waits_for_a_stopped_pipe)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 2));
	deliver(&rig, 1, 0, 0);
	deliver(&rig, 2, 0, 0);
	deliver(&rig, 3, 0, 0);
	rig_turn(&rig);
	deliver(&rig, 4, 1, 3);
	rig_answer(&rig, 1, 200);
	rig_broken(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1/2, send 1:2/2, send 0:3/2, kill 0.1, ack 2");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig); /* the one that was never started is before it */
	rig_expect(&rig, "publish 1 retry 1, send 1:3/2");
	rig_answer(&rig, 1, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:4/2, ack 3");
	rig_end(&rig);
}
END_TEST

static Suite *renew_suite(void)
{
	Suite *suite = suite_create("core/renew");
	UNIT_CASE(suite, "arrival", a_task_that_came_back_ten_times_is_renewed,
		a_task_renewed_ten_times_is_given_up, an_invalid_delivery_is_not_renewed,
		a_drain_waits_for_the_confirm_of_a_renewal);
	UNIT_CASE(suite, "alone", an_exclusive_task_runs_alone_in_its_pool,
		a_forged_number_of_renewals_delays_no_other_task,
		two_exclusive_tasks_run_one_after_the_other, an_exclusive_task_waits_for_orphans,
		an_exclusive_task_waits_for_a_stopped_pipe);
	return suite;
}

UNIT_MAIN(renew_suite)
