/* Workers that have lived for long enough are replaced: another one is ready first. */
#include "core/pool_facts.h"
#include "unit/support/core/rig.h"

/* ---------- memory ---------- */

START_TEST(a_worker_over_memory_leaves_when_another_is_ready)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(2, 1, (struct recycle_limits){.memory = 100}));
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_memory(&rig, 0, 1, 100);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_memory(&rig, 0, 1, 101);
	rig_memory(&rig, 0, 1, 102); /* once is enough */
	ck_assert_int_eq(pool_slot_facts(rig.pool, 0).due, RECYCLE_MEMORY);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 2.1");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "");
	rig_ready(&rig, 2, 1);
	rig_turn(&rig);
	rig_expect(&rig, ""); /* it is at a task */
	rig_expect_told(&rig, "WORKER_READY, WORKER_RECYCLED");
	rig_done(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1, ack 1");
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "");
	ck_assert_uint_eq(pool_facts(rig.pool).ready, 2);
	rig_end(&rig);
}
END_TEST

/* Its task has crashed, as when the worker dies for any other reason. */
START_TEST(a_worker_over_memory_kill_is_killed)
{
	struct rig rig;
	rig_start(&rig,
		rig_recycling(1, 2, (struct recycle_limits){.memory = 100, .memory_kill = 200}));
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_memory(&rig, 0, 1, 200);
	rig_memory(&rig, 0, 1, 201);
	rig_expect(&rig, "kill 0.1");
	rig_expect_told(&rig, "WORKER_RECYCLED");
	rig_memory(&rig, 0, 1, 202);
	rig_memory(&rig, 0, 7, 202); /* of another life */
	rig_gone(&rig, 0, 1);
	rig_expect_told(&rig, "WORKER_DIED, TASK_RETRIED");
	ck_assert_int_eq(rig.reason, REASON_CRASHED);
	ck_assert_str_eq(pool_slot_facts(rig.pool, 0).exit_for, "memory limit");
	rig_end(&rig);
}
END_TEST

/* An answer from before the signal counts: its task is not repeated. */
START_TEST(an_answer_before_the_kill_counts)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(1, 1, (struct recycle_limits){.memory_kill = 200}));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_memory(&rig, 0, 1, 201);
	rig_done(&rig, 0, 1);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "kill 0.1, spawn 0.2, ack 1");
	rig_expect_told(&rig, "WORKER_RECYCLED, TASK_DONE, WORKER_DIED");
	rig_end(&rig);
}
END_TEST

START_TEST(memory_without_limits_is_ignored)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(1, 1, (struct recycle_limits){.tasks = 0}));
	rig_memory(&rig, 0, 1, UINT64_MAX);
	rig_turn(&rig);
	rig_expect(&rig, "");
	ck_assert_int_eq(pool_deadline(rig.pool), MTIME_NEVER);
	rig_end(&rig);
}
END_TEST

/* ---------- tasks ---------- */

START_TEST(no_worker_gets_more_tasks_than_its_limit)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(1, 4, (struct recycle_limits){.tasks = 3}));
	rig_deliver(&rig, 1, 5);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, send 0:2, send 0:3");
	rig_done(&rig, 0, 1);
	rig_done(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2*");
	rig_set_writable(&rig, 0, true);
	rig_turn(&rig);
	rig_done(&rig, 0, 1);
	rig_expect(&rig, "quit 0.1");
	rig_turn(&rig);
	rig_forget(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2, send 0:4, send 0:5");
	rig_end(&rig);
}
END_TEST

START_TEST(a_limit_of_one_task_replaces_after_each)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(2, 1, (struct recycle_limits){.tasks = 1}));
	rig_deliver(&rig, 1, 3);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_done(&rig, 0, 1);
	rig_expect(&rig, "quit 0.1");
	rig_expect_told(&rig, "TASK_DONE, WORKER_RECYCLED");
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "spawn 0.2, send 0:3"));
	rig_end(&rig);
}
END_TEST

/* From seven eighths on it goes as soon as there is another one. With this seed it has all eight.
 */
START_TEST(a_new_worker_starts_before_the_last_task)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(1, 1, (struct recycle_limits){.tasks = 8, .seed = 2}));
	rig_deliver(&rig, 1, 7);
	for (int task = 0; task < 6; task++) {
		rig_turn(&rig);
		rig_done(&rig, 0, 1);
	}
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "spawn"));
	rig_done(&rig, 0, 1);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 1.1, ack 7");
	rig_ready(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1");
	rig_end(&rig);
}
END_TEST

/* Workers that are equally busy do not leave together. */
START_TEST(each_life_has_a_limit_of_its_own)
{
	const struct recycle_limits limits = {.tasks = 800, .seed = 7};
	uint32_t min = UINT32_MAX, max = 0;
	for (uint16_t slot = 0; slot < 64; slot++) {
		uint32_t tasks = recycle_tasks(&limits, slot, 1);
		ck_assert_uint_eq(tasks, recycle_tasks(&limits, slot, 1));
		ck_assert(tasks >= 700 && tasks <= 800);
		min = tasks < min ? tasks : min;
		max = tasks > max ? tasks : max;
	}
	ck_assert_uint_gt(max - min, 50);
	ck_assert_uint_eq(recycle_tasks(&(struct recycle_limits){.tasks = 0}, 3, 1), 0);
	ck_assert_uint_eq(recycle_tasks(&(struct recycle_limits){.tasks = 7}, 3, 1), 7);
	ck_assert_uint_eq(recycle_enough(800), 700);
}
END_TEST

/* It leaves because the pool drains, which is no recycling. */
START_TEST(a_spent_worker_of_a_draining_pool_is_not_recycled)
{
	struct rig rig;
	rig_start(&rig, rig_recycling(1, 2, (struct recycle_limits){.tasks = 4}));
	rig_deliver(&rig, 1, 4);
	rig_turn(&rig);
	rig_done(&rig, 0, 1);
	rig_done(&rig, 0, 1);
	rig_turn(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_forget(&rig);
	rig_done(&rig, 0, 1);
	rig_done(&rig, 0, 1);
	rig_expect(&rig, "quit 0.1");
	rig_expect_told(&rig, "TASK_DONE, TASK_DONE");
	rig_end(&rig);
}
END_TEST

/* ---------- age ---------- */

static int count_of(const char *words, const char *word)
{
	int count = 0;
	for (const char *at = words; (at = strstr(at, word)); at++)
		count++;
	return count;
}

/* The new workers are due again in an hour. */
START_TEST(aged_workers_are_replaced_one_by_one)
{
	struct rig rig;
	uint16_t next = 0;
	rig_start(&rig,
		rig_recycling(4, 1, (struct recycle_limits){.age = 60 * MTIME_MINUTE, .seed = 5}));
	rig_wait(&rig, 52 * MTIME_MINUTE);
	rig_expect(&rig, "");
	for (int replaced = 0; replaced < 4; replaced++) {
		while (!rig.done[0]) {
			ck_assert_int_le(rig.now, 61 * MTIME_MINUTE);
			rig_wait(&rig, pool_deadline(rig.pool) - rig.now);
		}
		ck_assert_int_eq(count_of(rig.done, "spawn"), 1);
		next = 0;
		while (pool_slot_facts(rig.pool, next).state != LIFE_STARTING)
			next++;
		rig_forget(&rig);
		rig_ready(&rig, next, pool_slot_facts(rig.pool, next).life);
		rig_turn(&rig);
		ck_assert_int_eq(count_of(rig.done, "quit"), 1);
		ck_assert_int_eq(count_of(rig.done, "spawn"), 0);
		rig.done[0] = 0;
		for (uint16_t slot = 0; slot < pool_slot_count(rig.pool); slot++) {
			struct slot_facts facts = pool_slot_facts(rig.pool, slot);
			if (facts.state == LIFE_QUITTING)
				rig_gone(&rig, slot, facts.life);
		}
		rig_turn(&rig);
	}
	rig_expect(&rig, "");
	ck_assert_uint_eq(pool_facts(rig.pool).ready, 4);
	ck_assert_int_gt(pool_deadline(rig.pool), rig.now + 40 * MTIME_MINUTE);
	rig_end(&rig);
}
END_TEST

START_TEST(ages_differ_and_do_not_exceed_the_limit)
{
	struct recycle_limits limits = {.age = 8000, .seed = 1};
	mtime min = MTIME_NEVER, max = 0;
	for (uint16_t slot = 0; slot < 1000; slot++) {
		mtime age = recycle_age(&limits, slot, 1 + slot % 7);
		min = age < min ? age : min;
		max = age > max ? age : max;
	}
	ck_assert_int_ge(min, 7000);
	ck_assert_int_le(min, 7050);
	ck_assert_int_ge(max, 7950);
	ck_assert_int_le(max, 8000);
	limits.age = 0;
	ck_assert_int_eq(recycle_age(&limits, 0, 1), MTIME_NEVER);
	limits.age = 1;
	ck_assert_int_eq(recycle_age(&limits, 0, 1), 1);
}
END_TEST

START_TEST(reasons_have_texts)
{
	ck_assert_str_eq(recycle_reason_name(RECYCLE_TASKS), "tasks");
	ck_assert_str_eq(recycle_reason_name(RECYCLE_KILL), "memory-kill");
}
END_TEST

static Suite *recycle_suite(void)
{
	Suite *suite = suite_create("core/recycle");
	UNIT_CASE(suite, "memory", a_worker_over_memory_leaves_when_another_is_ready,
		a_worker_over_memory_kill_is_killed, an_answer_before_the_kill_counts,
		memory_without_limits_is_ignored);
	UNIT_CASE(suite, "tasks", no_worker_gets_more_tasks_than_its_limit,
		a_limit_of_one_task_replaces_after_each, a_new_worker_starts_before_the_last_task,
		each_life_has_a_limit_of_its_own,
		a_spent_worker_of_a_draining_pool_is_not_recycled);
	UNIT_CASE(suite, "age", aged_workers_are_replaced_one_by_one,
		ages_differ_and_do_not_exceed_the_limit, reasons_have_texts);
	return suite;
}

UNIT_MAIN(recycle_suite)
