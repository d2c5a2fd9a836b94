/* How many workers start at once, in all pools of a supervisor. */
#include "core/workers/starts.h"
#include "core/pool_facts.h"
#include "unit/support/core/rig.h"

#define STEP (5 * MTIME_MS)

struct starters {
	struct starts starts;
	struct link places[3]; /* of pools */
	mtime now, idle;
};

static void starters_init(struct starters *starters, uint32_t share, mtime grain)
{
	*starters = (struct starters){.now = MTIME_SECOND};
	starts_init(&starters->starts, share, grain);
	for (size_t i = 0; i < 3; i++)
		list_init(&starters->places[i]);
}

/* Take as many starts as this pool gets, up to max, and line up for more. Return their number. */
static uint32_t take(struct starters *starters, size_t pool, uint32_t max)
{
	uint32_t count = 0;
	while (count < max && starts_take(&starters->starts, &starters->places[pool]))
		count++;
	starts_line_up(&starters->starts, &starters->places[pool], starters->now);
	return count;
}

static void fail_one(struct starts *starts)
{
	starts_end(starts, MTIME_NEVER, MTIME_NEVER);
}

/* A span passes, and a figure is reported. */
static void pass(struct starters *starters, mtime span, mtime idle)
{
	starters->now += span;
	starters->idle += idle;
	starts_look(&starters->starts, starters->now, starters->idle);
}

START_TEST(as_many_start_at_once_as_there_are_processors)
{
	static const struct {
		uint32_t share, at_once;
	} cases[] = {{1, 1}, {100, 1}, {1000, 1}, {1001, 2}, {1500, 2}, {64000, 64}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct starters starters;
		starters_init(&starters, cases[i].share, 0);
		ck_assert_int_eq(starts_look_at(&starters.starts), MTIME_NEVER);
		ck_assert_uint_eq(take(&starters, 0, UINT32_MAX), cases[i].at_once);
		ck_assert_int_eq(starts_look_at(&starters.starts), starters.now + 1);
	}
}
END_TEST

START_TEST(a_start_that_is_over_makes_room_for_another)
{
	struct starters starters;
	starters_init(&starters, 2000, 0);
	take(&starters, 0, 2);
	fail_one(&starters.starts);
	ck_assert_uint_eq(take(&starters, 0, 9), 1);
	starts_end(&starters.starts, MTIME_SECOND, 0);
	starts_end(&starters.starts, 0, MTIME_SECOND);
	ck_assert_uint_eq(take(&starters, 0, 9), 2);
}
END_TEST

/* So a thousand small programs start as fast as the machine can. */
START_TEST(after_cheap_starts_more_start_at_once)
{
	static const struct {
		mtime took, computed;
	} costly[] = {{200 * MTIME_MS + 1, 0}, {0, 5 * MTIME_MS + 1}, {MTIME_NEVER, MTIME_NEVER}};
	for (size_t i = 0; i < sizeof costly / sizeof *costly; i++) {
		struct starters starters;
		starters_init(&starters, 2000, 0);
		take(&starters, 0, 9);
		for (uint32_t n = 0; n < 20; n++) {
			starts_end(&starters.starts, 200 * MTIME_MS, 5 * MTIME_MS);
			take(&starters, 0, 99);
		}
		ck_assert_uint_eq(starters.starts.starting, 16);
		starts_end(&starters.starts, costly[i].took, costly[i].computed);
		ck_assert_uint_eq(take(&starters, 0, 99), 0);
		while (starters.starts.starting > 1)
			fail_one(&starters.starts);
		ck_assert_uint_eq(take(&starters, 0, 99), 1);
	}
}
END_TEST

/* idle: of each step, the processor time that was not used. more: starts that are allowed by each
 * of three looks after the first, one step apart. */
START_TEST(idle_processors_allow_more)
{
	static const struct {
		uint32_t share;
		mtime grain, step, idle;
		uint32_t more[3];
	} cases[] = {
		{2000, 0, STEP, 2 * STEP, {1, 1, 1}},        /* both are idle */
		{2000, 0, STEP, STEP / 2, {1, 1, 1}},        /* half of one */
		{2000, 0, STEP, STEP / 2 - 1, {0, 0, 0}},    /* less */
		{2000, 0, STEP, 0, {0, 0, 0}},               /* none */
		{2000, 0, STEP, -STEP, {0, 0, 0}},           /* a quota is used in advance */
		{2000, 2 * STEP, STEP, 2 * STEP, {0, 2, 0}}, /* the figures are coarse */
		{100, 0, 10 * STEP, STEP, {1, 1, 1}},        /* all of a tenth of a processor */
		{100, 0, 10 * STEP, STEP / 2 - 1, {0, 0, 0}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct starters starters;
		starters_init(&starters, cases[i].share, cases[i].grain);
		take(&starters, 0, 99);
		pass(&starters, 1, STEP); /* from here on it is measured */
		ck_assert_uint_eq(take(&starters, 0, 99), 0);
		for (size_t look = 0; look < 3; look++) {
			ck_assert_int_eq(
				starts_look_at(&starters.starts), starters.now + cases[i].step);
			pass(&starters, cases[i].step, cases[i].idle);
			ck_assert_uint_eq(take(&starters, 0, 99), cases[i].more[look]);
		}
	}
}
END_TEST

/* Also if the supervisor itself could not look for long. */
START_TEST(a_long_idle_time_allows_ten_at_most)
{
	struct starters starters;
	starters_init(&starters, 1000, 0);
	take(&starters, 0, 99);
	pass(&starters, 1, 0);
	pass(&starters, MTIME_MINUTE, MTIME_MINUTE);
	ck_assert_uint_eq(take(&starters, 0, 99), 10);
	pass(&starters, STEP - 1, STEP - 1); /* too early to be sure */
	ck_assert_uint_eq(take(&starters, 0, 99), 0);
}
END_TEST

START_TEST(what_is_allowed_and_not_used_is_forgotten)
{
	struct starters starters;
	starters_init(&starters, 1000, 0);
	take(&starters, 0, 99);
	pass(&starters, 1, 0);
	pass(&starters, 2 * STEP, 2 * STEP);
	pass(&starters, STEP, 0);
	ck_assert_uint_eq(take(&starters, 0, 99), 0);
	pass(&starters, 2 * STEP, 2 * STEP);
	starts_leave_line(&starters.starts, &starters.places[0]);
	ck_assert_int_eq(starts_look_at(&starters.starts), MTIME_NEVER);
	ck_assert_uint_eq(take(&starters, 0, 99), 0);
	pass(&starters, STEP, STEP); /* measured again: nothing is known of the time before */
	ck_assert_uint_eq(take(&starters, 0, 99), 0);
}
END_TEST

/* A time when all were busy does not hide for long that they are idle now. */
START_TEST(a_measurement_without_idle_time_begins_again)
{
	struct starters starters;
	starters_init(&starters, 1000, 0);
	take(&starters, 0, 99);
	pass(&starters, 1, 0);
	for (int i = 0; i < 10; i++)
		pass(&starters, STEP, 0);
	pass(&starters, STEP, STEP);
	ck_assert_uint_eq(take(&starters, 0, 99), 1);
}
END_TEST

START_TEST(pools_take_turns)
{
	struct starters starters;
	starters_init(&starters, 2000, 0);
	ck_assert_uint_eq(take(&starters, 0, 99), 2);
	ck_assert_uint_eq(take(&starters, 1, 99), 0);
	ck_assert_uint_eq(take(&starters, 2, 99), 0);
	fail_one(&starters.starts);
	fail_one(&starters.starts);
	ck_assert(starts_is_free(&starters.starts, &starters.places[0]));
	ck_assert(!starts_is_free(&starters.starts, &starters.places[1]));
	ck_assert_uint_eq(take(&starters, 1, 99), 0);
	ck_assert_uint_eq(take(&starters, 0, 99), 1);
	ck_assert_uint_eq(take(&starters, 2, 99), 0);
	ck_assert_uint_eq(take(&starters, 1, 99), 1);
	starts_leave_line(&starters.starts, &starters.places[2]);
	fail_one(&starters.starts);
	ck_assert_uint_eq(take(&starters, 1, 99), 0);
	ck_assert_uint_eq(take(&starters, 0, 99), 1);
}
END_TEST

/* ---------- in a pool ---------- */

/* A pool whose starts were all taken by another one. */
static void open_busy(struct rig *rig, struct pool_config config)
{
	rig_new(rig, &config);
	rig->is_busy = true;
	rig->starts.starting = RIG_PROCESSORS;
}

START_TEST(a_pool_takes_work_with_the_workers_that_are_ready)
{
	struct rig rig;
	open_busy(&rig, rig_config(3, 1));
	rig.starts.starting--;
	rig_turn(&rig);
	rig_expect(&rig, "spawn 0.1");
	ck_assert_uint_eq(pool_slot_counts(rig.pool).by_state[LIFE_IN_LINE], 2);
	ck_assert_int_eq(pool_slot_facts(rig.pool, 1).next_start, rig.now);
	rig_ready(&rig, 0, 1);
	rig_source_up(&rig);
	rig_forget(&rig);
	rig.starts.starting++; /* by another pool */
	rig_turn(&rig);
	rig_expect(&rig, "consume 8");
	rig_deliver(&rig, 1, 1);
	rig_turn(&rig);
	rig_expect(&rig, "send 0:1");
	fail_one(&rig.starts);
	ck_assert_int_eq(pool_deadline(rig.pool), rig.now + 1);
	rig_turn(&rig);
	rig_expect(&rig, "spawn 2.1");
	rig_end(&rig);
}
END_TEST

START_TEST(those_in_line_leave_when_they_are_not_wanted)
{
	struct rig rig;
	open_busy(&rig, rig_config(3, 1));
	rig_turn(&rig);
	rig_scale(&rig, 1);
	ck_assert_uint_eq(pool_slot_counts(rig.pool).by_state[LIFE_IN_LINE], 1);
	rig_command(&rig, COMMAND_DRAIN);
	ck_assert_uint_eq(pool_slot_counts(rig.pool).by_state[LIFE_RETIRED], 3);
	ck_assert(list_is_empty(&rig.starts.line));
	rig_turn(&rig);
	rig_expect(&rig, "close");
	rig_end(&rig);
}
END_TEST

START_TEST(a_forced_stop_and_a_freed_pool_give_their_starts_back)
{
	struct rig rig;
	open_busy(&rig, rig_config(3, 1));
	rig.starts.starting = RIG_PROCESSORS - 1;
	rig_turn(&rig);
	ck_assert_uint_eq(rig.starts.starting, RIG_PROCESSORS);
	rig_command(&rig, COMMAND_FORCE);
	ck_assert_uint_eq(rig.starts.starting, RIG_PROCESSORS - 1);
	ck_assert(list_is_empty(&rig.starts.line));
	rig_end(&rig);
	open_busy(&rig, rig_config(3, 1));
	rig.starts.starting = RIG_PROCESSORS - 1;
	rig_turn(&rig);
	rig_end(&rig);
	ck_assert_uint_eq(rig.starts.starting, RIG_PROCESSORS - 1);
	ck_assert(list_is_empty(&rig.starts.line));
}
END_TEST

/* ---------- the boot limit ---------- */

START_TEST(the_boot_limit_leaves_out_time_spent_waiting_for_a_processor)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_new(&rig, &config);
	rig_turn(&rig);
	mtime begun = rig.now;
	rig_forget(&rig);
	rig.waited = 9 * MTIME_SECOND;
	rig_wait(&rig, config.boot_limit);
	rig_expect(&rig, "");
	ck_assert_int_eq(pool_deadline(rig.pool), begun + config.boot_limit + rig.waited);
	rig.waited = 12 * MTIME_SECOND;
	rig_wait(&rig, 9 * MTIME_SECOND);
	rig_expect(&rig, "");
	rig_wait(&rig, 3 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "kill 0.1");
	rig_expect_told(&rig, "WORKER_OVERDUE");
	ck_assert_int_eq(rig.duration, config.boot_limit);
	rig_end(&rig);
}
END_TEST

/* The limit is that of the moment of the start. */
START_TEST(a_new_boot_limit_holds_for_new_starts)
{
	struct rig rig;
	struct pool_config config = rig_config(1, 1);
	rig_new(&rig, &config);
	rig_turn(&rig);
	rig_forget(&rig);
	config.boot_limit = MTIME_SECOND;
	rig_configure(&rig, config);
	rig.waited = MTIME_SECOND;
	rig_wait(&rig, 11 * MTIME_SECOND - 1);
	rig_expect(&rig, "");
	rig_wait(&rig, 1);
	rig_expect(&rig, "kill 0.1");
	rig_end(&rig);
}
END_TEST

static Suite *starts_suite(void)
{
	Suite *suite = suite_create("core/starts");
	UNIT_CASE(suite, "at once", as_many_start_at_once_as_there_are_processors,
		a_start_that_is_over_makes_room_for_another, after_cheap_starts_more_start_at_once,
		idle_processors_allow_more, a_long_idle_time_allows_ten_at_most,
		what_is_allowed_and_not_used_is_forgotten,
		a_measurement_without_idle_time_begins_again, pools_take_turns);
	UNIT_CASE(suite, "pool", a_pool_takes_work_with_the_workers_that_are_ready,
		those_in_line_leave_when_they_are_not_wanted,
		a_forced_stop_and_a_freed_pool_give_their_starts_back);
	UNIT_CASE(suite, "boot limit", the_boot_limit_leaves_out_time_spent_waiting_for_a_processor,
		a_new_boot_limit_holds_for_new_starts);
	return suite;
}

UNIT_MAIN(starts_suite)
