/* What a leader of a shared throttle grants in one answer, and what it counts. How it begins and
 * ends to lead is in throttle_handover.c and shared_random.c. */
#include "core/throttle/leader.h"
#include "unit/unit.h"

#define PERIOD        (10 * MTIME_SECOND)
#define STARTS_MAX    100000 /* of one request, late ones among them */
#define COUNTED_MAX   1000   /* keys */
#define COUNTED_EVERY MTIME_SECOND

enum { OWN = 7, OTHER = 9 };

static struct leader *leader;
static mtime now;

/* It leads at once, because another one hands over that it has granted nothing. */
static void lead(uint32_t limit)
{
	static const struct throttle_handover handover = {
		.leader = OTHER, .member = OWN, .figures = {.period = PERIOD}, .sure_for = PERIOD};
	const struct throttle_figures figures = {
		.limit = limit, .period = PERIOD, .max_keys = 2 * COUNTED_MAX};
	now = SHARED_PERIOD_MAX;
	leader = leader_new(&figures, 1, OWN);
	ck_assert_ptr_nonnull(leader);
	leader_inherit(leader, &handover, now, now);
	ck_assert(leader_is_leading(leader, now) && !leader_is_silent(leader, now));
}

static void tear_down(void)
{
	leader_free(leader);
}

static const struct throttle_answer *ask(const struct wanted *wanted, uint32_t count)
{
	static struct throttle_request request;
	request = (struct throttle_request){.member = OTHER, .lease = LEASE_MIN, .count = count};
	for (uint32_t i = 0; i < count; i++)
		request.keys[i] = wanted[i];
	return leader_answer(leader, &request, now);
}

static void start_each(uint64_t first, uint64_t last)
{
	for (uint64_t key = first; key <= last; key++)
		ck_assert_uint_eq(
			ask(&(struct wanted){.key = key, .starts = 1}, 1)->keys[0].starts, 1);
}

/* It still leads then. */
static void advance(mtime span)
{
	for (int half = 0; half < 2; half++) {
		now += span / 2;
		ck_assert_int_eq(leader_prove(leader, now, now), RC_OK);
	}
}

/* The next request gets the others. */
START_TEST(a_request_gets_a_limited_number_of_starts)
{
	static const struct wanted wanted[] = {{.key = 1, .starts = STARTS_MAX - 1},
		{.key = 2, .starts = 3}, {.key = 3, .starts = 1}};
	lead(STARTS_MAX);
	const struct throttle_answer *answer = ask(wanted, 3);
	ck_assert_uint_eq(answer->keys[0].starts, STARTS_MAX - 1);
	ck_assert_uint_eq(answer->keys[1].starts, 1);
	ck_assert_uint_eq(answer->keys[2].starts, 0);
	ck_assert_int_eq(answer->keys[2].wait, 0);
	answer = ask(wanted + 1, 2);
	ck_assert_uint_eq(answer->keys[0].starts, 3);
	ck_assert_uint_eq(answer->keys[1].starts, 1);
}
END_TEST

/* A million, at once, would hold up the loop. What is not added counts as if it were more. */
START_TEST(a_request_adds_a_limited_number_of_late_starts)
{
	static const struct wanted late[] = {{.key = 1, .late = STARTS_MAX - 1},
		{.key = 2, .late = 2}, {.key = 3, .late = UINT32_MAX}, {.key = 4, .late = 1},
		{.key = 5, .late = 1}};
	uint64_t starts;
	lead(2 * STARTS_MAX);
	start_each(2, 2);
	ask(late, 5);
	ck_assert(leader_in_windows(leader, now, &starts));
	ck_assert_uint_eq(starts, STARTS_MAX + 3);
	for (uint64_t key = 1; key <= 5; key++) {
		const struct granted *granted =
			ask(&(struct wanted){.key = key, .starts = 1}, 1)->keys;
		bool is_used_up = key == 2 || key == 3 || key == 5;
		ck_assert_uint_eq(granted->starts, is_used_up ? 0 : 1);
	}
	advance(PERIOD + LEASE_MIN);
	start_each(1, 5);
}
END_TEST

START_TEST(late_starts_leave_fewer_for_the_same_request)
{
	static const struct wanted wanted[] = {
		{.key = 1, .late = STARTS_MAX - 1, .starts = 2}, {.key = 2, .starts = 1}};
	lead(2 * STARTS_MAX);
	const struct throttle_answer *answer = ask(wanted, 2);
	ck_assert_uint_eq(answer->keys[0].starts, 1);
	ck_assert_uint_eq(answer->keys[1].starts, 0);
	ck_assert_int_eq(answer->keys[1].wait, 0);
}
END_TEST

/* What was granted counts until its lease has ended, also if its time is not known any more. */
START_TEST(late_starts_that_are_not_added_hasten_nothing)
{
	lead(2);
	start_each(1, 1);
	ask(&(struct wanted){.key = 1, .late = UINT32_MAX}, 1);
	advance(PERIOD);
	ck_assert_uint_eq(ask(&(struct wanted){.key = 1, .starts = 1}, 1)->keys[0].starts, 0);
	advance(LEASE_MIN);
	start_each(1, 1);
}
END_TEST

START_TEST(it_counts_the_starts_of_a_limited_number_of_keys)
{
	uint64_t starts;
	lead(1);
	start_each(1, COUNTED_MAX);
	ck_assert(leader_in_windows(leader, now, &starts));
	ck_assert_uint_eq(starts, COUNTED_MAX);
	now += COUNTED_EVERY;
	ck_assert_uint_eq(ask(NULL, 0)->in_windows, COUNTED_MAX);
	start_each(COUNTED_MAX + 1, COUNTED_MAX + 1);
	ck_assert(!leader_in_windows(leader, now, &starts));
	now += COUNTED_EVERY;
	ck_assert_uint_eq(ask(NULL, 0)->in_windows, UINT64_MAX);
}
END_TEST

START_TEST(it_counts_nothing_when_it_does_not_lead)
{
	uint64_t starts;
	lead(1);
	start_each(1, 1);
	leader_resign(leader);
	ck_assert(!leader_in_windows(leader, now, &starts));
}
END_TEST

static Suite *leader_suite(void)
{
	Suite *suite = suite_create("core/leader");
	UNIT_CASE_WITH(suite, "leader", NULL, tear_down, a_request_gets_a_limited_number_of_starts,
		a_request_adds_a_limited_number_of_late_starts,
		late_starts_leave_fewer_for_the_same_request,
		late_starts_that_are_not_added_hasten_nothing,
		it_counts_the_starts_of_a_limited_number_of_keys,
		it_counts_nothing_when_it_does_not_lead);
	return suite;
}

UNIT_MAIN(leader_suite)
