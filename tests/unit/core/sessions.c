/* Messages with the same key run one at a time and in order: the ring, lanes, failures, acks. */
#include "unit/support/core/keyed.h"

START_TEST(one_task_of_a_key_runs_at_a_time)
{
	struct rig rig;
	rig_start(&rig, keyed_config(3));
	keyed_deliver(&rig, "a a b");
	rig_expect(&rig, "send 0:1, send 1:3");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_RUNNING);
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(messages_without_a_key_run_side_by_side)
{
	struct rig rig;
	rig_start(&rig, keyed_config(3));
	keyed_deliver(&rig, "- a - a");
	rig_expect(&rig, "send 0:1, send 1:3, send 2:2");
	rig_end(&rig);
}
END_TEST

/* A publisher wrote so many renewals: a pool with sessions renews no message with a key. */
START_TEST(renewals_make_no_task_of_a_session_exclusive)
{
	struct rig rig;
	rig_start(&rig, keyed_config(2));
	struct delivery *renewed = rig_delivery(++rig.last_tag);
	renewed->key = TEXT("a");
	renewed->redelivered = true;
	renewed->renewed = SETTLE_ALONE_AT;
	rig_deliver_this(&rig, renewed);
	keyed_deliver(&rig, "b");
	rig_expect(&rig, "send 0:1, send 1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_worker_with_concurrency_has_tasks_of_many_sessions)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.concurrency = 4;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a b c");
	rig_expect(&rig, "send 0:1, send 0:3, send 0:4");
	rig_end(&rig);
}
END_TEST

START_TEST(high_goes_before_normal_but_not_before_what_was_sent)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a a! a!");
	rig_expect(&rig, "send 0:3");
	keyed_answer(&rig, 0, 200, "send 0:4, ack 3");
	keyed_deliver(&rig, "a!");
	keyed_answer(&rig, 0, 200, "send 0:5, ack 4");
	keyed_answer(&rig, 0, 200, "send 0:1, ack 5");
	rig_end(&rig);
}
END_TEST

/* ---------- turns ---------- */

START_TEST(a_session_keeps_its_turn_for_a_quantum)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.quantum = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a a b b");
	rig_expect(&rig, "send 0:1");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	keyed_answer(&rig, 0, 200, "send 0:4, ack 2");
	keyed_answer(&rig, 0, 200, "send 0:5, ack 4");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 5");
	ck_assert_uint_eq(pool_session_counts(rig.pool).used_up, 1); /* b had no more */
	rig_end(&rig);
}
END_TEST

START_TEST(a_quantum_may_be_a_time)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.quantum = 0;
	config.session.quantum_time = 50 * MTIME_MS;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a a b");
	rig_wait(&rig, 30 * MTIME_MS);
	rig_forget(&rig);
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	rig_wait(&rig, 30 * MTIME_MS);
	keyed_answer(&rig, 0, 200, "send 0:4, ack 2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_lone_session_is_not_interrupted)
{
	struct rig rig;
	struct pool_config config = keyed_config(2);
	config.session.quantum = 1;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	ck_assert_uint_eq(pool_session_counts(rig.pool).used_up, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(messages_without_a_key_have_one_turn_together)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.quantum = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "- - - a -");
	rig_expect(&rig, "send 0:1");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	keyed_answer(&rig, 0, 200, "send 0:4, ack 2");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 4");
	rig_end(&rig);
}
END_TEST

/* They run side by side: what their workers take together uses up the turn. */
START_TEST(a_time_is_the_quantum_of_messages_without_a_key_too)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.quantum = 0;
	config.session.quantum_time = 50 * MTIME_MS;
	rig_start(&rig, config);
	keyed_deliver(&rig, "- - - a -");
	rig_wait(&rig, 30 * MTIME_MS);
	rig_forget(&rig);
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	rig_wait(&rig, 30 * MTIME_MS);
	keyed_answer(&rig, 0, 200, "send 0:4, ack 2");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 4");
	rig_end(&rig);
}
END_TEST

/* They run side by side, so some of them end when another turn has begun, or is to begin. */
START_TEST(a_time_is_charged_to_the_turn_in_which_the_task_was_sent)
{
	struct rig rig;
	struct pool_config config = keyed_config(2);
	config.session.quantum = 0;
	config.session.quantum_time = 50 * MTIME_MS;
	rig_start(&rig, config);
	keyed_deliver(&rig, "- - - b c - - d");
	rig_expect(&rig, "send 0:1, send 1:2");
	rig_wait(&rig, 30 * MTIME_MS);
	keyed_answer(&rig, 0, 200, "send 0:3, ack 1");
	rig_wait(&rig, 20 * MTIME_MS);
	keyed_answer(&rig, 1, 200, "send 1:4, ack 2");
	rig_wait(&rig, 10 * MTIME_MS);
	keyed_answer(&rig, 0, 200, "send 0:5, ack 3"); /* after its turn */
	keyed_answer(&rig, 1, 200, "send 1:8, ack 4");
	keyed_answer(&rig, 0, 200, "send 0:6, ack 5");
	keyed_deliver(&rig, "e");
	rig_wait(&rig, 30 * MTIME_MS);
	keyed_answer(&rig, 0, 200, "send 0:7, ack 6"); /* it has some of its turn left */
	rig_end(&rig);
}
END_TEST

START_TEST(the_end_of_a_task_without_a_key_does_not_end_a_later_turn)
{
	struct rig rig;
	struct pool_config config = keyed_config(2);
	config.session.quantum = 0;
	config.session.quantum_time = 50 * MTIME_MS;
	rig_start(&rig, config);
	keyed_deliver(&rig, "- a");
	keyed_deliver(&rig, "- b");
	rig_expect(&rig, "send 0:1, send 1:2");
	rig_wait(&rig, 60 * MTIME_MS);
	keyed_answer(&rig, 0, 200, "send 0:3, ack 1");
	rig_end(&rig);
}
END_TEST

/* It runs alone, beside the turns: its time ends none of them. */
START_TEST(the_time_of_a_suspect_without_a_key_ends_no_turn)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.concurrency = 2;
	config.session.quantum = 0;
	config.session.quantum_time = 50 * MTIME_MS;
	rig_start(&rig, config);
	keyed_deliver(&rig, "- -");
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, 3 * MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	keyed_deliver(&rig, "- - a");
	rig_wait(&rig, MTIME_SECOND);
	rig_forget(&rig);
	rig_answer_task(&rig, 0, 2, 3, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2, ack 1");
	rig_wait(&rig, MTIME_SECOND);
	rig_forget(&rig);
	rig_answer_task(&rig, 0, 2, 4, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3, send 0:4, ack 2");
	ck_assert_uint_eq(pool_session_counts(rig.pool).used_up, 0);
	rig_end(&rig);
}
END_TEST

/* ---------- failures ---------- */

START_TEST(a_failed_task_keeps_its_place_and_no_worker)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.delays[0] = MTIME_SECOND;
	config.policy.delay_count = 1;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a a! b");
	rig_expect(&rig, "send 0:3");
	keyed_answer(&rig, 0, 500, "send 0:4");
	rig_expect_told(&rig, "TASK_RETRIED");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_PARKED);
	keyed_answer(&rig, 0, 200, "ack 4");
	rig_wait(&rig, MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "send 0:3/2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_later_attempt_goes_before_high_messages)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a");
	keyed_deliver(&rig, "a!");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 500, "send 0:1/2");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_is_given_up_after_its_attempts_and_the_next_one_does_not_wait)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 500, "send 0:1/2");
	keyed_answer(&rig, 0, 500, "send 0:1/3");
	keyed_answer(&rig, 0, 500, "publish 1 dead 1, send 0:2");
	keyed_answer(&rig, 0, 200, ""); /* not before the one before it */
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2*");
	rig_end(&rig);
}
END_TEST

START_TEST(block_stops_the_session_until_an_operator_decides)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.blocks_session = true;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a a!");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 400, "");
	rig_expect_told(&rig, "SESSION_BLOCKED");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_BLOCKED);
	keyed_order(&rig, SESSION_VERB_RETRY, SESSION_KEEP, "a");
	rig_expect(&rig, "send 0:3/2");
	keyed_answer(&rig, 0, 400, "");
	keyed_order(&rig, SESSION_VERB_SKIP, SESSION_KEEP, "a");
	rig_expect(&rig, "publish 1 dead 3, send 0:1");
	ck_assert_int_eq(rig.reason, REASON_REJECTED);
	rig_end(&rig);
}
END_TEST

START_TEST(an_unroutable_reply_never_blocks)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.blocks_session = true;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 201, "publish 1 reply 1, send 0:2");
	rig_outbox_fact(&rig, RETURNED, 1, false);
	rig_confirm(&rig, 1);
	rig_expect(&rig, "publish 2 dead 1");
	keyed_answer(&rig, 0, 200, "");
	rig_confirm(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2*");
	rig_end(&rig);
}
END_TEST

START_TEST(the_broker_rejects_in_the_order_of_the_lane)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.dead_letter_by_broker = true;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 201, "publish 1 reply 1, send 0:2");
	keyed_answer(&rig, 0, 400, "send 0:3");
	keyed_answer(&rig, 0, 200, "");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1, reject 2, ack 3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_rest_waits_in_memory_and_high_messages_run_between)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a");
	keyed_deliver(&rig, "a!");
	rig_forget(&rig);
	rig_answer_this(&rig, 0, 1, rig_output(201, "own"));
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3");
	keyed_answer(&rig, 0, 200, "send 0:1, ack 3");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_dead_worker_costs_its_head_an_attempt_and_the_others_nothing)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.pipeline = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b a b");
	rig_expect(&rig, "send 0:1, send 0:2");
	rig_gone(&rig, 0, 1);
	keyed_next_worker(&rig);
	rig_expect(&rig, "send 0:1/2, send 0:2");
	rig_end(&rig);
}
END_TEST

/* Its worker may have died of it: it runs alone from now on. */
START_TEST(a_task_over_its_limit_is_a_suspect)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.concurrency = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a");
	rig_wait(&rig, MTIME_MINUTE);
	rig_gone(&rig, 0, 1);
	ck_assert_int_eq(rig.reason, REASON_TIMED_OUT);
	keyed_deliver(&rig, "b");
	keyed_next_worker(&rig);
	rig_expect(&rig, "send 0:1/2");
	rig_end(&rig);
}
END_TEST

/* They wait again, and so do those behind it. */
START_TEST(what_a_dead_worker_had_not_begun_waits_without_a_key_too)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.pipeline = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "- - a");
	rig_expect(&rig, "send 0:1, send 0:2");
	rig_gone(&rig, 0, 1);
	keyed_next_worker(&rig);
	rig_expect(&rig, "send 0:3, send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(an_unfit_message_has_its_turn)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver_only(&rig, "a");
	struct delivery *unfit = rig_delivery(++rig.last_tag);
	unfit->key = TEXT("a");
	unfit->invalid = REASON_TOO_LARGE;
	rig_deliver_this(&rig, unfit);
	keyed_deliver(&rig, "a");
	rig_expect(&rig, "send 0:1");
	keyed_answer(&rig, 0, 200, "publish 1 dead 2, send 0:3, ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_suspect_runs_alone_and_keeps_its_place)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.concurrency = 4;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a b");
	rig_expect(&rig, "send 0:1, send 0:3");
	rig_gone(&rig, 0, 1);
	keyed_next_worker(&rig);
	rig_expect(&rig, "send 0:1");
	rig_answer_task(&rig, 0, 2, 3, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2, ack 1"); /* the older one, as always with a single worker */
	rig_answer_task(&rig, 0, 2, 4, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3, ack 2");
	rig_end(&rig);
}
END_TEST

/* ---------- begin and end ---------- */

START_TEST(a_session_ends_with_its_last_ack)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 200, "ack 1");
	rig_turn(&rig);
	ck_assert(!keyed_exists(&rig, "a"));
	ck_assert_uint_eq(pool_session_counts(rig.pool).ended[SESSION_END_IDLE], 1);
	rig_end(&rig);
}
END_TEST

START_TEST(idle_time_begins_when_the_last_task_ends)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.idle = 10 * MTIME_SECOND;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a");
	rig_wait(&rig, 15 * MTIME_SECOND);
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_RUNNING);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_wait(&rig, 10 * MTIME_SECOND - 1);
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_IDLE);
	rig_wait(&rig, 1);
	ck_assert(!keyed_exists(&rig, "a"));
	rig_end(&rig);
}
END_TEST

START_TEST(a_message_at_the_same_instant_wins)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.idle = 10 * MTIME_SECOND;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_wait(&rig, 10 * MTIME_SECOND - 1);
	rig.now++;
	rig_forget(&rig);
	keyed_deliver(&rig, "a");
	rig_expect(&rig, "send 0:2");
	ck_assert_uint_eq(pool_session_counts(rig.pool).ended[SESSION_END_IDLE], 0);
	rig_end(&rig);
}
END_TEST

START_TEST(max_active_lets_the_others_wait)
{
	struct rig rig;
	struct pool_config config = keyed_config(3);
	config.session.max_active = 1;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a b c");
	rig_expect(&rig, "send 0:1");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_WAITING);
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2, send 0:3");
	ck_assert_int_eq(keyed_state(&rig, "c"), SESSION_WAITING);
	rig_end(&rig);
}
END_TEST

START_TEST(the_longest_idle_session_is_forgotten)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.idle = MTIME_MINUTE;
	config.session.max_sessions = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	keyed_deliver(&rig, "c");
	ck_assert(!keyed_exists(&rig, "a"));
	ck_assert(keyed_exists(&rig, "b"));
	ck_assert_uint_eq(pool_session_counts(rig.pool).ended[SESSION_END_FORGOTTEN], 1);
	rig_end(&rig);
}
END_TEST

START_TEST(a_lower_max_sessions_forgets_at_once)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.idle = 60 * MTIME_MINUTE;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a");
	keyed_answer(&rig, 0, 200, "send 0:1, ack 1");
	keyed_deliver(&rig, "b");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 2");
	keyed_deliver(&rig, "c");
	config.session.max_sessions = 1;
	rig_configure(&rig, config);
	ck_assert(!keyed_exists(&rig, "a") && !keyed_exists(&rig, "b") && keyed_exists(&rig, "c"));
	rig_end(&rig);
}
END_TEST

START_TEST(a_lower_max_sessions_forgets_none_with_work)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.idle = 60 * MTIME_MINUTE;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b b c");
	keyed_answer(&rig, 0, 200, "send 0:1, send 0:2, ack 1");
	config.session.max_sessions = 1;
	rig_configure(&rig, config);
	ck_assert(!keyed_exists(&rig, "a"));
	ck_assert_uint_eq(pool_session_counts(rig.pool).remembered, 2);
	keyed_answer(&rig, 0, 200, "send 0:3, ack 2");
	rig_end(&rig);
}
END_TEST

/* ---------- leaving the channel ---------- */

START_TEST(a_pause_of_a_minute_gives_back_what_waits)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a");
	rig_command(&rig, COMMAND_PAUSE);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1"); /* no rest, and the second one is not sent */
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "leave");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_end(&rig);
}
END_TEST

START_TEST(a_minute_without_workers_gives_back_what_waits)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_wait(&rig, MTIME_MINUTE - 1);
	ck_assert_ptr_null(strstr(rig.done, "leave"));
	rig_wait(&rig, 1);
	ck_assert_ptr_nonnull(strstr(rig.done, "leave"));
	ck_assert_ptr_nonnull(strstr(rig.told, "SOURCE_RESTS"));
	ck_assert_uint_eq(pool_session_counts(rig.pool).renewals[RENEWAL_WORKERS], 1);
	rig_end(&rig);
}
END_TEST

static void deliver_returned(struct rig *rig, uint32_t returns)
{
	struct delivery *delivery = rig_delivery(++rig->last_tag);
	delivery->key = TEXT("a");
	delivery->redelivered = true;
	delivery->returns = returns;
	rig_deliver_this(rig, delivery);
	rig_turn(rig);
}

START_TEST(pauses_do_not_use_up_a_delivery_limit)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.is_return_free = false;
	config.hard_limit = MTIME_NEVER;
	rig_start(&rig, config);
	deliver_returned(&rig, _i ? 10 : 9);
	deliver_returned(&rig, 0);
	rig_command(&rig, COMMAND_PAUSE);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, _i ? "" : "leave");
	rig_end(&rig);
}
END_TEST

/* Of the queue: a limit, and returns at which a pause still gives messages back, and does not. */
static const struct {
	uint32_t limit, returns, too_many;
} limits[] = {{0, 9, 10}, {1, UINT32_MAX, 0}, {5, 1, 2}, {20, 9, 10}, {1000, 9, 10}};

START_TEST(a_smaller_delivery_limit_allows_fewer_renewals)
{
	struct pool_config config = keyed_config(1);
	config.session.is_return_free = false;
	config.hard_limit = MTIME_NEVER;
	for (int is_too_many = 0; is_too_many < 2; is_too_many++) {
		uint32_t returns = is_too_many ? limits[_i].too_many : limits[_i].returns;
		struct rig rig;
		if (returns == UINT32_MAX)
			continue;
		rig_start(&rig, config);
		rig_source_fact(&rig, SOURCE_DOWN);
		rig_step(&rig, (struct event){.kind = SOURCE_UP,
				       .source = {.epoch = ++rig.source_epoch,
					       .returns_max = limits[_i].limit}});
		deliver_returned(&rig, returns);
		rig_command(&rig, COMMAND_PAUSE);
		rig_turn(&rig);
		rig_forget(&rig);
		rig_wait(&rig, MTIME_MINUTE);
		rig_expect(&rig, is_too_many ? "" : "leave");
		rig_end(&rig);
	}
}
END_TEST

START_TEST(an_old_message_has_its_channel_renewed)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.max_unacked_age = MTIME_MINUTE;
	config.hard_limit = MTIME_NEVER;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a b");
	rig_forget(&rig);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "leave");
	rig_answer(&rig, 0, 200); /* its ack waits for its redelivery */
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_source_up(&rig);
	rig.last_tag = 0;
	keyed_deliver(&rig, "a=1+ a=2+ b=3+");
	rig_expect(&rig, "send 0:2, ack 1");
	ck_assert_uint_eq(pool_session_counts(rig.pool).reattached, 3);
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_leaves_what_waits_to_the_channel)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a -");
	rig_command(&rig, COMMAND_DRAIN);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_answer(&rig, 0, 201);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 reply 1, quit 0.1");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1, close");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_gone(&rig, 0, 1);
	ck_assert(pool_is_quiet(rig.pool));
	rig_end(&rig);
}
END_TEST

static Suite *sessions_suite(void)
{
	Suite *suite = suite_create("core/sessions");
	UNIT_CASE(suite, "order", one_task_of_a_key_runs_at_a_time,
		messages_without_a_key_run_side_by_side,
		renewals_make_no_task_of_a_session_exclusive,
		a_worker_with_concurrency_has_tasks_of_many_sessions,
		high_goes_before_normal_but_not_before_what_was_sent);
	UNIT_CASE(suite, "turns", a_session_keeps_its_turn_for_a_quantum, a_quantum_may_be_a_time,
		a_lone_session_is_not_interrupted,
		a_time_is_the_quantum_of_messages_without_a_key_too,
		a_time_is_charged_to_the_turn_in_which_the_task_was_sent,
		the_end_of_a_task_without_a_key_does_not_end_a_later_turn,
		the_time_of_a_suspect_without_a_key_ends_no_turn,
		messages_without_a_key_have_one_turn_together);
	UNIT_CASE(suite, "failures", a_failed_task_keeps_its_place_and_no_worker,
		a_later_attempt_goes_before_high_messages,
		a_task_is_given_up_after_its_attempts_and_the_next_one_does_not_wait,
		block_stops_the_session_until_an_operator_decides, an_unroutable_reply_never_blocks,
		the_broker_rejects_in_the_order_of_the_lane,
		a_rest_waits_in_memory_and_high_messages_run_between,
		a_dead_worker_costs_its_head_an_attempt_and_the_others_nothing,
		what_a_dead_worker_had_not_begun_waits_without_a_key_too,
		a_task_over_its_limit_is_a_suspect, an_unfit_message_has_its_turn,
		a_suspect_runs_alone_and_keeps_its_place);
	UNIT_CASE(suite, "life", a_session_ends_with_its_last_ack,
		idle_time_begins_when_the_last_task_ends, a_message_at_the_same_instant_wins,
		max_active_lets_the_others_wait, the_longest_idle_session_is_forgotten,
		a_lower_max_sessions_forgets_at_once, a_lower_max_sessions_forgets_none_with_work);
	UNIT_CASE(suite, "channel", a_pause_of_a_minute_gives_back_what_waits,
		a_minute_without_workers_gives_back_what_waits,
		an_old_message_has_its_channel_renewed, a_drain_leaves_what_waits_to_the_channel);
	TCase *limit = tcase_create("delivery limit");
	tcase_add_loop_test(limit, pauses_do_not_use_up_a_delivery_limit, 0, 2);
	tcase_add_loop_test(limit, a_smaller_delivery_limit_allows_fewer_renewals, 0,
		sizeof limits / sizeof *limits);
	suite_add_tcase(suite, limit);
	return suite;
}

UNIT_MAIN(sessions_suite)
