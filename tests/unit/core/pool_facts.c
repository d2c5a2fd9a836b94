/* What a pool shows: its state, its slots, its tasks, and the name of a task. */
#include "core/pool_facts.h"
#include "core/tasks/delivery.h"
#include "unit/support/core/keyed.h"
#include "unit/support/core/memory.h"

#include <stdio.h>

static void expect_standing(const struct rig *rig, const char *words)
{
	ck_assert_str_eq(pool_state_name(pool_facts(rig->pool).state), words);
}

START_TEST(a_pool_shows_its_state)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_new(&rig, &config);
	expect_standing(&rig, "starting");
	rig_turn(&rig);
	rig_ready(&rig, 0, 1);
	rig_turn(&rig);
	expect_standing(&rig, "connecting");
	rig_source_up(&rig);
	expect_standing(&rig, "consuming");
	rig_gone(&rig, 0, 1);
	rig_turn(&rig);
	expect_standing(&rig, "failing");
	rig_wait(&rig, MTIME_SECOND);
	rig_ready(&rig, 0, 2);
	rig_turn(&rig);
	expect_standing(&rig, "consuming");
	rig_command(&rig, COMMAND_PAUSE);
	expect_standing(&rig, "paused");
	rig_command(&rig, COMMAND_RESUME);
	rig_turn(&rig);
	expect_standing(&rig, "consuming");
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	expect_standing(&rig, "draining");
	rig_command(&rig, COMMAND_FORCE);
	expect_standing(&rig, "stopping");
	rig_gone(&rig, 0, 2);
	rig_turn(&rig);
	rig_source_fact(&rig, SOURCE_DOWN);
	expect_standing(&rig, "stopped");
	rig_end(&rig);
}
END_TEST

START_TEST(a_pool_without_the_token_is_a_standby)
{
	struct rig rig;
	struct pool_config config = keyed_config(1);
	config.session.takeover_delay = 30 * MTIME_SECOND;
	rig_new(&rig, &config);
	rig_turn(&rig);
	expect_standing(&rig, "starting");
	rig_ready(&rig, 0, 1);
	rig_turn(&rig);
	expect_standing(&rig, "standby");
	rig_step(&rig, (struct event){.kind = TOKEN_HELD, .token = {.window = 8}});
	rig_turn(&rig);
	expect_standing(&rig, "connecting");
	rig_source_up(&rig);
	expect_standing(&rig, "consuming");
	rig_step(&rig, (struct event){.kind = TOKEN_LOST});
	rig_turn(&rig);
	expect_standing(&rig, "standby");
	rig_end(&rig);
}
END_TEST

START_TEST(tasks_are_counted_where_they_are)
{
	struct rig rig;
	rig_start(&rig, rig_config(2, 2));
	struct pool_facts facts = pool_facts(rig.pool);
	ck_assert_uint_eq(facts.deliveries, 0);
	ck_assert_int_eq(facts.delivered_at, MTIME_NEVER);
	ck_assert_uint_eq(facts.wanted, 2);
	ck_assert_uint_eq(pool_slot_count(rig.pool), 2);
	ck_assert_uint_eq(facts.ready, 2);
	ck_assert_uint_eq(pool_slot_counts(rig.pool).by_state[LIFE_READY], 2);
	ck_assert_uint_eq(pool_slot_counts(rig.pool).busy, 0);
	rig_deliver(&rig, 1, 5);
	rig_turn(&rig);
	facts = pool_facts(rig.pool);
	ck_assert_uint_eq(facts.deliveries, 5);
	ck_assert_int_eq(facts.delivered_at, rig.now);
	ck_assert_uint_eq(facts.waiting, 1);
	ck_assert_uint_eq(facts.in_pipes, 4);
	ck_assert_uint_eq(facts.unacked, 5);
	ck_assert_uint_eq(facts.window, 8);
	ck_assert_uint_eq(pool_slot_counts(rig.pool).busy, 2);
	ck_assert_uint_eq(pool_slot_counts(rig.pool).open, 2);
	rig_answer(&rig, 0, 500);
	facts = pool_facts(rig.pool);
	ck_assert_uint_eq(facts.unconfirmed, 1);
	ck_assert_uint_gt(facts.unconfirmed_bytes, 0);
	ck_assert_uint_eq(facts.in_pipes, 3);
	rig_end(&rig);
}
END_TEST

START_TEST(a_slot_shows_its_worker)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 2));
	struct slot_facts slot = pool_slot_facts(rig.pool, 0);
	ck_assert_uint_eq(slot.life, 1);
	ck_assert_int_eq(slot.state, LIFE_READY);
	ck_assert_int_le(slot.ready_at, rig.now);
	ck_assert_ptr_null(slot.head);
	rig_deliver(&rig, 1, 3);
	rig_turn(&rig);
	mtime sent = rig.now;
	rig_wait(&rig, MTIME_SECOND);
	slot = pool_slot_facts(rig.pool, 0);
	ck_assert_uint_eq(slot.tasks, 2);
	ck_assert_uint_eq(slot.open, 1);
	uint64_t id = slot.head->id;
	ck_assert(pool_has_task(rig.pool, id));
	ck_assert(!pool_has_task(rig.pool, id + 100));
	ck_assert_uint_eq(slot.head->tag, 1);
	ck_assert_int_eq(slot.head->begun_at, sent);
	rig_answer(&rig, 0, 200);
	slot = pool_slot_facts(rig.pool, 0);
	ck_assert_uint_eq(slot.answers, 1);
	ck_assert(!pool_has_task(rig.pool, id));
	ck_assert_uint_eq(slot.head->tag, 2);
	ck_assert_int_eq(slot.head->begun_at, rig.now);
	rig_gone(&rig, 0, 1);
	slot = pool_slot_facts(rig.pool, 0);
	ck_assert_uint_eq(slot.life, 2);
	ck_assert_int_eq(slot.state, LIFE_WAITING);
	rig_turn(&rig);
	slot = pool_slot_facts(rig.pool, 0);
	ck_assert_int_eq(slot.state, LIFE_STARTING);
	ck_assert_uint_eq(slot.answers, 0);
	ck_assert_int_eq(slot.ready_at, MTIME_NEVER);
	rig_gone(&rig, 0, 2);
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 0).failures, 1);
	ck_assert_uint_eq(pool_facts(rig.pool).failing, 1);
	ck_assert_uint_eq(pool_slot_counts(rig.pool).by_state[LIFE_WAITING], 1);
	rig_end(&rig);
}
END_TEST

START_TEST(the_worker_that_failed_most_often_is_shown)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	rig_new(&rig, &config);
	rig_turn(&rig);
	rig_gone(&rig, 0, 1);
	rig_wait(&rig, pool_slot_facts(rig.pool, 0).next_start - rig.now);
	rig_turn(&rig);
	rig_gone(&rig, 0, 2);
	rig_gone(&rig, 1, 1);
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 1).failures, 1);
	ck_assert_uint_eq(pool_slot_counts(rig.pool).failures_max, 2);
	rig_end(&rig);
}
END_TEST

static void expect_failures(const struct rig *rig, uint32_t max, mtime next_start)
{
	struct slot_counts counts = pool_slot_counts(rig->pool);
	ck_assert_uint_eq(counts.failures_max, max);
	ck_assert_int_eq(counts.next_start, next_start);
}

/* Operators see that it is a crash loop and no slow start, how it ended, and the next start. */
START_TEST(a_crash_loop_is_shown)
{
	struct rig rig;
	struct pool_config config = rig_config(2, 1);
	rig_new(&rig, &config);
	rig_turn(&rig);
	expect_failures(&rig, 0, MTIME_NEVER);
	ck_assert_int_eq(pool_slot_facts(rig.pool, 1).ended_at, MTIME_NEVER);
	rig_gone(&rig, 1, 1);
	expect_standing(&rig, "failing");
	struct slot_facts slot = pool_slot_facts(rig.pool, 1);
	ck_assert_int_eq(slot.exit.kind, EXIT_SIGNAL);
	ck_assert_int_eq(slot.ended_at, rig.now);
	ck_assert_int_gt(slot.next_start, rig.now);
	expect_failures(&rig, 1, slot.next_start);
	rig_wait(&rig, slot.next_start - rig.now);
	rig_turn(&rig);
	expect_failures(&rig, 1, MTIME_NEVER); /* it is on its way */
	ck_assert_uint_eq(pool_slot_counts(rig.pool).recovering, 0);
	expect_standing(&rig, "failing");
	rig_ready(&rig, 0, 1);
	rig_turn(&rig);
	expect_standing(&rig, "connecting"); /* the other one works */
	rig_gone(&rig, 1, 2);
	expect_failures(&rig, 2, pool_slot_facts(rig.pool, 1).next_start);
	ck_assert_int_eq(pool_slot_facts(rig.pool, 0).ended_at, MTIME_NEVER);
	ck_assert_ptr_null(pool_slot_facts(rig.pool, 1).exit_for);
	rig_wait(&rig, pool_slot_facts(rig.pool, 1).next_start - rig.now);
	rig_turn(&rig);
	rig_ready(&rig, 1, 3);
	ck_assert_uint_eq(pool_facts(rig.pool).failing, 1);
	ck_assert_uint_eq(pool_slot_counts(rig.pool).recovering, 1);
	rig_wait(&rig, 10 * MTIME_SECOND); /* idle, but steady */
	ck_assert_uint_eq(pool_slot_counts(rig.pool).recovering, 0);
	ck_assert_uint_eq(pool_facts(rig.pool).failing, 0);
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 1).failures, 0);
	expect_failures(&rig, 0, MTIME_NEVER);
	rig_end(&rig);
}
END_TEST

/* If we ended the worker, the first reason is shown. */
START_TEST(a_worker_that_was_ended_shows_why)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_new(&rig, &config);
	rig_turn(&rig);
	rig_wait(&rig, config.boot_limit);
	rig_gone(&rig, 0, 1);
	ck_assert_str_eq(pool_slot_facts(rig.pool, 0).exit_for, "boot limit");
	rig_wait(&rig, 2 * MTIME_SECOND);
	rig_broken(&rig, 0, 2);
	rig_gone(&rig, 0, 2);
	ck_assert_str_eq(pool_slot_facts(rig.pool, 0).exit_for, "bad frame");
	ck_assert(text_is(pool_slot_facts(rig.pool, 0).exit_detail, TEXT("ca fe")));
	ck_assert_str_eq(rig.detail, "ca fe");
	rig_wait(&rig, 4 * MTIME_SECOND);
	rig_gone(&rig, 0, 3);
	ck_assert_ptr_null(pool_slot_facts(rig.pool, 0).exit_for);
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 0).exit_detail.len, 0);
	rig_end(&rig);
}
END_TEST

static void report_progress(struct rig *rig, const char *text)
{
	struct output *output = output_copy_of(text_from(text), TEXT_NONE, TEXT_NONE);
	output->status = STATUS_PROGRESS;
	rig_answer_this(rig, 0, 1, output);
}

/* The latest, cut after a whole character; the next attempt has none. */
START_TEST(a_running_task_shows_its_progress)
{
	struct rig rig;
	char text[131];
	rig_start(&rig, rig_config(1, 2));
	rig_deliver(&rig, 1, 2);
	rig_turn(&rig);
	ck_assert_ptr_null(pool_slot_facts(rig.pool, 0).head->progress);
	report_progress(&rig, "half");
	rig_wait(&rig, MTIME_SECOND);
	report_progress(&rig, "most");
	const struct delivery *head = pool_slot_facts(rig.pool, 0).head;
	ck_assert(text_is(head->progress->body, TEXT("most")));
	ck_assert_int_eq(head->progress_at, rig.now);
	memset(text, 'x', 127);
	strcpy(text + 127, "\xc3\xa4");
	report_progress(&rig, text);
	ck_assert_uint_eq(head->progress->body.len, 127);
	rig_answer(&rig, 0, 200);
	ck_assert_ptr_null(pool_slot_facts(rig.pool, 0).head->progress);
	report_progress(&rig, "");
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 0).head->progress->body.len, 0);
	report_progress(&rig, "half");
	memset(text, 0xa4, sizeof text - 1); /* no character at all */
	text[sizeof text - 1] = 0;
	report_progress(&rig, text);
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 0).head->progress->body.len, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(without_memory_the_progress_before_stays)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	report_progress(&rig, "half");
	mtime reported_at = rig.now;
	rig_wait(&rig, MTIME_SECOND);
	struct output *lost = output_copy_of(TEXT("most"), TEXT_NONE, TEXT_NONE);
	lost->status = STATUS_PROGRESS;
	mallocs_left = 0;
	rig_answer_this(&rig, 0, 1, lost);
	mallocs_left = LONG_MAX;
	const struct delivery *head = pool_slot_facts(rig.pool, 0).head;
	ck_assert(text_is(head->progress->body, TEXT("half")));
	ck_assert_int_eq(head->progress_at, reported_at);
	rig_end(&rig);
}
END_TEST

/* A worker that is ended for another reason may write anything. */
START_TEST(a_detail_belongs_to_its_reason)
{
	struct rig rig;
	rig_start(&rig, rig_config(1, 1));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_wait(&rig, MTIME_MINUTE);
	rig_broken(&rig, 0, 1);
	rig_gone(&rig, 0, 1);
	ck_assert_str_eq(pool_slot_facts(rig.pool, 0).exit_for, "hard limit");
	ck_assert_uint_eq(pool_slot_facts(rig.pool, 0).exit_detail.len, 0);
	rig_end(&rig);
}
END_TEST

START_TEST(a_task_has_a_name)
{
	static const char letters[] = "0123456789012345678901234567890123456789"
				      "0123456789012345678901234567890123456789";
	static const struct {
		const char *correlation, *message;
		uint64_t tag;
		const char *name;
	} cases[] = {
		{"c", "m", 1, "c"},
		{"", "m", 1, "m"},
		{"", "", 7, "#7"},
		{"", "", UINT64_MAX, "#18446744073709551615"},
	};
	char buffer[DELIVERY_NAME_SIZE];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct delivery *delivery = rig_delivery(cases[i].tag);
		delivery->correlation_id = text_from(cases[i].correlation);
		delivery->message_id = text_from(cases[i].message);
		ck_assert(text_is(delivery_name(delivery, buffer), text_from(cases[i].name)));
		delivery->correlation_id = text_from(letters);
		ck_assert(text_is(
			delivery_name(delivery, buffer), text_of(letters, DELIVERY_NAME_MAX)));
		delivery_free(delivery);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("core/pool_facts");
	UNIT_CASE(s, "facts", a_pool_shows_its_state, a_pool_without_the_token_is_a_standby,
		tasks_are_counted_where_they_are, a_slot_shows_its_worker, a_crash_loop_is_shown,
		the_worker_that_failed_most_often_is_shown, a_worker_that_was_ended_shows_why,
		a_detail_belongs_to_its_reason, a_running_task_shows_its_progress,
		without_memory_the_progress_before_stays, a_task_has_a_name);
	return s;
}

UNIT_MAIN(suite)
