/* The window, while deliveries of a cancelled consumer are still in hand. */
#include "unit/support/core/rig.h"

#define LARGE (256 * 1024) /* a quarter of a rig's memory */

static void deliver_body(struct rig *rig, uint64_t tag, size_t body)
{
	struct delivery *delivery = delivery_new(body);
	ck_assert_ptr_nonnull(delivery);
	delivery->tag = tag;
	delivery->body = text_of((const char *)delivery->bytes, body);
	rig_deliver_this(rig, delivery);
}

static void deliver_bodies(struct rig *rig, uint64_t first, uint64_t last, size_t body)
{
	for (uint64_t tag = first; tag <= last; tag++)
		deliver_body(rig, tag, body);
}

/* Turns a tenth of a second apart, as other pools make them. */
static void pass(struct rig *rig, mtime span)
{
	for (; span > 0; span -= 100 * MTIME_MS)
		rig_wait(rig, 100 * MTIME_MS);
}

static struct pool_config wide_config(uint16_t workers, uint16_t pipeline)
{
	struct pool_config config = rig_config(workers, pipeline);
	config.prefetch = 100;
	return config;
}

START_TEST(large_bodies_that_wait_keep_the_window_small)
{
	struct rig rig;
	rig_start(&rig, wide_config(1, 1));
	deliver_bodies(&rig, 1, 2, LARGE);
	rig_turn(&rig);
	rig_expect(&rig, "consume 4, send 0:1");
	deliver_bodies(&rig, 3, 4, LARGE);
	pass(&rig, 30 * MTIME_SECOND);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* Small ones come one by one while those of the cancelled consumer wait. */
START_TEST(the_window_grows_when_earlier_deliveries_are_done)
{
	struct rig rig;
	rig_start(&rig, wide_config(1, 1));
	deliver_bodies(&rig, 1, 6, LARGE);
	rig_turn(&rig);
	rig_expect(&rig, "consume 4, send 0:1");
	for (uint64_t tag = 7; tag <= 36; tag++) {
		deliver_body(&rig, tag, 1);
		pass(&rig, 100 * MTIME_MS);
		rig_answer(&rig, 0, 200);
	}
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "consume")); /* six are still in hand */
	rig_forget(&rig);
	for (int left = 2; left > 0; left--) {
		rig_answer(&rig, 0, 200);
		rig_turn(&rig);
	}
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "consume 100"));
	rig_end(&rig);
}
END_TEST

/* A worker that dies of each task, and is started again before what waits is handed back. */
START_TEST(a_rest_does_not_add_up_deliveries)
{
	struct rig rig;
	rig_start(&rig, wide_config(1, 1));
	rig_deliver(&rig, 1, 99);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_RESTED);
	rig_wait(&rig, 2 * MTIME_SECOND);
	rig_expect(&rig, "send 0:1, publish 1 retry 1, rest, spawn 0.2");
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	rig_expect(&rig, "consume 1, send 0:2");
	rig_deliver(&rig, 100, 100);
	rig_confirm(&rig, 1);
	for (uint64_t tag = 2; tag <= 98; tag++) {
		rig_answer_this(&rig, 0, 2, rig_output(200, NULL));
		rig_turn(&rig);
		ck_assert_ptr_null(strstr(rig.done, "consume"));
		rig_forget(&rig);
	}
	rig_answer_this(&rig, 0, 2, rig_output(200, NULL));
	rig_turn(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:100, ack 99, consume 100"); /* nothing is left of those */
	rig_end(&rig);
}
END_TEST

/* The queue is deleted and made again, the tasks of the deleted one are worked to their end. */
START_TEST(a_cancel_does_not_add_up_deliveries)
{
	struct rig rig;
	rig_start(&rig, wide_config(1, 1));
	rig_deliver(&rig, 1, 60);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	rig_source_fact(&rig, SOURCE_CANCELLED);
	rig_expect(&rig, "consume 40");
	rig_deliver(&rig, 61, 100);
	rig_source_fact(&rig, SOURCE_CANCELLED);
	rig_expect(&rig, "consume 1");
	for (int left = 100; left > 0; left--) {
		ck_assert_ptr_null(strstr(rig.done, "consume"));
		rig_answer(&rig, 0, 200);
		rig_turn(&rig);
	}
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "ack 100, consume 100"));
	rig_end(&rig);
}
END_TEST

START_TEST(one_long_task_leaves_the_rest_of_the_window)
{
	struct rig rig;
	rig_start(&rig, wide_config(2, 1));
	rig_deliver(&rig, 1, 100);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_CANCELLED);
	for (int left = 99; left > 0; left--) {
		rig_answer(&rig, 1, 200);
		rig_turn(&rig);
	}
	ck_assert_ptr_null(strstr(rig.done, "consume 99"));
	rig_forget(&rig);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "consume 99");
	rig_answer(&rig, 0, 200);
	rig_turn(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1, consume 100");
	rig_end(&rig);
}
END_TEST

START_TEST(a_cancel_after_a_drain_or_a_loss_consumes_nothing)
{
	struct rig rig;
	rig_start(&rig, wide_config(1, 1));
	rig_deliver(&rig, 1, 1);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_source_fact(&rig, SOURCE_CANCELLED);
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "consume"));
	rig_end(&rig);

	rig_start(&rig, wide_config(1, 1));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_forget(&rig);
	rig_source_fact(&rig, SOURCE_CANCELLED);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

static Suite *window_suite(void)
{
	Suite *suite = suite_create("core/window");
	UNIT_CASE(suite, "window", large_bodies_that_wait_keep_the_window_small,
		the_window_grows_when_earlier_deliveries_are_done,
		a_rest_does_not_add_up_deliveries, a_cancel_does_not_add_up_deliveries,
		one_long_task_leaves_the_rest_of_the_window,
		a_cancel_after_a_drain_or_a_loss_consumes_nothing);
	return suite;
}

UNIT_MAIN(window_suite)
