/* An operator kills one task: its worker is asked first, then ended; the task is retried or given
 * up as ordered, and no other task pays. */
#include "core/pool_facts.h"
#include "unit/support/core/keyed.h"

static struct rig rig;

static void order(uint16_t slot, uint64_t task_id, bool gives_up)
{
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_KILL,
				       .slot = slot,
				       .task_id = task_id,
				       .gives_up = gives_up}});
}

static void kill_task(uint64_t task_id)
{
	order(0, task_id, false);
}

static void give_up(uint64_t task_id)
{
	order(0, task_id, true);
}

/* One worker, which has begun the tasks 1 to count. */
static void begin_tasks(uint64_t count)
{
	rig_begin(&rig, rig_several(1, 3), count);
}

/* ---------- its worker ---------- */

START_TEST(the_worker_is_asked_then_terminated_then_killed)
{
	begin_tasks(3);
	kill_task(2);
	rig_expect(&rig, "cancel 0.1:2");
	rig_expect_told(&rig, "TASK_KILLED");
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "term 0.1");
	rig_expect_told(&rig, "WORKER_OVERDUE");
	ck_assert_str_eq(rig.what, "grace after an operator's kill");
	ck_assert_uint_eq(rig.culprit, 2);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "kill 0.1");
	rig_end(&rig);
}
END_TEST

/* The others are sent again together, so none of them is a suspect, and in their first attempt. */
START_TEST(others_go_back_uncounted)
{
	begin_tasks(3);
	kill_task(2);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_forget(&rig);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 2");
	rig_expect_told(&rig, "WORKER_DIED, TASK_RETRIED");
	ck_assert_int_eq(rig.reason, REASON_KILLED);
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, send 0:3");
	rig_end(&rig);
}
END_TEST

/* It ends in some other way before the grace is over: the operator's order counts. */
START_TEST(no_end_of_the_worker_makes_suspects)
{
	for (int how = 0; how < 4; how++) {
		struct pool_config config = rig_several(1, 3);
		config.recycle.memory_kill = 100;
		rig_begin(&rig, config, 3);
		give_up(2);
		rig_forget(&rig);
		if (how == 1)
			rig_broken(&rig, 0, 1);
		else if (how == 2)
			rig_broken_task(&rig, 0, 2);
		else if (how == 3)
			rig_memory(&rig, 0, 1, 101);
		rig_gone(&rig, 0, 1);
		rig_expect(&rig, how ? "kill 0.1, publish 1 dead 2" : "publish 1 dead 2");
		ck_assert_uint_eq(rig.culprit, 2);
		ck_assert_int_eq(rig.reason, REASON_KILLED);
		ck_assert_uint_eq(pool_facts(rig.pool).suspects, 0);
		rig_end(&rig);
	}
}
END_TEST

/* Its session was aborted; a is put back, and the operator's other order counts. */
START_TEST(the_end_of_an_aborted_session_does_not_save_a_killed_task)
{
	struct pool_config config = keyed_config(1);
	config.concurrency = 3;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a - -");
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_KEEP, "a");
	rig_wait(&rig, MTIME_SECOND);
	give_up(2);
	rig_forget(&rig);
	rig_wait(&rig, 4 * MTIME_SECOND);
	rig_expect(&rig, "kill 0.1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 dead 2");
	ck_assert_int_eq(rig.reason, REASON_KILLED);
	keyed_next_worker(&rig);
	rig_expect(&rig, "send 0:3, send 0:1"); /* first attempts */
	rig_end(&rig);
}
END_TEST

/* An error that names another task: both have failed, each for its own reason. */
START_TEST(another_task_that_breaks_the_protocol_pays_itself)
{
	begin_tasks(3);
	give_up(2);
	rig_broken_task(&rig, 0, 3);
	rig_forget(&rig);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 3, publish 2 dead 2");
	rig_end(&rig);
}
END_TEST

/* The hard limit of another task is over while the killed one has its grace. */
START_TEST(a_killed_task_does_not_excuse_one_that_hangs)
{
	begin_tasks(1);
	rig_wait(&rig, 58 * MTIME_SECOND);
	rig_deliver(&rig, 2, 3);
	rig_turn(&rig);
	rig_forget(&rig);
	kill_task(3);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "cancel 0.1:3, term 0.1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_deaf_worker_is_terminated_at_once)
{
	begin_tasks(3);
	rig.is_deaf = true;
	kill_task(2);
	rig_expect(&rig, "cancel 0.1:2, term 0.1");
	ck_assert_str_eq(rig.what, "does not read its standard input and is ended");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 2");
	ck_assert_str_eq(rig.what, "an operator killed its task");
	rig_end(&rig);
}
END_TEST

/* It was not the worker's fault: the next one starts without a wait, and nothing is failing. */
START_TEST(the_next_worker_starts_at_once)
{
	begin_tasks(1);
	rig.is_deaf = true;
	kill_task(0);
	rig_gone(&rig, 0, 1);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2");
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 0).failures, 0);
	rig_end(&rig);
}
END_TEST

/* It would have to run again if the worker is ended. */
START_TEST(nothing_is_sent_to_the_worker_meanwhile)
{
	rig_begin(&rig, rig_several(2, 3), 2);
	kill_task(1);
	rig_deliver(&rig, 3, 6);
	rig_turn(&rig);
	rig_expect(&rig, "cancel 0.1:1, send 1:3, send 1:4");
	rig_answer_task(&rig, 0, 1, 1, 500);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 retry 1, send 0:5, send 0:6");
	rig_end(&rig);
}
END_TEST

/* ---------- what it answers ---------- */

START_TEST(a_task_that_is_done_is_done)
{
	begin_tasks(2);
	give_up(1);
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_wait(&rig, 20 * MTIME_SECOND);
	rig_expect(&rig, "cancel 0.1:1, ack 1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 2");
	ck_assert_int_eq(rig.reason, REASON_CRASHED);
	rig_end(&rig);
}
END_TEST

/* Also one that was answered after SIGTERM. */
START_TEST(a_task_that_is_done_in_the_end_is_done)
{
	begin_tasks(2);
	give_up(1);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "cancel 0.1:1, term 0.1, spawn 0.2, ack 1");
	rig_end(&rig);
}
END_TEST

/* Whatever kind of failure it answers, the order decides, and the worker goes on. */
START_TEST(a_failure_is_settled_as_ordered)
{
	static const int32_t statuses[] = {400, 499, 500, 599};
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		begin_tasks(2);
		kill_task(1);
		give_up(2);
		rig_forget(&rig);
		rig_answer_task(&rig, 0, 1, 1, statuses[i]);
		rig_answer_task(&rig, 0, 1, 2, statuses[i]);
		rig_wait(&rig, 20 * MTIME_SECOND);
		rig_expect(&rig, "publish 1 retry 1, publish 2 dead 2");
		rig_expect_told(&rig, "TASK_RETRIED, TASK_GIVEN_UP");
		ck_assert_int_eq(rig.reason, REASON_KILLED);
		rig_end(&rig);
	}
}
END_TEST

/* The first order's grace goes on: its worker is ended no later because another task is killed. */
START_TEST(the_grace_of_the_first_of_two_tasks_stands)
{
	begin_tasks(3);
	kill_task(1);
	rig_wait(&rig, 3 * MTIME_SECOND);
	give_up(3);
	ck_assert_str_eq(rig.what,
		"is asked to give it up, and has what is left of limits.grace since another of its "
		"tasks was killed");
	rig_expect(&rig, "cancel 0.1:1, cancel 0.1:3");
	rig_wait(&rig, 2 * MTIME_SECOND);
	rig_expect(&rig, "term 0.1");
	ck_assert_uint_eq(rig.culprit, 1);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 dead 3, publish 2 retry 1");
	rig_end(&rig);
}
END_TEST

/* Also for the second one, after the first has been answered. */
START_TEST(an_answer_of_one_of_two_tasks_leaves_the_grace)
{
	begin_tasks(3);
	kill_task(1);
	rig_wait(&rig, 3 * MTIME_SECOND);
	kill_task(3);
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_forget(&rig);
	rig_wait(&rig, 2 * MTIME_SECOND);
	rig_expect(&rig, "term 0.1, ack 1");
	rig_end(&rig);
}
END_TEST

/* A task that is killed when all that were killed before have been answered. */
START_TEST(a_later_kill_has_a_grace_of_its_own)
{
	begin_tasks(3);
	kill_task(1);
	rig_wait(&rig, 3 * MTIME_SECOND);
	rig_answer_task(&rig, 0, 1, 1, 200);
	kill_task(3);
	rig_forget(&rig);
	rig_wait(&rig, 4 * MTIME_SECOND);
	rig_expect(&rig, "ack 1");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "term 0.1");
	rig_end(&rig);
}
END_TEST

/* It is ended at once, although the grace of the first has begun. */
START_TEST(a_worker_that_becomes_deaf_is_terminated_at_once)
{
	begin_tasks(3);
	kill_task(1);
	rig.is_deaf = true;
	kill_task(3);
	rig_expect(&rig, "cancel 0.1:1, cancel 0.1:3, term 0.1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 3, publish 2 retry 1");
	rig_end(&rig);
}
END_TEST

/* The later order counts, and the grace goes on. */
START_TEST(a_second_order_changes_what_follows)
{
	begin_tasks(1);
	kill_task(1);
	rig_wait(&rig, 4 * MTIME_SECOND);
	give_up(0);
	rig_expect_told(&rig, "TASK_KILLED, TASK_KILLED");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "cancel 0.1:1, term 0.1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 dead 1");
	rig_end(&rig);
}
END_TEST

/* ---------- as ordered ---------- */

START_TEST(the_last_attempt_is_retried)
{
	struct pool_config config = rig_config(1, 1);
	config.policy.attempts = 1;
	config.policy.retried = 0;
	config.policy.delay_count = 1;
	config.policy.delays[0] = MTIME_SECOND;
	rig_begin(&rig, config, 1);
	kill_task(0);
	rig_answer(&rig, 0, 500);
	rig_expect(&rig, "cancel 0.1:1, publish 1 retry 1 after 1000");
	rig_end(&rig);
}
END_TEST

/* Those that wait behind it in the pipe have not begun. */
START_TEST(tasks_behind_it_go_back)
{
	rig_begin(&rig, rig_config(1, 3), 3);
	kill_task(0);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_forget(&rig);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 1");
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2, send 0:3");
	rig_end(&rig);
}
END_TEST

static struct pool_config blocking(void)
{
	struct pool_config config = keyed_config(1);
	config.policy.blocks_session = true;
	return config;
}

/* It stays at the front of its session, or leaves it; it blocks it in no case. */
START_TEST(a_session_goes_on_as_ordered)
{
	rig_start(&rig, blocking());
	keyed_deliver(&rig, "a a");
	rig_forget(&rig);
	kill_task(0);
	keyed_answer(&rig, 0, 400, "cancel 0.1:1, send 0:1/2");
	give_up(0);
	keyed_answer(&rig, 0, 500, "cancel 0.1:2, publish 1 dead 1, send 0:2");
	rig_end(&rig);
}
END_TEST

/* ---------- when it is refused, and when it is not ---------- */

static void expect_refused(uint16_t slot, uint64_t task_id, const char *why)
{
	rig_forget(&rig);
	order(slot, task_id, false);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "COMMAND_REFUSED");
	ck_assert_str_eq(rig.what, why);
}

START_TEST(only_a_task_that_runs_can_be_killed)
{
	rig_begin(&rig, rig_several(2, 3), 3);
	expect_refused(2, 1, "there is no worker in this slot");
	expect_refused(UINT16_MAX, 0, "there is no worker in this slot");
	expect_refused(1, 1, "the worker in this slot has no task with this id");
	expect_refused(0, 9, "the worker in this slot has no task with this id");
	expect_refused(0, 0, "its worker has several tasks: the id of one is needed");
	rig_broken(&rig, 1, 1);
	expect_refused(1, 0, "the task's worker has not begun it, or is ending");
	rig_gone(&rig, 1, 1);
	expect_refused(1, 0, "there is no worker in this slot");
	rig_end(&rig);
	rig_begin(&rig, rig_config(1, 2), 2);
	expect_refused(0, 2, "the task's worker has not begun it, or is ending");
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 0, 200);
	expect_refused(0, 0, "the worker in this slot has no task");
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_can_be_killed_in_a_stop)
{
	rig_begin(&rig, rig_config(1, 1), 1);
	rig_command(&rig, COMMAND_DRAIN);
	rig_forget(&rig);
	kill_task(0);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "cancel 0.1:1, term 0.1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 1");
	rig_end(&rig);
}
END_TEST

static Suite *suite(void)
{
	static const TTest *const *const tests[] = {
		&the_worker_is_asked_then_terminated_then_killed, &others_go_back_uncounted,
		&no_end_of_the_worker_makes_suspects,
		&the_end_of_an_aborted_session_does_not_save_a_killed_task,
		&another_task_that_breaks_the_protocol_pays_itself,
		&a_killed_task_does_not_excuse_one_that_hangs, &a_deaf_worker_is_terminated_at_once,
		&the_next_worker_starts_at_once, &nothing_is_sent_to_the_worker_meanwhile,
		&a_task_that_is_done_is_done, &a_task_that_is_done_in_the_end_is_done,
		&a_failure_is_settled_as_ordered, &the_grace_of_the_first_of_two_tasks_stands,
		&an_answer_of_one_of_two_tasks_leaves_the_grace,
		&a_later_kill_has_a_grace_of_its_own,
		&a_worker_that_becomes_deaf_is_terminated_at_once,
		&a_second_order_changes_what_follows, &the_last_attempt_is_retried,
		&tasks_behind_it_go_back, &a_session_goes_on_as_ordered,
		&only_a_task_that_runs_can_be_killed, &a_task_can_be_killed_in_a_stop};
	Suite *s = suite_create("core/kill");
	TCase *all = tcase_create("all");
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(all, *tests[i]);
	suite_add_tcase(s, all);
	return s;
}

UNIT_MAIN(suite)
