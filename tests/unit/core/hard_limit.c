/* The hard limit that a worker sets for the task in hand: it replaces the pool's for this attempt,
 * from its begin, whatever limits other tasks have. */
#include "core/pool_facts.h"
#include "unit/support/core/memory.h"
#include "unit/support/core/rig.h"

#include <limits.h>

/* The worker in slot 0 sets the limit of the task with this id; 0: it names none. */
static void set_limit(struct rig *rig, uint64_t id, int64_t limit_ms)
{
	struct output *output = rig_output(STATUS_PROGRESS, "");
	output->task_id = id;
	output->hard_limit_ms = limit_ms;
	rig_answer_this(rig, 0, 1, output);
}

#define OF_POOL   "hard limit"
#define OF_WORKER "hard limit, which it set itself with HardLimitMilliseconds"

static void expect_timed_out(struct rig *rig, mtime limit, const char *what)
{
	rig_expect(rig, "term 0.1");
	ck_assert_str_eq(rig->what, what);
	ck_assert_int_eq(rig->duration, limit);
	rig_gone(rig, 0, 1);
	rig_expect(rig, "publish 1 retry 1");
	ck_assert_int_eq(rig->reason, REASON_TIMED_OUT);
}

/* Shorter and longer than the pool's, a minute. It counts from the begin of the task. */
START_TEST(it_replaces_that_of_the_pool)
{
	static const mtime limits[] = {
		20 * MTIME_SECOND, 90 * MTIME_SECOND, OUTPUT_HARD_LIMIT_MAX * MTIME_MS};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct rig rig;
		rig_begin(&rig, rig_config(1, 1), 1);
		mtime begun = rig.now;
		rig_wait(&rig, 10 * MTIME_SECOND);
		set_limit(&rig, 0, limits[i] / MTIME_MS);
		rig_expect_told(&rig, "TASK_LIMITED");
		ck_assert_int_eq(rig.duration, limits[i]);
		ck_assert_int_eq(pool_deadline(rig.pool), begun + limits[i]);
		rig_wait(&rig, limits[i] - 10 * MTIME_SECOND - 1);
		rig_expect(&rig, "");
		rig_wait(&rig, 1);
		expect_timed_out(&rig, limits[i], OF_WORKER);
		rig_end(&rig);
	}
}
END_TEST

START_TEST(it_can_be_set_again)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	set_limit(&rig, 1, 10000);
	rig_wait(&rig, 9 * MTIME_SECOND);
	set_limit(&rig, 1, 100000);
	rig_wait(&rig, 61 * MTIME_SECOND);
	rig_expect(&rig, "");
	set_limit(&rig, 1, 75000);
	rig_wait(&rig, 5 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	expect_timed_out(&rig, 75 * MTIME_SECOND, OF_WORKER);
	rig_end(&rig);
}
END_TEST

START_TEST(one_in_the_past_ends_the_task_now)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	rig_wait(&rig, 5 * MTIME_SECOND);
	set_limit(&rig, 1, 1);
	rig_expect(&rig, "");
	rig_turn(&rig);
	expect_timed_out(&rig, MTIME_MS, OF_WORKER);
	rig_end(&rig);
}
END_TEST

/* The next task in the pipe has the pool's limit, from the answer before it. */
START_TEST(it_is_for_no_other_task)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 2);
	set_limit(&rig, 0, 90000);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_wait(&rig, MTIME_MINUTE - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "term 0.1");
	ck_assert_str_eq(rig.what, OF_POOL);
	ck_assert_int_eq(rig.duration, MTIME_MINUTE);
	rig_end(&rig);
}
END_TEST

/* A killed worker's task runs again, and its worker sets nothing this time. */
START_TEST(it_is_for_no_other_attempt)
{
	struct rig rig;
	struct pool_config config = rig_several(1, 2);
	rig_begin(&rig, config, 2);
	set_limit(&rig, 1, 5000);
	set_limit(&rig, 2, 90000);
	rig_gone(&rig, 0, 1); /* both are suspects, and run again, one by one */
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2, rest, consume 6, send 0:1");
	rig_wait(&rig, MTIME_MINUTE - 1);
	rig_expect(&rig, "");
	rig_answer_task(&rig, 0, 2, 3, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:2, ack 1");
	rig_wait(&rig, MTIME_MINUTE - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "term 0.2");
	rig_end(&rig);
}
END_TEST

/* The limit before stays, and the warning comes once in a pool. */
START_TEST(one_that_cannot_be_is_ignored)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	set_limit(&rig, 1, 70000);
	rig_expect_told(&rig, "TASK_LIMITED");
	set_limit(&rig, 1, 0);
	ck_assert_str_eq(rig.what, "it is no number from 1 to 31536000000");
	set_limit(&rig, 1, 0);
	rig_expect_told(&rig, "LIMIT_IGNORED");
	rig_wait(&rig, 70 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	expect_timed_out(&rig, 70 * MTIME_SECOND, OF_WORKER);
	rig_end(&rig);
}
END_TEST

START_TEST(without_memory_the_limit_before_stays)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	struct output *output = rig_output(STATUS_PROGRESS, "");
	output->hard_limit_ms = 90000;
	callocs_left = 0;
	rig_answer_this(&rig, 0, 1, output);
	callocs_left = LONG_MAX;
	rig_expect_told(&rig, "LIMIT_IGNORED");
	ck_assert_str_eq(rig.what, "out of memory");
	rig_wait(&rig, MTIME_MINUTE);
	expect_timed_out(&rig, MTIME_MINUTE, OF_POOL);
	rig_end(&rig);
}
END_TEST

START_TEST(progress_without_a_text_leaves_the_one_before)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	for (int i = 0; i < 2; i++) {
		struct output *output = output_copy_of(TEXT("half"), TEXT_NONE, TEXT_NONE);
		output->status = STATUS_PROGRESS;
		output->hard_limit_ms = i == 0 ? -1 : 80000;
		rig_answer_this(&rig, 0, 1, output);
	}
	rig_expect_told(&rig, "TASK_PROGRESS, TASK_LIMITED, TASK_PROGRESS");
	set_limit(&rig, 1, 70000);
	rig_expect_told(&rig, "TASK_LIMITED");
	const struct delivery *head = pool_slot_facts(rig.pool, 0).head;
	ck_assert(text_is(head->progress->body, TEXT("half")));
	rig_end(&rig);
}
END_TEST

/* Of the pool's limit only those tasks follow that have none of their own. */
START_TEST(a_reload_does_not_change_it)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 1);
	config.concurrency = 1;
	rig_begin(&rig, config, 2);
	set_limit(&rig, 1, 40000);
	config.hard_limit = 20 * MTIME_SECOND;
	rig_configure(&rig, config);
	rig_wait(&rig, 20 * MTIME_SECOND);
	rig_expect(&rig, "term 1.1");
	rig_wait(&rig, 20 * MTIME_SECOND - 1);
	rig_expect(&rig, "kill 1.1");
	rig_wait(&rig, 1);
	rig_expect(&rig, "term 0.1");
	rig_end(&rig);
}
END_TEST

/* A worker that is asked to end has a grace, which no limit of its task makes longer or shorter. */
START_TEST(a_worker_that_ends_sets_none)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 1), 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "term 0.1");
	rig_expect_told(&rig, "WORKER_OVERDUE");
	set_limit(&rig, 1, 90000);
	rig_expect_told(&rig, "");
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "kill 0.1");
	rig_end(&rig);
}
END_TEST

/* ---------- several tasks in one worker ---------- */

/* Tasks 1 to 4 begin at once. The third is over its own limit after 10 s, and the first of them
 * has one of two minutes. */
static void begin_four(struct rig *rig)
{
	rig_begin(rig, rig_several(1, 4), 4);
	set_limit(rig, 1, 120000);
	set_limit(rig, 3, 10000);
	rig_wait(rig, 10 * MTIME_SECOND);
	rig_expect(rig, "");
}

START_TEST(its_task_has_hung_if_others_are_heard_of)
{
	struct rig rig;
	begin_four(&rig);
	rig_answer_task(&rig, 0, 1, 4, -1);
	rig_wait(&rig, 5 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "term 0.1");
	ck_assert_int_eq(rig.duration, 10 * MTIME_SECOND);
	ck_assert_uint_eq(rig.culprit, 3);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 3");
	ck_assert_int_eq(rig.reason, REASON_TIMED_OUT);
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 0);
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 3);
	rig_end(&rig);
}
END_TEST

START_TEST(all_are_suspects_if_nothing_is_heard)
{
	struct rig rig;
	begin_four(&rig);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "term 0.1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "");
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 4);
	rig_end(&rig);
}
END_TEST

/* The first and the third are answered; the others are over the pool's limit a minute after their
 * begin, as if there were no other limit. */
START_TEST(others_have_the_limit_of_the_pool)
{
	struct rig rig;
	begin_four(&rig);
	rig_answer_task(&rig, 0, 1, 3, 200);
	rig_deliver(&rig, 5, 5); /* it may get more tasks again */
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "send 0:5, ack 3");
	rig_answer_task(&rig, 0, 1, 5, 200);
	rig_wait(&rig, 49 * MTIME_SECOND - 1);
	rig_expect(&rig, "ack 5");
	rig_answer_task(&rig, 0, 1, 1, -1);
	rig_wait(&rig, 1);
	rig_answer_task(&rig, 0, 1, 1, -1);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "term 0.1");
	ck_assert_int_eq(rig.duration, MTIME_MINUTE);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 4, publish 2 retry 2");
	rig_end(&rig);
}
END_TEST

/* It has passed, so it cannot be moved: else a worker could ask for more time without end while
 * it is watched. */
START_TEST(one_that_is_over_stays_over)
{
	struct rig rig;
	begin_four(&rig);
	set_limit(&rig, 3, 300000);
	rig_answer_task(&rig, 0, 1, 4, -1);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "term 0.1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 3");
	rig_end(&rig);
}
END_TEST

/* The worker is watched for the third. When that is answered, the second is over its limit, too,
 * but not for as long: the worker is watched once more. */
START_TEST(a_worker_is_watched_for_the_latest_that_is_over)
{
	struct rig rig;
	begin_four(&rig);
	set_limit(&rig, 2, 13000);
	rig_wait(&rig, 4 * MTIME_SECOND);
	rig_answer_task(&rig, 0, 1, 3, 200);
	rig_answer_task(&rig, 0, 1, 4, -1);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "ack 3");
	rig_answer_task(&rig, 0, 1, 4, -1);
	rig_wait(&rig, 5 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "term 0.1");
	ck_assert_uint_eq(rig.culprit, 2);
	ck_assert_int_eq(rig.duration, 13 * MTIME_SECOND);
	rig_end(&rig);
}
END_TEST

/* A reload gives those that are watched a longer limit, and the pool no grace: each turn ends, and
 * none follows at once. */
START_TEST(a_turn_ends_without_grace)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 2);
	rig_begin(&rig, config, 4);
	rig_wait(&rig, MTIME_MINUTE);
	config.hard_limit = MTIME_MINUTE + 10 * MTIME_MS;
	config.grace = 0;
	rig_configure(&rig, config);
	rig_wait(&rig, 5 * MTIME_MS);
	rig_expect(&rig, "");
	rig_wait(&rig, 10 * MTIME_MS);
	rig_expect(&rig, "term 0.1, term 1.1, kill 0.1, kill 1.1");
	rig_end(&rig);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("core/hard_limit");
	UNIT_CASE(suite, "one", it_replaces_that_of_the_pool, it_can_be_set_again,
		one_in_the_past_ends_the_task_now, it_is_for_no_other_task,
		it_is_for_no_other_attempt, one_that_cannot_be_is_ignored,
		without_memory_the_limit_before_stays,
		progress_without_a_text_leaves_the_one_before, a_reload_does_not_change_it,
		a_worker_that_ends_sets_none);
	UNIT_CASE(suite, "several", its_task_has_hung_if_others_are_heard_of,
		all_are_suspects_if_nothing_is_heard, others_have_the_limit_of_the_pool,
		one_that_is_over_stays_over, a_worker_is_watched_for_the_latest_that_is_over,
		a_turn_ends_without_grace);
	return suite;
}

UNIT_MAIN(suite)
