/* When a publishing channel is given up because the broker refuses what it publishes. */
#include "broker/refusals.h"
#include "unit/unit.h"

#define S MTIME_SECOND

/* The time from the first refusal of a channel until another one is tried. */
static mtime refuse(struct refusals *refusals, mtime now)
{
	refusals_forget(refusals);
	refusals_note(refusals, true, now);
	return refusals->renew_at - now;
}

START_TEST(test_first_refusal_counts)
{
	struct refusals refusals;
	refusals_init(&refusals, 1);
	ck_assert_int_eq(refusals.renew_at, MTIME_NEVER);
	refusals_note(&refusals, false, 1 * S);
	ck_assert_int_eq(refusals.renew_at, MTIME_NEVER);
	refusals_note(&refusals, true, 2 * S);
	mtime at = refusals.renew_at;
	ck_assert(at > 2 * S && at <= 7 * S);
	refusals_note(&refusals, true, 3 * S);
	refusals_note(&refusals, false, 4 * S);
	ck_assert_int_eq(refusals.renew_at, at);
	refusals_forget(&refusals);
	ck_assert_int_eq(refusals.renew_at, MTIME_NEVER);
}
END_TEST

/* A full queue refuses on every channel: they are not spent one a second. */
START_TEST(test_waits_grow)
{
	struct refusals refusals;
	refusals_init(&refusals, 1);
	mtime first = refuse(&refusals, 0), last = first;
	for (int i = 0; i < 10; i++) {
		mtime wait = refuse(&refusals, i * S);
		ck_assert(wait > last / 2 && wait <= 60 * S);
		last = wait;
	}
	ck_assert(last >= 45 * S);
	refusals_forget(&refusals);
	refusals_note(&refusals, false, 100 * S);
	ck_assert(refuse(&refusals, 101 * S) <= 5 * S);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/refusals");
	UNIT_CASE(s, "refusals", test_first_refusal_counts, test_waits_grow);
	return s;
}

UNIT_MAIN(suite)
