/* When most attempts of a pool count as failed, and until when. */
#include "runtime/figures/failure_share.h"
#include "unit/unit.h"

/* Add attempts, 'x' failed, '.' not; return how often is_high changed. */
static unsigned add(struct failure_share *share, char kind, unsigned count)
{
	unsigned changes = 0;

	for (unsigned i = 0; i < count; i++)
		changes += failure_share_add(share, kind == 'x');
	return changes;
}

START_TEST(a_few_attempts_are_not_judged)
{
	struct failure_share share = {0};

	ck_assert_uint_eq(add(&share, 'x', FAILURE_SHARE_MIN - 1), 0);
	ck_assert(!share.is_high);
	ck_assert_uint_eq(add(&share, 'x', 1), 1);
	ck_assert(share.is_high);
	ck_assert_uint_eq(failure_share_failed(&share), FAILURE_SHARE_MIN);
}
END_TEST

START_TEST(half_of_the_attempts_is_too_much)
{
	struct failure_share share = {0};

	add(&share, '.', 30);
	ck_assert_uint_eq(add(&share, 'x', 24), 0); /* of 50 */
	ck_assert(!share.is_high);
	ck_assert_uint_eq(add(&share, 'x', 1), 1);
	ck_assert(share.is_high);
}
END_TEST

START_TEST(it_ends_at_a_quarter)
{
	struct failure_share share = {0};

	add(&share, 'x', 50);
	ck_assert_uint_eq(add(&share, '.', 37), 0); /* 13 of 50 */
	ck_assert(share.is_high);
	ck_assert_uint_eq(add(&share, '.', 1), 1); /* 12 */
	ck_assert(!share.is_high);
	ck_assert_uint_eq(add(&share, '.', 100), 0);
	ck_assert_uint_eq(failure_share_failed(&share), 0);
	ck_assert_uint_eq(share.attempts, FAILURE_SHARE_LATEST);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("runtime/failure_share");
	UNIT_CASE(s, "share", a_few_attempts_are_not_judged, half_of_the_attempts_is_too_much,
		it_ends_at_a_quarter);
	return s;
}

UNIT_MAIN(suite)
