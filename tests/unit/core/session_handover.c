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
	.past.is_later = true,
	.past.reason = REASON_FAILED,
	.past.wait = 6 * MTIME_SECOND,
	.past.attempt = 2};

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
	handed[0].past.is_high = true;
	handed[0].past.wait = 0;
	handed[1].past.is_later = false;
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
	forged.past.attempt = 0;
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
	blocked.past.is_blocked = true;
	blocked.past.wait = 0;
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

START_TEST(a_message_that_killed_its_supervisor_is_given_up)
{
	struct rig rig;
	struct session_handover poison = {
		.key = TEXT("a"), .has_message = true, .past.is_poison = true};
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
		.key = TEXT("a"), .has_message = true, .past.is_poison = true};
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
	rest.past.is_high = true;
	rest.has_rest = true;
	rest.body = TEXT("rest");
	rest.key = TEXT("b");
	const struct session_handover handed[] = {
		parked, rest, {.key = TEXT("c"), .has_message = true, .past.is_poison = true}};
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
	UNIT_CASE(suite, "take over", attempts_and_the_wait_go_on, a_fresh_message_inherits_nothing,
		lanes_inherit_apart, a_past_waits_for_its_lane_and_its_turn,
		a_failure_without_an_attempt_can_be_skipped, a_blocked_session_stays_blocked,
		a_paused_session_stays_paused,
		what_an_empty_queue_does_not_give_back_is_forgotten_after_a_minute,
		what_never_comes_back_is_freed, what_has_not_come_back_is_handed_on,
		what_killed_a_supervisor_is_handed_on,
		a_message_that_killed_its_supervisor_is_given_up);
	TCase *memory = tcase_create("memory");
	tcase_add_loop_test(
		memory, without_memory_a_past_is_forgotten, 0, sizeof lacks / sizeof *lacks);
	suite_add_tcase(suite, memory);
	return suite;
}

UNIT_MAIN(session_handover_suite)
