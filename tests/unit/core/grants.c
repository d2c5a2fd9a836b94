/* What a member of a shared throttle does with the answers of a leader, which is the test: what it
 * may start, what it gives back, and what it shows. Members with leaders are in shared_members.c
 * and shared_random.c. */
#include "core/throttle/grants.h"
#include "unit/support/core/memory.h"
#include "unit/unit.h"

#define LIMIT      10
#define PERIOD     (10 * MTIME_SECOND)
#define ROUND_TRIP (2 * MTIME_MS)
#define STAMP      (77 * MTIME_SECOND)

enum { OWN = 7, LEADER = 9, OTHER = 11 };

static struct throttle *throttle;
static struct throttle_answer answer;
static mtime now;

static void set_up(void)
{
	const struct throttle_figures figures = {
		.limit = LIMIT, .period = PERIOD, .max_keys = 2 * REQUEST_KEYS_MAX};
	now = MTIME_MINUTE;
	throttle = throttle_new(&figures, 1);
	ck_assert_ptr_nonnull(throttle);
	ck_assert_int_eq(grants_init(throttle, OWN), RC_OK);
	grants_up(throttle);
}

static void tear_down(void)
{
	throttle_free(throttle);
}

/* A request that is sent now, though nothing may be needed; NULL: none can be. */
static const struct throttle_request *send_request(void)
{
	const struct shared_figures figures = {.limit = LIMIT, .period = PERIOD};
	return grants_request(throttle, &figures, true, now);
}

/* An answer to it, without a key yet. */
static const struct throttle_request *begin_answer(void)
{
	const struct throttle_request *request = send_request();
	ck_assert_ptr_nonnull(request);
	answer = (struct throttle_answer){
		.leader = LEADER, .member = OWN, .number = request->number, .stamp = STAMP};
	return request;
}

static void add_to_answer(uint64_t key, uint32_t starts, mtime wait)
{
	answer.keys[answer.count++] = (struct granted){.key = key, .starts = starts, .wait = wait};
}

static bool receive(void)
{
	now += ROUND_TRIP;
	return grants_answer(throttle, &answer, now);
}

/* The leader is asked, and grants so many starts of this key alone. */
static void grant(uint64_t key, uint32_t starts)
{
	begin_answer();
	add_to_answer(key, starts, 0);
	ck_assert(receive());
}

static bool may_start(uint64_t key)
{
	struct window *window;
	return throttle_ask(throttle, key, now, &window) <= now;
}

/* Tasks that are chosen in one turn and written later. */
static void start(uint64_t key, int tasks, mtime written_at)
{
	struct window *window;
	for (int i = 0; i < tasks; i++) {
		ck_assert_int_le(throttle_ask(throttle, key, now, &window), now);
		throttle_charge(throttle, window, now);
	}
	throttle_end_turn(throttle, written_at);
}

/* ---------- grants ---------- */

/* The lease gets shorter when the round trip is known, so the second grant ends first. */
START_TEST(starts_of_one_turn_are_late_if_any_of_their_grants_has_ended)
{
	mtime began = now;
	ck_assert(!may_start(1));
	grant(1, 1);
	grant(1, 1);
	start(1, 2, began + 100 * MTIME_MS);
	ck_assert_uint_eq(grants_facts(throttle).late, 2);
	now = began + 100 * MTIME_MS;
	const struct throttle_request *request = send_request();
	ck_assert_uint_eq(request->count, 1);
	ck_assert_uint_eq(request->keys[0].late, 2);
}
END_TEST

START_TEST(an_answer_to_another_member_grants_nothing)
{
	ck_assert(!may_start(1));
	begin_answer();
	answer.member = OTHER;
	add_to_answer(1, 1, 0);
	ck_assert(!receive());
	ck_assert(grants_is_asking(throttle));
	ck_assert(!may_start(1));
	answer.member = OWN;
	ck_assert(receive());
	ck_assert(may_start(1));
}
END_TEST

START_TEST(starts_of_a_key_that_is_not_known_go_back)
{
	grant(99, 3);
	const struct throttle_request *request = send_request();
	ck_assert_uint_eq(request->unused_count, 1);
	ck_assert_uint_eq(request->unused[0].key, 99);
	ck_assert_uint_eq(request->unused[0].starts, 3);
	ck_assert_int_eq(request->unused[0].stamp, STAMP);
}
END_TEST

START_TEST(without_memory_a_new_key_waits_a_little)
{
	struct window *window;
	callocs_left = 0;
	mtime at = throttle_ask(throttle, 1, now, &window);
	callocs_left = LONG_MAX;
	ck_assert_int_eq(at, now + THROTTLE_MEMORY_WAIT);
	ck_assert_uint_eq(send_request()->count, 0);
}
END_TEST

/* ---------- requests ---------- */

START_TEST(while_it_is_down_it_sends_no_request)
{
	grants_down(throttle);
	ck_assert_ptr_null(send_request());
	grants_up(throttle);
	ck_assert_ptr_nonnull(send_request());
}
END_TEST

/* One key more than a request can have. The last one comes with the next request. */
START_TEST(a_request_has_a_limited_number_of_keys)
{
	for (uint64_t key = 1; key <= REQUEST_KEYS_MAX + 1; key++)
		ck_assert(!may_start(key));
	ck_assert_uint_eq(begin_answer()->count, REQUEST_KEYS_MAX);
	ck_assert(receive());
	const struct throttle_request *request = send_request();
	ck_assert_uint_eq(request->count, 1);
	ck_assert_uint_eq(request->keys[0].key, REQUEST_KEYS_MAX + 1);
}
END_TEST

/* What exceeds it counts as used. */
START_TEST(a_request_returns_starts_of_a_limited_number_of_keys)
{
	begin_answer();
	for (uint64_t key = 1; key <= REQUEST_KEYS_MAX; key++) {
		ck_assert(!may_start(key));
		add_to_answer(key, 1, 0);
	}
	ck_assert(receive());
	ck_assert(!may_start(REQUEST_KEYS_MAX + 1));
	grant(REQUEST_KEYS_MAX + 1, 1);
	now += LEASE_MAX;
	ck_assert_uint_eq(begin_answer()->unused_count, REQUEST_KEYS_MAX);
	ck_assert_uint_eq(grants_facts(throttle).unused, REQUEST_KEYS_MAX + 1);
	ck_assert(receive());
	ck_assert_uint_eq(send_request()->unused_count, 0);
}
END_TEST

/* ---------- views ---------- */

START_TEST(the_latest_answers_are_known_by_their_numbers)
{
	enum { KNOWN = 1024 };
	uint64_t key;
	for (uint64_t number = 0; number <= KNOWN; number++)
		grant(100 + number, 0);
	ck_assert_uint_eq(throttle_answers(throttle), KNOWN + 1);
	ck_assert(!throttle_answered_key(throttle, 0, &key));
	for (uint64_t number = 1; number <= KNOWN; number++) {
		ck_assert(throttle_answered_key(throttle, number, &key));
		ck_assert_uint_eq(key, 100 + number);
	}
}
END_TEST

START_TEST(the_starts_in_all_windows_are_those_that_the_leader_counts)
{
	uint64_t starts;
	ck_assert(!throttle_in_windows(throttle, now, 1, &starts));
	begin_answer();
	answer.in_windows = 55;
	answer.keys_known = 44;
	ck_assert(receive());
	ck_assert(throttle_in_windows(throttle, now, 1, &starts));
	ck_assert_uint_eq(starts, 55);
	ck_assert_uint_eq(throttle_keys(throttle), 44);
	begin_answer();
	answer.in_windows = UINT64_MAX;
	ck_assert(receive());
	ck_assert(!throttle_in_windows(throttle, now, 1, &starts));
}
END_TEST

/* Until the leader may have more, there is nothing. */
START_TEST(the_wait_and_the_supply_are_as_the_leader_says)
{
	ck_assert_int_eq(throttle_wait(throttle, now), 0);
	ck_assert_uint_eq(throttle_supply(throttle, now, PERIOD - 1), LIMIT);
	ck_assert_uint_eq(throttle_supply(throttle, now, 2 * PERIOD), 3 * LIMIT);
	ck_assert(!may_start(THROTTLE_NO_KEY));
	begin_answer();
	add_to_answer(THROTTLE_NO_KEY, 0, 4 * MTIME_SECOND);
	ck_assert(receive());
	now += MTIME_SECOND;
	ck_assert_int_eq(throttle_wait(throttle, now), 3 * MTIME_SECOND);
	ck_assert_uint_eq(throttle_supply(throttle, now, 3 * MTIME_SECOND), 0);
	ck_assert_uint_eq(throttle_supply(throttle, now, 3 * MTIME_SECOND + 1), LIMIT);
	ck_assert_uint_eq(throttle_supply(throttle, now, 3 * MTIME_SECOND + 2 * PERIOD), 3 * LIMIT);
	now += 4 * MTIME_SECOND;
	ck_assert_int_eq(throttle_wait(throttle, now), 0);
}
END_TEST

static Suite *grants_suite(void)
{
	Suite *suite = suite_create("core/grants");
	UNIT_CASE_WITH(suite, "grants", set_up, tear_down,
		starts_of_one_turn_are_late_if_any_of_their_grants_has_ended,
		an_answer_to_another_member_grants_nothing,
		starts_of_a_key_that_is_not_known_go_back, without_memory_a_new_key_waits_a_little);
	UNIT_CASE_WITH(suite, "requests", set_up, tear_down, while_it_is_down_it_sends_no_request,
		a_request_has_a_limited_number_of_keys,
		a_request_returns_starts_of_a_limited_number_of_keys);
	UNIT_CASE_WITH(suite, "views", set_up, tear_down,
		the_latest_answers_are_known_by_their_numbers,
		the_starts_in_all_windows_are_those_that_the_leader_counts,
		the_wait_and_the_supply_are_as_the_leader_says);
	return suite;
}

UNIT_MAIN(grants_suite)
