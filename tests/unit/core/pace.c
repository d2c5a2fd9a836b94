/* Pace: how deep the pipes, how wide the window. */
#include "core/tasks/pace.h"
#include "unit/unit.h"

static const struct pool_config auto_config = {
	.workers = 4, .pipe_wait = 5 * MTIME_MS, .memory = 1 << 20};

struct track {
	struct pace pace;
	struct pipe pipes[4];
	mtime now;
};

static void track_init(struct track *track, const struct pool_config *config)
{
	*track = (struct track){0};
	pace_init(&track->pace, config, 0);
	for (int i = 0; i < 4; i++)
		list_init(&track->pipes[i].answered);
}

/* One turn in which slot 0 answered count tasks that took time together. */
static void turn(struct track *track, uint32_t count, mtime time)
{
	for (uint32_t i = 0; i < count; i++)
		pace_answered(&track->pace, &track->pipes[0], i ? 0 : time);
	track->now += time;
	pace_turn(&track->pace, 0, track->now);
}

static uint32_t depth_after(struct track *track, int turns, uint32_t count, mtime time)
{
	while (turns-- > 0)
		turn(track, count, time);
	return pace_depth(&track->pace);
}

START_TEST(depth_is_five_milliseconds_of_work)
{
	static const struct {
		mtime task_us;
		uint32_t depth;
	} rows[] = {{1, 64}, {78, 64}, {100, 49}, {1000, 4}, {2400, 2}, {4000, 1}, {5000, 1},
		{1000000, 1}, {MTIME_NEVER / 2, 1}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct track track;
		track_init(&track, &auto_config);
		ck_assert_uint_eq(pace_depth(&track.pace), 1);
		for (int turns = 0; turns < 100; turns++) {
			pace_answered(&track.pace, &track.pipes[0], rows[i].task_us);
			pace_turn(&track.pace, 0, 0);
		}
		ck_assert_uint_eq(pace_depth(&track.pace), rows[i].depth);
	}
}
END_TEST

START_TEST(answers_of_one_turn_share_its_time)
{
	struct track track;
	track_init(&track, &auto_config);
	ck_assert_uint_eq(depth_after(&track, 100, 32, 6400), 24); /* 200 us each */
}
END_TEST

START_TEST(each_slot_is_measured_by_itself)
{
	struct track track;
	track_init(&track, &auto_config);
	ck_assert_uint_gt(depth_after(&track, 100, 64, 640), 60);
	for (int i = 0; i < 64; i++)
		pace_answered(&track.pace, &track.pipes[0], 10);
	pace_answered(&track.pace, &track.pipes[1], 20 * MTIME_MS); /* hidden in an average */
	pace_turn(&track.pace, 0, track.now);
	ck_assert_uint_eq(pace_depth(&track.pace), 1);
}
END_TEST

START_TEST(depth_falls_at_once_and_grows_smoothly)
{
	struct track track;
	track_init(&track, &auto_config);
	depth_after(&track, 100, 1, 50);
	ck_assert_uint_eq(depth_after(&track, 1, 1, MTIME_MINUTE), 1);
	ck_assert_uint_eq(depth_after(&track, 5, 1, 50), 1);
	ck_assert_uint_gt(depth_after(&track, 60, 1, 50), 60);
	/* Slower, but not slow: the estimate moves by halves. */
	uint32_t before = pace_depth(&track.pace);
	uint32_t after = depth_after(&track, 1, 1, 1000);
	ck_assert_uint_lt(after, before);
	ck_assert_uint_gt(after, 4);
	ck_assert_uint_eq(depth_after(&track, 30, 1, 1000), 5);
}
END_TEST

/* Of tasks that last so long, one after the other in each of four slots: how long until the depth
 * is wanted. */
static mtime time_to_depth(struct track *track, mtime task, uint32_t wanted)
{
	mtime begun = track->now;
	while (pace_depth(&track->pace) != wanted && track->now < begun + MTIME_MINUTE) {
		track->now += task;
		for (int i = 0; i < 4; i++)
			pace_answered(&track->pace, &track->pipes[i], task);
		pace_turn(&track->pace, 0, track->now);
	}
	return track->now - begun;
}

START_TEST(the_depth_follows_the_mix_within_a_second)
{
	struct track track;
	track_init(&track, &auto_config);
	ck_assert_int_le(time_to_depth(&track, 60, 64), MTIME_SECOND);
	ck_assert_int_le(time_to_depth(&track, 2 * MTIME_SECOND, 1), 2 * MTIME_SECOND); /* one */
	ck_assert_int_le(time_to_depth(&track, 2400, 2), MTIME_SECOND);
	ck_assert_int_le(time_to_depth(&track, 300, 16), MTIME_SECOND);
	ck_assert_int_le(time_to_depth(&track, 1300, 3), MTIME_SECOND);
}
END_TEST

START_TEST(a_task_that_runs_too_long_reduces_the_depth_at_once)
{
	struct track track;
	track_init(&track, &auto_config);
	ck_assert_uint_eq(depth_after(&track, 200, 1, 50), 64);
	pace_held_up(&track.pace);
	ck_assert_uint_eq(depth_after(&track, 5, 1, 50), 1);
	ck_assert_uint_eq(depth_after(&track, 60, 1, 50), 64);
}
END_TEST

START_TEST(the_wait_is_the_configured_one)
{
	struct pool_config config = {.workers = 4, .pipe_wait = 50 * MTIME_MS, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	ck_assert_uint_eq(depth_after(&track, 200, 1, 4900), 10);
	ck_assert_uint_eq(depth_after(&track, 1, 1, 50 * MTIME_MS), 1);
}
END_TEST

START_TEST(a_long_wait_allows_tasks_of_seconds)
{
	struct pool_config config = {.workers = 4, .pipe_wait = MTIME_MINUTE, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	ck_assert_uint_eq(depth_after(&track, 200, 1, 19 * MTIME_SECOND), 3);
	ck_assert_uint_eq(depth_after(&track, 1, 1, MTIME_MINUTE), 1);
}
END_TEST

START_TEST(configured_numbers_are_not_measured)
{
	struct pool_config config = {.workers = 4, .pipeline = 7, .prefetch = 9, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	depth_after(&track, 100, 64, 64);
	ck_assert_uint_eq(pace_depth(&track.pace), 7);
	ck_assert_uint_eq(pace_window(&track.pace), 9);
	ck_assert(!pace_changes_window(&track.pace, 9, 0, MTIME_MINUTE));
}
END_TEST

static void settle(struct track *track, uint32_t settled, uint32_t unconfirmed, mtime span)
{
	while (settled-- > 0)
		track->pace.settled++;
	pace_turn(&track->pace, unconfirmed, track->now);
	track->now += span;
	pace_turn(&track->pace, 0, track->now);
}

START_TEST(the_window_covers_a_tenth_of_a_second)
{
	struct pool_config config = {.workers = 4, .pipeline = 4, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	ck_assert_uint_eq(pace_window(&track.pace), 20);
	settle(&track, 10000, 0, MTIME_SECOND);
	ck_assert_uint_eq(pace_window(&track.pace), 1016);
	settle(&track, 1000, 50, 99 * MTIME_MS); /* too short to say anything */
	ck_assert_uint_eq(pace_window(&track.pace), 1016);
	settle(&track, 0, 0, MTIME_MS);
	ck_assert_uint_eq(pace_window(&track.pace), 1116);
	settle(&track, 0, 5000, MTIME_SECOND); /* confirms that stand still ask for nothing */
	ck_assert_uint_eq(pace_window(&track.pace), 20);
	settle(&track, 1000, 40000, MTIME_SECOND);
	ck_assert_uint_eq(pace_window(&track.pace), POOL_WINDOW_MAX);
}
END_TEST

START_TEST(large_bodies_narrow_the_window_at_once)
{
	struct pool_config config = {.workers = 4, .pipeline = 4, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	pace_arrived(&track.pace, 100);
	settle(&track, 10000, 0, MTIME_SECOND);
	uint32_t wide = pace_window(&track.pace);
	ck_assert_uint_eq(wide, 1016);
	track.pace.changed_at = track.now;
	pace_arrived(&track.pace, 1 << 17);
	ck_assert_uint_eq(pace_window(&track.pace), 8);
	ck_assert(pace_changes_window(&track.pace, wide, 0, track.now));
	ck_assert(!pace_changes_window(&track.pace, 15, 0, track.now)); /* near enough */
	pace_arrived(&track.pace, 2 << 20);
	ck_assert_uint_eq(pace_window(&track.pace), 1);
}
END_TEST

START_TEST(a_large_body_is_forgotten_gradually)
{
	struct pool_config config = {.workers = 4, .pipeline = 4, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	pace_arrived(&track.pace, 1 << 20);
	for (int measures = 0; measures < 10; measures++) {
		pace_arrived(&track.pace, 100);
		settle(&track, 1000, 0, 100 * MTIME_MS);
	}
	ck_assert_uint_ge(pace_window(&track.pace), 3);
	ck_assert_uint_le(pace_window(&track.pace), 4);
	for (int measures = 0; measures < 90; measures++) {
		pace_arrived(&track.pace, 0);
		settle(&track, 1000, 0, 100 * MTIME_MS);
	}
	ck_assert_uint_eq(pace_window(&track.pace), 1016);
}
END_TEST

START_TEST(a_configured_prefetch_is_limited_by_memory)
{
	struct pool_config config = {
		.workers = 4, .prefetch = 100, .pipeline = 1, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	ck_assert_uint_eq(pace_window(&track.pace), 100);
	pace_arrived(&track.pace, 1 << 16);
	ck_assert_uint_eq(pace_window(&track.pace), 16);
	ck_assert(pace_changes_window(&track.pace, 100, 0, 0));
}
END_TEST

START_TEST(a_pack_is_a_tenth_of_a_millisecond_of_work)
{
	static const struct {
		mtime task_us;
		uint32_t pack;
	} rows[] = {{0, 64}, {1, 64}, {2, 49}, {10, 9}, {49, 2}, {100, 1}, {1000, 1},
		{MTIME_SECOND, 1}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct track track;
		track_init(&track, &auto_config);
		ck_assert_uint_eq(pace_pack(&track.pace), 1);
		depth_after(&track, 300, 1, rows[i].task_us);
		ck_assert_uint_eq(pace_pack(&track.pace), rows[i].pack);
	}
	struct pool_config config = {.workers = 4, .pipeline = 64, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	depth_after(&track, 300, 1, 1);
	ck_assert_uint_eq(pace_pack(&track.pace), 1);
}
END_TEST

START_TEST(tasks_behind_the_heads_are_limited_for_many_workers)
{
	struct pool_config config = {.workers = 1000, .pipe_wait = 5 * MTIME_MS, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	ck_assert_uint_eq(pace_window(&track.pace), 2000);
	depth_after(&track, 300, 1, 1);
	ck_assert_uint_eq(pace_depth(&track.pace), 64);
	ck_assert_uint_eq(pace_window(&track.pace), 2000 + 1024);
}
END_TEST

START_TEST(the_window_has_a_maximum)
{
	struct pool_config config = {
		.workers = POOL_WORKERS_MAX, .pipeline = 64, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config);
	ck_assert_uint_eq(pace_window(&track.pace), POOL_WINDOW_MAX);
}
END_TEST

START_TEST(the_window_changes_rarely)
{
	static const struct {
		uint32_t present;
		mtime after; /* the span from which on it is changed */
	} rows[] = {{1, 200 * MTIME_MS}, {10, 200 * MTIME_MS}, {11, MTIME_NEVER}, {20, MTIME_NEVER},
		{39, MTIME_NEVER}, {40, MTIME_MINUTE}};
	struct pool_config config = {.workers = 4, .pipeline = 4, .memory = 1 << 20};
	struct track track;
	track_init(&track, &config); /* wants 20 */
	track.pace.changed_at = MTIME_SECOND;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		mtime end = mtime_min(rows[i].after, MTIME_MINUTE);
		mtime at = mtime_after(MTIME_SECOND, end);
		ck_assert(!pace_changes_window(&track.pace, rows[i].present, 0, at - 1));
		ck_assert_int_eq(pace_changes_window(&track.pace, rows[i].present, 0, at),
			rows[i].after != MTIME_NEVER);
	}
}
END_TEST

static Suite *pace_suite(void)
{
	Suite *suite = suite_create("core/pace");
	UNIT_CASE(suite, "depth", depth_is_five_milliseconds_of_work,
		answers_of_one_turn_share_its_time, each_slot_is_measured_by_itself,
		depth_falls_at_once_and_grows_smoothly, the_depth_follows_the_mix_within_a_second,
		a_task_that_runs_too_long_reduces_the_depth_at_once, the_wait_is_the_configured_one,
		a_pack_is_a_tenth_of_a_millisecond_of_work, a_long_wait_allows_tasks_of_seconds,
		configured_numbers_are_not_measured);
	UNIT_CASE(suite, "window", the_window_covers_a_tenth_of_a_second,
		large_bodies_narrow_the_window_at_once, a_large_body_is_forgotten_gradually,
		a_configured_prefetch_is_limited_by_memory,
		tasks_behind_the_heads_are_limited_for_many_workers, the_window_has_a_maximum,
		the_window_changes_rarely);
	return suite;
}

UNIT_MAIN(pace_suite)
