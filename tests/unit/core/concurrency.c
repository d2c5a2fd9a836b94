/* Several tasks at once in one worker: ids, limits of each task, and the number of workers. */
#include "core/dispatch/by_load.h"
#include "core/dispatch/dispatch_internal.h"
#include "core/pool_facts.h"
#include "unit/support/core/memory.h"
#include "unit/support/core/rig.h"

#include <limits.h>

START_TEST(answers_come_in_any_order)
{
	struct rig rig;
	rig_start(&rig, rig_several(1, 3));
	rig_deliver(&rig, 1, 4);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, send 0:2, send 0:3");
	rig_answer_task(&rig, 0, 1, 2, -1);
	rig_answer_task(&rig, 0, 1, 3, 200);
	rig_answer_task(&rig, 0, 1, 1, 400);
	rig_expect_told(&rig, "TASK_PROGRESS, TASK_DONE, TASK_GIVEN_UP");
	rig_expect(&rig, "publish 1 dead 1");
	rig_turn(&rig);
	rig_forget(&rig);
	rig_answer_task(&rig, 0, 1, 2, 200);
	rig_answer_task(&rig, 0, 1, 4, 200);
	rig_confirm(&rig, 1);
	rig_turn(&rig);
	rig_expect(&rig, "ack 4*");
	rig_end(&rig);
}
END_TEST

START_TEST(the_worker_with_the_fewest_tasks_is_next)
{
	struct rig rig;
	struct pool_config config = rig_several(2, 4);
	config.prefetch = 16;
	rig_start(&rig, config);
	rig_deliver(&rig, 1, 5);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, send 1:2, send 0:3, send 1:4, send 0:5");
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_answer_task(&rig, 0, 1, 5, 200);
	rig_deliver(&rig, 6, 12);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:6, send 1:7, send 0:8, send 1:9, send 0:10, ack 1, ack 5");
	struct slot_facts facts = pool_slot_facts(rig.pool, 0);
	ck_assert_uint_eq(facts.tasks, 4);
	ck_assert_uint_eq(facts.head->tag, 3);
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 2);
	rig_end(&rig);
}
END_TEST

/* More lists than a word of bits has, and more words than a group. */
START_TEST(the_fewest_of_any_loads_are_found)
{
	enum { PIPES = 20 };
	struct by_load by_load;
	struct pipe pipes[PIPES];
	ck_assert_int_eq(by_load_init(&by_load, POOL_CONCURRENCY_MAX), RC_OK);
	ck_assert_ptr_null(by_load_first(&by_load));
	for (uint16_t i = 0; i < PIPES; i++) {
		dispatch_add_slot(&pipes[i], i);
		by_load_append(&by_load, &pipes[i]);
	}
	srandom(1);
	for (int step = 0; step < 20000; step++) {
		struct pipe *pipe = &pipes[random() % PIPES];
		uint16_t fewest = UINT16_MAX;
		by_load_remove(&by_load, pipe);
		pipe->load = (uint16_t)(random() % POOL_CONCURRENCY_MAX);
		if (step % 2)
			by_load_append(&by_load, pipe);
		else
			by_load_prepend(&by_load, pipe);
		for (int i = 0; i < PIPES; i++)
			fewest = pipes[i].load < fewest ? pipes[i].load : fewest;
		ck_assert_uint_eq(by_load_first(&by_load)->load, fewest);
	}
	for (int i = 0; i < PIPES; i++)
		by_load_remove(&by_load, &pipes[i]);
	ck_assert_ptr_null(by_load_first(&by_load));
	by_load_release(&by_load);
}
END_TEST

START_TEST(a_turn_sends_a_limited_number)
{
	struct rig rig;
	struct pool_config config = rig_several(1, POOL_CONCURRENCY_MAX);
	config.prefetch = POOL_WINDOW_MAX;
	rig_start(&rig, config);
	for (uint64_t tag = 1; tag <= DISPATCH_SENDS + 2; tag++)
		pool_step(rig.pool, rig.now,
			&(struct event){.kind = DELIVERY,
				.source = {
					.epoch = rig.source_epoch, .delivery = rig_delivery(tag)}});
	/* The rig cannot record so many. */
	rig.is_mute = true;
	rig_turn(&rig);
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 0).tasks, DISPATCH_SENDS);
	ck_assert_int_le(pool_deadline(rig.pool), rig.now + 1);
	rig_turn(&rig);
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 0).tasks, DISPATCH_SENDS + 2);
	rig_end(&rig);
}
END_TEST

/* ---------- ids ---------- */

START_TEST(the_head_is_meant_without_concurrency)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 3);
	rig_answer(&rig, 0, 200);
	rig_answer_task(&rig, 0, 1, 2, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3, ack 2*");
	rig_end(&rig);
}
END_TEST

START_TEST(an_id_is_checked_without_concurrency)
{
	struct rig rig;
	static const uint64_t wrong[] = {2, 3, UINT64_MAX};
	for (size_t i = 0; i < 3; i++) {
		rig_begin(&rig, rig_config(1, 2), 2);
		rig_answer_task(&rig, 0, 1, wrong[i], 200);
		ck_assert_str_eq(rig.what, "an answer with the id of another task");
		rig_expect(&rig, "kill 0.1");
		rig_gone(&rig, 0, 1);
		rig_expect(&rig, "publish 1 retry 1"); /* and 2 was not begun */
		rig_end(&rig);
	}
}
END_TEST

/* Nobody can say which task it is about, so that of two both run alone. */
START_TEST(an_id_that_is_not_open_is_a_protocol_error)
{
	static const struct {
		uint64_t id;
		const char *what;
	} cases[] = {
		{0, "an answer without the id of its task"},
		{2, "an answer with the id of a task that is not open"}, /* another worker's */
		{9, "an answer with the id of a task that is not open"},
		{1, "an answer with the id of a task that is not open"}, /* answered before */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct rig rig;
		rig_begin(&rig, rig_several(2, 3), 6);
		rig_answer_task(&rig, 0, 1, 1, 200);
		rig_answer_task(&rig, 0, 1, cases[i].id, 200);
		ck_assert_str_eq(rig.what, cases[i].what);
		rig_answer_task(&rig, 0, 1, 3, 200); /* it is not listened to any more */
		rig_gone(&rig, 0, 1);
		rig_expect(&rig, "kill 0.1");
		ck_assert_uint_eq(pool_facts(rig.pool).suspects, 2);
		rig_end(&rig);
	}
}
END_TEST

START_TEST(the_task_that_an_error_names_pays)
{
	for (int is_frame = 0; is_frame < 2; is_frame++) {
		struct rig rig;
		rig_begin(&rig, rig_several(1, 3), 3);
		if (is_frame)
			rig_broken_task(&rig, 0, 2);
		else
			rig_answer_task(&rig, 0, 1, 2, 7); /* no such status */
		rig_expect(&rig, "kill 0.1");
		ck_assert_uint_eq(rig.culprit, 2);
		rig.culprit = 0;
		rig_gone(&rig, 0, 1);
		ck_assert_uint_eq(rig.culprit, 2);
		rig_expect(&rig, "publish 1 retry 2");
		ck_assert_int_eq(rig.reason, REASON_PROTOCOL);
		ck_assert_uint_eq(pool_facts(rig.pool).suspects, 0);
		ck_assert_uint_eq(pool_facts(rig.pool).waiting, 2);
		rig_end(&rig);
	}
}
END_TEST

START_TEST(an_answer_without_a_task_is_a_protocol_error)
{
	struct rig rig;
	rig_start(&rig, rig_several(1, 3));
	rig_answer_task(&rig, 0, 1, 1, 200);
	ck_assert_str_eq(rig.what, "an answer with no task open");
	rig_end(&rig);
}
END_TEST

/* ---------- limits ---------- */

static struct pool_config limited(uint16_t workers, uint16_t concurrency)
{
	struct pool_config config = rig_several(workers, concurrency);
	config.on_soft = SOFT_CANCEL;
	config.soft_limit = 20 * MTIME_SECOND;
	return config;
}

START_TEST(each_task_has_its_own_soft_limit)
{
	struct rig rig;
	rig_begin(&rig, limited(1, 3), 1);
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_deliver(&rig, 2, 3);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_expect(&rig, "cancel 0.1:1");
	rig_answer_task(&rig, 0, 1, 3, 200);
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_expect(&rig, "cancel 0.1:2, ack 3");
	rig_wait(&rig, 20 * MTIME_SECOND);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* The worker sends something of another task after this one was due: so it is this one that
 * hangs. */
START_TEST(a_hung_task_alone_pays)
{
	static const int32_t signs[] = {200, -1};
	for (int i = 0; i < 2; i++) {
		struct rig rig;
		rig_begin(&rig, rig_several(1, 3), 1);
		rig_wait(&rig, 30 * MTIME_SECOND);
		rig_deliver(&rig, 2, 3);
		rig_turn(&rig);
		rig_wait(&rig, 30 * MTIME_SECOND);
		rig_expect(&rig, "send 0:2, send 0:3");
		rig_answer_task(&rig, 0, 1, 2, signs[i]);
		rig_deliver(&rig, 4, 4);
		rig_wait(&rig, 5 * MTIME_SECOND - 1);
		ck_assert_ptr_null(strstr(rig.done, "send")); /* it gets no other task */
		rig_forget(&rig);
		rig_wait(&rig, 1);
		rig_expect(&rig, "term 0.1");
		rig_answer_task(&rig, 0, 1, 3, 200); /* while it ends */
		rig_gone(&rig, 0, 1);
		rig_expect(&rig, "publish 1 retry 1");
		ck_assert_int_eq(rig.reason, REASON_TIMED_OUT);
		ck_assert_uint_eq(pool_facts(rig.pool).suspects, 0);
		ck_assert_uint_eq(pool_facts(rig.pool).waiting, i ? 2 : 1);
		rig_end(&rig);
	}
}
END_TEST

/* Task 1 is due now, and those up to `last` began a second after it. */
static void begin_overdue(struct rig *rig, uint16_t concurrency, uint64_t last)
{
	rig_begin(rig, rig_several(1, concurrency), 1);
	rig_wait(rig, MTIME_SECOND);
	rig_deliver(rig, 2, last);
	rig_turn(rig);
	rig_wait(rig, 59 * MTIME_SECOND);
}

START_TEST(its_own_progress_is_no_sign)
{
	struct rig rig;
	begin_overdue(&rig, 2, 2);
	rig_answer_task(&rig, 0, 1, 1, -1);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_gone(&rig, 0, 1);
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 2);
	rig_end(&rig);
}
END_TEST

START_TEST(progress_of_another_task_is_a_sign)
{
	struct rig rig;
	begin_overdue(&rig, 2, 2);
	rig_answer_task(&rig, 0, 1, 1, -1);
	rig_answer_task(&rig, 0, 1, 2, -1);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_forget(&rig);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 1");
	rig_end(&rig);
}
END_TEST

/* The task that has hung is answered while its worker ends: nobody pays, and nobody is named. */
START_TEST(a_hung_task_may_be_answered_in_the_grace)
{
	struct rig rig;
	begin_overdue(&rig, 3, 2);
	rig_answer_task(&rig, 0, 1, 2, -1);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_forget(&rig);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "");
	ck_assert_uint_eq(rig.culprit, 0);
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 0);
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 1);
	rig_end(&rig);
}
END_TEST

/* One of them blocked the worker's loop for too long. When it ends, all are answered. */
START_TEST(a_block_that_ends_costs_nothing)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 3), 3);
	rig_wait(&rig, MTIME_MINUTE + MTIME_SECOND);
	rig_answer_task(&rig, 0, 1, 3, 200);
	rig_wait(&rig, 3 * MTIME_SECOND);
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_answer_task(&rig, 0, 1, 2, 200);
	rig_deliver(&rig, 4, 4);
	rig_wait(&rig, 30 * MTIME_SECOND);
	rig_expect(&rig, "ack 3, send 0:4, ack 2*");
	rig_end(&rig);
}
END_TEST

START_TEST(of_a_silent_worker_all_are_suspects)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 3), 3);
	rig.culprit = UINT64_MAX;
	rig_wait(&rig, MTIME_MINUTE + 5 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "term 0.1");
	ck_assert_uint_eq(rig.culprit, 0);
	rig_answer_task(&rig, 0, 1, 1, 200); /* too late to be a sign, but an answer */
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.2, ack 1");
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 2);
	rig_end(&rig);
}
END_TEST

START_TEST(a_late_answer_of_the_overdue_task_counts)
{
	struct rig rig;
	begin_overdue(&rig, 2, 3);
	rig_expect(&rig, "send 0:2");
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:3, ack 1");
	rig_wait(&rig, 6 * MTIME_SECOND); /* 2 is due after 1 s, and watched for 5 s */
	rig_expect(&rig, "term 0.1");
	rig_gone(&rig, 0, 1);
	ck_assert_uint_eq(pool_facts(rig.pool).suspects, 2);
	rig_end(&rig);
}
END_TEST

/* Each is watched for the whole time: the second one is due when the first is answered. */
START_TEST(an_overdue_task_is_watched_for_the_whole_time)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 3), 1);
	rig_wait(&rig, 4 * MTIME_SECOND);
	rig_deliver(&rig, 2, 3);
	rig_turn(&rig);
	rig_wait(&rig, 60 * MTIME_SECOND); /* 2 and 3 are due, and 1 since 4 s */
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_forget(&rig);
	rig_wait(&rig, MTIME_SECOND); /* the time of 1 is over */
	rig_answer_task(&rig, 0, 1, 3, 200);
	rig_wait(&rig, 5 * MTIME_SECOND - 1);
	ck_assert_ptr_null(strstr(rig.done, "term"));
	rig_wait(&rig, 1);
	ck_assert_ptr_nonnull(strstr(rig.done, "term 0.1"));
	rig_forget(&rig);
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 2");
	rig_end(&rig);
}
END_TEST

/* The older one reports progress, so the notice names the other one. */
START_TEST(the_hung_task_is_named_and_not_the_oldest)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 2), 2);
	rig_wait(&rig, MTIME_MINUTE);
	rig_answer_task(&rig, 0, 1, 1, -1);
	rig_wait(&rig, 5 * MTIME_SECOND);
	rig_expect(&rig, "term 0.1");
	ck_assert_uint_eq(rig.culprit, 2);
	rig_gone(&rig, 0, 1);
	ck_assert_uint_eq(rig.culprit, 2);
	rig_expect(&rig, "publish 1 retry 2");
	rig_end(&rig);
}
END_TEST

START_TEST(the_only_task_of_a_worker_has_hung_at_once)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 3), 1);
	rig_wait(&rig, MTIME_MINUTE);
	rig_expect(&rig, "term 0.1");
	rig_gone(&rig, 0, 1);
	rig_expect(&rig, "publish 1 retry 1");
	rig_end(&rig);
}
END_TEST

static void cancel(struct rig *rig, uint64_t task_id)
{
	rig_step(rig, (struct event){.kind = COMMAND,
			      .command = {.what = COMMAND_CANCEL, .task_id = task_id}});
}

/* A worker that does not read its standard input is asked again. */
START_TEST(a_deaf_worker_is_asked_again)
{
	struct rig rig;
	rig_begin(&rig, limited(1, 3), 1);
	rig.is_deaf = true;
	rig_wait(&rig, 21 * MTIME_SECOND);
	rig.is_deaf = false;
	rig_wait(&rig, 10 * MTIME_SECOND);
	rig_expect(&rig, "cancel 0.1:1, cancel 0.1:1, cancel 0.1:1");
	rig.is_deaf = true;
	cancel(&rig, 1);
	ck_assert_str_eq(rig.what, "the task's worker does not read its standard input");
	rig_end(&rig);
}
END_TEST

START_TEST(a_turn_asks_a_limited_number)
{
	struct rig rig;
	struct pool_config config = limited(1, 1000);
	config.prefetch = 1000;
	rig_start(&rig, config);
	rig.is_mute = true;
	rig_deliver(&rig, 1, 1000);
	rig_turn(&rig);
	rig.now += 20 * MTIME_SECOND;
	rig_turn(&rig);
	ck_assert_uint_eq(rig.asks, 256);
	ck_assert_int_le(pool_deadline(rig.pool), rig.now);
	for (int i = 0; i < 3; i++)
		rig_turn(&rig);
	ck_assert_uint_eq(rig.asks, 1000);
	rig_end(&rig);
}
END_TEST

/* Without memory for the timers of soft limits nothing is sent, for a moment. */
START_TEST(a_lack_of_memory_for_timers_delays_tasks)
{
	struct rig rig;
	rig_start(&rig, limited(1, 3));
	rig_deliver(&rig, 1, 1);
	callocs_left = 0;
	rig_turn(&rig);
	callocs_left = LONG_MAX;
	rig_expect(&rig, "");
	rig_wait(&rig, 10 * MTIME_MS);
	rig_expect(&rig, "send 0:1");
	rig_end(&rig);
}
END_TEST

/* Without concurrency a task behind a stopped head has no limit, but takes a time. */
START_TEST(an_answer_in_the_grace_took_the_time_since_the_one_before)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 2));
	rig_wait(&rig, 5000 * MTIME_SECOND);
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	rig_wait(&rig, 61 * MTIME_SECOND);
	rig_answer(&rig, 0, 200);
	rig_wait(&rig, MTIME_SECOND);
	rig_answer(&rig, 0, 200);
	ck_assert_int_eq(rig.duration, MTIME_SECOND);
	rig_end(&rig);
}
END_TEST

START_TEST(an_unknown_status_is_named)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 3), 3);
	rig_answer_task(&rig, 0, 1, 2, 999);
	ck_assert_str_eq(rig.what, "an unknown status");
	rig_end(&rig);
}
END_TEST

START_TEST(an_operator_cancels_a_task)
{
	struct rig rig;
	rig_begin(&rig, rig_several(2, 3), 4);
	rig_forget(&rig);
	cancel(&rig, 4);
	rig_expect(&rig, "cancel 1.1:4");
	rig_expect_told(&rig, "TASK_CANCELLED");
	rig_answer_task(&rig, 1, 1, 4, 500);
	rig_forget(&rig);
	cancel(&rig, 4);
	rig_expect(&rig, "");
	rig_expect_told(&rig, "COMMAND_REFUSED");
	ck_assert_str_eq(rig.what, "no worker has a task with this id");
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_that_waits_in_a_pipe_cannot_be_cancelled)
{
	struct rig rig;
	rig_begin(&rig, rig_config(1, 2), 2);
	cancel(&rig, 2);
	rig_expect(&rig, "");
	ck_assert_str_eq(rig.what, "the task's worker has not begun it, or is ending");
	rig_command(&rig, COMMAND_DRAIN);
	rig_forget(&rig);
	cancel(&rig, 1);
	rig_expect(&rig, "cancel 0.1:1");
	rig_end(&rig);
}
END_TEST

/* ---------- the pool as a whole ---------- */

START_TEST(a_lost_channel_leaves_orphans)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 3), 3);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_answer_task(&rig, 0, 1, 2, 200);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	ck_assert_uint_eq(pool_facts(rig.pool).waiting, 0);
	ck_assert_uint_eq(pool_facts(rig.pool).in_pipes, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(a_drain_ends_when_all_are_answered)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 2), 3);
	rig_command(&rig, COMMAND_DRAIN);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_turn(&rig);
	rig_answer_task(&rig, 0, 1, 2, 200);
	rig_turn(&rig);
	rig_expect(&rig, "rest, requeue 3, ack 2");
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_turn(&rig);
	rig_expect(&rig, "quit 0.1, ack 1, close");
	rig_end(&rig);
}
END_TEST

START_TEST(a_forced_stop_gives_all_back)
{
	struct rig rig;
	rig_begin(&rig, rig_several(1, 3), 3);
	rig_command(&rig, COMMAND_FORCE);
	rig_expect(&rig, "kill 0.1, requeue 3, requeue 2, requeue 1");
	rig_expect_told(&rig, "TASK_CUT_SHORT, TASK_CUT_SHORT, TASK_CUT_SHORT");
	rig_end(&rig);
}
END_TEST

START_TEST(a_worker_gets_no_more_tasks_than_it_may)
{
	struct rig rig;
	struct pool_config config = rig_several(1, 4);
	config.recycle.tasks = 3;
	rig_start(&rig, config);
	rig_deliver(&rig, 1, 5);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1, send 0:2, send 0:3");
	rig_answer_task(&rig, 0, 1, 3, 200);
	rig_answer_task(&rig, 0, 1, 1, 200);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "quit"));
	rig_forget(&rig);
	rig_answer_task(&rig, 0, 1, 2, 200);
	rig_expect(&rig, "quit 0.1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_grows_when_no_place_is_left)
{
	struct rig rig;
	struct pool_config config = rig_several(1, 4);
	config.workers_max = 3;
	config.prefetch = 16;
	rig_begin(&rig, config, 4);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, ""); /* all places are taken, and nothing waits */
	rig_deliver(&rig, 5, 9);
	rig_turn(&rig);
	rig_wait(&rig, MTIME_SECOND);
	ck_assert_uint_eq(pool_facts(rig.pool).wanted, 3); /* five need two more */
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_shrinks_to_the_peak_of_open_tasks)
{
	struct rig rig;
	struct pool_config config = rig_several(1, 4);
	config.workers_max = 4;
	config.hard_limit = MTIME_NEVER;
	rig_start(&rig, config);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_SCALE, .number = 4, .max = 4}});
	rig_wait(&rig, 1);
	for (uint16_t slot = 1; slot < 4; slot++)
		rig_ready(&rig, slot, 1);
	rig_step(&rig, (struct event){.kind = COMMAND,
			       .command = {.what = COMMAND_SCALE, .number = 1, .max = 4}});
	rig_deliver(&rig, 1, 6); /* six tasks need two workers of four places */
	rig_turn(&rig);
	rig_wait(&rig, 20 * MTIME_MINUTE);
	ck_assert_uint_ge(pool_facts(rig.pool).wanted, 2);
	ck_assert_uint_le(pool_facts(rig.pool).wanted, 3); /* and a reserve */
	rig_end(&rig);
}
END_TEST

/* What the tasks of a dead worker took does not count, also if it was counted before. */
START_TEST(a_crash_is_no_negative_work)
{
	struct rig rig;
	struct pool_config config = rig_several(1, 4);
	config.workers_max = 3;
	config.prefetch = 16;
	config.policy.attempts = 1;
	rig_begin(&rig, config, 9);
	rig_wait(&rig, MTIME_SECOND / 20);
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, MTIME_SECOND / 5);
	ck_assert_uint_eq(pool_facts(rig.pool).wanted, 1);
	rig_end(&rig);
}
END_TEST

static Suite *concurrency_suite(void)
{
	Suite *suite = suite_create("core/concurrency");
	UNIT_CASE(suite, "sent", answers_come_in_any_order,
		the_worker_with_the_fewest_tasks_is_next, the_fewest_of_any_loads_are_found,
		a_turn_sends_a_limited_number);
	UNIT_CASE(suite, "ids", the_head_is_meant_without_concurrency,
		an_id_is_checked_without_concurrency, an_id_that_is_not_open_is_a_protocol_error,
		the_task_that_an_error_names_pays, an_answer_without_a_task_is_a_protocol_error);
	UNIT_CASE(suite, "more", a_deaf_worker_is_asked_again, progress_of_another_task_is_a_sign,
		a_hung_task_may_be_answered_in_the_grace, a_turn_asks_a_limited_number,
		a_lack_of_memory_for_timers_delays_tasks, a_crash_is_no_negative_work,
		an_answer_in_the_grace_took_the_time_since_the_one_before,
		an_unknown_status_is_named);
	UNIT_CASE(suite, "limits", each_task_has_its_own_soft_limit, a_hung_task_alone_pays,
		of_a_silent_worker_all_are_suspects, a_late_answer_of_the_overdue_task_counts,
		its_own_progress_is_no_sign, a_block_that_ends_costs_nothing,
		an_overdue_task_is_watched_for_the_whole_time,
		the_hung_task_is_named_and_not_the_oldest,
		the_only_task_of_a_worker_has_hung_at_once, an_operator_cancels_a_task,
		a_task_that_waits_in_a_pipe_cannot_be_cancelled);
	UNIT_CASE(suite, "pool", a_lost_channel_leaves_orphans, a_drain_ends_when_all_are_answered,
		a_forced_stop_gives_all_back, a_worker_gets_no_more_tasks_than_it_may,
		a_pool_grows_when_no_place_is_left, a_pool_shrinks_to_the_peak_of_open_tasks);
	return suite;
}

UNIT_MAIN(concurrency_suite)
