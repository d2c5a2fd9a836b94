/* What a pool did, second by second. */
#include "runtime/figures/history.h"
#include "unit/unit.h"

#include <math.h>

static struct history history;
static struct history_mark mark;
static struct histogram took, sum;

static void reset(void)
{
	history = (struct history){0};
	mark = (struct history_mark){0};
	took = sum = (struct histogram){0};
}

static void end_second(int64_t now, uint32_t done)
{
	history_end_seconds(&history, now, &(struct history_second){.done = done});
}

START_TEST(first_second_only_begins)
{
	end_second(5000, 7);
	ck_assert_uint_eq(history.count, 0);
	end_second(5000, 8);
	ck_assert_uint_eq(history.count, 0);
	end_second(5001, 9);
	ck_assert_uint_eq(history.count, 1);
	ck_assert_uint_eq(history_back(&history, 0)->done, 9);
}
END_TEST

START_TEST(silent_seconds_are_empty)
{
	end_second(5000, 0);
	end_second(5001, 1);
	end_second(5004, 2);
	end_second(5005, 3);
	static const uint32_t expected[] = {3, 0, 0, 2, 1};
	ck_assert_uint_eq(history.count, 5);
	for (uint32_t i = 0; i < 5; i++)
		ck_assert_uint_eq(history_back(&history, i)->done, expected[i]);
}
END_TEST

START_TEST(the_oldest_seconds_are_dropped)
{
	end_second(5000, 0);
	for (uint32_t i = 1; i <= HISTORY_SECONDS + 50; i++)
		end_second(5000 + i, i);
	ck_assert_uint_eq(history.count, HISTORY_SECONDS);
	for (uint32_t i = 0; i < HISTORY_SECONDS; i++)
		ck_assert_uint_eq(history_back(&history, i)->done, HISTORY_SECONDS + 50 - i);
}
END_TEST

/* A long suspension leaves nothing of what was before. */
START_TEST(a_long_silence_empties_it)
{
	static const int64_t silences[] = {
		HISTORY_SECONDS, HISTORY_SECONDS + 1, 100 * HISTORY_SECONDS + 7};
	for (size_t k = 0; k < sizeof silences / sizeof *silences; k++) {
		reset();
		end_second(5000, 0);
		for (uint32_t i = 1; i <= HISTORY_SECONDS; i++)
			end_second(5000 + i, 1);
		end_second(5000 + HISTORY_SECONDS + silences[k], 5);
		ck_assert_uint_eq(history.count, HISTORY_SECONDS);
		for (uint32_t i = 0; i < HISTORY_SECONDS; i++)
			ck_assert_uint_eq(
				history_back(&history, i)->done, i + 1 == silences[k] ? 5 : 0);
	}
}
END_TEST

START_TEST(measures_what_was_done_since_the_mark)
{
	struct history_totals totals = {.in = 10, .done = 7, .retried = 2, .took = &took};
	struct history_second figures = history_measure(&mark, &totals, &sum);
	ck_assert_uint_eq(figures.in, 10);
	ck_assert_uint_eq(figures.timed, 0);
	totals.in = 15;
	totals.done = 8;
	figures = history_measure(&mark, &totals, &sum);
	ck_assert_uint_eq(figures.in, 5);
	ck_assert_uint_eq(figures.done, 1);
	ck_assert_uint_eq(figures.retried, 0);
}
END_TEST

START_TEST(quantiles_are_of_that_second)
{
	struct history_totals totals = {.took = &took};
	for (int i = 0; i < 100; i++)
		histogram_add(&took, 10 * MTIME_MS);
	ck_assert_float_eq_tol(history_measure(&mark, &totals, &sum).p50, 0.01f, 0.0005f);
	histogram_add(&took, 2 * MTIME_SECOND);
	struct history_second figures = history_measure(&mark, &totals, &sum);
	ck_assert_uint_eq(figures.timed, 1);
	ck_assert_float_eq_tol(figures.p50, 2.0f, 0.1f);
	ck_assert_float_eq_tol(figures.p99, 2.0f, 0.1f);
	ck_assert_uint_eq(history_measure(&mark, &totals, &sum).timed, 0);
	/* The sum has the times of all. */
	history_set_times(&figures, &sum);
	ck_assert_uint_eq(figures.timed, 101);
	ck_assert_float_eq_tol(figures.p50, 0.01f, 0.0005f);
}
END_TEST

static size_t kib(size_t bytes)
{
	return (bytes + 512) / 1024;
}

/* docs/control.md and docs/operations.md name the memory that a pool takes for it. */
START_TEST(memory_is_as_documented)
{
	ck_assert_uint_eq(kib(sizeof(struct history) + sizeof(struct history_mark)), 31);
	ck_assert_uint_eq(kib(2 * sizeof(struct histogram)), 26);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("runtime/history");
	UNIT_CASE(s, "seconds", first_second_only_begins, silent_seconds_are_empty,
		the_oldest_seconds_are_dropped, a_long_silence_empties_it, memory_is_as_documented);
	UNIT_CASE(
		s, "figures", measures_what_was_done_since_the_mark, quantiles_are_of_that_second);
	return s;
}

UNIT_MAIN(suite)
