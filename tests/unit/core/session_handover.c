/* An orderly holder hands over what it knows of its sessions, and the next one applies it. */
#include "unit/support/core/keyed.h"
#include "unit/support/core/memory.h"

static struct pool_config with_delay(void)
{
	struct pool_config config = keyed_config(1);
	config.policy.delays[0] = 10 * MTIME_SECOND;
	config.policy.delay_count = 1;
	return config;
}

static void expect_handed(struct rig *rig, const char *done)
{
	rig_command(rig, COMMAND_DRAIN);
	rig_forget(rig);
	rig_turn(rig);
	rig_expect(rig, done);
}

START_TEST(a_parked_task_is_handed_over)
{
	struct rig rig;
	rig_start(&rig, with_delay());
	keyed_deliver(&rig, "a! a b");
	rig_answer(&rig, 0, 500);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_wait(&rig, 4 * MTIME_SECOND);
	expect_handed(&rig, "hand over a high 1 later 6000, close");
	rig_end(&rig);
}
END_TEST

START_TEST(the_attempts_of_one_that_waits_to_run_alone_are_handed_over)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.concurrency = 2;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b");
	rig_answer_task(&rig, 0, 1, 2, 500);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, 3 * MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig); /* a runs alone, b waits for that */
	rig_command(&rig, COMMAND_DRAIN);
	rig_answer_task(&rig, 0, 2, 4, 200);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1, hand over b normal 1 later 0, close");
	rig_end(&rig);
}
END_TEST

/* The dead letter of the first message is not confirmed, so that message comes back first. */
START_TEST(a_past_is_not_handed_over_to_another_message)
{
	struct rig rig;
	rig_start(&rig, with_delay());
	keyed_deliver(&rig, "a a");
	rig_answer(&rig, 0, 400);
	rig_turn(&rig);
	rig_answer(&rig, 0, 500);
	rig_turn(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "close");
	rig_end(&rig);
}
END_TEST

START_TEST(paused_and_blocked_sessions_are_handed_over)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.policy.blocks_session = true;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a a");
	rig_answer(&rig, 0, 400);
	keyed_order(&rig, SESSION_VERB_PAUSE, SESSION_KEEP, "b");
	expect_handed(&rig, "hand over a normal 0 later blocked 0, hand over b paused, close");
	rig_end(&rig);
}
END_TEST

START_TEST(a_rest_is_handed_over)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a");
	keyed_deliver(&rig, "a!");
	rig_answer_this(&rig, 0, 1, rig_output(201, "own"));
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	expect_handed(&rig, "ack 2, hand over a normal 0 first rest 0, close");
	rig_end(&rig);
}
END_TEST

START_TEST(what_the_broker_knows_is_not_handed_over)
{
	struct rig rig;
	rig_start(&rig, keyed_config(1));
	keyed_deliver(&rig, "a a");
	rig_answer(&rig, 0, 200);
	expect_handed(&rig, "ack 1, close");
	rig_end(&rig);
}
END_TEST

/* ---------- the next holder ---------- */

static void start_standby(struct rig *rig)
{
	struct pool_config config = with_delay();
	config.session.takeover_delay = 30 * MTIME_SECOND;
	rig_new(rig, &config);
	rig_turn(rig);
	rig_ready(rig, 0, 1);
	rig_outbox_up(rig);
}

static void hold(struct rig *rig, const struct session_handover *handed, size_t count)
{
	rig_step(rig, (struct event){.kind = TOKEN_HELD,
			      .token = {.is_orderly = true,
				      .window = 8,
				      .handed = handed,
				      .handed_count = count}});
}

static void begin_consuming(struct rig *rig)
{
	rig_turn(rig);
	rig_source_up(rig);
	rig_forget(rig);
}

static void start_with(struct rig *rig, const struct session_handover *handed, size_t count)
{
	start_standby(rig);
	hold(rig, handed, count);
	begin_consuming(rig);
}

static const struct session_handover parked = {.key = TEXT("a"),
	.has_message = true,
	.is_later = true,
	.reason = REASON_FAILED,
	.wait = 6 * MTIME_SECOND,
	.attempt = 2};

START_TEST(attempts_and_the_wait_go_on)
{
	struct rig rig;
	start_with(&rig, &parked, 1);
	keyed_deliver(&rig, "a+ a+ a!");
	rig_expect(&rig, "");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_PARKED);
	rig_wait(&rig, 6 * MTIME_SECOND);
	rig_expect(&rig, "send 0:1/3"); /* before the high one */
	keyed_answer(&rig, 0, 500, "publish 1 dead 1, send 0:3");
	rig_end(&rig);
}
END_TEST

START_TEST(a_fresh_message_inherits_nothing)
{
	struct rig rig;
	start_with(&rig, &parked, 1);
	keyed_deliver(&rig, "a");
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

START_TEST(lanes_inherit_apart)
{
	struct rig rig;
	struct session_handover handed[] = {parked, parked};
	handed[0].is_high = true;
	handed[0].wait = 0;
	handed[1].is_later = false;
	handed[1].has_rest = true;
	handed[1].body = TEXT("rest");
	start_with(&rig, handed, 2);
	keyed_deliver(&rig, "a+ a!+");
	rig_expect(&rig, "send 0:2/3");
	keyed_answer(&rig, 0, 200, "send 0:1/3, ack 2");
	rig_end(&rig);
}
END_TEST

/* The broker sends a message of high priority first: it has no past, and its turn. */
START_TEST(a_past_waits_for_its_lane_and_its_turn)
{
	struct rig rig;
	start_with(&rig, &parked, 1);
	keyed_deliver(&rig, "a!+");
	rig_expect(&rig, "send 0:1");
	keyed_deliver(&rig, "a+ a!+");
	rig_expect(&rig, "");
	keyed_answer(&rig, 0, 200, "send 0:3, ack 1");
	keyed_answer(&rig, 0, 200, "send 0:2/3, ack 3");
	rig_end(&rig);
}
END_TEST

/* A forged token may hand over a failed task without an attempt. */
START_TEST(a_failure_without_an_attempt_can_be_skipped)
{
	struct rig rig;
	struct session_handover forged = parked;
	forged.attempt = 0;
	start_with(&rig, &forged, 1);
	keyed_deliver(&rig, "a+ a+");
	keyed_order(&rig, SESSION_VERB_SKIP, SESSION_KEEP, "a");
	rig_expect(&rig, "publish 1 dead 1, send 0:2");
	ck_assert_uint_eq(rig.attempt, 1);
	rig_end(&rig);
}
END_TEST

/* For its session; for what is known of its message; for the rest of that one's work. */
static const struct {
	long callocs, mallocs;
} lacks[] = {{0, LONG_MAX}, {LONG_MAX, 2}, {LONG_MAX, 3}};

START_TEST(without_memory_a_past_is_forgotten)
{
	struct rig rig;
	struct session_handover rest = parked;
	rest.has_rest = true;
	rest.body = TEXT("rest");
	start_standby(&rig);
	callocs_left = lacks[_i].callocs;
	mallocs_left = lacks[_i].mallocs;
	hold(&rig, &rest, 1);
	callocs_left = mallocs_left = LONG_MAX;
	begin_consuming(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_blocked_session_stays_blocked)
{
	struct rig rig;
	struct session_handover blocked = parked;
	blocked.is_blocked = true;
	blocked.wait = 0;
	start_with(&rig, &blocked, 1);
	keyed_deliver(&rig, "a+ a+");
	rig_expect(&rig, "");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_BLOCKED);
	keyed_order(&rig, SESSION_VERB_SKIP, SESSION_KEEP, "a");
	rig_expect(&rig, "publish 1 dead 1, send 0:2");
	rig_end(&rig);
}
END_TEST

START_TEST(a_paused_session_stays_paused)
{
	struct rig rig;
	struct session_handover paused = {.key = TEXT("a"), .is_paused = true};
	start_with(&rig, &paused, 1);
	keyed_deliver(&rig, "a b");
	rig_expect(&rig, "send 0:2");
	ck_assert_int_eq(keyed_state(&rig, "a"), SESSION_PAUSED);
	rig_end(&rig);
}
END_TEST

/* ---------- supervisors that die ---------- */

static void hold_after_deaths(struct rig *rig)
{
	rig_step(rig, (struct event){.kind = TOKEN_HELD, .token = {.deaths = 3, .window = 8}});
	begin_consuming(rig);
}

static void start_after_deaths(struct rig *rig)
{
	struct pool_config config = keyed_config(3);
	config.session.takeover_delay = 30 * MTIME_SECOND;
	rig_start(rig, config);
	hold_after_deaths(rig);
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
	config.session.takeover_delay = 30 * MTIME_SECOND;
	rig_start(&rig, config);
	hold_after_deaths(&rig);
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
	config.session.takeover_delay = 30 * MTIME_SECOND;
	config.session.max_active = 1;
	rig_start(&rig, config);
	hold_after_deaths(&rig);
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

/* Its session has ended before the turn ends. */
START_TEST(the_name_of_a_message_that_is_given_up_is_forgotten)
{
	struct rig rig;
	start_after_deaths(&rig);
	keyed_deliver(&rig, "a+");
	rig_expect(&rig, "name a");
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_source_up(&rig);
	rig.last_tag = 0;
	keyed_deliver(&rig, "b=7");
	ck_assert(!keyed_exists(&rig, "a"));
	rig_expect(&rig, "name none, send 0:1");
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
		.key = TEXT("a"), .has_message = true, .is_poison = true};
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

START_TEST(a_message_that_killed_its_supervisor_is_given_up)
{
	struct rig rig;
	struct session_handover poison = {.key = TEXT("a"), .has_message = true, .is_poison = true};
	start_with(&rig, &poison, 1);
	keyed_deliver(&rig, "a+ a+");
	rig_expect(&rig, "publish 1 dead 1, send 0:2");
	ck_assert_int_eq(rig.reason, REASON_COMES_BACK);
	rig_end(&rig);
}
END_TEST

START_TEST(what_an_empty_queue_does_not_give_back_is_forgotten_after_a_minute)
{
	struct rig rig;
	start_with(&rig, &parked, 1);
	rig_turn(&rig);
	ck_assert(keyed_exists(&rig, "a"));
	rig_wait(&rig, MTIME_MINUTE);
	ck_assert(!keyed_exists(&rig, "a"));
	rig_end(&rig);
}
END_TEST

/* It is held, and its supervisor leaves before it is given up. */
START_TEST(what_killed_a_supervisor_is_handed_on)
{
	struct rig rig;
	const struct session_handover poison = {
		.key = TEXT("a"), .has_message = true, .is_poison = true};
	start_standby(&rig);
	hold(&rig, &poison, 1);
	begin_consuming(&rig);
	keyed_deliver_only(&rig, "a+");
	rig_command(&rig, COMMAND_DRAIN);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "hand over a normal 0 first poison 0, close");
	rig_end(&rig);
}
END_TEST

/* The pool leaves before it has consumed. */
START_TEST(what_has_not_come_back_is_handed_on)
{
	struct rig rig;
	struct session_handover rest = parked;
	rest.is_high = true;
	rest.has_rest = true;
	rest.body = TEXT("rest");
	rest.key = TEXT("b");
	const struct session_handover handed[] = {
		parked, rest, {.key = TEXT("c"), .has_message = true, .is_poison = true}};
	start_standby(&rig);
	hold(&rig, handed, 3);
	expect_handed(&rig, "hand over a normal 2 later 6000, hand over b high 2 later rest 6000, "
			    "hand over c normal 0 first poison 0, close");
	rig_end(&rig);
}
END_TEST

START_TEST(what_never_comes_back_is_freed)
{
	struct rig rig;
	struct session_handover rest = parked;
	rest.has_rest = true;
	rest.headers = TEXT("headers");
	start_with(&rig, &rest, 1);
	rig_end(&rig);
}
END_TEST

static Suite *session_handover_suite(void)
{
	Suite *suite = suite_create("core/session_handover");
	UNIT_CASE(suite, "leave", a_parked_task_is_handed_over,
		the_attempts_of_one_that_waits_to_run_alone_are_handed_over,
		a_past_is_not_handed_over_to_another_message,
		paused_and_blocked_sessions_are_handed_over, a_rest_is_handed_over,
		what_the_broker_knows_is_not_handed_over);
	UNIT_CASE(suite, "deaths", after_three_deaths_redelivered_messages_run_alone_and_named,
		a_message_is_named_when_none_of_its_lane_comes_back_before_it,
		without_confirms_names_are_not_needed_after_ten_minutes,
		a_name_is_not_for_another_message, after_ten_minutes_names_are_not_needed,
		the_end_of_ten_minutes_is_a_deadline,
		a_name_is_not_for_a_message_of_another_channel, a_suspect_is_named_again,
		messages_without_a_key_need_no_name, a_name_is_not_for_another_message,
		a_message_that_killed_its_supervisor_is_given_up, an_unfit_message_is_not_named,
		the_name_of_a_message_that_is_given_up_is_forgotten, a_name_is_for_one_channel,
		a_named_message_waits_for_a_worker, what_was_held_is_named_after,
		the_name_of_another_message_stays, what_is_no_longer_next_is_named_no_more,
		a_high_message_is_named_in_place_of_a_normal_one,
		a_session_without_a_place_is_not_named, nothing_is_named_that_cannot_be_sent,
		a_message_is_not_sent_before_it_is_named, what_cannot_be_named_keeps_nobody_waiting,
		the_name_of_a_message_that_is_disposed_of_is_forgotten,
		the_name_of_a_message_that_is_too_large_is_forgotten,
		the_name_of_a_message_whose_channel_is_lost_is_forgotten);
	UNIT_CASE(suite, "take over", attempts_and_the_wait_go_on, a_fresh_message_inherits_nothing,
		lanes_inherit_apart, a_past_waits_for_its_lane_and_its_turn,
		a_failure_without_an_attempt_can_be_skipped, a_blocked_session_stays_blocked,
		a_paused_session_stays_paused,
		what_an_empty_queue_does_not_give_back_is_forgotten_after_a_minute,
		what_never_comes_back_is_freed, what_has_not_come_back_is_handed_on,
		what_killed_a_supervisor_is_handed_on);
	TCase *memory = tcase_create("memory");
	tcase_add_loop_test(
		memory, without_memory_a_past_is_forgotten, 0, sizeof lacks / sizeof *lacks);
	suite_add_tcase(suite, memory);
	return suite;
}

UNIT_MAIN(session_handover_suite)
