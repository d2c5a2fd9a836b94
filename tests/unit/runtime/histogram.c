/* Buckets, and how exact what is computed from them is. */
#include "runtime/figures/histogram.h"
#include "unit/unit.h"

#include <math.h>

START_TEST(buckets_follow_each_other)
{
	ck_assert_int_eq(histogram_bucket_start(0), 0);
	for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		mtime start = histogram_bucket_start(i), bound = histogram_bucket_bound(i);
		ck_assert_int_gt(bound, start);
		ck_assert_int_eq(histogram_bucket_start(i + 1), bound);
		ck_assert(bound == start + 1 || (double)(bound - start) <= 0.05 * (double)start);
	}
}
END_TEST

START_TEST(a_time_is_in_the_bucket_between_start_and_bound)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		struct histogram histogram = {0};
		histogram_add(&histogram, histogram_bucket_start(i) + 1);
		histogram_add(&histogram, histogram_bucket_bound(i));
		ck_assert_uint_eq(histogram.counts[i], 2);
	}
}
END_TEST

START_TEST(what_is_too_short_or_too_long_is_in_the_first_or_last_bucket)
{
	struct histogram histogram = {0};
	histogram_add(&histogram, 0);
	histogram_add(&histogram, 1000 * MTIME_MINUTE);
	histogram_add(&histogram, INT64_MAX / 4);
	ck_assert_uint_eq(histogram.counts[0], 1);
	ck_assert_uint_eq(histogram.counts[HISTOGRAM_BUCKETS - 1], 2);
	ck_assert_int_eq(histogram_quantile(&histogram, 1), INT64_MAX / 4);
	ck_assert_int_eq(histogram_quantile(&histogram, 0), 0);
}
END_TEST

START_TEST(counts_up_to_a_bound_of_prometheus_are_exact)
{
	for (size_t i = 0; i < HISTOGRAM_BOUND_COUNT; i++) {
		struct histogram histogram = {0};
		mtime bound = (mtime)(atof(histogram_bound_label(i)) * MTIME_SECOND + 0.5);
		histogram_add(&histogram, bound);
		histogram_add(&histogram, bound + 1);
		ck_assert_uint_eq(histogram_count_to(&histogram, i), 1);
		ck_assert_uint_eq(histogram.count, 2);
		ck_assert_int_eq(histogram.sum, 2 * bound + 1);
	}
}
END_TEST

START_TEST(equal_times_are_shown_as_they_are)
{
	static const mtime spans[] = {1, 10700, 200 * MTIME_MS, 20 * MTIME_SECOND};
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
		struct histogram histogram = {0};
		ck_assert_int_eq(histogram_quantile(&histogram, 0.5), MTIME_NEVER);
		for (int k = 0; k < 100; k++)
			histogram_add(&histogram, spans[i]);
		ck_assert_int_eq(histogram_quantile(&histogram, 0.5), spans[i]);
		ck_assert_int_eq(histogram_quantile(&histogram, 0.99), spans[i]);
	}
}
END_TEST

static int compare(const void *a, const void *b)
{
	mtime x = *(const mtime *)a, y = *(const mtime *)b;
	return (x > y) - (x < y);
}

/* Times from 1 us to 5 hours, evenly spread over the decades, against the sorted list. */
START_TEST(quantiles_are_at_most_5_percent_off)
{
	enum { COUNT = 10001 };
	static mtime spans[COUNT];
	struct histogram histogram = {0};
	uint32_t random = 7;

	for (int i = 0; i < COUNT; i++) {
		random = random * 1664525 + 1013904223;
		spans[i] = (mtime)pow(10, (random >> 8) * 10.25 / (1 << 24));
		histogram_add(&histogram, spans[i]);
	}
	qsort(spans, COUNT, sizeof *spans, compare);
	for (int percent = 0; percent <= 100; percent++) {
		int rank = (int)ceil(COUNT * percent / 100.0);
		double is = (double)spans[rank > 0 ? rank - 1 : 0];
		double shown = (double)histogram_quantile(&histogram, percent / 100.0);
		ck_assert_double_le(fabs(shown - is), 0.05 * is + 1);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("runtime/histogram");
	UNIT_CASE(s, "buckets", buckets_follow_each_other,
		a_time_is_in_the_bucket_between_start_and_bound,
		what_is_too_short_or_too_long_is_in_the_first_or_last_bucket,
		counts_up_to_a_bound_of_prometheus_are_exact);
	UNIT_CASE(s, "quantiles", equal_times_are_shown_as_they_are,
		quantiles_are_at_most_5_percent_off);
	return s;
}

UNIT_MAIN(suite)
