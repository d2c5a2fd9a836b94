/* A pool that chooses how many workers it has: what it does about a burst, a calm and a steady
 * load. */
#include "unit/support/core/load.h"

#define HOUR (60 * MTIME_MINUTE)

/* ---------- loads ---------- */

START_TEST(a_burst_grows_to_max_and_calm_shrinks_to_min)
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

/* More workers are started before the last ones are ready. */
START_TEST(a_long_boot_does_not_delay_growth)
{
	struct load load = {.task = 5 * MTIME_SECOND, .boot = 30 * MTIME_SECOND};
	load_start(&load, 1, 64, 1);
	load.queued = 1000;
	ck_assert_int_le(load_run_until(&load, 64), 2 * MTIME_SECOND);
	load_end(&load);
}
END_TEST

/* There are as many workers as tasks, not more. */
START_TEST(a_few_tasks_add_a_few_workers)
{
	struct load load = {.task = MTIME_MINUTE, .is_fixed = true, .boot = 500 * MTIME_MS};
	load_start(&load, 2, 32, 1);
	load.queued = 7;
	load_run(&load, MTIME_MINUTE);
	ck_assert_uint_eq(load_wanted(&load), 7);
	load_end(&load);
}
END_TEST

/* Tasks that are soon done are not worth the start of a worker. */
START_TEST(a_few_short_tasks_add_no_workers)
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

/* The workers are faster than the supervisor: more of them would not help. */
START_TEST(workers_faster_than_the_supervisor_add_no_workers)
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

/* Tasks that take ten times as long, in the same pipes: more workers help. */
START_TEST(short_tasks_add_workers_if_these_help)
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
	uint32_t min;     /* workers, at any time of the second and third hour */
	uint32_t changes; /* at most, in these */
};

/* Work for five workers on average; at random much more or less for a while. */
static const struct steady steady[] = {
	{5, MTIME_SECOND, true, 5, 0},
	{5, MTIME_SECOND, false, 8, 60},
	{0.5, 10 * MTIME_SECOND, false, 6, 60},
	{0.01, 10 * MTIME_MINUTE, false, 2, 60},
};

#define SEEDS 3

START_TEST(a_steady_load_does_not_oscillate)
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
	ck_assert_uint_ge(load.min_seen, given->min);
	ck_assert_uint_le(load.max_seen, 24);
	load.rate = 0;
	load_run_until(&load, 2);
	load_end(&load);
}
END_TEST

/* Workers are kept for a peak that returns within the patience. */
START_TEST(workers_stay_between_repeated_bursts)
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
	/* That is long ago: the patience is as short as at first. */
	load.queued = 200;
	load_run_until(&load, 32);
	ck_assert_int_le(load_run_until(&load, 2), 6 * MTIME_MINUTE);
	load_end(&load);
}
END_TEST

/* Eight tasks at once, for less than a measure, then none for seconds: eight workers are needed. */
START_TEST(a_short_peak_is_not_averaged_away)
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

START_TEST(a_pause_or_a_lost_broker_changes_nothing)
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

START_TEST(a_fixed_number_holds_until_bounds_are_set)
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

START_TEST(pool_grows_during_a_restart_and_shrinks_afterwards)
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

/* Eight starts of fifty seconds each, while no worker is busy. */
START_TEST(idle_workers_stay_during_a_restart)
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

START_TEST(growth_without_memory_is_retried_later)
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

static Suite *autoscale_load_suite(void)
{
	Suite *suite = suite_create("core/autoscale_load");
	TCase *steady_case = tcase_create("steady");
	tcase_add_loop_test(steady_case, a_steady_load_does_not_oscillate, 0,
		SEEDS * (int)(sizeof steady / sizeof *steady));
	suite_add_tcase(suite, steady_case);
	UNIT_CASE(suite, "loads", a_burst_grows_to_max_and_calm_shrinks_to_min,
		a_long_boot_does_not_delay_growth, a_few_tasks_add_a_few_workers,
		a_few_short_tasks_add_no_workers, workers_faster_than_the_supervisor_add_no_workers,
		short_tasks_add_workers_if_these_help, workers_stay_between_repeated_bursts,
		a_short_peak_is_not_averaged_away);
	UNIT_CASE(suite, "meanwhile", a_pause_or_a_lost_broker_changes_nothing,
		a_fixed_number_holds_until_bounds_are_set,
		pool_grows_during_a_restart_and_shrinks_afterwards,
		idle_workers_stay_during_a_restart, growth_without_memory_is_retried_later);
	return suite;
}

UNIT_MAIN(autoscale_load_suite)
