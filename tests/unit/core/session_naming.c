/* After supervisors died in a row: which message the token names, and what waits for that. */
#include "unit/support/core/keyed.h"

static void begin_consuming(struct rig *rig)
{
	rig_turn(rig);
	rig_source_up(rig);
	rig_forget(rig);
}

static void hold_after_deaths(struct rig *rig)
{
	rig_step(rig, (struct event){.kind = TOKEN_HELD, .token = {.deaths = 3, .window = 8}});
	begin_consuming(rig);
}

static void start_after_deaths_with(struct rig *rig, struct pool_config config)
{
	config.session.takeover_delay = 30 * MTIME_SECOND;
	rig_start(rig, config);
	hold_after_deaths(rig);
}

static void start_after_deaths(struct rig *rig)
{
	start_after_deaths_with(rig, keyed_config(3));
}

static void name(struct rig *rig, const char *done)
{
	rig_step(rig, (struct event){.kind = TOKEN_NAMED});
	rig_turn(rig);
	rig_expect(rig, done);
}

START_TEST(after_three_deaths_redelivered_messages_run_alone_and_named)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+ b!+ c");
	rig_expect(&rig, "name a, send 0:3"); /* nobody has begun c before */
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_HELD);
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_HELD);
	rig_turn(&rig);
	rig_expect(&rig, "");
	name(&rig, "send 1:1");
	rig_turn(&rig);
	rig_expect(&rig, "");
	keyed_answer(&rig, 1, 200, "name none, name b!, ack 1");
	name(&rig, "send 1:2");
	keyed_answer(&rig, 1, 200, "name none, ack 2"); /* it did not kill us */
	rig_end(&rig);
}
END_TEST

/* A name is found by its lane: after a death it would be taken for that of the earlier message. */
START_TEST(a_message_is_named_when_none_of_its_lane_comes_back_before_it)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+ a+");
	rig_expect(&rig, "name a");
	name(&rig, "send 0:1");
	rig_answer(&rig, 0, 201);
	rig_turn(&rig);
	rig_expect(&rig, "name none, publish 1 reply 1");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "name a, ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(without_confirms_names_are_not_needed_after_ten_minutes)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+ a+");
	name(&rig, "name a, send 0:1");
	rig_answer(&rig, 0, 201);
	rig_turn(&rig);
	rig_forget(&rig);
	ck_assert_int_le(pool_deadline(rig.pool), rig.now + 10 * MTIME_MINUTE);
	rig_wait(&rig, 10 * MTIME_MINUTE);
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_name_is_not_for_another_message)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+ b+");
	keyed_order(&rig, SESSION_VERB_PAUSE, SESSION_KEEP, "a");
	rig_expect(&rig, "name a, name none, name b");
	name(&rig, "send 0:2"); /* the runtime reports the latest name only */
	rig_end(&rig);
}
END_TEST

/* On another channel its tag is that of another message. */
START_TEST(a_name_is_not_for_a_message_of_another_channel)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+");
	rig_step(&rig, (struct event){.kind = TOKEN_NAMED});
	rig_expect(&rig, "name a");
	keyed_lose_channel(&rig);
	rig_forget(&rig);
	keyed_deliver(&rig, "b=7"); /* fresh: it needs no name, and a is given up */
	rig_expect(&rig, "send 0:1");
	keyed_answer(&rig, 0, 200, "ack 1"); /* no name ends with it */
	keyed_lose_channel(&rig);
	rig_forget(&rig);
	keyed_deliver(&rig, "c=8+");
	rig_expect(&rig, "name c");
	name(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* It needs a worker of its own and a name. */
START_TEST(a_suspect_is_named_again)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.concurrency = 2;
	start_after_deaths_with(&rig, config);
	keyed_deliver(&rig, "a+");
	name(&rig, "name a, send 0:1");
	keyed_deliver(&rig, "b");
	rig_expect(&rig, "send 0:2");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "name none");
	keyed_next_worker(&rig);
	rig_expect(&rig, "name a, send 0:2");
	name(&rig, "");
	rig_answer_task(&rig, 0, 2, 3, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, ack 2");
	rig_end(&rig);
}
END_TEST

/* They kill no supervisor by their order. */
START_TEST(messages_without_a_key_need_no_name)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "-+ a+ -+");
	rig_expect(&rig, "name a, send 0:1, send 1:3");
	name(&rig, "send 2:2");
	rig_end(&rig);
}
END_TEST

START_TEST(after_ten_minutes_names_are_not_needed)
{
	struct rig rig;
	start_after_deaths(&rig);
	rig.now += 10 * MTIME_MINUTE;
	keyed_deliver(&rig, "a+ b+");
	rig_expect(&rig, "send 0:1, send 1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(the_end_of_ten_minutes_is_a_deadline)
{
	struct rig rig;
	start_after_deaths(&rig);
	rig_wait(&rig, 9 * MTIME_MINUTE); /* takeover_delay is over, too */
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	ck_assert_int_le(pool_deadline(rig.pool), rig.now + MTIME_MINUTE);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "name none, send 0:1");
	rig_end(&rig);
}
END_TEST

/* Others run, but not beside it: a name that cannot be given now is given to another one. */
START_TEST(what_cannot_be_named_keeps_nobody_waiting)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+ a+ b+ c");
	name(&rig, "name a, send 0:4, send 1:1");
	rig_answer(&rig, 1, 201);
	rig_turn(
		&rig); /* the second message of a waits until the reply of the first is confirmed */
	rig_expect(&rig, "name none, publish 1 reply 1, name b");
	name(&rig, "send 1:3");
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	keyed_answer(&rig, 1, 200, "name none, name a, ack 3");
	name(&rig, "send 1:2");
	rig_end(&rig);
}
END_TEST

/* Whatever else happens to its session meanwhile. */
START_TEST(a_message_is_not_sent_before_it_is_named)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	keyed_deliver(&rig, "a"); /* behind it */
	rig_expect(&rig, "");
	keyed_deliver(&rig, "a!");
	rig_expect(&rig, "name none, send 0:3"); /* high, and nobody has begun it before */
	name(&rig, "");                          /* of the name that is forgotten */
	keyed_answer(&rig, 0, 200, "name a, ack 3");
	name(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

START_TEST(the_name_of_another_message_stays)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	rig.send = SEND_TOO_LARGE;
	keyed_deliver(&rig, "c");
	rig_expect(&rig, "publish 1 dead 2");
	rig.send = SEND_OK;
	name(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* Its session comes behind another one that waits for a name. */
START_TEST(what_is_no_longer_next_is_named_no_more)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+ b+");
	rig_expect(&rig, "name a");
	keyed_deliver(&rig, "a!");
	rig_expect(&rig, "name none, name b, send 0:3");
	keyed_answer(&rig, 0, 200, "ack 3");
	name(&rig, "send 0:2");
	keyed_answer(&rig, 0, 200, "name none, name a, ack 2");
	name(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_high_message_is_named_in_place_of_a_normal_one)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	keyed_deliver(&rig, "a!+");
	rig_expect(&rig, "name none, name a!");
	name(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

/* What has a place waits for a name, so it gets the next one. */
START_TEST(a_session_without_a_place_is_not_named)
{
	struct rig rig;
	struct pool_config config = keyed_config(3);
	config.session.max_active = 1;
	start_after_deaths_with(&rig, config);
	keyed_deliver(&rig, "y+ y+ x+");
	name(&rig, "name y, send 0:1");
	keyed_answer(&rig, 0, 200, "name none, name y, ack 1");
	name(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(nothing_is_named_that_cannot_be_sent)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "x y z");
	rig_forget(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, ""); /* all workers are busy */
	keyed_answer(&rig, 0, 200, "name a, ack 1");
	rig_command(&rig, COMMAND_PAUSE);
	rig_turn(&rig);
	rig_expect(&rig, "name none");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	rig_expect(&rig, "name a");
	rig_command(&rig, COMMAND_DRAIN);
	rig_forget(&rig);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "name none"));
	rig_end(&rig);
}
END_TEST

/* Its session is forgotten, for another one, before the turn ends. */
START_TEST(the_name_of_a_message_that_is_given_up_is_forgotten)
{
	struct rig rig;
	struct pool_config config = keyed_config(3);
	config.session.max_sessions = 2;
	start_after_deaths_with(&rig, config);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig.last_tag = 0;
	keyed_deliver(&rig, "b=7 c=8");
	ck_assert(!keyed_exists(&rig, "a"));
	rig_expect(&rig, "name none, send 0:1, send 1:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_name_is_for_one_channel)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig.last_tag = 0;
	keyed_deliver(&rig, "a=1+");
	rig_expect(&rig, "name none, name a");
	rig_end(&rig);
}
END_TEST

/* Workers are busy with what came before. */
START_TEST(a_named_message_waits_for_a_worker)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	keyed_deliver(&rig, "x y z");
	rig_forget(&rig);
	name(&rig, "");
	keyed_deliver(&rig, "b+");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_HELD);
	keyed_answer(&rig, 0, 200, "send 0:1, ack 2");
	rig_end(&rig);
}
END_TEST

/* First a former holder may still run it. */
START_TEST(what_was_held_is_named_after)
{
	struct rig rig;
	struct pool_config config = keyed_config(3);
	config.session.takeover_delay = 30 * MTIME_SECOND;
	rig_start(&rig, config);
	keyed_deliver(&rig, "c");
	rig_step(&rig, (struct event){.kind = TOKEN_HELD,
			       .token = {.deaths = 3, .window = 8, .delay = 30 * MTIME_SECOND}});
	begin_consuming(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "");
	rig_wait(&rig, 30 * MTIME_SECOND);
	rig_expect(&rig, "name a");
	rig_end(&rig);
}
END_TEST

/* It is given up without a name, so that none is left when it is gone. */
START_TEST(an_unfit_message_is_not_named)
{
	struct rig rig;
	start_after_deaths(&rig);
	const struct session_handover poison = {
		.key = TEXT("a"), .has_message = true, .past.is_poison = true};
	rig_step(&rig,
		(struct event){.kind = TOKEN_HELD,
			.token = {.deaths = 3, .window = 8, .handed = &poison, .handed_count = 1}});
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "publish 1 dead 1");
	rig_end(&rig);
}
END_TEST

START_TEST(the_name_of_a_message_that_is_disposed_of_is_forgotten)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+");
	name(&rig, "name a, send 0:1");
	keyed_deliver(&rig, "b+");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "name none, name b, ack 1");
	keyed_order(&rig, SESSION_VERB_CLOSE, SESSION_DISCARD, "b");
	rig_expect(&rig, "name none, ack 2");
	rig_end(&rig);
}
END_TEST

START_TEST(the_name_of_a_message_that_is_too_large_is_forgotten)
{
	struct rig rig;
	start_after_deaths(&rig);
	rig.send = SEND_TOO_LARGE;
	keyed_deliver(&rig, "a+");
	name(&rig, "name a, publish 1 dead 1, name none");
	rig_end(&rig);
}
END_TEST

/* Its dead letter fills the outbox, so nothing else is sent in this turn. */
START_TEST(the_name_of_a_message_that_is_too_large_is_forgotten_at_once)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.outbox_limit = 1;
	start_after_deaths_with(&rig, config);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	rig.send = SEND_TOO_LARGE;
	name(&rig, "publish 1 dead 1, name none");
	rig_end(&rig);
}
END_TEST

START_TEST(the_name_of_a_message_whose_channel_is_lost_is_forgotten)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	keyed_lose_channel(&rig);
	rig_expect(&rig, "name none, consume 8");
	keyed_deliver(&rig, "a=1+");
	rig_expect(&rig, "name a");
	rig_end(&rig);
}
END_TEST

static Suite *session_naming_suite(void)
{
	Suite *suite = suite_create("core/session_naming");
	UNIT_CASE(suite, "deaths", after_three_deaths_redelivered_messages_run_alone_and_named,
		a_message_is_named_when_none_of_its_lane_comes_back_before_it,
		without_confirms_names_are_not_needed_after_ten_minutes,
		a_name_is_not_for_another_message, after_ten_minutes_names_are_not_needed,
		the_end_of_ten_minutes_is_a_deadline,
		a_name_is_not_for_a_message_of_another_channel, a_suspect_is_named_again,
		messages_without_a_key_need_no_name, an_unfit_message_is_not_named,
		the_name_of_a_message_that_is_given_up_is_forgotten, a_name_is_for_one_channel,
		a_named_message_waits_for_a_worker, what_was_held_is_named_after,
		the_name_of_another_message_stays, what_is_no_longer_next_is_named_no_more,
		a_high_message_is_named_in_place_of_a_normal_one,
		a_session_without_a_place_is_not_named, nothing_is_named_that_cannot_be_sent,
		a_message_is_not_sent_before_it_is_named, what_cannot_be_named_keeps_nobody_waiting,
		the_name_of_a_message_that_is_disposed_of_is_forgotten,
		the_name_of_a_message_that_is_too_large_is_forgotten,
		the_name_of_a_message_that_is_too_large_is_forgotten_at_once,
		the_name_of_a_message_whose_channel_is_lost_is_forgotten);
	return suite;
}

UNIT_MAIN(session_naming_suite)
