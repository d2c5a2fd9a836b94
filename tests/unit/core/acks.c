/* When what is released is acked: at once, or together with others. */
#include "unit/support/core/keyed.h"
#include "unit/support/core/ledger.h"

#include <stdio.h>

static void flush_at(struct ledger *ledger, mtime now, const char *wanted)
{
	source_flush_due(&ledger->source, false, true, now);
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

/* ---------- with sessions ---------- */

#define WIDE 256

/* Deliveries of a source with sessions, by tag. */
struct keyed_ledger {
	struct ledger ledger;
	struct delivery *deliveries[3 * WIDE + 1];
	uint64_t last;
};

static void keyed_open(struct keyed_ledger *keyed, uint64_t last)
{
	while (keyed->last < last) {
		struct delivery *delivery = rig_delivery(++keyed->last);
		keyed->deliveries[keyed->last] = delivery;
		source_open(&keyed->ledger.source, delivery);
	}
}

static void keyed_begin(struct keyed_ledger *keyed, uint32_t window, uint64_t last)
{
	*keyed = (struct keyed_ledger){0};
	struct source *source = &keyed->ledger.source;
	source_init(source, true, &rig_effects, &keyed->ledger.rig);
	source_up(source, 1);
	source_consume(source, window);
	keyed_open(keyed, last);
	rig_forget(&keyed->ledger.rig);
}

static void keyed_release(struct keyed_ledger *keyed, uint64_t first, uint64_t last)
{
	for (uint64_t tag = first; tag <= last; tag++)
		source_release(keyed->deliveries[tag]);
}

static void keyed_flush(struct keyed_ledger *keyed, bool is_hungry, mtime at_ms, const char *wanted)
{
	source_flush_due(&keyed->ledger.source, is_hungry, false, at_ms * MTIME_MS);
	rig_expect(&keyed->ledger.rig, wanted);
}

START_TEST(with_sessions_acks_out_of_order_wait_longer)
{
	struct keyed_ledger keyed;
	keyed_begin(&keyed, WIDE, WIDE - 1);
	keyed_release(&keyed, 3, WIDE - 2); /* far more than half of the window */
	keyed_flush(&keyed, true, 0, "");
	source_release(keyed.deliveries[1]);
	keyed_flush(&keyed, true, 1, "ack 1");
	keyed_release(&keyed, 2, 2);
	keyed_flush(&keyed, true, 2, "ack 254*");
	keyed_open(&keyed, WIDE + 1);
	keyed_release(&keyed, WIDE, WIDE);
	for (mtime at_ms = 100; at_ms < 200; at_ms += 10)
		keyed_flush(&keyed, true, at_ms, "");
	keyed_flush(&keyed, true, 200, "ack 256");
	ledger_end(&keyed.ledger);
}
END_TEST

START_TEST(with_sessions_a_small_window_waits_for_no_ack)
{
	struct keyed_ledger keyed;
	keyed_begin(&keyed, WIDE - 1, WIDE - 1);
	keyed_release(&keyed, 3, 3);
	keyed_flush(&keyed, false, 0, "");
	keyed_flush(&keyed, true, 0, "ack 3");
	ledger_end(&keyed.ledger);
}
END_TEST

/* Each costs the broker as much as twenty messages that are covered by another ack. */
START_TEST(with_sessions_acks_in_order_wait_for_a_millisecond)
{
	struct keyed_ledger keyed;
	keyed_begin(&keyed, WIDE, WIDE - 1);
	keyed_release(&keyed, 1, 64);
	keyed_flush(&keyed, false, 1, "ack 64*");
	keyed_release(&keyed, 65, 128);
	keyed_flush(&keyed, false, 1, "");
	keyed_flush(&keyed, false, 2, "ack 128*");
	ledger_end(&keyed.ledger);
}
END_TEST

/* The first message of the window is not done for long. A quarter of the window is enough. */
START_TEST(a_full_window_without_acks_in_order_gets_space)
{
	struct keyed_ledger keyed;
	keyed_begin(&keyed, WIDE, WIDE);
	keyed_release(&keyed, 2, WIDE - 1);
	keyed_flush(&keyed, false, 0, ""); /* other tasks run meanwhile */
	ck_assert_uint_eq(keyed.ledger.source.open, WIDE);
	source_flush_due(&keyed.ledger.source, true, false, 0);
	ck_assert_uint_eq(keyed.ledger.source.open, WIDE - WIDE / 4);
	ck_assert(strncmp(keyed.ledger.rig.done, "ack 2, ack 3, ack 4, ", 21) == 0);
	ledger_end(&keyed.ledger);
}
END_TEST

/* Those that are done may be fewer than that quarter. */
START_TEST(a_full_window_gets_the_space_of_all_that_is_done)
{
	struct keyed_ledger keyed;
	keyed_begin(&keyed, WIDE, WIDE);
	keyed_release(&keyed, 2, 4);
	keyed_flush(&keyed, true, 0, "ack 2, ack 3, ack 4");
	ck_assert_uint_eq(keyed.ledger.source.open, WIDE - 3);
	ledger_end(&keyed.ledger);
}
END_TEST

/* Not even those that are fewer than half of it: the broker could send nothing meanwhile. */
START_TEST(without_sessions_a_full_window_waits_for_no_ack)
{
	struct keyed_ledger full;
	keyed_begin(&full, WIDE, WIDE);
	full.ledger.source.has_sessions = false;
	keyed_release(&full, 3, 3 * WIDE / 8);
	keyed_flush(&full, false, 0, ""); /* other tasks run meanwhile */
	source_flush_due(&full.ledger.source, true, false, 0);
	ck_assert_uint_eq(full.ledger.source.released_count, 0);
	ck_assert_uint_eq(full.ledger.source.open, WIDE - (3 * WIDE / 8 - 2));
	ledger_end(&full.ledger);
}
END_TEST

START_TEST(with_sessions_acks_wait_while_acks_in_order_come_fast)
{
	struct keyed_ledger keyed;
	keyed_begin(&keyed, 3 * WIDE, 3 * WIDE - 1);
	keyed_release(&keyed, 3 * WIDE - 1, 3 * WIDE - 1);
	keyed_flush(&keyed, true, 1000, "");
	mtime at_ms = 1000;
	for (uint64_t last = 16; last <= 20 * 16; last += 16) {
		char wanted[32];
		snprintf(wanted, sizeof wanted, "ack %d*", (int)last);
		keyed_release(&keyed, last - 15, last);
		keyed_flush(&keyed, true, at_ms += 10, wanted);
	}
	while (at_ms < 1300)
		keyed_flush(&keyed, true, at_ms += 10, "");
	keyed_flush(&keyed, true, at_ms + 10, "ack 767");
	ledger_end(&keyed.ledger);
}
END_TEST

/* The window is full again 10 ms after so many acks in order, and all but one task have ended. */
static void keyed_begin_full(struct keyed_ledger *keyed, uint64_t in_order)
{
	keyed_begin(keyed, WIDE, WIDE);
	keyed_flush(keyed, false, 100, "");
	keyed_release(keyed, 1, in_order);
	source_flush_due(&keyed->ledger.source, false, false, 110 * MTIME_MS - 1);
	keyed_open(keyed, WIDE + in_order);
	keyed_release(keyed, in_order + 2, WIDE + in_order);
	rig_forget(&keyed->ledger.rig);
}

START_TEST(a_full_window_waits_while_acks_in_order_come_fast)
{
	struct keyed_ledger keyed;
	keyed_begin_full(&keyed, 32);
	keyed_flush(&keyed, true, 110, "");
	for (mtime at_ms = 111; at_ms < 120; at_ms++)
		keyed_flush(&keyed, true, at_ms, "");
	ck_assert_int_le(source_deadline(&keyed.ledger.source), 120 * MTIME_MS);
	source_flush_due(&keyed.ledger.source, true, false, 120 * MTIME_MS);
	ck_assert_uint_eq(keyed.ledger.source.open, WIDE - WIDE / 4);
	ledger_end(&keyed.ledger);
}
END_TEST

START_TEST(a_full_window_does_not_wait_for_slow_acks_in_order)
{
	struct keyed_ledger keyed;
	keyed_begin_full(&keyed, 15);
	source_flush_due(&keyed.ledger.source, true, false, 110 * MTIME_MS);
	ck_assert_uint_eq(keyed.ledger.source.open, WIDE - WIDE / 4);
	ledger_end(&keyed.ledger);
}
END_TEST

START_TEST(a_pool_with_sessions_waits_longer)
{
	struct rig rig;
	struct pool_config config = keyed_config(3);
	config.prefetch = 1000;
	rig_start(&rig, config);
	keyed_deliver(&rig, "a b c");
	rig_expect(&rig, "send 0:1, send 1:2, send 2:3");
	keyed_answer(&rig, 1, 200, "");
	rig_wait(&rig, 10 * MTIME_MS);
	rig_wait(&rig, 10 * MTIME_MS);
	rig_expect(&rig, "");
	keyed_answer(&rig, 0, 200, "");
	rig_wait(&rig, 10 * MTIME_MS);
	rig_expect(&rig, "ack 2*");
	rig_end(&rig);
}
END_TEST

/* ---------- of accepted tasks ---------- */

static void accept_at(struct ledger *ledger, uint64_t tag, mtime now)
{
	struct delivery *delivery = ledger->deliveries[tag];
	delivery->state = DELIVERY_SENT;
	source_accept(delivery, now);
}

/* One of them has ended meanwhile. It waits no longer than the others. */
START_TEST(acks_of_short_accepted_tasks_wait_a_moment)
{
	struct ledger ledger;
	ledger_init(&ledger);
	source_consume(&ledger.source, 1000);
	ledger_enter_all(&ledger, 1, 9);
	rig_forget(&ledger.rig);
	accept_at(&ledger, 1, 100);
	flush_at(&ledger, 100, "");
	accept_at(&ledger, 2, 1000);
	accept_at(&ledger, 5, 1000);
	ledger.deliveries[5]->is_accepted = false;
	ledger_release(&ledger, 5);
	flush_at(&ledger, 99 + 2 * MTIME_MS, "");
	ck_assert_int_eq(source_deadline(&ledger.source), 100 + 2 * MTIME_MS);
	flush_at(&ledger, 100 + 2 * MTIME_MS, "ack 2*, ack 5");
	ck_assert_int_eq(source_deadline(&ledger.source), MTIME_NEVER);
	delivery_free(ledger.deliveries[1]);
	delivery_free(ledger.deliveries[2]);
	ledger_end(&ledger);
}
END_TEST

/* Nor do they hasten those that wait for the acks before them. */
START_TEST(acks_of_other_accepted_tasks_do_not_wait)
{
	struct ledger ledger;
	ledger_init(&ledger);
	source_consume(&ledger.source, 1000);
	ledger_enter_all(&ledger, 1, 9);
	ledger_release(&ledger, 7);
	rig_forget(&ledger.rig);
	accept_at(&ledger, 3, 100);
	source_flush_due(&ledger.source, false, false, 100);
	rig_expect(&ledger.rig, "ack 3");
	ck_assert_int_eq(source_deadline(&ledger.source), 100 + 10 * MTIME_MS);
	source_flush_due(&ledger.source, false, false, 100 + 2 * MTIME_MS);
	rig_expect(&ledger.rig, "");
	delivery_free(ledger.deliveries[3]);
	ledger_end(&ledger);
}
END_TEST

/* ---------- in a pool ---------- */

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
	UNIT_CASE(suite, "sessions", with_sessions_acks_out_of_order_wait_longer,
		with_sessions_a_small_window_waits_for_no_ack,
		with_sessions_acks_in_order_wait_for_a_millisecond,
		with_sessions_acks_wait_while_acks_in_order_come_fast,
		without_sessions_a_full_window_waits_for_no_ack,
		a_full_window_without_acks_in_order_gets_space,
		a_full_window_gets_the_space_of_all_that_is_done,
		a_full_window_waits_while_acks_in_order_come_fast,
		a_full_window_does_not_wait_for_slow_acks_in_order,
		a_pool_with_sessions_waits_longer);
	UNIT_CASE(suite, "accepted", acks_of_short_accepted_tasks_wait_a_moment,
		acks_of_other_accepted_tasks_do_not_wait);
	UNIT_CASE(suite, "pool", a_pool_acks_in_time, a_draining_pool_acks_at_once,
		a_paused_pool_acks_at_once, acks_of_a_lost_channel_are_dropped,
		a_full_window_waits_for_no_ack);
	return suite;
}

UNIT_MAIN(acks_suite)
