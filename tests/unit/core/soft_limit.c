/* The soft limit: a task is interrupted once. */
#include "unit/support/core/rig.h"

#include <signal.h>
#include <stdio.h>

static struct pool_config interrupting(uint16_t workers)
{
	struct pool_config config = rig_config(workers, 1);
	config.on_soft = SOFT_CONTEXT_SWITCH;
	config.soft_limit = 20 * MTIME_SECOND;
	return config;
}

static void start(struct rig *rig, struct pool_config config, uint64_t tasks)
{
	rig_start(rig, config);
	rig_deliver(rig, 1, tasks);
	rig_turn(rig);
	rig_forget(rig);
}

START_TEST(a_task_over_its_soft_limit_is_interrupted_once)
{
	struct rig rig;
	start(&rig, interrupting(1), 2);
	rig_wait(&rig, 20 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "switch 0.1:1");
	rig_expect_told(&rig, "");
	rig_wait(&rig, 30 * MTIME_SECOND);
	rig_expect(&rig, "");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2, ack 1");
	rig_wait(&rig, 20 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "switch 0.1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(the_hard_limit_applies_after_the_soft_one)
{
	struct rig rig;
	start(&rig, interrupting(1), 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "switch 0.1:1, term 0.1");
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "kill 0.1");
	rig_end(&rig);
}
END_TEST

/* Answers after SIGTERM: the grace still runs. */
START_TEST(a_late_answer_does_not_change_the_grace)
{
	struct rig rig;
	start(&rig, interrupting(1), 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "switch 0.1:1, term 0.1, ack 1, kill 0.1");
	rig_end(&rig);
}
END_TEST

START_TEST(an_idle_worker_is_not_interrupted)
{
	struct rig rig;
	start(&rig, interrupting(1), 1);
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_answer(&rig, 0, 200);
	rig_wait(&rig, 5 * MTIME_MINUTE);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_message_may_have_its_own_limit)
{
	static const struct {
		int64_t soft_ms;
		mtime limit;
	} cases[] = {
		{-1, 20 * MTIME_SECOND},
		{1, MTIME_MS},
		{30000, 30 * MTIME_SECOND},
		{INT64_MAX / 1000, MTIME_NEVER},
		{INT64_MAX, MTIME_NEVER},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rig rig;
		struct pool_config config = interrupting(1);
		config.hard_limit = MTIME_NEVER;
		rig_start(&rig, config);
		struct delivery *delivery = rig_delivery(1);
		delivery->soft_ms = cases[i].soft_ms;
		rig_deliver_this(&rig, delivery);
		rig_turn(&rig);
		rig_forget(&rig);
		bool has_limit = cases[i].limit != MTIME_NEVER;
		rig_wait(&rig, has_limit ? cases[i].limit - 1 : 100000 * MTIME_MINUTE);
		rig_expect(&rig, "");
		rig_wait(&rig, 1);
		rig_expect(&rig, has_limit ? "switch 0.1:1" : "");
		rig_end(&rig);
	}
}
END_TEST

START_TEST(each_worker_has_its_own_soft_limit)
{
	struct rig rig;
	start(&rig, interrupting(3), 2);
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_deliver(&rig, 3, 3);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_deliver(&rig, 4, 4);
	rig_turn(&rig);
	rig_expect(&rig, "send 2:3, send 0:4, ack 1");
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_expect(&rig, "switch 1.1:2");
	rig_wait(&rig, 10 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	ck_assert_msg(strstr(rig.done, "switch 0.1:4") && strstr(rig.done, "switch 2.1:3"),
		"done: %s", rig.done);
	rig_end(&rig);
}
END_TEST

static int count(const struct rig *rig, const char *what)
{
	int count = 0;
	for (const char *at = rig->done; (at = strstr(at, what)); at++)
		count++;
	return count;
}

/* In one turn, because the machine may be suspended behind it; also behind workers that are due to
 * start, of which a turn starts few. */
START_TEST(all_due_tasks_are_interrupted_together)
{
	struct rig rig;
	start(&rig, interrupting(12), 6);
	for (uint16_t slot = 6; slot < 12; slot++)
		rig_gone(&rig, slot, 1);
	rig_forget(&rig);
	rig.now += 20 * MTIME_SECOND;
	rig_turn(&rig);
	ck_assert_int_eq(count(&rig, "switch"), 6);
	ck_assert_int_eq(count(&rig, "spawn"), 4);
	rig_end(&rig);
}
END_TEST

START_TEST(a_new_worker_starts_with_a_new_soft_limit)
{
	struct rig rig;
	start(&rig, interrupting(1), 2);
	rig_wait(&rig, 19 * MTIME_SECOND);
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 retry 1, spawn 0.2, send 0:2");
	rig_wait(&rig, 20 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "switch 0.2:2");
	rig_end(&rig);
}
END_TEST

START_TEST(tasks_are_interrupted_during_a_drain)
{
	struct rig rig;
	start(&rig, interrupting(1), 1);
	rig_command(&rig, COMMAND_DRAIN);
	rig_wait(&rig, 20 * MTIME_SECOND);
	rig_expect(&rig, "rest, switch 0.1:1");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1, ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(without_interrupt_no_task_is_interrupted)
{
	struct rig rig;
	struct pool_config config = interrupting(1);
	config.on_soft = SOFT_NOTHING;
	start(&rig, config, 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "term 0.1");
	rig_end(&rig);
}
END_TEST

START_TEST(interrupt_requires_one_task_in_a_pipe)
{
	struct rig rig;
	struct pool_config config = interrupting(1);
	config.pipeline = 0;
	config.pipe_wait = MTIME_MS;
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr)); /* it will say why it aborts */
	rig_new(&rig, &config);
}
END_TEST

static Suite *soft_limit_suite(void)
{
	Suite *suite = suite_create("core/soft_limit");
	TCase *bugs = tcase_create("bugs");
	UNIT_CASE(suite, "soft", a_task_over_its_soft_limit_is_interrupted_once,
		the_hard_limit_applies_after_the_soft_one, a_late_answer_does_not_change_the_grace,
		an_idle_worker_is_not_interrupted, a_message_may_have_its_own_limit,
		each_worker_has_its_own_soft_limit, all_due_tasks_are_interrupted_together,
		a_new_worker_starts_with_a_new_soft_limit, tasks_are_interrupted_during_a_drain,
		without_interrupt_no_task_is_interrupted);
	tcase_add_test_raise_signal(bugs, interrupt_requires_one_task_in_a_pipe, SIGABRT);
	suite_add_tcase(suite, bugs);
	return suite;
}

UNIT_MAIN(soft_limit_suite)
