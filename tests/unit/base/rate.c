/* A rate lets a number of events pass in each second, whether they come evenly or in bursts. */
#include "base/rate.h"
#include "unit/unit.h"

static int64_t taken(struct rate *rate, mtime now, int64_t wanted)
{
	int64_t count = 0;
	for (int64_t i = 0; i < wanted; i++)
		count += rate_take(rate, now);
	return count;
}

/* The events of one second pass at once; after a pause, those of the pause, but at most one
 * second's. */
START_TEST(a_burst_gets_one_second_of_the_rate)
{
	mtime now = 5 * MTIME_SECOND;
	struct rate rate = rate_of(1000, now);
	ck_assert_int_eq(taken(&rate, now, 5000), 1000);
	ck_assert_int_eq(taken(&rate, now + MTIME_MS / 2, 10), 0);
	ck_assert_int_eq(taken(&rate, now + MTIME_MS, 10), 1);
	ck_assert_int_eq(taken(&rate, now + 101 * MTIME_MS, 5000), 100);
	ck_assert_int_eq(taken(&rate, now + MTIME_SECOND + 101 * MTIME_MS, 5000), 1000);
	ck_assert_int_eq(taken(&rate, now + 100 * MTIME_SECOND, 5000), 1000);
}
END_TEST

/* Rounding loses none: just below the rate all events pass; above it as many as the rate allows. */
START_TEST(a_steady_flow_gets_the_rate)
{
	static const int64_t rates[] = {1, 3, 7, 999, 10000, 333333};
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		struct rate rate = rate_of(rates[i], 0);
		int64_t passed = 0, seconds = 20;
		mtime gap = MTIME_SECOND / rates[i] + 1;
		for (int64_t n = 0; n < 1000; n++)
			ck_assert(rate_take(&rate, n * gap));
		rate = rate_of(rates[i], 0);
		for (mtime now = 0; now < seconds * MTIME_SECOND; now += gap / 3 + 1)
			passed += rate_take(&rate, now);
		ck_assert_int_le(passed, (seconds + 1) * rates[i]);
		ck_assert_int_ge(passed, (seconds - 1) * rates[i]);
	}
}
END_TEST

/* More than is left may be spent, and has to come in again first. So no span has more than its own
 * share, a second's, and what was spent last. */
START_TEST(a_large_piece_is_paid_for_later)
{
	enum { PIECE = 95000, RATE = 1 << 20, SECONDS = 10 };
	for (mtime gap = 100; gap < MTIME_SECOND; gap *= 7) {
		struct rate rate = rate_of(RATE, 0);
		int64_t spent = 0;
		for (mtime now = 0; now < SECONDS * MTIME_SECOND; now += gap) {
			while (rate_has_left(&rate, now)) {
				rate_spend(&rate, PIECE);
				spent += PIECE;
			}
			ck_assert_int_le(spent, RATE + now * RATE / MTIME_SECOND + PIECE);
		}
		ck_assert_int_ge(spent, (int64_t)(SECONDS - 1) * RATE);
		ck_assert(rate_has_left(&rate, 100 * MTIME_SECOND)); /* full again, and no fuller */
		ck_assert_int_eq(taken(&rate, 100 * MTIME_SECOND, 2 * RATE), RATE);
	}
}
END_TEST

START_TEST(extremes_of_rate_and_time_are_handled)
{
	struct rate rate = rate_of(RATE_MAX, 0);
	ck_assert_int_eq(taken(&rate, MTIME_NEVER - 1, 1000), 1000);
	rate.per_second = 10; /* a lower one holds at once */
	ck_assert_int_eq(taken(&rate, MTIME_NEVER - 1, 1000), 10);
	rate = rate_of(10, 1000);
	ck_assert_int_eq(taken(&rate, 0, 1000), 10); /* a clock that goes back */
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("base/rate");
	UNIT_CASE(s, "rate", a_burst_gets_one_second_of_the_rate, a_steady_flow_gets_the_rate,
		a_large_piece_is_paid_for_later, extremes_of_rate_and_time_are_handled);
	return s;
}

UNIT_MAIN(suite)
