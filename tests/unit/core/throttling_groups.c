/* A limit for each key: what waits for its key, in which order, how much of it, and that others do
 * not wait for it. */
#include "core/dispatch/dispatch_internal.h"
#include "core/pool_internal.h"
#include "unit/support/core/memory.h"
#include "unit/support/core/throttled.h"

#define CREDIT (100 * MTIME_MS) /* for a task that may be postponed */

static struct throttle *other; /* of two */

static void set_up(void)
{
	throttled_set_up();
	throttled_set(throttle, 1, THROTTLED_PERIOD);
	other = throttled_new(1);
}

static void tear_down(void)
{
	throttled_tear_down();
	throttle_free(other);
}

/* ---------- who waits ---------- */

START_TEST(a_key_waits_and_others_do_not)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	mtime begin = rig.now;
	throttled_deliver(&rig, "a a b a c");
	rig_expect(&rig, "send 0:1, send 1:3, send 2:5");
	throttled_expect(&rig, 2, "t0");
	ck_assert_int_eq(pool_facts(rig.pool).throttled_since, begin);
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 2);
	ck_assert_uint_eq(dispatch_runnable(&rig.pool->tasks.dispatch), 0);
	ck_assert_int_eq(pool_deadline(rig.pool), begin + THROTTLED_PERIOD);
	throttled_wait(&rig, THROTTLED_PERIOD - 1, "");
	throttled_wait(&rig, 1, "send 3:2");
	throttled_expect(&rig, 1, "t0");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 4:4");
	throttled_expect(&rig, 0, "t0");
	ck_assert_uint_eq(throttle_starts(throttle), 5);
	rig_end(&rig);
}
END_TEST

START_TEST(messages_without_the_key_share_one_limit)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "- - a");
	rig_expect(&rig, "send 0:1, send 1:3");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 2:2");
	rig_end(&rig);
}
END_TEST

/* The group's time has come by the clock of the throttle, but not by that of the pool. */
START_TEST(a_group_is_not_overtaken)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a");
	rig_expect(&rig, "send 0:1");
	throttled_wait(&rig, THROTTLED_PERIOD - 5 * MTIME_MS, "");
	rig.suspended = 5 * MTIME_MS;
	throttled_deliver(&rig, "a");
	rig_expect(&rig, "");
	throttled_expect(&rig, 2, "t0");
	throttled_wait(&rig, 5 * MTIME_MS, "send 1:2");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 2:3");
	rig_end(&rig);
}
END_TEST

START_TEST(groups_that_are_due_go_first_and_take_turns)
{
	struct rig rig;
	throttled_set(throttle, 1, MTIME_SECOND);
	rig_start(&rig, throttled_config(2, throttle, true));
	throttled_deliver(&rig, "a b");
	throttled_answer(&rig, 0, "send 0:1, send 1:2, ack 1");
	throttled_deliver(&rig, "a a");
	throttled_answer(&rig, 1, "ack 2");
	throttled_deliver(&rig, "b b");
	throttled_expect(&rig, 4, "t0");
	rig_set_writable(&rig, 0, false);
	rig_set_writable(&rig, 1, false);
	throttled_wait(&rig, 2 * MTIME_SECOND, "");
	ck_assert_uint_eq(dispatch_runnable(&rig.pool->tasks.dispatch), 2);
	throttled_set(throttle, 100, MTIME_SECOND);
	throttled_deliver(&rig, "c");
	rig_set_writable(&rig, 0, true);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3");
	throttled_answer(&rig, 0, "send 0:5, ack 3");
	throttled_answer(&rig, 0, "send 0:4, ack 5");
	throttled_answer(&rig, 0, "send 0:6, ack 4");
	throttled_answer(&rig, 0, "send 0:7, ack 6");
	rig_end(&rig);
}
END_TEST

START_TEST(a_start_of_another_pool_makes_the_group_wait_longer)
{
	struct rig rig, second;
	rig_start(&rig, throttled_config(2, throttle, true));
	rig_start(&second, throttled_config(2, throttle, true));
	throttled_deliver(&rig, "a a");
	rig_expect(&rig, "send 0:1");
	second.now = rig.now = rig.now + THROTTLED_PERIOD;
	throttled_deliver(&second, "a");
	rig_expect(&second, "send 0:1");
	rig_turn(&rig);
	rig_expect(&rig, "");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 1:2");
	rig_end(&rig);
	rig_end(&second);
}
END_TEST

/* ---------- two throttles ---------- */

static struct pool_config two_throttles(uint16_t workers)
{
	struct pool_config config = throttled_config(workers, throttle, true);
	throttled_add(&config, other, true, THROTTLE_DELAY);
	return config;
}

/* Task 2 waits for a, and then for x, which task 3 has used meanwhile; task 4 does not wait for
 * that. */
START_TEST(a_task_waits_for_one_key_after_the_other)
{
	struct rig rig;
	rig_start(&rig, two_throttles(5));
	throttled_deliver(&rig, "ay ax az");
	rig_expect(&rig, "send 0:1");
	rig_wait(&rig, MTIME_SECOND);
	throttled_deliver(&rig, "bx");
	rig_expect(&rig, "send 1:4");
	throttled_wait(&rig, THROTTLED_PERIOD - MTIME_SECOND, "send 2:3");
	throttled_expect(&rig, 1, "t1");
	throttled_wait(&rig, MTIME_SECOND, "");
	throttled_expect(&rig, 1, "t0");
	throttled_wait(&rig, THROTTLED_PERIOD - MTIME_SECOND, "send 3:2");
	rig_end(&rig);
}
END_TEST

START_TEST(the_limit_for_all_holds_back_what_is_due)
{
	struct rig rig;
	struct pool_config config = throttled_config(5, throttle, true);
	throttled_add(&config, other, false, THROTTLE_DELAY);
	throttled_set(other, 3, 3 * THROTTLED_PERIOD);
	rig_start(&rig, config);
	throttled_deliver(&rig, "a a b c");
	rig_expect(&rig, "send 0:1, send 1:3, send 2:4");
	throttled_wait(&rig, THROTTLED_PERIOD, "");
	throttled_expect(&rig, 1, "t1");
	throttled_wait(&rig, 2 * THROTTLED_PERIOD, "send 3:2");
	rig_end(&rig);
}
END_TEST

/* ---------- how much ---------- */

/* Of a window of 8, four wait. Each start lets one be postponed; then nothing more is chosen. */
START_TEST(half_of_the_window_waits_and_as_many_are_postponed_as_started)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a a a a a/1 a b");
	rig_expect(&rig, "send 0:1, publish 1 postpone 6 after 10000");
	rig_expect_told(&rig, "TASK_POSTPONED");
	ck_assert_str_eq(rig.what, "t0");
	ck_assert_int_eq(rig.duration, THROTTLED_PERIOD);
	throttled_expect(&rig, 6, "t0");
	ck_assert_uint_eq(dispatch_runnable(&rig.pool->tasks.dispatch), 0);
	throttled_answer(&rig, 0, "ack 1");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 6");
	rig_end(&rig);
}
END_TEST

/* Ten a second are postponed although none starts, so that another key has its turn. */
START_TEST(a_key_behind_many_of_another_has_its_turn)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	mtime began = rig.now;
	throttled_deliver(&rig, "a a a a a a a b");
	rig_expect(&rig, "send 0:1, publish 1 postpone 6 after 10000");
	throttled_answer(&rig, 0, "ack 1");
	ck_assert_int_le(pool_deadline(rig.pool), began + CREDIT);
	throttled_wait(&rig, CREDIT - 2, "");
	throttled_wait(&rig, 2, "publish 2 postpone 7 after 10000, send 0:8");
	throttled_expect(&rig, 4, "t0");
	rig_end(&rig);
}
END_TEST

START_TEST(a_postponed_task_has_counted_no_attempt)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a a a a a/1");
	rig_expect(&rig, "send 0:1, publish 1 postpone 6 after 10000");
	const struct parcel *parcel = outbox_oldest(&rig.pool->tasks.outbox);
	ck_assert_uint_eq(parcel->delivery->attempt, 1);
	ck_assert_int_eq(parcel->reason, REASON_NONE);
	rig_outbox_fact(&rig, REFUSED, 1, false);
	rig_expect_told(&rig, "TASK_POSTPONED, PARCEL_REFUSED");
	throttled_wait(&rig, MTIME_SECOND, "publish 2 postpone 6 after 10000");
	rig_end(&rig);
}
END_TEST

/* No more than half of the window is kept, however many have started. */
START_TEST(starts_of_long_ago_let_no_crowd_be_postponed)
{
	struct rig rig;
	throttled_set(throttle, 20, THROTTLED_PERIOD);
	rig_start(&rig, throttled_config(1, throttle, true));
	throttled_deliver(&rig, "a");
	for (int i = 0; i < 19; i++) {
		rig_answer(&rig, 0, STATUS_DONE);
		throttled_deliver(&rig, "a");
	}
	rig_answer(&rig, 0, STATUS_DONE);
	rig_turn(&rig);
	rig_forget(&rig);
	ck_assert_uint_eq(throttle_starts(throttle), 20);
	ck_assert_uint_eq(rig.pool->tasks.dispatch.throttling.credit, 4);
	throttled_deliver(&rig, "a a a a a a a a");
	rig_expect(&rig, "publish 1 postpone 25 after 10000, publish 2 postpone 26 after 10000, "
			 "publish 3 postpone 27 after 10000, publish 4 postpone 28 after 10000");
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_that_would_wait_for_more_than_a_minute_is_postponed)
{
	struct rig rig;
	throttled_set(throttle, 1, 2 * MTIME_MINUTE);
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a b");
	rig_expect(&rig, "send 0:1, publish 1 postpone 2 after 120000, send 1:3");
	throttled_expect(&rig, 0, NULL);
	rig_end(&rig);
	throttled_set(throttle, 1, MTIME_MINUTE);
	rig_start(&rig, throttled_config(5, throttle, true));
	rig.now += 2 * MTIME_MINUTE;
	throttled_deliver(&rig, "a a");
	throttled_wait(&rig, MTIME_MINUTE, "send 0:1, send 1:2");
	rig_end(&rig);
}
END_TEST

/* It is no reason to stop others: it takes a place among those that wait, and leaves it in a
 * minute.
 */
START_TEST(without_credit_it_waits_here_for_a_minute)
{
	struct rig rig;
	throttled_set(throttle, 1, 5 * MTIME_MINUTE);
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a a b");
	rig_expect(&rig, "send 0:1, publish 1 postpone 2 after 300000, send 1:4");
	throttled_expect(&rig, 1, "t0");
	throttled_wait(&rig, MTIME_MINUTE - 1, "");
	throttled_wait(&rig, 1, "publish 2 postpone 3 after 300000");
	rig_end(&rig);
}
END_TEST

/* Of a window of 1,800 half may wait. As many may go in a minute. */
START_TEST(a_large_window_is_postponed_in_a_minute)
{
	struct rig rig;
	throttled_set(throttle, 1, 30 * MTIME_MINUTE);
	struct pool_config config = throttled_config(1, throttle, true);
	config.prefetch = 2 * 900;
	rig_start(&rig, config);
	rig_wait(&rig, MTIME_MINUTE);
	ck_assert_uint_ge(rig.pool->tasks.dispatch.throttling.credit, 899);
	rig_end(&rig);
}
END_TEST

/* Of those behind each other, the last ones would wait for longer than the throttle said at first.
 */
START_TEST(a_task_behind_others_waits_for_a_minute_at_most)
{
	struct rig rig;
	throttled_set(throttle, 1, 40 * MTIME_SECOND);
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a a");
	rig_expect(&rig, "send 0:1");
	throttled_answer(&rig, 0, "ack 1");
	throttled_wait(&rig, 40 * MTIME_SECOND, "send 0:2, publish 1 postpone 3 after 60000");
	rig_end(&rig);
}
END_TEST

static void deliver_returned(struct rig *rig)
{
	struct delivery *delivery = rig_delivery(++rig->last_tag);
	delivery->throttle_keys[0] = 'a';
	delivery->returns = 1;
	rig_deliver_this(rig, delivery);
	rig_turn(rig);
}

/* Its copy would begin without the broker's count of returns. */
START_TEST(a_task_that_has_come_back_is_not_postponed)
{
	struct rig rig;
	throttled_set(throttle, 1, 2 * MTIME_MINUTE);
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a");
	rig_expect(&rig, "send 0:1");
	deliver_returned(&rig);
	throttled_expect(&rig, 1, "t0");
	throttled_deliver(&rig, "b");
	rig_expect(&rig, "send 1:3");
	throttled_wait(&rig, MTIME_MINUTE, "");
	throttled_wait(&rig, MTIME_MINUTE, "send 2:2");
	rig_end(&rig);
}
END_TEST

/* There is credit, but no space; what is behind it waits with it. */
START_TEST(a_task_that_has_come_back_holds_its_place)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a a a a");
	rig_expect(&rig, "send 0:1");
	deliver_returned(&rig);
	throttled_deliver(&rig, "b");
	rig_expect(&rig, "");
	throttled_expect(&rig, 6, "t0");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 1:2, send 2:7");
	throttled_expect(&rig, 4, "t0");
	rig_end(&rig);
}
END_TEST

/* A worker ends because of one of its tasks; the others wait before those that came later. */
START_TEST(tasks_that_come_back_from_a_worker_keep_their_order)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 4);
	config.prefetch = 16;
	throttled_set(throttle, 3, THROTTLED_PERIOD);
	throttled_add(&config, throttle, true, THROTTLE_DELAY);
	rig_start(&rig, config);
	rig_set_writable(&rig, 1, false);
	throttled_deliver(&rig, "a a a a a");
	rig_expect(&rig, "send 0:1, send 0:2, send 0:3");
	rig_set_writable(&rig, 1, true);
	rig_broken_task(&rig, 0, 1);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	throttled_expect(&rig, 4, "t0");
	rig_forget(&rig);
	throttled_wait(&rig, THROTTLED_PERIOD, "spawn 0.2, send 1:2, send 1:3, send 1:4");
	rig_end(&rig);
}
END_TEST

/* ---------- suspects, and tasks that run alone ---------- */

START_TEST(an_exclusive_task_keeps_its_place)
{
	struct rig rig;
	rig_start(&rig, throttled_config(3, throttle, true));
	throttled_deliver(&rig, "a");
	throttled_answer(&rig, 0, "send 0:1, ack 1");
	throttled_deliver(&rig, "a a! b");
	rig_expect(&rig, "");
	throttled_expect(&rig, 3, "t0");
	ck_assert_uint_eq(dispatch_runnable(&rig.pool->tasks.dispatch), 0);
	throttled_wait(&rig, THROTTLED_PERIOD, "send 0:2");
	throttled_answer(&rig, 0, "ack 2");
	throttled_expect(&rig, 2, "t0");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 0:3");
	throttled_answer(&rig, 0, "send 0:4, ack 3");
	rig_end(&rig);
}
END_TEST

/* The tasks 1 and 2 were open when their worker ended. */
START_TEST(a_suspect_keeps_its_place_and_stops_no_other_task)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 2);
	throttled_add(&config, throttle, true, THROTTLE_DELAY);
	rig_start(&rig, config);
	rig_set_writable(&rig, 1, false);
	throttled_deliver(&rig, "a b");
	rig_set_writable(&rig, 1, true);
	rig_gone(&rig, 0, 1);
	rig_forget(&rig);
	throttled_deliver(&rig, "c d");
	rig_expect(&rig, "send 1:3, send 1:4");
	throttled_expect(&rig, 2, "t0");
	ck_assert_int_eq(rig.pool->tasks.dispatch.kept_count, 0);
	rig_answer_task(&rig, 1, 1, 3, STATUS_DONE);
	rig_answer_task(&rig, 1, 1, 4, STATUS_DONE);
	rig_turn(&rig);
	rig_expect(&rig, "ack 3, ack 4");
	throttled_wait(&rig, THROTTLED_PERIOD, "spawn 0.2, send 1:1");
	rig_end(&rig);
}
END_TEST

/* The first suspect, of key a, waits for its throttle, and the second one may start. */
START_TEST(a_suspect_stops_no_suspect_of_another_key)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 2);
	throttled_set(throttle, 2, THROTTLED_PERIOD);
	throttled_add(&config, throttle, true, THROTTLE_DELAY);
	rig_start(&rig, config);
	rig_set_writable(&rig, 1, false);
	throttled_deliver(&rig, "a b");
	rig_set_writable(&rig, 1, true);
	throttled_deliver(&rig, "a");
	rig_gone(&rig, 0, 1);
	rig_forget(&rig);
	rig_turn(&rig);
	throttled_expect(&rig, 0, NULL);
	rig_answer_task(&rig, 1, 1, 3, STATUS_DONE);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:2, ack 3");
	throttled_expect(&rig, 1, "t0");
	ck_assert_uint_eq(dispatch_suspects(&rig.pool->tasks.dispatch), 0);
	rig_end(&rig);
}
END_TEST

/* ---------- what else happens meanwhile ---------- */

START_TEST(a_drain_hands_back_what_waits)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a b b");
	rig_expect(&rig, "send 0:1, send 1:3");
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_turn(&rig);
	rig_expect(&rig, "rest, quit 2.1, quit 3.1, quit 4.1, requeue 2, requeue 4");
	throttled_expect(&rig, 0, "t0");
	rig_end(&rig);
}
END_TEST

START_TEST(a_forced_stop_hands_back_what_waits)
{
	struct rig rig;
	rig_start(&rig, throttled_config(1, throttle, true));
	throttled_deliver(&rig, "a");
	throttled_answer(&rig, 0, "send 0:1, ack 1");
	throttled_deliver(&rig, "a a");
	rig_command(&rig, COMMAND_FORCE);
	rig_expect(&rig, "kill 0.1, requeue 2, requeue 3");
	rig_end(&rig);
}
END_TEST

START_TEST(after_a_minute_of_a_pause_what_waits_goes_back)
{
	struct rig rig;
	rig_start(&rig, throttled_config(2, throttle, true));
	throttled_deliver(&rig, "a a");
	throttled_answer(&rig, 0, "send 0:1, ack 1");
	rig_command(&rig, COMMAND_PAUSE);
	rig_source_fact(&rig, SOURCE_RESTED);
	throttled_wait(&rig, THROTTLED_PERIOD, "rest");
	throttled_wait(&rig, MTIME_MINUTE, "requeue 2");
	throttled_expect(&rig, 0, NULL);
	rig_end(&rig);
}
END_TEST

START_TEST(a_lost_channel_takes_what_waits)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a a b");
	rig_expect(&rig, "send 0:1, send 1:4");
	rig_source_fact(&rig, SOURCE_DOWN);
	throttled_expect(&rig, 0, "t0");
	rig_turn(&rig);
	rig_source_up(&rig);
	rig.last_tag = 0;
	throttled_deliver(&rig, "a b c");
	rig_expect(&rig, "send 2:3");
	throttled_expect(&rig, 2, "t0");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 3:1, send 4:2");
	rig_end(&rig);
}
END_TEST

START_TEST(other_figures_and_a_suspension_apply_to_what_waits)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a a");
	rig_expect(&rig, "send 0:1");
	throttled_set(throttle, 2, THROTTLED_PERIOD);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:2");
	rig.suspended = THROTTLED_PERIOD;
	rig_turn(&rig);
	rig_expect(&rig, "send 2:3");
	rig_end(&rig);
}
END_TEST

/* The clocks are read at different moments. */
START_TEST(a_small_difference_of_the_clocks_is_no_suspension)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a a");
	rig_expect(&rig, "send 0:1");
	rig.suspended = 9 * MTIME_MS;
	rig_turn(&rig);
	ck_assert_uint_eq(rig.pool->tasks.dispatch.throttling.due_count, 0);
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + THROTTLED_PERIOD);
	rig_end(&rig);
}
END_TEST

START_TEST(another_list_of_throttles_asks_about_all_that_waits)
{
	struct rig rig;
	struct pool_config config = throttled_config(5, throttle, true);
	rig_start(&rig, config);
	throttled_deliver(&rig, "ax ax ay ax");
	rig_expect(&rig, "send 0:1");
	config.throttles[0].throttle = other;
	rig_configure(&rig, config);
	rig_expect(&rig, "");
	rig_turn(&rig);
	rig_expect(&rig, "keys 2, send 1:2, keys 3, send 2:3, keys 4");
	throttled_expect(&rig, 1, "t0");
	config.throttle_count = 0;
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "send 3:4");
	rig_end(&rig);
}
END_TEST

START_TEST(a_turn_asks_about_a_limited_number)
{
	struct rig rig;
	struct pool_config config = throttled_config(1, throttle, true);
	config.prefetch = 3 * DISPATCH_SENDS;
	rig_start(&rig, config);
	throttled_deliver(&rig, "a");
	throttled_answer(&rig, 0, "send 0:1, ack 1");
	for (int i = 0; i < DISPATCH_SENDS + 2; i++)
		throttled_deliver_only(&rig, "a");
	rig_turn(&rig);
	throttled_expect(&rig, DISPATCH_SENDS + 1, "t0");
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + 1);
	throttled_wait(&rig, 1, "");
	throttled_expect(&rig, DISPATCH_SENDS + 2, "t0");
	rig_end(&rig);
}
END_TEST

static void expect_wait_for_memory(long callocs)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a");
	rig_expect(&rig, "send 0:1");
	throttled_deliver_only(&rig, "a b");
	callocs_left = callocs;
	rig_turn(&rig);
	callocs_left = LONG_MAX;
	rig_expect(&rig, "");
	ck_assert_int_le(pool_deadline(rig.pool), rig.now + THROTTLE_MEMORY_WAIT);
	throttled_wait(&rig, THROTTLE_MEMORY_WAIT, "send 1:3");
	throttled_expect(&rig, 1, "t0");
	rig_end(&rig);
}

START_TEST(without_memory_for_a_timer_a_task_waits_a_little)
{
	expect_wait_for_memory(0);
}
END_TEST

START_TEST(without_memory_for_a_group_a_task_waits_a_little)
{
	expect_wait_for_memory(1);
}
END_TEST

START_TEST(without_memory_for_another_group_a_task_stays_in_the_first)
{
	struct rig rig;
	rig_start(&rig, two_throttles(5));
	throttled_deliver(&rig, "ay ax");
	rig_wait(&rig, MTIME_SECOND);
	throttled_deliver(&rig, "bx");
	rig_expect(&rig, "send 0:1, send 1:3");
	rig.now += THROTTLED_PERIOD - MTIME_SECOND;
	callocs_left = 0;
	rig_turn(&rig);
	callocs_left = LONG_MAX;
	ck_assert_int_le(pool_deadline(rig.pool), rig.now + THROTTLE_MEMORY_WAIT);
	throttled_wait(&rig, MTIME_SECOND, "send 2:2");
	rig_end(&rig);
}
END_TEST

static Suite *throttling_groups_suite(void)
{
	Suite *suite = suite_create("core/throttling_groups");
	UNIT_CASE_WITH(suite, "who waits", set_up, tear_down, a_key_waits_and_others_do_not,
		messages_without_the_key_share_one_limit, a_group_is_not_overtaken,
		groups_that_are_due_go_first_and_take_turns,
		a_start_of_another_pool_makes_the_group_wait_longer,
		a_task_waits_for_one_key_after_the_other, the_limit_for_all_holds_back_what_is_due,
		tasks_that_come_back_from_a_worker_keep_their_order);
	UNIT_CASE_WITH(suite, "how much", set_up, tear_down,
		half_of_the_window_waits_and_as_many_are_postponed_as_started,
		a_key_behind_many_of_another_has_its_turn, a_postponed_task_has_counted_no_attempt,
		starts_of_long_ago_let_no_crowd_be_postponed,
		a_task_that_would_wait_for_more_than_a_minute_is_postponed,
		without_credit_it_waits_here_for_a_minute, a_large_window_is_postponed_in_a_minute,
		a_task_behind_others_waits_for_a_minute_at_most,
		a_task_that_has_come_back_is_not_postponed,
		a_task_that_has_come_back_holds_its_place);
	UNIT_CASE_WITH(suite, "alone", set_up, tear_down, an_exclusive_task_keeps_its_place,
		a_suspect_keeps_its_place_and_stops_no_other_task,
		a_suspect_stops_no_suspect_of_another_key);
	UNIT_CASE_WITH(suite, "meanwhile", set_up, tear_down, a_drain_hands_back_what_waits,
		a_forced_stop_hands_back_what_waits, after_a_minute_of_a_pause_what_waits_goes_back,
		a_lost_channel_takes_what_waits, other_figures_and_a_suspension_apply_to_what_waits,
		a_small_difference_of_the_clocks_is_no_suspension,
		another_list_of_throttles_asks_about_all_that_waits,
		a_turn_asks_about_a_limited_number,
		without_memory_for_a_timer_a_task_waits_a_little,
		without_memory_for_a_group_a_task_waits_a_little,
		without_memory_for_another_group_a_task_stays_in_the_first);
	return suite;
}

UNIT_MAIN(throttling_groups_suite)
