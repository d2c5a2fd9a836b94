/* What operators order about one session. */
#include "unit/support/core/keyed.h"
#include "unit/support/core/memory.h"

#include <stdio.h>

static void begin(struct rig *rig, uint16_t workers, const char *messages)
{
	struct pool_config config = keyed_config(workers);
	config.session.quantum = 1;
	config.session.idle = 60 * MTIME_MINUTE;
	rig_start(rig, config);
	keyed_deliver(rig, messages);
	rig_forget(rig);
}

static uint64_t ended(const struct rig *rig, enum session_end end)
{
	return pool_session_counts(rig->pool).ended[end];
}

START_TEST(drain_runs_what_is_queued_in_one_go)
{
	struct rig rig;
	begin(&rig, 1, "a a a b");
	keyed_order(&rig, SESSION_VERB_DRAIN, SESSION_KEEP, "a");
	keyed_deliver(&rig, "a"); /* for its next life */
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 2");
	ck_assert_uint_eq(ended(&rig, SESSION_END_DRAINED), 0);
	keyed_answer(&rig, 0, 200, "send 0:4, ack 3");
	ck_assert_uint_eq(ended(&rig, SESSION_END_DRAINED), 1);
	keyed_answer(&rig, 0, 200, "send 0:5, ack 4");
	rig_end(&rig);
}
END_TEST

START_TEST(an_idle_session_ends_at_once)
{
	struct rig rig;
	begin(&rig, 1, "a");
	keyed_answer(&rig, 0, 200, "ack 1");
	keyed_order(&rig, SESSION_VERB_DRAIN, SESSION_KEEP, "a");
	ck_assert(!keyed_exists(&rig, "a"));
	ck_assert_uint_eq(ended(&rig, SESSION_END_DRAINED), 1);
	rig_end(&rig);
}
END_TEST

START_TEST(close_gives_up_what_is_queued)
{
	struct rig rig;
	begin(&rig, 1, "a a a! b");
	keyed_answer(&rig, 0, 200, "send 0:4, ack 3");
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_DEAD_LETTER, "a");
	rig_expect(&rig, "publish 1 dead 1, publish 2 dead 2");
	ck_assert_int_eq(rig.reason, REASON_SESSION_CLOSED);
	rig_confirm(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2"); /* it has not run */
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	ck_assert(!keyed_exists(&rig, "a"));
	ck_assert_uint_eq(ended(&rig, SESSION_END_CLOSED), 1);
	rig_end(&rig);
}
END_TEST

START_TEST(close_lets_the_running_task_finish)
{
	struct rig rig;
	begin(&rig, 1, "a a b");
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_DISCARD, "a");
	rig_expect(&rig, "ack 2");
	rig_expect_told(&rig, "TASK_DISCARDED");
	ck_assert_uint_eq(ended(&rig, SESSION_END_CLOSED), 0);
	keyed_answer(&rig, 0, 200, "send 0:3, ack 1");
	ck_assert_uint_eq(ended(&rig, SESSION_END_CLOSED), 1);
	ck_assert(!keyed_exists(&rig, "a"));
	rig_end(&rig);
}
END_TEST

START_TEST(what_is_kept_opens_the_next_life)
{
	struct rig rig;
	begin(&rig, 1, "a a b");
	struct session_facts before, after;
	ck_assert(pool_session_find(rig.pool, TEXT("a"), &before));
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_KEEP, "a");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 1");
	ck_assert(pool_session_find(rig.pool, TEXT("a"), &after));
	ck_assert_uint_gt(after.life, before.life);
	keyed_answer(&rig, 0, 200, "send 0:2, ack 3");
	rig_end(&rig);
}
END_TEST

START_TEST(abort_cancels_the_running_task)
{
	struct rig rig;
	begin(&rig, 1, "a a");
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_DEAD_LETTER, "a");
	rig_expect(&rig, "publish 1 dead 2, cancel 0.1:1");
	keyed_answer(&rig, 0, 500, "publish 2 dead 1");
	rig_confirm(&rig, 1);
	rig_confirm(&rig, 2);
	rig_turn(&rig);
	ck_assert_uint_eq(ended(&rig, SESSION_END_ABORTED), 1);
	rig_end(&rig);
}
END_TEST

/* It is behind another one in the pipe: its worker can give it up when it begins it. */
START_TEST(abort_cancels_a_task_when_it_begins)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.pipeline = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b");
	rig_forget(&rig);
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_DISCARD, "b");
	rig_expect(&rig, "");
	rig_wait(&rig, 50 * MTIME_SECOND); /* its worker has another task, and goes on */
	keyed_answer(&rig, 0, 200, "cancel 0.1:2, ack 1");
	rig_wait(&rig, 4 * MTIME_SECOND);
	keyed_answer(&rig, 0, 500, "ack 2");
	rig_end(&rig);
}
END_TEST

START_TEST(abort_ends_a_worker_that_does_not_answer)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.concurrency = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b");
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_KEEP, "a");
	rig_forget(&rig);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "kill 0.1");
	rig_gone(&rig, 0, 1);
	keyed_next_worker(&rig);
	rig_expect(&rig, "send 0:2, send 0:1"); /* first attempts of both */
	ck_assert_uint_eq(ended(&rig, SESSION_END_ABORTED), 1);
	rig_end(&rig);
}
END_TEST

START_TEST(a_done_task_of_an_aborted_session_is_done)
{
	struct rig rig;
	begin(&rig, 1, "a");
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_DISCARD, "a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 200, "ack 1");
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, ""); /* its worker lives */
	rig_end(&rig);
}
END_TEST

START_TEST(an_aborted_task_that_is_kept_begins_again)
{
	struct rig rig;
	begin(&rig, 1, "a");
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_KEEP, "a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 500, "send 0:1");
	keyed_answer(&rig, 0, 200, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(an_aborted_task_is_discarded)
{
	struct rig rig;
	begin(&rig, 1, "a a");
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_DISCARD, "a");
	rig_expect_told(&rig, "TASK_DISCARDED");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 500, "ack 1");
	rig_expect_told(&rig, "TASK_DISCARDED");
	ck_assert(!keyed_exists(&rig, "a"));
	rig_end(&rig);
}
END_TEST

/* Its worker has not begun it. */
START_TEST(an_aborted_task_behind_another_one_is_not_sent_again)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.pipeline = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "b a");
	rig_expect(&rig, "send 0:1, send 0:2");
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_DEAD_LETTER, "a");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 dead 2"); /* nor was it cancelled */
	ck_assert_uint_eq(ended(&rig, SESSION_END_ABORTED), 0);
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	ck_assert_uint_eq(ended(&rig, SESSION_END_ABORTED), 1);
	rig_end(&rig);
}
END_TEST

START_TEST(abort_ends_a_worker_of_a_pool_that_drains)
{
	struct rig rig;
	begin(&rig, 1, "a");
	rig_command(&rig, COMMAND_DRAIN);
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_KEEP, "a");
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + 5 * MTIME_SECOND);
	rig_forget(&rig);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "kill 0.1");
	rig_end(&rig);
}
END_TEST

/* Its life is over though its last ack is not sent: who waits for that end is not kept waiting. */
START_TEST(a_message_after_the_end_opens_the_next_life)
{
	struct rig rig;
	struct session_facts before, after;
	begin(&rig, 1, "a");
	keyed_answer(&rig, 0, 201, "publish 1 reply 1");
	ck_assert(pool_session_find(rig.pool, TEXT("a"), &before));
	keyed_order(&rig, SESSION_VERB_DRAIN, SESSION_KEEP, "a");
	keyed_deliver(&rig, "a");
	rig_expect(&rig, "send 0:2");
	ck_assert(pool_session_find(rig.pool, TEXT("a"), &after));
	ck_assert_uint_gt(after.life, before.life);
	ck_assert_uint_eq(ended(&rig, SESSION_END_DRAINED), 1);
	rig_end(&rig);
}
END_TEST

/* Nothing can be acked any more, so a dead letter would come beside the message. */
START_TEST(a_pool_whose_channel_closes_refuses)
{
	struct rig rig;
	begin(&rig, 1, "a a");
	rig_answer(&rig, 0, 200);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_turn(&rig);
	rig_forget(&rig);
	keyed_order_refused(&rig, SESSION_VERB_CLOSE, "a", "the pool is stopping");
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(a_paused_session_keeps_its_tasks)
{
	struct rig rig;
	begin(&rig, 2, "a a b");
	keyed_order(&rig, SESSION_VERB_PAUSE, SESSION_KEEP, "a");
	keyed_answer(&rig, 0, 200, "ack 1");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_PAUSED);
	keyed_order(&rig, SESSION_VERB_RESUME, SESSION_KEEP, "a");
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_session_is_paused_before_it_exists)
{
	struct rig rig;
	begin(&rig, 2, "b");
	keyed_order(&rig, SESSION_VERB_PAUSE, SESSION_KEEP, "a");
	keyed_deliver(&rig, "a");
	rig_expect(&rig, "");
	keyed_order(&rig, SESSION_VERB_RESUME, SESSION_KEEP, "a");
	rig_expect(&rig, "send 1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_parked_task_is_tried_now_or_given_up)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.delays[0] = 60 * MTIME_MINUTE;
	config.policy.delay_count = 1;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 500, "");
	keyed_order(&rig, SESSION_VERB_RETRY, SESSION_KEEP, "a");
	rig_expect(&rig, "send 0:1/2");
	keyed_answer(&rig, 0, 503, "");
	rig.status = 0;
	keyed_order(&rig, SESSION_VERB_SKIP, SESSION_KEEP, "a");
	rig_expect(&rig, "publish 1 dead 1, send 0:2");
	ck_assert_int_eq(rig.reason, REASON_FAILED);
	ck_assert_int_eq(rig.status, 503); /* its dead letter says why the last attempt failed */
	rig_end(&rig);
}
END_TEST

/* It waits for a worker, and has its turn before those that came first. */
START_TEST(a_session_that_is_drained_goes_first)
{
	struct rig rig;
	begin(&rig, 1, "b c a");
	keyed_order(&rig, SESSION_VERB_DRAIN, SESSION_KEEP, "a");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 1");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 3");
	ck_assert_uint_eq(ended(&rig, SESSION_END_DRAINED), 1);
	rig_end(&rig);
}
END_TEST

START_TEST(the_next_life_of_a_paused_session_waits)
{
	struct rig rig;
	begin(&rig, 1, "a");
	keyed_order(&rig, SESSION_VERB_DRAIN, SESSION_KEEP, "a");
	keyed_deliver(&rig, "a");
	keyed_order(&rig, SESSION_VERB_PAUSE, SESSION_KEEP, "a");
	keyed_answer(&rig, 0, 200, "ack 1");
	ck_assert_uint_eq(ended(&rig, SESSION_END_DRAINED), 1);
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_PAUSED);
	keyed_order(&rig, SESSION_VERB_RESUME, SESSION_KEEP, "a");
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(abort_of_a_session_that_waits_asks_no_worker)
{
	struct rig rig;
	begin(&rig, 1, "b a a");
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_DISCARD, "a");
	rig_expect(&rig, "ack 2, ack 3");
	ck_assert_uint_eq(ended(&rig, SESSION_END_ABORTED), 1);
	rig_end(&rig);
}
END_TEST

/* Its worker is killed for the task; the stop gives it back, and no dead letter comes beside it. */
START_TEST(an_aborted_task_goes_back_in_a_forced_stop)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.pipeline = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "b a");
	keyed_order(&rig, SESSION_VERB_ABORT, SESSION_DEAD_LETTER, "a");
	rig_forget(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_turn(&rig);
	rig_expect(&rig, "kill 0.1, close");
	rig_end(&rig);
}
END_TEST

/* a and b may have ended their worker: a runs alone, b waits for that. */
static void begin_with_suspects(struct rig *rig)
{
	struct pool_config config = keyed_config(1);
	config.concurrency = 2;
	rig_start(rig, config);
	keyed_deliver(rig, "a b");
	rig_gone(rig, 0, 1);
	rig_wait(rig, 3 * MTIME_SECOND);
	rig_ready(rig, 0, 2);
	rig_forget(rig);
	rig_turn(rig);
	rig_expect(rig, "send 0:1");
	ck_assert_int_eq(keyed_state(rig, "b"), SESSION_RUNNING);
}

START_TEST(what_waits_to_run_alone_can_be_paused)
{
	struct rig rig;
	begin_with_suspects(&rig);
	keyed_order(&rig, SESSION_VERB_PAUSE, SESSION_KEEP, "b");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_PAUSED);
	rig_answer_task(&rig, 0, 2, 3, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	keyed_order(&rig, SESSION_VERB_RESUME, SESSION_KEEP, "b");
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

/* No attempt of it has failed. */
START_TEST(what_waits_to_run_alone_is_not_skipped)
{
	struct rig rig;
	begin_with_suspects(&rig);
	keyed_order_refused(&rig, SESSION_VERB_SKIP, "b", "no failed task is at its front");
	rig_answer_task(&rig, 0, 2, 3, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2, ack 1");
	rig_end(&rig);
}
END_TEST

/* Nothing of it has failed: it has never had a worker. */
START_TEST(what_waits_for_a_worker_is_neither_retried_nor_skipped)
{
	struct rig rig;
	begin(&rig, 1, "b a");
	keyed_order_refused(&rig, SESSION_VERB_RETRY, "a", "no failed task is at its front");
	keyed_order_refused(&rig, SESSION_VERB_SKIP, "a", "no failed task is at its front");
	rig_end(&rig);
}
END_TEST

START_TEST(what_cannot_be_done_is_refused)
{
	struct rig rig;
	begin(&rig, 1, "a b");
	keyed_order_refused(&rig, SESSION_VERB_DRAIN, "c", "no session has this key");
	keyed_order_refused(&rig, SESSION_VERB_RETRY, "a", "no failed task is at its front");
	keyed_order_refused(&rig, SESSION_VERB_SKIP, "a", "no failed task is at its front");
	keyed_order_refused(&rig, SESSION_VERB_SKIP, "b", "no failed task is at its front");
	rig_end(&rig);
}
END_TEST

START_TEST(without_memory_no_session_is_paused_before_it_exists)
{
	struct rig rig;
	begin(&rig, 1, "b");
	callocs_left = 0;
	keyed_order_refused(
		&rig, SESSION_VERB_PAUSE, "a", "there is no memory for another session");
	callocs_left = LONG_MAX;
	keyed_answer(&rig, 0, 200, "ack 1");
	keyed_deliver(&rig, "a");
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(an_unfit_message_is_not_retried)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.blocks_session = true;
	rig_start(&rig, config);
	struct delivery *unfit = rig_delivery(++rig.last_tag);
	unfit->key = TEXT("a");
	unfit->invalid = REASON_TOO_LARGE;
	rig_deliver_this(&rig, unfit);
	rig_turn(&rig);
	struct session_facts facts;
	ck_assert(pool_session_find(rig.pool, TEXT("a"), &facts));
	ck_assert_int_eq(facts.state, SESSION_BLOCKED);
	ck_assert_uint_eq(facts.attempts, 0); /* it had none */
	keyed_order_refused(&rig, SESSION_VERB_RETRY, "a",
		"the message at its front cannot be sent to a worker");
	keyed_order(&rig, SESSION_VERB_SKIP, SESSION_KEEP, "a");
	rig_expect(&rig, "publish 1 dead 1");
	ck_assert_int_eq(rig.reason, REASON_TOO_LARGE);
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_without_sessions_refuses)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	keyed_order_refused(&rig, SESSION_VERB_PAUSE, "a", "the pool has no sessions");
	ck_assert(!keyed_exists(&rig, "a"));
	ck_assert_uint_eq(pool_session_counts(rig.pool).remembered, 0);
	ck_assert_int_eq(pool_session_counts(rig.pool).oldest_wait, MTIME_NEVER);
	rig_end(&rig);
}
END_TEST

static bool add_tag(void *ctx, const struct delivery *delivery, bool is_front)
{
	char *text = ctx;
	size_t len = strlen(text);
	snprintf(text + len, 32 - len, "%s%lu ", is_front ? "*" : "", (unsigned long)delivery->tag);
	return delivery->tag != 2;
}

/* A session that goes on with its turn stands before those that have waited for longer. */
START_TEST(the_oldest_wait_is_not_that_of_the_first)
{
	struct rig rig;
	struct pool_config config = keyed_config(2);
	mtime came;
	rig_start(&rig, config);
	ck_assert_int_eq(pool_session_counts(rig.pool).oldest_wait, MTIME_NEVER);
	keyed_deliver(&rig, "a a b b");
	came = rig.now;
	keyed_deliver(&rig, "c");
	rig_wait(&rig, MTIME_SECOND);
	keyed_deliver(&rig, "d");
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 1, 200); /* a and b stand before c and d */
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_READY);
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_READY);
	ck_assert_int_eq(pool_session_counts(rig.pool).oldest_wait, came);
	rig_end(&rig);
}
END_TEST

/* One turn ends some thousands of them at most, and the next one is due at once. */
START_TEST(very_many_idle_sessions_end_in_several_turns)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.max_sessions = 4000;
	config.session.idle = MTIME_MINUTE;
	rig_start(&rig, config);
	rig.is_unaudited = true; /* that takes a step for each pair of them */
	for (int i = 0; i < 3001; i++) {
		char key[8];
		snprintf(key, sizeof key, "%d", i);
		rig_step(&rig,
			(struct event){.kind = SESSION_COMMAND,
				.session = {.verb = SESSION_VERB_PAUSE, .key = text_from(key)}});
		rig_step(&rig,
			(struct event){.kind = SESSION_COMMAND,
				.session = {.verb = SESSION_VERB_RESUME, .key = text_from(key)}});
	}
	ck_assert_uint_eq(pool_session_counts(rig.pool).remembered, 3001);
	rig.now += MTIME_MINUTE;
	rig_turn(&rig);
	ck_assert_uint_gt(pool_session_counts(rig.pool).remembered, 0);
	ck_assert_int_le(pool_deadline(rig.pool), rig.now);
	for (int i = 0; i < 3; i++)
		rig_turn(&rig);
	ck_assert_uint_eq(pool_session_counts(rig.pool).remembered, 0);
	rig_end(&rig);
}
END_TEST

/* An order moves a session to the head that has waited for less than one behind it. */
START_TEST(the_oldest_wait_is_not_that_of_a_drained_session)
{
	struct rig rig;
	mtime came;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a");
	rig_wait(&rig, MTIME_SECOND);
	keyed_deliver(&rig, "b");
	came = rig.now;
	rig_wait(&rig, MTIME_SECOND);
	keyed_deliver(&rig, "c");
	rig_wait(&rig, MTIME_SECOND);
	rig_answer(&rig, 0, 200); /* a stands before b and c */
	rig_step(&rig, (struct event){.kind = SESSION_COMMAND,
			       .session = {.verb = SESSION_VERB_DRAIN, .key = TEXT("c")}});
	ck_assert_int_eq(pool_session_counts(rig.pool).oldest_wait, came);
	rig_end(&rig);
}
END_TEST

START_TEST(the_tasks_of_a_session_are_listed)
{
	struct rig rig;
	char text[32] = "";
	struct session_facts facts;
	begin(&rig, 1, "a a a a! b");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	ck_assert(pool_session_find(rig.pool, TEXT("a"), &facts));
	ck_assert_uint_eq(facts.high, 0);
	ck_assert_uint_eq(facts.normal, 3);
	keyed_deliver(&rig, "a!");
	pool_session_tasks(rig.pool, facts.number, add_tag, text);
	ck_assert_str_eq(text, "6 1 2 ");
	keyed_deliver(&rig, "c c c");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig); /* the next one of a runs */
	text[0] = '\0';
	pool_session_tasks(rig.pool, facts.number, add_tag, text);
	ck_assert_str_eq(text, "*6 1 2 ");
	ck_assert(pool_session_find(rig.pool, TEXT("c"), &facts));
	text[0] = '\0';
	pool_session_tasks(rig.pool, facts.number, add_tag, text);
	ck_assert_str_eq(text, "7 8 9 ");
	rig_end(&rig);
}
END_TEST

START_TEST(a_list_may_end_with_the_task_that_runs)
{
	struct rig rig;
	char text[32] = "";
	struct session_facts facts;
	begin(&rig, 1, "b a a");
	keyed_answer(&rig, 0, 200, "send 0:2, ack 1");
	ck_assert(pool_session_find(rig.pool, TEXT("a"), &facts));
	pool_session_tasks(rig.pool, facts.number, add_tag, text);
	ck_assert_str_eq(text, "*2 ");
	rig_end(&rig);
}
END_TEST

static struct session_facts facts_of(const struct rig *rig, const char *key)
{
	struct session_facts facts;
	ck_assert(pool_session_find(rig->pool, text_from(key), &facts));
	return facts;
}

/* Parked or blocked: what the dead letter would count. */
START_TEST(failed_attempts_are_counted)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.blocks_session = true;
	config.policy.attempts = 2;
	config.policy.delays[0] = MTIME_SECOND;
	config.policy.delay_count = 1;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a");
	rig_forget(&rig);
	keyed_answer(&rig, 0, 500, "");
	ck_assert_uint_eq(facts_of(&rig, "a").attempts, 1);
	ck_assert_int_eq(facts_of(&rig, "a").due, rig.now + MTIME_SECOND);
	rig_wait(&rig, MTIME_SECOND);
	rig_forget(&rig);
	keyed_answer(&rig, 0, 500, "");
	ck_assert_int_eq(facts_of(&rig, "a").state, SESSION_BLOCKED);
	ck_assert_uint_eq(facts_of(&rig, "a").attempts, 2);
	keyed_order(&rig, SESSION_VERB_RETRY, SESSION_KEEP, "a");
	rig_expect(&rig, "send 0:1/3");
	ck_assert_uint_eq(facts_of(&rig, "a").attempts, 2);
	rig_end(&rig);
}
END_TEST

START_TEST(what_continues_has_not_failed)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a b");
	rig_answer(&rig, 0, 500);
	ck_assert_int_eq(facts_of(&rig, "a").reason, REASON_FAILED);
	rig_turn(&rig);
	rig_answer_this(&rig, 0, 1, rig_output(201, "own"));
	ck_assert_uint_eq(facts_of(&rig, "a").attempts, 0);
	ck_assert_int_eq(facts_of(&rig, "a").reason, REASON_NONE);
	rig_end(&rig);
}
END_TEST

/* A publisher can set any number of attempts, also the maximum. */
START_TEST(attempts_do_not_wrap)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.blocks_session = true;
	rig_start(&rig, config);
	struct delivery *last = rig_delivery(++rig.last_tag);
	last->key = TEXT("a");
	last->attempt = UINT16_MAX;
	rig_deliver_this(&rig, last);
	rig_turn(&rig);
	rig_forget(&rig);
	keyed_answer(&rig, 0, 500, "");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_BLOCKED);
	keyed_order(&rig, SESSION_VERB_RETRY, SESSION_KEEP, "a");
	rig_expect(&rig, "send 0:1/65535");
	rig_end(&rig);
}
END_TEST

START_TEST(orders_are_shown_until_they_are_carried_out)
{
	struct rig rig;
	begin(&rig, 1, "a a b");
	ck_assert(!facts_of(&rig, "a").is_paused && !facts_of(&rig, "a").is_ending);
	keyed_order(&rig, SESSION_VERB_PAUSE, SESSION_KEEP, "a");
	ck_assert_int_eq(facts_of(&rig, "a").state, SESSION_RUNNING);
	ck_assert(facts_of(&rig, "a").is_paused);
	keyed_order(&rig, SESSION_VERB_RESUME, SESSION_KEEP, "a");
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_KEEP, "a");
	ck_assert(!facts_of(&rig, "a").is_paused && facts_of(&rig, "a").is_ending);
	ck_assert_int_eq(facts_of(&rig, "a").ending, SESSION_END_CLOSED);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	ck_assert(!facts_of(&rig, "a").is_ending);
	rig_end(&rig);
}
END_TEST

static Suite *session_commands_suite(void)
{
	Suite *suite = suite_create("core/session_commands");
	UNIT_CASE(suite, "end", drain_runs_what_is_queued_in_one_go, an_idle_session_ends_at_once,
		close_gives_up_what_is_queued, close_lets_the_running_task_finish,
		what_is_kept_opens_the_next_life, abort_cancels_the_running_task,
		abort_ends_a_worker_that_does_not_answer, abort_cancels_a_task_when_it_begins,
		a_done_task_of_an_aborted_session_is_done,
		an_aborted_task_that_is_kept_begins_again, an_aborted_task_is_discarded,
		an_aborted_task_behind_another_one_is_not_sent_again,
		abort_ends_a_worker_of_a_pool_that_drains,
		a_message_after_the_end_opens_the_next_life, a_session_that_is_drained_goes_first,
		the_next_life_of_a_paused_session_waits,
		abort_of_a_session_that_waits_asks_no_worker,
		an_aborted_task_goes_back_in_a_forced_stop);
	UNIT_CASE(suite, "others", a_paused_session_keeps_its_tasks,
		a_session_is_paused_before_it_exists, a_parked_task_is_tried_now_or_given_up,
		what_waits_for_a_worker_is_neither_retried_nor_skipped,
		what_waits_to_run_alone_can_be_paused, what_waits_to_run_alone_is_not_skipped,
		without_memory_no_session_is_paused_before_it_exists, attempts_do_not_wrap,
		what_cannot_be_done_is_refused, an_unfit_message_is_not_retried,
		a_pool_without_sessions_refuses, a_pool_whose_channel_closes_refuses,
		the_tasks_of_a_session_are_listed, a_list_may_end_with_the_task_that_runs,
		the_oldest_wait_is_not_that_of_the_first,
		very_many_idle_sessions_end_in_several_turns,
		the_oldest_wait_is_not_that_of_a_drained_session, failed_attempts_are_counted,
		what_continues_has_not_failed, orders_are_shown_until_they_are_carried_out);
	return suite;
}

UNIT_MAIN(session_commands_suite)
