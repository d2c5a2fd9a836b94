/* Workers, as a number or as bounds, in a file and in one word elsewhere; when they are replaced.
 */
#include "unit/support/config/loading.h"

#include <stdio.h>

START_TEST(test_workers_are_a_number_or_bounds)
{
	static const struct {
		const char *value;
		int64_t min, max;
	} cases[] = {{"7", 7, 7}, {"2..32", 2, 32}, {"4..4", 4, 4}, {"1..10000", 1, 10000}};
	char variable[64], yaml[256];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const environment[] = {
			"QUEUENAME=q", "WORKER_COMMAND=w", variable, NULL};
		snprintf(variable, sizeof variable, "WORKER_COUNT=%s", cases[i].value);
		loading_load(&(struct config_flags){0}, environment);
		ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
		ck_assert_int_eq(loaded.config->pools->workers, cases[i].min);
		ck_assert_int_eq(loaded.config->pools->workers_max, cases[i].max);
		snprintf(yaml, sizeof yaml,
			"pools: [{queue: q, command: w, workers: {max: %d, min: %d}}]\n",
			(int)cases[i].max, (int)cases[i].min);
		loading_load_yaml(text_from(yaml), NULL);
		ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
		ck_assert_int_eq(loaded.config->pools->workers, cases[i].min);
		ck_assert_int_eq(loaded.config->pools->workers_max, cases[i].max);
	}
}
END_TEST

START_TEST(test_bounds_are_printed_as_they_are_read)
{
	loading_load_yaml(
		TEXT("pools: [{queue: q, command: w, workers: {min: 2, max: 9}}]\n"), NULL);
	ck_assert_ptr_nonnull(strstr(loaded.printed, "    workers: 2..9\n"));
	loading_load_yaml(TEXT("pools: [{queue: q, command: w, workers: 2..2}]\n"), NULL);
	ck_assert_ptr_nonnull(strstr(loaded.printed, "    workers: 2\n"));
}
END_TEST

START_TEST(test_recycling_is_none_or_limited)
{
	loading_load_yaml(TEXT("pools: [{queue: q, command: w}]\n"), NULL);
	const struct config_pool *pool = loaded.config->pools;
	ck_assert_int_eq(pool->recycle.tasks, MTIME_NEVER);
	ck_assert_int_eq(pool->recycle.age, MTIME_NEVER);
	ck_assert_int_eq(pool->recycle.memory, MTIME_NEVER);
	ck_assert_int_eq(pool->recycle.memory_kill, MTIME_NEVER);
	ck_assert_ptr_nonnull(strstr(loaded.printed,
		"    recycle:\n      tasks: none\n      age: none\n      memory: none\n"
		"      memory_kill: none\n"));
	loading_load_yaml(TEXT("pools: [{queue: q, command: w, recycle: {tasks: 100, age: 1h,"
			       " memory: 5MiB, memory_kill: 5MiB}}]\n"),
		NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	pool = loaded.config->pools;
	ck_assert_int_eq(pool->recycle.tasks, 100);
	ck_assert_int_eq(pool->recycle.age, 60 * MTIME_MINUTE);
	ck_assert_int_eq(pool->recycle.memory, 5 << 20);
	ck_assert_int_eq(pool->recycle.memory_kill, 5 << 20);
	ck_assert_ptr_nonnull(strstr(loaded.printed,
		"    recycle:\n      tasks: 100\n      age: 1h\n      memory: 5MiB\n"
		"      memory_kill: 5MiB\n"));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/range");
	TCase *workers = tcase_create("workers");
	tcase_add_checked_fixture(workers, loading_set_up, loading_tear_down);
	tcase_add_test(workers, test_workers_are_a_number_or_bounds);
	tcase_add_test(workers, test_bounds_are_printed_as_they_are_read);
	tcase_add_test(workers, test_recycling_is_none_or_limited);
	suite_add_tcase(s, workers);
	return s;
}

UNIT_MAIN(suite)
