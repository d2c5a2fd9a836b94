/* What may be unacked: an honest broker is always within the limits, and another one is not. */
#include "broker/unacked_limit.h"
#include "core/pool_config.h"
#include "unit/unit.h"

#define MEMORY 1000
#define BODY   100

/* What a row changes before it is checked: consumers that ended, with this window each, when the
 * deliveries up to departed_tag had come. */
static const struct {
	uint32_t window, departed, departed_tag;
	uint64_t oldest_tag;
	uint32_t count;
	size_t bytes;
	enum unacked_verdict wanted;
} rows[] = {
	{.window = 2, .count = 1, .wanted = UNACKED_FITS},
	{.window = 2, .count = 18, .wanted = UNACKED_FITS},
	{.window = 2, .count = 19, .wanted = UNACKED_TOO_MANY},
	{.window = 0, .count = 17, .wanted = UNACKED_TOO_MANY},
	{.window = 65535, .count = 65551, .wanted = UNACKED_FITS},
	{.window = 65535, .count = 65552, .wanted = UNACKED_TOO_MANY},
	/* bytes: twice the memory, and one body */
	{.window = 9, .count = 2, .bytes = 2100, .wanted = UNACKED_FITS},
	{.window = 9, .count = 2, .bytes = 2101, .wanted = UNACKED_TOO_LARGE},
	{.window = 9, .count = 1, .bytes = 9999, .wanted = UNACKED_FITS},
	{.window = 2, .count = 19, .bytes = 2101, .wanted = UNACKED_TOO_MANY},
	/* a consumer of 10 that is gone: what it left counts until all of that is settled */
	{2, 10, 30, .oldest_tag = 21, .count = 28, .wanted = UNACKED_FITS},
	{2, 10, 30, .oldest_tag = 30, .count = 28, .wanted = UNACKED_FITS},
	{2, 10, 30, .oldest_tag = 30, .count = 29, .wanted = UNACKED_TOO_MANY},
	{2, 10, 30, .oldest_tag = 31, .count = 19, .wanted = UNACKED_TOO_MANY},
};

START_TEST(more_than_the_windows_and_the_slack_is_too_many)
{
	struct pool_unacked unacked = {.memory = MEMORY, .count = 10, .oldest_tag = 1};
	struct unacked_limit limit;
	unacked_limit_clear(&limit);
	if (rows[_i].departed) {
		unacked.latest_tag = rows[_i].departed_tag;
		unacked_limit_departed(&limit, rows[_i].departed, &unacked);
	}
	unacked.oldest_tag = rows[_i].oldest_tag;
	unacked.count = rows[_i].count;
	unacked.bytes = rows[_i].bytes;
	ck_assert_int_eq(
		unacked_limit_check(&limit, rows[_i].window, BODY, &unacked), rows[_i].wanted);
}
END_TEST

/* A broker that cancels consumers again and again would otherwise get a window each time. */
START_TEST(departed_consumers_count_for_no_more_than_is_unacked)
{
	struct pool_unacked unacked = {
		.memory = MEMORY, .count = 3, .oldest_tag = 1, .latest_tag = 3};
	struct unacked_limit limit;
	unacked_limit_clear(&limit);
	for (int i = 0; i < 1000; i++)
		unacked_limit_departed(&limit, 1000, &unacked);
	ck_assert_uint_eq(limit.departed, 3);
	unacked.count = UINT32_MAX;
	for (int i = 0; i < 1000; i++)
		unacked_limit_departed(&limit, POOL_WINDOW_MAX, &unacked);
	ck_assert_uint_eq(limit.departed, UNACKED_DEPARTED_MAX);
}
END_TEST

/* With the largest prefetch: a window and a half is left of narrowed windows (reliability.md, how
 * often a message may be repeated), and a whole one is delivered beside them. */
START_TEST(two_and_a_half_of_the_largest_window_fit)
{
	struct pool_unacked unacked = {.memory = MEMORY,
		.count = POOL_WINDOW_MAX,
		.oldest_tag = 1,
		.latest_tag = POOL_WINDOW_MAX};
	struct unacked_limit limit;
	unacked_limit_clear(&limit);
	unacked_limit_departed(&limit, POOL_WINDOW_MAX, &unacked);
	unacked.count = unacked.latest_tag = POOL_WINDOW_MAX * 3 / 2;
	unacked_limit_departed(&limit, POOL_WINDOW_MAX / 2, &unacked);
	unacked.count += POOL_WINDOW_MAX;
	ck_assert_int_eq(
		unacked_limit_check(&limit, POOL_WINDOW_MAX, BODY, &unacked), UNACKED_FITS);
}
END_TEST

/* `memory` was lowered by a reload: what came before, and what was on its way, is no offence. */
START_TEST(lower_memory_counts_when_the_old_deliveries_are_gone)
{
	struct pool_unacked unacked = {
		.memory = MEMORY, .count = 20, .bytes = 2000, .oldest_tag = 1, .latest_tag = 20};
	struct unacked_limit limit;
	unacked_limit_clear(&limit);
	ck_assert_int_eq(unacked_limit_check(&limit, 20, BODY, &unacked), UNACKED_FITS);
	unacked.memory = MEMORY / 10;
	ck_assert_int_eq(unacked_limit_check(&limit, 20, BODY, &unacked), UNACKED_FITS);
	unacked_limit_departed(&limit, 20, &unacked);
	ck_assert_int_eq(unacked_limit_check(&limit, 2, BODY, &unacked), UNACKED_FITS);
	unacked.oldest_tag = 21;
	unacked.latest_tag = 23;
	unacked.count = 3;
	unacked.bytes = 300;
	ck_assert_int_eq(unacked_limit_check(&limit, 2, BODY, &unacked), UNACKED_FITS);
	unacked.bytes = 301;
	ck_assert_int_eq(unacked_limit_check(&limit, 2, BODY, &unacked), UNACKED_TOO_LARGE);
	unacked.memory = MEMORY; /* raised again */
	ck_assert_int_eq(unacked_limit_check(&limit, 2, BODY, &unacked), UNACKED_FITS);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/unacked_limit");
	TCase *limits = tcase_create("limits");
	tcase_add_loop_test(limits, more_than_the_windows_and_the_slack_is_too_many, 0,
		sizeof rows / sizeof *rows);
	tcase_add_test(limits, departed_consumers_count_for_no_more_than_is_unacked);
	tcase_add_test(limits, two_and_a_half_of_the_largest_window_fit);
	tcase_add_test(limits, lower_memory_counts_when_the_old_deliveries_are_gone);
	suite_add_tcase(s, limits);
	return s;
}

UNIT_MAIN(suite)
