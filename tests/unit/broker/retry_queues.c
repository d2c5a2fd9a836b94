/* Which retry queue a copy waits in when the one of its delay is missing. */
#include "broker/retry_queues.h"
#include "unit/unit.h"

#define S  MTIME_SECOND
#define MS MTIME_MS

static const struct retry_plan plan = {.delays = {300 * MS, 3 * S, 60 * S}, .count = 3};
static const struct retry_plan no_plan = {.count = 0};

static void miss_retry(
	struct missing_queues *missing, const struct retry_plan *of, mtime delay, mtime now)
{
	missing_queues_add(missing, retry_queues_bits(of, delay), now);
}

START_TEST(nearest_existing_queue_is_chosen)
{
	static const struct {
		mtime wanted, missing[4], expected;
	} cases[] = {
		{2 * S, {0}, 2 * S},
		{2 * S, {5 * S, 1 * S}, 2 * S},
		{2 * S, {2 * S}, 3 * S},
		{2 * S, {2 * S, 3 * S}, 5 * S},
		{3600 * S, {3600 * S}, 1800 * S},
		{3600 * S, {3600 * S, 1800 * S}, 600 * S},
		{60 * S, {60 * S},
			120 * S}, /* a delay of the plan and of the ladder is one queue */
		{0, {2 * S}, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct missing_queues missing = {0};
		for (size_t m = 0; m < 4 && cases[i].missing[m]; m++)
			miss_retry(&missing, &plan, cases[i].missing[m], 0);
		ck_assert_int_eq(retry_queues_choose(&plan, &missing, cases[i].wanted, i % 2),
			cases[i].expected);
	}
}
END_TEST

START_TEST(each_queue_is_tried_once_if_all_are_missing)
{
	static const struct {
		const struct retry_plan *plan;
		bool must_wait;
		mtime then; /* when all have been tried */
	} cases[] = {{&plan, false, 2 * S}, {&no_plan, false, 0}, {&plan, true, 2 * S},
		{&no_plan, true, 2 * S}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct missing_queues missing = {0};
		bool has_plan = cases[i].plan->count > 0;
		mtime at = 2 * S, last;
		size_t tried = 0;
		do {
			last = at;
			miss_retry(&missing, cases[i].plan, at, 0);
			at = retry_queues_choose(
				cases[i].plan, &missing, 2 * S, cases[i].must_wait);
			tried++;
		} while (at != 2 * S && at != 0 && tried < 100);
		ck_assert_int_eq(last, has_plan ? 300 * MS : 1 * S);
		ck_assert_int_eq(at, cases[i].then);
		ck_assert_uint_eq(tried, retry_ladder_count + (has_plan ? 2 : 0));
	}
}
END_TEST

START_TEST(missing_queues_are_tried_again_after_a_minute)
{
	struct missing_queues missing = {.has_no_right = true, .is_logged = true};
	ck_assert(retry_queues_bits(&plan, 300 * MS) && retry_queues_bits(&plan, 3600 * S));
	ck_assert_uint_eq(retry_queues_bits(&plan, 4 * S), 0);
	miss_retry(&missing, &plan, 2 * S, 10 * S);
	miss_retry(&missing, &plan, 5 * S, 30 * S);
	missing_queues_tick(&missing, 70 * S - 1);
	ck_assert_int_eq(retry_queues_choose(&plan, &missing, 2 * S, false), 3 * S);
	missing_queues_tick(&missing, 70 * S);
	ck_assert_int_eq(retry_queues_choose(&plan, &missing, 2 * S, false), 2 * S);
	ck_assert(missing.has_no_right); /* for this connection */
	miss_retry(&missing, &plan, 2 * S, 80 * S);
	missing_queues_forget(&missing);
	ck_assert(!missing.has_no_right && missing.is_logged);
	ck_assert_int_eq(retry_queues_choose(&plan, &missing, 2 * S, false), 2 * S);
}
END_TEST

/* A shorter one is never late: what comes back waits again. */
START_TEST(the_next_shorter_wait_queue_takes_the_place_of_a_missing_one)
{
	struct missing_queues missing = {0};
	ck_assert(wait_queues_bit(10 * MS) && wait_queues_bit(30 * 24 * 3600 * S));
	ck_assert_uint_eq(wait_queues_bit(20 * MS) | wait_queues_bit(0), 0);
	ck_assert_int_eq(wait_queues_choose(&missing, 3 * S), 3 * S);
	missing_queues_add(&missing, wait_queues_bit(3 * S), 10 * S);
	missing_queues_add(&missing, wait_queues_bit(1 * S), 20 * S);
	ck_assert_int_eq(wait_queues_choose(&missing, 3 * S), 300 * MS);
	ck_assert_int_eq(wait_queues_choose(&missing, 10 * S), 10 * S);
	missing_queues_add(&missing, wait_queues_bit(300 * MS), 20 * S);
	missing_queues_add(&missing, wait_queues_bit(100 * MS), 20 * S);
	missing_queues_add(&missing, wait_queues_bit(30 * MS), 20 * S);
	missing_queues_add(&missing, wait_queues_bit(10 * MS), 20 * S);
	ck_assert_int_eq(wait_queues_choose(&missing, 3 * S), 3 * S); /* it is returned */
	missing_queues_tick(&missing, 70 * S - 1);
	ck_assert_uint_ne(missing.bits, 0);
	missing_queues_tick(&missing, 70 * S);
	ck_assert_int_eq(wait_queues_choose(&missing, 1 * S), 1 * S);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("broker/retry_queues");
	UNIT_CASE(s, "retry queues", nearest_existing_queue_is_chosen,
		each_queue_is_tried_once_if_all_are_missing,
		missing_queues_are_tried_again_after_a_minute,
		the_next_shorter_wait_queue_takes_the_place_of_a_missing_one);
	return s;
}

UNIT_MAIN(suite)
