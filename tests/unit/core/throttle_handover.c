/* What a leader of a shared throttle hands to the next one: all starts of the window, with times
 * that both clocks can mean, and how long nobody else grants any. */
#include "core/throttle/leader.h"
#include "core/throttle/member.h"
#include "core/throttle/ring.h"
#include "unit/support/core/memory.h"
#include "unit/unit.h"

#define SEED   UINT64_C(0x1234567890abcdef)
#define LIMIT  3
#define PERIOD MTIME_SECOND
#define KEYS   4

/* Times of a leader, soon after the first that it may have, and of another machine. */
#define EARLY (SHARED_PERIOD_MAX + MTIME_SECOND)
#define LATER (SHARED_PERIOD_MAX + 60 * MTIME_SECOND)

enum { OWN = 7, OTHER = 9 };

/* Structs of this size are no variables of a function. */
static struct throttle_handover handover, second_handover;
static struct throttle_request request;

/* ---------- the starts of a throttle ---------- */

#define NOTED_MAX 20

static struct noted {
	uint64_t key;
	uint32_t starts;
	mtime at;
} noted[NOTED_MAX];
static uint32_t noted_count;

static void note(void *ctx, uint64_t key, uint32_t starts, mtime at)
{
	ck_assert_ptr_eq(ctx, noted);
	ck_assert_uint_lt(noted_count, NOTED_MAX);
	noted[noted_count++] = (struct noted){.key = key, .starts = starts, .at = at};
}

static void expect_starts(
	const struct throttle *throttle, mtime since, const struct noted *wanted, uint32_t count)
{
	noted_count = 0;
	throttle_each_start(throttle, since, note, noted);
	ck_assert_uint_eq(noted_count, count);
	for (uint32_t i = 0; i < count; i++) {
		ck_assert_uint_eq(noted[i].key, wanted[i].key);
		ck_assert_uint_eq(noted[i].starts, wanted[i].starts);
		ck_assert_int_eq(noted[i].at, wanted[i].at);
	}
}

static struct throttle *new_throttle(uint32_t limit, mtime period, uint32_t max_keys)
{
	const struct throttle_figures figures = {
		.limit = limit, .period = period, .max_keys = max_keys};
	struct throttle *throttle = throttle_new(&figures, SEED);
	ck_assert_ptr_nonnull(throttle);
	return throttle;
}

static void start(struct throttle *throttle, uint64_t key, mtime now, mtime written_at)
{
	struct window *window;
	ck_assert_int_le(throttle_ask(throttle, key, now, &window), now);
	throttle_charge(throttle, window, now);
	throttle_end_turn(throttle, written_at);
}

START_TEST(starts_come_by_key_and_time_and_equal_ones_together)
{
	struct throttle *throttle = new_throttle(3, 1000, KEYS);
	start(throttle, 1, 100, 100);
	start(throttle, 2, 200, 200);
	start(throttle, 2, 200, 200);
	start(throttle, THROTTLE_NO_KEY, 300, 300);
	start(throttle, 1, 400, 900); /* later than the next ones */
	start(throttle, THROTTLE_NO_KEY, 500, 900);
	start(throttle, 2, 600, 950);
	expect_starts(throttle, 0,
		(struct noted[]){{1, 1, 100}, {1, 1, 900}, {THROTTLE_NO_KEY, 1, 300},
			{THROTTLE_NO_KEY, 1, 900}, {2, 2, 200}, {2, 1, 950}},
		6);
	expect_starts(throttle, 200,
		(struct noted[]){{1, 1, 900}, {THROTTLE_NO_KEY, 1, 300}, {THROTTLE_NO_KEY, 1, 900},
			{2, 1, 950}},
		4);
	expect_starts(throttle, 949, (struct noted[]){{2, 1, 950}}, 1);
	expect_starts(throttle, 950, NULL, 0);
	throttle_free(throttle);
}
END_TEST

START_TEST(a_full_ring_gives_its_latest_starts)
{
	struct throttle *throttle = new_throttle(3, 1000, 1);
	for (mtime now = 0; now <= 4000; now += 500)
		start(throttle, 1, now, now);
	expect_starts(throttle, 0, (struct noted[]){{1, 1, 3000}, {1, 1, 3500}, {1, 1, 4000}}, 3);
	expect_starts(throttle, 3000, (struct noted[]){{1, 1, 3500}, {1, 1, 4000}}, 2);
	throttle_free(throttle);
}
END_TEST

START_TEST(a_start_of_a_ring_is_found_by_its_number_from_the_end)
{
	struct ring ring = {0};
	ck_assert_int_eq(ring_reserve(&ring, 3), RC_OK);
	ring_add(&ring, 10);
	ck_assert_int_eq(ring_start(&ring, 1), 10);
	for (mtime at = 11; at <= 14; at++)
		ring_add(&ring, at);
	ck_assert_int_eq(ring_start(&ring, 1), 14);
	ck_assert_int_eq(ring_start(&ring, 2), 13);
	ck_assert_int_eq(ring_start(&ring, 3), 12);
	ring_release(&ring);
}
END_TEST

START_TEST(what_was_missed_or_forgotten_is_not_known)
{
	struct throttle *throttle = new_throttle(1, 1000, 2);
	ck_assert(throttle_knows_since(throttle, 0));
	throttle_missed(throttle, 500);
	ck_assert(!throttle_knows_since(throttle, 499));
	ck_assert(throttle_knows_since(throttle, 500));
	start(throttle, 1, 2000, 2000);
	start(throttle, 1, 3000, 3000); /* in the place of the one before */
	ck_assert(!throttle_knows_since(throttle, 1999));
	ck_assert(throttle_knows_since(throttle, 2000));
	start(throttle, 2, 3500, 3500);
	start(throttle, 3, 4000, 4000); /* in the place of key 1 */
	ck_assert(!throttle_knows_since(throttle, 2999));
	ck_assert(throttle_knows_since(throttle, 3000));
	throttle_free(throttle);
}
END_TEST

/* Soon after the machine's start, the window begins before the clock does. */
START_TEST(all_is_known_when_nothing_was_missed_or_forgotten)
{
	struct throttle *throttle = new_throttle(1, 1000, 2);
	start(throttle, 1, 300, 300);
	ck_assert(throttle_knows_since(throttle, -700));
	throttle_free(throttle);
}
END_TEST

/* The latest start of a key need not be later than that of the one before. */
START_TEST(what_was_missed_before_makes_nothing_sure_earlier)
{
	struct throttle *throttle = new_throttle(1, 1000, 2);
	throttle_missed(throttle, 500);
	throttle_missed(throttle, 400);
	ck_assert(throttle_is_unsure(throttle, 1499));
	ck_assert(!throttle_is_unsure(throttle, 1500));
	throttle_free(throttle);
}
END_TEST

/* ---------- leaders ---------- */

static struct leader *new_leader(uint64_t member, uint32_t limit, mtime period, uint32_t max_keys)
{
	const struct throttle_figures figures = {
		.limit = limit, .period = period, .max_keys = max_keys};
	struct leader *leader = leader_new(&figures, SEED, member);
	ck_assert_ptr_nonnull(leader);
	return leader;
}

static void prove(struct leader *leader, mtime now)
{
	ck_assert_int_eq(leader_prove(leader, now, now), RC_OK);
}

/* Its silence is over. Return when; it has proved itself just then. */
static mtime lead(struct leader *leader, mtime now, mtime period)
{
	mtime end = now + period + LEASE_MAX;
	for (; now < end; now += 50 * MTIME_MS)
		prove(leader, now);
	prove(leader, end);
	ck_assert(leader_is_leading(leader, end) && !leader_is_silent(leader, end));
	return end;
}

static struct granted ask(struct leader *leader, uint64_t key, uint32_t starts, mtime now)
{
	request = (struct throttle_request){.member = OTHER,
		.lease = LEASE_MIN,
		.count = 1,
		.keys = {{.key = key, .starts = starts}}};
	return leader_answer(leader, &request, now)->keys[0];
}

static bool hand_over(struct leader *leader, mtime period, mtime now)
{
	handover.member = OWN;
	handover.figures = (struct shared_figures){.limit = LIMIT, .period = period};
	return leader_hand_over(leader, now, &handover);
}

static bool is_granting(const struct leader *leader, mtime now)
{
	return leader_is_leading(leader, now) && !leader_is_silent(leader, now);
}

/* By how much the next leader's clock is ahead, and the moments of the exchange after it was asked.
 */
static const struct way {
	mtime ahead, written, arrived;
} ways[] = {
	{0, 0, 0},
	{3 * MTIME_SECOND, 0, 5 * MTIME_MS},
	{3 * MTIME_SECOND, 5 * MTIME_MS, 5 * MTIME_MS},
	{-2400 * MTIME_MS, 7 * MTIME_MS, 19 * MTIME_MS}, /* it is younger than the window */
	{MTIME_MINUTE, 40 * MTIME_MS, 90 * MTIME_MS},
};
#define WAYS ((int)(sizeof ways / sizeof *ways))

static void expect_same_answers(
	struct leader *one, mtime one_now, struct leader *other, mtime other_now)
{
	for (uint64_t key = 0; key < KEYS; key++) {
		struct granted granted = ask(one, key, 1, one_now);
		struct granted again = ask(other, key, 1, other_now);
		ck_assert_uint_eq(granted.starts, again.starts);
		ck_assert_int_eq(granted.wait, again.wait);
		ck_assert(!granted.is_unsure && !again.is_unsure);
	}
}

/* The one that hands over has a twin, which goes on instead. */
START_TEST(the_next_leader_grants_when_the_one_before_would_have_plus_the_time_on_the_way)
{
	const struct way *way = &ways[_i];
	srandom(20);
	for (int round = 0; round < 100; round++) {
		struct leader *giver = new_leader(OTHER, LIMIT, PERIOD, KEYS);
		struct leader *twin = new_leader(OTHER, LIMIT, PERIOD, KEYS);
		struct leader *taker = new_leader(OWN, LIMIT, PERIOD, KEYS);
		mtime now = lead(giver, EARLY, PERIOD);
		ck_assert_int_eq(lead(twin, EARLY, PERIOD), now);
		for (int i = (int)(random() % 60); i > 0; i--) {
			uint64_t key = (uint64_t)(random() % KEYS);
			uint32_t starts = 1 + (uint32_t)(random() % 2);
			ck_assert_uint_eq(ask(giver, key, starts, now).starts,
				ask(twin, key, starts, now).starts);
			now += random() % (50 * MTIME_MS);
			prove(giver, now);
			prove(twin, now);
		}
		mtime asked = now + way->ahead;
		mtime arrived = asked + way->arrived, written = now + way->written;
		ck_assert(hand_over(giver, PERIOD, written));
		leader_inherit(taker, &handover, asked, arrived);
		for (mtime later = 0; later < 2 * PERIOD; later += random() % (40 * MTIME_MS)) {
			prove(twin, written + later);
			ck_assert(is_granting(taker, arrived + later));
			expect_same_answers(twin, written + later, taker, arrived + later);
			prove(taker, arrived + later);
		}
		leader_free(giver);
		leader_free(twin);
		leader_free(taker);
	}
}
END_TEST

/* Counted from its arrival it would end later, by the time that it was on the way. */
START_TEST(the_proof_ends_when_it_would_have_at_the_one_before)
{
	struct leader *giver = new_leader(OTHER, LIMIT, PERIOD, 1);
	struct leader *taker = new_leader(OWN, LIMIT, PERIOD, 1);
	mtime now = lead(giver, EARLY, PERIOD);
	ck_assert(hand_over(giver, PERIOD, now + 600 * MTIME_MS));
	ck_assert_int_eq(handover.sure_for, 400 * MTIME_MS);
	leader_inherit(taker, &handover, LATER, LATER + 399 * MTIME_MS);
	ck_assert(is_granting(taker, LATER + 400 * MTIME_MS - 1));
	ck_assert(!leader_is_leading(taker, LATER + 400 * MTIME_MS));
	ck_assert_int_le(leader_deadline(taker), LATER + 399 * MTIME_MS);
	leader_free(giver);
	leader_free(taker);
}
END_TEST

START_TEST(what_comes_when_its_proof_has_ended_is_refused)
{
	for (mtime late = -1; late <= 1; late++) {
		struct leader *giver = new_leader(OTHER, LIMIT, PERIOD, 1);
		struct leader *taker = new_leader(OWN, LIMIT, PERIOD, 1);
		mtime now = lead(giver, EARLY, PERIOD), asked = LATER;
		ck_assert(hand_over(giver, PERIOD, now));
		ck_assert_int_eq(handover.sure_for, PERIOD);
		for (mtime later = 0; later < PERIOD; later += PERIOD / 4)
			prove(taker, asked + later);
		leader_inherit(taker, &handover, asked, asked + PERIOD + late);
		ck_assert_int_eq(is_granting(taker, asked + PERIOD + late), late < 0);
		ck_assert_int_eq(leader_is_silent(taker, asked + PERIOD + late), late >= 0);
		leader_free(giver);
		leader_free(taker);
	}
}
END_TEST

START_TEST(one_that_is_silent_inherits_and_one_that_grants_does_not)
{
	struct leader *giver = new_leader(OTHER, LIMIT, PERIOD, 1);
	struct leader *silent = new_leader(OWN, LIMIT, PERIOD, 1);
	struct leader *granting = new_leader(OWN, LIMIT, PERIOD, 1);
	mtime now = lead(giver, EARLY, PERIOD);
	ck_assert_uint_eq(ask(giver, THROTTLE_NO_KEY, LIMIT, now).starts, LIMIT);
	ck_assert(hand_over(giver, PERIOD, now));
	ck_assert_int_eq(lead(granting, EARLY, PERIOD), now);
	prove(silent, now);
	ck_assert(leader_is_silent(silent, now));
	leader_inherit(silent, &handover, now, now + 1);
	leader_inherit(granting, &handover, now, now + 1);
	ck_assert(is_granting(silent, now + 1) && is_granting(granting, now + 1));
	ck_assert_uint_eq(ask(silent, THROTTLE_NO_KEY, LIMIT, now + 1).starts, 0);
	ck_assert_uint_eq(ask(granting, THROTTLE_NO_KEY, LIMIT, now + 1).starts, LIMIT);
	leader_free(giver);
	leader_free(silent);
	leader_free(granting);
}
END_TEST

START_TEST(it_is_handed_over_once_and_nothing_is_granted_afterwards)
{
	struct leader *giver = new_leader(OTHER, LIMIT, PERIOD, 1);
	mtime now = lead(giver, EARLY, PERIOD);
	ck_assert(hand_over(giver, PERIOD, now));
	ck_assert_uint_eq(handover.leader, OTHER);
	ck_assert(!leader_is_leading(giver, now));
	ck_assert_uint_eq(ask(giver, THROTTLE_NO_KEY, 1, now).starts, 0);
	ck_assert(!hand_over(giver, PERIOD, now));
	leader_free(giver);
}
END_TEST

START_TEST(one_that_does_not_lead_or_is_silent_hands_nothing_over)
{
	struct leader *giver = new_leader(OTHER, LIMIT, PERIOD, 1);
	ck_assert(!hand_over(giver, PERIOD, EARLY));
	prove(giver, EARLY);
	ck_assert(!hand_over(giver, PERIOD, EARLY));
	ck_assert(!leader_is_leading(giver, EARLY));
	mtime now = lead(giver, EARLY, PERIOD);
	ck_assert(!hand_over(giver, PERIOD, now + PERIOD)); /* its proof has ended */
	leader_free(giver);
}
END_TEST

/* One that has inherited may leave at once. */
START_TEST(what_was_inherited_is_handed_on)
{
	struct leader *first = new_leader(OTHER, LIMIT, PERIOD, KEYS);
	struct leader *next = new_leader(OWN, LIMIT, PERIOD, KEYS);
	mtime now = lead(first, EARLY, PERIOD);
	ask(first, 1, 2, now);
	ask(first, 2, 1, now + 30 * MTIME_MS);
	ck_assert(hand_over(first, PERIOD, now + 100 * MTIME_MS));
	leader_inherit(next, &handover, LATER, LATER);
	ck_assert(leader_hand_over(next, LATER, &second_handover));
	ck_assert_int_eq(second_handover.sure_for, handover.sure_for);
	ck_assert_uint_eq(second_handover.count, 2);
	for (uint32_t i = 0; i < second_handover.count; i++) {
		ck_assert_uint_eq(second_handover.of[i].key, handover.of[i].key);
		ck_assert_uint_eq(second_handover.of[i].starts, handover.of[i].starts);
		ck_assert_int_eq(second_handover.of[i].after, handover.of[i].after);
	}
	leader_free(first);
	leader_free(next);
}
END_TEST

/* Each with a time of its own. */
START_TEST(more_starts_than_fit_are_not_handed_over)
{
	for (uint32_t starts = HANDOVER_STARTS_MAX; starts <= HANDOVER_STARTS_MAX + 1; starts++) {
		struct leader *giver = new_leader(OTHER, 100000, PERIOD, 1);
		mtime now = lead(giver, EARLY, PERIOD);
		for (uint32_t i = 0; i < starts; i++)
			ck_assert_uint_eq(ask(giver, THROTTLE_NO_KEY, 1, now + i).starts, 1);
		ck_assert_int_eq(
			hand_over(giver, PERIOD, now + starts), starts == HANDOVER_STARTS_MAX);
		ck_assert_uint_eq(handover.count, HANDOVER_STARTS_MAX);
		ck_assert(!leader_is_leading(giver, now + starts));
		leader_free(giver);
	}
}
END_TEST

/* ---------- other figures ---------- */

/* Starts that left the shorter window may be in the longer one, and are forgotten. */
START_TEST(after_a_longer_period_nothing_is_handed_over_until_all_of_it_is_known)
{
	struct throttle_figures longer = {.limit = 2, .period = 3 * PERIOD, .max_keys = 1};
	for (int known = 0; known < 2; known++) {
		struct leader *giver = new_leader(OTHER, 1, PERIOD, 1);
		mtime now = lead(giver, EARLY, PERIOD), first;
		ck_assert_uint_eq(ask(giver, THROTTLE_NO_KEY, 1, now).starts, 1);
		first = now + LEASE_MIN;
		now = first + PERIOD;
		prove(giver, now - PERIOD / 2);
		prove(giver, now);
		ck_assert_uint_eq(ask(giver, THROTTLE_NO_KEY, 1, now).starts, 1);
		leader_configure(giver, &longer);
		for (; now < first + longer.period; now += PERIOD / 4)
			prove(giver, now);
		now = first + longer.period - (known ? 0 : 1);
		ck_assert_int_eq(hand_over(giver, longer.period, now), known);
		leader_free(giver);
	}
}
END_TEST

/* By then another one with that period may have granted after its silence. */
START_TEST(with_a_shorter_period_the_proof_is_shorter)
{
	struct leader *giver = new_leader(OTHER, LIMIT, 4 * PERIOD, 1);
	mtime now = lead(giver, EARLY, 4 * PERIOD), asked = LATER;
	ck_assert(hand_over(giver, 4 * PERIOD, now + PERIOD / 4));
	for (mtime late = -1; late <= 1; late++) {
		struct leader *taker = new_leader(OWN, LIMIT, PERIOD, 1);
		mtime arrived = asked + PERIOD / 4 * 3 + late;
		leader_inherit(taker, &handover, asked, arrived);
		ck_assert_int_eq(is_granting(taker, arrived), late < 0);
		leader_free(taker);
	}
	leader_free(giver);
}
END_TEST

/* Also when it is configured after the handover. */
START_TEST(a_shorter_period_shortens_an_inherited_proof)
{
	const struct throttle_figures shorter = {.limit = LIMIT, .period = PERIOD, .max_keys = 1};
	struct leader *giver = new_leader(OTHER, LIMIT, 4 * PERIOD, 1);
	struct leader *taker = new_leader(OWN, LIMIT, 4 * PERIOD, 1);
	mtime now = lead(giver, EARLY, 4 * PERIOD), asked = LATER;
	ck_assert(hand_over(giver, 4 * PERIOD, now + PERIOD / 4));
	leader_inherit(taker, &handover, asked, asked);
	ck_assert(is_granting(taker, asked + 3 * PERIOD));
	leader_configure(taker, &shorter);
	ck_assert(is_granting(taker, asked + PERIOD / 4 * 3 - 1));
	ck_assert(!leader_is_leading(taker, asked + PERIOD / 4 * 3));
	leader_free(giver);
	leader_free(taker);
}
END_TEST

START_TEST(with_a_longer_period_what_was_before_the_window_counts_as_used_up)
{
	struct leader *giver = new_leader(OTHER, LIMIT, PERIOD, 1);
	struct leader *taker = new_leader(OWN, LIMIT, 3 * PERIOD, 1);
	mtime now = lead(giver, EARLY, PERIOD), asked = LATER;
	ck_assert(hand_over(giver, PERIOD, now));
	leader_inherit(taker, &handover, asked, asked);
	ck_assert(leader_is_leading(taker, asked) && leader_is_silent(taker, asked));
	prove(taker, asked);
	struct granted granted = ask(taker, THROTTLE_NO_KEY, 1, asked);
	ck_assert_uint_eq(granted.starts, 0);
	ck_assert_int_eq(granted.wait, 2 * PERIOD);
	ck_assert(!leader_hand_over(taker, asked, &second_handover));
	leader_free(giver);
	leader_free(taker);
}
END_TEST

START_TEST(with_a_lower_limit_all_starts_count)
{
	struct leader *giver = new_leader(OTHER, LIMIT, PERIOD, 1);
	struct leader *taker = new_leader(OWN, 1, PERIOD, 1);
	const struct throttle_figures higher = {.limit = LIMIT, .period = PERIOD, .max_keys = 1};
	mtime now = lead(giver, EARLY, PERIOD), asked = LATER;
	for (int i = 0; i < LIMIT; i++)
		ck_assert_uint_eq(ask(giver, THROTTLE_NO_KEY, 1, now + i).starts, 1);
	ck_assert(hand_over(giver, PERIOD, now + LEASE_MIN + LIMIT));
	leader_inherit(taker, &handover, asked, asked);
	leader_configure(taker, &higher);
	ck_assert_uint_eq(ask(taker, THROTTLE_NO_KEY, 1, asked).starts, 0);
	leader_free(giver);
	leader_free(taker);
}
END_TEST

/* Whatever has no space may be of any key. */
START_TEST(with_fewer_keys_those_without_space_hold_all_others_back)
{
	struct leader *giver = new_leader(OTHER, 1, PERIOD, 3);
	struct leader *taker = new_leader(OWN, 1, PERIOD, 2);
	mtime now = lead(giver, EARLY, PERIOD), asked = LATER;
	for (uint64_t key = 1; key <= 3; key++)
		ck_assert_uint_eq(ask(giver, key, 1, now + (mtime)key).starts, 1);
	ck_assert(hand_over(giver, PERIOD, now + LEASE_MIN + 3));
	leader_inherit(taker, &handover, asked, asked);
	ck_assert(leader_is_silent(taker, asked));
	for (mtime later = 0; later < PERIOD; later += PERIOD / 4)
		prove(taker, asked + later);
	ck_assert_uint_eq(ask(taker, 1, 1, asked + PERIOD - 2).starts, 1);
	ck_assert_uint_eq(ask(taker, 2, 1, asked + PERIOD - 2).starts, 0);
	ck_assert_uint_eq(ask(taker, 3, 1, asked + PERIOD - 1).starts, 0);
	ck_assert(!leader_hand_over(taker, asked + PERIOD - 1, &second_handover));
	leader_free(giver);
	leader_free(taker);
}
END_TEST

START_TEST(without_memory_the_next_leader_is_silent)
{
	struct leader *giver = new_leader(OTHER, LIMIT, PERIOD, 1);
	struct leader *taker = new_leader(OWN, LIMIT, PERIOD, 1);
	mtime now = lead(giver, EARLY, PERIOD);
	ck_assert_uint_eq(ask(giver, THROTTLE_NO_KEY, 1, now).starts, 1);
	ck_assert(hand_over(giver, PERIOD, now));
	prove(taker, now);
	for (long left = 0; left < 3; left++) {
		callocs_left = left;
		leader_inherit(taker, &handover, now, now);
		callocs_left = LONG_MAX;
		ck_assert(leader_is_leading(taker, now) && leader_is_silent(taker, now));
		ck_assert_uint_eq(ask(taker, THROTTLE_NO_KEY, 1, now).starts, 0);
	}
	leader_free(giver);
	leader_free(taker);
}
END_TEST

/* ---------- while it may come ---------- */

START_TEST(one_that_begins_to_lead_is_asked_again_soon)
{
	struct leader *leader = new_leader(OWN, LIMIT, 10 * MTIME_SECOND, 1);
	mtime began = LATER;
	mtime silent_until = began + LEASE_MAX + 10 * MTIME_SECOND;
	prove(leader, began);
	ck_assert_int_eq(ask(leader, THROTTLE_NO_KEY, 1, began).wait, LEASE_MIN);
	prove(leader, began + HANDOVER_WITHIN - 1);
	ck_assert_int_eq(
		ask(leader, THROTTLE_NO_KEY, 1, began + HANDOVER_WITHIN - 1).wait, LEASE_MIN);
	ck_assert_int_eq(ask(leader, THROTTLE_NO_KEY, 1, began + HANDOVER_WITHIN).wait,
		silent_until - began - HANDOVER_WITHIN);
	leader_free(leader);
}
END_TEST

/* Twice in a moment would be too often. */
START_TEST(just_before_the_end_of_its_silence_it_says_when_that_is)
{
	struct leader *leader = new_leader(OWN, LIMIT, SHARED_PERIOD_MIN, 1);
	mtime began = LATER, silent_until = began + LEASE_MAX + SHARED_PERIOD_MIN;
	for (mtime now = began; now < silent_until; now += 100 * MTIME_MS)
		prove(leader, now);
	ck_assert_int_eq(
		ask(leader, THROTTLE_NO_KEY, 1, silent_until - 2 * LEASE_MIN - 1).wait, LEASE_MIN);
	ck_assert_int_eq(
		ask(leader, THROTTLE_NO_KEY, 1, silent_until - 2 * LEASE_MIN).wait, 2 * LEASE_MIN);
	ck_assert_int_eq(ask(leader, THROTTLE_NO_KEY, 1, silent_until - 1).wait, 1);
	leader_free(leader);
}
END_TEST

/* ---------- members ---------- */

static struct throttle *throttle;
static struct member *member;

static void set_up(void)
{
	throttle = new_throttle(LIMIT, PERIOD, 1);
	member = member_new(throttle, OWN);
	ck_assert_ptr_nonnull(member);
	member_up(member);
	handover = (struct throttle_handover){.leader = OTHER,
		.member = OWN,
		.figures = {.limit = LIMIT, .period = PERIOD},
		.sure_for = PERIOD};
}

static void tear_down(void)
{
	member_free(member);
	throttle_free(throttle);
}

static bool has_inherited(void)
{
	member_inherit(member, &handover, LATER, LATER);
	struct member_facts facts = member_facts(member, LATER);
	return facts.is_leading && !facts.is_silent;
}

START_TEST(a_member_inherits_what_is_for_it)
{
	handover.member = OTHER;
	handover.figures.version = 5;
	ck_assert(!has_inherited());
	ck_assert_uint_eq(member_figures(member).version, 0);
	handover.member = OWN;
	ck_assert(has_inherited());
	ck_assert_uint_eq(member_figures(member).version, 5);
}
END_TEST

START_TEST(a_member_that_is_down_inherits_nothing)
{
	member_down(member);
	ck_assert(!has_inherited());
	member_up(member);
	ck_assert(!member_facts(member, LATER).is_leading);
	ck_assert(has_inherited());
}
END_TEST

START_TEST(the_figures_with_the_higher_version_hold)
{
	handover.figures.limit = LIMIT + 1;
	ck_assert(has_inherited()); /* the leader's own, with equal versions */
	ck_assert_uint_eq(throttle_figures(throttle)->limit, LIMIT);
	member_down(member);
	member_up(member);
	member_set(member, LIMIT + 2, PERIOD);
	ck_assert(has_inherited());
	ck_assert_uint_eq(throttle_figures(throttle)->limit, LIMIT + 2);
	ck_assert_uint_eq(member_figures(member).version, 1);
}
END_TEST

START_TEST(a_member_hands_over_what_it_leads_with_its_figures)
{
	ck_assert(!member_hand_over(member, OTHER, LATER, &second_handover));
	ck_assert(has_inherited());
	member_set(member, LIMIT + 1, PERIOD);
	ck_assert(member_hand_over(member, OTHER, LATER, &second_handover));
	ck_assert_uint_eq(second_handover.leader, OWN);
	ck_assert_uint_eq(second_handover.member, OTHER);
	ck_assert_uint_eq(second_handover.figures.version, 1);
	ck_assert_uint_eq(second_handover.figures.limit, LIMIT + 1);
	ck_assert_int_eq(second_handover.figures.period, PERIOD);
	ck_assert(!member_facts(member, LATER).is_leading);
}
END_TEST

static Suite *throttle_handover_suite(void)
{
	Suite *suite = suite_create("throttle_handover");
	TCase *round_trip = tcase_create("round trip");

	UNIT_CASE(suite, "starts", starts_come_by_key_and_time_and_equal_ones_together,
		a_full_ring_gives_its_latest_starts,
		a_start_of_a_ring_is_found_by_its_number_from_the_end,
		what_was_missed_or_forgotten_is_not_known,
		all_is_known_when_nothing_was_missed_or_forgotten,
		what_was_missed_before_makes_nothing_sure_earlier);
	tcase_add_loop_test(round_trip,
		the_next_leader_grants_when_the_one_before_would_have_plus_the_time_on_the_way, 0,
		WAYS);
	suite_add_tcase(suite, round_trip);
	UNIT_CASE(suite, "leaders", the_proof_ends_when_it_would_have_at_the_one_before,
		what_comes_when_its_proof_has_ended_is_refused,
		one_that_is_silent_inherits_and_one_that_grants_does_not,
		it_is_handed_over_once_and_nothing_is_granted_afterwards,
		one_that_does_not_lead_or_is_silent_hands_nothing_over,
		what_was_inherited_is_handed_on, more_starts_than_fit_are_not_handed_over,
		without_memory_the_next_leader_is_silent);
	UNIT_CASE(suite, "figures",
		after_a_longer_period_nothing_is_handed_over_until_all_of_it_is_known,
		with_a_shorter_period_the_proof_is_shorter,
		a_shorter_period_shortens_an_inherited_proof,
		with_a_longer_period_what_was_before_the_window_counts_as_used_up,
		with_a_lower_limit_all_starts_count,
		with_fewer_keys_those_without_space_hold_all_others_back);
	UNIT_CASE(suite, "waits", one_that_begins_to_lead_is_asked_again_soon,
		just_before_the_end_of_its_silence_it_says_when_that_is);
	UNIT_CASE_WITH(suite, "members", set_up, tear_down, a_member_inherits_what_is_for_it,
		a_member_that_is_down_inherits_nothing, the_figures_with_the_higher_version_hold,
		a_member_hands_over_what_it_leads_with_its_figures);
	return suite;
}

UNIT_MAIN(throttle_handover_suite)
