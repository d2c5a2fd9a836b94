/* Which retry queue a copy waits in when the one of its delay is missing. */
#include "broker/retry_queues.h"
#include "unit/unit.h"

#define S  MTIME_SECOND
#define MS MTIME_MS

static const struct retry_plan plan = {.delays = {300 * MS, 3 * S, 60 * S}, .count = 3};
static const struct retry_plan no_plan = {.count = 0};

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
		struct retry_queues retry_queues;
		retry_queues_init(&retry_queues, &plan);
		for (size_t m = 0; m < 4 && cases[i].missing[m]; m++)
			retry_queues_miss(&retry_queues, cases[i].missing[m], 0);
		ck_assert_int_eq(retry_queues_choose(&retry_queues, cases[i].wanted, i % 2),
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
		struct retry_queues retry_queues;
		bool has_plan = cases[i].plan->count > 0;
		retry_queues_init(&retry_queues, cases[i].plan);
		mtime at = 2 * S, last;
		size_t tried = 0;
		do {
			last = at;
			retry_queues_miss(&retry_queues, at, 0);
			at = retry_queues_choose(&retry_queues, 2 * S, cases[i].must_wait);
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
	struct retry_queues retry_queues;
	retry_queues_init(&retry_queues, &plan);
	ck_assert(retry_queues_has(&retry_queues, 300 * MS) &&
		  retry_queues_has(&retry_queues, 3600 * S));
	ck_assert(!retry_queues_has(&retry_queues, 4 * S));
	ck_assert(retry_queues_may_make(&retry_queues));
	retry_queues_refuse(&retry_queues, 2 * S, 10 * S);
	retry_queues_miss(&retry_queues, 5 * S, 30 * S);
	ck_assert(!retry_queues_may_make(&retry_queues));
	retry_queues_tick(&retry_queues, 70 * S - 1);
	ck_assert_int_eq(retry_queues_choose(&retry_queues, 2 * S, false), 3 * S);
	retry_queues_tick(&retry_queues, 70 * S);
	ck_assert_int_eq(retry_queues_choose(&retry_queues, 2 * S, false), 2 * S);
	ck_assert(!retry_queues_may_make(&retry_queues)); /* for this connection */
	retry_queues_forget(&retry_queues);
	ck_assert(retry_queues_may_make(&retry_queues));
}
END_TEST

/* A shorter one is never late: what comes back waits again. */
START_TEST(the_next_shorter_wait_queue_takes_the_place_of_a_missing_one)
{
	struct wait_queues wait_queues = {0};
	ck_assert(wait_queues_has(10 * MS) && wait_queues_has(30 * 24 * 3600 * S));
	ck_assert(!wait_queues_has(20 * MS) && !wait_queues_has(0));
	ck_assert_int_eq(wait_queues_choose(&wait_queues, 3 * S), 3 * S);
	wait_queues_refuse(&wait_queues, 3 * S, 10 * S);
	wait_queues_miss(&wait_queues, 1 * S, 20 * S);
	ck_assert_int_eq(wait_queues_choose(&wait_queues, 3 * S), 300 * MS);
	ck_assert_int_eq(wait_queues_choose(&wait_queues, 10 * S), 10 * S);
	wait_queues_miss(&wait_queues, 300 * MS, 20 * S);
	wait_queues_miss(&wait_queues, 100 * MS, 20 * S);
	wait_queues_miss(&wait_queues, 30 * MS, 20 * S);
	wait_queues_miss(&wait_queues, 10 * MS, 20 * S);
	ck_assert_int_eq(wait_queues_choose(&wait_queues, 3 * S), 3 * S); /* it is returned */
	wait_queues_tick(&wait_queues, 70 * S - 1);
	ck_assert(wait_queues.missing != 0);
	wait_queues_tick(&wait_queues, 70 * S);
	ck_assert_int_eq(wait_queues_choose(&wait_queues, 1 * S), 1 * S);
	ck_assert(wait_queues.has_no_right);
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
