/* Supervisors that share a throttle, one step at a time: what each of them knows of the figures, of
 * starts that came too late, and of answers that did. The many other cases are in shared_random. */
#include "core/throttle/member.h"
#include "unit/support/core/memory.h"
#include "unit/unit.h"

#define PERIOD   (10 * MTIME_SECOND)
#define SILENCE  (PERIOD + LEASE_MAX)
#define MEMBERS  3
#define STEP     MTIME_MS
#define ANSWERED (2 * MTIME_MS) /* so long takes a request and its answer */

static struct supervisor {
	struct throttle *throttle;
	struct member *member;
} supervisors[MEMBERS];
static struct supervisor *leader; /* the active consumer of the queue */
static mtime now;

static void start(struct supervisor *supervisor, uint32_t limit, mtime period)
{
	static uint64_t last_id;
	const struct throttle_figures figures = {.limit = limit, .period = period, .max_keys = 1};
	supervisor->throttle = throttle_new(&figures, 1);
	supervisor->member = member_new(supervisor->throttle, ++last_id);
	ck_assert_ptr_nonnull(supervisor->member);
	member_up(supervisor->member);
}

static void stop(struct supervisor *supervisor)
{
	member_free(supervisor->member);
	throttle_free(supervisor->throttle);
	*supervisor = (struct supervisor){0};
}

static void set_up(void)
{
	now = SHARED_PERIOD_MAX;
}

static void tear_down(void)
{
	for (int i = 0; i < MEMBERS; i++)
		if (supervisors[i].member)
			stop(&supervisors[i]);
}

static void start_all(uint32_t limit, mtime period)
{
	for (int i = 0; i < MEMBERS; i++)
		start(&supervisors[i], limit, period);
	leader = &supervisors[0];
}

/* NULL: none is to be sent, or the leader does not answer. */
static const struct throttle_answer *ask_leader(struct supervisor *supervisor)
{
	const struct throttle_request *request = member_request(supervisor->member, now);
	return request ? member_on_request(leader->member, request, now) : NULL;
}

static void exchange(struct supervisor *supervisor)
{
	const struct throttle_answer *answer = ask_leader(supervisor);
	now += answer ? ANSWERED : 0;
	if (answer)
		member_on_answer(supervisor->member, answer, now);
}

/* Everybody sends what is due, and gets answers. */
static void run_for(mtime span)
{
	for (mtime end = now + span; now < end; now += STEP)
		for (int i = 0; i < MEMBERS; i++)
			if (supervisors[i].member)
				exchange(&supervisors[i]);
}

/* True: a task without a key has started. */
static bool start_one(struct supervisor *supervisor)
{
	struct window *window;
	if (throttle_ask(supervisor->throttle, THROTTLE_NO_KEY, now, &window) > now)
		return false;
	throttle_charge(supervisor->throttle, window, now);
	throttle_end_turn(supervisor->throttle, now);
	return true;
}

/* How many tasks can start within this span. */
static uint32_t count_starts(struct supervisor *supervisor, mtime span)
{
	uint32_t starts = 0;
	for (mtime end = now + span; now < end;) {
		while (start_one(supervisor))
			starts++;
		run_for(STEP);
	}
	return starts;
}

static struct shared_figures figures_of(const struct supervisor *supervisor)
{
	return member_figures(supervisor->member);
}

/* ---------- figures ---------- */

START_TEST(a_higher_limit_lets_those_start_that_wait_at_others)
{
	start_all(1, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	ck_assert_uint_eq(count_starts(&supervisors[1], MTIME_SECOND), 1);
	ck_assert_uint_eq(count_starts(&supervisors[2], MTIME_SECOND), 0);
	member_set(supervisors[0].member, 100, PERIOD);
	ck_assert_uint_gt(count_starts(&supervisors[1], 6 * MTIME_SECOND), 10);
	member_set(supervisors[1].member, 200, PERIOD);
	ck_assert_uint_gt(count_starts(&supervisors[2], 6 * MTIME_SECOND), 10);
}
END_TEST

START_TEST(a_supervisor_without_tasks_hears_of_figures_and_keeps_them)
{
	start_all(1, PERIOD);
	run_for(MTIME_SECOND);
	member_set(supervisors[1].member, 7, PERIOD);
	run_for(6 * MTIME_SECOND);
	ck_assert_uint_eq(figures_of(&supervisors[2]).limit, 7);
	stop(&supervisors[0]);
	stop(&supervisors[1]);
	leader = &supervisors[2];
	start(&supervisors[0], 1, PERIOD);
	run_for(6 * MTIME_SECOND);
	ck_assert_uint_eq(figures_of(&supervisors[0]).limit, 7);
}
END_TEST

START_TEST(figures_that_an_operator_sets_do_not_wait)
{
	start_all(1, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	member_set(supervisors[1].member, 7, PERIOD);
	run_for(2 * ANSWERED);
	ck_assert_uint_eq(figures_of(&supervisors[0]).limit, 7);
}
END_TEST

/* One after the other, the leader last; in between its figures hold. */
START_TEST(a_new_configuration_holds_when_all_were_restarted_with_it)
{
	start_all(100, PERIOD);
	run_for(SILENCE);
	for (int i = 1; i < MEMBERS; i++) {
		stop(&supervisors[i]);
		start(&supervisors[i], 50, PERIOD);
		run_for(MTIME_SECOND);
		ck_assert_uint_eq(figures_of(&supervisors[i]).limit, 100);
	}
	stop(&supervisors[0]);
	leader = &supervisors[1];
	start(&supervisors[0], 50, PERIOD);
	run_for(SILENCE);
	for (int i = 0; i < MEMBERS; i++)
		ck_assert_uint_eq(figures_of(&supervisors[i]).limit, 50);
}
END_TEST

START_TEST(it_holds_also_if_the_last_one_hands_over)
{
	static struct throttle_handover handover;
	start_all(100, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	stop(&supervisors[1]);
	start(&supervisors[1], 50, PERIOD);
	run_for(MTIME_SECOND);
	ck_assert(member_hand_over(
		supervisors[0].member, member_id(supervisors[1].member), now, &handover));
	stop(&supervisors[0]);
	leader = &supervisors[1];
	member_inherit(supervisors[1].member, &handover, now, now);
	ck_assert(member_facts(supervisors[1].member, now).is_leading);
	ck_assert_uint_eq(figures_of(&supervisors[1]).limit, 50);
}
END_TEST

/* The rings of the leader are all that takes memory for each start. */
START_TEST(a_limit_of_others_takes_no_more_memory_than_a_leader_may_use)
{
	start_all(10, PERIOD);
	member_set_keys(leader->member, 100, 1000);
	ck_assert_uint_eq(member_keys_led(leader->member), 100);
	member_set(supervisors[1].member, 11, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	ck_assert_uint_eq(figures_of(leader).limit, 11);
	ck_assert_uint_eq(member_keys_led(leader->member), 90);
	ck_assert_uint_eq(throttle_figures(leader->throttle)->max_keys, 100);
	member_set(supervisors[1].member, 2000, PERIOD);
	run_for(MTIME_SECOND);
	ck_assert_uint_eq(member_keys_led(leader->member), 1);
	member_set(supervisors[1].member, 10, PERIOD);
	run_for(MTIME_SECOND);
	ck_assert_uint_eq(member_keys_led(leader->member), 100);
	member_set_keys(leader->member, 40, 1000);
	member_set_keys(leader->member, 40, 1000);
	ck_assert_uint_eq(member_keys_led(leader->member), 40);
	ck_assert_uint_eq(throttle_figures(leader->throttle)->max_keys, 40);
}
END_TEST

static bool start_key(struct supervisor *supervisor, uint64_t key)
{
	struct window *window;
	for (mtime end = now + MTIME_SECOND; now < end; run_for(STEP)) {
		if (throttle_ask(supervisor->throttle, key, now, &window) > now)
			continue;
		throttle_charge(supervisor->throttle, window, now);
		throttle_end_turn(supervisor->throttle, now);
		return true;
	}
	return false;
}

START_TEST(a_key_for_which_a_leader_has_no_memory_waits)
{
	start_all(1, PERIOD);
	for (int i = 0; i < MEMBERS; i++)
		member_set_keys(supervisors[i].member, 100, 100);
	run_for(SILENCE + MTIME_SECOND);
	member_set(supervisors[1].member, 50, PERIOD);
	run_for(MTIME_SECOND);
	ck_assert(start_key(&supervisors[1], 1));
	ck_assert(start_key(&supervisors[2], 2));
	ck_assert(!start_key(&supervisors[1], 3));
	ck_assert(start_key(&supervisors[2], 1));
	run_for(PERIOD + LEASE_MAX);
	ck_assert(start_key(&supervisors[1], 3));
}
END_TEST

/* The leader forgets none of eight keys for the two that it has memory for. */
START_TEST(a_higher_limit_stops_no_key_for_which_a_leader_has_less_memory)
{
	start_all(10, PERIOD);
	for (int i = 0; i < MEMBERS; i++)
		member_set_keys(supervisors[i].member, 100, 100);
	run_for(SILENCE + MTIME_SECOND);
	for (uint64_t key = 1; key <= 8; key++)
		ck_assert(start_key(&supervisors[1], key));
	member_set(supervisors[1].member, 50, PERIOD);
	run_for(MTIME_SECOND);
	ck_assert_uint_eq(member_keys_led(leader->member), 2);
	for (uint64_t key = 1; key <= 8; key++)
		ck_assert(start_key(&supervisors[2], key));
	ck_assert(!start_key(&supervisors[2], 9));
}
END_TEST

/* ---------- answers that come too late ---------- */

/* It took longer than its lease: nobody uses its start, and it does not count. */
START_TEST(what_a_late_answer_grants_goes_back)
{
	static struct throttle_answer late;
	start_all(1, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	ck_assert(!start_one(&supervisors[1]));
	late = *ask_leader(&supervisors[1]);
	ck_assert_uint_eq(late.keys[0].starts, 1);
	now += LEASE_MAX + MTIME_MS;
	ck_assert(!start_one(&supervisors[1]));
	exchange(&supervisors[1]);
	member_on_answer(supervisors[1].member, &late, now);
	ck_assert_uint_eq(count_starts(&supervisors[1], MTIME_SECOND), 1);
	run_for(MTIME_SECOND);
	member_on_answer(supervisors[1].member, &late, now); /* once */
	now += PERIOD;
	ck_assert_uint_eq(member_request(supervisors[1].member, now)->unused_count, 0);
}
END_TEST

/* Each one is later than two leases of a tenth of the period. */
START_TEST(a_lease_grows_until_answers_come_in_time)
{
	enum { SLOW = 450, SENT_MAX = 10 };
	static struct throttle_answer answers[SENT_MAX];
	mtime sent_at[SENT_MAX];
	int sent = 0, received = 0;
	start_all(1, 2 * MTIME_SECOND);
	run_for(3 * MTIME_SECOND);
	while (!start_one(&supervisors[1])) {
		const struct throttle_answer *answer = ask_leader(&supervisors[1]);
		if (answer) {
			ck_assert_int_lt(sent, SENT_MAX);
			sent_at[sent] = now;
			answers[sent++] = *answer;
		}
		if (received < sent && now - sent_at[received] >= SLOW * MTIME_MS)
			member_on_answer(supervisors[1].member, &answers[received++], now);
		now += STEP;
		exchange(&supervisors[0]);
	}
	ck_assert_int_gt(member_facts(supervisors[1].member, now).grants.lease, SLOW * MTIME_MS);
}
END_TEST

/* An answer that was read after a suspension says little about the broker. */
START_TEST(one_very_late_answer_makes_the_lease_long_for_some_answers_only)
{
	start_all(1, MTIME_SECOND);
	run_for(2 * MTIME_SECOND);
	ck_assert(!start_one(&supervisors[1]));
	static struct throttle_answer late;
	late = *ask_leader(&supervisors[1]);
	now += MTIME_MINUTE;
	member_on_answer(supervisors[1].member, &late, now);
	ck_assert_int_eq(member_facts(supervisors[1].member, now).grants.lease, LEASE_MAX);
	for (int answers = 0; answers < 20; answers++) {
		uint64_t before = member_facts(supervisors[1].member, now).grants.requests;
		while (member_facts(supervisors[1].member, now).grants.requests == before)
			run_for(STEP);
	}
	ck_assert_int_le(
		member_facts(supervisors[1].member, now).grants.lease, lease_bound(MTIME_SECOND));
}
END_TEST

/* ---------- starts that came too late ---------- */

/* The process was stopped between its decision and its write. */
static void start_late(struct supervisor *supervisor)
{
	struct window *window;
	ck_assert_int_le(throttle_ask(supervisor->throttle, THROTTLE_NO_KEY, now, &window), now);
	throttle_charge(supervisor->throttle, window, now);
	now += LEASE_MAX + MTIME_MS;
	throttle_end_turn(supervisor->throttle, now);
}

START_TEST(late_starts_are_reported_until_one_that_leads_has_heard_of_them)
{
	start_all(1, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	ck_assert(!start_one(&supervisors[1]));
	exchange(&supervisors[1]);
	start_late(&supervisors[1]);
	stop(&supervisors[0]);
	leader = &supervisors[2]; /* it has not proved itself */
	ck_assert_ptr_null(ask_leader(&supervisors[1]));
	run_for(SILENCE + MTIME_SECOND);
	ck_assert(member_facts(supervisors[2].member, now).is_leading);
	ck_assert_uint_eq(member_facts(supervisors[1].member, now).grants.late, 1);
	ck_assert_uint_eq(count_starts(&supervisors[1], PERIOD), 1);
}
END_TEST

START_TEST(late_starts_of_a_lost_request_are_reported_again)
{
	const struct throttle_request *request;
	start_all(1, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	ck_assert(!start_one(&supervisors[1]));
	exchange(&supervisors[1]);
	start_late(&supervisors[1]);
	for (int i = 0; i < 2; i++) {
		while (!(request = member_request(supervisors[1].member, now)))
			now += STEP;
		ck_assert_uint_eq(request->count, 1);
		ck_assert_uint_eq(request->keys[0].late, 1);
	}
}
END_TEST

/* A report of late starts makes the silence of a new leader no shorter. */
START_TEST(late_starts_shorten_no_silence)
{
	struct window *window;
	start_all(1, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	ck_assert(!start_one(&supervisors[1]));
	exchange(&supervisors[1]);
	ck_assert_int_le(throttle_ask(supervisors[1].throttle, THROTTLE_NO_KEY, now, &window), now);
	throttle_charge(supervisors[1].throttle, window, now);
	stop(&supervisors[0]);
	leader = &supervisors[2];
	ck_assert(!start_one(&supervisors[2]));
	for (int i = 0; i < 100; i++, now += STEP)
		exchange(&supervisors[2]);
	ck_assert(member_facts(supervisors[2].member, now).is_silent);
	throttle_end_turn(supervisors[1].throttle, now);
	mtime begin = now;
	while (count_starts(&supervisors[1], STEP) == 0)
		ck_assert_int_lt(now - begin, 2 * SILENCE);
	ck_assert_int_ge(now - begin, SILENCE - 100 * MTIME_MS);
}
END_TEST

/* ---------- a connection that was lost ---------- */

START_TEST(nobody_is_without_a_leader_because_of_former_requests)
{
	start_all(1, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	start_one(&supervisors[1]);
	for (int i = 0; i < 5; i++) {
		now += MTIME_SECOND;
		start_one(&supervisors[1]);
		member_request(supervisors[1].member, now);
	}
	ck_assert_uint_ge(member_facts(supervisors[1].member, now).grants.unanswered, 3);
	member_down(supervisors[1].member);
	member_up(supervisors[1].member);
	ck_assert_uint_eq(member_facts(supervisors[1].member, now).grants.unanswered, 0);
	run_for(MTIME_SECOND);
	ck_assert_uint_eq(member_facts(supervisors[1].member, now).grants.unanswered, 0);
}
END_TEST

START_TEST(a_supervisor_without_a_connection_answers_nothing)
{
	const struct throttle_request *request;
	start_all(1, PERIOD);
	run_for(SILENCE + MTIME_SECOND);
	ck_assert(!start_one(&supervisors[1]));
	request = member_request(supervisors[1].member, now);
	ck_assert_ptr_nonnull(request);
	member_down(supervisors[0].member);
	ck_assert_ptr_null(member_on_request(supervisors[0].member, request, now));
	member_up(supervisors[0].member);
	ck_assert_ptr_nonnull(member_on_request(supervisors[0].member, request, now));
}
END_TEST

/* ---------- without memory ---------- */

/* Its request came back, and nobody knows which starts the one before had granted. */
START_TEST(without_memory_none_begins_to_lead)
{
	start_all(1, PERIOD);
	const struct throttle_request *own = member_request(supervisors[0].member, now);
	ck_assert_ptr_nonnull(own);
	callocs_left = 0;
	const struct throttle_answer *answer = member_on_request(supervisors[0].member, own, now);
	callocs_left = LONG_MAX;
	ck_assert_ptr_null(answer);
	ck_assert(!member_facts(supervisors[0].member, now).is_leading);
	ck_assert_ptr_nonnull(member_on_request(supervisors[0].member, own, now));
	ck_assert(member_facts(supervisors[0].member, now).is_leading);
}
END_TEST

/* Its throttle is shared with nobody then. */
START_TEST(without_memory_there_is_no_member)
{
	const struct throttle_figures figures = {.limit = 1, .period = PERIOD, .max_keys = 1};
	struct throttle *throttle = throttle_new(&figures, 1);
	struct window *window;
	ck_assert_ptr_nonnull(throttle);
	for (long left = 0; left < 3; left++) {
		callocs_left = left;
		struct member *member = member_new(throttle, 1);
		callocs_left = LONG_MAX;
		ck_assert_ptr_null(member);
	}
	ck_assert_int_eq(throttle_ask(throttle, THROTTLE_NO_KEY, now, &window), 0);
	throttle_free(throttle);
}
END_TEST

static Suite *members_suite(void)
{
	Suite *suite = suite_create("shared_members");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, set_up, tear_down);
	tcase_add_test(all, a_higher_limit_lets_those_start_that_wait_at_others);
	tcase_add_test(all, a_supervisor_without_tasks_hears_of_figures_and_keeps_them);
	tcase_add_test(all, figures_that_an_operator_sets_do_not_wait);
	tcase_add_test(all, a_new_configuration_holds_when_all_were_restarted_with_it);
	tcase_add_test(all, it_holds_also_if_the_last_one_hands_over);
	tcase_add_test(all, a_limit_of_others_takes_no_more_memory_than_a_leader_may_use);
	tcase_add_test(all, a_key_for_which_a_leader_has_no_memory_waits);
	tcase_add_test(all, a_higher_limit_stops_no_key_for_which_a_leader_has_less_memory);
	tcase_add_test(all, what_a_late_answer_grants_goes_back);
	tcase_add_test(all, a_lease_grows_until_answers_come_in_time);
	tcase_add_test(all, one_very_late_answer_makes_the_lease_long_for_some_answers_only);
	tcase_add_test(all, late_starts_are_reported_until_one_that_leads_has_heard_of_them);
	tcase_add_test(all, late_starts_of_a_lost_request_are_reported_again);
	tcase_add_test(all, late_starts_shorten_no_silence);
	tcase_add_test(all, nobody_is_without_a_leader_because_of_former_requests);
	tcase_add_test(all, a_supervisor_without_a_connection_answers_nothing);
	tcase_add_test(all, without_memory_none_begins_to_lead);
	tcase_add_test(all, without_memory_there_is_no_member);
	suite_add_tcase(suite, all);
	return suite;
}

UNIT_MAIN(members_suite)
