/* The table of lives, and the timers that drive it. */
#include "core/failure_wait.h"
#include "core/timers.h"
#include "core/workers/slot.h"
#include "unit/unit.h"
#include <signal.h>
#include <stdio.h>

/* Every pair that may happen, written independently of the code: state, fact, next, action. */
static const struct {
	enum life_state state;
	enum life_fact fact;
	enum life_state next;
	enum life_action action;
} pairs[] = {
	{LIFE_WAITING, FACT_TIMER, LIFE_IN_LINE, ACTION_LINE_UP},
	{LIFE_WAITING, FACT_LEAVE, LIFE_RETIRED, ACTION_RETIRE},
	{LIFE_WAITING, FACT_FORCE, LIFE_RETIRED, ACTION_RETIRE},
	{LIFE_IN_LINE, FACT_TURN, LIFE_STARTING, ACTION_SPAWN},
	{LIFE_IN_LINE, FACT_LEAVE, LIFE_RETIRED, ACTION_RETIRE},
	{LIFE_IN_LINE, FACT_FORCE, LIFE_RETIRED, ACTION_RETIRE},
	{LIFE_STARTING, FACT_READY, LIFE_READY, ACTION_WELCOME},
	{LIFE_STARTING, FACT_BROKEN, LIFE_KILLED, ACTION_KILL},
	{LIFE_STARTING, FACT_GONE, LIFE_WAITING, ACTION_BURY},
	{LIFE_STARTING, FACT_TIMER, LIFE_KILLED, ACTION_KILL},
	{LIFE_STARTING, FACT_LEAVE, LIFE_KILLED, ACTION_KILL},
	{LIFE_STARTING, FACT_FORCE, LIFE_KILLED, ACTION_KILL},
	{LIFE_READY, FACT_BROKEN, LIFE_KILLED, ACTION_KILL},
	{LIFE_READY, FACT_GONE, LIFE_WAITING, ACTION_BURY},
	{LIFE_READY, FACT_TIMER, LIFE_STOPPING, ACTION_TERM},
	{LIFE_READY, FACT_HARD, LIFE_STOPPING, ACTION_TERM},
	{LIFE_READY, FACT_LEAVE, LIFE_QUITTING, ACTION_QUIT},
	{LIFE_READY, FACT_FORCE, LIFE_KILLED, ACTION_KILL},
	{LIFE_QUITTING, FACT_BROKEN, LIFE_QUITTING, ACTION_IGNORE},
	{LIFE_QUITTING, FACT_GONE, LIFE_WAITING, ACTION_BURY},
	{LIFE_QUITTING, FACT_TIMER, LIFE_STOPPING, ACTION_TERM},
	{LIFE_QUITTING, FACT_LEAVE, LIFE_QUITTING, ACTION_IGNORE},
	{LIFE_QUITTING, FACT_FORCE, LIFE_KILLED, ACTION_KILL},
	{LIFE_STOPPING, FACT_BROKEN, LIFE_KILLED, ACTION_KILL},
	{LIFE_STOPPING, FACT_GONE, LIFE_WAITING, ACTION_BURY},
	{LIFE_STOPPING, FACT_TIMER, LIFE_KILLED, ACTION_KILL},
	{LIFE_STOPPING, FACT_LEAVE, LIFE_STOPPING, ACTION_IGNORE},
	{LIFE_STOPPING, FACT_FORCE, LIFE_KILLED, ACTION_KILL},
	{LIFE_KILLED, FACT_READY, LIFE_KILLED, ACTION_IGNORE},
	{LIFE_KILLED, FACT_BROKEN, LIFE_KILLED, ACTION_IGNORE},
	{LIFE_KILLED, FACT_GONE, LIFE_WAITING, ACTION_BURY},
	{LIFE_KILLED, FACT_LEAVE, LIFE_KILLED, ACTION_IGNORE},
	{LIFE_KILLED, FACT_FORCE, LIFE_KILLED, ACTION_IGNORE},
	{LIFE_RETIRED, FACT_LEAVE, LIFE_RETIRED, ACTION_IGNORE},
	{LIFE_RETIRED, FACT_WANTED, LIFE_WAITING, ACTION_REVIVE},
	{LIFE_RETIRED, FACT_FORCE, LIFE_RETIRED, ACTION_IGNORE},
};
#define PAIRS (sizeof pairs / sizeof *pairs)

START_TEST(the_table_has_each_listed_step)
{
	for (size_t i = 0; i < PAIRS; i++) {
		struct life_step step = life_next(pairs[i].state, pairs[i].fact);
		ck_assert_int_eq(step.next, pairs[i].next);
		ck_assert_int_eq(step.action, pairs[i].action);
	}
}
END_TEST

static bool is_listed(enum life_state state, enum life_fact fact)
{
	for (size_t i = 0; i < PAIRS; i++)
		if (pairs[i].state == state && pairs[i].fact == fact)
			return true;
	return false;
}

/* Each child tries one pair of the whole square; those that are not listed must abort. */
START_TEST(an_unlisted_pair_is_a_bug)
{
	enum life_state state = (enum life_state)(_i / (FACT_FORCE + 1));
	enum life_fact fact = (enum life_fact)(_i % (FACT_FORCE + 1));
	if (is_listed(state, fact))
		abort();
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr)); /* it will say why it aborts */
	life_next(state, fact);
}
END_TEST

START_TEST(states_have_names_and_texts)
{
	ck_assert_str_eq(life_state_name(LIFE_QUITTING), "LIFE_QUITTING");
	ck_assert_str_eq(life_overdue_text(LIFE_STARTING), "boot limit");
	ck_assert_str_eq(life_overdue_text(LIFE_QUITTING), "grace after quit");
	ck_assert_str_eq(life_overdue_text(LIFE_STOPPING), "grace after SIGTERM");
	ck_assert_ptr_null(life_overdue_text(LIFE_WAITING));
	ck_assert_str_eq(life_overdue_text(LIFE_READY), "grace after an operator's kill");
}
END_TEST

START_TEST(the_wait_grows_to_thirty_seconds)
{
	static const mtime seconds[] = {1, 2, 4, 8, 16, 30, 30, 30};
	for (uint32_t failures = 1; failures <= 8; failures++)
		ck_assert_int_eq(failure_wait(failure_wait_step(failures)),
			seconds[failures - 1] * MTIME_SECOND);
	ck_assert_int_eq(failure_wait(failure_wait_step(UINT32_MAX)), 30 * MTIME_SECOND);
}
END_TEST

#define SLOTS 37

static mtime earliest(const struct slot *slots)
{
	mtime when = MTIME_NEVER;
	for (int i = 0; i < SLOTS; i++)
		when = mtime_min(when, slots[i].timer.at);
	return when;
}

START_TEST(the_earliest_timer_is_first)
{
	static struct slot slots[SLOTS];
	struct timers timers = {0};
	ck_assert_int_eq(timers_reserve(&timers, SLOTS), RC_OK);
	ck_assert_ptr_null(timers_first(&timers));
	for (int i = 0; i < SLOTS; i++)
		slots[i].timer.at = MTIME_NEVER;
	srandom(1);
	for (int step = 0; step < 20000; step++) {
		struct slot *slot = &slots[random() % SLOTS];
		timers_set(&timers, &slot->timer, random() % 4 ? random() % 100 : MTIME_NEVER);
		ck_assert_int_eq(timers_deadline(&timers), earliest(slots));
		if (timers_first(&timers))
			ck_assert_int_eq(timers_first(&timers)->at, earliest(slots));
	}
	timers_release(&timers);
	timers_release(&timers);
}
END_TEST

static void add_bug_tests(TCase *bugs)
{
	int all = (LIFE_RETIRED + 1) * (FACT_FORCE + 1);
	tcase_add_loop_test_raise_signal(bugs, an_unlisted_pair_is_a_bug, SIGABRT, 0, all);
}

static Suite *life_suite(void)
{
	Suite *suite = suite_create("core/life");
	UNIT_CASE(suite, "table", the_table_has_each_listed_step, states_have_names_and_texts);
	UNIT_CASE(suite, "time", the_wait_grows_to_thirty_seconds, the_earliest_timer_is_first);
	TCase *bugs = tcase_create("bugs");
	add_bug_tests(bugs);
	suite_add_tcase(suite, bugs);
	return suite;
}

UNIT_MAIN(life_suite)
