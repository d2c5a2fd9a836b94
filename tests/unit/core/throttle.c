/* Throttles: against a plain list of all starts, with keys, other figures in between, and times at
 * the edges of windows. */
#include "core/throttle/throttle.h"
#include "unit/support/core/memory.h"
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>

#define SEED   UINT64_C(0x1234567890abcdef)
#define ROUNDS 400
#define ROUND  2500 /* calls of one throttle: with ROUNDS, a million */
#define KEYS   6

/* What a throttle has to know, without its memory: every start that there was. */
struct model {
	struct throttle *throttle;
	struct throttle_figures figures;
	mtime starts[KEYS][ROUND];
	int count[KEYS];
	mtime now;
	mtime blurred_until; /* a longer period may contain what was forgotten before */
	mtime last_answer;
	bool keys_change; /* max_keys, too */
	uint32_t lowest_limit;
};

static int between(int min, int max)
{
	return min + (int)(random() % (max - min + 1));
}

static struct text key_of(int key, char buffer[8])
{
	return text_of(buffer, (size_t)snprintf(buffer, 8, "%.*s%d", key, "-----", key));
}

static bool is_in_use(const struct model *model, int key)
{
	int count = model->count[key];
	return count > 0 && model->now - model->starts[key][count - 1] < model->figures.period;
}

/* When another key has an empty window, if max_keys have none now; else 0. */
static mtime naive_space(const struct model *model, int key)
{
	mtime at = MTIME_NEVER;
	uint32_t in_use = 0;
	for (int other = 0; other < KEYS; other++) {
		if (other == key || !is_in_use(model, other))
			continue;
		in_use++;
		at = mtime_min(
			at, model->starts[other][model->count[other] - 1] + model->figures.period);
	}
	return in_use >= model->figures.max_keys ? at : 0;
}

/* The list is scanned: this start leaves the window when fewer than limit are in it. */
static mtime naive_free_at(const struct model *model, int key, uint32_t limit)
{
	uint32_t in_window = 0;
	for (int i = model->count[key] - 1; i >= 0; i--)
		if (++in_window == limit)
			return model->starts[key][i] + model->figures.period;
	return 0;
}

static mtime naive_ask(const struct model *model, int key)
{
	mtime space = is_in_use(model, key) ? 0 : naive_space(model, key);
	return mtime_max(space, naive_free_at(model, key, model->figures.limit));
}

static bool is_exact(const struct model *model, int key, mtime at)
{
	mtime naive = naive_ask(model, key);
	bool is_early = at < naive && naive > model->now;
	bool is_late = at > naive && at > model->now;
	return !is_early && (!is_late || model->now < model->blurred_until);
}

/* With more keys than max_keys a higher limit may not hold yet, but at least the lowest that there
 * was holds for a key in use. */
static bool is_in_bounds(const struct model *model, int key, mtime at)
{
	bool starts = at <= model->now;
	bool is_late = is_in_use(model, key) && at > naive_free_at(model, key, model->lowest_limit);
	if (starts)
		return naive_free_at(model, key, model->figures.limit) <= model->now;
	return !is_late || model->now < model->blurred_until;
}

static void advance(struct model *model)
{
	mtime edge = model->last_answer;
	switch (between(0, 5)) {
	case 0:
		break;
	case 1:
		model->now += between(0, 3);
		break;
	case 2:
		model->now += random() % (2 * model->figures.period / model->figures.limit + 1);
		break;
	case 3:
		if (edge - 1 > model->now)
			model->now = edge - 1;
		break;
	case 4:
		if (edge > model->now)
			model->now = edge;
		break;
	case 5:
		model->now += between(0, 50) ? 1 : 3 * model->figures.period;
		break;
	}
}

static void resize(struct model *model)
{
	mtime before = model->figures.period;
	model->figures.limit = (uint32_t)between(1, 100);
	if (model->figures.limit < model->lowest_limit)
		model->lowest_limit = model->figures.limit;
	if (model->keys_change)
		model->figures.max_keys = (uint32_t)between(1, KEYS);
	if (between(0, 1))
		model->figures.period = between(1, 1000);
	if (model->figures.period > before)
		model->blurred_until =
			mtime_max(model->blurred_until, model->now + model->figures.period);
	throttle_configure(model->throttle, &model->figures);
}

/* One call. Return false: the throttle and the list differ. */
static bool call(struct model *model)
{
	char buffer[8];
	int key = between(0, between(0, KEYS - 1));
	struct window *window = NULL;
	uint64_t number = throttle_key(model->throttle, key_of(key, buffer));
	if (between(0, 1)) /* it changes nothing, whether the key is known or not */
		throttle_expect(model->throttle, &number, 1);
	mtime at = throttle_ask(model->throttle, number, model->now, &window);
	model->last_answer = at;
	if (!(model->keys_change ? is_in_bounds : is_exact)(model, key, at))
		return false;
	if (at > model->now)
		return true;
	if (between(0, 9) == 0) /* another throttle refuses */
		return true;
	throttle_charge(model->throttle, window, model->now);
	model->starts[key][model->count[key]++] = model->now;
	return true;
}

static void play_round(struct model *model, int round)
{
	for (int i = 0; i < ROUND; i++) {
		advance(model);
		if (between(0, 200) == 0)
			resize(model);
		if (!call(model))
			ck_abort_msg("round %d, call %d: another answer than the list's", round, i);
	}
}

static void play_rounds(bool keys_change)
{
	static struct model model;
	uint64_t starts = 0;
	srandom(20);
	for (int round = 0; round < ROUNDS; round++) {
		model = (struct model){.keys_change = keys_change,
			.figures = {.limit = (uint32_t)between(1, 100),
				.period = between(1, 1000),
				.max_keys = (uint32_t)between(1, KEYS)}};
		model.lowest_limit = model.figures.limit;
		model.throttle = throttle_new(&model.figures, SEED);
		ck_assert_ptr_nonnull(model.throttle);
		play_round(&model, round);
		if (!keys_change)
			ck_assert_uint_le(throttle_keys(model.throttle), model.figures.max_keys);
		starts += throttle_starts(model.throttle);
		throttle_free(model.throttle);
	}
	ck_assert_uint_gt(starts, ROUNDS * ROUND / 10); /* it did not only refuse */
}

START_TEST(a_million_calls_are_answered_as_by_a_list_of_all_starts)
{
	play_rounds(false);
}
END_TEST

START_TEST(also_while_max_keys_changes_none_starts_too_early_and_none_stalls)
{
	play_rounds(true);
}
END_TEST

/* ---------- single properties ---------- */

static struct throttle *with(uint32_t limit, mtime period, uint32_t max_keys)
{
	struct throttle *throttle = throttle_new(
		&(struct throttle_figures){.limit = limit, .period = period, .max_keys = max_keys},
		SEED);
	ck_assert_ptr_nonnull(throttle);
	return throttle;
}

static void configure(struct throttle *throttle, uint32_t limit, mtime period, uint32_t max_keys)
{
	throttle_configure(throttle,
		&(struct throttle_figures){.limit = limit, .period = period, .max_keys = max_keys});
}

static uint64_t number_of(const struct throttle *throttle, const char *key)
{
	return *key ? throttle_key(throttle, text_of(key, strlen(key))) : THROTTLE_NO_KEY;
}

static mtime ask(struct throttle *throttle, const char *key, mtime now)
{
	struct window *window;
	return throttle_ask(throttle, number_of(throttle, key), now, &window);
}

/* Start so many tasks at this time; all must pass. */
static void start(struct throttle *throttle, const char *key, mtime now, int count)
{
	struct window *window = NULL;
	while (count-- > 0) {
		ck_assert_int_le(
			throttle_ask(throttle, number_of(throttle, key), now, &window), now);
		throttle_charge(throttle, window, now);
	}
}

START_TEST(a_start_leaves_the_window_when_it_is_one_period_old)
{
	struct throttle *throttle = with(2, 1000, 1);
	start(throttle, "", 5000, 1);
	start(throttle, "", 5400, 1);
	ck_assert_int_eq(ask(throttle, "", 5400), 6000);
	ck_assert_int_eq(ask(throttle, "", 5999), 6000);
	start(throttle, "", 6000, 1);
	ck_assert_int_eq(ask(throttle, "", 6000), 6400);
	ck_assert_uint_eq(throttle_starts(throttle), 3);
	throttle_free(throttle);
}
END_TEST

/* The largest figures that a configuration may have. */
START_TEST(a_million_starts_in_a_year)
{
	const mtime year = 366 * 24 * 60 * MTIME_MINUTE;
	struct throttle *throttle = with(THROTTLE_LIMIT_MAX, year, 1);
	struct window *window = NULL;
	for (int i = 0; i < THROTTLE_LIMIT_MAX; i++)
		if (throttle_ask(throttle, THROTTLE_NO_KEY, i, &window) <= i)
			throttle_charge(throttle, window, i);
	ck_assert_uint_eq(throttle_starts(throttle), THROTTLE_LIMIT_MAX);
	ck_assert_int_eq(ask(throttle, "", THROTTLE_LIMIT_MAX), year);
	start(throttle, "", year, 1);
	ck_assert_int_eq(ask(throttle, "", year), year + 1);
	throttle_free(throttle);
}
END_TEST

START_TEST(a_time_that_goes_back_gives_no_start_away)
{
	struct throttle *throttle = with(1, 1000, 1);
	struct window *window = NULL;
	ck_assert_int_le(throttle_ask(throttle, THROTTLE_NO_KEY, 5000, &window), 5000);
	throttle_charge(throttle, window, 5000);
	throttle_charge(throttle, window, 4000);
	ck_assert_int_eq(ask(throttle, "", 5000), 6000);
	throttle_free(throttle);
}
END_TEST

/* Its process was stopped between the question and the write. */
START_TEST(what_was_written_late_counts_as_late_as_that)
{
	struct throttle *throttle = with(3, 1000, 2);
	start(throttle, "a", 0, 1);
	throttle_end_turn(throttle, 0);
	start(throttle, "a", 100, 2);
	start(throttle, "b", 100, 1);
	ck_assert_int_eq(ask(throttle, "a", 100), 1000);
	throttle_end_turn(throttle, 700);
	ck_assert_int_eq(ask(throttle, "a", 700), 1000);
	start(throttle, "a", 1000, 1);
	ck_assert_int_eq(ask(throttle, "a", 1000), 1700);
	ck_assert_int_eq(ask(throttle, "c", 1000), 1700);
	throttle_end_turn(throttle, 1000);
	throttle_free(throttle);
}
END_TEST

START_TEST(what_is_not_known_of_the_time_before_counts_as_used_up)
{
	struct throttle *throttle = with(3, 1000, 2);
	throttle_missed(throttle, 500);
	ck_assert_int_eq(ask(throttle, "a", 600), 1500);
	start(throttle, "a", 1500, 3);
	ck_assert_int_eq(ask(throttle, "b", 1400), 1500);
	throttle_free(throttle);
}
END_TEST

START_TEST(a_lower_limit_that_is_raised_again_loses_no_start)
{
	struct throttle *throttle = with(10, 1000, 1);
	for (int i = 0; i < 10; i++)
		start(throttle, "", i, 1);
	configure(throttle, 2, 1000, 1);
	ck_assert_int_eq(ask(throttle, "", 100), 1008);
	configure(throttle, 10, 1000, 1);
	ck_assert_int_eq(ask(throttle, "", 100), 1000);
	configure(throttle, 11, 1000, 1);
	start(throttle, "", 100, 1);
	ck_assert_int_eq(ask(throttle, "", 100), 1000);
	throttle_free(throttle);
}
END_TEST

/* What was overwritten under the old figures may be in a longer window. */
START_TEST(a_longer_period_counts_what_was_forgotten_as_late_as_it_can_have_been)
{
	struct throttle *throttle = with(1, 10, 1);
	for (int i = 0; i < 4; i++)
		start(throttle, "", 100 + 10 * i, 1);
	configure(throttle, 3, 1000, 1);
	ck_assert_int_eq(ask(throttle, "", 140), 1120);
	start(throttle, "", 1120, 2);
	ck_assert_int_eq(ask(throttle, "", 1120), 1130);
	start(throttle, "", 1130, 1);
	ck_assert_int_eq(ask(throttle, "", 1130), 2120);
	throttle_free(throttle);
}
END_TEST

START_TEST(a_new_key_waits_while_all_windows_are_in_use)
{
	struct throttle *throttle = with(5, 1000, 2);
	start(throttle, "a", 100, 1);
	start(throttle, "b", 200, 1);
	start(throttle, "a", 300, 1);
	ck_assert_int_eq(ask(throttle, "c", 300), 1200); /* b is the first to be empty */
	start(throttle, "c", 1200, 1);
	ck_assert_uint_eq(throttle_keys(throttle), 2);
	ck_assert_int_eq(ask(throttle, "b", 1200), 1300);
	start(throttle, "a", 1200, 4);
	ck_assert_int_eq(ask(throttle, "a", 1299), 1300); /* it was not forgotten */
	throttle_free(throttle);
}
END_TEST

START_TEST(a_key_that_did_not_start_keeps_no_other_out)
{
	struct throttle *throttle = with(1, 1000, 2);
	start(throttle, "a", 100, 1);
	for (int i = 0; i < 100; i++) {
		char name[] = {(char)('A' + i % 26), '\0'};
		ck_assert_int_le(ask(throttle, name, 200), 200);
	}
	ck_assert_uint_eq(throttle_keys(throttle), 2);
	ck_assert_int_eq(ask(throttle, "a", 200), 1100);
	throttle_free(throttle);
}
END_TEST

START_TEST(a_forgotten_key_is_late_under_a_longer_period)
{
	struct throttle *throttle = with(1, 100, 1);
	start(throttle, "a", 1000, 1);
	start(throttle, "b", 1100, 1);
	configure(throttle, 1, 1000, 2);
	ck_assert_int_eq(ask(throttle, "a", 1200), 2000);
	start(throttle, "a", 2000, 1);
	throttle_free(throttle);
}
END_TEST

/* Its window has no start of before, and the longer period reaches there. */
START_TEST(a_key_that_came_back_is_late_under_a_longer_period)
{
	struct throttle *throttle = with(2, 100, 1);
	start(throttle, "a", 1000, 2);
	start(throttle, "b", 1100, 1);
	start(throttle, "a", 1200, 1);
	configure(throttle, 2, 1000, 1);
	ck_assert_int_eq(ask(throttle, "a", 1200), 2100);
	throttle_free(throttle);
}
END_TEST

START_TEST(fewer_keys_forget_those_with_empty_windows)
{
	struct throttle *throttle = with(1, 1000, 4);
	start(throttle, "a", 0, 1);
	start(throttle, "b", 10, 1);
	start(throttle, "c", 900, 1);
	start(throttle, "d", 950, 1);
	configure(throttle, 1, 1000, 2);
	ck_assert_int_eq(ask(throttle, "e", 1010), 1900);
	ck_assert_uint_eq(throttle_keys(throttle), 2);
	start(throttle, "e", 1900, 1);
	ck_assert_uint_eq(throttle_keys(throttle), 2);
	throttle_free(throttle);
}
END_TEST

/* Else the old keys and the higher limit together would take more memory than either figure allows.
 */
START_TEST(after_fewer_keys_a_higher_limit_holds_for_those_that_are_left)
{
	struct throttle *throttle = with(2, 1000, 2);
	start(throttle, "a", 0, 1);
	start(throttle, "b", 10, 1);
	configure(throttle, 4, 1000, 1);
	start(throttle, "b", 20, 1); /* the old limit */
	ck_assert_int_eq(ask(throttle, "b", 20), 1000);
	start(throttle, "a", 30, 1);
	ck_assert_int_eq(ask(throttle, "a", 40), 1000);
	ck_assert_int_eq(ask(throttle, "c", 40), 1020);
	ck_assert_uint_eq(throttle_keys(throttle), 2);
	start(throttle, "b", 1010, 1);
	ck_assert_int_eq(ask(throttle, "b", 1010), 1020);
	ck_assert_int_le(ask(throttle, "b", 1020), 1020);
	ck_assert_int_le(ask(throttle, "b", 1030), 1030);
	ck_assert_uint_eq(throttle_keys(throttle), 1);
	start(throttle, "b", 1030, 3);
	ck_assert_int_eq(ask(throttle, "b", 1030), 2010);
	throttle_free(throttle);
}
END_TEST

/* If there is no space for the key, any other one may have had its starts. */
START_TEST(a_key_that_is_used_up_waits_for_a_period)
{
	struct throttle *throttle = with(3, 1000, 1);
	start(throttle, "a", 100, 2);
	throttle_end_turn(throttle, 700);
	throttle_use_up(throttle, number_of(throttle, "a"), 500);
	ck_assert_int_eq(ask(throttle, "a", 700), 1700);
	throttle_use_up(throttle, number_of(throttle, "b"), 800);
	ck_assert_int_eq(ask(throttle, "b", 800), 1700);
	ck_assert_int_eq(ask(throttle, "b", 1700), 1800);
	start(throttle, "b", 1800, 3);
	throttle_free(throttle);
}
END_TEST

/* What does not fit counts for its key only. */
START_TEST(after_fewer_keys_restored_starts_make_no_ring_larger)
{
	struct throttle *throttle = with(1, 1000, 2);
	throttle_restore(throttle, number_of(throttle, "a"), 1, 0);
	throttle_restore(throttle, number_of(throttle, "b"), 1, 0);
	configure(throttle, 3, 1000, 1);
	throttle_restore(throttle, number_of(throttle, "b"), 2, 500);
	ck_assert(!throttle_knows_since(throttle, 499));
	ck_assert(!throttle_is_unsure(throttle, 600));
	ck_assert_int_eq(ask(throttle, "b", 999), 1000);
	ck_assert_int_eq(ask(throttle, "b", 1000), 1500);
	start(throttle, "c", 1500, 3);
	throttle_free(throttle);
}
END_TEST

/* ---------- what outlives the process ---------- */

struct copy {
	struct throttle *to;
	mtime at;
};

static void on_charged(void *ctx, uint64_t key, uint32_t starts)
{
	const struct copy *copy = ctx;
	throttle_restore(copy->to, key, starts, copy->at);
}

/* Asks for each key, and returns whether both answer the same. */
static bool answer_alike(struct throttle *one, struct throttle *other, mtime now)
{
	char buffer[8];
	struct window *window;
	for (int key = 0; key < KEYS; key++) {
		uint64_t number = throttle_key(one, key_of(key, buffer));
		mtime at = throttle_ask(one, number, now, &window);
		if (at != throttle_ask(other, number, now, &window) &&
			(at > now || throttle_ask(other, number, now, &window) > now))
			return false;
	}
	return throttle_wait(one, now) == throttle_wait(other, now);
}

/* The other one is given each turn's starts at their turn's end. */
START_TEST(a_throttle_that_was_restored_answers_as_the_one_before)
{
	char buffer[8];
	srandom(20);
	for (int round = 0; round < 200; round++) {
		uint32_t limit = (uint32_t)between(1, 20);
		struct throttle *one = with(limit, between(1, 1000), KEYS + 1);
		struct throttle *other = with(limit, throttle_figures(one)->period, KEYS + 1);
		struct copy copy = {.to = other};
		struct window *window = NULL;
		throttle_missed(one, 50);
		throttle_missed(other, 50);
		for (mtime now = 100; now < 3000; now += between(0, 100)) {
			for (int i = between(0, 8); i > 0; i--) {
				uint64_t key =
					between(0, 4)
						? throttle_key(
							  one, key_of(between(0, KEYS - 1), buffer))
						: THROTTLE_NO_KEY;
				if (throttle_ask(one, key, now, &window) <= now)
					throttle_charge(one, window, now);
			}
			copy.at = now += between(0, 5);
			throttle_each_charged(one, on_charged, &copy);
			throttle_end_turn(one, now);
		}
		for (mtime now = copy.at; now < copy.at + 1200; now += between(1, 50))
			ck_assert(answer_alike(one, other, now));
		ck_assert_uint_eq(throttle_starts(other), 0);
		ck_assert_uint_eq(throttle_seed(other), SEED);
		throttle_free(one);
		throttle_free(other);
	}
}
END_TEST

START_TEST(restored_keys_are_forgotten_in_the_order_of_their_starts)
{
	struct throttle *throttle = with(2, 1000, 2);
	throttle_restore(throttle, number_of(throttle, "a"), 1, 100);
	throttle_restore(throttle, number_of(throttle, "b"), 1, 200);
	ck_assert_int_eq(ask(throttle, "c", 300), 1100);
	throttle_free(throttle);
}
END_TEST

START_TEST(what_finds_no_space_when_it_is_restored_may_be_of_any_key)
{
	struct throttle *throttle = with(2, 1000, 1);
	throttle_restore(throttle, number_of(throttle, "a"), 1, 100);
	throttle_restore(throttle, number_of(throttle, "b"), 1, 200);
	ck_assert_int_eq(ask(throttle, "c", 1150), 1200);
	ck_assert_int_le(ask(throttle, "c", 1200), 1200);
	throttle_free(throttle);

	throttle = with(2, 1000, 3);
	for (callocs_left = 0; callocs_left < 2;) {
		long left = callocs_left;
		throttle_restore(throttle, number_of(throttle, "a"), 1, 100 + left);
		callocs_left = left + 1;
	}
	callocs_left = LONG_MAX;
	ck_assert_int_eq(ask(throttle, "b", 200), 1100);
	ck_assert_int_eq(ask(throttle, "a", 200), 1101); /* for its ring only there was no memory */
	throttle_free(throttle);
}
END_TEST

/* The limit was lower when they started, or the key had more places. */
START_TEST(more_restored_starts_than_the_limit_has_keep_a_higher_one_from_starting)
{
	struct throttle *throttle = with(2, 1000, 1);
	throttle_restore(throttle, THROTTLE_NO_KEY, 5, 100);
	ck_assert_int_eq(throttle_wait(throttle, 300), 800);
	configure(throttle, 3, 1000, 1);
	ck_assert_int_eq(ask(throttle, "", 300), 1100);
	throttle_free(throttle);
}
END_TEST

/* ---------- views ---------- */

START_TEST(the_starts_in_the_windows_are_counted)
{
	struct throttle *throttle = with(3, 1000, 10);
	uint64_t starts = 77;
	ck_assert(throttle_in_windows(throttle, 100, 0, &starts));
	ck_assert_uint_eq(starts, 0);
	start(throttle, "a", 100, 2);
	start(throttle, "b", 200, 3);
	start(throttle, "a", 300, 1);
	ck_assert(throttle_in_windows(throttle, 1099, 2, &starts));
	ck_assert_uint_eq(starts, 6);
	ck_assert(throttle_in_windows(throttle, 1100, 2, &starts));
	ck_assert_uint_eq(starts, 4);
	ck_assert(!throttle_in_windows(throttle, 1100, 1, &starts));
	ck_assert(throttle_in_windows(throttle, 1200, 1, &starts));
	ck_assert_uint_eq(starts, 1);
	start(throttle, "b", 1200, 2); /* its ring goes over its end */
	ck_assert(throttle_in_windows(throttle, 1250, 2, &starts));
	ck_assert_uint_eq(starts, 3);
	ck_assert(throttle_in_windows(throttle, 2200, 0, &starts));
	ck_assert_uint_eq(starts, 0);
	throttle_free(throttle);
}
END_TEST

START_TEST(the_supply_is_what_may_start_within_a_span)
{
	struct throttle *throttle = with(3, 1000, 1);
	ck_assert_uint_eq(throttle_supply(throttle, 100, 999), 3);
	ck_assert_uint_eq(throttle_supply(throttle, 100, 2500), 9);
	start(throttle, "", 100, 2);
	ck_assert_uint_eq(throttle_supply(throttle, 100, 999), 1);
	ck_assert_uint_eq(throttle_supply(throttle, 101, 999), 3);
	ck_assert_uint_eq(throttle_supply(throttle, 100, 2500), 7);
	throttle_configure(throttle, &(struct throttle_figures){1, 1000, 1});
	ck_assert_uint_eq(throttle_supply(throttle, 100, 999), 0);
	throttle_free(throttle);

	throttle = with(3, 1000, 1);
	throttle_missed(throttle, 100);
	ck_assert_uint_eq(throttle_supply(throttle, 100, 999), 0);
	ck_assert_uint_eq(throttle_supply(throttle, 101, 999), 3);
	throttle_free(throttle);
}
END_TEST

START_TEST(the_wait_without_a_key_changes_nothing)
{
	struct throttle *throttle = with(2, 1000, 1);
	ck_assert_int_eq(throttle_wait(throttle, 5), 0);
	ck_assert_uint_eq(throttle_keys(throttle), 0);
	start(throttle, "", 100, 2);
	ck_assert_int_eq(throttle_wait(throttle, 100), 1000);
	ck_assert_int_eq(throttle_wait(throttle, 1099), 1);
	ck_assert_int_eq(throttle_wait(throttle, 1100), 0);
	throttle_free(throttle);

	throttle = with(2, 1000, 1);
	throttle_missed(throttle, 100);
	ck_assert_int_eq(throttle_wait(throttle, 600), 500);
	throttle_free(throttle);
}
END_TEST

/* ---------- several throttles ---------- */

static struct passes passes_of(struct throttle *first, struct throttle *second, const char *key)
{
	return (struct passes){.count = 2,
		.of = {{.throttle = first}, {.throttle = second, .key = number_of(second, key)}}};
}

START_TEST(what_one_throttle_refuses_costs_nothing_in_another)
{
	struct throttle *all = with(3, 1000, 1), *each = with(1, 5000, 10);
	struct passes passes = passes_of(all, each, "a");
	mtime at = 0;
	ck_assert_uint_eq(passes_ask(&passes, 0, &at), 2);
	passes_charge(&passes, 0);
	for (int i = 0; i < 10; i++) {
		ck_assert_uint_eq(passes_ask(&passes, 100, &at), 1);
		ck_assert_int_eq(at, 5000);
	}
	ck_assert_uint_eq(throttle_starts(all), 1);
	struct passes others = passes_of(all, each, "b");
	ck_assert_uint_eq(passes_ask(&others, 100, &at), 2);
	passes_charge(&others, 100);
	start(all, "", 100, 1);
	ck_assert_uint_eq(passes_ask(&passes, 200, &at), 0); /* both refuse: the first decides */
	ck_assert_int_eq(at, 1000);
	ck_assert_uint_eq(throttle_starts(each), 2);
	throttle_free(each);
	throttle_free(all);
}
END_TEST

START_TEST(no_throttles_refuse_nothing)
{
	struct passes passes = {.count = 0};
	mtime at = 0;
	ck_assert_uint_eq(passes_ask(&passes, 0, &at), 0);
	passes_charge(&passes, 0);
}
END_TEST

/* ---------- without memory ---------- */

START_TEST(without_memory_no_new_key_starts)
{
	struct throttle *throttle = with(2, 1000, 10);
	start(throttle, "a", 10, 2);
	for (long left = 0; left < 2; left++) {
		callocs_left = left;
		ck_assert_int_eq(ask(throttle, "b", 20), 20 + THROTTLE_MEMORY_WAIT);
		callocs_left = LONG_MAX;
	}
	start(throttle, "b", 20, 1);
	throttle_free(throttle);
}
END_TEST

START_TEST(without_memory_for_a_higher_limit_the_old_one_holds)
{
	struct throttle *throttle = with(2, MTIME_SECOND, 1);
	start(throttle, "", 0, 1);
	configure(throttle, 3, MTIME_SECOND, 1);
	callocs_left = 0;
	start(throttle, "", 10, 1);
	ck_assert_int_eq(ask(throttle, "", 20), 20 + THROTTLE_MEMORY_WAIT);
	callocs_left = LONG_MAX;
	start(throttle, "", 20, 1);
	ck_assert_int_eq(ask(throttle, "", 20), MTIME_SECOND);
	throttle_free(throttle);
}
END_TEST

START_TEST(without_memory_there_is_no_throttle)
{
	const struct throttle_figures figures = {.limit = 1, .period = 1, .max_keys = 1};
	for (callocs_left = 0; callocs_left < 2;) {
		long left = callocs_left;
		ck_assert_ptr_null(throttle_new(&figures, SEED));
		callocs_left = left + 1;
	}
	callocs_left = LONG_MAX;
	throttle_free(NULL);
}
END_TEST

static Suite *throttle_suite(void)
{
	Suite *suite = suite_create("throttle");
	UNIT_CASE(suite, "all", a_million_calls_are_answered_as_by_a_list_of_all_starts,
		also_while_max_keys_changes_none_starts_too_early_and_none_stalls,
		a_start_leaves_the_window_when_it_is_one_period_old, a_million_starts_in_a_year,
		a_time_that_goes_back_gives_no_start_away,
		what_was_written_late_counts_as_late_as_that,
		what_is_not_known_of_the_time_before_counts_as_used_up,
		a_lower_limit_that_is_raised_again_loses_no_start,
		a_longer_period_counts_what_was_forgotten_as_late_as_it_can_have_been,
		a_new_key_waits_while_all_windows_are_in_use,
		a_key_that_did_not_start_keeps_no_other_out,
		a_forgotten_key_is_late_under_a_longer_period,
		a_key_that_came_back_is_late_under_a_longer_period,
		fewer_keys_forget_those_with_empty_windows,
		after_fewer_keys_a_higher_limit_holds_for_those_that_are_left,
		after_fewer_keys_restored_starts_make_no_ring_larger,
		a_key_that_is_used_up_waits_for_a_period,
		a_throttle_that_was_restored_answers_as_the_one_before,
		restored_keys_are_forgotten_in_the_order_of_their_starts,
		what_finds_no_space_when_it_is_restored_may_be_of_any_key,
		more_restored_starts_than_the_limit_has_keep_a_higher_one_from_starting,
		the_starts_in_the_windows_are_counted, the_supply_is_what_may_start_within_a_span,
		the_wait_without_a_key_changes_nothing,
		what_one_throttle_refuses_costs_nothing_in_another, no_throttles_refuse_nothing,
		without_memory_no_new_key_starts,
		without_memory_for_a_higher_limit_the_old_one_holds,
		without_memory_there_is_no_throttle);
	return suite;
}

UNIT_MAIN(throttle_suite)
