/* A pool with sessions drains while its channel is away: what has ended must not run again. */
#include "unit/support/core/keyed.h"
#include "unit/support/core/memory.h"

/* a and a task without a key run; another task of a waits. */
static void begin_with(struct rig *rig, struct pool_config config)
{
	rig_start(rig, config);
	keyed_deliver(rig, "a - a");
	rig_forget(rig);
}

static void begin(struct rig *rig)
{
	struct pool_config config = keyed_config(2);
	config.hard_limit = 10 * MTIME_MINUTE;
	begin_with(rig, config);
}

static void pause_for_a_minute(struct rig *rig)
{
	rig_command(rig, COMMAND_PAUSE);
	rig_turn(rig);
	rig_wait(rig, MTIME_MINUTE);
}

static void come_up(struct rig *rig)
{
	rig_source_up(rig);
	rig->last_tag = 0;
}

static void end_workers(struct rig *rig)
{
	rig_gone(rig, 0, 1);
	rig_gone(rig, 1, 1);
	rig_turn(rig);
	rig_forget(rig);
}

static void end_drained(struct rig *rig)
{
	ck_assert(!pool_is_quiet(rig->pool));
	rig_source_fact(rig, SOURCE_DOWN);
	ck_assert(pool_is_quiet(rig->pool));
	rig_end(rig);
}

START_TEST(what_ended_without_a_channel_is_acked_on_the_next)
{
	struct rig rig;
	begin(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_command(&rig, COMMAND_DRAIN);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 1, 200);
	rig_turn(&rig);
	end_workers(&rig);
	ck_assert(!pool_is_quiet(rig.pool));
	ck_assert(pool_has_unfinished(rig.pool));
	come_up(&rig);
	keyed_deliver(&rig, "a=1+");
	rig_expect(&rig, "ack 1");
	keyed_deliver(&rig, "-=2+ a=3+");
	rig_expect(&rig, "ack 2, close");
	end_drained(&rig);
}
END_TEST

START_TEST(a_channel_that_was_left_is_opened_once_more)
{
	struct rig rig;
	begin(&rig);
	pause_for_a_minute(&rig);
	rig_expect(&rig, "leave");
	rig_source_fact(&rig, SOURCE_DOWN);
	keyed_answer(&rig, 0, 200, "");
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1, consume 8");
	keyed_answer(&rig, 1, 200, "quit 1.1");
	end_workers(&rig);
	come_up(&rig);
	rig_forget(&rig);
	keyed_deliver(&rig, "a=1+ -=2+ a=3+");
	rig_expect(&rig, "ack 2*, close");
	rig_forget(&rig);
	end_drained(&rig);
}
END_TEST

/* The drain begins while the channel closes. */
START_TEST(what_ends_while_the_channel_is_left_is_acked_on_the_next)
{
	struct rig rig;
	begin(&rig);
	pause_for_a_minute(&rig);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 1, 200);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "leave, quit 0.1, quit 1.1");
	end_workers(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	come_up(&rig);
	keyed_deliver(&rig, "a=1+ -=2+ a=3+");
	rig_expect(&rig, "ack 2*, close");
	rig_forget(&rig);
	end_drained(&rig);
}
END_TEST

START_TEST(nothing_is_sent_meanwhile)
{
	struct rig rig;
	begin(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	keyed_answer(&rig, 0, 200, "");
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	come_up(&rig);
	rig_forget(&rig);
	keyed_deliver(&rig, "a=1+ -=2+ a=3+ b -");
	rig_expect(&rig, "ack 1");
	keyed_answer(&rig, 1, 200, "quit 1.1, ack 2, close");
	end_workers(&rig);
	rig_forget(&rig);
	end_drained(&rig);
}
END_TEST

/* A session is closed while 1 runs, and 1 fails: a stop gives back 1 alone. */
START_TEST(what_was_given_up_by_command_waits_for_none_of_its_lane)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a a");
	rig_forget(&rig);
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_DEAD_LETTER, "a");
	rig_forget(&rig);
	rig_confirm(&rig, 2);
	rig_confirm(&rig, 1);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "ack 3, ack 2");
	rig_answer(&rig, 0, 500);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1, hand over a normal 1 later 0, close");
	rig_end(&rig);
}
END_TEST

START_TEST(what_was_given_up_by_command_is_acked_by_its_redelivery)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a a");
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_DEAD_LETTER, "a");
	rig_forget(&rig);
	rig_confirm(&rig, 1); /* no turn: the ack is not sent */
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_confirm(&rig, 2);
	come_up(&rig);
	keyed_deliver(&rig, "a=1+ a=2+ a=3+");
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2, ack 3");
	ck_assert_uint_eq(pool_session_counts(rig.pool).given_up, 0);
	rig_end(&rig);
}
END_TEST

/* Its dead letter is confirmed after that. */
START_TEST(what_was_given_up_by_command_is_acked_after_its_redelivery)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a a");
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_DEAD_LETTER, "a");
	rig_forget(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	come_up(&rig);
	keyed_deliver(&rig, "a=1+ a=2+ a=3+");
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_confirm(&rig, 1);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2");
	rig_confirm(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "ack 3");
	rig_end(&rig);
}
END_TEST

/* It was left because a message had been unacked for too long. */
START_TEST(a_channel_that_closes_is_not_opened_before_it_has)
{
	struct rig rig;
	struct pool_config config = keyed_config(2);
	config.hard_limit = 10 * MTIME_MINUTE;
	config.session.max_unacked_age = 10 * MTIME_SECOND;
	begin_with(&rig, config);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_answer(&rig, 0, 200);
	come_up(&rig);
	keyed_deliver(&rig, "-=2+"); /* the one that ended has not come back */
	rig_forget(&rig);
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_expect(&rig, "leave");
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_end(&rig);
}
END_TEST

START_TEST(a_channel_that_was_left_for_memory_is_opened_after_a_second)
{
	struct rig rig;
	begin(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_answer(&rig, 0, 200);
	come_up(&rig);
	callocs_left = 0;
	keyed_deliver(&rig, "c=9+");
	callocs_left = LONG_MAX;
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "leave, quit 0.1");
	rig_wait(&rig, MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "consume 8");
	rig_end(&rig);
}
END_TEST

START_TEST(a_forced_stop_waits_for_no_channel)
{
	struct rig rig;
	begin(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 1, 200);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	end_workers(&rig);
	ck_assert(!pool_is_quiet(rig.pool));
	rig_command(&rig, COMMAND_FORCE);
	rig_turn(&rig);
	rig_expect(&rig, "close");
	ck_assert(pool_is_quiet(rig.pool));
	ck_assert(pool_was_cut_short(rig.pool));
	rig_end(&rig);
}
END_TEST

START_TEST(what_was_purged_is_waited_for_for_a_minute)
{
	struct rig rig;
	begin(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 1, 200);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	end_workers(&rig);
	come_up(&rig);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, MTIME_MINUTE - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "close");
	end_drained(&rig);
}
END_TEST

START_TEST(a_message_that_waits_alone_is_not_waited_for)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_gone(&rig, 0, 1);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_expect(&rig, "hand over a normal 1 later 0, close");
	ck_assert(pool_is_quiet(rig.pool));
	rig_end(&rig);
}
END_TEST

START_TEST(without_the_token_nothing_is_waited_for)
{
	struct rig rig;
	begin(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_answer(&rig, 0, 200);
	rig_answer(&rig, 1, 200);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	end_workers(&rig);
	rig_step(&rig, (struct event){.kind = TOKEN_LOST});
	rig_turn(&rig);
	rig_expect(&rig, "leave, close");
	ck_assert(pool_is_quiet(rig.pool));
	rig_end(&rig);
}
END_TEST

static Suite *sessions_drain_suite(void)
{
	Suite *suite = suite_create("core/sessions_drain");
	UNIT_CASE(suite, "acks", what_ended_without_a_channel_is_acked_on_the_next,
		a_channel_that_was_left_is_opened_once_more,
		what_ends_while_the_channel_is_left_is_acked_on_the_next, nothing_is_sent_meanwhile,
		what_was_given_up_by_command_waits_for_none_of_its_lane,
		what_was_given_up_by_command_is_acked_by_its_redelivery,
		what_was_given_up_by_command_is_acked_after_its_redelivery,
		a_channel_that_closes_is_not_opened_before_it_has,
		a_channel_that_was_left_for_memory_is_opened_after_a_second);
	UNIT_CASE(suite, "no acks", a_message_that_waits_alone_is_not_waited_for,
		a_forced_stop_waits_for_no_channel, what_was_purged_is_waited_for_for_a_minute,
		without_the_token_nothing_is_waited_for);
	return suite;
}

UNIT_MAIN(sessions_drain_suite)
