/* A worker ends with several tasks open: which one is to blame is found by running each alone. */
#include "core/pool_facts.h"
#include "unit/support/core/rig.h"

/* One attempt: an innocent task that lost one would be given up. */
static struct pool_config several(uint16_t workers, uint16_t concurrency)
{
	struct pool_config config = rig_several(workers, concurrency);
	config.prefetch = 16;
	config.policy.attempts = 1;
	return config;
}

static void deliver_suspect(struct rig *rig, uint64_t tag)
{
	struct delivery *retried = rig_delivery(tag);
	retried->is_suspect = true;
	rig_deliver_this(rig, retried);
}

/* The next life of the slot, whose worker has answered nothing. */
static void come_back(struct rig *rig, uint16_t slot, uint32_t life)
{
	rig_wait(rig, 3 * MTIME_SECOND);
	rig_ready(rig, slot, life);
	rig_forget(rig);
}

/* These effects are among those since the last call. */
static void expect_among(struct rig *rig, const char *wanted)
{
	rig_turn(rig);
	ck_assert_msg(strstr(rig->done, wanted), "done: %s", rig->done);
	rig_forget(rig);
}

/* Ids go on: the three of the first life had 1 to 3. */
START_TEST(only_the_culprit_pays)
{
	struct rig rig;
	rig_begin(&rig, several(1, 3), 3);
	rig_gone(&rig, 0, 1);
	rig_expect_told(&rig, "WORKER_DIED");
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 3);
	come_back(&rig, 0, 2);
	expect_among(&rig, "send 0:1");
	rig_answer_task(&rig, 0, 2, 4, 200);
	expect_among(&rig, "send 0:2");
	rig_gone(&rig, 0, 2); /* alone, so it was this one */
	rig_expect(&rig, "publish 1 dead 2");
	rig_turn(&rig);
	rig_wait(&rig, 3 * MTIME_SECOND);
	rig_ready(&rig, 0, 3);
	rig_forget(&rig);
	expect_among(&rig, "send 0:3");
	rig_answer_task(&rig, 0, 3, 6, 200);
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 3*");
	rig_end(&rig);
}
END_TEST

START_TEST(the_only_open_task_pays)
{
	struct rig rig;
	rig_begin(&rig, several(1, 3), 2);
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 dead 2");
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 0);
	rig_end(&rig);
}
END_TEST

/* Of four ready workers two run suspects, of two one; nothing is sent beside a suspect. */
START_TEST(half_of_the_workers_run_suspects)
{
	struct rig rig;
	rig_begin(&rig, several(4, 2), 8);
	rig_gone(&rig, 0, 1); /* had 1 and 5 */
	rig_gone(&rig, 1, 1); /* had 2 and 6 */
	rig_turn(&rig);
	rig_forget(&rig);
	/* Of the other two one is kept until it is empty: each has two tasks. */
	rig_answer_task(&rig, 2, 1, 3, 200);
	rig_answer_task(&rig, 3, 1, 4, 200);
	rig_deliver(&rig, 9, 9);
	expect_among(&rig, "send 3:9");
	rig_answer_task(&rig, 2, 1, 7, 200);
	expect_among(&rig, "send 2:2");
	rig_wait(&rig, 3 * MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_ready(&rig, 1, 2);
	expect_among(&rig, "send 0:6");
	rig_deliver(&rig, 10, 10);
	expect_among(&rig, "send 1:10"); /* others do not wait for suspects */
	rig_answer_task(&rig, 2, 1, 10, 200);
	expect_among(&rig, "send 2:1");
	rig_end(&rig);
}
END_TEST

/* There is one worker: the older task is next, suspect or not. */
START_TEST(a_single_worker_takes_turns)
{
	struct rig rig;
	rig_begin(&rig, several(1, 2), 2);
	rig_deliver(&rig, 3, 4);
	rig_gone(&rig, 0, 1);
	deliver_suspect(&rig, 5);
	rig_deliver(&rig, 6, 6);
	come_back(&rig, 0, 2);
	expect_among(&rig, "send 0:1");
	rig_answer_task(&rig, 0, 2, 3, 200);
	expect_among(&rig, "send 0:2");
	rig_answer_task(&rig, 0, 2, 4, 200);
	expect_among(&rig, "send 0:3, send 0:4");
	rig_answer_task(&rig, 0, 2, 5, 200);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(
		rig.done, "send")); /* 6 is younger than 5, for which the worker must be empty */
	rig_answer_task(&rig, 0, 2, 6, 200);
	expect_among(&rig, "send 0:5");
	rig_answer_task(&rig, 0, 2, 7, 200);
	expect_among(&rig, "send 0:6");
	rig_end(&rig);
}
END_TEST

START_TEST(a_crash_that_is_retried_runs_alone_from_the_start)
{
	struct rig rig;
	rig_start(&rig, several(2, 2));
	deliver_suspect(&rig, 1);
	rig_deliver(&rig, 2, 5);
	expect_among(&rig, "send 0:1, send 1:2, send 1:3");
	rig_end(&rig);
}
END_TEST

/* Without concurrency a worker has begun one task at most. */
START_TEST(there_are_no_suspects_without_concurrency)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 2));
	deliver_suspect(&rig, 1);
	rig_deliver(&rig, 2, 2);
	expect_among(&rig, "send 0:1, send 0:2");
	rig_end(&rig);
}
END_TEST

/* What a worker was kept for may go elsewhere, or away: it gets tasks again. */
START_TEST(a_kept_worker_is_let_go)
{
	struct rig rig;
	rig_begin(&rig, several(2, 3), 4);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig); /* slot 1 is kept for the suspects 1 and 3 */
	rig_forget(&rig);
	rig_answer_task(&rig, 1, 1, 2, 200);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig_deliver(&rig, 1, 2);
	expect_among(&rig, "send 1:1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_kept_worker_may_leave_or_end)
{
	struct rig rig;
	for (int ends = 0; ends < 2; ends++) {
		rig_begin(&rig, several(3, 3), 6);
		rig_gone(&rig, 0, 1);
		rig_turn(&rig); /* slot 1 is kept */
		rig_forget(&rig);
		rig_answer_task(&rig, 1, 1, 2, 200);
		if (ends)
			rig_gone(&rig, 1, 1);
		else
			rig_scale(&rig, 1);
		rig_turn(&rig); /* slot 2 is kept instead */
		rig_forget(&rig);
		rig_answer_task(&rig, 2, 1, 3, 200);
		rig_answer_task(&rig, 2, 1, 6, 200);
		expect_among(&rig, "send 2:1");
		rig_end(&rig);
	}
}
END_TEST

/* Workers 1 and 2 are kept; of three workers only one may work alone. */
START_TEST(a_smaller_pool_keeps_fewer_workers)
{
	struct rig rig;
	rig_begin(&rig, several(5, 3), 10);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig); /* 1 and 2 are kept for 1 and 6 */
	rig_scale(&rig, 3);
	rig_deliver(&rig, 11, 12);
	expect_among(&rig, "send 2:12"); /* 2 is kept no more */
	rig_end(&rig);
}
END_TEST

/* It has a task that never ends; the other one is never empty by chance alone. */
START_TEST(another_worker_is_kept_if_one_stays_busy)
{
	struct rig rig;
	struct pool_config config = several(2, 3);
	config.hard_limit = MTIME_NEVER;
	rig_begin(&rig, config, 3); /* 1 and 3 for worker 0, 2 for worker 1 */
	deliver_suspect(&rig, 4);
	rig_turn(&rig); /* worker 1 is kept, and 2 never ends */
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_deliver(&rig, 5, 5);
	expect_among(&rig, "send 1:5"); /* now worker 0 is kept */
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_answer_task(&rig, 0, 1, 3, 200);
	expect_among(&rig, "send 0:4");
	rig_end(&rig);
}
END_TEST

/* Two are kept for too long when a third one is idle. */
START_TEST(an_idle_worker_in_place_of_a_busy_one_gets_its_suspect)
{
	struct rig rig;
	struct pool_config config = several(4, 3);
	config.hard_limit = MTIME_NEVER;
	rig_begin(&rig, config, 4);
	for (uint64_t tag = 5; tag <= 6; tag++)
		deliver_suspect(&rig, tag);
	rig_turn(&rig); /* 0 and 1 are kept */
	rig.now += 5 * MTIME_SECOND;
	rig_answer_task(&rig, 2, 1, 3, 200);
	expect_among(&rig, "send 2:5");
	rig_end(&rig);
}
END_TEST

/* An answer that names no open task may come from the one that is open, or from none. */
START_TEST(an_error_without_a_task_costs_no_attempt)
{
	struct rig rig;
	rig_begin(&rig, several(1, 2), 2);
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_answer_task(&rig, 0, 1, 1, 200); /* twice, while 2 is open */
	rig_gone(&rig, 0, 1);
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 1);
	rig_wait(&rig, 3 * MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	expect_among(&rig, "send 0:2");
	rig_answer_task(&rig, 0, 2, 9, 200); /* alone, and again */
	rig_gone(&rig, 0, 2);
	rig_expect(&rig, "kill 0.2, publish 1 dead 2");
	rig_end(&rig);
}
END_TEST

/* Two may be kept, and there is one suspect. */
START_TEST(one_worker_is_kept_for_one_suspect)
{
	struct rig rig;
	rig_begin(&rig, several(4, 3), 4);
	deliver_suspect(&rig, 5);
	rig_turn(&rig);
	rig_turn(&rig);
	rig_deliver(&rig, 6, 8);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:6, send 2:7, send 3:8");
	rig_end(&rig);
}
END_TEST

/* In a long pause all others go back to the broker, which would forget what a suspect is. */
START_TEST(a_pause_forgets_no_suspicion)
{
	struct rig rig;
	rig_begin(&rig, several(1, 2), 3);
	rig_gone(&rig, 0, 1);
	rig_command(&rig, COMMAND_PAUSE);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_forget(&rig);
	rig_wait(&rig, 61 * MTIME_SECOND);
	ck_assert_msg(strstr(rig.done, "requeue 3"), "done: %s", rig.done);
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 2);
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 2);
	rig_end(&rig);
}
END_TEST

/* Each suspect needs a worker of its own. */
START_TEST(a_pool_grows_for_suspects)
{
	struct rig rig;
	struct pool_config config = several(1, 10);
	config.workers_max = 4;
	config.hard_limit = MTIME_NEVER;
	rig_start(&rig, config);
	deliver_suspect(&rig, 1);
	rig_turn(&rig);
	rig_deliver(&rig, 2, 9);
	rig_turn(&rig);
	rig_wait(&rig, MTIME_SECOND);
	ck_assert_uint_ge(pool_facts(rig.pool).wanted, 2);
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_grows_for_each_suspect_that_waits)
{
	struct rig rig;
	struct pool_config config = several(2, 2);
	config.workers_max = 8;
	config.hard_limit = MTIME_NEVER;
	rig_start(&rig, config);
	for (uint64_t tag = 1; tag <= 3; tag++)
		deliver_suspect(&rig, tag);
	rig_deliver(&rig, 4, 5);
	rig_turn(&rig);
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 2);
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 2);
	rig_wait(&rig, MTIME_SECOND);
	ck_assert_uint_eq(pool_facts(rig.pool).wanted, 4);
	rig_end(&rig);
}
END_TEST

static void set_writable(struct rig *rig, uint16_t slot, uint32_t life, bool is_writable)
{
	rig_step(rig, (struct event){.kind = SLOT_WRITABLE,
			      .slot = {.slot = slot, .life = life, .is_writable = is_writable}});
}

START_TEST(a_full_worker_gets_its_suspect_later)
{
	struct rig rig;
	rig_begin(&rig, several(1, 2), 2);
	rig_gone(&rig, 0, 1);
	rig_deliver(&rig, 3, 3);
	come_back(&rig, 0, 2);
	set_writable(&rig, 0, 2, false);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "send"));
	set_writable(&rig, 0, 2, true);
	expect_among(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* Worker 1 is kept until it cannot take anything; then worker 2 is kept, and gets nothing. */
START_TEST(another_worker_is_kept_for_a_full_one)
{
	struct rig rig;
	rig_begin(&rig, several(3, 3), 6);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	set_writable(&rig, 1, 1, false);
	rig_deliver(&rig, 7, 7);
	rig_forget(&rig);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "send"));
	rig_answer_task(&rig, 2, 1, 3, 200);
	rig_answer_task(&rig, 2, 1, 6, 200);
	expect_among(&rig, "send 2:1");
	rig_end(&rig);
}
END_TEST

/* An exclusive task, which came back too often, has its turn between suspects. */
START_TEST(an_exclusive_task_has_its_turn)
{
	struct rig rig;
	rig_begin(&rig, several(4, 2), 2);
	struct delivery *exclusive = rig_delivery(3);
	exclusive->redelivered = true;
	exclusive->renewed = 3;
	rig_deliver_this(&rig, exclusive);
	deliver_suspect(&rig, 4);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_answer_task(&rig, 1, 1, 2, 200);
	rig_turn(&rig);
	ck_assert_msg(strstr(rig.done, "send 1:3"), "done: %s", rig.done);
	ck_assert_ptr_null(strstr(rig.done, ":4"));
	rig_forget(&rig);
	rig_answer_task(&rig, 1, 1, 3, 200);
	expect_among(&rig, "send 1:4");
	rig_end(&rig);
}
END_TEST

/* Worker 1 is kept, and worker 2 is idle first. */
START_TEST(an_idle_worker_takes_a_suspect_at_once)
{
	struct rig rig;
	rig_begin(&rig, several(3, 3), 6);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_answer_task(&rig, 2, 1, 3, 200);
	rig_answer_task(&rig, 2, 1, 6, 200);
	expect_among(&rig, "send 2:1");
	rig_deliver(&rig, 7, 7);
	rig_answer_task(&rig, 1, 1, 2, 200);
	expect_among(&rig, "send 1:7"); /* it is not kept any more: one may work alone */
	rig_end(&rig);
}
END_TEST

START_TEST(an_exclusive_suspect_waits_for_all_others)
{
	struct rig rig;
	rig_begin(&rig, several(2, 2), 1);
	struct delivery *exclusive = rig_delivery(2);
	exclusive->redelivered = exclusive->is_suspect = true;
	exclusive->renewed = 3;
	rig_deliver_this(&rig, exclusive);
	rig_deliver(&rig, 3, 3);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_answer_task(&rig, 0, 1, 1, 200);
	expect_among(&rig, "send 0:2");
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "send"));
	rig_answer_task(&rig, 0, 1, 2, 200);
	expect_among(&rig, "send 0:3");
	rig_end(&rig);
}
END_TEST

START_TEST(suspects_are_handed_back)
{
	struct rig rig;
	rig_begin(&rig, several(1, 2), 3);
	rig_gone(&rig, 0, 1);
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_RESTED);
	expect_among(&rig, "requeue 1, requeue 2, requeue 3");
	rig_end(&rig);
}
END_TEST

static Suite *suspects_suite(void)
{
	Suite *suite = suite_create("core/suspects");
	UNIT_CASE(suite, "blame", only_the_culprit_pays, the_only_open_task_pays,
		a_crash_that_is_retried_runs_alone_from_the_start,
		there_are_no_suspects_without_concurrency);
	UNIT_CASE(suite, "more", another_worker_is_kept_if_one_stays_busy,
		an_idle_worker_in_place_of_a_busy_one_gets_its_suspect,
		an_error_without_a_task_costs_no_attempt, a_pause_forgets_no_suspicion,
		a_pool_grows_for_suspects, a_pool_grows_for_each_suspect_that_waits,
		one_worker_is_kept_for_one_suspect);
	UNIT_CASE(suite, "workers", half_of_the_workers_run_suspects, a_single_worker_takes_turns,
		a_kept_worker_is_let_go, a_kept_worker_may_leave_or_end,
		a_smaller_pool_keeps_fewer_workers, a_full_worker_gets_its_suspect_later,
		another_worker_is_kept_for_a_full_one, an_idle_worker_takes_a_suspect_at_once,
		an_exclusive_task_has_its_turn, an_exclusive_suspect_waits_for_all_others,
		suspects_are_handed_back);
	return suite;
}

UNIT_MAIN(suspects_suite)
