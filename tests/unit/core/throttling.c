/* A limit for all tasks of a pool: what counts as a start, and when the pool waits. */
#include "core/pool_internal.h"
#include "unit/support/core/throttled.h"

START_TEST(the_pool_waits_until_the_window_has_space)
{
	struct rig rig;
	rig_start(&rig, throttled_config(3, throttle, false));
	mtime begin = rig.now;
	throttled_deliver(&rig, "- - - -");
	rig_expect(&rig, "send 0:1, send 1:2");
	ck_assert_int_eq(pool_deadline(rig.pool), begin + THROTTLED_PERIOD);
	throttled_expect(&rig, 2, "t0");
	throttled_answer(&rig, 0, "ack 1");
	throttled_answer(&rig, 1, "ack 2");
	throttled_wait(&rig, THROTTLED_PERIOD - 1, "");
	throttled_expect(&rig, 2, "t0");
	ck_assert_int_eq(pool_facts(rig.pool).throttled_since, begin);
	throttled_wait(&rig, 1, "send 1:3, send 0:4");
	throttled_expect(&rig, 0, "t0"); /* a moment ago */
	throttled_wait(&rig, 2 * MTIME_SECOND, "");
	throttled_expect(&rig, 0, NULL);
	rig_end(&rig);
}
END_TEST

/* The limit is used up again and again, each time for less than a second. */
START_TEST(a_throttle_holds_back_for_as_long_as_its_breaks_are_short)
{
	struct rig rig;
	throttled_set(throttle, 1, MTIME_SECOND / 2);
	rig_start(&rig, throttled_config(1, throttle, false));
	mtime begin = rig.now;
	throttled_deliver(&rig, "- - - -");
	for (int i = 0; i < 3; i++) {
		rig_answer(&rig, 0, STATUS_DONE);
		rig_turn(&rig);
		rig_wait(&rig, MTIME_SECOND / 2);
		ck_assert_int_eq(pool_facts(rig.pool).throttled_since, begin);
	}
	throttled_wait(&rig, 2 * MTIME_SECOND,
		"send 0:1, ack 1, send 0:2, ack 2, send 0:3, ack 3, send 0:4");
	throttled_expect(&rig, 0, NULL);
	rig_answer(&rig, 0, STATUS_DONE);
	throttled_deliver(&rig, "- -");
	ck_assert_int_eq(pool_facts(rig.pool).throttled_since, MTIME_NEVER);
	rig_answer(&rig, 0, STATUS_DONE);
	rig_turn(&rig);
	ck_assert_int_eq(pool_facts(rig.pool).throttled_since, rig.now);
	rig_end(&rig);
}
END_TEST

/* The retry is another message with one attempt more. */
START_TEST(a_retry_is_a_start)
{
	struct rig rig;
	rig_start(&rig, throttled_config(3, throttle, false));
	throttled_deliver(&rig, "-/1 -/2 -");
	rig_expect(&rig, "send 0:1/2, send 1:2/3");
	ck_assert_uint_eq(throttle_starts(throttle), 2);
	throttled_expect(&rig, 1, "t0");
	rig_end(&rig);
}
END_TEST

START_TEST(what_was_not_written_is_no_start)
{
	struct rig rig;
	rig_start(&rig, throttled_config(2, throttle, false));
	rig.send = SEND_NO_MEMORY;
	throttled_deliver(&rig, "- - -");
	rig_turn(&rig);
	ck_assert_uint_eq(throttle_starts(throttle), 0);
	rig.send = SEND_TOO_LARGE;
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 dead 1, publish 2 dead 2, publish 3 dead 3");
	ck_assert_uint_eq(throttle_starts(throttle), 0);
	rig.send = SEND_OK;
	throttled_deliver(&rig, "- - -");
	rig_expect(&rig, "send 0:4, send 1:5");
	ck_assert_uint_eq(throttle_starts(throttle), 2);
	rig_end(&rig);
}
END_TEST

START_TEST(an_invalid_task_is_not_asked_about)
{
	struct rig rig;
	rig_start(&rig, throttled_config(1, throttle, false));
	throttled_set(throttle, 1, THROTTLED_PERIOD);
	throttled_deliver(&rig, "-");
	throttled_answer(&rig, 0, "send 0:1, ack 1");
	struct delivery *delivery = rig_delivery(2);
	delivery->invalid = REASON_TOO_LARGE;
	rig_deliver_this(&rig, delivery);
	rig_expect(&rig, "publish 1 dead 2");
	rig_end(&rig);
}
END_TEST

START_TEST(nothing_is_sent_ahead)
{
	struct rig rig;
	throttled_set(throttle, 10, THROTTLED_PERIOD);
	rig_start(&rig, throttled_config(1, throttle, false));
	throttled_deliver(&rig, "- - -");
	rig_expect(&rig, "send 0:1");
	ck_assert_uint_eq(throttle_starts(throttle), 1);
	throttled_expect(&rig, 0, NULL);
	throttled_answer(&rig, 0, "send 0:2, ack 1");
	ck_assert_uint_eq(throttle_starts(throttle), 2);
	rig_end(&rig);
	struct pool_config config = rig_several(1, 2);
	throttled_add(&config, throttle, false, THROTTLE_DELAY);
	rig_start(&rig, config);
	throttled_deliver(&rig, "- - -");
	rig_expect(&rig, "send 0:1, send 0:2");
	ck_assert_uint_eq(throttle_starts(throttle), 4);
	rig_end(&rig);
}
END_TEST

/* Its worker has ended with two of them open, so each runs alone. */
START_TEST(a_task_that_comes_back_from_a_worker_starts_again)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 2);
	throttled_set(throttle, 3, THROTTLED_PERIOD);
	throttled_add(&config, throttle, false, THROTTLE_DELAY);
	rig_start(&rig, config);
	rig_set_writable(&rig, 1, false);
	throttled_deliver(&rig, "- -");
	rig_expect(&rig, "send 0:1, send 0:2");
	rig_set_writable(&rig, 1, true);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:1");
	ck_assert_uint_eq(throttle_starts(throttle), 3);
	rig_answer_task(&rig, 1, 1, 3, STATUS_DONE);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	throttled_expect(&rig, 1, "t0");
	rig_end(&rig);
}
END_TEST

START_TEST(a_throttle_that_refuses_costs_the_others_nothing)
{
	struct rig rig;
	struct throttle *other = throttled_new(1);
	struct pool_config config = throttled_config(3, throttle, false);
	throttled_add(&config, other, false, THROTTLE_DELAY);
	rig_start(&rig, config);
	throttled_deliver(&rig, "- -");
	rig_expect(&rig, "send 0:1");
	throttled_expect(&rig, 1, "t1");
	ck_assert_uint_eq(throttle_starts(throttle), 1);
	rig_end(&rig);
	throttle_free(other);
}
END_TEST

/* Both wait for the same start. The one whose turn comes first takes it. */
START_TEST(another_pool_takes_the_start_that_this_one_waits_for)
{
	struct rig rig, other;
	throttled_set(throttle, 1, THROTTLED_PERIOD);
	rig_start(&rig, throttled_config(2, throttle, false));
	rig_start(&other, throttled_config(2, throttle, false));
	throttled_deliver(&rig, "- -");
	rig_expect(&rig, "send 0:1");
	throttled_deliver(&other, "-");
	rig_expect(&other, "");
	throttled_wait(&other, THROTTLED_PERIOD, "send 0:1");
	throttled_wait(&rig, THROTTLED_PERIOD, "");
	throttled_expect(&rig, 1, "t0");
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + THROTTLED_PERIOD);
	throttled_wait(&rig, THROTTLED_PERIOD, "send 1:2");
	rig_end(&rig);
	rig_end(&other);
}
END_TEST

START_TEST(other_figures_apply_at_once)
{
	struct rig rig;
	rig_start(&rig, throttled_config(3, throttle, false));
	throttled_deliver(&rig, "- - - -");
	rig_expect(&rig, "send 0:1, send 1:2");
	throttled_set(throttle, 3, THROTTLED_PERIOD);
	rig_turn(&rig);
	rig_expect(&rig, "send 2:3");
	throttled_answer(&rig, 0, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_suspension_of_the_machine_counts)
{
	struct rig rig;
	rig_start(&rig, throttled_config(3, throttle, false));
	throttled_deliver(&rig, "- - -");
	rig_expect(&rig, "send 0:1, send 1:2");
	rig.suspended = THROTTLED_PERIOD;
	rig_turn(&rig);
	rig_expect(&rig, "send 2:3");
	rig_end(&rig);
}
END_TEST

START_TEST(what_waits_for_a_throttle_needs_no_worker_and_no_other_messages)
{
	struct rig rig;
	rig_start(&rig, throttled_config(3, throttle, false));
	const struct dispatch *dispatch = &rig.pool->tasks.dispatch;
	throttled_deliver(&rig, "- - - -");
	ck_assert_uint_eq(dispatch_waiting(dispatch), 2);
	ck_assert_uint_eq(dispatch_runnable(dispatch), 0);
	rig_set_writable(&rig, 2, false);
	rig_wait(&rig, THROTTLED_PERIOD); /* no worker has a place */
	ck_assert_uint_eq(dispatch_runnable(dispatch), 2);
	rig_end(&rig);
}
END_TEST

/* Suspects need workers of their own, but not before a throttle lets them start. */
START_TEST(suspects_that_wait_for_a_throttle_let_no_pool_grow)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 2);
	throttled_add(&config, throttle, false, THROTTLE_DELAY);
	config.workers_max = 4;
	rig_start(&rig, config);
	rig_set_writable(&rig, 1, false);
	throttled_deliver(&rig, "- -");
	rig_set_writable(&rig, 1, true);
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, MTIME_SECOND);
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 2);
	ck_assert_uint_eq(dispatch_suspects(&rig.pool->tasks.dispatch), 0);
	ck_assert_uint_eq(dispatch_runnable(&rig.pool->tasks.dispatch), 0);
	ck_assert_uint_eq(pool_facts(rig.pool).wanted, 2);
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_that_is_paused_does_not_wait_for_a_throttle)
{
	struct rig rig;
	rig_start(&rig, throttled_config(3, throttle, false));
	throttled_deliver(&rig, "- - -");
	throttled_expect(&rig, 1, "t0");
	rig_command(&rig, COMMAND_PAUSE);
	rig_turn(&rig);
	throttled_wait(&rig, 2 * MTIME_SECOND, "send 0:1, send 1:2, rest");
	throttled_expect(&rig, 0, NULL);
	throttled_wait(&rig, THROTTLED_PERIOD, "");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 5, send 2:3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_throttle_that_is_not_configured_any_more_holds_nothing_back)
{
	struct rig rig;
	struct pool_config config = throttled_config(3, throttle, false);
	rig_start(&rig, config);
	throttled_deliver(&rig, "- - -");
	rig_expect(&rig, "send 0:1, send 1:2");
	config.throttle_count = 0;
	rig_configure(&rig, config);
	throttled_expect(&rig, 0, NULL);
	rig_turn(&rig);
	rig_expect(&rig, "send 2:3");
	ck_assert_uint_eq(throttle_starts(throttle), 2);
	rig_end(&rig);
}
END_TEST

/* Its name is freed. */
START_TEST(a_throttle_that_is_replaced_is_not_named_any_more)
{
	struct rig rig;
	struct throttle *other = throttled_new(2);
	struct pool_config config = throttled_config(3, throttle, false);
	rig_start(&rig, config);
	mtime begin = rig.now;
	throttled_deliver(&rig, "- - -");
	throttled_expect(&rig, 1, "t0");
	throttled_wait(&rig, 1, "send 0:1, send 1:2");
	rig_configure(&rig, config);
	ck_assert_str_eq(pool_facts(rig.pool).throttled_by, "t0");
	ck_assert_int_eq(pool_facts(rig.pool).throttled_since, begin);
	config.throttles[0].throttle = other;
	config.throttles[0].name = "other";
	rig_configure(&rig, config);
	throttled_expect(&rig, 0, NULL);
	ck_assert_ptr_null(rig.pool->tasks.dispatch.throttling.by);
	rig_turn(&rig);
	rig_expect(&rig, "keys 3, send 2:3");
	throttled_expect(&rig, 0, NULL);
	rig_end(&rig);
	throttle_free(other);
}
END_TEST

static Suite *throttling_suite(void)
{
	Suite *suite = suite_create("core/throttling");
	UNIT_CASE_WITH(suite, "starts", throttled_set_up, throttled_tear_down, a_retry_is_a_start,
		what_was_not_written_is_no_start, an_invalid_task_is_not_asked_about,
		nothing_is_sent_ahead, a_task_that_comes_back_from_a_worker_starts_again,
		a_throttle_that_refuses_costs_the_others_nothing);
	UNIT_CASE_WITH(suite, "waiting", throttled_set_up, throttled_tear_down,
		the_pool_waits_until_the_window_has_space,
		a_throttle_holds_back_for_as_long_as_its_breaks_are_short,
		another_pool_takes_the_start_that_this_one_waits_for,
		what_waits_for_a_throttle_needs_no_worker_and_no_other_messages,
		suspects_that_wait_for_a_throttle_let_no_pool_grow,
		a_pool_that_is_paused_does_not_wait_for_a_throttle);
	UNIT_CASE_WITH(suite, "changes", throttled_set_up, throttled_tear_down,
		other_figures_apply_at_once, a_suspension_of_the_machine_counts,
		a_throttle_that_is_not_configured_any_more_holds_nothing_back,
		a_throttle_that_is_replaced_is_not_named_any_more);
	return suite;
}

UNIT_MAIN(throttling_suite)
