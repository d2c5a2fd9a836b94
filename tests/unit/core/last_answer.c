/* Status 205: the task is done, and its worker ends. Nothing else that the worker has is to blame.
 */
#include "core/pool_facts.h"
#include "unit/support/core/keyed.h"

/* The worker of slot 0 answers task 1 like that, and is gone. */
static void answer_last(struct rig *rig)
{
	rig_answer_task(rig, 0, 1, 1, STATUS_DONE_LAST);
	rig_expect(rig, "kill 0.1");
	rig_expect_told(rig, "TASK_DONE");
	rig_gone(rig, 0, 1);
}

START_TEST(what_waits_in_its_pipe_counts_no_attempt)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 2);
	answer_last(&rig);
	rig_expect_told(&rig, "WORKER_LEFT");
	rig_turn(&rig); /* the next one begins at once: this is no failure */
	rig_expect(&rig, "spawn 0.2, ack 1");
	ck_assert_uint_eq(pool_facts(rig.pool).failing, 0);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2");
	rig_gone(&rig, 0, 2); /* the first attempt of this one */
	rig_expect(&rig, "publish 1 retry 2");
	ck_assert_uint_eq(rig.attempt, 1);
	rig_end(&rig);
}
END_TEST

/* In its last attempt, too. */
START_TEST(one_that_was_accepted_is_no_dead_letter)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	config.policy.attempts = 1;
	rig_begin(&rig, config, 1);
	rig_answer(&rig, 0, STATUS_ACCEPTED);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_forget(&rig);
	answer_last(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2");
	rig_end(&rig);
}
END_TEST

START_TEST(of_several_open_tasks_no_other_is_a_suspect)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 2), 2);
	answer_last(&rig);
	rig_expect_told(&rig, "WORKER_LEFT");
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_deliver(&rig, 3, 3);
	rig_turn(&rig);
	rig_forget(&rig);
	ck_assert_uint_eq(pool_facts(rig.pool).in_pipes, 2); /* a suspect would be alone */
	rig_end(&rig);
}
END_TEST

/* It has no message that another worker could get. */
START_TEST(an_accepted_one_beside_it_becomes_a_dead_letter)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 2), 2);
	rig_answer_task(&rig, 0, 1, 2, STATUS_ACCEPTED);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2");
	rig_forget(&rig);
	answer_last(&rig);
	rig_expect(&rig, "publish 1 dead 2");
	ck_assert_int_eq(rig.reason, REASON_CRASHED);
	rig_end(&rig);
}
END_TEST

/* Its worker is the last one: no other one is started for them. */
START_TEST(while_the_pool_drains_those_behind_it_go_back)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 3), 3);
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_turn(&rig);
	rig_forget(&rig);
	answer_last(&rig);
	rig_expect(&rig, "requeue 2, requeue 3");
	rig_turn(&rig);
	rig_expect(&rig, "ack 1, close");
	rig_end(&rig);
}
END_TEST

START_TEST(nothing_that_follows_it_is_heard)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 2);
	rig_answer(&rig, 0, STATUS_DONE_LAST);
	rig_expect(&rig, "kill 0.1");
	rig_expect_told(&rig, "TASK_DONE");
	rig_answer(&rig, 0, STATUS_DONE);
	rig_expect_told(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(it_ends_a_task_of_a_session)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a");
	rig_turn(&rig);
	rig_forget(&rig);
	answer_last(&rig);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "ack 1"));
	rig_end(&rig);
}
END_TEST

static Suite *last_answer_suite(void)
{
	Suite *suite = suite_create("core/last_answer");
	UNIT_CASE(suite, "last answer", what_waits_in_its_pipe_counts_no_attempt,
		one_that_was_accepted_is_no_dead_letter,
		of_several_open_tasks_no_other_is_a_suspect,
		an_accepted_one_beside_it_becomes_a_dead_letter,
		while_the_pool_drains_those_behind_it_go_back, nothing_that_follows_it_is_heard,
		it_ends_a_task_of_a_session);
	return suite;
}

UNIT_MAIN(last_answer_suite)
