/* Waits double up to their maximum, are shortened by a quarter at most, and start over after a
 * success. */
#include "base/backoff.h"
#include "unit/unit.h"

static const mtime seconds[] = {1, 2, 4, 8, 16, 30, 30, 30};
#define COUNT (sizeof seconds / sizeof *seconds)

START_TEST(a_wait_doubles_up_to_the_maximum)
{
	for (uint32_t i = 0; i < COUNT; i++)
		ck_assert_int_eq(backoff_wait(MTIME_SECOND, 30 * MTIME_SECOND, i + 1),
			seconds[i] * MTIME_SECOND);
	ck_assert_int_eq(
		backoff_wait(MTIME_SECOND, 30 * MTIME_SECOND, UINT32_MAX), 30 * MTIME_SECOND);
	ck_assert_int_eq(backoff_wait(5 * MTIME_SECOND, MTIME_SECOND, 1), MTIME_SECOND);
}
END_TEST

START_TEST(each_wait_is_shortened_by_a_quarter_at_most)
{
	for (uint32_t seed = 0; seed < 1000; seed++) {
		struct backoff backoff;
		backoff_init(&backoff, MTIME_SECOND, 30 * MTIME_SECOND, seed);
		for (size_t i = 0; i < COUNT; i++) {
			mtime wait = backoff_next(&backoff);
			ck_assert_int_le(wait, seconds[i] * MTIME_SECOND);
			ck_assert_int_ge(wait, seconds[i] * MTIME_SECOND * 3 / 4);
		}
	}
}
END_TEST

START_TEST(a_success_starts_over)
{
	struct backoff backoff;
	backoff_init(&backoff, MTIME_SECOND, 30 * MTIME_SECOND, 7);
	for (size_t i = 0; i < COUNT; i++)
		backoff_next(&backoff);
	backoff_reset(&backoff);
	ck_assert_int_le(backoff_next(&backoff), MTIME_SECOND);
	ck_assert_int_gt(backoff_next(&backoff), MTIME_SECOND);
}
END_TEST

START_TEST(waits_differ_between_seeds_and_repeat_for_one)
{
	unsigned equal = 0;
	for (uint32_t seed = 1; seed < 100; seed++) {
		struct backoff one, same, other;
		backoff_init(&one, MTIME_SECOND, MTIME_MINUTE, seed);
		backoff_init(&same, MTIME_SECOND, MTIME_MINUTE, seed);
		backoff_init(&other, MTIME_SECOND, MTIME_MINUTE, seed + 1);
		mtime wait = backoff_next(&one);
		ck_assert_int_eq(wait, backoff_next(&same));
		equal += wait == backoff_next(&other);
	}
	ck_assert_uint_lt(equal, 5);
}
END_TEST

START_TEST(a_random_span_leaves_the_next_wait)
{
	struct backoff backoff;
	backoff_init(&backoff, MTIME_SECOND, MTIME_MINUTE, 7);
	for (int i = 0; i < 1000; i++) {
		mtime span = backoff_random_below(&backoff, 10);
		ck_assert(span >= 0 && span < 10);
	}
	ck_assert_int_le(backoff_next(&backoff), MTIME_SECOND);
}
END_TEST

static Suite *backoff_suite(void)
{
	Suite *suite = suite_create("base/backoff");
	UNIT_CASE(suite, "backoff", a_wait_doubles_up_to_the_maximum,
		each_wait_is_shortened_by_a_quarter_at_most, a_success_starts_over,
		waits_differ_between_seeds_and_repeat_for_one, a_random_span_leaves_the_next_wait);
	return suite;
}

UNIT_MAIN(backoff_suite)
