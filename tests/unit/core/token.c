/* The token of a pool, transition by transition. Each effect is recorded as a word; takeover_delay
 * is 30 s, so the lease is 15 s and a renewal is due every 5 s. */
#include "core/token.h"

#include "unit/unit.h"

#include <stdio.h>

#define DELAY  (30 * MTIME_SECOND)
#define LEASE  (DELAY / 2)
#define PERIOD (DELAY / TOKEN_RENEWALS)
#define WINDOW 2000

static struct token *token;
static char effects_log[512];
static mtime lease_until;
static mtime waits_for;   /* of the latest takeover */
static mtime passed_wait; /* in the latest publish */
static uint32_t passed_window, granted_window;

static void record(const char *word)
{
	size_t len = strlen(effects_log);

	ck_assert_int_lt(snprintf(effects_log + len, sizeof effects_log - len, "%s%s",
				 len > 0 ? " " : "", word),
		(int)(sizeof effects_log - len));
}

static void on_publish(void *io, const struct token_content *content)
{
	char word[128], deaths[32] = "";

	(void)io;
	passed_window = content->window;
	ck_assert(content->is_orderly || content->delay >= DELAY);
	passed_wait = content->delay;
	if (content->deaths > 0)
		snprintf(deaths, sizeof deaths, " deaths %u", content->deaths);
	snprintf(word, sizeof word, "publish(%u.%u%s%s%s%.*s)", (unsigned)content->epoch,
		(unsigned)content->counter, content->is_orderly ? " orderly" : "", deaths,
		content->handover.len ? " " : "", TEXT_ARGS(content->handover));
	record(word);
}

static void on_tag(const char *what, uint64_t tag)
{
	char word[32];

	snprintf(word, sizeof word, "%s(%u)", what, (unsigned)tag);
	record(word);
}

static void on_ack(void *io, uint64_t tag)
{
	(void)io;
	on_tag("ack", tag);
}

static void on_requeue(void *io, uint64_t tag)
{
	(void)io;
	on_tag("requeue", tag);
}

static void on_held(void *io, const struct token_grant *grant)
{
	char word[128];

	(void)io;
	snprintf(word, sizeof word, "HELD(%s deaths %u%s%.*s)",
		grant->is_orderly ? "orderly" : "delayed", grant->deaths,
		grant->handover.len ? " " : "", TEXT_ARGS(grant->handover));
	record(word);
	waits_for = grant->delay;
	granted_window = grant->window;
	ck_assert(grant->is_orderly || waits_for == DELAY);
}

static void on_lost(void *io)
{
	(void)io;
	record("LOST");
}

static void on_handed_over(void *io)
{
	(void)io;
	record("HANDED-OVER");
}

static void on_window_named(void *io, uint32_t window)
{
	(void)io;
	on_tag("NAMED", window);
}

static void on_lease(void *io, mtime until)
{
	(void)io;
	lease_until = until;
}

static const struct token_effects effects = {on_publish, on_ack, on_requeue, on_held, on_lost,
	on_handed_over, on_window_named, on_lease};

static const struct token_config config = {{"us", 2}, WINDOW, DELAY};

static void set_up(void)
{
	effects_log[0] = '\0';
	lease_until = 0;
	token = token_new(&config, &effects, NULL);
	ck_assert_ptr_nonnull(token);
}

static void tear_down(void)
{
	token_free(token);
}

/* What was done since the last look. */
static void expect(const char *log)
{
	ck_assert_str_eq(effects_log, log);
	effects_log[0] = '\0';
}

static struct token_content content_of(const char *holder, uint64_t epoch, uint64_t counter)
{
	return (struct token_content){.holder = text_from(holder),
		.epoch = epoch,
		.counter = counter,
		.window = WINDOW,
		.delay = DELAY};
}

static void offer(uint64_t tag, const char *holder, uint64_t epoch, uint64_t counter, mtime now)
{
	struct token_content content = content_of(holder, epoch, counter);

	token_offer(token, tag, &content, now);
}

static void offer_orderly(uint64_t tag, uint64_t epoch, uint64_t counter)
{
	struct token_content content = content_of("other", epoch, counter);

	content.is_orderly = true;
	content.delay = 7;
	content.deaths = 2;
	content.handover = TEXT("keys");
	token_offer(token, tag, &content, 0);
}

/* The first supervisor of a queue: it holds the token 1.0 as delivery 2 from 0 on. */
static void become_holder(void)
{
	token_publisher_up(token, 0);
	token_up(token, true, 0);
	token_confirmed(token, 0);
	offer(1, "", 0, 0, 0);
	token_confirmed(token, 0);
	offer(2, "us", 1, 0, 0);
	ck_assert(token_facts(token).is_held);
	ck_assert(lease_until == LEASE);
	effects_log[0] = '\0';
}

/* Renewals, each sent at its deadline, with both answers at once. The tags count on. */
static void renew_until(mtime end, uint64_t *tag)
{
	mtime now;

	while ((now = token_deadline(token)) <= end) {
		token_tick(token, now);
		token_confirmed(token, now);
		offer(++*tag, "us", 1, token_facts(token).counter + 1, now);
		ck_assert(token_facts(token).renewed_at == now);
		effects_log[0] = '\0';
	}
}

/* ---------- taking it over ---------- */

START_TEST(an_empty_queue_gets_a_token_once_both_channels_are_up)
{
	token_up(token, true, 0);
	expect("");
	token_publisher_up(token, 0);
	expect("publish(0.0)");
	token_confirmed(token, 0);
	token_publisher_down(token);
	token_publisher_up(token, 0);
	expect("");
	ck_assert_int_eq(token_facts(token).state, TOKEN_STANDBY);
	ck_assert(token_deadline(token) == MTIME_NEVER);
}
END_TEST

START_TEST(an_unconfirmed_first_token_is_published_again)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	expect("publish(0.0)");
	token_publisher_down(token);
	token_publisher_up(token, 0);
	expect("publish(0.0)");
}
END_TEST

START_TEST(a_queue_that_became_empty_gets_a_token_again)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	token_confirmed(token, 0);
	effects_log[0] = '\0';
	token_down(token);
	token_up(token, false, 0);
	expect("");
	token_down(token);
	token_up(token, true, 0);
	expect("publish(0.0)");
}
END_TEST

START_TEST(the_first_holder_waits_as_nothing_proves_that_there_was_none)
{
	token_publisher_up(token, 0);
	token_up(token, true, 0);
	token_confirmed(token, 0);
	offer(1, "", 0, 0, 5);
	expect("publish(0.0) publish(1.0)");
	ck_assert_int_eq(token_facts(token).state, TOKEN_TAKING);
	token_confirmed(token, 6);
	expect("");
	offer(2, "us", 1, 0, 7);
	expect("HELD(delayed deaths 0) ack(1)");
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
	token_up(token, false, 0);
	offer(1, "other", 7, 3, 0);
	offer(2, "us", 8, 0, 0);
	expect("publish(0.0) publish(8.0 deaths 1)");
	token_confirmed(token, 0);
	expect("HELD(delayed deaths 1) ack(1)");
}
END_TEST

START_TEST(an_orderly_holder_hands_over_at_once)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	offer_orderly(1, 7, 3);
	token_confirmed(token, 0);
	offer(2, "us", 8, 0, 0);
	expect("publish(0.0) publish(8.0) HELD(orderly deaths 0 keys) ack(1)");
	ck_assert(waits_for == 7);
}
END_TEST

/* The holder of 8.0 was cut before its ack of 7.3 arrived. */
START_TEST(an_old_orderly_token_does_not_skip_the_delay)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	offer_orderly(1, 7, 3);
	token_confirmed(token, 0);
	expect("publish(0.0) publish(8.0)");
	offer(2, "other", 8, 0, 0);
	expect("ack(1) publish(9.0 deaths 1)");
	offer(3, "us", 8, 0, 0);
	expect("ack(3)");
	token_confirmed(token, 0);
	offer(4, "us", 9, 0, 0);
	expect("HELD(delayed deaths 1) ack(2)");
}
END_TEST

/* Its last renewal comes before the token with which it left. */
START_TEST(the_token_of_the_leave_counts_when_it_comes_later)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	offer(1, "other", 7, 3, 0);
	offer_orderly(2, 7, 4);
	token_confirmed(token, 0);
	offer(3, "us", 8, 0, 0);
	expect("publish(0.0) publish(8.0 deaths 1) ack(1) HELD(orderly deaths 0 keys) ack(2)");
}
END_TEST

START_TEST(of_equal_tokens_the_one_that_is_not_orderly_counts)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	offer_orderly(1, 7, 3);
	offer(2, "other", 7, 3, 0);
	expect("publish(0.0) publish(8.0) ack(1)");
	offer_orderly(3, 7, 3);
	expect("ack(3)");
}
END_TEST

START_TEST(lower_tokens_are_acked)
{
	become_holder();
	offer(3, "", 0, 0, 0);
	offer(4, "other", 1, 0, 0);
	expect("ack(3) ack(4)");
}
END_TEST

START_TEST(a_takeover_waits_for_the_publish_channel)
{
	token_up(token, false, 0);
	offer(1, "other", 7, 3, 0);
	expect("");
	token_publisher_up(token, 0);
	expect("publish(8.0 deaths 1)");
	token_publisher_down(token);
	token_publisher_up(token, 9);
	expect("publish(8.1 deaths 1)");
	offer(2, "us", 8, 0, 9);
	expect("ack(2)");
	token_confirmed(token, 9);
	offer(3, "us", 8, 1, 9);
	expect("HELD(delayed deaths 1) ack(1)");
}
END_TEST

START_TEST(a_takeover_that_took_longer_than_the_lease_is_sent_again)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	offer(1, "other", 7, 3, 0);
	effects_log[0] = '\0';
	token_confirmed(token, LEASE);
	offer(2, "us", 8, 0, LEASE);
	expect("ack(2) publish(8.1 deaths 1)");
}
END_TEST

START_TEST(a_purged_takeover_is_sent_again)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	offer(1, "other", 7, 3, 0);
	ck_assert(token_deadline(token) == MTIME_NEVER);
	effects_log[0] = '\0';
	token_confirmed(token, 1);
	ck_assert(token_deadline(token) == PERIOD);
	token_tick(token, PERIOD);
	expect("publish(8.1 deaths 1)");
	ck_assert(token_deadline(token) == MTIME_NEVER);
}
END_TEST

START_TEST(a_lost_channel_ends_a_takeover)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	offer(1, "other", 7, 3, 0);
	effects_log[0] = '\0';
	token_down(token);
	ck_assert_int_eq(token_facts(token).state, TOKEN_STANDBY);
	token_confirmed(token, 0);
	token_up(token, false, 0);
	offer(1, "us", 8, 0, 0); /* never held: it proves nothing of the holder of 7.3 */
	expect("publish(9.0 deaths 1)");
	token_confirmed(token, 0);
	offer(2, "us", 9, 0, 0);
	expect("HELD(delayed deaths 1) ack(1)");
}
END_TEST

static void take_over_from(uint32_t window)
{
	struct token_content content = content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, false, 0);
	content.window = window;
	token_offer(token, 1, &content, 0);
	token_confirmed(token, 0);
	offer(2, "us", 8, 0, 0);
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
	struct token_content content = content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, false, 0);
	token_offer(token, 1, &content, 0);
	expect("publish(0.0) publish(8.0 deaths 1)");
	content.counter++;
	content.window = WINDOW + 1;
	token_offer(token, 2, &content, 0);
	expect("ack(1) publish(8.1 deaths 1)");
	ck_assert_uint_eq(passed_window, WINDOW + 1);
}
END_TEST

START_TEST(another_window_is_published_at_once)
{
	become_holder();
	token_configure(token, 5, DELAY);
	token_name_window(token, WINDOW, 0);
	expect("");
	token_name_window(token, 4000, 0);
	expect("publish(1.1)");
	ck_assert_uint_eq(passed_window, 4000);
	token_confirmed(token, 0);
	expect("");
	offer(3, "us", 1, 1, 0);
	expect("ack(2) NAMED(4000)");
	token_tick(token, PERIOD);
	expect("publish(1.2)");
	ck_assert_uint_eq(passed_window, 4000);
	token_confirmed(token, PERIOD);
	offer(4, "us", 1, 2, PERIOD);
	expect("ack(3)");
}
END_TEST

START_TEST(a_window_is_named_when_publishes_are_taken)
{
	become_holder();
	token_publisher_down(token);
	token_name_window(token, 4000, 0);
	expect("");
	token_publisher_up(token, 0);
	expect("publish(1.1)");
	token_confirmed(token, 0);
	offer(3, "us", 1, 1, 0);
	expect("ack(2) NAMED(4000)");
}
END_TEST

START_TEST(without_the_lease_no_window_is_named)
{
	become_holder();
	token_name_window(token, 4000, 0);
	offer(3, "other", 2, 0, 1);
	expect("publish(1.1) LOST ack(2) publish(3.0 deaths 1)");
	ck_assert_uint_eq(passed_window, WINDOW);
	token_name_window(token, 5000, 0);
	token_confirmed(token, 0);
	expect("");
}
END_TEST

START_TEST(a_first_token_may_have_another_window)
{
	struct token_content content = content_of("", 0, 0);

	token_publisher_up(token, 0);
	token_up(token, false, 0);
	content.window = 100;
	token_offer(token, 1, &content, 0);
	expect("publish(0.0) publish(1.0)");
	ck_assert_uint_eq(passed_window, WINDOW);
}
END_TEST

/* ---------- renewing it ---------- */

START_TEST(a_renewal_counts_from_its_sending)
{
	become_holder();
	ck_assert(token_deadline(token) == PERIOD);
	token_tick(token, PERIOD - 1);
	expect("");
	token_tick(token, PERIOD);
	expect("publish(1.1)");
	token_confirmed(token, PERIOD + 100);
	expect("");
	ck_assert(lease_until == LEASE);
	offer(3, "us", 1, 1, PERIOD + 200);
	expect("ack(2)");
	ck_assert(lease_until == PERIOD + LEASE);
}
END_TEST

START_TEST(a_long_delay_has_renewals_within_the_ack_timeout)
{
	become_holder();
	token_configure(token, WINDOW, 24 * 60 * MTIME_MINUTE);
	token_tick(token, PERIOD);
	ck_assert(token_deadline(token) == PERIOD + TOKEN_RENEWAL_MAX);
}
END_TEST

START_TEST(a_holder_that_hears_nothing_loses_it)
{
	become_holder();
	token_tick(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	expect("publish(1.1) requeue(2)");
	token_tick(token, LEASE - 1);
	ck_assert(token_facts(token).is_held);
	token_tick(token, LEASE);
	expect("LOST publish(0.0)"); /* if a policy dropped what was requeued */
	ck_assert(lease_until == 0);
	ck_assert_int_eq(token_facts(token).state, TOKEN_STANDBY);
	ck_assert(token_deadline(token) == MTIME_NEVER);
}
END_TEST

START_TEST(an_answer_after_a_suspension_comes_too_late)
{
	become_holder();
	token_tick(token, PERIOD);
	token_confirmed(token, 4 * DELAY);
	offer(3, "us", 1, 1, 4 * DELAY);
	effects_log[0] = '\0';
	token_tick(token, 4 * DELAY);
	expect("LOST publish(2.0)");
	token_confirmed(token, 4 * DELAY);
	offer(4, "us", 2, 0, 4 * DELAY);
	expect("HELD(orderly deaths 0) ack(3)"); /* nobody else had it, and our workers are dead */
}
END_TEST

START_TEST(the_token_itself_is_requeued_while_publishes_are_blocked)
{
	become_holder();
	token_tick(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	expect("publish(1.1) requeue(2)");
	offer(3, "us", 1, 0, 2 * PERIOD + 9);
	ck_assert(lease_until == 2 * PERIOD + LEASE);
	token_tick(token, 3 * PERIOD);
	expect("requeue(3)");
	offer(4, "us", 1, 0, 3 * PERIOD + 9);
	token_confirmed(token, 4 * PERIOD - 9);
	offer(5, "us", 1, 1, 4 * PERIOD - 9);
	expect("ack(4)");
	ck_assert(lease_until == 3 * PERIOD + LEASE);
}
END_TEST

START_TEST(it_is_requeued_while_there_is_no_publish_channel)
{
	become_holder();
	token_publisher_down(token);
	token_tick(token, PERIOD);
	expect("requeue(2)");
	offer(3, "us", 1, 0, PERIOD);
	ck_assert(lease_until == PERIOD + LEASE);
	token_publisher_up(token, PERIOD + 1);
	expect("publish(1.1)");
}
END_TEST

START_TEST(an_unconfirmed_renewal_is_kept_if_it_is_all_there_is)
{
	become_holder();
	token_tick(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	offer(3, "us", 1, 1, 2 * PERIOD);
	effects_log[0] = '\0';
	token_publisher_down(token);
	expect("");
	offer(4, "us", 1, 0, 2 * PERIOD); /* the one that was requeued */
	expect("ack(4)");
	token_tick(token, 3 * PERIOD);
	expect("LOST"); /* nothing was proven since 0 */
	ck_assert_int_eq(token_facts(token).state, TOKEN_TAKING);
}
END_TEST

START_TEST(a_purged_renewal_is_sent_again)
{
	become_holder();
	token_tick(token, PERIOD);
	token_confirmed(token, PERIOD);
	token_tick(token, 2 * PERIOD);
	expect("publish(1.1) publish(1.2)");
	token_confirmed(token, 2 * PERIOD);
	offer(3, "us", 1, 2, 2 * PERIOD);
	expect("ack(2)");
	ck_assert(lease_until == 2 * PERIOD + LEASE);
}
END_TEST

START_TEST(a_channel_that_comes_back_in_time_costs_nothing)
{
	become_holder();
	token_down(token);
	token_up(token, false, PERIOD - 1);
	expect("publish(1.1)");
	offer(1, "us", 1, 0, PERIOD - 1);
	token_confirmed(token, PERIOD - 1);
	offer(2, "us", 1, 1, PERIOD - 1);
	expect("ack(1)");
	ck_assert(lease_until == PERIOD - 1 + LEASE);
}
END_TEST

START_TEST(what_it_published_before_a_loss_counts_after_it)
{
	become_holder();
	token_tick(token, PERIOD);
	token_down(token);
	token_publisher_down(token);
	token_up(token, false, PERIOD);
	offer(1, "us", 1, 0, PERIOD);
	offer(2, "us", 1, 1, PERIOD);
	expect("publish(1.1) ack(1)");
	token_publisher_up(token, PERIOD);
	expect("publish(1.2)");
}
END_TEST

START_TEST(a_channel_that_comes_back_late_finds_its_own_token)
{
	become_holder();
	token_down(token);
	token_tick(token, PERIOD);
	token_tick(token, LEASE);
	expect("LOST");
	token_up(token, false, DELAY);
	offer(1, "us", 1, 0, DELAY);
	token_confirmed(token, DELAY);
	offer(2, "us", 2, 0, DELAY);
	expect("publish(0.0) publish(2.0) HELD(orderly deaths 0) ack(1)");
}
END_TEST

START_TEST(a_higher_token_of_another_ends_it)
{
	become_holder();
	offer(3, "other", 2, 0, 1);
	expect("LOST ack(2) publish(3.0 deaths 1)");
	ck_assert(lease_until == 0);
}
END_TEST

/* Its numbers cannot grow: it must not keep all supervisors out for ever. */
START_TEST(a_forged_token_with_the_highest_numbers_is_taken_over)
{
	const uint64_t highest = TOKEN_NUMBER_MAX - 1;

	become_holder();
	offer(3, "other", highest, highest, 1);
	expect("LOST ack(2) publish(1.1 deaths 1)");
	token_confirmed(token, 1);
	offer(4, "us", 1, 1, 1);
	expect("HELD(delayed deaths 1) ack(3)");
	token_tick(token, token_deadline(token));
	expect("publish(1.2 deaths 1)");
}
END_TEST

START_TEST(ten_minutes_of_life_forget_the_deaths)
{
	unsigned periods = (unsigned)(TOKEN_DEATHS_KEPT / PERIOD);
	struct token_content content = content_of("other", 1, 3);
	char last[32];

	token_publisher_up(token, 0);
	token_up(token, false, 0);
	content.deaths = 1;
	token_offer(token, 1, &content, 0);
	token_confirmed(token, 0);
	offer(2, "us", 2, 0, 0);
	for (unsigned i = 1; i < periods; i++) {
		effects_log[0] = '\0';
		token_tick(token, i * PERIOD);
		token_confirmed(token, i * PERIOD);
		offer(2 + i, "us", 2, i, i * PERIOD);
		ck_assert_uint_eq(token_facts(token).deaths, 2);
		ck_assert_ptr_nonnull(strstr(effects_log, " deaths 2)"));
	}
	effects_log[0] = '\0';
	token_tick(token, TOKEN_DEATHS_KEPT);
	snprintf(last, sizeof last, "publish(2.%u)", periods);
	expect(last);
}
END_TEST

/* ---------- leaving ---------- */

/* A holder before us may still run tasks: we do not know better than when we took over. */
START_TEST(what_is_left_of_a_wait_is_passed_on)
{
	become_holder();
	ck_assert(waits_for == DELAY);
	token_leave(token, DELAY / 3);
	expect("publish(1.1 orderly)");
	ck_assert(passed_wait == DELAY - DELAY / 3);
}
END_TEST

START_TEST(a_wait_that_is_over_is_not_passed_on)
{
	become_holder();
	token_leave(token, DELAY + 1);
	expect("publish(1.1 orderly)");
	ck_assert(passed_wait == 0);
}
END_TEST

START_TEST(a_wait_goes_on_after_a_lost_lease)
{
	become_holder();
	token_down(token);
	token_tick(token, LEASE);
	token_up(token, false, LEASE);
	offer(1, "us", 1, 0, LEASE);
	token_confirmed(token, LEASE);
	offer(2, "us", 2, 0, LEASE);
	expect("LOST publish(0.0) publish(2.0) HELD(orderly deaths 0) ack(1)");
	ck_assert(waits_for == DELAY - LEASE);
}
END_TEST

START_TEST(a_holder_leaves_by_an_orderly_token)
{
	become_holder();
	ck_assert(token_hand_over(token, TEXT("keys"), 0));
	expect("publish(1.1 keys)");
	token_leave(token, 1);
	expect("publish(1.2 orderly keys)");
	ck_assert(lease_until == 0);
	offer(3, "us", 1, 1, 1);
	offer(4, "us", 1, 2, 1);
	token_confirmed(token, 1);
	expect("HANDED-OVER ack(2)");
	ck_assert_int_eq(token_facts(token).state, TOKEN_LEFT);
	token_leave(token, 2);
	offer(5, "", 0, 0, 2);
	expect("");
}
END_TEST

START_TEST(a_leave_is_published_again_on_another_channel)
{
	become_holder();
	token_publisher_down(token);
	token_leave(token, 1);
	expect("");
	token_down(token);
	token_publisher_up(token, 2);
	expect("publish(1.1 orderly)");
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
	expect("");
}
END_TEST

START_TEST(a_standby_just_leaves)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	offer(1, "other", 7, 3, 0);
	effects_log[0] = '\0';
	token_leave(token, 0);
	expect("");
	ck_assert_int_eq(token_facts(token).state, TOKEN_LEFT);
	ck_assert_str_eq(token_state_name(token_facts(token).state), "left");
}
END_TEST

START_TEST(a_handover_is_bounded)
{
	static char bytes[TOKEN_HANDOVER_MAX + 1];

	become_holder();
	ck_assert(!token_hand_over(token, text_of(bytes, sizeof bytes), 0));
	expect("");
}
END_TEST

/* It names what may have killed its holder. */
START_TEST(a_handover_reaches_the_next_holder_of_a_dead_one)
{
	struct token_content content = content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, false, 0);
	content.handover = TEXT("named");
	token_offer(token, 1, &content, 0);
	token_confirmed(token, 0);
	offer(2, "us", 8, 0, 0);
	expect("publish(0.0) publish(8.0 deaths 1) HELD(delayed deaths 1 named) ack(1)");
}
END_TEST

START_TEST(a_handover_is_confirmed_by_the_latest_publish_only)
{
	become_holder();
	token_tick(token, PERIOD);
	ck_assert(token_hand_over(token, TEXT("a"), PERIOD));
	token_publisher_down(token);
	token_publisher_up(token, PERIOD);
	expect("publish(1.1) publish(1.2 a) publish(1.3 a)");
	token_confirmed(token, PERIOD);
	expect("HANDED-OVER");
	offer(3, "us", 1, 3, PERIOD);
	token_tick(token, 2 * PERIOD);
	token_confirmed(token, 2 * PERIOD);
	expect("ack(2) publish(1.4 a)");
}
END_TEST

START_TEST(a_handover_before_the_takeover_waits_for_the_next_token)
{
	token_publisher_up(token, 0);
	token_up(token, false, 0);
	offer(1, "other", 7, 3, 0);
	ck_assert(token_hand_over(token, TEXT("a"), 0));
	token_confirmed(token, 0);
	offer(2, "us", 8, 0, 0);
	expect("publish(0.0) publish(8.0 deaths 1) HELD(delayed deaths 1) ack(1)");
	token_tick(token, PERIOD);
	token_confirmed(token, PERIOD);
	expect("publish(8.1 deaths 1 a) HANDED-OVER");
}
END_TEST

/* ---------- forged ones ---------- */

START_TEST(a_copy_of_our_own_token_is_acked)
{
	become_holder();
	token_tick(token, PERIOD);
	offer(3, "us", 1, 1, PERIOD);
	offer(4, "us", 1, 1, PERIOD);
	expect("publish(1.1) ack(4)");
	token_confirmed(token, PERIOD);
	expect("ack(2)");
	ck_assert(lease_until == PERIOD + LEASE);
}
END_TEST

START_TEST(deaths_do_not_wrap)
{
	struct token_content content = content_of("other", 7, 3);

	token_publisher_up(token, 0);
	token_up(token, false, 0);
	content.deaths = UINT32_MAX;
	token_offer(token, 1, &content, 0);
	expect("publish(0.0) publish(8.0 deaths 4294967295)");
}
END_TEST

START_TEST(our_own_token_may_name_the_window_before)
{
	struct token_content content = content_of("us", 1, 0);

	become_holder();
	token_down(token);
	token_tick(token, LEASE);
	token_up(token, false, LEASE);
	effects_log[0] = '\0';
	content.window = 1;
	token_offer(token, 1, &content, LEASE);
	expect("publish(2.0)");
}
END_TEST

START_TEST(a_lost_lease_ends_a_handover)
{
	become_holder();
	ck_assert(token_hand_over(token, TEXT("a"), 0));
	token_tick(token, LEASE);
	expect("publish(1.1 a) LOST publish(2.0)");
}
END_TEST

START_TEST(it_is_renewed_for_hours)
{
	uint64_t tag = 2;

	become_holder();
	renew_until(3600 * MTIME_SECOND, &tag);
	ck_assert_uint_eq(tag, 2 + 3600 / 5);
	ck_assert_uint_eq(token_facts(token).counter, 3600 / 5);
}
END_TEST

static Suite *token_suite(void)
{
	Suite *suite = suite_create("token");
	TCase *tcase = tcase_create("token");
	const TTest *const tests[] = {
		an_empty_queue_gets_a_token_once_both_channels_are_up,
		an_unconfirmed_first_token_is_published_again,
		a_queue_that_became_empty_gets_a_token_again,
		the_first_holder_waits_as_nothing_proves_that_there_was_none,
		delivered_before_confirmed_is_not_held,
		an_orderly_holder_hands_over_at_once,
		an_old_orderly_token_does_not_skip_the_delay,
		the_token_of_the_leave_counts_when_it_comes_later,
		of_equal_tokens_the_one_that_is_not_orderly_counts,
		lower_tokens_are_acked,
		a_takeover_waits_for_the_publish_channel,
		a_takeover_that_took_longer_than_the_lease_is_sent_again,
		a_purged_takeover_is_sent_again,
		a_lost_channel_ends_a_takeover,
		a_larger_window_of_a_former_holder_stays,
		a_larger_one_of_our_own_is_named_with_the_takeover,
		a_takeover_is_published_again_for_a_larger_window,
		another_window_is_published_at_once,
		a_window_is_named_when_publishes_are_taken,
		without_the_lease_no_window_is_named,
		a_first_token_may_have_another_window,
		a_renewal_counts_from_its_sending,
		a_long_delay_has_renewals_within_the_ack_timeout,
		a_holder_that_hears_nothing_loses_it,
		an_answer_after_a_suspension_comes_too_late,
		the_token_itself_is_requeued_while_publishes_are_blocked,
		it_is_requeued_while_there_is_no_publish_channel,
		an_unconfirmed_renewal_is_kept_if_it_is_all_there_is,
		a_purged_renewal_is_sent_again,
		a_channel_that_comes_back_in_time_costs_nothing,
		what_it_published_before_a_loss_counts_after_it,
		a_channel_that_comes_back_late_finds_its_own_token,
		a_higher_token_of_another_ends_it,
		a_forged_token_with_the_highest_numbers_is_taken_over,
		ten_minutes_of_life_forget_the_deaths,
		what_is_left_of_a_wait_is_passed_on,
		a_wait_that_is_over_is_not_passed_on,
		a_wait_goes_on_after_a_lost_lease,
		a_holder_leaves_by_an_orderly_token,
		a_leave_is_published_again_on_another_channel,
		a_leave_without_a_broker_ends,
		a_standby_just_leaves,
		a_handover_is_bounded,
		a_handover_reaches_the_next_holder_of_a_dead_one,
		a_handover_is_confirmed_by_the_latest_publish_only,
		a_handover_before_the_takeover_waits_for_the_next_token,
		a_copy_of_our_own_token_is_acked,
		deaths_do_not_wrap,
		our_own_token_may_name_the_window_before,
		a_lost_lease_ends_a_handover,
		it_is_renewed_for_hours,
	};

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, tests[i]);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(token_suite)
