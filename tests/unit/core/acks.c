/* When what is released is acked: at once, or together with others. */
#include "unit/support/core/ledger.h"

static void flush_at(struct ledger *ledger, mtime now, const char *wanted)
{
	source_flush_ripe(&ledger->source, false, now);
	rig_expect(&ledger->rig, wanted);
}

static void release_all(struct ledger *ledger, uint64_t first, uint64_t last)
{
	for (uint64_t tag = first; tag <= last; tag++)
		ledger_release(ledger, tag);
}

START_TEST(acks_wait_for_others_while_more_is_on_its_way)
{
	struct ledger ledger;
	ledger_init(&ledger);
	source_consume(&ledger.source, 1000);
	ledger_enter_all(&ledger, 1, LEDGER_TAGS);
	rig_forget(&ledger.rig);
	ck_assert_int_eq(source_deadline(&ledger.source), MTIME_NEVER);
	ledger_release(&ledger, 1);
	flush_at(&ledger, 100, "");
	ck_assert_int_eq(source_deadline(&ledger.source), 100 + 10 * MTIME_MS);
	ledger_release(&ledger, 2);
	flush_at(&ledger, 99 + 10 * MTIME_MS, "");
	ck_assert_int_eq(source_deadline(&ledger.source), 100 + 10 * MTIME_MS);
	flush_at(&ledger, 100 + 10 * MTIME_MS, "ack 2*");
	ck_assert_int_eq(source_deadline(&ledger.source), MTIME_NEVER);
	/* It was the last open delivery: there is no other ack to wait for. */
	release_all(&ledger, 3, LEDGER_TAGS - 1);
	flush_at(&ledger, MTIME_SECOND, "");
	ledger_release(&ledger, LEDGER_TAGS);
	flush_at(&ledger, MTIME_SECOND, "ack 64*");
	ledger_end(&ledger);
}
END_TEST

/* One ack may still cover them and those before them, so each waits for one or two rounds. */
START_TEST(acks_out_of_order_wait_a_little_longer)
{
	struct ledger ledger;
	ledger_init(&ledger);
	source_consume(&ledger.source, 1000);
	ledger_enter_all(&ledger, 1, 9);
	rig_forget(&ledger.rig);
	ledger_release(&ledger, 3);
	flush_at(&ledger, 0, "");
	flush_at(&ledger, 10 * MTIME_MS, "");
	ledger_release(&ledger, 5);
	ledger_release(&ledger, 1);
	flush_at(&ledger, 19 * MTIME_MS, "");
	ck_assert_int_eq(source_deadline(&ledger.source), 20 * MTIME_MS);
	flush_at(&ledger, 20 * MTIME_MS, "ack 1, ack 3");
	ledger_release(&ledger, 2);
	ledger_release(&ledger, 4);
	flush_at(&ledger, 30 * MTIME_MS, "ack 5*");
	ck_assert_int_eq(source_deadline(&ledger.source), MTIME_NEVER);
	ledger_end(&ledger);
}
END_TEST

START_TEST(many_acks_are_sent_at_once)
{
	static struct delivery *deliveries[66];
	struct ledger ledger;
	ledger_init(&ledger);
	source_consume(&ledger.source, 1000);
	for (uint64_t tag = 1; tag <= 66; tag++) {
		deliveries[tag - 1] = rig_delivery(tag);
		source_open(&ledger.source, deliveries[tag - 1]);
	}
	rig_forget(&ledger.rig);
	for (int i = 0; i < 63; i++)
		source_release(deliveries[i]);
	flush_at(&ledger, 0, "");
	source_release(deliveries[63]);
	flush_at(&ledger, 0, "ack 64*");
	ledger_end(&ledger);
}
END_TEST

START_TEST(a_small_window_waits_for_no_ack)
{
	struct ledger ledger;
	ledger_init(&ledger);
	source_consume(&ledger.source, 16);
	ledger_enter_all(&ledger, 1, 16);
	rig_forget(&ledger.rig);
	ledger_release(&ledger, 1);
	flush_at(&ledger, 0, "");
	ledger_release(&ledger, 2);
	flush_at(&ledger, 0, "ack 2*");
	source_consume(&ledger.source, 8);
	rig_forget(&ledger.rig);
	ledger_release(&ledger, 3);
	flush_at(&ledger, 0, "ack 3");
	ledger_end(&ledger);
}
END_TEST

START_TEST(acks_out_of_order_wait_in_a_wide_window)
{
	struct ledger ledger;
	ledger_init(&ledger);
	source_consume(&ledger.source, 256);
	ledger_enter_all(&ledger, 1, LEDGER_TAGS);
	rig_forget(&ledger.rig);
	ledger_release(&ledger, 1);
	release_all(&ledger, 3, 40);
	flush_at(&ledger, 0, "ack 1");
	ledger_release(&ledger, 41);
	flush_at(&ledger, 0, "");
	ledger_release(&ledger, 2);
	flush_at(&ledger, 0, "ack 41*");
	release_all(&ledger, 43, 45);
	flush_at(&ledger, 0, "");
	source_consume(&ledger.source, 24); /* of a small one three are too many */
	rig_forget(&ledger.rig);
	flush_at(&ledger, 0, "ack 43, ack 44, ack 45");
	ledger_end(&ledger);
}
END_TEST

START_TEST(acks_do_not_wait_when_consuming_stops)
{
	struct ledger ledger;
	ledger_init(&ledger);
	source_consume(&ledger.source, 1000);
	ledger_enter_all(&ledger, 1, 3);
	ledger_release(&ledger, 1);
	rig_forget(&ledger.rig);
	flush_at(&ledger, 0, "");
	source_rest(&ledger.source);
	flush_at(&ledger, 0, "rest, ack 1");
	/* The wait of one epoch does not go on in the next one. */
	source_consume(&ledger.source, 1000);
	ledger_release(&ledger, 2);
	flush_at(&ledger, 0, "consume 1000");
	ledger_end(&ledger);
	ck_assert_int_eq(source_deadline(&ledger.source), MTIME_NEVER);
	source_up(&ledger.source, 2);
	ledger_enter_all(&ledger, 1, 2);
	ledger_release(&ledger, 1);
	flush_at(&ledger, MTIME_SECOND, "");
	ck_assert_int_eq(source_deadline(&ledger.source), MTIME_SECOND + 10 * MTIME_MS);
	ledger_end(&ledger);
}
END_TEST

/* A pool with a wide window, one task done and two others at work. */
static void begin_waiting(struct rig *rig)
{
	struct pool_config config = rig_config(3, 1);
	config.prefetch = 1000;
	rig_start(rig, config);
	rig_deliver(rig, 1, 3);
	rig_turn(rig);
	rig_answer(rig, 0, 200);
	rig_forget(rig);
	rig_turn(rig);
	rig_expect(rig, "");
	ck_assert_int_eq(pool_deadline(rig->pool), rig->now + 10 * MTIME_MS);
}

START_TEST(a_pool_acks_in_time)
{
	struct rig rig;
	begin_waiting(&rig);
	rig_wait(&rig, 10 * MTIME_MS);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

START_TEST(a_draining_pool_acks_at_once)
{
	struct rig rig;
	begin_waiting(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "ack 1"));
	rig_end(&rig);
	begin_waiting(&rig);
	rig_command(&rig, COMMAND_FORCE);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1, close");
	rig_end(&rig);
}
END_TEST

START_TEST(a_paused_pool_acks_at_once)
{
	struct rig rig;
	begin_waiting(&rig);
	rig_command(&rig, COMMAND_PAUSE);
	rig_turn(&rig);
	ck_assert_ptr_nonnull(strstr(rig.done, "ack 1"));
	rig_end(&rig);
}
END_TEST

START_TEST(acks_of_a_lost_channel_are_dropped)
{
	struct rig rig;
	begin_waiting(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	rig_wait(&rig, MTIME_SECOND);
	rig_expect(&rig, "");
	rig_end(&rig);
}
END_TEST

/* The window is full, and all tasks but a long one are answered. */
START_TEST(a_full_window_waits_for_no_ack)
{
	struct rig rig;
	struct pool_config config = rig_config(16, 1);
	config.prefetch = 16;
	rig_start(&rig, config);
	rig_deliver(&rig, 1, 16);
	rig_turn(&rig);
	rig_answer(&rig, 0, 200);
	rig_forget(&rig);
	rig_turn(&rig);
	rig_expect(&rig, "ack 1");
	rig_end(&rig);
}
END_TEST

static Suite *acks_suite(void)
{
	Suite *suite = suite_create("core/acks");
	UNIT_CASE(suite, "waiting", acks_wait_for_others_while_more_is_on_its_way,
		acks_out_of_order_wait_a_little_longer, many_acks_are_sent_at_once,
		a_small_window_waits_for_no_ack, acks_out_of_order_wait_in_a_wide_window,
		acks_do_not_wait_when_consuming_stops);
	UNIT_CASE(suite, "pool", a_pool_acks_in_time, a_draining_pool_acks_at_once,
		a_paused_pool_acks_at_once, acks_of_a_lost_channel_are_dropped,
		a_full_window_waits_for_no_ack);
	return suite;
}

UNIT_MAIN(acks_suite)
