/* Recycling together with other events: crashes, restarts, scaling, a drain. */
#include "core/pool_facts.h"
#include "unit/support/core/keyed.h"

static void configure(struct rig *rig, uint16_t workers, struct recycle_limits limits)
{
	struct pool_config config = rig_recycling(workers, 1, limits);
	rig_step(rig, (struct event){.kind = COMMAND,
			      .command = {.what = COMMAND_CONFIGURE, .config = &config}});
}

/* An eighth of them at once; the others wait for their turn. */
START_TEST(not_all_workers_are_replaced_at_once)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(16, 1, (struct recycle_limits){.memory = 100}));
	for (uint16_t slot = 0; slot < 16; slot++)
		rig_memory(&rig, slot, 1, 101);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 16.1, spawn 17.1");
	rig_ready(&rig, 16, 1);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1");
	rig_ready(&rig, 17, 1);
	rig_turn(&rig);
	rig_expect(&rig, "quit 1.1");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, ""); /* while they are on their way out */
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2");
	rig_end(&rig);
}
END_TEST

START_TEST(the_idle_worker_of_those_due_leaves_first)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(2, 1, (struct recycle_limits){.memory = 100}));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_memory(&rig, 0, 1, 101);
	rig_memory(&rig, 1, 1, 101);
	rig_turn(&rig);
	rig_ready(&rig, 2, 1);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "quit 1.1");
	rig_end(&rig);
}
END_TEST

/* A due worker that ends by itself is replaced by a new one: no spare is needed. */
START_TEST(a_due_worker_that_dies_is_replaced_in_its_slot)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(2, 1, (struct recycle_limits){.memory = 100}));
	rig_memory(&rig, 0, 1, 101);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 2.1");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, ""); /* the one on its way takes its place */
	rig_ready(&rig, 2, 1);
	rig_turn(&rig);
	ck_assert_uint_eq(pool_facts(rig.pool).ready, 2);
	rig_end(&rig);
}
END_TEST

/* The restart replaces all of them; then none is due. */
START_TEST(a_restart_has_precedence)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(1, 1, (struct recycle_limits){.memory = 100}));
	rig_memory(&rig, 0, 1, 101);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.1");
	rig_command(&rig, COMMAND_RESTART);
	rig_expect(&rig, "kill 1.1");
	rig_gone(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.2");
	rig_ready(&rig, 1, 2);
	rig_memory(&rig, 1, 2, 101);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	/* The restart has ended: now the next one is replaced, in its turn. */
	rig_expect(&rig, "spawn 0.2");
	rig_end(&rig);
}
END_TEST

START_TEST(scaling_down_dismisses_due_workers)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(3, 1, (struct recycle_limits){.memory = 100}));
	rig_memory(&rig, 0, 1, 101);
	rig_scale(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1");
	rig_end(&rig);
}
END_TEST

/* It is still due, and is kept only if there is no other one. */
START_TEST(a_leaving_worker_is_not_kept_again)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(4, 1, (struct recycle_limits){.memory = 100}));
	rig_scale(&rig, 2);
	rig_gone(&rig, 2, 1);
	rig_gone(&rig, 3, 1);
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_memory(&rig, 0, 1, 101);
	rig_turn(&rig);
	rig_ready(&rig, 2, 2);
	rig_turn(&rig); /* 0 leaves when its task is done */
	rig_forget(&rig);
	rig_scale(&rig, 3);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 3.2");
	ck_assert_uint_eq(pool_facts(rig.pool).wanted, 3);
	rig_end(&rig);
}
END_TEST

START_TEST(a_due_worker_stays_if_there_is_no_memory_for_another)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(1, 1, (struct recycle_limits){.memory = 100}));
	rig.slots_max = 1;
	rig_memory(&rig, 0, 1, 101);
	rig_turn(&rig);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "");
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

START_TEST(limits_may_change_while_a_worker_works)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(2, 1, (struct recycle_limits){.tasks = 100}));
	rig_deliver(&rig, 1, 3);
	rig_turn(&rig);
	rig_done(&rig, 0, 1);
	rig_turn(&rig);
	rig_done(&rig, 1, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	configure(&rig, 2, (struct recycle_limits){.tasks = 10});
	rig_turn(&rig);
	rig_expect(&rig, ""); /* they have done fewer */
	configure(&rig, 2, (struct recycle_limits){.age = MTIME_MINUTE});
	configure(&rig, 2, (struct recycle_limits){.age = 8 * MTIME_MINUTE});
	rig_wait(&rig, 6 * MTIME_MINUTE);
	rig_expect(&rig, "");
	rig_wait(&rig, 2 * MTIME_MINUTE);
	ck_assert_ptr_nonnull(strstr(rig.done, "spawn 2.1"));
	rig_end(&rig);
}
END_TEST

/* Each worker of sixteen has done two tasks, and is idle, when one is the maximum. Until another
 * one is ready, it works on. */
START_TEST(a_lower_limit_of_tasks_does_not_end_all_idle_workers)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(16, 1, (struct recycle_limits){.tasks = 100}));
	for (unsigned round = 0; round < 2; round++) {
		rig_deliver(&rig, 1 + 16 * round, 16 + 16 * round);
		rig_turn(&rig);
		for (uint16_t slot = 0; slot < 16; slot++)
			rig_done(&rig, slot, 1);
		rig_turn(&rig);
	}
	rig_forget(&rig);
	configure(&rig, 16, (struct recycle_limits){.tasks = 1});
	rig_expect(&rig, "");
	rig_turn(&rig);
	rig_expect(&rig, "spawn 16.1, spawn 17.1");
	ck_assert_int_eq(pool_slot_facts(rig.pool, 15).due, RECYCLE_TASKS);
	rig_deliver(&rig, 33, 48);
	rig_turn(&rig);
	for (uint16_t slot = 0; slot < 16; slot++)
		rig_done(&rig, slot, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_ready(&rig, 16, 1);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1");
	rig_end(&rig);
}
END_TEST

/* The former limit stays: a worker that was to get one task more gets no more than that. */
START_TEST(a_worker_over_a_lower_limit_keeps_the_former_one)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(1, 1, (struct recycle_limits){.tasks = 3}));
	rig_deliver(&rig, 1, 4);
	rig_turn(&rig);
	rig_done(&rig, 0, 1);
	rig_turn(&rig);
	rig_done(&rig, 0, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	configure(&rig, 1, (struct recycle_limits){.tasks = 1});
	rig_turn(&rig);
	configure(&rig, 1, (struct recycle_limits){.tasks = 2}); /* it is due already */
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.1");
	rig_done(&rig, 0, 1);
	rig_expect(&rig, "quit 0.1");
	rig_end(&rig);
}
END_TEST

/* 1 leaves for good, and is not replaced: the worker that starts in its slot is for 0. */
START_TEST(new_limits_do_not_apply_to_leaving_workers)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(2, 1, (struct recycle_limits){.tasks = 100}));
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_scale(&rig, 1);
	rig_forget(&rig);
	configure(&rig, 1, (struct recycle_limits){.tasks = 1});
	ck_assert_int_eq(pool_slot_facts(rig.pool, 1).due, RECYCLE_NOT);
	ck_assert_int_eq(pool_slot_facts(rig.pool, 0).due, RECYCLE_TASKS);
	rig_done(&rig, 1, 1);
	rig_gone(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "quit 1.1, spawn 1.2, ack 2");
	rig_end(&rig);
}
END_TEST

/* 1 has a task and leaves; then the limit becomes 2; then it stays after all, and gets a second
 * task, but no third one. */
START_TEST(a_leaving_worker_that_is_kept_has_the_new_limits)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(2, 1, (struct recycle_limits){.tasks = 100}));
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_scale(&rig, 1);
	configure(&rig, 1, (struct recycle_limits){.tasks = 2});
	rig_scale(&rig, 2);
	rig_deliver(&rig, 3, 3);
	rig_done(&rig, 1, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_done(&rig, 1, 1);
	rig_expect(&rig, "quit 1.1");
	rig_end(&rig);
}
END_TEST

/* Nothing else makes the pool look at ages. */
START_TEST(a_leaving_worker_that_is_kept_has_the_new_age)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(2, 1, (struct recycle_limits){.age = 100 * MTIME_MINUTE}));
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_scale(&rig, 1);
	configure(&rig, 1, (struct recycle_limits){.age = 10 * MTIME_MINUTE});
	rig_wait(&rig, 15 * MTIME_MINUTE); /* the worker that stays is being replaced */
	rig_scale(&rig, 3);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_turn(&rig);
	ck_assert_int_eq(pool_slot_facts(rig.pool, 1).due, RECYCLE_AGE);
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_replaces_no_worker)
{
	struct rig rig;
	rig_start(&rig,
		rig_recycling(2, 1, (struct recycle_limits){.memory = 100, .age = MTIME_MINUTE}));
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_memory(&rig, 0, 1, 101);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_wait(&rig, 10 * MTIME_MINUTE);
	rig_expect(&rig, "rest");
	rig_done(&rig, 0, 1);
	rig_done(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1, quit 1.1, ack 2*, close");
	rig_end(&rig);
}
END_TEST

/* The other one that is ready would be one of two. */
START_TEST(a_worker_whose_session_is_aborted_stands_in_for_none_that_is_due)
{
	struct rig rig;
	struct pool_config config = keyed_config(2);
	config.recycle.memory = 100;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a");
	rig_memory(&rig, 1, 1, 101);
	rig_turn(&rig);
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_KEEP, "a");
	rig_wait(&rig, 5 * MTIME_SECOND - 1);
	rig_forget(&rig);
	rig_ready(&rig, 2, 1);
	rig.now++;
	rig_turn(&rig);
	rig_expect(&rig, "kill 0.1");
	rig_end(&rig);
}
END_TEST

/* A worker whose task an operator killed, and whose grace ends in this turn, stands in for none. */
START_TEST(a_worker_whose_grace_ends_stands_in_for_none_that_is_due)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(2, 1, (struct recycle_limits){.memory = 100}));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_memory(&rig, 1, 1, 101);
	rig_turn(&rig);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_KILL, .slot = 0, .task_id = 1}});
	rig_wait(&rig, 5 * MTIME_SECOND - 1);
	rig_ready(&rig, 2, 1);
	rig_forget(&rig);
	rig.now++;
	rig_turn(&rig);
	rig_expect(&rig, "term 0.1");
	rig_end(&rig);
}
END_TEST

static Suite *suite_of_meanwhile(void)
{
	Suite *suite = suite_create("core/recycle_meanwhile");
	UNIT_CASE(suite, "meanwhile", not_all_workers_are_replaced_at_once,
		the_idle_worker_of_those_due_leaves_first,
		a_due_worker_that_dies_is_replaced_in_its_slot, a_restart_has_precedence,
		scaling_down_dismisses_due_workers, a_leaving_worker_is_not_kept_again,
		a_due_worker_stays_if_there_is_no_memory_for_another,
		limits_may_change_while_a_worker_works,
		a_lower_limit_of_tasks_does_not_end_all_idle_workers,
		a_worker_over_a_lower_limit_keeps_the_former_one,
		new_limits_do_not_apply_to_leaving_workers,
		a_leaving_worker_that_is_kept_has_the_new_limits,
		a_leaving_worker_that_is_kept_has_the_new_age, a_drain_replaces_no_worker,
		a_worker_whose_session_is_aborted_stands_in_for_none_that_is_due,
		a_worker_whose_grace_ends_stands_in_for_none_that_is_due);
	return suite;
}

UNIT_MAIN(suite_of_meanwhile)
