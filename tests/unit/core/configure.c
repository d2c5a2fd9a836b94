/* Another configuration while work goes on: what is asked when a decision is made holds from then
 * on, and nobody is interrupted. */
#include "unit/support/core/rig.h"

START_TEST(fewer_attempts_apply_to_the_running_task)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_begin(&rig, config, 2);
	config.policy.attempts = 1;
	rig_configure(&rig, config);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "");
	rig_answer(&rig, 0, 500);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 dead 1, send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_longer_hard_limit_applies_to_the_running_task)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_begin(&rig, config, 1);
	rig_wait(&rig, 59 * MTIME_SECOND);
	config.hard_limit = 90 * MTIME_SECOND;
	rig_configure(&rig, config);
	rig_wait(&rig, 30 * MTIME_SECOND);
	rig_expect(&rig, "");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "term 0.1");
	rig_end(&rig);
}
END_TEST

/* A start or grace ends by the limit with which it began; later ones have the new limit. */
START_TEST(a_running_grace_keeps_its_length)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	rig_start(&rig, config);
	rig_forget(&rig);
	rig_scale(&rig, 1);
	rig_expect(&rig, "quit 1.1");
	config.grace = MTIME_SECOND;
	rig_configure(&rig, config);
	rig_wait(&rig, 4 * MTIME_SECOND);
	rig_expect(&rig, "");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "term 1.1");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "kill 1.1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_new_pipeline_depth_applies_at_once)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_begin(&rig, config, 5);
	config.pipeline = 3;
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2, send 0:3");
	config.pipeline = 1;
	rig_configure(&rig, config);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2*");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:4, ack 3");
	rig_end(&rig);
}
END_TEST

/* Tasks that were sent with a configured depth may wait for any time. */
START_TEST(a_fixed_pipeline_can_become_automatic)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 2);
	rig_begin(&rig, config, 4);
	config.pipeline = 0;
	config.pipe_wait = 5 * MTIME_MS;
	rig_configure(&rig, config);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1"); /* the next one has its pipe for itself: nothing is known yet */
	config.pipeline = 2;
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3");
	rig_end(&rig);
}
END_TEST

/* Open deliveries count: however often the window is changed, it does not add up. */
START_TEST(a_new_window_applies_at_once_and_does_not_add_up)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_begin(&rig, config, 8);
	config.prefetch = 4;
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "consume 1");
	config.prefetch = 10;
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "consume 2");
	rig_configure(&rig, config); /* nothing is new about it */
	rig_turn(&rig);
	rig_expect(&rig, "");
	for (int left = 8; left > 0; left--) {
		rig_answer(&rig, 0, 200);
		rig_turn(&rig);
	}
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "consume 10"));
	rig_end(&rig);
}
END_TEST

/* A second, equal configuration in the same turn must not undo the first. */
START_TEST(two_reloads_in_one_turn_both_apply)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	config.prefetch = 4;
	rig_start(&rig, config);
	rig_forget(&rig);
	config.prefetch = 5;
	rig_configure(&rig, config);
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "consume 5");
	rig_end(&rig);
}
END_TEST

START_TEST(a_paused_pool_applies_it_when_it_resumes)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_start(&rig, config);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_PAUSE);
	rig_source_fact(&rig, SOURCE_RESTED);
	config.prefetch = 3;
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "rest");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_smaller_outbox_limit_stops_dispatch)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	rig_begin(&rig, config, 4);
	rig_answer(&rig, 0, 201);
	config.outbox_limit = 1;
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 reply 1");
	config.outbox_limit = 1 << 20;
	rig_configure(&rig, config);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_draining_pool_refuses_a_configuration)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_begin(&rig, config, 1);
	rig_command(&rig, COMMAND_DRAIN);
	rig_forget(&rig);
	config.policy.attempts = 1;
	rig_configure(&rig, config);
	rig_expect_told(&rig, "COMMAND_REFUSED");
	ck_assert_str_eq(rig.what, "the pool is stopping");
	rig_answer(&rig, 0, 500);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 retry 1, quit 0.1");
	rig_end(&rig);
}
END_TEST

static Suite *configure_suite(void)
{
	Suite *suite = suite_create("core/configure");
	UNIT_CASE(suite, "tasks", fewer_attempts_apply_to_the_running_task,
		a_longer_hard_limit_applies_to_the_running_task, a_running_grace_keeps_its_length,
		a_new_pipeline_depth_applies_at_once, a_fixed_pipeline_can_become_automatic,
		a_smaller_outbox_limit_stops_dispatch);
	UNIT_CASE(suite, "window", a_new_window_applies_at_once_and_does_not_add_up,
		two_reloads_in_one_turn_both_apply, a_paused_pool_applies_it_when_it_resumes);
	UNIT_CASE(suite, "refused", a_draining_pool_refuses_a_configuration);
	return suite;
}

UNIT_MAIN(configure_suite)
