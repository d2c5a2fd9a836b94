/* A throttle without a key whose tasks wait for longer than a broker leaves a message unacked: the
 * pool keeps only what may start soon, and else none. */
#include "core/pool_internal.h"
#include "unit/support/core/throttled.h"

#include <string.h>

#define HOUR    (60 * MTIME_MINUTE)
#define DEFAULT 8 /* the window of the rig */

static void start(struct rig *rig, uint32_t limit, mtime period, bool has_key)
{
	throttled_set(throttle, limit, period);
	rig_start(rig, throttled_config(3, throttle, has_key));
}

/* With one start an hour, of which the first is over. */
static void start_and_close(struct rig *rig)
{
	start(rig, 1, HOUR, false);
	throttled_deliver(rig, "- - -");
	rig_expect(rig, "send 0:1, rest");
	rig_source_fact(rig, SOURCE_RESTED);
	throttled_answer(rig, 0, "ack 1");
}

START_TEST(what_must_wait_for_long_goes_back)
{
	struct rig rig;
	start_and_close(&rig);
	throttled_expect(&rig, 2, "t0");
	throttled_wait(&rig, MTIME_MINUTE - 1, "");
	throttled_wait(&rig, 1, "requeue 2, requeue 3");
	throttled_expect(&rig, 0, "t0");
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + HOUR - MTIME_MINUTE);
	throttled_wait(&rig, HOUR - MTIME_MINUTE - 1, "");
	throttled_wait(&rig, 1, "consume 1");
	throttled_deliver(&rig, "-");
	rig_expect(&rig, "send 0:4");
	throttled_deliver(&rig, "-");
	rig_expect(&rig, "rest");
	rig_end(&rig);
}
END_TEST

START_TEST(other_figures_open_the_pool)
{
	struct rig rig;
	start_and_close(&rig);
	throttled_wait(&rig, MTIME_MINUTE, "requeue 2, requeue 3");
	throttled_set(throttle, 100, MTIME_SECOND);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_without_the_throttle_is_open_again)
{
	struct rig rig;
	start_and_close(&rig);
	throttled_wait(&rig, MTIME_MINUTE, "requeue 2, requeue 3");
	struct pool_config config = throttled_config(3, throttle, false);
	config.throttle_count = 0;
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_end(&rig);
}
END_TEST

START_TEST(before_it_goes_back_it_may_start)
{
	struct rig rig;
	start_and_close(&rig);
	throttled_set(throttle, 2, HOUR);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2");
	throttled_wait(&rig, MTIME_MINUTE, "requeue 3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_closed_pool_that_is_paused_consumes_when_both_are_over)
{
	struct rig rig;
	start_and_close(&rig);
	throttled_wait(&rig, MTIME_MINUTE, "requeue 2, requeue 3");
	rig_command(&rig, COMMAND_PAUSE);
	throttled_wait(&rig, HOUR, "");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 1");
	rig_end(&rig);
}
END_TEST

START_TEST(ten_minutes_are_no_long_wait)
{
	struct rig rig;
	start(&rig, 1, 10 * MTIME_MINUTE, false);
	throttled_deliver(&rig, "- -");
	rig_expect(&rig, "send 0:1");
	throttled_wait(&rig, 10 * MTIME_MINUTE, "send 1:2, consume 1");
	rig_end(&rig);
}
END_TEST

/* Each start is one task more at work, and the next one is fetched for the next start. */
START_TEST(tasks_that_take_long_keep_no_window_small)
{
	struct rig rig;
	throttled_set(throttle, 1, 10 * MTIME_MINUTE);
	rig_start(&rig, throttled_config(8, throttle, false));
	throttled_deliver(&rig, "- -");
	rig_expect(&rig, "send 0:1");
	for (uint32_t at_work = 2; at_work < 8; at_work++) {
		rig_wait(&rig, 10 * MTIME_MINUTE);
		rig_forget(&rig);
		ck_assert_uint_eq(rig.pool->tasks.dispatch.in_pipes, at_work);
		ck_assert_uint_eq(rig.pool->tasks.source.window, 1);
		ck_assert_uint_eq(rig.pool->tasks.source.excluded, at_work);
		throttled_deliver(&rig, "-");
	}
	rig_end(&rig);
}
END_TEST

/* One is fetched, and its refusal shows when a task may start. */
START_TEST(a_pool_with_a_task_at_work_knows_that_no_other_may_start)
{
	struct rig rig;
	start(&rig, 1, HOUR, false);
	throttled_deliver(&rig, "-");
	rig_expect(&rig, "send 0:1");
	rig_command(&rig, COMMAND_PAUSE);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 1");
	throttled_deliver(&rig, "-");
	rig_expect(&rig, "rest");
	ck_assert_int_eq(pool_facts(rig.pool).closed_until, rig.now + HOUR);
	rig_end(&rig);
}
END_TEST

/* More are kept than may start soon, since there was another limit. */
START_TEST(what_was_kept_for_ten_minutes_goes_back)
{
	struct rig rig;
	throttled_set(throttle, 5, 10 * MTIME_MINUTE);
	rig_start(&rig, throttled_config(8, throttle, false));
	throttled_deliver(&rig, "- - - - - - - -");
	rig_forget(&rig);
	throttled_set(throttle, 1, 4 * MTIME_MINUTE);
	throttled_wait(&rig, 4 * MTIME_MINUTE, "send 5:6");
	throttled_wait(&rig, 4 * MTIME_MINUTE, "send 6:7");
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + 2 * MTIME_MINUTE);
	throttled_wait(&rig, 2 * MTIME_MINUTE - 1, "");
	throttled_wait(&rig, 1, "rest");
	rig_source_fact(&rig, SOURCE_RESTED);
	throttled_wait(&rig, MTIME_MINUTE, "requeue 8");
	rig_end(&rig);
}
END_TEST

/* However near the next start is: those go on while the others go back. */
START_TEST(near_starts_keep_nothing_for_longer)
{
	struct rig rig;
	throttled_set(throttle, 4, 10 * MTIME_MINUTE);
	rig_start(&rig, throttled_config(8, throttle, false));
	throttled_deliver(&rig, "- - - - - - - -");
	rig_expect(&rig, "send 0:1, send 1:2, send 2:3, send 3:4");
	rig_wait(&rig, 10 * MTIME_MINUTE - 1);
	rig_forget(&rig);
	throttled_set(throttle, 1, 10 * MTIME_MINUTE + 30 * MTIME_SECOND);
	throttled_wait(&rig, 1, "rest");
	rig_source_fact(&rig, SOURCE_RESTED);
	ck_assert_int_eq(pool_facts(rig.pool).closed_until, rig.now + THROTTLING_CLOSED_MIN);
	throttled_wait(&rig, 30 * MTIME_SECOND, "send 4:5");
	throttled_wait(&rig, 30 * MTIME_SECOND, "requeue 6, requeue 7, requeue 8");
	throttled_wait(&rig, MTIME_MINUTE - 1, "");
	rig_wait(&rig, 1);
	ck_assert_int_eq(pool_facts(rig.pool).closed_until, 0);
	rig_end(&rig);
}
END_TEST

/* It would not go back. */
START_TEST(a_suspect_closes_no_pool)
{
	struct rig rig;
	struct pool_config config = throttled_config(1, throttle, false);
	config.concurrency = 2;
	throttled_set(throttle, 2, MTIME_MINUTE);
	rig_start(&rig, config);
	throttled_deliver(&rig, "- -");
	rig_expect(&rig, "send 0:1, send 0:2");
	rig_wait(&rig, 20 * MTIME_MINUTE);
	throttled_set(throttle, 1, 20 * MTIME_MINUTE + MTIME_SECOND);
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, 500 * MTIME_MS);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	throttled_expect(&rig, 2, "t0");
	ck_assert_int_eq(pool_facts(rig.pool).closed_until, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(a_pause_ends_what_a_throttle_has_closed)
{
	struct rig rig;
	start_and_close(&rig);
	rig_command(&rig, COMMAND_PAUSE);
	rig_wait(&rig, 2 * HOUR);
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.told, "THROTTLE_OPENS"));
	rig_end(&rig);
}
END_TEST

/* Which may be for a day. */
START_TEST(idle_workers_of_a_closed_pool_leave)
{
	struct rig rig;
	struct pool_config config = throttled_config(1, throttle, false);
	config.workers_max = 3;
	throttled_set(throttle, 3, HOUR);
	rig_start(&rig, config);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_SCALE, .number = 3, .max = 3}});
	rig_turn(&rig);
	rig_ready(&rig, 1, 1);
	rig_ready(&rig, 2, 1);
	throttled_deliver(&rig, "- - - -");
	for (uint16_t slot = 0; slot < 3; slot++)
		rig_answer(&rig, slot, STATUS_DONE);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_SCALE, .number = 1, .max = 3}});
	for (int i = 0; i < 10; i++)
		rig_wait(&rig, 30 * MTIME_SECOND);
	ck_assert_uint_eq(pool_facts(rig.pool).wanted, 1);
	rig_end(&rig);
}
END_TEST

/* Another one has refused a task since then. */
START_TEST(the_throttle_that_closes_a_pool_is_named)
{
	struct rig rig;
	start_and_close(&rig);
	throttled_wait(&rig, MTIME_MINUTE, "requeue 2, requeue 3");
	rig.pool->tasks.dispatch.throttling.by = "another";
	rig_turn(&rig);
	ck_assert_str_eq(pool_facts(rig.pool).throttled_by, "t0");
	rig_end(&rig);
}
END_TEST

START_TEST(it_is_told_when_a_pool_closes_and_opens)
{
	struct rig rig;
	start_and_close(&rig);
	rig_expect_told(&rig, "THROTTLE_CLOSES, TASK_DONE");
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect_told(&rig, "TASK_UNSTARTED, TASK_UNSTARTED");
	rig_wait(&rig, HOUR - MTIME_MINUTE);
	rig_expect_told(&rig, "THROTTLE_OPENS");
	rig_end(&rig);
}
END_TEST

START_TEST(the_same_figures_open_no_pool)
{
	struct rig rig;
	start_and_close(&rig);
	throttled_wait(&rig, MTIME_MINUTE, "requeue 2, requeue 3");
	throttled_set(throttle, 1, HOUR);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* Those of others go on. */
START_TEST(a_limit_for_each_key_closes_no_pool)
{
	struct rig rig;
	start(&rig, 1, HOUR, true);
	throttled_deliver(&rig, "a a b");
	rig_expect(&rig, "send 0:1, publish 1 postpone 2 after 3600000, send 1:3");
	ck_assert_uint_eq(rig.pool->tasks.source.window, DEFAULT);
	rig_end(&rig);
}
END_TEST

/* In the next ten minutes 5 may start, and then 1 more; 2 of these have. */
START_TEST(as_many_messages_are_kept_as_may_start_in_ten_minutes)
{
	struct rig rig;
	start(&rig, 2, 4 * MTIME_MINUTE, false);
	ck_assert_uint_eq(rig.pool->tasks.source.window, 6);
	throttled_deliver(&rig, "- -");
	rig_expect(&rig, "send 0:1, send 1:2");
	throttled_answer(&rig, 0, "ack 1");
	throttled_answer(&rig, 1, "ack 2");
	rig_turn(&rig);
	ck_assert_uint_eq(pace_window(&rig.pool->tasks.pace), 4);
	rig_end(&rig);
}
END_TEST

/* The smaller one of two; what refuses instead of waiting needs no messages to be kept. */
START_TEST(the_window_is_that_of_the_least_supply_for_which_tasks_wait)
{
	struct rig rig;
	struct throttle *others[] = {throttled_new(2), throttled_new(1)};
	throttled_set(throttle, 5, HOUR);
	throttled_set(others[0], 3, HOUR);
	throttled_set(others[1], 1, HOUR);
	struct pool_config config = throttled_config(3, throttle, false);
	throttled_add(&config, others[0], false, THROTTLE_DELAY);
	throttled_add(&config, others[1], false, THROTTLE_REPLY);
	rig_start(&rig, config);
	ck_assert_uint_eq(rig.pool->tasks.source.window, 3);
	rig_end(&rig);
	throttle_free(others[0]);
	throttle_free(others[1]);
}
END_TEST

static Suite *throttling_closed_suite(void)
{
	Suite *suite = suite_create("core/throttling_closed");
	UNIT_CASE_WITH(suite, "closed", throttled_set_up, throttled_tear_down,
		what_must_wait_for_long_goes_back, other_figures_open_the_pool,
		a_pool_without_the_throttle_is_open_again, before_it_goes_back_it_may_start,
		a_closed_pool_that_is_paused_consumes_when_both_are_over,
		ten_minutes_are_no_long_wait, tasks_that_take_long_keep_no_window_small,
		a_pool_with_a_task_at_work_knows_that_no_other_may_start,
		what_was_kept_for_ten_minutes_goes_back, near_starts_keep_nothing_for_longer,
		idle_workers_of_a_closed_pool_leave, the_throttle_that_closes_a_pool_is_named,
		a_suspect_closes_no_pool, a_pause_ends_what_a_throttle_has_closed,
		it_is_told_when_a_pool_closes_and_opens, the_same_figures_open_no_pool,
		a_limit_for_each_key_closes_no_pool,
		as_many_messages_are_kept_as_may_start_in_ten_minutes,
		the_window_is_that_of_the_least_supply_for_which_tasks_wait);
	return suite;
}

UNIT_MAIN(throttling_closed_suite)
