/* What the holder of the token does, transition by transition. */
#include "unit/support/core/token_rig.h"

#include <stdio.h>

/* ---------- renewing it ---------- */

START_TEST(a_renewal_counts_from_its_sending)
{
	become_holder();
	ck_assert(token_deadline(token) == PERIOD);
	token_tick(token, PERIOD - 1);
	expect_effects("");
	token_tick(token, PERIOD);
	expect_effects("publish(1.1)");
	token_confirmed(token, PERIOD + 100);
	expect_effects("");
	ck_assert(lease_until == LEASE);
	offer_token(3, "us", 1, 1, PERIOD + 200);
	expect_effects("ack(2)");
	ck_assert(lease_until == PERIOD + LEASE);
}
END_TEST

START_TEST(a_long_delay_has_renewals_within_the_ack_timeout)
{
	become_holder();
	token_configure(token, WINDOW, 24 * 60 * MTIME_MINUTE, 0);
	token_confirmed(token, 0);
	offer_token(3, "us", 1, 1, 0);
	token_tick(token, PERIOD);
	ck_assert(token_deadline(token) == PERIOD + TOKEN_RENEWAL_MAX);
}
END_TEST

START_TEST(a_holder_that_hears_nothing_loses_it)
{
	become_holder();
	token_tick(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	expect_effects("publish(1.1) requeue(2)");
	token_tick(token, LEASE - 1);
	ck_assert(token_facts(token).is_held);
	token_tick(token, LEASE);
	expect_effects("LOST publish(0.0)"); /* if a policy dropped what was requeued */
	ck_assert(lease_until == 0);
	ck_assert_int_eq(token_facts(token).state, TOKEN_STANDBY);
	ck_assert(token_deadline(token) == LEASE + DELAY);
}
END_TEST

START_TEST(an_answer_after_a_suspension_comes_too_late)
{
	become_holder();
	token_tick(token, PERIOD);
	token_confirmed(token, 4 * DELAY);
	offer_token(3, "us", 1, 1, 4 * DELAY);
	forget_effects();
	token_tick(token, 4 * DELAY);
	expect_effects("LOST publish(2.0)");
	token_confirmed(token, 4 * DELAY);
	offer_token(4, "us", 2, 0, 4 * DELAY);
	expect_effects(
		"HELD(orderly deaths 0) ack(3)"); /* nobody else had it, and our workers are dead */
}
END_TEST

START_TEST(the_token_itself_is_requeued_while_publishes_are_blocked)
{
	become_holder();
	token_tick(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	expect_effects("publish(1.1) requeue(2)");
	offer_token(3, "us", 1, 0, 2 * PERIOD + 9);
	ck_assert(lease_until == 2 * PERIOD + LEASE);
	token_tick(token, 3 * PERIOD);
	expect_effects("requeue(3)");
	offer_token(4, "us", 1, 0, 3 * PERIOD + 9);
	token_confirmed(token, 4 * PERIOD - 9);
	offer_token(5, "us", 1, 1, 4 * PERIOD - 9);
	expect_effects("ack(4)");
	ck_assert(lease_until == 3 * PERIOD + LEASE);
}
END_TEST

START_TEST(it_is_requeued_while_there_is_no_publish_channel)
{
	become_holder();
	token_publisher_down(token);
	token_tick(token, PERIOD);
	expect_effects("requeue(2)");
	offer_token(3, "us", 1, 0, PERIOD);
	ck_assert(lease_until == PERIOD + LEASE);
	token_publisher_up(token, PERIOD + 1);
	expect_effects("publish(1.1)");
}
END_TEST

START_TEST(an_unconfirmed_renewal_is_kept_if_it_is_all_there_is)
{
	become_holder();
	token_tick(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	offer_token(3, "us", 1, 1, 2 * PERIOD);
	forget_effects();
	token_publisher_down(token);
	expect_effects("");
	offer_token(4, "us", 1, 0, 2 * PERIOD); /* the one that was requeued */
	expect_effects("ack(4)");
	token_tick(token, 3 * PERIOD);
	expect_effects("LOST"); /* nothing was proven since 0 */
	ck_assert_int_eq(token_facts(token).state, TOKEN_TAKING);
}
END_TEST

START_TEST(a_purged_renewal_is_sent_again)
{
	become_holder();
	token_tick(token, PERIOD);
	token_confirmed(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	expect_effects("publish(1.1) publish(1.2)");
	token_confirmed(token, 2 * PERIOD);
	offer_token(3, "us", 1, 2, 2 * PERIOD);
	expect_effects("ack(2)");
	ck_assert(lease_until == 2 * PERIOD + LEASE);
}
END_TEST

START_TEST(a_channel_that_comes_back_in_time_costs_nothing)
{
	become_holder();
	token_down(token);
	token_up(token, PERIOD - 1);
	expect_effects("publish(1.1)");
	offer_token(1, "us", 1, 0, PERIOD - 1);
	token_confirmed(token, PERIOD - 1);
	offer_token(2, "us", 1, 1, PERIOD - 1);
	expect_effects("ack(1)");
	ck_assert(lease_until == PERIOD - 1 + LEASE);
}
END_TEST

START_TEST(what_it_published_before_a_loss_counts_after_it)
{
	become_holder();
	token_tick(token, PERIOD);
	token_down(token);
	token_publisher_down(token);
	token_up(token, PERIOD);
	offer_token(1, "us", 1, 0, PERIOD);
	offer_token(2, "us", 1, 1, PERIOD);
	expect_effects("publish(1.1) ack(1)");
	token_publisher_up(token, PERIOD);
	expect_effects("publish(1.2)");
}
END_TEST

START_TEST(a_channel_that_comes_back_late_finds_its_own_token)
{
	become_holder();
	token_down(token);
	token_tick(token, PERIOD);
	token_tick(token, LEASE);
	expect_effects("LOST");
	token_up(token, DELAY);
	offer_token(1, "us", 1, 0, DELAY);
	token_confirmed(token, DELAY);
	offer_token(2, "us", 2, 0, DELAY);
	expect_effects("publish(0.0) publish(2.0) HELD(orderly deaths 0) ack(1)");
}
END_TEST

START_TEST(a_higher_token_of_another_ends_it)
{
	become_holder();
	offer_token(3, "other", 2, 0, 1);
	expect_effects("LOST ack(2) publish(3.0 deaths 1)");
	ck_assert(lease_until == 0);
}
END_TEST

/* Its numbers cannot grow: it must not keep all supervisors out for ever. */
START_TEST(a_forged_token_with_the_highest_numbers_is_taken_over)
{
	const uint64_t highest = TOKEN_NUMBER_MAX - 1;

	become_holder();
	offer_token(3, "other", highest, highest, 1);
	expect_effects("LOST ack(2) publish(1.1 deaths 1)");
	token_confirmed(token, 1);
	offer_token(4, "us", 1, 1, 1);
	expect_effects("HELD(delayed deaths 1) ack(3)");
	token_tick(token, token_deadline(token));
	expect_effects("publish(1.2 deaths 1)");
}
END_TEST

START_TEST(ten_minutes_of_life_forget_the_deaths)
{
	unsigned periods = (unsigned)(TOKEN_DEATHS_KEPT / PERIOD);
	struct token_content content = token_content_of("other", 1, 3);
	char last[32];

	token_publisher_up(token, 0);
	token_up(token, 0);
	content.deaths = 1;
	token_offer(token, 1, &content, 0);
	token_confirmed(token, 0);
	offer_token(2, "us", 2, 0, 0);
	for (unsigned i = 1; i < periods; i++) {
		forget_effects();
		token_tick(token, i * PERIOD);
		token_confirmed(token, i * PERIOD);
		offer_token(2 + i, "us", 2, i, i * PERIOD);
		ck_assert_uint_eq(token_facts(token).deaths, 2);
		ck_assert_ptr_nonnull(strstr(effects_log, " deaths 2)"));
	}
	forget_effects();
	token_tick(token, TOKEN_DEATHS_KEPT);
	snprintf(last, sizeof last, "publish(2.%u)", periods);
	expect_effects(last);
}
END_TEST

/* ---------- leaving ---------- */

/* A holder before us may still run tasks: we do not know better than when we took over. */
START_TEST(what_is_left_of_a_wait_is_passed_on)
{
	become_holder();
	ck_assert(waits_for == DELAY);
	token_leave(token, DELAY / 3);
	expect_effects("publish(1.1 orderly)");
	ck_assert(passed_wait == DELAY - DELAY / 3);
}
END_TEST

START_TEST(a_wait_that_is_over_is_not_passed_on)
{
	become_holder();
	token_leave(token, DELAY + 1);
	expect_effects("publish(1.1 orderly)");
	ck_assert(passed_wait == 0);
}
END_TEST

START_TEST(a_wait_goes_on_after_a_lost_lease)
{
	become_holder();
	token_down(token);
	token_tick(token, LEASE);
	token_up(token, LEASE);
	offer_token(1, "us", 1, 0, LEASE);
	token_confirmed(token, LEASE);
	offer_token(2, "us", 2, 0, LEASE);
	expect_effects("LOST publish(0.0) publish(2.0) HELD(orderly deaths 0) ack(1)");
	ck_assert(waits_for == DELAY - LEASE);
}
END_TEST

START_TEST(a_holder_leaves_by_an_orderly_token)
{
	become_holder();
	ck_assert(token_hand_over(token, TEXT("keys"), 0));
	expect_effects("publish(1.1 keys)");
	token_leave(token, 1);
	expect_effects("publish(1.2 orderly keys)");
	ck_assert(lease_until == 0);
	offer_token(3, "us", 1, 1, 1);
	offer_token(4, "us", 1, 2, 1);
	token_confirmed(token, 1);
	expect_effects("HANDED-OVER ack(2)");
	ck_assert_int_eq(token_facts(token).state, TOKEN_LEFT);
	token_leave(token, 2);
	offer_token(5, "", 0, 0, 2);
	expect_effects("");
}
END_TEST

START_TEST(a_leave_is_published_again_on_another_channel)
{
	become_holder();
	token_publisher_down(token);
	token_leave(token, 1);
	expect_effects("");
	token_down(token);
	token_publisher_up(token, 2);
	expect_effects("publish(1.1 orderly)");
	token_confirmed(token, 2);
	ck_assert_int_eq(token_facts(token).state, TOKEN_LEFT);
}
END_TEST

START_TEST(a_leave_without_a_broker_ends)
{
	become_holder();
	token_publisher_down(token);
	token_leave(token, 1);
	ck_assert(token_deadline(token) == 1 + LEASE);
	token_tick(token, LEASE);
	ck_assert_int_eq(token_facts(token).state, TOKEN_LEAVING);
	token_tick(token, 1 + LEASE);
	ck_assert_int_eq(token_facts(token).state, TOKEN_LEFT);
	expect_effects("");
}
END_TEST

START_TEST(a_standby_just_leaves)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	forget_effects();
	token_leave(token, 0);
	expect_effects("");
	ck_assert_int_eq(token_facts(token).state, TOKEN_LEFT);
	ck_assert_str_eq(token_state_name(token_facts(token).state), "left");
}
END_TEST

/* What was there before goes back to the queue as it is. */
START_TEST(a_takeover_that_was_not_published_just_leaves)
{
	token_up(token, 0);
	offer_token(1, "other", 7, 3, 0);
	token_leave(token, 0);
	expect_effects("");
	ck_assert_int_eq(token_facts(token).state, TOKEN_LEFT);
}
END_TEST

/* It publishes its takeover of this token, and leaves before it is the holder. */
static void leave_while_taking(const struct token_content *found)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	token_offer(token, 1, found, 0);
	forget_effects();
	token_leave(token, 5);
	ck_assert(token_deadline(token) == 5 + LEASE);
}

/* Its own token, which is in the queue, too, hides the one before. */
START_TEST(a_takeover_that_leaves_passes_on_what_it_found)
{
	struct token_content found = token_content_of("other", 7, 3);

	found.is_orderly = true;
	found.delay = min_delay = 9;
	found.handover = TEXT("keys");
	leave_while_taking(&found);
	expect_effects("publish(8.1 orderly keys)");
	ck_assert(passed_wait == 9);
	token_confirmed(token, 6);
	expect_effects("ack(1)");
	ck_assert_int_eq(token_facts(token).state, TOKEN_LEFT);
}
END_TEST

START_TEST(a_takeover_that_leaves_is_no_death)
{
	struct token_content found = token_content_of("other", 7, 3);

	found.deaths = 2;
	found.window = 2 * WINDOW;
	leave_while_taking(&found);
	expect_effects("publish(8.1 deaths 2)");
	ck_assert(passed_wait == DELAY);
	ck_assert_uint_eq(passed_window, 2 * WINDOW);
}
END_TEST

START_TEST(a_takeover_of_a_new_queue_is_no_death)
{
	const struct token_content found = token_content_of("", 0, 0);

	leave_while_taking(&found);
	expect_effects("publish(1.1 orderly)");
	ck_assert(passed_wait == DELAY);
}
END_TEST

/* ---------- proving that it is held ---------- */

START_TEST(a_token_is_proven_by_one_that_is_sent_after_the_question)
{
	become_holder();
	token_tick(token, PERIOD);
	token_confirmed(token, PERIOD + 1);
	token_prove(token, PERIOD + 1);
	expect_effects("publish(1.1) publish(1.2)");
	offer_token(3, "us", 1, 1, PERIOD + 2);
	token_confirmed(token, PERIOD + 3);
	ck_assert(!token_is_proven(token));
	offer_token(4, "us", 1, 2, PERIOD + 4);
	ck_assert(token_is_proven(token));
	token_prove(token, PERIOD + 5);
	ck_assert(!token_is_proven(token));
}
END_TEST

START_TEST(a_requeue_before_the_question_proves_nothing)
{
	become_holder();
	token_tick(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	token_prove(token, 2 * PERIOD + 1);
	expect_effects("publish(1.1) requeue(2) publish(1.2)");
	offer_token(3, "us", 1, 0, 2 * PERIOD + 2);
	ck_assert(lease_until == 2 * PERIOD + LEASE);
	ck_assert(!token_is_proven(token));
}
END_TEST

START_TEST(a_token_is_proven_by_itself_while_publishes_are_blocked)
{
	become_holder();
	token_publisher_down(token);
	token_prove(token, 5);
	expect_effects("requeue(2)");
	ck_assert(!token_is_proven(token));
	offer_token(3, "us", 1, 0, 6);
	ck_assert(token_is_proven(token));
	token_down(token);
	token_up(token, 7);
	token_prove(token, 8);
	expect_effects(""); /* it has not come back yet */
	offer_token(1, "us", 1, 0, 9);
	ck_assert(!token_is_proven(token));
	token_tick(token, token_deadline(token));
	expect_effects("requeue(1)");
	offer_token(2, "us", 1, 0, PERIOD + 9);
	ck_assert(token_is_proven(token));
}
END_TEST

START_TEST(a_standby_proves_nothing)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	forget_effects();
	token_prove(token, 1);
	expect_effects("");
	ck_assert(!token_is_proven(token));
}
END_TEST

START_TEST(a_question_ends_with_the_takeover_of_another)
{
	become_holder();
	token_prove(token, 5);
	offer_token(3, "other", 2, 0, 6);
	ck_assert(!token_is_proven(token));
	ck_assert(!token_facts(token).is_held);
}
END_TEST

START_TEST(a_handover_is_bounded)
{
	static char bytes[TOKEN_HANDOVER_MAX + 1];

	become_holder();
	ck_assert(!token_hand_over(token, text_of(bytes, sizeof bytes), 0));
	expect_effects("");
}
END_TEST

/* It names what may have killed its holder. */
START_TEST(a_handover_reaches_the_next_holder_of_a_dead_one)
{
	struct token_content content = token_content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, 0);
	content.handover = TEXT("named");
	token_offer(token, 1, &content, 0);
	token_confirmed(token, 0);
	offer_token(2, "us", 8, 0, 0);
	expect_effects("publish(0.0) publish(8.0 deaths 1) HELD(delayed deaths 1 named) ack(1)");
}
END_TEST

START_TEST(a_handover_is_confirmed_by_the_latest_publish_only)
{
	become_holder();
	token_tick(token, PERIOD);
	ck_assert(token_hand_over(token, TEXT("a"), PERIOD));
	token_publisher_down(token);
	token_publisher_up(token, PERIOD);
	expect_effects("publish(1.1) publish(1.2 a) publish(1.3 a)");
	token_confirmed(token, PERIOD);
	expect_effects("HANDED-OVER");
	offer_token(3, "us", 1, 3, PERIOD);
	token_tick(token, 2 * PERIOD);
	token_confirmed(token, 2 * PERIOD);
	expect_effects("ack(2) publish(1.4 a)");
}
END_TEST

START_TEST(a_handover_before_the_takeover_waits_for_the_next_token)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_token(1, "other", 7, 3, 0);
	ck_assert(token_hand_over(token, TEXT("a"), 0));
	token_confirmed(token, 0);
	offer_token(2, "us", 8, 0, 0);
	expect_effects("publish(0.0) publish(8.0 deaths 1) HELD(delayed deaths 1) ack(1)");
	token_tick(token, PERIOD);
	token_confirmed(token, PERIOD);
	expect_effects("publish(8.1 deaths 1 a) HANDED-OVER");
}
END_TEST

/* ---------- forged ones ---------- */

START_TEST(a_copy_of_our_own_token_is_acked)
{
	become_holder();
	token_tick(token, PERIOD);
	offer_token(3, "us", 1, 1, PERIOD);
	offer_token(4, "us", 1, 1, PERIOD);
	expect_effects("publish(1.1) ack(4)");
	token_confirmed(token, PERIOD);
	expect_effects("ack(2)");
	ck_assert(lease_until == PERIOD + LEASE);
}
END_TEST

START_TEST(deaths_do_not_wrap)
{
	struct token_content content = token_content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, 0);
	content.deaths = UINT32_MAX;
	token_offer(token, 1, &content, 0);
	expect_effects("publish(0.0) publish(8.0 deaths 4294967295)");
}
END_TEST

START_TEST(our_own_token_may_name_the_window_before)
{
	struct token_content content = token_content_of("us", 1, 0);

	become_holder();
	token_down(token);
	token_tick(token, LEASE);
	token_up(token, LEASE);
	forget_effects();
	content.window = 1;
	token_offer(token, 1, &content, LEASE);
	expect_effects("publish(2.0)");
}
END_TEST

START_TEST(a_lost_lease_ends_a_handover)
{
	become_holder();
	ck_assert(token_hand_over(token, TEXT("a"), 0));
	token_tick(token, LEASE);
	expect_effects("publish(1.1 a) LOST publish(2.0)");
}
END_TEST

START_TEST(it_is_renewed_for_hours)
{
	uint64_t tag = 2;

	become_holder();
	renew_token_until(3600 * MTIME_SECOND, &tag);
	ck_assert_uint_eq(tag, 2 + 3600 / 5);
	ck_assert_uint_eq(token_facts(token).counter, 3600 / 5);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("core/token_holder");
	TCase *tcase = tcase_create("token");
	const TTest *const tests[] = {a_renewal_counts_from_its_sending,
		a_long_delay_has_renewals_within_the_ack_timeout,
		a_holder_that_hears_nothing_loses_it, an_answer_after_a_suspension_comes_too_late,
		the_token_itself_is_requeued_while_publishes_are_blocked,
		it_is_requeued_while_there_is_no_publish_channel,
		an_unconfirmed_renewal_is_kept_if_it_is_all_there_is,
		a_purged_renewal_is_sent_again, a_channel_that_comes_back_in_time_costs_nothing,
		what_it_published_before_a_loss_counts_after_it,
		a_channel_that_comes_back_late_finds_its_own_token,
		a_higher_token_of_another_ends_it,
		a_forged_token_with_the_highest_numbers_is_taken_over,
		ten_minutes_of_life_forget_the_deaths, what_is_left_of_a_wait_is_passed_on,
		a_wait_that_is_over_is_not_passed_on, a_wait_goes_on_after_a_lost_lease,
		a_holder_leaves_by_an_orderly_token, a_leave_is_published_again_on_another_channel,
		a_leave_without_a_broker_ends, a_standby_just_leaves,
		a_takeover_that_was_not_published_just_leaves,
		a_takeover_that_leaves_passes_on_what_it_found, a_takeover_that_leaves_is_no_death,
		a_takeover_of_a_new_queue_is_no_death,
		a_token_is_proven_by_one_that_is_sent_after_the_question,
		a_requeue_before_the_question_proves_nothing,
		a_token_is_proven_by_itself_while_publishes_are_blocked, a_standby_proves_nothing,
		a_question_ends_with_the_takeover_of_another, a_handover_is_bounded,
		a_handover_reaches_the_next_holder_of_a_dead_one,
		a_handover_is_confirmed_by_the_latest_publish_only,
		a_handover_before_the_takeover_waits_for_the_next_token,
		a_copy_of_our_own_token_is_acked, deaths_do_not_wrap,
		our_own_token_may_name_the_window_before, a_lost_lease_ends_a_handover,
		it_is_renewed_for_hours};

	tcase_add_checked_fixture(tcase, token_set_up, token_tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
