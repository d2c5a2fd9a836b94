/* How a supervisor takes the token over, transition by transition. */
#include "unit/support/core/memory.h"
#include "unit/support/core/token_rig.h"

/* ---------- taking it over ---------- */

START_TEST(the_queue_gets_a_token_once_both_channels_are_up)
{
	token_up(token, 0);
	expect_effects("");
	ck_assert(token_deadline(token) == MTIME_NEVER);
	token_publisher_up(token, 0);
	expect_effects("publish(0.0)");
	token_confirmed(token, 0);
	ck_assert_int_eq(token_facts(token).state, TOKEN_STANDBY);
}
END_TEST

START_TEST(an_unconfirmed_first_token_is_published_again)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	expect_effects("publish(0.0)");
	token_publisher_down(token);
	token_publisher_up(token, 0);
	expect_effects("publish(0.0)");
}
END_TEST

/* The one in the queue may have been purged before it was delivered. */
START_TEST(a_standby_publishes_one_again_and_again)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	token_confirmed(token, 0);
	forget_effects();
	ck_assert(token_deadline(token) == DELAY);
	token_tick(token, DELAY - 1);
	expect_effects("");
	token_tick(token, DELAY);
	expect_effects("publish(0.0)");
	ck_assert(token_deadline(token) == 2 * DELAY);
	token_down(token);
	ck_assert(token_deadline(token) == MTIME_NEVER);
	token_up(token, DELAY);
	expect_effects("publish(0.0)");
}
END_TEST

START_TEST(the_first_holder_waits_as_nothing_proves_that_there_was_none)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	token_confirmed(token, 0);
	offer_token(1, "", 0, 0, 5);
	expect_effects("publish(0.0) publish(1.0)");
	ck_assert_int_eq(token_facts(token).state, TOKEN_TAKING);
	token_confirmed(token, 6);
	expect_effects("");
	offer_token(2, "us", 1, 0, 7);
	expect_effects("HELD(delayed deaths 0) ack(1)");
	ck_assert(lease_until == 5 + LEASE);
	struct token_facts facts = token_facts(token);
	ck_assert(facts.is_held && facts.since == 7 && facts.renewed_at == 5);
	ck_assert_uint_eq(facts.epoch, 1);
	ck_assert(text_is(facts.holder, TEXT("us")));
}
END_TEST

START_TEST(delivered_before_confirmed_is_not_held)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_token(1, "other", 7, 3, 0);
	offer_token(2, "us", 8, 0, 0);
	expect_effects("publish(0.0) publish(8.0 deaths 1)");
	token_confirmed(token, 0);
	expect_effects("HELD(delayed deaths 1) ack(1)");
}
END_TEST

START_TEST(an_orderly_holder_hands_over_at_once)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_orderly_token(1, 7, 3);
	token_confirmed(token, 0);
	offer_token(2, "us", 8, 0, 0);
	expect_effects("publish(0.0) publish(8.0) HELD(orderly deaths 0 keys) ack(1)");
	ck_assert(waits_for == 7);
}
END_TEST

/* The holder of 8.0 was cut before its ack of 7.3 arrived. */
START_TEST(an_old_orderly_token_does_not_skip_the_delay)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_orderly_token(1, 7, 3);
	token_confirmed(token, 0);
	expect_effects("publish(0.0) publish(8.0)");
	offer_token(2, "other", 8, 0, 0);
	expect_effects("ack(1) publish(9.0 deaths 1)");
	offer_token(3, "us", 8, 0, 0);
	expect_effects("ack(3)");
	token_confirmed(token, 0);
	offer_token(4, "us", 9, 0, 0);
	expect_effects("HELD(delayed deaths 1) ack(2)");
}
END_TEST

/* Its last renewal comes before the token with which it left. */
START_TEST(the_token_of_the_leave_counts_when_it_comes_later)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_token(1, "other", 7, 3, 0);
	offer_orderly_token(2, 7, 4);
	token_confirmed(token, 0);
	offer_token(3, "us", 8, 0, 0);
	expect_effects(
		"publish(0.0) publish(8.0 deaths 1) ack(1) HELD(orderly deaths 0 keys) ack(2)");
}
END_TEST

START_TEST(of_equal_tokens_the_one_that_is_not_orderly_counts)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_orderly_token(1, 7, 3);
	offer_token(2, "other", 7, 3, 0);
	expect_effects("publish(0.0) publish(8.0) ack(1)");
	offer_orderly_token(3, 7, 3);
	expect_effects("ack(3)");
}
END_TEST

START_TEST(lower_tokens_are_acked)
{
	become_holder();
	offer_token(3, "", 0, 0, 0);
	offer_token(4, "other", 1, 0, 0);
	expect_effects("ack(3) ack(4)");
}
END_TEST

START_TEST(a_takeover_waits_for_the_publish_channel)
{
	token_up(token, 0);
	offer_token(1, "other", 7, 3, 0);
	expect_effects("");
	token_publisher_up(token, 0);
	expect_effects("publish(8.0 deaths 1)");
	token_publisher_down(token);
	token_publisher_up(token, 9);
	expect_effects("publish(8.1 deaths 1)");
	offer_token(2, "us", 8, 0, 9);
	expect_effects("ack(2)");
	token_confirmed(token, 9);
	offer_token(3, "us", 8, 1, 9);
	expect_effects("HELD(delayed deaths 1) ack(1)");
}
END_TEST

START_TEST(a_takeover_that_took_longer_than_the_lease_is_sent_again)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_token(1, "other", 7, 3, 0);
	forget_effects();
	token_confirmed(token, LEASE);
	offer_token(2, "us", 8, 0, LEASE);
	expect_effects("ack(2) publish(8.1 deaths 1)");
}
END_TEST

START_TEST(a_purged_takeover_is_sent_again)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_token(1, "other", 7, 3, 0);
	ck_assert(token_deadline(token) == MTIME_NEVER);
	forget_effects();
	token_confirmed(token, 1);
	ck_assert(token_deadline(token) == PERIOD);
	token_tick(token, PERIOD);
	expect_effects("publish(8.1 deaths 1)");
	ck_assert(token_deadline(token) == MTIME_NEVER);
}
END_TEST

START_TEST(a_lost_channel_ends_a_takeover)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_token(1, "other", 7, 3, 0);
	forget_effects();
	token_down(token);
	ck_assert_int_eq(token_facts(token).state, TOKEN_STANDBY);
	token_confirmed(token, 0);
	token_up(token, 0);
	forget_effects();
	offer_token(1, "us", 8, 0, 0); /* never held: it proves nothing of the holder of 7.3 */
	expect_effects("publish(9.0 deaths 1)");
	token_confirmed(token, 0);
	offer_token(2, "us", 9, 0, 0);
	expect_effects("HELD(delayed deaths 1) ack(1)");
}
END_TEST

static void take_over_from(uint32_t window)
{
	struct token_content content = token_content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, 0);
	content.window = window;
	token_offer(token, 1, &content, 0);
	token_confirmed(token, 0);
	offer_token(2, "us", 8, 0, 0);
	ck_assert_uint_eq(granted_window, passed_window);
}

/* What came to the larger one may come back. */
START_TEST(a_larger_window_of_a_former_holder_stays)
{
	take_over_from(WINDOW + 100);
	ck_assert_uint_eq(passed_window, WINDOW + 100);
	token_tick(token, PERIOD);
	ck_assert_uint_eq(passed_window, WINDOW + 100);
	token_leave(token, PERIOD);
	ck_assert_uint_eq(passed_window, WINDOW + 100);
}
END_TEST

START_TEST(a_larger_one_of_our_own_is_named_with_the_takeover)
{
	take_over_from(100);
	ck_assert_uint_eq(passed_window, WINDOW);
}
END_TEST

/* The one that counts in the end names a larger window than the one that was taken over. */
START_TEST(a_takeover_is_published_again_for_a_larger_window)
{
	struct token_content content = token_content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, 0);
	token_offer(token, 1, &content, 0);
	expect_effects("publish(0.0) publish(8.0 deaths 1)");
	content.counter++;
	content.window = WINDOW + 1;
	token_offer(token, 2, &content, 0);
	expect_effects("ack(1) publish(8.1 deaths 1)");
	ck_assert_uint_eq(passed_window, WINDOW + 1);
}
END_TEST

START_TEST(another_window_is_published_at_once)
{
	become_holder();
	token_configure(token, 5, DELAY, 0);
	token_name_window(token, WINDOW, 0);
	expect_effects("");
	token_name_window(token, 4000, 0);
	expect_effects("publish(1.1)");
	ck_assert_uint_eq(passed_window, 4000);
	token_confirmed(token, 0);
	expect_effects("");
	offer_token(3, "us", 1, 1, 0);
	expect_effects("ack(2) NAMED(4000)");
	token_tick(token, PERIOD);
	expect_effects("publish(1.2)");
	ck_assert_uint_eq(passed_window, 4000);
	token_confirmed(token, PERIOD);
	offer_token(4, "us", 1, 2, PERIOD);
	expect_effects("ack(3)");
}
END_TEST

START_TEST(a_window_is_named_when_publishes_are_taken)
{
	become_holder();
	token_publisher_down(token);
	token_name_window(token, 4000, 0);
	expect_effects("");
	token_publisher_up(token, 0);
	expect_effects("publish(1.1)");
	token_confirmed(token, 0);
	offer_token(3, "us", 1, 1, 0);
	expect_effects("ack(2) NAMED(4000)");
}
END_TEST

START_TEST(without_the_lease_no_window_is_named)
{
	become_holder();
	token_name_window(token, 4000, 0);
	offer_token(3, "other", 2, 0, 1);
	expect_effects("publish(1.1) LOST ack(2) publish(3.0 deaths 1)");
	ck_assert_uint_eq(passed_window, WINDOW);
	token_name_window(token, 5000, 0);
	token_confirmed(token, 0);
	expect_effects("");
}
END_TEST

START_TEST(a_first_token_may_have_another_window)
{
	struct token_content content = token_content_of("", 0, 0);

	token_publisher_up(token, 0);
	token_up(token, 0);
	content.window = 100;
	token_offer(token, 1, &content, 0);
	expect_effects("publish(0.0) publish(1.0)");
	ck_assert_uint_eq(passed_window, WINDOW);
}
END_TEST

/* The queue was deleted, or purged while the channel was away. */
START_TEST(a_holder_whose_token_is_gone_names_its_window_again)
{
	take_over_from(WINDOW + 100);
	token_down(token);
	token_up(token, 1);
	token_confirmed(token, 1);
	ck_assert_uint_eq(passed_window, WINDOW + 100);
	token_tick(
		token, LEASE); /* nothing was proven: it is a standby, and publishes a first one */
	ck_assert(!token_facts(token).is_held);
	token_confirmed(token, LEASE);
	offer_token(1, "", 0, 0, LEASE);
	ck_assert_uint_eq(passed_window, WINDOW + 100);
}
END_TEST

/* No token names what the former holder used: docs/ordering.md warns of it. */
START_TEST(after_a_purge_another_supervisor_uses_its_own_window)
{
	struct token_content zero = token_content_of("", 0, 0);

	token_publisher_up(token, 0);
	token_up(token, 0);
	expect_effects("publish(0.0)");
	ck_assert_uint_eq(passed_window, WINDOW);
	token_confirmed(token, 0);
	zero.window = WINDOW + 100; /* of one that started with it, and has not used it */
	token_offer(token, 1, &zero, 0);
	token_confirmed(token, 0);
	offer_token(2, "us", 1, 0, 0);
	ck_assert(token_facts(token).is_held);
	ck_assert_uint_eq(granted_window, WINDOW);
}
END_TEST

/* Those between the one with the largest window and the latest name nothing that the others do not.
 */
START_TEST(of_many_narrower_ones_the_largest_and_the_latest_are_kept)
{
	struct token_content content = token_content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, 0);
	content.window = WINDOW + 1;
	token_offer(token, 1, &content, 0);
	content.window = WINDOW;
	content.counter++;
	token_offer(token, 2, &content, 0);
	expect_effects("publish(0.0) publish(8.0 deaths 1)");
	content.counter++;
	token_offer(token, 3, &content, 0);
	expect_effects("ack(2)");
	token_confirmed(token, 0);
	expect_effects("ack(1)");
	offer_token(4, "us", 8, 0, 0);
	expect_effects("HELD(delayed deaths 1) ack(3)");
	ck_assert_uint_eq(granted_window, WINDOW + 1);
}
END_TEST

START_TEST(without_memory_there_is_no_token)
{
	callocs_left = 0;
	struct token *none = token_new(&token_test_config, &token_test_effects, NULL);
	callocs_left = LONG_MAX;
	ck_assert_ptr_null(none);
	token_free(none);
}
END_TEST

/* They come one after the other: each kept until our next token would keep us from ours. */
START_TEST(narrower_ones_are_acked_once_our_own_names_the_larger_window)
{
	struct token_content content = token_content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, 0);
	content.window = WINDOW + 1;
	token_offer(token, 1, &content, 0);
	content.window = WINDOW;
	content.counter++;
	token_offer(token, 2, &content, 0);
	expect_effects("publish(0.0) publish(8.0 deaths 1)"); /* the first one is kept */
	token_confirmed(token, 0);
	expect_effects("ack(1)");
	content.counter++;
	token_offer(token, 3, &content, 0);
	content.counter++;
	token_offer(token, 4, &content, 0);
	expect_effects("ack(2) ack(3)");
	offer_token(5, "us", 8, 0, 0);
	expect_effects("HELD(delayed deaths 1) ack(4)");
	ck_assert_uint_eq(granted_window, WINDOW + 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("core/token");
	TCase *tcase = tcase_create("token");
	const TTest *const tests[] = {the_queue_gets_a_token_once_both_channels_are_up,
		an_unconfirmed_first_token_is_published_again,
		a_standby_publishes_one_again_and_again,
		the_first_holder_waits_as_nothing_proves_that_there_was_none,
		delivered_before_confirmed_is_not_held, an_orderly_holder_hands_over_at_once,
		an_old_orderly_token_does_not_skip_the_delay,
		the_token_of_the_leave_counts_when_it_comes_later,
		of_equal_tokens_the_one_that_is_not_orderly_counts, lower_tokens_are_acked,
		a_takeover_waits_for_the_publish_channel,
		a_takeover_that_took_longer_than_the_lease_is_sent_again,
		a_purged_takeover_is_sent_again, a_lost_channel_ends_a_takeover,
		a_larger_window_of_a_former_holder_stays,
		a_larger_one_of_our_own_is_named_with_the_takeover,
		a_takeover_is_published_again_for_a_larger_window,
		narrower_ones_are_acked_once_our_own_names_the_larger_window,
		of_many_narrower_ones_the_largest_and_the_latest_are_kept,
		without_memory_there_is_no_token,
		a_holder_whose_token_is_gone_names_its_window_again,
		after_a_purge_another_supervisor_uses_its_own_window,
		another_window_is_published_at_once, a_window_is_named_when_publishes_are_taken,
		without_the_lease_no_window_is_named, a_first_token_may_have_another_window};

	tcase_add_checked_fixture(tcase, token_set_up, token_tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
