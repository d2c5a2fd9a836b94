/* Dispatch: which worker gets the next task, and what comes back from a pipe. */
#include "core/dispatch/dispatch.h"
#include "unit/support/core/rig.h"

#define SLOTS 3

struct bench {
	struct rig rig; /* records the sends */
	struct dispatch dispatch;
	struct source source;
	struct pipe pipes[SLOTS];
	uint64_t last_task_id;
};

static void bench_with(struct bench *bench, mtime pipe_wait)
{
	*bench = (struct bench){0};
	struct pool_config config = {.concurrency = 1};
	ck_assert_int_eq(dispatch_init(&bench->dispatch, &config, NULL, &bench->last_task_id,
				 &rig_effects, &bench->rig),
		RC_OK);
	dispatch_configure(&bench->dispatch, pipe_wait);
	source_init(&bench->source, false, &rig_effects, &bench->rig);
	source_up(&bench->source, 1);
	for (uint16_t i = 0; i < SLOTS; i++) {
		dispatch_add_slot(&bench->pipes[i], i);
		dispatch_slot_up(&bench->dispatch, &bench->pipes[i]);
	}
}

static void bench_init(struct bench *bench)
{
	bench_with(bench, MTIME_NEVER);
}

static void offer(struct bench *bench, uint64_t first, uint64_t last)
{
	for (uint64_t tag = first; tag <= last; tag++) {
		struct delivery *delivery = rig_delivery(tag);
		source_open(&bench->source, delivery);
		dispatch_offer(&bench->dispatch, delivery);
	}
}

static void run(struct bench *bench, uint32_t depth, mtime now, const char *wanted)
{
	struct delivery *invalid = NULL;
	ck_assert_int_eq(dispatch_run(&bench->dispatch, depth, 1, now, &invalid), DISPATCH_DONE);
	ck_assert_ptr_null(invalid);
	rig_expect(&bench->rig, wanted);
}

static void finish(struct bench *bench, uint16_t slot, mtime now)
{
	struct delivery *head = pipe_head(&bench->pipes[slot]);
	dispatch_end(&bench->dispatch, head, now);
	source_release(head);
}

static void bench_end(struct bench *bench)
{
	struct link *link;
	dispatch_release(&bench->dispatch);
	while ((link = list_first(&bench->source.unacked))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		source_forget(delivery);
		delivery_free(delivery);
	}
}

START_TEST(the_least_loaded_pipe_is_next)
{
	struct bench bench;
	bench_init(&bench);
	offer(&bench, 1, 7);
	run(&bench, 2, 0, "send 0:1, send 1:2, send 2:3, send 0:4, send 1:5, send 2:6");
	ck_assert_uint_eq(bench.dispatch.queued_count, 1);
	finish(&bench, 1, 0);
	run(&bench, 1, 0, "");
	run(&bench, 2, 0, "send 1:7");
	finish(&bench, 2, 0);
	finish(&bench, 2, 0);
	offer(&bench, 8, 10);
	run(&bench, 64, 0, "send 2:8, send 2:9, send 0:10");
	bench_end(&bench);
}
END_TEST

START_TEST(the_idle_pipe_that_was_busy_last_is_next)
{
	struct bench bench;
	bench_init(&bench);
	offer(&bench, 1, 3);
	run(&bench, 1, 0, "send 0:1, send 1:2, send 2:3");
	finish(&bench, 1, 0);
	finish(&bench, 0, 0);
	finish(&bench, 2, 0);
	offer(&bench, 4, 6);
	run(&bench, 1, 0, "send 2:4, send 0:5, send 1:6");
	bench_end(&bench);
}
END_TEST

static void run_packed(struct bench *bench, uint32_t pack, mtime now, const char *wanted)
{
	struct delivery *invalid = NULL;
	ck_assert_int_eq(dispatch_run(&bench->dispatch, 64, pack, now, &invalid), DISPATCH_DONE);
	rig_expect(&bench->rig, wanted);
}

START_TEST(a_worker_that_just_began_is_filled_before_another_is_woken)
{
	struct bench bench;
	bench_init(&bench);
	offer(&bench, 1, 7);
	run_packed(&bench, 3, 0,
		"send 0:1, send 0:2, send 0:3, send 1:4, send 1:5, send 1:6, send 2:7");
	for (int i = 0; i < 3; i++)
		finish(&bench, 0, 0);
	offer(&bench, 8, 10);
	run_packed(&bench, 3, DISPATCH_WAKING - 1, "send 2:8, send 2:9, send 0:10");
	/* Slot 0 began just now; later it has been running for too long. */
	finish(&bench, 1, DISPATCH_WAKING);
	finish(&bench, 1, DISPATCH_WAKING);
	finish(&bench, 1, DISPATCH_WAKING);
	offer(&bench, 11, 11);
	run_packed(&bench, 3, DISPATCH_WAKING, "send 0:11");
	offer(&bench, 12, 12);
	run_packed(&bench, 3, 2 * DISPATCH_WAKING, "send 1:12");
	/* Nothing is sent to a worker that cannot take it or is to leave. */
	dispatch_slot_writable(&bench.dispatch, &bench.pipes[1], false);
	finish(&bench, 2, 2 * DISPATCH_WAKING);
	finish(&bench, 2, 2 * DISPATCH_WAKING);
	finish(&bench, 2, 2 * DISPATCH_WAKING);
	offer(&bench, 13, 13);
	run_packed(&bench, 3, 2 * DISPATCH_WAKING, "send 2:13");
	dispatch_slot_dismiss(&bench.dispatch, &bench.pipes[2]);
	offer(&bench, 14, 14);
	run_packed(&bench, 3, 2 * DISPATCH_WAKING, "send 0:14");
	bench_end(&bench);
}
END_TEST

START_TEST(a_pipe_holds_at_most_64_tasks)
{
	struct bench bench;
	bench_init(&bench);
	dispatch_slot_stop(&bench.dispatch, &bench.pipes[1]);
	dispatch_slot_writable(&bench.dispatch, &bench.pipes[2], false);
	offer(&bench, 1, 70);
	struct delivery *invalid = NULL;
	ck_assert_int_eq(dispatch_run(&bench.dispatch, 64, 1, 0, &invalid), DISPATCH_DONE);
	rig_forget(&bench.rig);
	ck_assert_uint_eq(bench.pipes[0].load, 64);
	ck_assert_ptr_null(by_load_first(&bench.dispatch.open));
	finish(&bench, 0, 0);
	run(&bench, 64, 0, "send 0:65");
	dispatch_slot_writable(&bench.dispatch, &bench.pipes[2], true);
	run(&bench, 64, 0, "send 2:66, send 2:67, send 2:68, send 2:69, send 2:70");
	bench_end(&bench);
}
END_TEST

START_TEST(tasks_of_a_lost_worker_are_requeued_in_order)
{
	struct bench bench;
	bench_init(&bench);
	dispatch_slot_stop(&bench.dispatch, &bench.pipes[1]);
	dispatch_slot_stop(&bench.dispatch, &bench.pipes[2]);
	offer(&bench, 1, 6);
	run(&bench, 4, 0, "send 0:1, send 0:2, send 0:3, send 0:4");
	struct delivery *last;
	dispatch_slot_stop(&bench.dispatch, &bench.pipes[0]);
	for (uint64_t tag = 4; (last = dispatch_take_last(&bench.dispatch, &bench.pipes[0]));
		tag--) {
		ck_assert_uint_eq(last->tag, tag);
		dispatch_requeue(&bench.dispatch, last, 0);
	}
	for (uint64_t tag = 1; tag <= 6; tag++)
		ck_assert_uint_eq(dispatch_take(&bench.dispatch)->tag, tag);
	ck_assert_ptr_null(dispatch_take(&bench.dispatch));
	bench_end(&bench);
}
END_TEST

START_TEST(the_task_that_runs_longest_is_first)
{
	struct bench bench;
	bench_init(&bench);
	const struct running *running = &bench.dispatch.running;
	ck_assert_ptr_null(running->longest);
	offer(&bench, 1, 4);
	run(&bench, 2, 10, "send 0:1, send 1:2, send 2:3, send 0:4");
	ck_assert_uint_eq(running->longest->tag, 1);
	finish(&bench, 0, 50); /* the second one of slot 0 runs from now */
	ck_assert_uint_eq(running->longest->tag, 2);
	finish(&bench, 1, 60);
	finish(&bench, 2, 60);
	ck_assert_uint_eq(running->longest->tag, 4);
	ck_assert_int_eq(running->longest->begun_at, 50);
	dispatch_slot_stop(&bench.dispatch, &bench.pipes[0]);
	ck_assert_ptr_null(running->longest);
	finish(&bench, 0, 70);
	ck_assert_ptr_null(running->longest);
	bench_end(&bench);
}
END_TEST

START_TEST(a_failed_send_is_reported)
{
	struct bench bench;
	struct delivery *invalid = NULL;
	bench_init(&bench);
	offer(&bench, 1, 2);
	bench.rig.send = SEND_NO_MEMORY;
	ck_assert_int_eq(dispatch_run(&bench.dispatch, 1, 1, 0, &invalid), DISPATCH_NO_MEMORY);
	ck_assert_uint_eq(bench.dispatch.queued_count, 2);
	bench.rig.send = SEND_TOO_LARGE;
	ck_assert_int_eq(dispatch_run(&bench.dispatch, 1, 1, 0, &invalid), DISPATCH_INVALID);
	ck_assert_uint_eq(invalid->tag, 1);
	bench.rig.send = SEND_OK;
	run(&bench, 1, 0, "send 0:2");
	bench_end(&bench);
}
END_TEST

START_TEST(a_lost_source_leaves_orphans_in_pipes_only)
{
	struct bench bench;
	bench_init(&bench);
	offer(&bench, 1, 5);
	run(&bench, 1, 0, "send 0:1, send 1:2, send 2:3");
	finish(&bench, 0, 0);
	dispatch_source_down(&bench.dispatch, &bench.source, 0);
	ck_assert_uint_eq(bench.dispatch.queued_count, 0);
	ck_assert_uint_eq(bench.source.open, 1); /* the released one is the source's */
	struct delivery *orphan = pipe_head(&bench.pipes[1]);
	dispatch_end(&bench.dispatch, orphan, 0);
	ck_assert_ptr_null(orphan->source);
	delivery_free(orphan);
	delivery_free(dispatch_take_last(&bench.dispatch, &bench.pipes[2]));
	bench_end(&bench);
}
END_TEST

START_TEST(no_task_is_sent_behind_a_slow_head)
{
	struct bench bench;
	bench_with(&bench, 1000);
	offer(&bench, 1, 14);
	run(&bench, 2, 0, "send 0:1, send 1:2, send 2:3, send 0:4, send 1:5, send 2:6");
	finish(&bench, 1, 600);
	finish(&bench, 1, 600);
	finish(&bench, 2, 600); /* its second one is fresh now */
	ck_assert(!dispatch_hold_up(&bench.dispatch, 999));
	ck_assert(dispatch_hold_up(&bench.dispatch, 1000));
	ck_assert(!dispatch_hold_up(&bench.dispatch, 1000)); /* nothing new */
	run(&bench, 3, 1000, "send 1:7, send 2:8, send 1:9, send 2:10, send 1:11");
	ck_assert(dispatch_hold_up(&bench.dispatch, 1600)); /* slot 2, since 600 */
	run(&bench, 5, 1600, "send 1:12, send 1:13");
	dispatch_slot_writable(&bench.dispatch, &bench.pipes[0], false);
	dispatch_slot_writable(&bench.dispatch, &bench.pipes[0], true);
	run(&bench, 5, 1600, "");
	finish(&bench, 0, 1700); /* what was behind it is the head now, and fresh */
	run(&bench, 5, 1700, "send 0:14");
	bench_end(&bench);
}
END_TEST

START_TEST(a_stopped_slot_is_not_held_up)
{
	struct bench bench;
	bench_with(&bench, 1000);
	offer(&bench, 1, 3);
	run(&bench, 1, 0, "send 0:1, send 1:2, send 2:3");
	dispatch_slot_stop(&bench.dispatch, &bench.pipes[0]);
	ck_assert(dispatch_hold_up(&bench.dispatch, 1000));
	ck_assert(!(bench.pipes[0].closed & PIPE_HELD_UP));
	dispatch_slot_stop(&bench.dispatch, &bench.pipes[1]);
	ck_assert(!(bench.pipes[1].closed & PIPE_HELD_UP));
	finish(&bench, 1, 1000);
	ck_assert(!dispatch_hold_up(&bench.dispatch, MTIME_SECOND));
	bench_end(&bench);
}
END_TEST

static Suite *dispatch_suite(void)
{
	Suite *suite = suite_create("core/dispatch");
	UNIT_CASE(suite, "dispatch", the_least_loaded_pipe_is_next,
		the_idle_pipe_that_was_busy_last_is_next,
		a_worker_that_just_began_is_filled_before_another_is_woken,
		a_pipe_holds_at_most_64_tasks, tasks_of_a_lost_worker_are_requeued_in_order,
		the_task_that_runs_longest_is_first, a_failed_send_is_reported,
		a_lost_source_leaves_orphans_in_pipes_only, no_task_is_sent_behind_a_slow_head,
		a_stopped_slot_is_not_held_up);
	return suite;
}

UNIT_MAIN(dispatch_suite)
