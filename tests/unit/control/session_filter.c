/* The where expression of sessions: what it means, and where it is malformed. */
#include "control/sessions/session_filter.h"

#include "core/tasks/delivery.h"
#include "unit/unit.h"

#include <stdio.h>

#define NOW (100 * MTIME_SECOND)

/* ---------- what it matches ---------- */

/* A session with the key acme-1 that is parked for 40 s after 2 attempts; 3 high and 120 normal
 * tasks wait behind its front task. */
static struct session_facts a_session(void)
{
	return (struct session_facts){.key = TEXT("acme-1"),
		.state = SESSION_PARKED,
		.since = NOW - 40 * MTIME_SECOND,
		.reason = REASON_FAILED,
		.attempts = 2,
		.high = 3,
		.normal = 120};
}

static const struct {
	const char *expression;
	bool matches;
} expressions[] = {
	{"key=acme-1", true},
	{"key=acme", false},
	{"key!=acme", true},
	{"key!=acme-1", false},
	{"key^=acme-", true},
	{"key^=''", true},
	{"key^=cme", false},
	{"key^=acme-1-", false},
	{"key=\"acme-1\"", true},
	{"state=parked", true},
	{"state=ready", false},
	{"state!=ready", true},
	{"reason=failed", true},
	{"reason!=failed", false},
	{"backlog=123", true},
	{"backlog>122", true},
	{"backlog>123", false},
	{"backlog>=123", true},
	{"backlog<123", false},
	{"backlog<=123", true},
	{"backlog<124", true},
	{"backlog!=123", false},
	{"high=3", true},
	{"normal=120", true},
	{"attempts=2", true},
	{"for>39s", true},
	{"for>=40s", true},
	{"for>40s", false},
	{"for<1min", true},
	{"state=parked backlog>100 key^=acme-", true},
	{"  state=parked\tbacklog>100\n", true},
	{"state=parked backlog>1000 key^=acme-", false},
	{"state=parked state=parked", true},
};

START_TEST(all_conditions_must_hold)
{
	struct session_filter_problem problem;
	struct session_filter filter;
	struct session_facts facts = a_session();

	ck_assert_msg(
		session_filter_parse(&filter, text_from(expressions[_i].expression), &problem),
		"%s: %s", expressions[_i].expression, problem.text);
	ck_assert_msg(session_filter_matches(&filter, &facts, NOW) == expressions[_i].matches, "%s",
		expressions[_i].expression);
}
END_TEST

START_TEST(quotation_marks_hold_blanks_and_each_other)
{
	static const char expression[] = "key='the \"big\" one' backlog=0 reason='' attempts=0";
	struct session_facts facts = {.key = TEXT("the \"big\" one")};
	struct session_filter_problem problem;
	struct session_filter filter;

	ck_assert(session_filter_parse(&filter, text_from(expression), &problem));
	ck_assert(session_filter_matches(&filter, &facts, NOW));
	facts.key = TEXT("the big one");
	ck_assert(!session_filter_matches(&filter, &facts, NOW));
}
END_TEST

/* ---------- what is malformed ---------- */

static const struct {
	const char *expression;
	size_t position;
	const char *part; /* of the text */
} mistakes[] = {
	{"", 1, "empty"},
	{"   ", 4, "empty"},
	{"colour=red", 1, "one of key, state"},
	{"state=parked Key=x", 14, "begins with"},
	{"=3", 1, "begins with"},
	{"state", 6, "operator is missing"},
	{"state parked", 6, "operator is missing"},
	{"state~parked", 6, "operator is missing"},
	{"state=", 7, "value is missing"},
	{"state= parked", 7, "value is missing"},
	{"state=asleep", 7, "ready running parked"},
	{"state=par", 7, "ready running parked"},
	{"state>parked", 6, "> is not for state"},
	{"key>a", 4, "> is not for key"},
	{"state^=par", 6, "^= is not for state"},
	{"backlog^=1", 8, "^= is not for backlog"},
	{"backlog>many", 9, "no number"},
	{"backlog>-1", 9, "no number"},
	{"backlog>99999999999999999999", 9, "no number"},
	{"for>10", 5, "no time"},
	{"reason=bored", 8, "no reason \"bored\""},
	{"key=\"a", 5, "not closed"},
	{"key=\"a\"b", 8, "blank is missing"},
	{"key=\xc3\xa4\xc3\xb6 backlog>x", 16, "no number"},
};

START_TEST(a_mistake_has_its_position)
{
	struct session_filter_problem problem = {0};
	struct session_filter filter;

	ck_assert(!session_filter_parse(&filter, text_from(mistakes[_i].expression), &problem));
	ck_assert_msg(problem.position == mistakes[_i].position, "%s: %zu: %s",
		mistakes[_i].expression, problem.position, problem.text);
	ck_assert_msg(strstr(problem.text, mistakes[_i].part), "%s: %s", mistakes[_i].expression,
		problem.text);
}
END_TEST

START_TEST(conditions_are_bounded)
{
	struct session_filter_problem problem;
	struct session_filter filter;
	char text[SESSION_FILTER_MAX * 8 + 16] = "";

	for (int i = 0; i < SESSION_FILTER_MAX; i++)
		strcat(text, "high>0  ");
	ck_assert(session_filter_parse(&filter, text_from(text), &problem));
	strcat(text, "high>0");
	ck_assert(!session_filter_parse(&filter, text_from(text), &problem));
	ck_assert_uint_eq(problem.position, SESSION_FILTER_MAX * 8 + 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("control/session_filter");
	TCase *tables = tcase_create("tables");

	tcase_add_loop_test(
		tables, all_conditions_must_hold, 0, sizeof expressions / sizeof *expressions);
	tcase_add_loop_test(
		tables, a_mistake_has_its_position, 0, sizeof mistakes / sizeof *mistakes);
	suite_add_tcase(s, tables);
	UNIT_CASE(s, "more", quotation_marks_hold_blanks_and_each_other, conditions_are_bounded);
	return s;
}

UNIT_MAIN(suite)
