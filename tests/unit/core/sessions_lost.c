/* A channel is lost: deliveries with a key wait for their redeliveries. */
#include "core/pool_facts.h"
#include "unit/support/core/keyed.h"

/* a: one runs, two wait; b: one waits. One worker. */
static void begin(struct rig *rig)
{
	rig_start(rig, keyed_config(1));
	keyed_deliver(rig, "a a a b");
	rig_forget(rig);
}

START_TEST(what_runs_goes_on_and_what_waits_is_not_sent)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_answer(&rig, 0, 200, "");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_DETACHED);
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_DETACHED);
	rig_end(&rig);
}
END_TEST

START_TEST(an_answered_task_is_acked_by_its_redelivery)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_answer(&rig, 0, 200, "");
	keyed_deliver(&rig, "a=1+");
	rig_expect(&rig, "ack 1");
	keyed_deliver(&rig, "a=2+");
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_running_task_is_acked_when_it_is_answered)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=1+ a=2+ a=3+ b=4+");
	rig_expect(&rig, "");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	ck_assert_uint_eq(pool_session_counts(rig.pool).reattached, 4);
	rig_end(&rig);
}
END_TEST

START_TEST(a_settled_delivery_whose_ack_was_not_sent_is_not_run_again)
{
	struct rig rig;
	begin(&rig);
	rig_answer(&rig, 0, 200); /* no turn: the ack is not sent */
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=1+ a=2+");
	rig_expect(&rig, "send 0:2, ack 1");
	rig_end(&rig);
}
END_TEST

/* The ack of 1 was lost with the channel, so its message is another one than the next detached. */
START_TEST(another_message_of_the_lane_gives_up_what_is_detached)
{
	struct rig rig;
	begin(&rig);
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=1+ a=2+ a=3+ b=4+");
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 2);
	keyed_answer(&rig, 0, 200, "send 0:1"); /* what ran was dropped */
	rig_end(&rig);
}
END_TEST

START_TEST(what_was_given_up_is_dropped_when_it_ends_and_its_session_waits)
{
	struct rig rig;
	rig_start(&rig, keyed_config(2));
	keyed_deliver(&rig, "a a");
	rig_forget(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=7+"); /* another message */
	rig_expect(&rig, "");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_RUNNING);
	keyed_answer(&rig, 0, 200, "send 0:1");
	rig_expect_told(&rig, "TASK_ORPHANED");
	keyed_answer(&rig, 0, 200, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_fresh_message_gives_up_all_that_is_detached)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=1+ -");
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 3);
	ck_assert(!keyed_exists(&rig, "b"));
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	rig_end(&rig);
}
END_TEST

/* The broker can send nothing more before something of the window is acked. */
START_TEST(nothing_is_given_up_while_the_window_is_full)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.hard_limit = MTIME_NEVER;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b b b b b b b");
	rig_forget(&rig);
	keyed_lose_channel(&rig);
	rig_answer(&rig, 0, 200);
	keyed_deliver(&rig, "c=11+ c=12+ c=13+ c=14+ c=15+ c=16+ c=17+ c=18+");
	rig_expect(&rig, "send 0:1");
	rig_wait(&rig, 10 * MTIME_MINUTE);
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 0);
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	rig_wait(&rig, MTIME_MINUTE - 1);
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 0);
	rig_wait(&rig, 1);
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 8);
	rig_end(&rig);
}
END_TEST

START_TEST(what_was_purged_is_given_up_after_a_minute)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_answer(&rig, 0, 200, "");
	rig_wait(&rig, MTIME_MINUTE - 1);
	ck_assert_uint_eq(pool_session_counts(rig.pool).remembered, 2);
	rig_wait(&rig, 1);
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 4);
	rig_wait(&rig, 1);
	ck_assert_uint_eq(pool_session_counts(rig.pool).remembered, 0);
	rig_end(&rig);
}
END_TEST

/* The idle time of an hour does not count: the order ends the session. */
START_TEST(an_order_to_end_does_not_wait_for_what_was_given_up)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.idle = 60 * MTIME_MINUTE;
	rig_start(&rig, config);
	keyed_deliver(&rig, "b a a");
	keyed_order(&rig, SESSION_VERB_DRAIN, SESSION_KEEP, "a");
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "b=1+");
	rig_wait(&rig, MTIME_MINUTE);
	ck_assert(!keyed_exists(&rig, "a"));
	rig_end(&rig);
}
END_TEST

/* What they would have taken of their turn is not counted. */
START_TEST(tasks_without_a_key_that_are_lost_use_up_no_turn)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.quantum = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b - - - - -");
	keyed_lose_channel(&rig);
	rig_forget(&rig);
	ck_assert_uint_eq(pool_session_counts(rig.pool).used_up, 0);
	keyed_deliver(&rig, "a=1+ b=2+ -=3+");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_reply_stays_in_the_outbox)
{
	struct rig rig;
	begin(&rig);
	keyed_answer(&rig, 0, 201, "publish 1 reply 1, send 0:2");
	keyed_lose_channel(&rig);
	rig_confirm(&rig, 1);
	keyed_deliver(&rig, "a=1+");
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

/* The broker may have it; the next delivery of its message is another task. */
START_TEST(a_reply_that_was_sent_is_dropped_when_its_task_is_given_up)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 201, "publish 1 reply 1");
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-");
	rig_expect(&rig, "send 0:1");
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 1);
	ck_assert(!keyed_exists(&rig, "a"));
	ck_assert(pool_is_publishing(rig.pool));
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "");
	ck_assert(!pool_is_publishing(rig.pool));
	rig_end(&rig);
}
END_TEST

START_TEST(a_reply_that_was_not_sent_is_not_when_its_task_is_given_up)
{
	struct rig rig;
	begin(&rig);
	rig_outbox_down(&rig, LOSS_CONNECTION);
	keyed_answer(&rig, 0, 201, "send 0:2");
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-");
	ck_assert_uint_eq(pool_facts(rig.pool).unconfirmed, 0);
	rig_outbox_up(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(the_count_of_attempts_is_kept)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.delays[0] = MTIME_SECOND;
	config.policy.delay_count = 1;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a");
	rig_answer(&rig, 0, 500);
	rig_turn(&rig);
	rig_forget(&rig);
	keyed_lose_channel(&rig);
	rig_wait(&rig, 2 * MTIME_SECOND);
	rig_expect(&rig, "");
	keyed_deliver(&rig, "a=1+ a=2+");
	rig_expect(&rig, "send 0:1/2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_settled_delivery_with_nothing_behind_it_is_attached_too)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a");
	rig_answer(&rig, 0, 200); /* no turn: the ack is not sent */
	rig_forget(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=1+ a=2");
	rig_expect(&rig, "send 0:2, ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(messages_of_other_sessions_and_without_a_key_are_new)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-=5+ c=6+");
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 0);
	keyed_answer(&rig, 0, 200, "send 0:1");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	keyed_deliver(&rig, "a=1+");
	rig_expect(&rig, "ack 3");
	rig_end(&rig);
}
END_TEST

START_TEST(lanes_are_attached_apart)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "b a a! a");
	rig_forget(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "b=1+ a=2+");
	keyed_answer(&rig, 0, 200, "ack 1"); /* a's high message goes first */
	keyed_deliver(&rig, "a!=3+");
	rig_expect(&rig, "send 0:3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_second_loss_detaches_what_was_attached)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=1+ a=2+");
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=1+ a=2+ a=3+ b=4+");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(a_message_of_the_new_channel_is_behind_the_attached_ones)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=1+ a=2+ a=3+ b=4+ a=9+ a=10");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 2");
	keyed_answer(&rig, 0, 200, "send 0:5, ack 3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_suspect_waits_for_its_redelivery)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.concurrency = 4;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b");
	rig_gone(&rig, 0, 1);
	keyed_lose_channel(&rig);
	rig_wait(&rig, 3 * MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_forget(&rig);
	keyed_deliver(&rig, "a=1+ b=2+");
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_ends_with_detached_deliveries_of_every_kind)
{
	struct rig rig;
	rig_start(&rig, keyed_config(2));
	keyed_deliver(&rig, "a b a c c");
	rig_answer(&rig, 0, 500);
	rig_answer(&rig, 1, 201);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	keyed_lose_channel(&rig);
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_ends_with_a_detached_reply_that_was_not_sent)
{
	struct rig rig;
	begin(&rig);
	rig_outbox_down(&rig, LOSS_CONNECTION);
	rig_answer(&rig, 0, 201);
	keyed_lose_channel(&rig);
	rig_end(&rig);
}
END_TEST

/* ---------- the token ---------- */

static void token(struct rig *rig, enum event_kind kind, bool is_orderly)
{
	rig_step(rig, (struct event){.kind = kind,
			      .token = {.is_orderly = is_orderly,
				      .window = 8,
				      .delay = 30 * MTIME_SECOND}});
}

static void start_standby_with(struct rig *rig, struct pool_config config)
{
	config.session.takeover_delay = 30 * MTIME_SECOND;
	rig_new(rig, &config);
	rig_turn(rig);
	rig_ready(rig, 0, 1);
	rig_turn(rig);
	rig_expect(rig, "spawn 0.1");
	ck_assert(pool_session_counts(rig->pool).is_standby);
}

static void start_standby(struct rig *rig)
{
	start_standby_with(rig, keyed_config(1));
}

START_TEST(a_standby_has_workers_and_does_not_consume)
{
	struct rig rig;
	start_standby(&rig);
	token(&rig, TOKEN_HELD, true);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_source_up(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* A former holder may still run what comes back. */
static void start_after_a_crash(struct rig *rig)
{
	start_standby(rig);
	token(rig, TOKEN_HELD, false);
	rig_turn(rig);
	rig_source_up(rig);
	rig_forget(rig);
}

START_TEST(without_an_orderly_leave_redelivered_ones_wait)
{
	struct rig rig;
	struct session_facts facts;
	start_after_a_crash(&rig);
	keyed_deliver(&rig, "a+ a+ b");
	rig_expect(&rig, "send 0:3");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_HELD);
	ck_assert(pool_session_find(rig.pool, TEXT("a"), &facts));
	ck_assert_int_eq(facts.due, rig.now + 30 * MTIME_SECOND);
	keyed_answer(&rig, 0, 200, "ack 3");
	rig_wait(&rig, 30 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* The former holder may still run what came back in the other lane. */
START_TEST(a_fresh_high_message_does_not_overtake_what_is_held)
{
	struct rig rig;
	start_after_a_crash(&rig);
	keyed_deliver(&rig, "a+ a!");
	rig_expect(&rig, "");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_HELD);
	rig_wait(&rig, 30 * MTIME_SECOND);
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

#define HELD_WHY "a former supervisor may still run its task until takeover_delay is over"

/* What comes next would run beside it. */
START_TEST(what_is_held_is_not_disposed_of)
{
	struct rig rig;
	start_after_a_crash(&rig);
	keyed_deliver(&rig, "a+");
	keyed_order_refused(&rig, SESSION_VERB_CLOSE, "a", HELD_WHY);
	keyed_order_refused(&rig, SESSION_VERB_ABORT, "a", HELD_WHY);
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_KEEP, "a");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_HELD);
	rig_wait(&rig, 30 * MTIME_SECOND);
	rig_expect(&rig, "send 0:1");
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_DISCARD, "a");
	rig_end(&rig);
}
END_TEST

/* It comes back as blocked. */
START_TEST(what_is_held_is_not_skipped)
{
	struct rig rig;
	start_standby(&rig);
	const struct session_handover blocked = {.key = TEXT("a"),
		.has_message = true,
		.past.is_later = true,
		.past.is_blocked = true,
		.past.reason = REASON_FAILED};
	rig_step(&rig, (struct event){.kind = TOKEN_HELD,
			       .token = {.window = 8,
				       .delay = 30 * MTIME_SECOND,
				       .handed = &blocked,
				       .handed_count = 1}});
	rig_turn(&rig);
	rig_source_up(&rig);
	keyed_deliver(&rig, "a+");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_BLOCKED);
	keyed_order_refused(&rig, SESSION_VERB_SKIP, "a", HELD_WHY);
	rig_wait(&rig, 30 * MTIME_SECOND);
	keyed_order(&rig, SESSION_VERB_SKIP, SESSION_KEEP, "a");
	rig_end(&rig);
}
END_TEST

/* Nobody else can have begun it. */
START_TEST(what_is_attached_again_is_not_held)
{
	struct rig rig;
	start_after_a_crash(&rig);
	keyed_deliver(&rig, "a a b+");
	rig_forget(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "a=1+ a=2+ b=3+");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_HELD);
	rig_end(&rig);
}
END_TEST

START_TEST(without_its_token_a_pool_ends_its_keyed_tasks)
{
	struct rig rig;
	start_standby(&rig);
	token(&rig, TOKEN_HELD, true);
	rig_turn(&rig);
	rig_source_up(&rig);
	keyed_deliver(&rig, "a a");
	rig_forget(&rig);
	token(&rig, TOKEN_LOST, false);
	rig_expect(&rig, "leave, kill 0.1");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2");
	ck_assert_uint_eq(pool_session_counts(rig.pool).remembered, 0);
	rig_end(&rig);
}
END_TEST

/* Its operators command the next holder. */
START_TEST(without_its_token_a_pool_pauses_no_session)
{
	struct rig rig;
	start_standby(&rig);
	token(&rig, TOKEN_HELD, true);
	rig_turn(&rig);
	rig_source_up(&rig);
	keyed_order(&rig, SESSION_VERB_PAUSE, SESSION_KEEP, "a");
	token(&rig, TOKEN_LOST, false);
	rig_source_fact(&rig, SOURCE_DOWN);
	token(&rig, TOKEN_HELD, true);
	rig_turn(&rig);
	rig_source_up(&rig);
	rig_forget(&rig);
	keyed_deliver(&rig, "a");
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* Any supervisor may run it twice; and one that has lost its token loses it once. */
START_TEST(without_its_token_a_pool_goes_on_with_what_has_no_key)
{
	struct rig rig;
	start_standby(&rig);
	token(&rig, TOKEN_LOST, false);
	rig_expect(&rig, "");
	token(&rig, TOKEN_HELD, true);
	rig_turn(&rig);
	rig_source_up(&rig);
	keyed_deliver(&rig, "-");
	rig_forget(&rig);
	token(&rig, TOKEN_LOST, false);
	rig_expect(&rig, "leave");
	token(&rig, TOKEN_LOST, false);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* It is lost while the channel opens: nothing is consumed on it. */
START_TEST(a_channel_that_opens_without_the_token_is_left)
{
	struct rig rig;
	start_standby(&rig);
	token(&rig, TOKEN_HELD, true);
	rig_turn(&rig);
	token(&rig, TOKEN_LOST, false);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8, leave");
	rig_source_up(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "leave");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* A task of its worker is over the hard limit: that is why it ends, and whose attempt counts. */
START_TEST(a_worker_that_ends_already_is_to_blame)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.pipeline = 2;
	start_standby_with(&rig, config);
	rig_outbox_up(&rig);
	token(&rig, TOKEN_HELD, true);
	rig_turn(&rig);
	rig_source_up(&rig);
	keyed_deliver(&rig, "- a");
	rig_forget(&rig);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "term 0.1");
	token(&rig, TOKEN_LOST, false);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "leave, kill 0.1, publish 1 retry 1");
	ck_assert_int_eq(rig.reason, REASON_TIMED_OUT);
	rig_end(&rig);
}
END_TEST

/* It has not consumed yet. */
START_TEST(a_token_may_be_lost_at_once)
{
	struct rig rig;
	start_standby(&rig);
	token(&rig, TOKEN_HELD, true);
	token(&rig, TOKEN_LOST, false);
	rig_turn(&rig);
	rig_expect(&rig, "");
	ck_assert(pool_session_counts(rig.pool).is_standby);
	rig_end(&rig);
}
END_TEST

static Suite *sessions_lost_suite(void)
{
	Suite *suite = suite_create("core/sessions_lost");
	UNIT_CASE(suite, "attach", what_runs_goes_on_and_what_waits_is_not_sent,
		an_answered_task_is_acked_by_its_redelivery,
		a_running_task_is_acked_when_it_is_answered,
		a_settled_delivery_whose_ack_was_not_sent_is_not_run_again,
		a_settled_delivery_with_nothing_behind_it_is_attached_too,
		messages_of_other_sessions_and_without_a_key_are_new, a_reply_stays_in_the_outbox,
		the_count_of_attempts_is_kept, lanes_are_attached_apart,
		a_second_loss_detaches_what_was_attached,
		a_message_of_the_new_channel_is_behind_the_attached_ones,
		a_suspect_waits_for_its_redelivery);
	UNIT_CASE(suite, "give up", another_message_of_the_lane_gives_up_what_is_detached,
		what_was_given_up_is_dropped_when_it_ends_and_its_session_waits,
		a_fresh_message_gives_up_all_that_is_detached,
		what_was_purged_is_given_up_after_a_minute,
		an_order_to_end_does_not_wait_for_what_was_given_up,
		tasks_without_a_key_that_are_lost_use_up_no_turn,
		nothing_is_given_up_while_the_window_is_full,
		a_reply_that_was_sent_is_dropped_when_its_task_is_given_up,
		a_reply_that_was_not_sent_is_not_when_its_task_is_given_up,
		a_pool_ends_with_detached_deliveries_of_every_kind,
		a_pool_ends_with_a_detached_reply_that_was_not_sent);
	UNIT_CASE(suite, "token", a_standby_has_workers_and_does_not_consume,
		without_an_orderly_leave_redelivered_ones_wait,
		a_fresh_high_message_does_not_overtake_what_is_held,
		what_is_held_is_not_disposed_of, what_is_held_is_not_skipped,
		what_is_attached_again_is_not_held, without_its_token_a_pool_ends_its_keyed_tasks,
		without_its_token_a_pool_pauses_no_session,
		without_its_token_a_pool_goes_on_with_what_has_no_key, a_token_may_be_lost_at_once,
		a_channel_that_opens_without_the_token_is_left,
		a_worker_that_ends_already_is_to_blame);
	return suite;
}

UNIT_MAIN(sessions_lost_suite)
