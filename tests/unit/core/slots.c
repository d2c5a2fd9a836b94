/* Worker lives as the pool sees them: crashes, limits, restarts, and resting for want of workers.
 */
#include "unit/support/core/rig.h"
#include <stdio.h>

START_TEST(only_the_head_is_blamed_for_a_crash)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 4), 6);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:5, ack 1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 2");
	ck_assert_int_eq(rig.reason, REASON_CRASHED);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2");
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3, send 0:4, send 0:5, send 0:6");
	rig_expect_told(&rig, "TASK_DONE, WORKER_DIED, TASK_RETRIED, WORKER_READY");
	rig_end(&rig);
}
END_TEST

START_TEST(an_output_of_an_older_life_is_dropped)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_forget(&rig);
	rig_answer(&rig, 0, 200);
	rig_broken(&rig, 0, 1);
	rig_gone(&rig, 0, 1);
	rig_ready(&rig, 0, 1);
	rig_set_writable(&rig, 0, false);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

static void expect_broken(struct rig *rig, const char *what)
{
	rig_expect(rig, "kill 0.1");
	ck_assert_str_eq(rig->what, what);
	rig_answer(rig, 0, 200); /* too late: it is not heard any more */
	rig_broken(rig, 0, 1);
	rig_turn(rig);
	rig_expect(rig, "");
	rig_gone(rig, 0, 1);
}

START_TEST(a_broken_worker_is_killed_and_its_head_fails)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 2);
	rig_broken(&rig, 0, 1);
	expect_broken(&rig, "bad frame");
	rig_expect(&rig, "publish 1 retry 1");
	ck_assert_int_eq(rig.reason, REASON_PROTOCOL);
	rig_end(&rig);
}
END_TEST

START_TEST(an_answer_with_no_task_open_is_a_protocol_error)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 2));
	rig_answer(&rig, 0, 200);
	expect_broken(&rig, "an answer with no task open");
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(an_unknown_status_is_a_protocol_error)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 1);
	rig_answer(&rig, 0, 777);
	expect_broken(&rig, "an unknown status");
	rig_expect(&rig, "publish 1 retry 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_over_the_hard_limit_is_stopped_then_killed)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 2);
	rig_wait(&rig, 60 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "term 0.1");
	ck_assert_str_eq(rig.what, "hard limit");
	ck_assert_int_eq(rig.duration, MTIME_MINUTE);
	rig_wait(&rig, 5 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "kill 0.1");
	ck_assert_str_eq(rig.what, "grace after SIGTERM");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 1");
	ck_assert_int_eq(rig.reason, REASON_TIMED_OUT);
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2, send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(the_hard_limit_runs_from_the_answer_before)
{
	struct rig rig;
	rig_begin(&rig, rig_config(2, 2), 4);
	rig_wait(&rig, 59 * MTIME_SECOND);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "term 1.1");
	rig_wait(&rig, 59 * MTIME_SECOND);
	rig_expect(&rig, "kill 1.1, term 0.1");
	rig_end(&rig);
}
END_TEST

/* It answered while it was being stopped: the answer counts, and so does no failure of those
 * behind. */
START_TEST(a_late_answer_counts)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 3), 3);
	rig_wait(&rig, 60 * MTIME_SECOND);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "term 0.1, ack 1");
	rig_broken(&rig, 0, 1); /* its pipe ends before it does */
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "kill 0.1, spawn 0.2, send 0:2, send 0:3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_hung_worker_that_closes_its_pipe_timed_out)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	rig_wait(&rig, 60 * MTIME_SECOND);
	rig_broken(&rig, 0, 1);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "term 0.1, kill 0.1, publish 1 retry 1");
	ck_assert_int_eq(rig.reason, REASON_TIMED_OUT);
	rig_end(&rig);
}
END_TEST

START_TEST(deadlines_are_judged_after_the_sockets_were_read)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	rig.now += 3600 * MTIME_SECOND;
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_full_output_buffer_gets_no_tasks)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 4));
	rig_set_writable(&rig, 0, false);
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:1, send 1:2");
	rig_set_writable(&rig, 0, true);
	rig_deliver(&rig, 3, 3);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3");
	rig_broken(&rig, 0, 1);
	rig_set_writable(&rig, 0, true); /* on its way out: not heard */
	rig_turn(&rig);
	rig_expect(&rig, "kill 0.1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_worker_that_does_not_boot_is_killed)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_new(&rig, &config);
	rig_turn(&rig);
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_expect(&rig, "spawn 0.1, kill 0.1");
	ck_assert_str_eq(rig.what, "boot limit");
	rig_ready(&rig, 0, 1); /* it was on its way */
	rig_gone(&rig, 0, 1);
	ck_assert_int_eq(rig.duration, MTIME_SECOND);
	rig_end(&rig);
}
END_TEST

/* /bin/false: at most 5 starts in 10 s. */
START_TEST(failed_starts_back_off)
{
	static const mtime starts[] = {0, 1, 3, 7, 15, 31, 61, 91};
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_new(&rig, &config);
	mtime begin = rig.now;
	for (uint32_t life = 1; life <= 8; life++) {
		rig_wait(&rig, begin + starts[life - 1] * MTIME_SECOND - rig.now);
		char wanted[32];
		snprintf(wanted, sizeof wanted, "spawn 0.%u", life);
		rig_expect(&rig, wanted);
		rig_gone(&rig, 0, life);
	}
	rig_end(&rig);
}
END_TEST

START_TEST(a_successful_worker_is_replaced_at_once)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_gone(&rig, 0, 1); /* short and idle: a failure */
	ck_assert_int_eq(rig.duration, MTIME_SECOND);
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_gone(&rig, 0, 2); /* long */
	ck_assert_int_eq(rig.duration, 0);
	rig_turn(&rig);
	rig_ready(&rig, 0, 3);
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_answer_this(&rig, 0, 3, rig_output(200, NULL));
	rig_gone(&rig, 0, 3); /* it answered */
	ck_assert_int_eq(rig.duration, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(a_replaced_worker_does_not_make_the_pool_rest)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_broken(&rig, 0, 1);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2, ack 1, kill 0.1, publish 1 retry 2, spawn 0.2");
	rig_end(&rig);
}
END_TEST

/* A worker that answered has cleared the failure of the life before: the pool goes on consuming
 * while this worker is killed and replaced. */
START_TEST(an_answer_clears_an_earlier_failure)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 2);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_answer_this(&rig, 0, 2, rig_output(200, NULL));
	rig_turn(&rig);
	rig_deliver(&rig, 3, 3);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_broken(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "kill 0.2");
	rig_gone(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "publish 2 retry 3, spawn 0.3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_without_workers_stops_consuming_and_requeues)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 3);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 retry 1, rest");
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_turn(&rig);
	for (uint32_t life = 2; life <= 7; life++) {
		rig_wait(&rig, (life == 7 ? 28 : 1 << (life - 2)) * MTIME_SECOND);
		rig_forget(&rig);
		if (life < 7)
			rig_gone(&rig, 0, life);
	}
	rig_wait(&rig, MTIME_SECOND - 1); /* 59.999999 s */
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "requeue 2, requeue 3");
	rig_expect_told(&rig, "TASK_UNSTARTED, TASK_UNSTARTED");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "spawn 0.7");
	rig_ready(&rig, 0, 7);
	rig_turn(&rig);
	rig_expect(&rig, "consume 7");
	rig_expect_told(&rig, "WORKER_READY, SOURCE_RESUMES");
	rig_deliver(&rig, 4, 4);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:4");
	rig_end(&rig);
}
END_TEST

START_TEST(an_automatic_window_follows_the_pool)
{
	struct rig rig;
	struct pool_config config = rig_config(4, 4);
	config.prefetch = 0;
	rig_new(&rig, &config);
	rig_turn(&rig);
	rig_ready(&rig, 0, 1);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "consume 20");
	rig_source_up(&rig);
	int changes = 0;
	for (uint64_t tag = 1; tag <= 20000; tag++) {
		rig.now += 100; /* 10,000 a second: 1,000 in 100 ms, and 16 in the pipes */
		rig_deliver(&rig, tag, tag);
		rig_turn(&rig);
		rig_answer(&rig, 0, 200);
		const char *change = strstr(rig.done, "consume");
		if (change)
			ck_assert_str_eq(strtok(rig.done, ","), "consume 1016");
		changes += change != NULL;
		rig_forget(&rig);
	}
	ck_assert_int_eq(changes, 1);
	rig_end(&rig);
}
END_TEST

static int count_spawns(const struct rig *rig)
{
	int count = 0;
	for (const char *at = rig->done; (at = strstr(at, "spawn")); at++)
		count++;
	return count;
}

/* A start takes time: the loop must run in between. */
START_TEST(many_workers_are_started_over_many_turns)
{
	struct rig rig;
	struct pool_config config = rig_config(6, 1);
	rig_new(&rig, &config);
	rig_turn(&rig);
	ck_assert_int_eq(count_spawns(&rig), 4);
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + 1);
	rig_forget(&rig);
	rig_wait(&rig, 1);
	ck_assert_int_eq(count_spawns(&rig), 2);
	ck_assert_int_gt(pool_deadline(rig.pool), rig.now);
	pool_free(rig.pool);
}
END_TEST

static Suite *slots_suite(void)
{
	Suite *suite = suite_create("core/slots");
	UNIT_CASE(suite, "crash", only_the_head_is_blamed_for_a_crash,
		an_output_of_an_older_life_is_dropped, a_broken_worker_is_killed_and_its_head_fails,
		an_answer_with_no_task_open_is_a_protocol_error,
		an_unknown_status_is_a_protocol_error);
	UNIT_CASE(suite, "limits", a_task_over_the_hard_limit_is_stopped_then_killed,
		the_hard_limit_runs_from_the_answer_before, a_late_answer_counts,
		a_hung_worker_that_closes_its_pipe_timed_out,
		deadlines_are_judged_after_the_sockets_were_read,
		a_full_output_buffer_gets_no_tasks, a_worker_that_does_not_boot_is_killed);
	UNIT_CASE(suite, "restart", many_workers_are_started_over_many_turns,
		failed_starts_back_off, a_successful_worker_is_replaced_at_once,
		a_replaced_worker_does_not_make_the_pool_rest, an_answer_clears_an_earlier_failure,
		a_pool_without_workers_stops_consuming_and_requeues,
		an_automatic_window_follows_the_pool);
	return suite;
}

UNIT_MAIN(slots_suite)
