/* A task with a time: it waits in the broker until then, and a worker may postpone it. */
#include "core/pool_internal.h"
#include "unit/support/core/keyed.h"

#include <stdio.h>

#define DAY_MS (24 * 60 * 60 * INT64_C(1000))

static struct pool_config one_worker(void)
{
	struct pool_config config = rig_config(1, 1);
	config.policy.attempts = 1;
	return config;
}

static struct delivery *early_by(struct delivery *delivery, const struct rig *rig, int64_t ms)
{
	delivery->not_before_ms = rig_wall_ms(rig) + ms;
	return delivery;
}

static void deliver_early(struct rig *rig, uint64_t tag, int64_t ms)
{
	rig_deliver_this(rig, early_by(rig_delivery(tag), rig, ms));
	rig_turn(rig);
}

static struct output *postponing(int32_t status, int64_t ms)
{
	struct output *output = rig_output(status, "");
	output->postpone_ms = ms;
	return output;
}

static void postpone(struct rig *rig, uint16_t slot, int64_t ms)
{
	rig_answer_this(rig, slot, 1, postponing(STATUS_POSTPONED, ms));
	rig_turn(rig);
}

/* ---------- the steps ---------- */

START_TEST(a_step_ends_before_the_time_or_hardly_after_it)
{
	static const struct {
		int64_t left_ms;
		mtime step;
	} cases[] = {
		{INT64_MIN, 10 * MTIME_MS},
		{0, 10 * MTIME_MS},
		{9, 10 * MTIME_MS},
		{10, 30 * MTIME_MS},
		{79, 30 * MTIME_MS},
		{80, 100 * MTIME_MS},
		{979, 300 * MTIME_MS},
		{980, MTIME_SECOND},
		{2980, 3 * MTIME_SECOND},
		{9979, 3 * MTIME_SECOND},
		{9980, 10 * MTIME_SECOND},
		{119760, 30 * MTIME_SECOND},
		{119761, 2 * MTIME_MINUTE},
		{3 * DAY_MS, 24 * 60 * MTIME_MINUTE},
		{365 * DAY_MS, 30 * 24 * 60 * MTIME_MINUTE},
		{INT64_MAX / 1000, 30 * 24 * 60 * MTIME_MINUTE},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_int_eq(wait_step(cases[i].left_ms), cases[i].step);
	for (size_t i = 1; i < wait_step_count; i++)
		ck_assert_int_gt(wait_steps[i], wait_steps[i - 1]);
	/* the broker's limit of a time to live */
	ck_assert_int_lt(wait_steps[wait_step_count - 1] / MTIME_MS, INT64_C(4294967296));
}
END_TEST

/* The lateness of a task that waits for span_ms, where each step takes cost_ms longer. */
static int64_t late_by(int64_t span_ms, int64_t cost_ms, unsigned *ret_steps)
{
	int64_t now_ms = 0;
	for (*ret_steps = 0; now_ms < span_ms; (*ret_steps)++)
		now_ms += wait_step(span_ms - now_ms) / MTIME_MS + cost_ms;
	return now_ms - span_ms;
}

START_TEST(a_wait_is_late_by_a_hundredth_or_100_ms_at_most)
{
	static const int64_t costs[] = {0, 1, 5, 20, 50, 80};
	unsigned steps, most = 0;
	for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
		for (int64_t span = 1; span < 366 * DAY_MS; span += 1 + span / 997) {
			int64_t late = late_by(span, costs[i], &steps);
			ck_assert_int_ge(late, 0);
			ck_assert_msg(late <= (span / 100 > 100 ? span / 100 : 100),
				"%lld ms late after %lld", (long long)late, (long long)span);
			most = steps > most ? steps : most;
		}
	ck_assert_uint_le(most, 50);
}
END_TEST

/* ---------- as it arrives ---------- */

START_TEST(a_message_before_its_time_waits_in_the_broker)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	deliver_early(&rig, 1, 61000);
	rig_expect(&rig, "publish 1 later 1 after 30000");
	rig_expect_told(&rig, "TASK_NOT_DUE");
	ck_assert_int_eq(rig.duration, 61 * MTIME_SECOND);
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_expect_told(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(it_starts_at_its_time_and_not_a_millisecond_before)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	deliver_early(&rig, 1, 1);
	rig_expect(&rig, "publish 1 later 1 after 10");
	deliver_early(&rig, 2, 0);
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_time_in_the_past_is_no_time)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	deliver_early(&rig, 1, -365 * DAY_MS);
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* The wall clock decides, wherever it goes. */
START_TEST(the_wall_clock_decides)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	struct delivery *delivery = early_by(rig_delivery(1), &rig, 1000);
	rig.stepped_ms = 1000;
	rig_deliver_this(&rig, delivery);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	delivery = early_by(rig_delivery(2), &rig, 0);
	rig.stepped_ms = -9000;
	rig_deliver_this(&rig, delivery);
	rig_expect(&rig, "publish 1 later 2 after 10000");
	rig_end(&rig);
}
END_TEST

/* It was none when it was written, so this machine's clock is wrong. */
START_TEST(a_time_of_ours_is_never_a_mistake)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	struct delivery *delivery = early_by(rig_delivery(1), &rig, 20000 * DAY_MS);
	delivery->is_time_ours = true;
	rig_deliver_this(&rig, delivery);
	rig_expect(&rig, "publish 1 later 1 after 2592000000");
	rig_end(&rig);
}
END_TEST

START_TEST(a_time_beyond_a_year_and_a_day_is_a_mistake)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	deliver_early(&rig, 1, 366 * DAY_MS);
	rig_expect(&rig, "publish 1 later 1 after 2592000000");
	deliver_early(&rig, 2, 366 * DAY_MS + 1);
	rig_expect(&rig, "publish 2 dead 2");
	ck_assert_int_eq(rig.reason, REASON_BAD_HEADERS);
	struct delivery *never = rig_delivery(3);
	never->not_before_ms = INT64_MAX;
	rig_deliver_this(&rig, never);
	rig_expect(&rig, "publish 3 dead 3");
	rig_end(&rig);
}
END_TEST

/* What is invalid is given up at once, not when its time comes. */
START_TEST(an_invalid_message_does_not_wait)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	struct delivery *delivery = early_by(rig_delivery(1), &rig, 1000);
	delivery->invalid = REASON_TOO_LARGE;
	rig_deliver_this(&rig, delivery);
	rig_expect(&rig, "publish 1 dead 1");
	rig_end(&rig);
}
END_TEST

START_TEST(the_broker_s_count_of_returns_is_kept_where_it_counts)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	struct delivery *delivery = early_by(rig_delivery(1), &rig, 1000);
	delivery->returns = 9;
	rig_deliver_this(&rig, delivery);
	delivery = early_by(rig_delivery(2), &rig, 1000);
	delivery->returns = 10;
	rig_deliver_this(&rig, delivery);
	rig_expect(&rig, "publish 1 later 1 after 1000, publish 2 renew 2");
	rig_end(&rig);
}
END_TEST

START_TEST(the_step_is_chosen_whenever_the_copy_is_published)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	deliver_early(&rig, 1, 61000);
	rig_expect(&rig, "publish 1 later 1 after 30000");
	rig_outbox_down(&rig, LOSS_CONNECTION);
	rig.stepped_ms += 58000;
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 later 1 after 3000");
	rig_outbox_fact(&rig, REFUSED, 1, false);
	rig.stepped_ms += 5000;
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "publish 2 later 1"); /* its time has come: to the pool's queue */
	rig_end(&rig);
}
END_TEST

START_TEST(a_copy_without_a_queue_stays_until_there_is_one)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	deliver_early(&rig, 1, 61000);
	rig_outbox_fact(&rig, RETURNED, 1, false);
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 later 1 after 30000");
	rig_expect_told(&rig, "TASK_NOT_DUE, PARCEL_REFUSED");
	rig_outbox_fact(&rig, QUEUE_FOUND, 0, false);
	rig_expect(&rig, "publish 2 later 1 after 30000");
	rig_confirm(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

/* A user may not declare it. When its time has come, the pool's own queue serves. */
START_TEST(without_a_queue_it_begins_when_its_time_has_come)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	deliver_early(&rig, 1, 1500);
	rig_outbox_fact(&rig, RETURNED, 1, false);
	rig_confirm(&rig, 1);
	rig_forget(&rig);
	rig_wait(&rig, 3 * MTIME_SECOND);
	ck_assert_ptr_nonnull(strstr(rig.done, "publish 2 later 1 after 300"));
	rig_outbox_fact(&rig, RETURNED, 2, false);
	rig_confirm(&rig, 2);
	rig_forget(&rig);
	rig_wait(&rig, 4 * MTIME_SECOND);
	rig_expect(&rig, "publish 3 later 1");
	rig_confirm(&rig, 3);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_copy_that_costs_a_channel_is_given_up)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	deliver_early(&rig, 1, 61000);
	rig_outbox_down(&rig, LOSS_CHANNEL);
	ck_assert_int_eq(rig.reason, REASON_RENEWAL_REFUSED);
	rig_end(&rig);
}
END_TEST

/* ---------- a worker postpones ---------- */

START_TEST(a_worker_postpones_any_number_of_times)
{
	struct rig rig;
	rig_start(&rig, one_worker());
	for (uint64_t tag = 1; tag <= 20; tag++) {
		rig_deliver(&rig, tag, tag);
		rig_turn(&rig);
		rig_forget(&rig);
		int64_t asked_ms = rig_wall_ms(&rig) + 300;
		postpone(&rig, 0, 300);
		char wanted[64];
		snprintf(
			wanted, sizeof wanted, "publish %d later %d after 300", (int)tag, (int)tag);
		rig_expect(&rig, wanted);
		rig_expect_told(&rig, "TASK_POSTPONED_BY_WORKER");
		ck_assert_int_eq(rig.duration, 300 * MTIME_MS);
		const struct delivery *delivery =
			outbox_find(&rig.pool->tasks.outbox, tag)->delivery;
		ck_assert_uint_eq(delivery->attempt, 0);
		/* the clock is rounded down */
		ck_assert_int_eq(delivery->not_before_ms, asked_ms + 1);
		rig_confirm(&rig, tag);
		rig_turn(&rig);
	}
	rig_end(&rig);
}
END_TEST

START_TEST(only_status_503_with_a_time_postpones)
{
	static const struct {
		int32_t status;
		int64_t postpone_ms;
		const char *done;
	} cases[] = {{503, -1, "publish 1 dead 1"}, {500, 300, "publish 1 dead 1"},
		{504, 300, "publish 1 dead 1"}, {400, 300, "publish 1 dead 1"}, {200, 300, "ack 1"},
		{503, WAIT_ASKED_MAX_MS, "publish 1 later 1 after 2592000000"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rig rig;
		rig_begin(&rig, one_worker(), 1);
		rig_answer_this(&rig, 0, 1, postponing(cases[i].status, cases[i].postpone_ms));
		rig_turn(&rig);
		rig_expect(&rig, cases[i].done);
		rig_end(&rig);
	}
}
END_TEST

/* The operator's order goes before what the worker asks for. */
START_TEST(what_is_killed_is_not_postponed)
{
	struct rig rig;
	rig_begin(&rig, one_worker(), 1);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_KILL, .gives_up = true}});
	rig_forget(&rig);
	postpone(&rig, 0, 300);
	ck_assert_int_eq(rig.reason, REASON_KILLED);
	rig_end(&rig);
}
END_TEST

/* ---------- sessions ---------- */

static void deliver_keyed_early(struct rig *rig, const char *word, uint64_t tag, int64_t ms)
{
	rig_deliver_this(rig, early_by(keyed_parse(word, tag), rig, ms));
	rig_turn(rig);
}

START_TEST(it_takes_its_place_in_its_session_when_its_time_has_come)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	deliver_keyed_early(&rig, "a", 1, 1000);
	rig_expect(&rig, "publish 1 later 1 after 1000");
	ck_assert(!keyed_exists(&rig, "a"));
	rig.last_tag = 1;
	keyed_deliver(&rig, "a a");
	rig_expect(&rig, "send 0:2");
	rig_confirm(&rig, 1);
	keyed_answer(&rig, 0, 200, "send 0:3, ack 2*");
	rig_end(&rig);
}
END_TEST

/* What is redelivered is the same message, though it may start by now. */
START_TEST(one_in_the_outbox_is_acked_by_its_redelivery)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	deliver_keyed_early(&rig, "a=7", 1, 1000);
	rig.last_tag = 1;
	keyed_deliver(&rig, "a=8");
	rig_expect(&rig, "publish 1 later 1 after 1000, send 0:2");
	keyed_lose_channel(&rig);
	rig_confirm(&rig, 1);
	rig.stepped_ms += 5000;
	keyed_deliver(&rig, "a=7+ a=8+");
	rig_expect(&rig, "ack 1");
	keyed_answer(&rig, 0, 200, "ack 2");
	rig_end(&rig);
}
END_TEST

/* Its ack was lost, and it is in no session: the task of its key that runs comes back as well. */
START_TEST(an_early_one_that_comes_again_shows_nothing_about_its_key)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	deliver_keyed_early(&rig, "a=7", 1, 60000);
	rig.last_tag = 1;
	keyed_deliver(&rig, "a=8");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 later 1 after 30000, send 0:2, ack 1");
	keyed_lose_channel(&rig);
	rig_forget(&rig);
	struct delivery *again = early_by(keyed_parse("a=7+", 1), &rig, 60000);
	rig_deliver_this(&rig, again);
	rig.last_tag = 1;
	keyed_deliver(&rig, "a=8+");
	keyed_answer(&rig, 0, 200, "publish 2 later 1 after 30000, ack 2");
	rig_end(&rig);
}
END_TEST

/* It is another message than the first that is lost, so it is judged by its own key. */
START_TEST(a_message_of_a_key_may_come_before_an_early_one)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	deliver_keyed_early(&rig, "a=7", 1, 60000);
	rig.last_tag = 1;
	keyed_deliver(&rig, "b=8");
	keyed_lose_channel(&rig);
	rig_forget(&rig);
	keyed_deliver(&rig, "b=8+ a=7+");
	keyed_answer(&rig, 0, 200, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(nothing_passes_a_task_that_its_worker_postpones)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a b");
	rig_expect(&rig, "send 0:1");
	rig_forget(&rig);
	postpone(&rig, 0, 2000);
	rig_expect(&rig, "send 0:3");
	rig_expect_told(&rig, "TASK_POSTPONED_BY_WORKER");
	keyed_answer(&rig, 0, 200, "ack 3");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_PARKED);
	rig_wait(&rig, 2 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "send 0:1");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	rig_end(&rig);
}
END_TEST

/* Its dead letter has counted no attempt, and names why it waited. */
START_TEST(an_operator_may_skip_what_is_postponed)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a");
	postpone(&rig, 0, 2000);
	rig_forget(&rig);
	keyed_order(&rig, SESSION_VERB_SKIP, SESSION_DEAD_LETTER, "a");
	rig_expect(&rig, "publish 1 dead 1");
	ck_assert_int_eq(rig.reason, REASON_POSTPONED);
	ck_assert_uint_eq(outbox_find(&rig.pool->tasks.outbox, 1)->delivery->attempt, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(an_operator_may_run_it_now)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a");
	postpone(&rig, 0, 2000);
	rig_forget(&rig);
	keyed_order(&rig, SESSION_VERB_RETRY, SESSION_DEAD_LETTER, "a");
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

static Suite *later_suite(void)
{
	Suite *suite = suite_create("core/later");
	UNIT_CASE(suite, "steps", a_step_ends_before_the_time_or_hardly_after_it,
		a_wait_is_late_by_a_hundredth_or_100_ms_at_most);
	UNIT_CASE(suite, "arrival", a_message_before_its_time_waits_in_the_broker,
		it_starts_at_its_time_and_not_a_millisecond_before, a_time_in_the_past_is_no_time,
		the_wall_clock_decides, a_time_beyond_a_year_and_a_day_is_a_mistake,
		an_invalid_message_does_not_wait,
		the_broker_s_count_of_returns_is_kept_where_it_counts,
		the_step_is_chosen_whenever_the_copy_is_published,
		a_copy_without_a_queue_stays_until_there_is_one,
		without_a_queue_it_begins_when_its_time_has_come, a_time_of_ours_is_never_a_mistake,
		a_copy_that_costs_a_channel_is_given_up);
	UNIT_CASE(suite, "workers", a_worker_postpones_any_number_of_times,
		only_status_503_with_a_time_postpones, what_is_killed_is_not_postponed);
	UNIT_CASE(suite, "sessions", it_takes_its_place_in_its_session_when_its_time_has_come,
		one_in_the_outbox_is_acked_by_its_redelivery,
		an_early_one_that_comes_again_shows_nothing_about_its_key,
		a_message_of_a_key_may_come_before_an_early_one,
		nothing_passes_a_task_that_its_worker_postpones,
		an_operator_may_skip_what_is_postponed, an_operator_may_run_it_now);
	return suite;
}

UNIT_MAIN(later_suite)
