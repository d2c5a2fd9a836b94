/* A task that is over a limit is answered, or given up. */
#include "core/pool_internal.h"
#include "unit/support/core/throttled.h"

#include <string.h>

/* A limit of 1 for each key. */
static struct pool_config config_of(uint16_t workers, enum throttle_excess excess)
{
	struct pool_config config = throttled_config(workers, throttle, true);
	config.throttles[0].excess = excess;
	throttled_set(throttle, 1, THROTTLED_PERIOD);
	return config;
}

START_TEST(the_caller_is_told_before_the_ack)
{
	struct rig rig;
	rig_start(&rig, config_of(3, THROTTLE_REPLY));
	throttled_deliver(&rig, "a");
	throttled_answer(&rig, 0, "send 0:1, ack 1");
	throttled_wait(&rig, 1500, "");
	rig_forget(&rig);
	throttled_deliver(&rig, "a b");
	rig_expect(&rig, "publish 1 refuse 2 after 9998, send 0:3");
	rig_expect_told(&rig, "");
	rig_turn(&rig);
	rig_expect(&rig, "");
	throttled_expect(&rig, 0, NULL);
	rig_confirm(&rig, 1);
	rig_expect_told(&rig, "TASK_REFUSED");
	ck_assert_str_eq(rig.what, "t0");
	ck_assert_int_eq(rig.duration, THROTTLED_PERIOD - 1500);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2");
	ck_assert_uint_eq(throttle_starts(throttle), 2);
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_without_a_caller_waits)
{
	struct rig rig;
	rig_start(&rig, config_of(3, THROTTLE_REPLY));
	throttled_deliver(&rig, "a a~ a");
	rig_expect(&rig, "send 0:1, publish 1 refuse 3 after 10000");
	throttled_expect(&rig, 1, "t0");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_caller_that_must_not_be_told_is_none)
{
	struct rig rig;
	char replies[] = "replies.*", *patterns[] = {replies, NULL};
	struct pool_config config = config_of(3, THROTTLE_REPLY);
	config.policy.reply_queues = patterns;
	rig_start(&rig, config);
	throttled_deliver(&rig, "a a");
	rig_expect(&rig, "send 0:1");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 1:2");
	rig_end(&rig);
}
END_TEST

/* Also without credit: nothing has started meanwhile. */
START_TEST(a_refusal_that_the_broker_returns_or_refuses_becomes_a_delay)
{
	struct rig rig;
	rig_start(&rig, config_of(3, THROTTLE_REPLY));
	throttled_deliver(&rig, "a a/2 a");
	rig_expect(
		&rig, "send 0:1, publish 1 refuse 2 after 10000, publish 2 refuse 3 after 10000");
	rig_outbox_fact(&rig, RETURNED, 1, false);
	rig_confirm(&rig, 1);
	rig_expect(&rig, "publish 3 postpone 2 after 10000");
	rig_expect_told(&rig, "TASK_POSTPONED");
	ck_assert_str_eq(rig.what, "t0");
	ck_assert_int_eq(rig.duration, THROTTLED_PERIOD);
	rig_outbox_fact(&rig, REFUSED, 2, false);
	rig_expect(&rig, "publish 4 postpone 3 after 10000");
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_outbox_fact(&rig, CONFIRMED, 4, true);
	rig_expect_told(&rig, "TASK_POSTPONED");
	rig_turn(&rig);
	rig_expect(&rig, "ack 2, ack 3");
	rig_end(&rig);
}
END_TEST

static const struct parcel *outbox_first(const struct rig *rig)
{
	const struct link *first = list_first(&rig->pool->tasks.outbox.waiting);
	ck_assert_ptr_nonnull(first);
	return CONTAINER_OF(first, struct parcel, order);
}

/* Of the parcel that the broker has refused once. */
static const char *waiting_what(const struct rig *rig)
{
	const struct link *first = list_first(&rig->pool->tasks.outbox.later[0]);
	ck_assert_ptr_nonnull(first);
	return CONTAINER_OF(first, struct parcel, order)->what;
}

static void lose_outbox(struct rig *rig)
{
	rig_outbox_down(rig, LOSS_CHANNEL);
	rig_outbox_up(rig);
	rig_forget(rig);
}

/* No worker saw the task, so the reason is none that counts an attempt. */
START_TEST(a_refusal_that_costs_the_channel_ends_the_task)
{
	struct rig rig;
	rig_start(&rig, config_of(3, THROTTLE_REPLY));
	throttled_deliver(&rig, "a a");
	rig_expect(&rig, "send 0:1, publish 1 refuse 2 after 10000");
	rig_outbox_down(&rig, LOSS_CHANNEL);
	rig_expect_told(&rig, "TASK_GIVEN_UP");
	ck_assert_int_eq(rig.reason, REASON_THROTTLED);
	ck_assert_ptr_null(outbox_first(&rig)->what);
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 dead 2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_postponed_copy_that_costs_the_channel_ends_the_task)
{
	struct rig rig;
	rig_start(&rig, config_of(3, THROTTLE_DELAY));
	throttled_set(throttle, 1, 2 * MTIME_MINUTE);
	throttled_deliver(&rig, "a a");
	rig_expect(&rig, "send 0:1, publish 1 postpone 2 after 120000");
	rig_forget(&rig);
	rig_outbox_down(&rig, LOSS_CHANNEL);
	rig_expect_told(&rig, "TASK_GIVEN_UP");
	ck_assert_int_eq(rig.reason, REASON_RENEWAL_REFUSED);
	lose_outbox(&rig);
	rig_end(&rig);
}
END_TEST

START_TEST(a_lost_channel_drops_the_refusal)
{
	struct rig rig;
	rig_start(&rig, config_of(3, THROTTLE_REPLY));
	throttled_deliver(&rig, "a a");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig_forget(&rig);
	rig_confirm(&rig, 1);
	rig_expect_told(&rig, "");
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* Its name is freed while parcels with it are in each list of the outbox. Another throttle, which
 * stays, has the same one as before. */
START_TEST(a_throttle_that_is_removed_is_not_named_any_more)
{
	static const char *const stays = "stays";
	struct rig rig;
	struct throttle *other = throttled_new(1);
	struct pool_config config = config_of(5, THROTTLE_REPLY);
	char removed[] = "gone";
	config.throttles[0].name = removed;
	throttled_add(&config, other, true, THROTTLE_REPLY);
	config.throttles[1].name = stays;
	rig_start(&rig, config);
	throttled_deliver(&rig, "ax ay az bx");
	rig_expect(&rig, "send 0:1, publish 1 refuse 2 after 10000, publish 2 refuse 3 after "
			 "10000, publish 3 refuse 4 after 10000");
	rig_outbox_fact(&rig, REFUSED, 1, false); /* published as 4, which waits */
	rig_outbox_fact(&rig, REFUSED, 4, false);
	config.throttles[0] = config.throttles[1];
	config.throttle_count = 1;
	rig_configure(&rig, config);
	memset(removed, '!', sizeof removed - 1);
	rig_confirm(&rig, 2);
	ck_assert_str_eq(rig.what, "(removed)");
	rig_confirm(&rig, 3);
	ck_assert_ptr_eq(rig.what, stays);
	ck_assert_str_eq(waiting_what(&rig), "(removed)");
	rig_end(&rig);
	throttle_free(other);
}
END_TEST

START_TEST(a_task_over_the_limit_is_given_up)
{
	struct rig rig;
	struct pool_config config = config_of(3, THROTTLE_DEAD_LETTER);
	rig_start(&rig, config);
	throttled_deliver(&rig, "a a b");
	rig_expect(&rig, "send 0:1, publish 1 dead 2, send 1:3");
	rig_expect_told(&rig, "TASK_GIVEN_UP");
	ck_assert_int_eq(rig.reason, REASON_THROTTLED);
	ck_assert_str_eq(reason_name(rig.reason), "throttled");
	rig_end(&rig);
	config.policy.dead_letter_by_broker = true;
	rig_start(&rig, config);
	rig.now += THROTTLED_PERIOD;
	throttled_deliver(&rig, "a a");
	rig_expect(&rig, "send 0:1, reject 2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_limit_for_all_can_refuse_too)
{
	struct rig rig;
	struct pool_config config = config_of(3, THROTTLE_REPLY);
	config.throttles[0].has_key = false;
	rig_start(&rig, config);
	throttled_deliver(&rig, "- - -~ -");
	rig_expect(&rig, "send 0:1, publish 1 refuse 2 after 10000");
	throttled_expect(&rig, 2, "t0");
	throttled_wait(&rig, THROTTLED_PERIOD, "send 1:3, publish 2 refuse 4 after 10000");
	rig_end(&rig);
}
END_TEST

/* Both refuse task 4. */
START_TEST(the_first_throttle_that_refuses_decides)
{
	struct rig rig;
	struct throttle *other = throttled_new(3);
	struct pool_config config = config_of(5, THROTTLE_REPLY);
	throttled_add(&config, other, false, THROTTLE_DEAD_LETTER);
	rig_start(&rig, config);
	throttled_deliver(&rig, "a b c a d");
	rig_expect(&rig, "send 0:1, send 1:2, send 2:3, publish 1 refuse 4 after 10000, "
			 "publish 2 dead 5");
	rig_end(&rig);
	throttle_free(other);
}
END_TEST

/* Task 3 waits for x. The first throttle refuses task 5, and lets task 6 pass, which waits for x.
 */
START_TEST(a_group_of_a_later_throttle_decides_for_none_before_it)
{
	struct rig rig;
	struct throttle *other = throttled_new(1);
	struct pool_config config = config_of(5, THROTTLE_REPLY);
	throttled_add(&config, other, true, THROTTLE_DELAY);
	rig_start(&rig, config);
	throttled_deliver(&rig, "ay bx cx");
	rig_expect(&rig, "send 0:1, send 1:2");
	throttled_expect(&rig, 1, "t1");
	throttled_deliver(&rig, "dz ax cx");
	rig_expect(&rig, "send 2:4, publish 1 refuse 5 after 10000");
	throttled_expect(&rig, 2, "t1");
	rig_end(&rig);
	throttle_free(other);
}
END_TEST

/* A task that is answered does not wait behind one without a caller. */
START_TEST(a_caller_is_told_although_another_task_waits_for_the_key)
{
	struct rig rig;
	rig_start(&rig, config_of(3, THROTTLE_REPLY));
	throttled_deliver(&rig, "a a~ a a~");
	rig_expect(&rig, "send 0:1, publish 1 refuse 3 after 10000");
	throttled_expect(&rig, 2, "t0");
	rig_end(&rig);
}
END_TEST

START_TEST(a_turn_refuses_a_limited_number)
{
	struct rig rig;
	struct pool_config config = config_of(2, THROTTLE_REPLY);
	config.prefetch = 3000;
	config.outbox_limit = SIZE_MAX;
	rig_start(&rig, config);
	throttled_deliver(&rig, "a");
	rig_outbox_down(&rig, LOSS_CONNECTION); /* so that nothing is recorded */
	rig.is_unaudited = true;
	for (uint64_t tag = 2; tag <= 1100; tag++) {
		struct delivery *delivery = rig_delivery(tag);
		delivery->throttle_keys[0] = 'a';
		rig_deliver_this(&rig, delivery);
	}
	rig_turn(&rig);
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 1099 - 1024);
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + 1);
	rig.now++;
	rig_turn(&rig);
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 0);
	rig_end(&rig);
}
END_TEST

/* A suspect that runs alone is refused like others. */
START_TEST(a_suspect_is_refused)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 2);
	throttled_set(throttle, 1, THROTTLED_PERIOD);
	throttled_add(&config, throttle, true, THROTTLE_REPLY);
	rig_start(&rig, config);
	rig_set_writable(&rig, 1, false);
	throttled_deliver(&rig, "a b");
	rig_set_writable(&rig, 1, true);
	rig_gone(&rig, 0, 1);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 refuse 1 after 10000, publish 2 refuse 2 after 10000");
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 0);
	rig_end(&rig);
}
END_TEST

/* ---------- the silence after a start ---------- */

static void start_in_silence(struct rig *rig, enum throttle_excess excess, mtime period, mtime left)
{
	struct pool_config config = config_of(2, excess);
	throttled_set(throttle, 1, period);
	rig_start(rig, config);
	rig_wait(rig, period);
	throttle_missed(throttle, rig->now - period + left);
	throttled_deliver(rig, "a");
}

/* What was before may fill the window, but nothing is known of it. */
static void expect_wait(enum throttle_excess excess, const char *afterwards)
{
	struct rig rig;
	start_in_silence(&rig, excess, THROTTLED_PERIOD, MTIME_SECOND);
	throttled_expect(&rig, 1, "t0");
	throttled_wait(&rig, MTIME_SECOND, "send 0:1");
	throttled_deliver(&rig, "a");
	rig_expect(&rig, afterwards);
	rig_end(&rig);
}

START_TEST(in_the_silence_after_a_start_callers_wait)
{
	expect_wait(THROTTLE_REPLY, "publish 1 refuse 2 after 10000");
}
END_TEST

START_TEST(in_the_silence_after_a_start_nothing_is_given_up)
{
	expect_wait(THROTTLE_DEAD_LETTER, "publish 1 dead 2");
}
END_TEST

/* Its record was damaged, and the period is long. */
START_TEST(a_caller_does_not_wait_for_a_long_silence)
{
	struct rig rig;
	start_in_silence(&rig, THROTTLE_REPLY, MTIME_MINUTE, THROTTLING_SILENCE_MAX + 1);
	rig_expect(&rig, "publish 1 refuse 1 after 10000");
	rig_end(&rig);
}
END_TEST

static Suite *throttling_refusals_suite(void)
{
	Suite *suite = suite_create("core/throttling_refusals");
	UNIT_CASE_WITH(suite, "reply", throttled_set_up, throttled_tear_down,
		the_caller_is_told_before_the_ack, a_task_without_a_caller_waits,
		a_caller_that_must_not_be_told_is_none,
		a_refusal_that_the_broker_returns_or_refuses_becomes_a_delay,
		a_refusal_that_costs_the_channel_ends_the_task,
		a_postponed_copy_that_costs_the_channel_ends_the_task,
		a_lost_channel_drops_the_refusal, a_throttle_that_is_removed_is_not_named_any_more,
		a_caller_is_told_although_another_task_waits_for_the_key, a_suspect_is_refused,
		a_turn_refuses_a_limited_number);
	UNIT_CASE_WITH(suite, "dead-letter", throttled_set_up, throttled_tear_down,
		a_task_over_the_limit_is_given_up);
	UNIT_CASE_WITH(suite, "several", throttled_set_up, throttled_tear_down,
		a_limit_for_all_can_refuse_too, the_first_throttle_that_refuses_decides,
		a_group_of_a_later_throttle_decides_for_none_before_it);
	UNIT_CASE_WITH(suite, "silence", throttled_set_up, throttled_tear_down,
		in_the_silence_after_a_start_callers_wait,
		in_the_silence_after_a_start_nothing_is_given_up,
		a_caller_does_not_wait_for_a_long_silence);
	return suite;
}

UNIT_MAIN(throttling_refusals_suite)
