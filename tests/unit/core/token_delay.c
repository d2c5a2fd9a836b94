/* Another takeover_delay: the next holder must always wait for longer than the lease of this one.
 */
#include "unit/support/core/token_rig.h"

#define SHORT (DELAY / 3)
#define LONG  (2 * DELAY)

/* The broker answers the latest publish of epoch 1. */
static void prove(uint64_t tag, uint64_t counter, mtime now)
{
	token_confirmed(token, now);
	offer_token(tag, "us", 1, counter, now);
	forget_effects();
}

static void configure(mtime delay, mtime now)
{
	min_delay = delay < DELAY ? delay : DELAY;
	token_configure(token, WINDOW, delay, now);
}

START_TEST(a_longer_lease_begins_when_a_token_names_the_longer_delay)
{
	become_holder();
	configure(LONG, 1);
	expect_effects("publish(1.1)");
	ck_assert(passed_wait == LONG);
	ck_assert(token_deadline(token) == PERIOD);
	token_tick(
		token, PERIOD); /* unanswered: the token that names the shorter one is requeued */
	expect_effects("requeue(2)");
	offer_token(3, "us", 1, 0, PERIOD);
	ck_assert(lease_until == PERIOD + LEASE);
	prove(4, 1, PERIOD + 1);
	ck_assert(lease_until == PERIOD + LONG / 2);
	token_tick(token, token_deadline(token));
	ck_assert(passed_wait == LONG);
}
END_TEST

/* Its own wait is over, so that it is not named. The latest renewal, 1.6, was sent at DELAY. */
static void hold_for_long(void)
{
	uint64_t tag = 2;
	become_holder();
	renew_token_until(DELAY, &tag);
	ck_assert_uint_eq(tag, 8);
	ck_assert(lease_until == DELAY + LEASE);
	forget_effects();
}

START_TEST(a_shorter_lease_begins_before_a_token_names_the_shorter_delay)
{
	mtime late = DELAY + PERIOD - 1; /* a shorter lease from the last proof would be over */
	hold_for_long();
	configure(SHORT, late);
	expect_effects("publish(1.7)");
	ck_assert(passed_wait == DELAY);
	ck_assert(lease_until == DELAY + LEASE);
	prove(9, 7, late + 9);
	ck_assert(lease_until == late + SHORT / 2);
	token_tick(token, DELAY + PERIOD);
	expect_effects("publish(1.8)");
	ck_assert(passed_wait == SHORT);
}
END_TEST

/* Its lease would be over, or nearly so. */
START_TEST(a_slow_broker_does_not_shorten_the_lease)
{
	mtime pace = SHORT / TOKEN_RENEWALS, next = DELAY + PERIOD;
	hold_for_long();
	configure(SHORT, DELAY + 1);
	prove(9, 7, DELAY + 1 + pace);
	ck_assert(lease_until == DELAY + 1 + LEASE);
	ck_assert(token_deadline(token) == next);
	token_tick(token, next);
	ck_assert(passed_wait == DELAY);
	prove(10, 8, next + pace - 1);
	ck_assert(lease_until == next + SHORT / 2);
	ck_assert(token_deadline(token) == next + pace);
}
END_TEST

START_TEST(the_same_delay_publishes_nothing)
{
	become_holder();
	configure(DELAY, 1);
	expect_effects("");
}
END_TEST

START_TEST(a_standby_uses_it_for_its_takeover)
{
	configure(LONG, 0);
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_token(1, "", 0, 0, 0);
	expect_effects("publish(0.0) publish(1.0)");
	ck_assert(passed_wait == LONG);
	prove(2, 0, 0);
	ck_assert(lease_until == LONG / 2);
}
END_TEST

START_TEST(a_takeover_that_names_the_shorter_delay_has_the_shorter_lease)
{
	token_publisher_up(token, 0);
	token_up(token, 0);
	offer_token(1, "", 0, 0, 0);
	ck_assert(passed_wait == DELAY);
	configure(LONG, 1);
	prove(2, 0, 1);
	ck_assert(token_facts(token).is_held);
	ck_assert(lease_until == LEASE);
	token_tick(token, token_deadline(token));
	ck_assert(passed_wait == LONG);
}
END_TEST

/* The holder before had a longer delay: a third one must not begin sooner than this one may. */
START_TEST(a_longer_wait_is_named_in_the_tokens_until_it_is_over)
{
	struct token_content content = token_content_of("other", 1, 3);
	content.delay = LONG;
	token_publisher_up(token, 0);
	token_up(token, 0);
	token_offer(token, 1, &content, 0);
	ck_assert(passed_wait == LONG);
	token_confirmed(token, 0);
	offer_token(2, "us", 2, 0, 0);
	ck_assert(waits_for == LONG);
	ck_assert(lease_until == LEASE);
	token_tick(token, PERIOD);
	ck_assert(passed_wait == LONG - PERIOD);
	uint64_t tag = 3;
	offer_token(tag, "us", 2, 1, PERIOD);
	token_confirmed(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	ck_assert(passed_wait == LONG - 2 * PERIOD);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("core/token_delay");
	TCase *tcase = tcase_create("delay");
	const TTest *const tests[] = {a_longer_lease_begins_when_a_token_names_the_longer_delay,
		a_shorter_lease_begins_before_a_token_names_the_shorter_delay,
		a_slow_broker_does_not_shorten_the_lease, the_same_delay_publishes_nothing,
		a_standby_uses_it_for_its_takeover,
		a_takeover_that_names_the_shorter_delay_has_the_shorter_lease,
		a_longer_wait_is_named_in_the_tokens_until_it_is_over};

	tcase_add_checked_fixture(tcase, token_set_up, token_tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
