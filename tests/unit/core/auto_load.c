/* A pool that chooses how many workers it has: what it does about a burst, a calm and a steady
 * load. */
#include "unit/support/core/load.h"

#define HOUR (60 * MTIME_MINUTE)

/* ---------- loads ---------- */

START_TEST(a_burst_brings_all_and_calm_the_least)
{
	struct load load = {.task = 5 * MTIME_SECOND, .boot = 500 * MTIME_MS};
	load_start(&load, 2, 32, 1);
	load.queued = 1000;
	ck_assert_int_le(load_run_until(&load, 32), 2 * MTIME_SECOND);
	ck_assert_uint_le(load.grown, 4);
	ck_assert_int_le(load_run_until(&load, 2), 10 * MTIME_MINUTE);
	ck_assert_uint_eq(load.answered, 1000);
	ck_assert_uint_le(load.shrunk, 12); /* slowly */
	load_run(&load, MTIME_MINUTE);
	ck_assert_int_eq(pool_deadline(load.pool), MTIME_NEVER);
	load_end(&load);
}
END_TEST

/* Nobody waits until workers are there before more of them are started. */
START_TEST(a_long_boot_does_not_slow_it_down)
{
	struct load load = {.task = 5 * MTIME_SECOND, .boot = 30 * MTIME_SECOND};
	load_start(&load, 1, 64, 1);
	load.queued = 1000;
	ck_assert_int_le(load_run_until(&load, 64), 2 * MTIME_SECOND);
	load_end(&load);
}
END_TEST

/* As many as there is work for, not more. */
START_TEST(a_few_tasks_bring_a_few)
{
	struct load load = {.task = MTIME_MINUTE, .is_fixed = true, .boot = 500 * MTIME_MS};
	load_start(&load, 2, 32, 1);
	load.queued = 7;
	load_run(&load, MTIME_MINUTE);
	ck_assert_uint_eq(load_wanted(&load), 7);
	load_end(&load);
}
END_TEST

/* What is done in a moment is not worth a start. */
START_TEST(a_handful_of_short_tasks_brings_none)
{
	struct load load = {.task = 20 * MTIME_MS, .is_fixed = true, .boot = 500 * MTIME_MS};
	load_start(&load, 2, 32, 1);
	load.queued = 25;
	load_run(&load, MTIME_MINUTE);
	ck_assert_uint_eq(load.grown, 0);
	ck_assert_uint_eq(load.answered, 25);
	load_end(&load);
}
END_TEST

/* Tasks that take their worker less than they take us: more workers would do nothing. */
START_TEST(workers_that_are_faster_than_we_are_need_no_help)
{
	struct load load = {.task = 2, .is_fixed = true, .boot = MTIME_MS, .each = 8};
	load_start(&load, 2, 32, 1);
	load.queued = 10000000;
	load_run(&load, 2 * MTIME_SECOND);
	ck_assert_uint_eq(load.grown, 0);
	ck_assert_uint_ge(load.answered, 100000);
	load_end(&load);
}
END_TEST

/* And those that are not: ten times as long a task, in the same pipes. */
START_TEST(short_tasks_bring_more_where_these_help)
{
	struct load load = {.task = 200, .is_fixed = true, .boot = MTIME_MS, .each = 8};
	load_start(&load, 2, 32, 1);
	load.queued = 10000000;
	load_run(&load, 2 * MTIME_SECOND);
	ck_assert_uint_ge(load_wanted(&load), 16);
	load_end(&load);
}
END_TEST

struct steady {
	double rate;
	mtime task;
	bool is_even;     /* and all tasks take as long */
	uint32_t least;   /* workers, at any time of the second and third hour */
	uint32_t changes; /* at most, in these */
};

/* Five workers' work and, by chance, much more and much less for a while. */
static const struct steady steady[] = {
	{5, MTIME_SECOND, true, 5, 0},
	{5, MTIME_SECOND, false, 8, 60},
	{0.5, 10 * MTIME_SECOND, false, 6, 60},
	{0.01, 10 * MTIME_MINUTE, false, 2, 60},
};

#define SEEDS 3

START_TEST(a_steady_load_brings_no_to_and_fro)
{
	const struct steady *given = &steady[_i / SEEDS];
	struct load load = {.rate = given->rate,
		.task = given->task,
		.is_even = given->is_even,
		.is_fixed = given->is_even,
		.boot = 200 * MTIME_MS};
	load_start(&load, 2, 32, (uint64_t)_i + 1);
	load_run(&load, HOUR);
	load_forget(&load);
	load_run(&load, 2 * HOUR);
	ck_assert_uint_le(load.grown + load.shrunk, given->changes);
	ck_assert_uint_ge(load.least_seen, given->least);
	ck_assert_uint_le(load.most_seen, 24);
	load.rate = 0;
	load_run_until(&load, 2);
	load_end(&load);
}
END_TEST

/* What comes again and again, sooner than it was forgotten, is waited for. */
START_TEST(bursts_that_come_back_find_the_workers_there)
{
	struct load load = {.task = MTIME_SECOND, .is_fixed = true, .boot = MTIME_SECOND};
	load_start(&load, 2, 32, 1);
	for (int burst = 0; burst < 12; burst++) {
		load.queued = 200;
		load_run(&load, 3 * MTIME_MINUTE);
	}
	load_forget(&load);
	for (int burst = 0; burst < 12; burst++) {
		load.queued = 200;
		load_run(&load, 3 * MTIME_MINUTE);
	}
	ck_assert_uint_eq(load.grown + load.shrunk, 0);
	ck_assert_uint_eq(load_wanted(&load), 32);
	load_run(&load, 20 * MTIME_MINUTE);
	ck_assert_uint_eq(load_wanted(&load), 2);
	load_run(&load, HOUR);
	/* That is long ago: the next calm is as short as the first one. */
	load.queued = 200;
	load_run_until(&load, 32);
	ck_assert_int_le(load_run_until(&load, 2), 6 * MTIME_MINUTE);
	load_end(&load);
}
END_TEST

/* Eight at once, for less than a measure, and then nobody for seconds: eight are needed. */
START_TEST(a_crowd_of_a_moment_counts_whole)
{
	struct load load = {.task = 90 * MTIME_MS, .is_fixed = true, .boot = MTIME_SECOND};
	load_start(&load, 8, 32, 1);
	load_command(&load, COMMAND_SCALE, 2, 32);
	for (int burst = 0; burst < 60; burst++) {
		load.queued = 8;
		load_run(&load, 5 * MTIME_SECOND);
	}
	ck_assert_uint_ge(load_wanted(&load), 8);
	load_end(&load);
}
END_TEST

/* ---------- what happens meanwhile ---------- */

START_TEST(in_a_pause_and_without_a_broker_nothing_changes)
{
	struct load load = {.task = 5 * MTIME_SECOND, .boot = 500 * MTIME_MS};
	load_start(&load, 2, 32, 1);
	load.queued = 1000;
	load_run_until(&load, 16);
	load_command(&load, COMMAND_PAUSE, 0, 0);
	load_forget(&load);
	load_run(&load, HOUR);
	ck_assert_uint_eq(load.grown + load.shrunk, 0);
	load_command(&load, COMMAND_RESUME, 0, 0);
	load_run_until(&load, 32);
	load.is_cut_off = true;
	load_forget(&load);
	load_run(&load, HOUR);
	ck_assert_uint_eq(load.grown + load.shrunk, 0);
	load.is_cut_off = false;
	load_run(&load, MTIME_MINUTE);
	ck_assert_uint_eq(load.grown + load.shrunk, 0);
	load_run_until(&load, 2);
	load_end(&load);
}
END_TEST

START_TEST(a_number_holds_and_bounds_let_it_choose_again)
{
	struct load load = {.task = 5 * MTIME_SECOND, .boot = 500 * MTIME_MS};
	load_start(&load, 2, 32, 1);
	load.queued = 10000;
	load_command(&load, COMMAND_SCALE, 40, 0);
	load_run(&load, MTIME_MINUTE);
	ck_assert_uint_eq(load_wanted(&load), 40);
	load_command(&load, COMMAND_SCALE, 1, 0);
	load_run(&load, HOUR);
	ck_assert_uint_eq(load_wanted(&load), 1);
	ck_assert_uint_eq(load.grown + load.shrunk, 0);
	load_command(&load, COMMAND_SCALE, 4, 20);
	ck_assert_uint_eq(load_wanted(&load), 4);
	load_run_until(&load, 20);
	load_command(&load, COMMAND_SCALE, 2, 8);
	ck_assert_uint_eq(load_wanted(&load), 8);
	load_end(&load);
}
END_TEST

START_TEST(it_grows_while_it_rolls_and_shrinks_afterwards)
{
	struct load load = {.task = MTIME_MINUTE, .is_fixed = true, .boot = 500 * MTIME_MS};
	load_start(&load, 2, 32, 1);
	load.queued = 30;
	load_run_until(&load, 8);
	load.task = 2 * HOUR; /* those that come now keep the restart waiting */
	load_command(&load, COMMAND_RESTART, 0, 0);
	load_run_until(&load, 30);
	load_run(&load, HOUR);
	ck_assert(pool_facts(load.pool).is_rolling);
	ck_assert_uint_eq(load_wanted(&load), 30);
	load_run(&load, 2 * HOUR);
	ck_assert(!pool_facts(load.pool).is_rolling);
	load_run_until(&load, 2);
	load_end(&load);
}
END_TEST

/* Eight starts of fifty seconds, and nobody at work meanwhile. */
START_TEST(in_a_restart_nobody_is_sent_away_for_being_idle)
{
	struct load load = {.task = MTIME_SECOND, .boot = 50 * MTIME_SECOND};
	load_start(&load, 8, 32, 1);
	load_command(&load, COMMAND_SCALE, 2, 32);
	load_command(&load, COMMAND_RESTART, 0, 0);
	load_run(&load, 5 * MTIME_MINUTE);
	ck_assert(pool_facts(load.pool).is_rolling);
	ck_assert_uint_eq(load_wanted(&load), 8);
	load_run_until(&load, 2);
	ck_assert(!pool_facts(load.pool).is_rolling);
	load_end(&load);
}
END_TEST

START_TEST(without_memory_it_is_tried_again_later)
{
	struct load load = {.task = MTIME_MINUTE, .boot = 500 * MTIME_MS, .slots_max = 2};
	load_start(&load, 2, 32, 1);
	load.queued = 100;
	load_run(&load, MTIME_MINUTE);
	ck_assert_uint_eq(load.grown, 0);
	ck_assert_uint_ge(load.refused, 5);
	ck_assert_uint_le(load.refused, 6);
	load.slots_max = 0;
	ck_assert_int_le(load_run_until(&load, 32), 12 * MTIME_SECOND);
	load_end(&load);
}
END_TEST

static Suite *auto_load_suite(void)
{
	Suite *suite = suite_create("core/auto_load");
	TCase *steady_case = tcase_create("steady");
	tcase_add_loop_test(steady_case, a_steady_load_brings_no_to_and_fro, 0,
		SEEDS * (int)(sizeof steady / sizeof *steady));
	suite_add_tcase(suite, steady_case);
	UNIT_CASE(suite, "loads", a_burst_brings_all_and_calm_the_least,
		a_long_boot_does_not_slow_it_down, a_few_tasks_bring_a_few,
		a_handful_of_short_tasks_brings_none,
		workers_that_are_faster_than_we_are_need_no_help,
		short_tasks_bring_more_where_these_help,
		bursts_that_come_back_find_the_workers_there, a_crowd_of_a_moment_counts_whole);
	UNIT_CASE(suite, "meanwhile", in_a_pause_and_without_a_broker_nothing_changes,
		a_number_holds_and_bounds_let_it_choose_again,
		it_grows_while_it_rolls_and_shrinks_afterwards,
		in_a_restart_nobody_is_sent_away_for_being_idle,
		without_memory_it_is_tried_again_later);
	return suite;
}

UNIT_MAIN(auto_load_suite)
