/* The list throttles and a pool's throttle: values, what they imply, what is refused with which
 * text, what is printed and warned of, and what a reload has to do. */
#include "config/change.h"
#include "config/value/session_key.h"
#include "config/value/values.h"
#include "unit/support/config/loading.h"
#include <stdio.h>

static void load_text(const char *yaml)
{
	loading_load_yaml(text_from(yaml), NULL);
}

/* The file with these throttles, members of a flow list, and a pool with these settings. */
static void load_with(const char *throttles, const char *more)
{
	static char yaml[8000];
	ck_assert_int_lt(snprintf(yaml, sizeof yaml,
				 "throttles: [%s]\npools:\n- {name: p, queue: q, command: w%s%s}\n",
				 throttles, *more ? ", " : "", more),
		sizeof yaml);
	load_text(yaml);
}

static void expect(const char *throttles, const char *more, const char *problems)
{
	load_with(throttles, more);
	ck_assert_msg(strcmp(loaded.problems, problems) == 0, "%s; %s\n%s", throttles, more,
		loaded.problems);
	ck_assert_int_eq(loaded.rc, *problems ? RC_MALFORMED : RC_OK);
}

#define ONE(more) "{name: erp, limit: 100, period: 10s" more "}"

START_TEST(test_without)
{
	static const char *const nothing[] = {"", "throttles:\n", "throttles: []\n"};
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
		char yaml[200];
		snprintf(yaml, sizeof yaml, "%spools: [{queue: q, command: w}]\n", nothing[i]);
		load_text(yaml);
		ck_assert_str_eq(loaded.problems, "");
		ck_assert_uint_eq(loaded.config->throttle_count, 0);
		ck_assert_ptr_null(loaded.config->pools[0].throttle);
		ck_assert_int_eq(loaded.config->pools[0].pipeline, 0);
		ck_assert_ptr_null(strstr(loaded.printed, "throttle"));
	}
}
END_TEST

START_TEST(test_defaults_of_a_throttle)
{
	load_with(ONE(""), "throttle: erp");
	ck_assert_str_eq(loaded.problems, "");
	ck_assert_uint_eq(loaded.config->throttle_count, 1);
	const struct config_throttle *t = loaded.config->throttles;
	ck_assert_uint_eq(t->line, 1);
	ck_assert_str_eq(t->name, "erp");
	ck_assert_int_eq(t->limit, 100);
	ck_assert_int_eq(t->period, 10 * MTIME_SECOND);
	ck_assert_int_eq(t->scope, CONFIG_SCOPE_SUPERVISOR);
	ck_assert_ptr_null(t->key);
	ck_assert_int_eq(t->max_keys, 1);
	ck_assert_int_eq(t->when_exceeded, CONFIG_EXCEEDED_DELAY);
	ck_assert_ptr_eq(config_find_throttle(loaded.config, "erp"), t);
	ck_assert_ptr_null(config_find_throttle(loaded.config, "er"));
	ck_assert_str_eq(loaded.config->pools[0].throttle[0], "erp");
	ck_assert_ptr_null(loaded.config->pools[0].throttle[1]);
	load_with(ONE(", key: routing_key"), "throttle: [erp]");
	ck_assert_int_eq(loaded.config->throttles[0].max_keys, 10000);
}
END_TEST

/* What is printed has every value, and loads again to the same. */
START_TEST(test_everything_set)
{
	static char first[LOADING_PROBLEMS_SIZE];
	static const char expected[] = "throttles:\n"
				       "  - name: erp\n"
				       "    limit: 1\n"
				       "    period: 1ms\n"
				       "    scope: supervisor\n"
				       "    when_exceeded: reply\n"
				       "  - name: \"on\"\n"
				       "    limit: 20\n"
				       "    period: 90s\n"
				       "    scope: supervisor\n"
				       "    key: \"header:a b\"\n"
				       "    max_keys: 7\n"
				       "    when_exceeded: dead-letter\n"
				       "pools:\n";
	load_with("{when_exceeded: reply, period: 1ms, limit: 1, name: erp, scope: supervisor},"
		  "{name: 'on', limit: 20, period: 90s, key: 'header:a b', max_keys: 7,"
		  " when_exceeded: dead-letter}",
		"throttle: ['on', erp]");
	ck_assert_str_eq(loaded.problems, "");
	ck_assert_ptr_nonnull(strstr(loaded.printed, expected));
	ck_assert_ptr_nonnull(strstr(loaded.printed, "    pipeline: 1\n"));
	ck_assert_ptr_nonnull(strstr(loaded.printed, "    throttle: [\"on\", erp]\n"));
	strcpy(first, loaded.printed);
	load_text(first);
	ck_assert_str_eq(loaded.problems, "");
	ck_assert_str_eq(loaded.printed, first);
	ck_assert_int_eq(loaded.config->throttles[1].when_exceeded, CONFIG_EXCEEDED_DEAD_LETTER);
	ck_assert_int_eq(loaded.config->throttles[1].max_keys, 7);
}
END_TEST

/* ---------- a throttle ---------- */

#define LIMIT  "a number from 1 to 1000000 is needed\n"
#define PERIOD "a duration from 1ms to 365d, such as 30s, is needed\n"
#define KEYS   "name, limit, period, scope, key, max_keys, when_exceeded"

START_TEST(test_refused)
{
	static const struct {
		const char *throttles, *problem; /* behind "wpool.yaml:1: " */
	} cases[] = {
		{"{name: erp, limit: 0, period: 1s}", "throttles[0].limit is \"0\"; " LIMIT},
		{"{name: erp, limit: 1000001, period: 1s}",
			"throttles[0].limit is \"1000001\"; " LIMIT},
		{"{name: erp, limit: none, period: 1s}", "throttles[0].limit is \"none\"; " LIMIT},
		{"{name: erp, limit: [1], period: 1s}", "throttles[0].limit is a list; " LIMIT},
		{"{name: erp, limit: 1, period: 999us}",
			"throttles[0].period is \"999us\"; " PERIOD},
		{"{name: erp, limit: 1, period: 366d}", "throttles[0].period is \"366d\"; " PERIOD},
		{"{name: erp, limit: 1, period: 10}",
			"throttles[0].period is \"10\", which has no unit (us, ms, s, m, min, h, d); " PERIOD},
		{"{name: erp, limit: 1}", "throttles[0].period is missing; " PERIOD},
		{"{name: erp, period: 1s}", "throttles[0].limit is missing; " LIMIT},
		{"{limit: 1, period: 1s}",
			"throttles[0].name is missing; a text of 1 to 64 bytes is needed\n"},
		{"{name: a b, limit: 1, period: 1s}",
			"throttles[0].name has a character other than letters, digits, '.', '_' "
			"and '-'\n"},
		{ONE("") ", " ONE(""),
			"throttles[1].name is \"erp\", as that of throttles[0]; each throttle needs its "
			"own\n"},
		{"{name: erp, limit: 1, period: 499ms, scope: cluster}",
			"throttles[0].period is below 500ms, which is too short for scope: cluster, as "
			"the supervisors ask each other through the broker; a longer period with a "
			"higher limit, or scope: supervisor, is needed\n"},
		{ONE(", scope: all"),
			"throttles[0].scope is \"all\"; supervisor or cluster is needed\n"},
		{ONE(", key: tenant"),
			"throttles[0].key is \"tenant\"; header:NAME, property:NAME, routing_key or "
			"session is needed\n"},
		{ONE(", key: 'header:x-wpool-attempt'"),
			"throttles[0].key is \"header:x-wpool-attempt\", a header of wpool or the "
			"broker; one that publishers set is needed\n"},
		{ONE(", key: 'header:'"),
			"throttles[0].key is \"header:\", which names no header; header:NAME is "
			"needed\n"},
		{ONE(", key: ''"),
			"throttles[0].key is \"\"; a text of 1 to 262 bytes is needed\n"},
		{ONE(", key: routing_key, max_keys: 0"),
			"throttles[0].max_keys is \"0\"; a number from 1 to 1000000 is needed\n"},
		{ONE(", key: routing_key, max_keys: 1000001"),
			"throttles[0].max_keys is \"1000001\"; a number from 1 to 1000000 is needed\n"},
		{ONE(", max_keys: 5"),
			"throttles[0].max_keys is given without key: the throttle has one limit for all "
			"messages; key, such as header:tenant, gives each its own\n"},
		{ONE(", when_exceeded: drop"),
			"throttles[0].when_exceeded is \"drop\"; delay, reply or dead-letter is "
			"needed\n"},
		{ONE(", rate: 5"), "throttles[0].rate is unknown; there are " KEYS "\n"},
		{ONE(", limits: 5"), "throttles[0].limits is unknown; the nearest is limit\n"},
		{"5", "throttles[0] is a text; keys are needed: " KEYS "\n"
		      "wpool.yaml:1: throttles[0].name is missing; a text of 1 to 64 bytes is needed\n"
		      "wpool.yaml:1: throttles[0].limit is missing; " LIMIT
		      "wpool.yaml:1: throttles[0].period is missing; " PERIOD},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char expected[1000];
		snprintf(expected, sizeof expected, "wpool.yaml:1: %s", cases[i].problem);
		expect(cases[i].throttles, "", expected);
	}
}
END_TEST

/* Each on its own line. */
START_TEST(test_lines)
{
	load_text("pools: [{queue: q, command: w}]\n"
		  "throttles:\n"
		  "  - name: a\n"
		  "    limit: x\n"
		  "    period: 1s\n"
		  "  - name: b\n"
		  "    period: 1s\n");
	ck_assert_str_eq(loaded.problems, "wpool.yaml:4: throttles[0].limit is \"x\"; " LIMIT
					  "wpool.yaml:6: throttles[1].limit is missing; " LIMIT);
	load_text("pools: [{queue: q, command: w}]\nthrottles: {erp: 1}\n");
	ck_assert_str_eq(loaded.problems,
		"wpool.yaml:2: throttles is no list; a list of throttles is needed, each with name, "
		"limit and period\n");
	load_text("pools: [{queue: q, command: w}]\nthrottle: [erp]\n");
	ck_assert_str_eq(
		loaded.problems, "wpool.yaml:2: throttle is unknown; the nearest is throttles\n");
}
END_TEST

START_TEST(test_ends_of_ranges)
{
	static const char *const good[] = {
		"{name: a, limit: 1, period: 1ms}",
		"{name: a, limit: 1000000, period: 365d}",
		"{name: a, limit: 8, period: 1s, key: session, max_keys: 1000000}",
	};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		load_with(good[i], "session: {key: routing_key}, throttle: [a]");
		ck_assert_msg(loaded.rc == RC_OK, "%s: %s", good[i], loaded.problems);
	}
}
END_TEST

START_TEST(test_keys)
{
	static const struct {
		const char *key;
		bool is_for_throttles, is_for_sessions;
	} cases[] = {
		{"header:tenant", true, true},
		{"property:app_id", true, true},
		{"routing_key", true, true},
		{"session", true, false},
		{"session:", false, false},
		{"property:priority", false, false},
		{"header:CC", false, false},
		{"", false, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct text key = text_from(cases[i].key);
		ck_assert_msg(!throttle_key_problem(key) == cases[i].is_for_throttles, "%s",
			cases[i].key);
		ck_assert_msg(
			!session_key_problem(key) == cases[i].is_for_sessions, "%s", cases[i].key);
	}
}
END_TEST

/* 64 MiB are 8,388,608 starts: so many are good, and one more is not. */
START_TEST(test_memory)
{
#define FULL                                                                                       \
	"{name: a, limit: 1000000, period: 1s},"                                                   \
	"{name: b, limit: 461788, period: 1s, key: routing_key, max_keys: 16}"
#define SUM "wpool.yaml:1: the starts of all throttles could take "
#define POSSIBLE                                                                                   \
	" (limit x max_keys x 8 bytes each), and at most 64 MiB are possible; the largest is "
#define NEEDED " x 8 bytes; a smaller max_keys or limit is needed\n"
	expect(FULL, "throttle: [a, b]", "");
	expect(FULL ", {name: c, limit: 1, period: 1s}", "throttle: [a, b, c]",
		SUM "64.0 MiB" POSSIBLE "throttles[1], 461788 x 16" NEEDED);
	expect("{name: a, limit: 1000000, period: 1s, key: routing_key, max_keys: 1000000}",
		"throttle: a",
		SUM "7629394.5 MiB" POSSIBLE "throttles[0], 1000000 x 1000000" NEEDED);
	ck_assert_uint_eq(config_throttle_memory(1000000, 1000000), UINT64_C(8000000000000));
}
END_TEST

START_TEST(test_very_many)
{
	static char list[CONFIG_THROTTLES_MAX * 50 + 100];
	size_t len = 0;
	for (int i = 0; i < CONFIG_THROTTLES_MAX; i++)
		len += (size_t)sprintf(list + len, "{name: t%d, limit: 1, period: 1s},\n", 100 + i);
	load_with(list, "throttle: [t199]");
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	ck_assert_uint_eq(loaded.config->throttle_count, CONFIG_THROTTLES_MAX);
	sprintf(list + len, "{name: t200, limit: 1, period: 1s}");
	expect(list, "throttle: [t200]", "wpool.yaml:101: there are more than 100 throttles\n");
	list[len] = '\0';
	expect(list, "throttle: [other]",
		"wpool.yaml:103: pools[0].throttle: \"other\" is unknown; there are t100, t101, t102, "
		"t103, t104, t105, t106, t107, t108, t109 and 90 more\n");
}
END_TEST

/* ---------- a pool ---------- */

#define BOTH "{name: erp, limit: 1, period: 1s}, {name: tenant, limit: 1, period: 1s}"

START_TEST(test_pool_refused)
{
	static const struct {
		const char *throttles, *more, *problem; /* behind "wpool.yaml:3: pools[0]." */
	} cases[] = {
		{BOTH, "throttle: [erp, tenannt]",
			"throttle: \"tenannt\" is unknown; the nearest is tenant\n"},
		{BOTH, "throttle: none", "throttle: \"none\" is unknown; there are erp, tenant\n"},
		{"", "throttle: erp",
			"throttle: \"erp\" is unknown; throttles, outside the pools, has none\n"},
		{BOTH, "throttle: [erp, tenant, erp]",
			"throttle: \"erp\" is there twice; once is enough\n"},
		{BOTH, "throttle: [erp, tenant, a, b, c]",
			"throttle is \"[erp, tenant, a, b, c]\"; a list of at most 4 names is needed\n"},
		{BOTH, "throttle: ", "throttle is empty; a list of at most 4 names is needed\n"},
		{BOTH, "throttle: ''", "throttle is \"\"; a list of at most 4 names is needed\n"},
		{BOTH, "throttle: [erp, '']",
			"throttle is \"[erp, ]\"; a list of at most 4 names is needed\n"},
		{BOTH, "throttle: [[erp]]",
			"throttle is a list; a list of at most 4 names is needed\n"},
		{BOTH, "throttle: {erp: 1}",
			"throttle is a map; a list of at most 4 names is needed\n"},
		{BOTH, "throttles: [erp]", "throttles is unknown; the nearest is throttle\n"},
		{ONE(", key: session"), "throttle: erp",
			"throttle: erp has key: session, and the pool has no sessions; session.key, or "
			"a throttle with another key, is needed\n"},
		{BOTH, "throttle: [erp], pipeline: 2",
			"pipeline contradicts throttle, which needs 1 or auto\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char expected[300];
		snprintf(expected, sizeof expected, "wpool.yaml:3: pools[0].%s", cases[i].problem);
		expect(cases[i].throttles, cases[i].more, expected);
	}
}
END_TEST

START_TEST(test_pool_accepted)
{
	static const char four[] = BOTH ", {name: c, limit: 1, period: 1s, key: session}"
					", {name: d, limit: 1, period: 1s}";
	static const struct {
		const char *more;
		size_t count;
	} cases[] = {
		{"throttle: erp", 1},
		{"throttle: 'erp,tenant'", 2},
		{"throttle: [erp], pipeline: 1", 1},
		{"throttle: [erp], pipeline: auto", 1},
		{"throttle: [erp], concurrency: 8", 1},
		{"throttle: [erp, tenant, c, d], session: {key: 'header:a'}", 4},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t count = 0;
		load_with(four, cases[i].more);
		ck_assert_msg(loaded.rc == RC_OK, "%s: %s", cases[i].more, loaded.problems);
		const struct config_pool *pool = loaded.config->pools;
		while (pool->throttle[count])
			count++;
		ck_assert_uint_eq(count, cases[i].count);
		ck_assert_int_eq(pool->pipeline, 1);
	}
	load_with(BOTH, "throttle: [], pipeline: 3");
	ck_assert_ptr_null(loaded.config->pools[0].throttle);
	ck_assert_int_eq(loaded.config->pools[0].pipeline, 3);
}
END_TEST

/* For all pools, one with others, and one with none. */
START_TEST(test_defaults_for_pools)
{
	load_text("defaults: {throttle: [a, b]}\n"
		  "throttles:\n"
		  "- {name: a, limit: 1, period: 1s}\n"
		  "- {name: b, limit: 1, period: 1s}\n"
		  "pools:\n"
		  "- {queue: p, command: w}\n"
		  "- {queue: q, command: w, throttle: [b]}\n"
		  "- {queue: r, command: w, throttle: [], pipeline: 9}\n");
	ck_assert_str_eq(loaded.problems, "");
	const struct config_pool *pools = loaded.config->pools;
	ck_assert_str_eq(pools[0].throttle[1], "b");
	ck_assert_str_eq(pools[1].throttle[0], "b");
	ck_assert_ptr_null(pools[1].throttle[1]);
	ck_assert_ptr_null(pools[2].throttle);
	ck_assert_int_eq(pools[2].pipeline, 9);
}
END_TEST

/* What is wrong for all pools is reported once, what is wrong for one with its number. */
START_TEST(test_problems_of_defaults)
{
	load_text("defaults:\n"
		  "  throttle: [x, s]\n"
		  "  pipeline: 2\n"
		  "throttles: [{name: s, limit: 1, period: 1s, key: session}]\n"
		  "pools:\n"
		  "- {queue: p, command: w, session: {key: routing_key}}\n"
		  "- {queue: q, command: w, pipeline: 1}\n");
	ck_assert_str_eq(loaded.problems,
		"wpool.yaml:2: defaults.throttle: \"x\" is unknown; the nearest is s\n"
		"wpool.yaml:3: pools[0].pipeline, a default, contradicts throttle, which needs 1 or "
		"auto\n"
		"wpool.yaml:2: pools[1].throttle: s has key: session, and the pool has no sessions; "
		"session.key, or a throttle with another key, is needed\n");
}
END_TEST

/* A name is no problem of its own if the throttle that may have it could not be read. */
START_TEST(test_no_problem_follows_another)
{
	static const char *const wrong[] = {"throttles: 5\n", "throttles: {name: erp}\n",
		"throttles: ${NOT_SET}\n", "throttles: [{limit: 1, period: 1s}]\n",
		"throttles: [{name: '', limit: 1, period: 1s}]\n",
		"throttles: [{name: erp, limit: 0, period: 1s}]\n"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char yaml[300];
		snprintf(yaml, sizeof yaml, "%spools: [{queue: q, command: w, throttle: [erp]}]\n",
			wrong[i]);
		load_text(yaml);
		ck_assert_int_eq(loaded.rc, RC_MALFORMED);
		ck_assert_msg(!strstr(loaded.problems, "pools[0]"), "%s", loaded.problems);
	}
}
END_TEST

/* 255 bytes less ".retry.3600s", the last queue in which a task may wait. */
START_TEST(test_long_queues)
{
	char yaml[600], name[300];
	memset(name, 'x', sizeof name);
	for (int len = 242; len <= 244; len++) {
		snprintf(yaml, sizeof yaml,
			"throttles:\n- " ONE(
				"") "\npools: [{queue: %.*s, command: w, retry: {delay: []}, throttle: erp}]",
			len, name);
		load_text(yaml);
		ck_assert_msg((loaded.rc == RC_OK) == (len <= 243), "%d", len);
	}
	ck_assert_str_eq(loaded.problems,
		"wpool.yaml:3: pools[0].queue is too long for throttles: with \".retry.3600s\" the "
		"name is over 255 bytes\n");
}
END_TEST

START_TEST(test_warnings)
{
	load_with(BOTH ", {name: c, limit: 1, period: 1s}", "throttle: [tenant]");
	ck_assert_str_eq(loaded.problems,
		"throttles[0]: no pool has erp in its throttle, so it limits nothing\n"
		"throttles[2]: no pool has c in its throttle, so it limits nothing\n");
#define LONG "{name: day, limit: 1, period: 1d"
	load_with(LONG "}", "throttle: [day], session: {key: routing_key}");
	ck_assert_str_eq(loaded.problems,
		"pools[0].throttle: a message may wait for the throttle day for 1d, its period, which is over "
		"session.max_unacked_age (10min): meanwhile the channel is renewed, and what waits in "
		"hand is delivered again\n");
	load_with(LONG ", when_exceeded: dead-letter}",
		"throttle: [day], session: {key: routing_key}");
	ck_assert_str_eq(loaded.problems, "");
	load_with(LONG "}", "throttle: [day], session: {key: routing_key, max_unacked_age: none}");
	ck_assert_ptr_null(strstr(loaded.problems, "throttle"));
	load_with(
		"{name: a, limit: 1, period: 10min}", "throttle: [a], session: {key: routing_key}");
	ck_assert_str_eq(loaded.problems, "");
}
END_TEST

/* Supervisors ask each other through the broker, which takes a while. */
START_TEST(test_shared)
{
	load_with("{name: erp, limit: 1, period: 500ms, scope: cluster}", "throttle: [erp]");
	ck_assert_str_eq(loaded.problems, "");
	ck_assert_int_eq(loaded.config->throttles[0].scope, CONFIG_SCOPE_CLUSTER);
	ck_assert_ptr_nonnull(strstr(loaded.printed, "scope: cluster"));
	load_with("{name: erp, limit: 1, period: 499ms, scope: supervisor}", "throttle: [erp]");
	ck_assert_str_eq(loaded.problems, "");
}
END_TEST

/* Another leader grants nothing for one period. */
START_TEST(test_long_silences)
{
	load_with("{name: a, limit: 1, period: 10min, scope: cluster}, "
		  "{name: b, limit: 1, period: 601s, scope: cluster}, "
		  "{name: c, limit: 1, period: 1d}",
		"throttle: [a, b, c]");
	ck_assert_int_eq(loaded.rc, RC_OK);
	ck_assert_str_eq(loaded.problems,
		"throttles[1]: with scope: cluster, no task of b starts for its period (601s) after the "
		"first start of all supervisors, or when the one that leads it is killed: the next one "
		"does not know what was started\n");
}
END_TEST

/* ---------- a reload ---------- */

/* The last but one that was loaded. */
static struct config *old;

static void load_both(const char *before, const char *old_names, const char *now, const char *names)
{
	load_with(before, old_names);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	old = loaded.config;
	loaded.config = NULL;
	load_with(now, names);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
}

static void forget(void)
{
	config_free(old);
	old = NULL;
}

/* Beside another throttle that is the same. */
START_TEST(test_changed_throttle)
{
	enum { NOTHING = -1 };
	static const struct {
		const char *before, *now;
		int reload;
	} cases[] = {
		{"limit: 1, period: 1s", "limit: 1, period: 1000ms", NOTHING},
		{"limit: 1, period: 1s", "limit: 2, period: 1s", SETTING_LIVE},
		{"limit: 1, period: 1s", "limit: 1, period: 2s", SETTING_LIVE},
		{"limit: 1, period: 1s", "limit: 1, period: 1s, when_exceeded: reply",
			SETTING_LIVE},
		{"limit: 1, period: 1s, key: routing_key",
			"limit: 1, period: 1s, key: routing_key, max_keys: 5", SETTING_LIVE},
		{"limit: 1, period: 1s", "limit: 1, period: 1s, key: routing_key",
			SETTING_REPLACES},
		{"limit: 1, period: 1s, key: 'header:a'", "limit: 9, period: 1s, key: 'header:b'",
			SETTING_REPLACES},
		{"limit: 1, period: 1s", "limit: 1, period: 1s, scope: cluster", SETTING_REPLACES},
		{"limit: 1, period: 1s, scope: cluster", "limit: 2, period: 1s, scope: cluster",
			SETTING_LIVE},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char before[200], now[200];
		enum setting_reload reload;
#define SAME "{name: same, limit: 1, period: 1s}"
		snprintf(before, sizeof before, SAME ", {name: a, %s}", cases[i].before);
		snprintf(now, sizeof now, "{name: a, %s}, " SAME, cases[i].now);
		for (int swapped = 0; swapped < 2; swapped++) {
			load_both(swapped ? now : before, "throttle: [a, same]",
				swapped ? before : now, "throttle: [same, a]");
			bool is_any = change_of_throttles(old, old->pools->throttle, loaded.config,
				loaded.config->pools->throttle, &reload);
			ck_assert_msg((is_any ? (int)reload : NOTHING) == cases[i].reload, "%s: %d",
				cases[i].now, is_any);
			forget();
		}
	}
}
END_TEST

/* A throttle that the pool did not name, or does not name any more, requires nothing of it. */
START_TEST(test_changed_names)
{
	static const struct {
		const char *old_names, *names;
	} cases[] = {
		{"throttle: [a]", "throttle: [a, b]"},
		{"throttle: [a, b]", "throttle: [a]"},
		{"", "throttle: [b]"},
		{"throttle: [b]", ""},
		{"", ""},
		{"throttle: [c]", "throttle: [a]"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		enum setting_reload reload;
		load_both("{name: a, limit: 1, period: 1s}, {name: b, limit: 1, period: 1s},"
			  "{name: c, limit: 1, period: 1s}",
			cases[i].old_names,
			"{name: b, limit: 2, period: 1s, key: routing_key}, {name: a, limit: 1, period: "
			"1s}",
			cases[i].names);
		ck_assert_msg(!change_of_throttles(old, old->pools->throttle, loaded.config,
				      loaded.config->pools->throttle, &reload),
			"%s, %s", cases[i].old_names, cases[i].names);
		forget();
	}
}
END_TEST

/* As the log of a reload shows them: they are no secrets. */
static void expect_names(const struct config_pool *pool, const char *expected)
{
	struct buf out;
	buf_init(&out, 100);
	value_append(settings_find(SETTING_POOL, "throttle"), pool, &out);
	ck_assert_msg(
		text_is(buf_text(&out), text_from(expected)), "%.*s", TEXT_ARGS(buf_text(&out)));
	buf_release(&out);
}

/* The names are a setting of the pool, which holds at once, and so does the pipeline that they
 * imply. */
START_TEST(test_pool_changes_live)
{
	enum setting_reload reload;
	load_both(BOTH, "throttle: [erp, tenant]", BOTH, "throttle: [tenant, erp]");
	ck_assert(change_is_any(SETTING_POOL, old->pools, loaded.config->pools, &reload));
	ck_assert_int_eq(reload, SETTING_LIVE);
	expect_names(old->pools, "[erp, tenant]");
	expect_names(loaded.config->pools, "[tenant, erp]");
	forget();
	load_both(BOTH, "", BOTH, "throttle: [erp]");
	expect_names(old->pools, "[]");
	ck_assert(change_is_any(SETTING_POOL, old->pools, loaded.config->pools, &reload));
	ck_assert_int_eq(reload, SETTING_LIVE);
	change_take_over(SETTING_POOL, old->pools, loaded.config->pools);
	ck_assert_str_eq(old->pools->throttle[0], "erp");
	ck_assert_int_eq(old->pools->pipeline, 1);
	ck_assert_ptr_null(loaded.config->pools->throttle);
	forget();
}
END_TEST

START_TEST(test_taken_over)
{
	load_both(BOTH, "throttle: [erp]", ONE(""), "throttle: [erp]");
	const struct config_throttle *now = loaded.config->throttles, *before = old->throttles;
	change_take_over_throttles(old, loaded.config);
	ck_assert_ptr_eq(old->throttles, now);
	ck_assert_uint_eq(old->throttle_count, 1);
	ck_assert_ptr_eq(loaded.config->throttles, before);
	ck_assert_uint_eq(loaded.config->throttle_count, 2);
	forget();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/throttles");
	TCase *files = tcase_create("files");
	tcase_add_checked_fixture(files, loading_set_up, loading_tear_down);
	tcase_add_test(files, test_without);
	tcase_add_test(files, test_defaults_of_a_throttle);
	tcase_add_test(files, test_everything_set);
	tcase_add_test(files, test_refused);
	tcase_add_test(files, test_lines);
	tcase_add_test(files, test_ends_of_ranges);
	tcase_add_test(files, test_memory);
	tcase_add_test(files, test_very_many);
	tcase_add_test(files, test_pool_refused);
	tcase_add_test(files, test_pool_accepted);
	tcase_add_test(files, test_defaults_for_pools);
	tcase_add_test(files, test_problems_of_defaults);
	tcase_add_test(files, test_no_problem_follows_another);
	tcase_add_test(files, test_long_queues);
	tcase_add_test(files, test_warnings);
	tcase_add_test(files, test_shared);
	tcase_add_test(files, test_long_silences);
	tcase_add_test(files, test_changed_throttle);
	tcase_add_test(files, test_changed_names);
	tcase_add_test(files, test_pool_changes_live);
	tcase_add_test(files, test_taken_over);
	suite_add_tcase(s, files);
	UNIT_CASE(s, "keys", test_keys);
	return s;
}

UNIT_MAIN(suite)
