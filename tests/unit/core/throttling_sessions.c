/* Throttles in a pool with sessions: a session whose next task may not start waits, and others run.
 */
#include "core/pool_internal.h"
#include "unit/support/core/keyed.h"
#include "unit/support/core/memory.h"
#include "unit/support/core/throttled.h"

#define PERIOD THROTTLED_PERIOD

/* A limit of 1 for each key. */
static struct pool_config config_of(uint16_t workers)
{
	struct pool_config config = keyed_config(workers);
	throttled_set(throttle, 1, PERIOD);
	throttled_add(&config, throttle, true, THROTTLE_DELAY);
	config.session.idle = 10 * MTIME_MINUTE;
	config.hard_limit = MTIME_NEVER;
	return config;
}

static struct session_facts facts_of(const struct rig *rig, const char *key)
{
	struct session_facts facts;
	ck_assert(pool_session_find(rig->pool, text_from(key), &facts));
	return facts;
}

START_TEST(a_session_waits_and_others_do_not)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	mtime begin = rig.now;
	keyed_deliver(&rig, "a a b");
	rig_expect(&rig, "send 0:1, send 1:3");
	keyed_answer(&rig, 0, STATUS_DONE, "ack 1");
	struct session_facts facts = facts_of(&rig, "a");
	ck_assert_int_eq(facts.state, SESSION_PARKED);
	ck_assert_int_eq(facts.reason, REASON_THROTTLED);
	ck_assert_int_eq(facts.due, begin + PERIOD);
	ck_assert_uint_eq(facts.attempts, 0);
	throttled_expect(&rig, 1, "t0");
	ck_assert_uint_eq(dispatch_runnable(&rig.pool->tasks.dispatch), 0);
	throttled_wait(&rig, PERIOD - 1, "");
	throttled_wait(&rig, 1, "send 0:2");
	ck_assert_int_eq(facts_of(&rig, "a").reason, REASON_NONE);
	throttled_expect(&rig, 0, "t0");
	rig_end(&rig);
}
END_TEST

/* Those behind it in its session wait for it, and not for the throttle. */
START_TEST(a_session_counts_one_task_that_waits)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	keyed_deliver(&rig, "a b@a b b");
	rig_expect(&rig, "send 0:1");
	throttled_expect(&rig, 1, "t0");
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 3);
	rig_end(&rig);
}
END_TEST

START_TEST(a_message_of_high_priority_goes_first)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	keyed_deliver(&rig, "a b@a");
	rig_expect(&rig, "send 0:1");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_PARKED);
	keyed_deliver(&rig, "b!@x");
	rig_expect(&rig, "send 1:3");
	throttled_expect(&rig, 0, "t0");
	keyed_answer(&rig, 1, STATUS_DONE, "ack 3");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_PARKED);
	keyed_deliver(&rig, "b!@a b");
	rig_expect(&rig, "");
	throttled_expect(&rig, 1, "t0");
	throttled_wait(&rig, PERIOD, "send 1:4");
	rig_end(&rig);
}
END_TEST

/* Its turn ends: the session goes to the tail of the ring. */
START_TEST(a_session_that_waited_has_another_turn)
{
	struct rig rig;
	rig_start(&rig, config_of(1));
	keyed_deliver(&rig, "a a b c");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:1, send 0:3, ack 1");
	rig_wait(&rig, PERIOD);
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:4, ack 3");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:2, ack 4");
	rig_end(&rig);
}
END_TEST

/* Also when others join them. Only the first is asked about when the time has come. */
START_TEST(sessions_of_one_key_start_in_the_order_in_which_they_came)
{
	struct rig rig;
	rig_start(&rig, config_of(8));
	mtime begin = rig.now;
	keyed_deliver(&rig, "a b@a c@a d@a");
	rig_expect(&rig, "send 0:1");
	throttled_expect(&rig, 3, "t0");
	throttled_wait(&rig, PERIOD, "send 1:2");
	ck_assert_int_eq(facts_of(&rig, "d").since, begin);
	ck_assert_int_eq(facts_of(&rig, "d").due, begin + 2 * PERIOD);
	keyed_deliver(&rig, "e@a");
	throttled_wait(&rig, PERIOD, "send 2:3");
	keyed_deliver(&rig, "f@a");
	throttled_wait(&rig, PERIOD, "send 3:4");
	throttled_wait(&rig, PERIOD, "send 4:5");
	throttled_wait(&rig, PERIOD, "send 5:6");
	throttled_expect(&rig, 0, "t0");
	rig_end(&rig);
}
END_TEST

/* The group's time has come by the clock of the throttle, but not by that of the pool. */
START_TEST(a_session_does_not_overtake_those_that_wait)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	keyed_deliver(&rig, "a b@a");
	rig_expect(&rig, "send 0:1");
	throttled_wait(&rig, PERIOD - 5 * MTIME_MS, "");
	rig.suspended = 5 * MTIME_MS;
	keyed_deliver(&rig, "c@a");
	rig_expect(&rig, "");
	throttled_wait(&rig, 5 * MTIME_MS, "send 1:2");
	throttled_wait(&rig, PERIOD, "send 2:3");
	rig_end(&rig);
}
END_TEST

/* The first of them is gone when its turn has come, or while it has it. */
START_TEST(when_the_first_one_leaves_the_next_one_is_first)
{
	struct rig rig;
	rig_start(&rig, config_of(1));
	keyed_deliver(&rig, "x");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:1, ack 1");
	keyed_deliver(&rig, "a");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:2, ack 2");
	keyed_deliver(&rig, "b@a c@a d@a y");
	rig_expect(&rig, "send 0:6");
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_DISCARD, "b");
	rig_wait(&rig, PERIOD);
	ck_assert_int_eq(keyed_state(&rig, "c"), SESSION_READY);
	ck_assert_int_eq(keyed_state(&rig, "d"), SESSION_PARKED);
	keyed_order(&rig, SESSION_VERB_PAUSE, 0, "c");
	ck_assert_int_eq(keyed_state(&rig, "d"), SESSION_READY);
	rig_forget(&rig);
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:5, ack 6");
	keyed_order(&rig, SESSION_VERB_RESUME, 0, "c");
	keyed_answer(&rig, 0, STATUS_DONE, "ack 5");
	ck_assert_int_eq(keyed_state(&rig, "c"), SESSION_PARKED);
	throttled_wait(&rig, PERIOD, "send 0:4");
	rig_end(&rig);
}
END_TEST

START_TEST(without_memory_for_a_group_the_pool_waits_a_little)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	keyed_deliver(&rig, "a");
	rig_expect(&rig, "send 0:1");
	keyed_deliver_only(&rig, "b@a");
	callocs_left = 0;
	rig_turn(&rig);
	callocs_left = LONG_MAX;
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_READY);
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + THROTTLE_MEMORY_WAIT);
	throttled_wait(&rig, THROTTLE_MEMORY_WAIT, "");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_PARKED);
	rig_end(&rig);
}
END_TEST

/* ---------- sessions that end or lose what waits ---------- */

START_TEST(a_session_that_is_closed_waits_no_longer)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	keyed_deliver(&rig, "a b@a");
	rig_forget(&rig);
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_DISCARD, "b");
	rig_expect(&rig, "ack 2");
	ck_assert(!keyed_exists(&rig, "b"));
	throttled_expect(&rig, 0, "t0");
	ck_assert_int_eq(rig.pool->tasks.sessions->timers.count, 0);
	keyed_deliver(&rig, "b@x");
	rig_expect(&rig, "send 1:3");
	rig_end(&rig);
}
END_TEST

START_TEST(what_was_lost_and_comes_back_waits_on)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	keyed_deliver(&rig, "a=1 b@a=2");
	rig_expect(&rig, "send 0:1");
	keyed_lose_channel(&rig);
	rig_forget(&rig);
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_DETACHED);
	keyed_deliver(&rig, "a=1+ b@a=2+");
	rig_expect(&rig, "");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_PARKED);
	throttled_wait(&rig, PERIOD, "send 1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(what_does_not_come_back_waits_no_longer)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	keyed_deliver(&rig, "a=1 b@a=2");
	rig_expect(&rig, "send 0:1");
	keyed_lose_channel(&rig);
	rig_forget(&rig);
	keyed_deliver(&rig, "c=3");
	rig_expect(&rig, "send 1:1");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_IDLE);
	throttled_expect(&rig, 0, "t0");
	throttled_wait(&rig, PERIOD, "");
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_that_ends_leaves_no_timer)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	keyed_deliver(&rig, "a b@a -@a");
	rig_command(&rig, COMMAND_DRAIN);
	rig_answer(&rig, 0, STATUS_DONE);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, quit 1.1, quit 2.1, quit 0.1, ack 1, close");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	ck_assert_int_eq(rig.pool->tasks.sessions->timers.count, 0);
	rig_end(&rig);
}
END_TEST

/* ---------- a failed task ---------- */

/* Its attempt and its reason are those of its failure. */
START_TEST(a_retry_that_waits_for_a_throttle_keeps_its_past)
{
	struct rig rig;
	struct pool_config config = config_of(3);
	config.policy.delays[0] = MTIME_SECOND;
	config.policy.delay_count = 1;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a");
	keyed_answer(&rig, 0, STATUS_FAILED, "send 0:1");
	ck_assert_int_eq(facts_of(&rig, "a").reason, REASON_FAILED);
	throttled_wait(&rig, MTIME_SECOND, "");
	struct session_facts facts = facts_of(&rig, "a");
	ck_assert_int_eq(facts.state, SESSION_PARKED);
	ck_assert_int_eq(facts.reason, REASON_THROTTLED);
	ck_assert_uint_eq(facts.attempts, 1);
	keyed_order(&rig, SESSION_VERB_RETRY, 0, "a");
	rig_expect(&rig, "");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_PARKED);
	throttled_wait(&rig, PERIOD - MTIME_SECOND, "send 0:1/2");
	keyed_answer(&rig, 0, STATUS_FAILED, "");
	rig_wait(&rig, MTIME_SECOND);
	ck_assert_int_eq(facts_of(&rig, "a").reason, REASON_THROTTLED);
	keyed_order(&rig, SESSION_VERB_SKIP, 0, "a");
	rig_expect(&rig, "publish 1 dead 1");
	ck_assert_int_eq(rig.reason, REASON_FAILED);
	ck_assert_uint_eq(rig.attempt, 2);
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_that_only_waits_is_no_failed_one)
{
	struct rig rig;
	rig_start(&rig, config_of(3));
	keyed_deliver(&rig, "a b@a");
	keyed_order_refused(&rig, SESSION_VERB_SKIP, "b", "no failed task is at its front");
	keyed_order_refused(&rig, SESSION_VERB_RETRY, "b", "no failed task is at its front");
	keyed_order(&rig, SESSION_VERB_PAUSE, 0, "b");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_PAUSED);
	throttled_wait(&rig, PERIOD, "send 0:1");
	keyed_order(&rig, SESSION_VERB_RESUME, 0, "b");
	rig_expect(&rig, "send 1:2");
	rig_end(&rig);
}
END_TEST

/* The next holder asks its own throttles. */
START_TEST(a_wait_for_a_throttle_is_not_handed_over)
{
	struct rig rig;
	struct pool_config config = config_of(3);
	config.policy.delays[0] = MTIME_SECOND;
	config.policy.delay_count = 1;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b@a");
	keyed_answer(&rig, 0, STATUS_FAILED, "send 0:1");
	throttled_wait(&rig, MTIME_SECOND, "");
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1, quit 1.1, quit 2.1, hand over a normal 1 later 0, close");
	rig_end(&rig);
}
END_TEST

/* ---------- refusals ---------- */

START_TEST(a_refused_task_leaves_its_session)
{
	struct rig rig;
	struct pool_config config = config_of(3);
	config.throttles[0].excess = THROTTLE_REPLY;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b@a b b@a");
	rig_expect(&rig, "send 0:1, publish 1 refuse 2 after 10000, send 1:3");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2");
	keyed_answer(&rig, 1, STATUS_DONE, "publish 2 refuse 4 after 10000, ack 3");
	rig_outbox_fact(&rig, RETURNED, 2, false);
	rig_confirm(&rig, 2);
	rig_expect(&rig, "publish 3 postpone 4 after 10000");
	rig_confirm(&rig, 3);
	rig_turn(&rig);
	rig_expect(&rig, "ack 4");
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_that_is_given_up_blocks_its_session)
{
	struct rig rig;
	struct pool_config config = config_of(3);
	config.throttles[0].excess = THROTTLE_DEAD_LETTER;
	config.policy.blocks_session = true;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b@a b");
	rig_expect(&rig, "send 0:1");
	rig_expect_told(&rig, "SESSION_BLOCKED");
	ck_assert_int_eq(rig.reason, REASON_THROTTLED);
	struct session_facts facts = facts_of(&rig, "b");
	ck_assert_int_eq(facts.state, SESSION_BLOCKED);
	ck_assert_uint_eq(facts.attempts, 0);
	keyed_order(&rig, SESSION_VERB_RETRY, 0, "b");
	rig_expect(&rig, "");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_BLOCKED);
	rig_wait(&rig, PERIOD);
	keyed_order(&rig, SESSION_VERB_RETRY, 0, "b");
	rig_expect(&rig, "send 1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_blocked_task_that_is_skipped_was_throttled)
{
	struct rig rig;
	struct pool_config config = config_of(3);
	config.throttles[0].excess = THROTTLE_DEAD_LETTER;
	config.policy.blocks_session = true;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b@a b");
	rig_forget(&rig);
	keyed_order(&rig, SESSION_VERB_SKIP, 0, "b");
	rig_expect(&rig, "publish 1 dead 2, send 1:3");
	ck_assert_int_eq(rig.reason, REASON_THROTTLED);
	rig_end(&rig);
}
END_TEST

/* No worker is free, so it has not been asked about again. */
START_TEST(a_throttled_task_that_is_retried_and_skipped_keeps_its_attempts)
{
	struct rig rig;
	struct pool_config config = config_of(2);
	config.throttles[0].excess = THROTTLE_DEAD_LETTER;
	config.policy.blocks_session = true;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b@a c");
	rig_expect(&rig, "send 0:1, send 1:3");
	sessions_find(rig.pool->tasks.sessions, TEXT("b"))->front->attempt = 2;
	keyed_order(&rig, SESSION_VERB_RETRY, 0, "b");
	rig_expect(&rig, "");
	keyed_order(&rig, SESSION_VERB_SKIP, 0, "b");
	rig_expect(&rig, "publish 1 dead 2");
	ck_assert_uint_eq(outbox_oldest(&rig.pool->tasks.outbox)->delivery->attempt, 2);
	rig_end(&rig);
}
END_TEST

/* ---------- messages without a key of a session ---------- */

START_TEST(tasks_without_a_session_wait_in_groups)
{
	struct rig rig;
	rig_start(&rig, config_of(2));
	keyed_deliver(&rig, "-@x -@x -@x a -@y");
	rig_expect(&rig, "send 0:1, send 1:5");
	throttled_expect(&rig, 2, "t0");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:4, ack 1");
	keyed_answer(&rig, 0, STATUS_DONE, "ack 4");
	keyed_deliver(&rig, "b -@z");
	rig_expect(&rig, "send 0:6");
	throttled_wait(&rig, PERIOD, "");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:2, ack 6");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:7, ack 2");
	throttled_expect(&rig, 1, "t0");
	rig_end(&rig);
}
END_TEST

/* Without credit nothing more is chosen of them, but sessions have their turns. */
START_TEST(their_list_is_held_and_sessions_run_on)
{
	struct rig rig;
	struct pool_config config = config_of(2);
	config.prefetch = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a -@a");
	rig_expect(&rig, "send 0:1");
	throttled_expect(&rig, 1, "t0");
	struct throttling *throttling = &rig.pool->tasks.dispatch.throttling;
	throttling->credit = 0;
	keyed_deliver(&rig, "-@a -@b");
	rig_expect(&rig, "");
	throttled_expect(&rig, 3, "t0");
	keyed_deliver(&rig, "c");
	rig_expect(&rig, "send 1:5");
	keyed_answer(&rig, 1, STATUS_DONE, "publish 1 postpone 3 after 10000, send 1:4, ack 5");
	throttled_expect(&rig, 1, "t0");
	rig_end(&rig);
}
END_TEST

START_TEST(their_list_goes_on_when_a_session_starts)
{
	struct rig rig;
	struct pool_config config = config_of(3);
	config.prefetch = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a -@a");
	rig_expect(&rig, "send 0:1");
	rig.pool->tasks.dispatch.throttling.credit = 0;
	keyed_deliver(&rig, "-@a -@b c");
	rig_expect(&rig, "send 1:5, publish 1 postpone 3 after 10000, send 2:4");
	rig_end(&rig);
}
END_TEST

START_TEST(an_exclusive_task_without_a_session_stops_no_session)
{
	struct rig rig;
	rig_start(&rig, config_of(2));
	keyed_deliver(&rig, "a");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:1, ack 1");
	struct delivery *delivery = rig_delivery(++rig.last_tag);
	delivery->redelivered = true;
	delivery->renewed = SETTLE_ALONE_AT;
	delivery->throttle_keys[0] = 'a';
	rig_deliver_this(&rig, delivery);
	rig_turn(&rig);
	rig_expect(&rig, "");
	keyed_deliver(&rig, "b -@c");
	rig_expect(&rig, "send 0:3");
	throttled_expect(&rig, 2, "t0");
	keyed_deliver(&rig, "d");
	rig_expect(&rig, "send 1:5");
	throttled_wait(&rig, PERIOD, "");
	keyed_answer(&rig, 1, STATUS_DONE, "ack 5");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:2, ack 3");
	keyed_answer(&rig, 0, STATUS_DONE, "send 0:4, ack 2");
	rig_end(&rig);
}
END_TEST

/* ---------- what else ---------- */

START_TEST(other_figures_and_a_suspension_wake_sessions)
{
	struct rig rig;
	rig_start(&rig, config_of(5));
	keyed_deliver(&rig, "a b@a c@a d@a");
	rig_expect(&rig, "send 0:1");
	throttled_set(throttle, 2, PERIOD);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:2");
	rig.suspended = PERIOD;
	rig_turn(&rig);
	rig_expect(&rig, "send 2:3, send 3:4");
	rig_end(&rig);
}
END_TEST

START_TEST(without_its_throttle_a_session_runs)
{
	struct rig rig;
	struct pool_config config = config_of(3);
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b@a");
	rig_expect(&rig, "send 0:1");
	config.throttle_count = 0;
	rig_configure(&rig, config);
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_READY);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:2");
	rig_end(&rig);
}
END_TEST

static void start_after_deaths(struct rig *rig, struct pool_config config)
{
	config.session.takeover_delay = 30 * MTIME_SECOND;
	rig_start(rig, config);
	rig_step(rig, (struct event){.kind = TOKEN_HELD,
			      .token = {.is_orderly = true, .deaths = 3, .window = 8}});
	rig_turn(rig);
	rig_source_up(rig);
	rig_turn(rig);
	rig_forget(rig);
}

/* After deaths in a row a message is named before it is sent. What waits for a throttle is not
 * sent, so the next one is named. */
START_TEST(the_token_names_another_one_meanwhile)
{
	struct rig rig;
	start_after_deaths(&rig, config_of(3));
	keyed_deliver(&rig, "a");
	rig_expect(&rig, "send 0:1");
	keyed_deliver(&rig, "b@a+ c+");
	rig_expect(&rig, "name b");
	rig_step(&rig, (struct event){.kind = TOKEN_NAMED});
	rig_turn(&rig);
	rig_expect(&rig, "name none, name c");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_PARKED);
	rig_step(&rig, (struct event){.kind = TOKEN_NAMED});
	rig_turn(&rig);
	rig_expect(&rig, "send 1:3");
	keyed_answer(&rig, 1, STATUS_DONE, "name none, ack 3");
	throttled_wait(&rig, PERIOD, "name b");
	rig_step(&rig, (struct event){.kind = TOKEN_NAMED});
	rig_turn(&rig);
	rig_expect(&rig, "send 1:2");
	rig_end(&rig);
}
END_TEST

/* A start brings the next one of its group to its turn in the same turn of the pool. */
START_TEST(the_next_one_of_its_group_is_named)
{
	struct rig rig;
	start_after_deaths(&rig, config_of(3));
	keyed_deliver(&rig, "a b@a c@a+");
	rig_expect(&rig, "name c, send 0:1");
	rig_step(&rig, (struct event){.kind = TOKEN_NAMED});
	rig_turn(&rig);
	rig_expect(&rig, "name none");
	rig.now += PERIOD;
	rig_turn(&rig);
	rig_expect(&rig, "send 1:2, name c");
	rig_end(&rig);
}
END_TEST

START_TEST(it_is_named_although_nothing_more_may_start)
{
	struct rig rig;
	struct throttle *of_all = throttled_new(2);
	struct pool_config config = config_of(5);
	throttled_add(&config, of_all, false, THROTTLE_DELAY);
	start_after_deaths(&rig, config);
	keyed_deliver(&rig, "a b@a c@a+ d e@d");
	rig_expect(&rig, "name c, send 0:1, send 1:4");
	rig_step(&rig, (struct event){.kind = TOKEN_NAMED});
	rig_turn(&rig);
	rig_expect(&rig, "name none");
	throttled_set(of_all, 1, PERIOD);
	rig.now += PERIOD;
	rig_turn(&rig);
	rig_expect(&rig, "send 2:2, name c");
	throttled_expect(&rig, 1, "t1");
	rig_end(&rig);
	throttle_free(of_all);
}
END_TEST

static Suite *throttling_sessions_suite(void)
{
	Suite *suite = suite_create("core/throttling_sessions");
	UNIT_CASE_WITH(suite, "parked", throttled_set_up, throttled_tear_down,
		a_session_waits_and_others_do_not, a_session_counts_one_task_that_waits,
		a_message_of_high_priority_goes_first, a_session_that_waited_has_another_turn,
		sessions_of_one_key_start_in_the_order_in_which_they_came,
		a_session_does_not_overtake_those_that_wait,
		when_the_first_one_leaves_the_next_one_is_first,
		without_memory_for_a_group_the_pool_waits_a_little);
	UNIT_CASE_WITH(suite, "ends", throttled_set_up, throttled_tear_down,
		a_session_that_is_closed_waits_no_longer, what_was_lost_and_comes_back_waits_on,
		what_does_not_come_back_waits_no_longer, a_pool_that_ends_leaves_no_timer);
	UNIT_CASE_WITH(suite, "failures", throttled_set_up, throttled_tear_down,
		a_retry_that_waits_for_a_throttle_keeps_its_past,
		a_task_that_only_waits_is_no_failed_one, a_wait_for_a_throttle_is_not_handed_over);
	UNIT_CASE_WITH(suite, "refusals", throttled_set_up, throttled_tear_down,
		a_refused_task_leaves_its_session, a_task_that_is_given_up_blocks_its_session,
		a_blocked_task_that_is_skipped_was_throttled,
		a_throttled_task_that_is_retried_and_skipped_keeps_its_attempts);
	UNIT_CASE_WITH(suite, "without a key", throttled_set_up, throttled_tear_down,
		tasks_without_a_session_wait_in_groups, their_list_is_held_and_sessions_run_on,
		their_list_goes_on_when_a_session_starts,
		an_exclusive_task_without_a_session_stops_no_session);
	UNIT_CASE_WITH(suite, "changes", throttled_set_up, throttled_tear_down,
		other_figures_and_a_suspension_wake_sessions, without_its_throttle_a_session_runs,
		the_token_names_another_one_meanwhile, the_next_one_of_its_group_is_named,
		it_is_named_although_nothing_more_may_start);
	return suite;
}

UNIT_MAIN(throttling_sessions_suite)
