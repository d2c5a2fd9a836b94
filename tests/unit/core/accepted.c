/* Tasks that their workers accept (status -2): acked before their end, and never retried. */
#include "core/pool_facts.h"
#include "unit/support/core/keyed.h"

static void accept(struct rig *rig, uint16_t slot)
{
	rig_answer(rig, slot, STATUS_ACCEPTED);
}

/* Task 1 is in the first worker's pipe. */
static void start(struct rig *rig, struct pool_config config)
{
	rig_begin(rig, config, 1);
}

static void start_accepted(struct rig *rig)
{
	start(rig, rig_config(1, 1));
	accept(rig, 0);
	rig_turn(rig);
	rig_expect(rig, "ack 1");
	rig_expect_told(rig, "TASK_ACCEPTED");
}

START_TEST(its_message_is_acked_and_it_goes_on)
{
	struct rig rig;
	start_accepted(&rig);
	ck_assert_uint_eq(pool_facts(rig.pool).unacked, 0);
	rig_deliver(&rig, 2, 2);
	rig_turn(&rig);
	rig_expect(&rig, ""); /* its worker is busy */
	rig_answer(&rig, 0, STATUS_DONE);
	rig_turn(&rig);
	rig_expect_told(&rig, "TASK_DONE");
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

/* The acks of tasks that are done wait for each other, those of accepted ones do not. */
START_TEST(one_ack_covers_those_before_it)
{
	struct rig rig;
	rig_begin(&rig, rig_config(3, 1), 3);
	rig_answer(&rig, 0, STATUS_DONE);
	accept(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2*");
	rig_end(&rig);
}
END_TEST

START_TEST(one_behind_others_is_acked_alone)
{
	struct rig rig;
	rig_begin(&rig, rig_config(3, 1), 3);
	accept(&rig, 2);
	rig_turn(&rig);
	rig_expect(&rig, "ack 3");
	rig_end(&rig);
}
END_TEST

START_TEST(one_that_is_done_in_the_same_turn_is_acked_as_any_other)
{
	struct rig rig;
	struct pool_config config = rig_config(3, 1);
	config.prefetch = 300;
	rig_begin(&rig, config, 200);
	accept(&rig, 1);
	rig_answer(&rig, 1, STATUS_DONE);
	rig_turn(&rig);
	rig_expect(&rig, "send 1:4"); /* its ack waits for others */
	rig_wait(&rig, 100 * MTIME_MS);
	rig_expect(&rig, "ack 2");
	rig_end(&rig);
}
END_TEST

/* After some tasks that took no time, it is expected to be short. */
START_TEST(a_short_one_is_acked_a_moment_later)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	config.prefetch = 300;
	config.pipe_wait = 5 * MTIME_MS;
	rig_begin(&rig, config, 200);
	for (int i = 0; i < 50; i++) {
		rig_answer(&rig, 0, STATUS_DONE);
		rig_turn(&rig);
	}
	rig_forget(&rig);
	accept(&rig, 0);
	rig_turn(&rig);
	rig_expect(&rig, "");
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + 2 * MTIME_MS);
	rig_wait(&rig, 2 * MTIME_MS);
	rig_expect(&rig, "ack 51*"); /* and those that are done */
	rig_end(&rig);
}
END_TEST

START_TEST(a_second_time_changes_nothing)
{
	struct rig rig;
	start_accepted(&rig);
	accept(&rig, 0);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "");
	rig_answer(&rig, 0, STATUS_DONE);
	rig_turn(&rig);
	rig_expect_told(&rig, "TASK_DONE");
	rig_end(&rig);
}
END_TEST

START_TEST(its_reply_is_confirmed_before_it_is_done)
{
	struct rig rig;
	start_accepted(&rig);
	rig_answer_this(&rig, 0, 1, rig_output(STATUS_REPLY, "answers"));
	rig_expect(&rig, "publish 1 reply 1");
	rig_expect_told(&rig, "");
	rig_confirm(&rig, 1);
	rig_expect_told(&rig, "TASK_DONE");
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* Also one that would be retried. */
START_TEST(a_failure_is_a_dead_letter)
{
	struct rig rig;
	start_accepted(&rig);
	rig_answer(&rig, 0, STATUS_FAILED);
	rig_expect(&rig, "publish 1 dead 1");
	rig_expect_told(&rig, "TASK_GIVEN_UP");
	ck_assert_int_eq(rig.reason, REASON_FAILED);
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

START_TEST(a_crash_is_a_dead_letter)
{
	struct rig rig;
	start_accepted(&rig);
	rig_gone(&rig, 0, 1);
	ck_assert_ptr_nonnull(strstr(rig.done, "publish 1 dead 1"));
	ck_assert_int_eq(rig.reason, REASON_CRASHED);
	rig_end(&rig);
}
END_TEST

/* Accepted and crashed in one turn: the ack was not sent yet, and goes out all the same. */
START_TEST(a_crash_before_the_ack_was_sent_is_a_dead_letter)
{
	struct rig rig;
	start(&rig, rig_config(1, 1));
	accept(&rig, 0);
	rig_gone(&rig, 0, 1);
	ck_assert_ptr_nonnull(strstr(rig.done, "publish 1 dead 1"));
	rig_forget(&rig);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "ack 1"));
	rig_confirm(&rig, 1);
	ck_assert_uint_eq(pool_facts(rig.pool).unacked, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(over_the_hard_limit_it_is_a_dead_letter)
{
	struct rig rig;
	start_accepted(&rig);
	rig_wait(&rig, 60 * MTIME_SECOND);
	ck_assert_ptr_nonnull(strstr(rig.done, "term 0.1"));
	rig_gone(&rig, 0, 1);
	ck_assert_ptr_nonnull(strstr(rig.done, "publish 1 dead 1"));
	ck_assert_int_eq(rig.reason, REASON_TIMED_OUT);
	rig_end(&rig);
}
END_TEST

/* Beside others nobody knows whose fault it was: those run again, alone, and it does not. */
START_TEST(among_several_open_tasks_it_alone_does_not_run_again)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 3), 3);
	struct output *output = rig_output(STATUS_ACCEPTED, NULL);
	output->task_id = 2;
	rig_answer_this(&rig, 0, 1, output);
	rig_turn(&rig);
	rig_expect(&rig, "ack 2");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "publish 1 dead 2"));
	rig_forget(&rig);
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "send 0:1"));
	ck_assert_ptr_null(strstr(rig.done, "send 0:2"));
	rig_end(&rig);
}
END_TEST

/* The broker cannot reject what is acked. */
START_TEST(with_the_brokers_dead_letters_a_failure_is_only_counted)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	config.policy.dead_letter_by_broker = true;
	start(&rig, config);
	accept(&rig, 0);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_answer(&rig, 0, STATUS_FAILED);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "TASK_GIVEN_UP");
	rig_end(&rig);
}
END_TEST

/* That is no failure: what comes back is a new message, which is not accepted. */
START_TEST(it_may_be_postponed)
{
	struct rig rig;
	start_accepted(&rig);
	struct output *output = rig_output(STATUS_POSTPONED, "");
	output->postpone_ms = 1000;
	rig_answer_this(&rig, 0, 1, output);
	ck_assert_ptr_nonnull(strstr(rig.done, "publish 1 later 1"));
	rig_confirm(&rig, 1);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* ---------- channels ---------- */

START_TEST(it_outlives_its_channel)
{
	struct rig rig;
	start_accepted(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig_forget(&rig);
	rig_answer_this(&rig, 0, 1, rig_output(STATUS_REPLY, "answers"));
	rig_expect(&rig, "publish 1 reply 1");
	rig_outbox_down(&rig, LOSS_CONNECTION);
	rig_outbox_up(&rig);
	rig_expect(&rig, "publish 1 reply 1");
	rig_confirm(&rig, 1);
	rig_expect_told(&rig, "TASK_DONE");
	rig_end(&rig);
}
END_TEST

/* Its ack was not sent, so it is delivered again. */
START_TEST(one_whose_channel_is_lost_in_the_same_turn_is_an_orphan)
{
	struct rig rig;
	start(&rig, rig_config(1, 1));
	accept(&rig, 0);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_forget(&rig);
	rig_answer(&rig, 0, STATUS_FAILED);
	rig_expect_told(&rig, "TASK_ORPHANED");
	rig_turn(&rig);
	rig_end(&rig);
}
END_TEST

/* Its reply is not confirmed yet, and its message comes again. */
START_TEST(one_whose_answer_and_lost_channel_come_in_one_turn_comes_again)
{
	struct rig rig;
	start(&rig, rig_config(1, 1));
	accept(&rig, 0);
	rig_answer_this(&rig, 0, 1, rig_output(STATUS_REPLY, "answers"));
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 reply 1");
	rig_forget(&rig);
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "ack"));
	rig_end(&rig);
}
END_TEST

START_TEST(an_orphan_cannot_be_accepted)
{
	struct rig rig;
	start(&rig, rig_config(1, 1));
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_forget(&rig);
	accept(&rig, 0);
	rig_expect_told(&rig, "");
	rig_answer(&rig, 0, STATUS_DONE);
	rig_expect_told(&rig, "TASK_ORPHANED");
	rig_end(&rig);
}
END_TEST

/* ---------- the end ---------- */

START_TEST(a_drain_waits_for_its_reply)
{
	struct rig rig;
	start_accepted(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_answer_this(&rig, 0, 1, rig_output(STATUS_REPLY, "answers"));
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "close"));
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "close"));
	rig_end(&rig);
}
END_TEST

/* Its channel is lost while it drains, and it has a message that nobody else has. */
START_TEST(a_pool_whose_channel_is_lost_is_not_quiet_before_that)
{
	struct rig rig;
	start_accepted(&rig);
	rig_answer_this(&rig, 0, 1, rig_output(STATUS_REPLY, "answers"));
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	ck_assert(!pool_is_quiet(rig.pool));
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	ck_assert(pool_is_quiet(rig.pool));
	rig_end(&rig);
}
END_TEST

START_TEST(a_forced_stop_ends_it)
{
	struct rig rig;
	start_accepted(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_expect_told(&rig, "TASK_CUT_SHORT");
	ck_assert_ptr_null(strstr(rig.done, "requeue"));
	rig_end(&rig);
}
END_TEST

START_TEST(a_forced_stop_logs_which_dead_letter_is_lost)
{
	struct rig rig;
	start_accepted(&rig);
	rig_outbox_down(&rig, LOSS_CONNECTION);
	rig_answer(&rig, 0, STATUS_FAILED);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_expect_told(&rig, "");
	rig_gone(&rig, 0, 1);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.told, "PARCEL_LOST"));
	rig_end(&rig); /* the sanitizers would find a leak */
}
END_TEST

START_TEST(a_reply_that_is_confirmed_during_a_forced_stop_is_not_lost)
{
	struct rig rig;
	start_accepted(&rig);
	rig_answer_this(&rig, 0, 1, rig_output(STATUS_REPLY, "answers"));
	rig_command(&rig, COMMAND_FORCE);
	rig_confirm(&rig, 1);
	rig_expect_told(&rig, "TASK_DONE");
	rig_gone(&rig, 0, 1);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.told, "PARCEL_LOST"));
	rig_end(&rig);
}
END_TEST

/* ---------- what waits behind them ---------- */

/* Two of two workers have one, for longer than a minute: what waits would be unacked for so long
 * that the broker takes it back, with all else on the channel. */
START_TEST(what_waits_behind_long_ones_goes_back)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	config.hard_limit = MTIME_NEVER;
	rig_begin(&rig, config, 2);
	accept(&rig, 0);
	accept(&rig, 1);
	rig_turn(&rig);
	rig_deliver(&rig, 3, 3);
	rig_wait(&rig, 59 * MTIME_SECOND);
	rig_forget(&rig);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "rest");
	rig_expect_told(&rig, "ALL_ACCEPTED");
	ck_assert(pool_facts(rig.pool).are_all_accepted);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "requeue 3");
	rig_forget(&rig);
	rig_answer(&rig, 0, STATUS_DONE);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "consume"));
	ck_assert_ptr_nonnull(strstr(rig.told, "SOURCE_RESUMES"));
	ck_assert(!pool_facts(rig.pool).are_all_accepted);
	rig_end(&rig);
}
END_TEST

/* Each of them is short, so what waits has its turn. */
START_TEST(short_ones_stop_nothing)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	for (uint64_t tag = 2; tag < 20; tag++) {
		accept(&rig, 0);
		rig_wait(&rig, 10 * MTIME_SECOND);
		rig_deliver(&rig, tag, tag);
		rig_answer(&rig, 0, STATUS_DONE);
		rig_turn(&rig);
	}
	ck_assert_ptr_null(strstr(rig.told, "ALL_ACCEPTED"));
	rig_end(&rig);
}
END_TEST

START_TEST(one_worker_without_any_is_enough)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	config.hard_limit = MTIME_NEVER;
	rig_begin(&rig, config, 2);
	accept(&rig, 0);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, 10 * MTIME_MINUTE);
	rig_expect_told(&rig, "");
	rig_end(&rig);
}
END_TEST

/* One that is being ended has none, whatever it has accepted. */
START_TEST(a_worker_that_ends_slowly_is_none_that_is_kept)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	config.grace = 10 * MTIME_MINUTE;
	rig_begin(&rig, config, 2);
	accept(&rig, 0);
	rig_turn(&rig);
	rig_broken(&rig, 0, 1);
	rig_wait(&rig, 9 * MTIME_MINUTE);
	ck_assert_ptr_null(strstr(rig.told, "ALL_ACCEPTED"));
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_end(&rig);
}
END_TEST

/* ---------- sessions ---------- */

/* Another supervisor could not keep the order. */
START_TEST(in_a_pool_with_sessions_it_is_a_protocol_error)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a");
	rig_turn(&rig);
	rig_forget(&rig);
	accept(&rig, 0);
	ck_assert_str_eq(rig.what, "status -2 (accepted), which a pool with sessions refuses");
	ck_assert_ptr_nonnull(strstr(rig.done, "kill 0.1"));
	rig_end(&rig);
}
END_TEST

static Suite *accepted_suite(void)
{
	Suite *suite = suite_create("core/accepted");
	UNIT_CASE(suite, "accepted", its_message_is_acked_and_it_goes_on,
		one_ack_covers_those_before_it, one_behind_others_is_acked_alone,
		one_that_is_done_in_the_same_turn_is_acked_as_any_other,
		a_short_one_is_acked_a_moment_later, a_second_time_changes_nothing,
		its_reply_is_confirmed_before_it_is_done, a_failure_is_a_dead_letter,
		a_crash_is_a_dead_letter, a_crash_before_the_ack_was_sent_is_a_dead_letter,
		over_the_hard_limit_it_is_a_dead_letter,
		among_several_open_tasks_it_alone_does_not_run_again,
		with_the_brokers_dead_letters_a_failure_is_only_counted, it_may_be_postponed);
	UNIT_CASE(suite, "channels", it_outlives_its_channel,
		one_whose_channel_is_lost_in_the_same_turn_is_an_orphan,
		one_whose_answer_and_lost_channel_come_in_one_turn_comes_again,
		an_orphan_cannot_be_accepted);
	UNIT_CASE(suite, "end", a_drain_waits_for_its_reply,
		a_pool_whose_channel_is_lost_is_not_quiet_before_that, a_forced_stop_ends_it,
		a_forced_stop_logs_which_dead_letter_is_lost,
		a_reply_that_is_confirmed_during_a_forced_stop_is_not_lost);
	UNIT_CASE(suite, "waits", what_waits_behind_long_ones_goes_back, short_ones_stop_nothing,
		one_worker_without_any_is_enough, a_worker_that_ends_slowly_is_none_that_is_kept);
	UNIT_CASE(suite, "sessions", in_a_pool_with_sessions_it_is_a_protocol_error);
	return suite;
}

UNIT_MAIN(accepted_suite)
