/* Pools of many workers: only a few start, leave or wake up in one turn. */
#include "unit/support/core/rig.h"

#include <stdio.h>

static unsigned count(struct rig *rig, const char *word)
{
	unsigned found = 0;
	for (const char *at = rig->done; (at = strstr(at, word)); at++)
		found++;
	rig_forget(rig);
	return found;
}

/* Of the workers that were started since the last call, so many become ready. */
static void some_come_up(struct rig *rig, unsigned wanted)
{
	char done[sizeof rig->done];
	unsigned slot, life;
	memcpy(done, rig->done, sizeof done);
	for (const char *at = done; wanted && (at = strstr(at, "spawn ")); at++, wanted--) {
		ck_assert_int_eq(sscanf(at, "spawn %u.%u", &slot, &life), 2);
		rig_ready(rig, (uint16_t)slot, life);
	}
	ck_assert_uint_eq(wanted, 0);
}

static unsigned starts_within(struct rig *rig, mtime span)
{
	rig_wait(rig, span);
	return count(rig, "spawn");
}

START_TEST(sixteen_start_at_once_and_others_as_these_become_ready)
{
	struct rig rig;
	struct pool_config config = rig_config(100, 1);
	rig_new(&rig, &config);
	rig_turn(&rig);
	ck_assert_uint_eq(count(&rig, "spawn"), 4);
	rig_wait(&rig, 100);
	some_come_up(&rig, 5);
	ck_assert_uint_eq(count(&rig, "spawn"), 12);
	ck_assert_uint_eq(starts_within(&rig, 5 * MTIME_MS), 6);
	/* Processors are idle: one more is started in each step. */
	ck_assert_uint_eq(starts_within(&rig, 50 * MTIME_MS), 10);
	ck_assert_uint_eq(starts_within(&rig, MTIME_SECOND), 100 - 32);
	rig_end(&rig);
}
END_TEST

/* All of them are ready, and a channel is up; nothing written. */
static void start_many(struct rig *rig, struct pool_config config)
{
	config.boot_limit = MTIME_MINUTE;
	rig_new(rig, &config);
	rig_turn(rig);
	rig_wait(rig, 2 * MTIME_SECOND);
	for (uint16_t slot = 0; slot < config.workers; slot++)
		rig_ready(rig, slot, 1);
	rig_source_up(rig);
	rig_turn(rig);
	rig_forget(rig);
}

START_TEST(a_drain_lets_a_few_idle_workers_leave_a_turn)
{
	struct rig rig;
	start_many(&rig, rig_config(150, 1));
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	ck_assert_uint_eq(count(&rig, "quit"), 64);
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now);
	rig_turn(&rig);
	ck_assert_uint_eq(count(&rig, "quit"), 64);
	rig_turn(&rig);
	ck_assert_uint_eq(count(&rig, "quit"), 150 - 1 - 128);
	ck_assert_int_gt(pool_deadline(rig.pool), rig.now);
	rig_answer(&rig, 0, 200);
	ck_assert_uint_eq(count(&rig, "quit"), 1);
	rig_end(&rig);
}
END_TEST

/* The same where a pool is made much smaller; one that was not told yet may be wanted again. */
START_TEST(scaling_down_lets_a_few_leave_a_turn)
{
	struct rig rig;
	start_many(&rig, rig_config(200, 1));
	rig_scale(&rig, 10);
	ck_assert_uint_eq(count(&rig, "quit"), 64);
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now);
	rig_turn(&rig);
	ck_assert_uint_eq(count(&rig, "quit"), 64);
	rig_scale(&rig, 50);
	ck_assert_uint_eq(count(&rig, "quit"), 0);
	rig_turn(&rig);
	ck_assert_uint_eq(count(&rig, "quit"), 200 - 50 - 128);
	ck_assert_int_gt(pool_deadline(rig.pool), rig.now);
	ck_assert_ptr_null(strstr(rig.done, "spawn"));
	rig_end(&rig);
}
END_TEST

/* Leaving workers that answer together do not all leave in one turn either. */
START_TEST(workers_that_become_idle_leave_a_few_a_turn)
{
	struct rig rig;
	struct pool_config config = rig_config(100, 1);
	config.prefetch = 200;
	start_many(&rig, config);
	rig_deliver(&rig, 1, 100);
	rig_turn(&rig);
	rig_wait(&rig, 1);
	rig_scale(&rig, 1);
	ck_assert_uint_eq(count(&rig, "quit"), 0);
	for (uint16_t slot = 0; slot < 100; slot++)
		rig_answer(&rig, slot, 200);
	ck_assert_uint_eq(count(&rig, "quit"), 64);
	rig_turn(&rig);
	ck_assert_uint_eq(count(&rig, "quit"), 35);
	rig_end(&rig);
}
END_TEST

/* A spent worker that waits to leave and is wanted again is replaced, not kept. */
START_TEST(spent_workers_that_are_kept_again_are_replaced)
{
	struct rig rig;
	struct pool_config config = rig_config(100, 1);
	config.prefetch = 200;
	config.recycle.tasks = 1;
	start_many(&rig, config);
	rig_deliver(&rig, 1, 100);
	rig_turn(&rig);
	rig_wait(&rig, 1);
	rig_scale(&rig, 1);
	for (uint16_t slot = 0; slot < 100; slot++)
		rig_answer(&rig, slot, 200);
	ck_assert_uint_eq(count(&rig, "quit"), 65); /* one of them is no leaver */
	rig_scale(&rig, 100);
	ck_assert_uint_eq(count(&rig, "quit"), 35);
	rig_end(&rig);
}
END_TEST

/* A surplus slot that waits for its next start is not started. */
START_TEST(a_draining_pool_starts_no_worker)
{
	struct rig rig;
	start_many(&rig, rig_config(100, 1));
	rig_gone(&rig, 99, 1);
	rig_turn(&rig);
	rig_forget(&rig);
	rig_command(&rig, COMMAND_DRAIN);
	rig.now += MTIME_MINUTE;
	rig_turn(&rig);
	ck_assert_ptr_null(strstr(rig.done, "spawn"));
	ck_assert_uint_eq(count(&rig, "quit"), 99);
	rig_end(&rig);
}
END_TEST

START_TEST(at_most_64_workers_are_woken_a_turn)
{
	struct rig rig;
	struct pool_config config = rig_config(100, 1);
	config.prefetch = 200;
	start_many(&rig, config);
	rig_deliver(&rig, 1, 100);
	rig_turn(&rig);
	ck_assert_uint_eq(count(&rig, "send"), 64);
	ck_assert_int_le(pool_deadline(rig.pool), rig.now + 1);
	rig_wait(&rig, 1);
	ck_assert_uint_eq(count(&rig, "send"), 36);
	rig_end(&rig);
}
END_TEST

static Suite *many_workers_suite(void)
{
	Suite *suite = suite_create("core/many_workers");
	UNIT_CASE(suite, "at once", sixteen_start_at_once_and_others_as_these_become_ready,
		a_drain_lets_a_few_idle_workers_leave_a_turn, scaling_down_lets_a_few_leave_a_turn,
		workers_that_become_idle_leave_a_few_a_turn,
		spent_workers_that_are_kept_again_are_replaced, a_draining_pool_starts_no_worker,
		at_most_64_workers_are_woken_a_turn);
	return suite;
}

UNIT_MAIN(many_workers_suite)
