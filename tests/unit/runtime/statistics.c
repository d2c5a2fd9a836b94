/* Buckets, and what can be said of them. */
#include "runtime/statistics.h"
#include "base/utf8.h"
#include "core/tasks/output.h"
#include "unit/unit.h"

START_TEST(a_span_is_in_the_bucket_of_its_bound)
{
	static const struct {
		mtime span;
		size_t bucket;
	} cases[] = {{0, 0}, {100, 0}, {101, 1}, {MTIME_MS, 1}, {MTIME_MS + 1, 2},
		{MTIME_SECOND, 7}, {60 * MTIME_MINUTE, HISTOGRAM_BOUND_COUNT - 1},
		{60 * MTIME_MINUTE + 1, HISTOGRAM_BOUND_COUNT}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct histogram histogram = {0};
		histogram_add(&histogram, cases[i].span);
		ck_assert_uint_eq(histogram.counts[cases[i].bucket], 1);
		ck_assert_uint_eq(histogram_count(&histogram), 1);
		ck_assert_int_eq(histogram.sum, cases[i].span);
	}
}
END_TEST

START_TEST(words_are_the_bounds)
{
	for (size_t i = 0; i < HISTOGRAM_BOUND_COUNT; i++) {
		struct histogram histogram = {0};
		mtime bound = (mtime)(atof(histogram_bound_label(i)) * MTIME_SECOND + 0.5);
		histogram_add(&histogram, bound);
		histogram_add(&histogram, bound + 1);
		ck_assert_uint_eq(histogram.counts[i], 1);
		ck_assert_uint_eq(histogram.counts[i + 1], 1);
		ck_assert_int_eq(histogram_bound(i), bound);
	}
	ck_assert_int_eq(histogram_bound(HISTOGRAM_BOUND_COUNT), MTIME_NEVER);
}
END_TEST

START_TEST(quantiles_lie_where_most_are)
{
	struct histogram histogram = {0};
	ck_assert_int_eq(histogram_quantile(&histogram, 0.5), MTIME_NEVER);
	for (int i = 0; i < 90; i++)
		histogram_add(&histogram, 700); /* between 0.1 and 1 ms */
	for (int i = 0; i < 10; i++)
		histogram_add(&histogram, 3 * MTIME_MS); /* between 1 and 5 ms */
	ck_assert_int_eq(histogram_quantile(&histogram, 0.5), 100 + 500);
	ck_assert_int_eq(histogram_quantile(&histogram, 0.9), MTIME_MS);
	ck_assert_int_eq(histogram_quantile(&histogram, 0.95), 3 * MTIME_MS);
	ck_assert_int_eq(histogram_quantile(&histogram, 1), 5 * MTIME_MS);
	histogram_add(&histogram, 1000 * MTIME_MINUTE);
	ck_assert_int_eq(histogram_quantile(&histogram, 1), 60 * MTIME_MINUTE);
}
END_TEST

/* A worker's last line may be anything. */
START_TEST(a_last_line_is_kept_as_it_may_be_shown)
{
	static struct statistics statistics;
	char bytes[2 * STDERR_LINE_SIZE];
	struct output output = {.stderr_line = TEXT("a\0\x1b[31m\r\xc2\x9b\xff")};
	struct notice notice = {.kind = NOTICE_WORKER_DIED, .output = &output};

	statistics_count(&statistics, &notice);
	ck_assert_str_eq(statistics.last_death.stderr_line, "a\\x00\\x1b[31m\\r\\x9b\xef\xbf\xbd");
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = i % 2 ? '\xa4' : '\xc3';
	output.stderr_line = text_of(bytes, sizeof bytes);
	statistics_count(&statistics, &notice);
	/* 255 bytes have place: 127 characters of two. */
	ck_assert_uint_eq(strlen(statistics.last_death.stderr_line), 254);
	ck_assert(utf8_is_valid(text_from(statistics.last_death.stderr_line)));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("runtime/statistics");
	UNIT_CASE(s, "histogram", a_span_is_in_the_bucket_of_its_bound, words_are_the_bounds,
		quantiles_lie_where_most_are);
	UNIT_CASE(s, "death", a_last_line_is_kept_as_it_may_be_shown);
	return s;
}

UNIT_MAIN(suite)
