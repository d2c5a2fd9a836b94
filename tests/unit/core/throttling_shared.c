/* What waits in a pool for a throttle that supervisors share: it asks again when the leader, which
 * is the test, has answered about its key. */
#include "core/pool_internal.h"
#include "core/throttle/grants.h"
#include "unit/support/core/keyed.h"
#include "unit/support/core/throttled.h"

enum { OWN = 7, LEADER = 9 };

static void set_up(void)
{
	throttled_set_up();
	ck_assert_int_eq(grants_init(throttle, OWN), RC_OK);
	grants_up(throttle);
}

/* It answers about these keys, of which each has a letter. */
static void answer(const struct rig *rig, const char *keys, struct granted granted)
{
	static struct throttle_answer answer;
	const struct shared_figures figures = {.limit = 2, .period = THROTTLED_PERIOD};
	const struct throttle_request *request = grants_request(throttle, &figures, true, rig->now);
	ck_assert_ptr_nonnull(request);
	answer = (struct throttle_answer){
		.leader = LEADER, .member = OWN, .number = request->number};
	for (; *keys; keys++) {
		granted.key = (uint64_t)*keys;
		answer.keys[answer.count++] = granted;
	}
	ck_assert(grants_answer(throttle, &answer, rig->now));
}

static void grant(const struct rig *rig, const char *keys)
{
	answer(rig, keys, (struct granted){.starts = 1});
}

START_TEST(a_key_asks_again_when_it_was_answered_about)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a b a c");
	rig_expect(&rig, "");
	throttled_expect(&rig, 4, "t0");
	grant(&rig, "ac");
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, send 1:4");
	throttled_expect(&rig, 2, "t0");
	rig_end(&rig);
}
END_TEST

START_TEST(a_session_asks_again_when_its_key_was_answered_about)
{
	struct rig rig;
	struct pool_config config = keyed_config(5);
	throttled_add(&config, throttle, true, THROTTLE_DELAY);
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b");
	ck_assert_int_eq(keyed_state(&rig, "b"), SESSION_PARKED);
	grant(&rig, "b");
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2");
	rig_end(&rig);
}
END_TEST

/* It keeps its place at the head of the queue. */
START_TEST(an_exclusive_task_asks_again_when_its_key_was_answered_about)
{
	struct rig rig;
	rig_start(&rig, throttled_config(2, throttle, true));
	throttled_deliver(&rig, "a! b");
	rig_expect(&rig, "");
	grant(&rig, "a");
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* No worker reads, so the first answer has made it due already. */
START_TEST(a_second_answer_changes_nothing)
{
	struct rig rig;
	rig_start(&rig, throttled_config(1, throttle, true));
	throttled_deliver(&rig, "a");
	rig_set_writable(&rig, 0, false);
	for (int i = 0; i < 2; i++) {
		grant(&rig, "a");
		rig_turn(&rig);
		ck_assert_uint_eq(dispatch_runnable(&rig.pool->tasks.dispatch), 1);
	}
	rig_set_writable(&rig, 0, true);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* So many keys were answered about since the turn before that the first ones are not known. */
START_TEST(after_many_answers_all_ask_again)
{
	struct rig rig;
	rig_start(&rig, throttled_config(5, throttle, true));
	throttled_deliver(&rig, "a b");
	grant(&rig, "a");
	for (int i = 0; i < 1024; i++)
		answer(&rig, "z", (struct granted){0});
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	throttled_expect(&rig, 1, "t0");
	rig_end(&rig);
}
END_TEST

/* It may be the lack of an answer that refuses, and not the limit. */
START_TEST(a_caller_is_refused_when_the_leader_is_sure)
{
	struct rig rig;
	struct pool_config config = throttled_config(1, throttle, true);
	config.throttles[0].excess = THROTTLE_REPLY;
	rig_start(&rig, config);
	throttled_deliver(&rig, "a");
	rig_expect(&rig, "");
	throttled_expect(&rig, 1, "t0");
	answer(&rig, "a", (struct granted){.wait = 5 * MTIME_SECOND, .is_unsure = true});
	rig_turn(&rig);
	rig_expect(&rig, "");
	answer(&rig, "a", (struct granted){.wait = 5 * MTIME_SECOND});
	rig_turn(&rig);
	rig_expect(&rig, "publish 1 refuse 1 after 5000");
	rig_end(&rig);
}
END_TEST

static Suite *throttling_shared_suite(void)
{
	Suite *suite = suite_create("core/throttling_shared");
	UNIT_CASE_WITH(suite, "answers", set_up, throttled_tear_down,
		a_key_asks_again_when_it_was_answered_about,
		a_session_asks_again_when_its_key_was_answered_about,
		an_exclusive_task_asks_again_when_its_key_was_answered_about,
		a_second_answer_changes_nothing, after_many_answers_all_ask_again,
		a_caller_is_refused_when_the_leader_is_sure);
	return suite;
}

UNIT_MAIN(throttling_shared_suite)
