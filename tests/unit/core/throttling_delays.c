/* The tasks that had to wait for a throttle are counted, each once. */
#include "unit/support/core/throttled.h"

static void expect_delays(const struct rig *rig, uint64_t count)
{
	ck_assert_uint_eq(pool_facts(rig->pool).delays, count);
	ck_assert_uint_eq(throttle_delays(throttle), count);
}

/* Those behind it are asked about when it has started. */
START_TEST(a_task_that_had_to_wait_counts_once)
{
	struct rig rig;
	rig_start(&rig, throttled_config(3, throttle, false));
	throttled_deliver(&rig, "- -");
	expect_delays(&rig, 0);
	throttled_deliver(&rig, "- -");
	expect_delays(&rig, 1);
	throttled_answer(&rig, 0, "send 0:1, send 1:2, ack 1");
	throttled_answer(&rig, 1, "ack 2");
	throttled_wait(&rig, THROTTLED_PERIOD / 2, "");
	throttled_set(throttle, 2, THROTTLED_PERIOD + MTIME_SECOND); /* it is asked about again */
	rig_turn(&rig);
	expect_delays(&rig, 1);
	throttled_wait(&rig, THROTTLED_PERIOD / 2 + MTIME_SECOND, "send 1:3, send 0:4");
	expect_delays(&rig, 1); /* the last one started when it was asked about */
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_that_waits_for_its_key_counts_for_its_throttle)
{
	struct rig rig;
	struct throttle *all = throttled_new(100);
	struct pool_config config = throttled_config(3, all, false);
	throttled_add(&config, throttle, true, THROTTLE_DELAY);
	rig_start(&rig, config);
	throttled_deliver(&rig, "xa xa xa xa");
	expect_delays(&rig, 2);
	ck_assert_uint_eq(throttle_delays(all), 0);
	rig_end(&rig);
	throttle_free(all);
}
END_TEST

/* It is done. */
START_TEST(a_refused_task_has_not_waited)
{
	struct rig rig;
	struct pool_config config = throttled_config(3, throttle, false);
	config.throttles[0].excess = THROTTLE_DEAD_LETTER;
	rig_start(&rig, config);
	throttled_deliver(&rig, "- - -");
	expect_delays(&rig, 0);
	rig_end(&rig);
}
END_TEST

static Suite *throttling_delays_suite(void)
{
	Suite *suite = suite_create("throttling_delays");
	TCase *tcase = tcase_create("counted");
	tcase_add_checked_fixture(tcase, throttled_set_up, throttled_tear_down);
	tcase_add_test(tcase, a_task_that_had_to_wait_counts_once);
	tcase_add_test(tcase, a_task_that_waits_for_its_key_counts_for_its_throttle);
	tcase_add_test(tcase, a_refused_task_has_not_waited);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(throttling_delays_suite)
