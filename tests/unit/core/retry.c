/* When a failed task is retried, and when not. */
#include "core/pool_internal.h"
#include "unit/support/core/rig.h"

#define ATTEMPTS 100

static const struct settle_policy base_policy = {
	.attempts = ATTEMPTS, .slices = 2, .retried = SETTLE_RETRIED_ALL, .queue = TEXT("own")};

START_TEST(a_requested_delay_is_rounded_up_to_the_ladder)
{
	static const struct {
		int64_t wanted_ms;
		mtime delay;
	} steps[] = {
		{INT64_MIN, 0},
		{-1, 0},
		{0, 0},
		{1, MTIME_SECOND},
		{1000, MTIME_SECOND},
		{1001, 2 * MTIME_SECOND},
		{2001, 5 * MTIME_SECOND},
		{5001, 10 * MTIME_SECOND},
		{10001, 30 * MTIME_SECOND},
		{30001, MTIME_MINUTE},
		{60001, 2 * MTIME_MINUTE},
		{120001, 5 * MTIME_MINUTE},
		{300001, 10 * MTIME_MINUTE},
		{600001, 30 * MTIME_MINUTE},
		{1800001, 60 * MTIME_MINUTE},
		{3600000, 60 * MTIME_MINUTE},
		{3600001, 60 * MTIME_MINUTE},
		{INT64_MAX, 60 * MTIME_MINUTE},
	};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		ck_assert_int_eq(retry_round_up(steps[i].wanted_ms), steps[i].delay);
	for (size_t i = 1; i < retry_ladder_count; i++)
		ck_assert_int_gt(retry_ladder[i], retry_ladder[i - 1]);
}
END_TEST

static struct decision decide(const struct settle_policy *policy, enum outcome outcome,
	uint16_t attempt, int64_t retry_after_ms, enum reason reason)
{
	struct delivery *delivery = delivery_new(0);
	struct output *output = output_new(0);
	ck_assert(delivery && output);
	delivery->attempt = attempt;
	output->retry_after_ms = retry_after_ms;
	output->invalid = reason == REASON_REPLY_INVALID ? reason : REASON_NONE;
	output->reply_queue = TEXT("elsewhere");
	struct decision decision = settle_decide(policy, outcome, delivery, output, reason);
	output_free(output);
	delivery_free(delivery);
	return decision;
}

START_TEST(each_failed_attempt_has_its_delay)
{
	struct settle_policy policy = base_policy;
	for (uint8_t count = 0; count <= RETRY_DELAYS_MAX; count++) {
		policy.delay_count = count;
		if (count)
			policy.delays[count - 1] = count * MTIME_SECOND;
		for (uint16_t attempt = 0; attempt < ATTEMPTS - 1; attempt++) {
			struct decision got =
				decide(&policy, OUTCOME_CRASHED, attempt, -1, REASON_NONE);
			mtime step = attempt + 1 < count ? attempt + 1 : count;
			ck_assert_int_eq(got.parcel, PARCEL_RETRY);
			ck_assert_int_eq(got.delay, step * MTIME_SECOND);
		}
		ck_assert_int_eq(
			decide(&policy, OUTCOME_CRASHED, ATTEMPTS - 1, -1, REASON_NONE).parcel,
			PARCEL_DEAD_LETTER);
	}
}
END_TEST

/* Only an answer 5xx can ask for a delay; it changes when a task is retried, not how often. */
START_TEST(a_worker_may_ask_for_its_delay)
{
	struct settle_policy policy = base_policy;
	policy.delay_count = 1;
	policy.delays[0] = 7 * MTIME_SECOND;
	static const struct {
		enum outcome outcome;
		int64_t retry_after_ms;
		mtime delay;
	} cases[] = {
		{OUTCOME_FAILED, -1, 7 * MTIME_SECOND},
		{OUTCOME_FAILED, 0, 0},
		{OUTCOME_FAILED, 1500, 2 * MTIME_SECOND},
		{OUTCOME_FAILED, INT64_MAX, 60 * MTIME_MINUTE},
		{OUTCOME_CRASHED, 1500, 7 * MTIME_SECOND},
		{OUTCOME_TIMED_OUT, 0, 7 * MTIME_SECOND},
		{OUTCOME_BROKEN, 0, 7 * MTIME_SECOND},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct decision got =
			decide(&policy, cases[i].outcome, 0, cases[i].retry_after_ms, REASON_NONE);
		ck_assert_int_eq(got.parcel, PARCEL_RETRY);
		ck_assert_int_eq(got.delay, cases[i].delay);
	}
	ck_assert_int_eq(decide(&policy, OUTCOME_FAILED, ATTEMPTS - 1, 0, REASON_NONE).parcel,
		PARCEL_DEAD_LETTER);
}
END_TEST

START_TEST(a_reason_that_is_not_listed_is_not_retried)
{
	static const struct {
		enum outcome outcome;
		enum reason given, reason;
	} cases[] = {
		{OUTCOME_FAILED, REASON_NONE, REASON_FAILED},
		{OUTCOME_CRASHED, REASON_NONE, REASON_CRASHED},
		{OUTCOME_TIMED_OUT, REASON_NONE, REASON_TIMED_OUT},
		{OUTCOME_BROKEN, REASON_NONE, REASON_PROTOCOL},
		{OUTCOME_UNROUTABLE, REASON_UNROUTABLE, REASON_UNROUTABLE},
		{OUTCOME_UNROUTABLE, REASON_REPLY_REFUSED, REASON_REPLY_REFUSED},
		{OUTCOME_REPLY, REASON_REPLY_INVALID, REASON_REPLY_INVALID},
	};
	enum { COUNT = sizeof cases / sizeof *cases };
	struct settle_policy policy = base_policy;
	policy.unroutable = UNROUTABLE_RETRY;
	for (size_t off = 0; off < COUNT; off++) {
		policy.retried = SETTLE_RETRIED_ALL & ~(1u << cases[off].reason);
		for (size_t i = 0; i < COUNT; i++) {
			struct decision got =
				decide(&policy, cases[i].outcome, 0, -1, cases[i].given);
			ck_assert_int_eq(got.verdict, VERDICT_PUBLISH);
			ck_assert_int_eq(got.parcel, i == off ? PARCEL_DEAD_LETTER : PARCEL_RETRY);
			ck_assert_int_eq(got.reason, cases[i].reason);
		}
	}
}
END_TEST

static struct pool_config config_with_delays(void)
{
	struct pool_config config = rig_config(1, 1);
	config.policy.attempts = 4;
	config.policy.delays[0] = MTIME_SECOND;
	config.policy.delays[1] = 10 * MTIME_SECOND;
	config.policy.delay_count = 2;
	return config;
}

static void fail_once(struct rig *rig, uint64_t tag, uint16_t attempt, int64_t retry_after_ms)
{
	struct delivery *delivery = rig_delivery(tag);
	struct output *output = rig_output(500, NULL);
	delivery->attempt = attempt;
	output->retry_after_ms = retry_after_ms;
	rig_deliver_this(rig, delivery);
	rig_turn(rig);
	rig_forget(rig);
	rig_answer_this(rig, 0, 1, output);
}

START_TEST(a_retry_copy_is_published_with_its_delay)
{
	struct rig rig;
	rig_start(&rig, config_with_delays());
	fail_once(&rig, 1, 0, -1);
	rig_expect(&rig, "publish 1 retry 1 after 1000");
	rig_expect_told(&rig, "TASK_RETRIED");
	ck_assert_int_eq(rig.duration, MTIME_SECOND);
	fail_once(&rig, 2, 1, -1);
	rig_expect(&rig, "publish 2 retry 2 after 10000");
	fail_once(&rig, 3, 2, -1);
	rig_expect(&rig, "publish 3 retry 3 after 10000");
	fail_once(&rig, 4, 0, 61000);
	rig_expect(&rig, "publish 4 retry 4 after 120000");
	fail_once(&rig, 5, 1, 0);
	rig_expect(&rig, "publish 5 retry 5");
	ck_assert_int_eq(rig.duration, 0);
	fail_once(&rig, 6, 3, -1);
	rig_expect(&rig, "publish 6 dead 6");
	rig_end(&rig);
}
END_TEST

START_TEST(a_copy_that_is_published_again_keeps_its_delay)
{
	struct rig rig;
	rig_start(&rig, config_with_delays());
	fail_once(&rig, 1, 0, -1);
	rig_forget(&rig);
	rig_outbox_fact(&rig, RETURNED, 1, false); /* its queue is to be made yet */
	rig_confirm(&rig, 1);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "publish 2 retry 1 after 1000");
	rig_outbox_down(&rig, LOSS_CONNECTION);
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 retry 1 after 1000");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

/* A publisher can set our header: a task that claims to have used all attempts gets one. */
START_TEST(a_forged_attempt_does_not_overflow)
{
	struct rig rig;
	rig_start(&rig, config_with_delays());
	struct delivery *delivery = rig_delivery(1);
	delivery->attempt = UINT16_MAX;
	rig_deliver_this(&rig, delivery);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1/65535");
	rig_answer(&rig, 0, 500);
	rig_expect(&rig, "publish 1 dead 1");
	rig_end(&rig);
}
END_TEST

/* Its queue exists now: a returned parcel does not wait for the next retry. */
START_TEST(a_returned_copy_is_published_when_its_queue_is_found)
{
	struct rig rig;
	rig_start(&rig, config_with_delays());
	fail_once(&rig, 1, 0, -1);
	fail_once(&rig, 2, 0, -1);
	rig_outbox_fact(&rig, RETURNED, 1, false);
	rig_confirm(&rig, 1);
	rig_outbox_fact(&rig, RETURNED, 2, false);
	rig_forget(&rig);
	rig_outbox_fact(&rig, QUEUE_FOUND, 0, false);
	rig_expect(&rig, "publish 3 retry 1 after 1000");
	rig_confirm(&rig, 2);
	rig_expect(&rig, "publish 4 retry 2 after 1000");
	rig_confirm(&rig, 3);
	rig_confirm(&rig, 4);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2*");
	rig_end(&rig);
}
END_TEST

/* A parcel that was refused, or has another target, is not published earlier. */
START_TEST(a_refused_copy_keeps_waiting)
{
	struct rig rig;
	rig_start(&rig, config_with_delays());
	ck_assert(!pool_is_refused(rig.pool));
	fail_once(&rig, 1, 0, -1);
	ck_assert(!pool_is_refused(rig.pool));
	rig_outbox_fact(&rig, REFUSED, 1, false);
	ck_assert(pool_is_refused(rig.pool));
	rig_forget(&rig);
	rig_outbox_fact(&rig, QUEUE_FOUND, 0, false);
	rig_expect(&rig, "");
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "publish 2 retry 1 after 1000");
	ck_assert(!pool_is_refused(rig.pool));
	rig_end(&rig);
}
END_TEST

START_TEST(a_copy_for_another_queue_is_published_at_once)
{
	struct rig rig;
	rig_start(&rig, config_with_delays());
	fail_once(&rig, 1, 0, -1);
	rig_step(&rig, (struct event){.kind = RETURNED,
			       .outbox = {.epoch = rig.outbox_epoch, .seq = 1, .again = true}});
	rig_forget(&rig);
	rig_confirm(&rig, 1);
	rig_expect(&rig, "publish 2 retry 1 after 1000");
	rig_outbox_fact(&rig, RETURNED, 2, false); /* and again it is not there: now it waits */
	rig_confirm(&rig, 2);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* The publisher is told of a return by a number only. */
START_TEST(only_a_postponed_copy_must_wait)
{
	struct rig rig;
	rig_start(&rig, config_with_delays());
	fail_once(&rig, 1, 0, -1);
	fail_once(&rig, 2, 0, -1);
	outbox_find(&rig.pool->tasks.outbox, 2)->kind = PARCEL_POSTPONE;
	ck_assert(!pool_must_wait(rig.pool, 1));
	ck_assert(pool_must_wait(rig.pool, 2));
	ck_assert(!pool_must_wait(rig.pool, 3));
	rig_confirm(&rig, 2);
	ck_assert(!pool_must_wait(rig.pool, 2));
	rig_end(&rig);
}
END_TEST

static Suite *retry_suite(void)
{
	Suite *suite = suite_create("core/retry");
	UNIT_CASE(suite, "decide", a_requested_delay_is_rounded_up_to_the_ladder,
		each_failed_attempt_has_its_delay, a_worker_may_ask_for_its_delay,
		a_reason_that_is_not_listed_is_not_retried);
	UNIT_CASE(suite, "pool", a_retry_copy_is_published_with_its_delay,
		a_copy_that_is_published_again_keeps_its_delay, a_forged_attempt_does_not_overflow,
		a_returned_copy_is_published_when_its_queue_is_found, a_refused_copy_keeps_waiting,
		a_copy_for_another_queue_is_published_at_once, only_a_postponed_copy_must_wait);
	return suite;
}

UNIT_MAIN(retry_suite)
