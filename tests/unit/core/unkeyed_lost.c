/* A channel is lost or renewed: tasks without a key that a worker has go on. */
#include "unit/support/core/keyed.h"

/* 1 and 2 run, 3 waits; none has a key. */
static void begin_with(struct rig *rig, struct pool_config config)
{
	rig_start(rig, config);
	keyed_deliver(rig, "- - -");
	rig_forget(rig);
}

static void begin(struct rig *rig)
{
	begin_with(rig, keyed_config(2));
}

START_TEST(a_running_task_is_acked_when_it_is_answered)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-=1+ -=2+ -=3+");
	rig_expect(&rig, "");
	keyed_answer(&rig, 1, 200, "send 1:3, ack 2");
	keyed_answer(&rig, 0, 200, "ack 1");
	ck_assert_uint_eq(pool_session_counts(rig.pool).reattached, 2);
	rig_end(&rig);
}
END_TEST

START_TEST(an_answered_task_is_acked_by_its_redelivery)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_answer(&rig, 0, 200, "");
	keyed_deliver(&rig, "-=1+");
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_settled_task_whose_ack_was_not_sent_is_not_run_again)
{
	struct rig rig;
	begin(&rig);
	rig_answer(&rig, 0, 200); /* no turn: the ack is not sent */
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-=1+ -=2+ -=3+");
	rig_expect(&rig, "send 0:3, ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_that_outlives_renewals_runs_once)
{
	struct rig rig;
	struct pool_config config = keyed_config(2);
	config.session.max_unacked_age = 10 * MTIME_SECOND;
	begin_with(&rig, config);
	for (int i = 0; i < 3; i++) {
		rig_wait(&rig, 10 * MTIME_SECOND);
		rig_expect(&rig, "leave");
		rig_source_fact(&rig, SOURCE_DOWN);
		rig_turn(&rig);
		rig_expect(&rig, "consume 8");
		rig_source_up(&rig);
		rig.last_tag = 0;
		keyed_deliver(&rig, "-=1+ -=2+ -=3+");
		rig_expect(&rig, "");
	}
	keyed_answer(&rig, 0, 200, "send 0:3, ack 1");
	rig_end(&rig);
}
END_TEST

/* The answer comes after the pool has asked for the end of the channel. */
START_TEST(what_is_answered_while_the_channel_closes_is_acked_on_the_next)
{
	struct rig rig;
	struct pool_config config = keyed_config(2);
	config.session.max_unacked_age = 10 * MTIME_SECOND;
	begin_with(&rig, config);
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_expect(&rig, "leave");
	keyed_answer(&rig, 0, 200, "");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_source_up(&rig);
	rig_forget(&rig);
	rig.last_tag = 0;
	keyed_deliver(&rig, "-=1+ -=2+ -=3+");
	rig_expect(&rig, "send 0:3, ack 1");
	rig_end(&rig);
}
END_TEST

/* The ack of 1 was lost with the channel. */
START_TEST(another_message_is_new_and_gives_up_nothing)
{
	struct rig rig;
	begin(&rig);
	keyed_answer(&rig, 0, 200, "send 0:3, ack 1");
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-=1+ -=2+ -=3+");
	keyed_answer(&rig, 1, 200, "send 1:1, ack 2");
	keyed_answer(&rig, 0, 200, "ack 3");
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(a_second_loss_detaches_them_in_the_same_order)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-=1+");
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-=1+ -=2+ -=3+");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 1");
	keyed_answer(&rig, 1, 200, "ack 2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_fresh_message_gives_them_up)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-=1+ -");
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 1);
	keyed_answer(&rig, 1, 200, "send 1:2");
	rig_expect_told(&rig, "TASK_ORPHANED");
	keyed_answer(&rig, 0, 200, "ack 1");
	rig_end(&rig);
}
END_TEST

/* The broker may have it; the next delivery of its message is another task. */
START_TEST(a_reply_that_was_sent_is_dropped_when_its_task_is_given_up)
{
	struct rig rig;
	begin(&rig);
	keyed_answer(&rig, 0, 201, "publish 1 reply 1, send 0:3");
	keyed_lose_channel(&rig);
	keyed_deliver(&rig, "-=9");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "");
	ck_assert(!pool_is_publishing(rig.pool));
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 3);
	rig_end(&rig);
}
END_TEST

START_TEST(what_was_purged_is_given_up_after_a_minute)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_answer(&rig, 0, 200, "");
	rig_wait(&rig, MTIME_MINUTE);
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 2);
	rig_end(&rig);
}
END_TEST

START_TEST(a_reply_stays_in_the_outbox)
{
	struct rig rig;
	begin(&rig);
	keyed_answer(&rig, 0, 201, "publish 1 reply 1, send 0:3");
	keyed_lose_channel(&rig);
	rig_confirm(&rig, 1);
	keyed_deliver(&rig, "-=1+");
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

/* The copy is one attempt; its message must not be another one. */
START_TEST(a_task_that_fails_meanwhile_is_copied_once)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	keyed_answer(&rig, 0, 500, "publish 1 retry 1");
	keyed_deliver(&rig, "-=1+");
	rig_expect(&rig, "");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_rejected_task_is_rejected_on_the_next_channel)
{
	struct rig rig;
	struct pool_config config = keyed_config(2);
	config.policy.dead_letter_by_broker = true;
	begin_with(&rig, config);
	keyed_lose_channel(&rig);
	keyed_answer(&rig, 0, 400, "");
	keyed_deliver(&rig, "-=1+");
	rig_expect(&rig, "reject 1");
	rig_end(&rig);
}
END_TEST

/* 1 runs, 2 and 3 are behind it in its worker: no attempt of theirs counts. */
START_TEST(what_had_not_begun_when_its_worker_ended_runs_by_its_redelivery)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.pipeline = 3;
	begin_with(&rig, config);
	keyed_lose_channel(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 retry 1");
	keyed_deliver(&rig, "-=1+ -=2+ -=3+");
	rig_wait(&rig, 2 * MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2, send 0:2, send 0:3");
	rig_end(&rig);
}
END_TEST

/* Both may have ended their worker: each runs alone, also as a redelivery. */
static void begin_with_suspects(struct rig *rig)
{
	struct pool_config config = keyed_config(1);
	config.concurrency = 4;
	rig_start(rig, config);
	keyed_deliver(rig, "- -");
}

static void check_suspects(struct rig *rig)
{
	keyed_deliver(rig, "-=1+ -=2+");
	rig_wait(rig, 3 * MTIME_SECOND);
	rig_ready(rig, 0, 2);
	rig_forget(rig);
	rig_turn(rig);
	rig_expect(rig, "send 0:1");
	rig_end(rig);
}

START_TEST(a_suspect_that_waits_is_one_by_its_redelivery)
{
	struct rig rig;
	begin_with_suspects(&rig);
	rig_gone(&rig, 0, 1);
	keyed_lose_channel(&rig);
	check_suspects(&rig);
}
END_TEST

START_TEST(a_task_that_becomes_a_suspect_meanwhile_is_one_by_its_redelivery)
{
	struct rig rig;
	begin_with_suspects(&rig);
	keyed_lose_channel(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	check_suspects(&rig);
}
END_TEST

START_TEST(a_suspect_that_waits_is_given_up)
{
	struct rig rig;
	begin_with_suspects(&rig);
	rig_gone(&rig, 0, 1);
	keyed_lose_channel(&rig);
	rig_wait(&rig, 3 * MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_forget(&rig);
	keyed_deliver(&rig, "-=3 -=4");
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 2);
	rig_expect(&rig, "send 0:1, send 0:2"); /* beside each other */
	rig_end(&rig);
}
END_TEST

/* Running, answered, settled, and a suspect that waits. */
START_TEST(a_pool_ends_with_detached_ones_of_every_kind)
{
	struct rig rig;
	struct pool_config config = keyed_config(3);
	config.concurrency = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "- - - - - -");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_answer_task(&rig, 1, 1, 2, 201);
	rig_outbox_down(&rig, LOSS_CONNECTION);
	rig_answer_task(&rig, 1, 1, 5, 201);
	rig_answer_task(&rig, 2, 1, 3, 200);
	keyed_lose_channel(&rig);
	rig_end(&rig);
}
END_TEST

START_TEST(a_forced_stop_ends_detached_tasks)
{
	struct rig rig;
	begin(&rig);
	keyed_lose_channel(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_turn(&rig);
	rig_expect(&rig, "kill 0.1, kill 1.1, close");
	rig_gone(&rig, 0, 1);
	rig_gone(&rig, 1, 1);
	rig_source_fact(&rig, SOURCE_DOWN);
	ck_assert(pool_is_quiet(rig.pool));
	rig_end(&rig);
}
END_TEST

static Suite *unkeyed_lost_suite(void)
{
	Suite *suite = suite_create("core/unkeyed_lost");
	UNIT_CASE(suite, "attach", a_running_task_is_acked_when_it_is_answered,
		an_answered_task_is_acked_by_its_redelivery,
		a_settled_task_whose_ack_was_not_sent_is_not_run_again,
		a_task_that_outlives_renewals_runs_once,
		what_is_answered_while_the_channel_closes_is_acked_on_the_next,
		another_message_is_new_and_gives_up_nothing,
		a_second_loss_detaches_them_in_the_same_order, a_reply_stays_in_the_outbox,
		a_task_that_fails_meanwhile_is_copied_once,
		a_rejected_task_is_rejected_on_the_next_channel,
		what_had_not_begun_when_its_worker_ended_runs_by_its_redelivery,
		a_suspect_that_waits_is_one_by_its_redelivery,
		a_task_that_becomes_a_suspect_meanwhile_is_one_by_its_redelivery);
	UNIT_CASE(suite, "give up", a_fresh_message_gives_them_up,
		what_was_purged_is_given_up_after_a_minute,
		a_reply_that_was_sent_is_dropped_when_its_task_is_given_up,
		a_suspect_that_waits_is_given_up, a_pool_ends_with_detached_ones_of_every_kind,
		a_forced_stop_ends_detached_tasks);
	return suite;
}

UNIT_MAIN(unkeyed_lost_suite)
