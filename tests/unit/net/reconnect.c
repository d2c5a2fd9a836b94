/* Which host is tried next, and after which wait. */
#include "unit/unit.h"

#include "net/reconnect.h"

static void check_wait(mtime wait, mtime expected)
{
	ck_assert_int_ge(wait, expected - expected / 4);
	ck_assert_int_le(wait, expected);
}

START_TEST(waits_double_up_to_their_maximum)
{
	static const int expected_ms[] = {500, 1000, 2000, 4000, 5000, 5000};
	struct reconnect r;
	reconnect_init(&r, 1, RECONNECT_MAX, 7);
	for (size_t i = 0; i < sizeof expected_ms / sizeof *expected_ms; i++)
		check_wait(reconnect_failed(&r, false, 0), expected_ms[i] * MTIME_MS);
}
END_TEST

START_TEST(refused_logins_wait_longer_until_one_is_accepted)
{
	static const int expected_s[] = {5, 10, 20, 40, 60, 60};
	struct reconnect r;
	reconnect_init(&r, 1, RECONNECT_MAX, 7);
	for (size_t i = 0; i < sizeof expected_s / sizeof *expected_s; i++)
		check_wait(reconnect_failed(&r, true, 0), expected_s[i] * MTIME_SECOND);
	reconnect_opened(&r);
	check_wait(reconnect_failed(&r, true, 0), 5 * MTIME_SECOND);
}
END_TEST

START_TEST(each_host_is_tried_before_a_wait)
{
	struct reconnect r;
	reconnect_init(&r, 3, RECONNECT_MAX, 7);
	for (int round = 0; round < 2; round++) {
		ck_assert_uint_eq(r.host, 0);
		ck_assert_int_eq(reconnect_failed(&r, false, 0), 0);
		ck_assert_uint_eq(r.host, 1);
		ck_assert_int_eq(reconnect_failed(&r, false, 0), 0);
		ck_assert_uint_eq(r.host, 2);
		check_wait(reconnect_failed(&r, false, 0), (500 << round) * MTIME_MS);
	}
}
END_TEST

START_TEST(one_refusal_in_a_round_makes_its_wait_long)
{
	struct reconnect r;
	reconnect_init(&r, 2, RECONNECT_MAX, 7);
	ck_assert_int_eq(reconnect_failed(&r, true, 0), 0);
	check_wait(reconnect_failed(&r, false, 0), RECONNECT_LOGIN);
	ck_assert_int_eq(reconnect_failed(&r, false, 0), 0);
	check_wait(reconnect_failed(&r, false, 0), RECONNECT_FIRST);
}
END_TEST

START_TEST(only_a_connection_that_outlived_the_wait_resets_it)
{
	struct reconnect r;
	reconnect_init(&r, 1, RECONNECT_MAX, 7);
	for (int i = 0; i < 3; i++)
		reconnect_failed(&r, false, 0);
	check_wait(reconnect_failed(&r, false, MTIME_SECOND), 4 * MTIME_SECOND);
	check_wait(reconnect_failed(&r, false, 5 * MTIME_SECOND), RECONNECT_FIRST);
}
END_TEST

START_TEST(no_wait_is_longer_than_the_limit)
{
	struct reconnect r;
	reconnect_init(&r, 1, MTIME_SECOND, 7);
	for (int i = 0; i < 20; i++)
		ck_assert_int_le(reconnect_failed(&r, false, 0), MTIME_SECOND);
	for (int i = 0; i < 20; i++)
		ck_assert_int_le(reconnect_failed(&r, true, 0), 2 * MTIME_SECOND);
}
END_TEST

START_TEST(waits_differ_between_seeds)
{
	struct reconnect one, other;
	unsigned equal = 0;
	for (uint32_t seed = 0; seed < 100; seed++) {
		reconnect_init(&one, 1, RECONNECT_MAX, seed);
		reconnect_init(&other, 1, RECONNECT_MAX, seed + 1);
		equal += reconnect_failed(&one, false, 0) == reconnect_failed(&other, false, 0);
	}
	ck_assert_uint_lt(equal, 5);
}
END_TEST

static Suite *reconnect_suite(void)
{
	Suite *suite = suite_create("net/reconnect");
	UNIT_CASE(suite, "reconnect", waits_double_up_to_their_maximum,
		refused_logins_wait_longer_until_one_is_accepted, each_host_is_tried_before_a_wait,
		one_refusal_in_a_round_makes_its_wait_long,
		only_a_connection_that_outlived_the_wait_resets_it,
		no_wait_is_longer_than_the_limit, waits_differ_between_seeds);
	return suite;
}

UNIT_MAIN(reconnect_suite)
