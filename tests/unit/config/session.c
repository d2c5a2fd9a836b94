/* The section session of a pool: values, what they imply, what is refused with which text, and
 * what is printed and warned of. */
#include "config/change.h"
#include "config/settings.h"
#include "config/warnings.h"
#include "unit/support/config/loading.h"
#include <stdio.h>

/* A pool that lacks nothing, on lines 1 to 3; what is appended stands in it from line 4 on. */
#define POOL    "pools:\n  - queue: q\n    command: [w]\n"
#define SESSION POOL "    session: {key: routing_key}\n"

static void load_with(const char *before, const char *more)
{
	char yaml[1000];
	snprintf(yaml, sizeof yaml, "%s%s", before, more);
	loading_load_yaml(text_from(yaml), NULL);
}

/* The pool after loading POOL and more. */
static const struct config_pool *pool_with(const char *more)
{
	load_with(POOL, more);
	ck_assert_msg(loaded.rc == RC_OK, "%s: %s", more, loaded.problems);
	return &loaded.config->pools[0];
}

START_TEST(test_without)
{
	const struct config_pool *p = pool_with("");
	ck_assert_ptr_null(p->session.key);
	ck_assert_int_eq(p->prefetch, 0);
	ck_assert_ptr_null(strstr(loaded.printed, "session"));
	pool_with("    session:\n");
	ck_assert_ptr_null(loaded.config->pools[0].session.key);
}
END_TEST

START_TEST(test_defaults)
{
	const struct config_pool *p = pool_with("    session: {key: 'header:a b'}\n");
	ck_assert_str_eq(p->session.key, "header:a b");
	ck_assert_int_eq(p->session.without_key, CONFIG_WITHOUT_KEY_UNORDERED);
	ck_assert_int_eq(p->session.quantum.tasks, 10);
	ck_assert_int_eq(p->session.quantum.time, 0);
	ck_assert_int_eq(p->session.on_failure, CONFIG_SESSION_SKIP);
	ck_assert_int_eq(p->session.idle, MTIME_NEVER);
	ck_assert_int_eq(p->session.max_active, MTIME_NEVER);
	ck_assert_int_eq(p->session.max_sessions, 100000);
	ck_assert_int_eq(p->session.max_unacked_age, 10 * MTIME_MINUTE);
	ck_assert_int_eq(p->session.takeover_delay, 30 * MTIME_SECOND);
	ck_assert_int_eq(p->session.delivery_limit, CONFIG_DELIVERY_LIMIT_UNKNOWN);
	ck_assert_int_eq(p->prefetch, 2000);
	ck_assert_str_eq(loaded.problems, "");
}
END_TEST

START_TEST(test_everything_set)
{
	const struct config_pool *p = pool_with(
		"    prefetch: 500\n"
		"    session: {key: 'property:type', without_key: reject, quantum: 50ms,\n"
		"      on_failure: block, idle: 1min, max_active: 7, max_sessions: 70,\n"
		"      max_unacked_age: 90s, takeover_delay: none, delivery_limit: none}\n");
	ck_assert_str_eq(p->session.key, "property:type");
	ck_assert_int_eq(p->session.without_key, CONFIG_WITHOUT_KEY_REJECT);
	ck_assert_int_eq(p->session.quantum.tasks, 0);
	ck_assert_int_eq(p->session.quantum.time, 50 * MTIME_MS);
	ck_assert_int_eq(p->session.on_failure, CONFIG_SESSION_BLOCK);
	ck_assert_int_eq(p->session.idle, MTIME_MINUTE);
	ck_assert_int_eq(p->session.max_active, 7);
	ck_assert_int_eq(p->session.max_sessions, 70);
	ck_assert_int_eq(p->session.max_unacked_age, 90 * MTIME_SECOND);
	ck_assert_int_eq(p->session.takeover_delay, MTIME_NEVER);
	ck_assert_int_eq(p->session.delivery_limit, CONFIG_DELIVERY_LIMIT_NONE);
	ck_assert_int_eq(p->prefetch, 500);
	ck_assert_ptr_nonnull(strstr(loaded.printed, "    prefetch: 500\n"));
	ck_assert_ptr_nonnull(strstr(loaded.printed, "    session:\n"
						     "      key: \"property:type\"\n"
						     "      without_key: reject\n"
						     "      quantum: 50ms\n"
						     "      on_failure: block\n"
						     "      idle: 1min\n"
						     "      max_active: 7\n"
						     "      max_sessions: 70\n"
						     "      max_unacked_age: 90s\n"
						     "      takeover_delay: none\n"
						     "      delivery_limit: none\n"));
}
END_TEST

/* What is printed loads again to the same. */
START_TEST(test_printed_loads_again)
{
	static const char *const cases[] = {"{key: 'header:x y'}", "{key: routing_key, quantum: 3}",
		"{key: 'header:é', quantum: 1.5s, idle: 2h, max_active: 1}"};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		static char first[LOADING_PROBLEMS_SIZE];
		char more[200];
		snprintf(more, sizeof more, "    session: %s\n", cases[i]);
		pool_with(more);
		strcpy(first, loaded.printed);
		loading_load_yaml(text_from(first), NULL);
		ck_assert_msg(loaded.rc == RC_OK, "%s: %s", first, loaded.problems);
		ck_assert_str_eq(loaded.printed, first);
	}
}
END_TEST

START_TEST(test_quanta)
{
	static const struct {
		const char *yaml;
		int64_t tasks;
		mtime time; /* both 0: refused */
	} cases[] = {
		{"1", 1, 0},
		{"1000000000", 1000000000, 0},
		{"1000000001", 0, 0},
		{"0", 0, 0},
		{"-1", 0, 0},
		{"none", 0, 0},
		{"1ms", 0, MTIME_MS},
		{"1.5s", 0, 1500 * MTIME_MS},
		{"60min", 0, 60 * MTIME_MINUTE},
		{"3600001ms", 0, 0},
		{"999us", 0, 0},
		{"0s", 0, 0},
		{"[1]", 0, 0},
		{"''", 0, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char more[200];
		bool is_good = cases[i].tasks || cases[i].time;
		snprintf(more, sizeof more, "    session: {key: routing_key, quantum: %s}\n",
			cases[i].yaml);
		load_with(POOL, more);
		ck_assert_msg((loaded.rc == RC_OK) == is_good, "%s: %s", more, loaded.problems);
		if (!is_good)
			continue;
		ck_assert_int_eq(loaded.config->pools[0].session.quantum.tasks, cases[i].tasks);
		ck_assert_int_eq(loaded.config->pools[0].session.quantum.time, cases[i].time);
	}
}
END_TEST

START_TEST(test_good_keys)
{
	static const char *const keys[] = {"header:session", "header:X-Death", "header:x-wpool",
		"property:correlation_id", "property:message_id", "property:type",
		"property:app_id", "property:reply_to", "property:content_type",
		"property:content_encoding", "routing_key"};
	char name[300], more[400];
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		snprintf(more, sizeof more, "    session: {key: '%s'}\n", keys[i]);
		ck_assert_str_eq(pool_with(more)->session.key, keys[i]);
	}
	memset(name, 'n', sizeof name);
	for (int len = 255; len <= 256; len++) {
		snprintf(more, sizeof more, "    session: {key: 'header:%.*s'}\n", len, name);
		load_with(POOL, more);
		ck_assert_int_eq(loaded.rc, len == 255 ? RC_OK : RC_MALFORMED);
	}
}
END_TEST

/* From line 4 on, with the text of the refusal. */
START_TEST(test_refused)
{
#define OURS    ", a header of wpool or the broker; one that publishers set is needed\n"
#define FORM    "; header:NAME, property:NAME or routing_key is needed\n"
#define KEYLESS "session.key is missing; header:NAME, property:NAME or routing_key is needed\n"
	static const struct {
		const char *more, *problem;
	} cases[] = {
		{"    session: {key: 'header:x-wpool-attempt'}\n",
			"session.key is \"header:x-wpool-attempt\"" OURS},
		{"    session: {key: 'header:x-wpool-'}\n",
			"session.key is \"header:x-wpool-\"" OURS},
		{"    session: {key: 'header:x-delivery-count'}\n",
			"session.key is \"header:x-delivery-count\"" OURS},
		{"    session: {key: 'header:x-first-death-queue'}\n",
			"session.key is \"header:x-first-death-queue\"" OURS},
		{"    session: {key: 'header:CC'}\n", "session.key is \"header:CC\"" OURS},
		{"    session: {key: 'header:'}\n",
			"session.key is \"header:\", which names no header; header:NAME is "
			"needed\n"},
		{"    session: {key: 'property:priority'}\n",
			"session.key is \"property:priority\"; a property that can be a key is "
			"correlation_id, message_id, type, app_id, reply_to, content_type or "
			"content_encoding\n"},
		{"    session: {key: session}\n", "session.key is \"session\"" FORM},
		{"    session: {key: 'routing_key:x'}\n", "session.key is \"routing_key:x\"" FORM},
		{"    session: {quantum: 5}\n", KEYLESS},
		{"    session: {}\n", KEYLESS},
		{"    session: {takeover_delay: 9s, key: routing_key}\n",
			"session.takeover_delay is \"9s\"; a duration from 10s to 1d or none is "
			"needed\n"},
		{"    session: {key: routing_key, quantum: 5 tasks}\n",
			"session.quantum is \"5 tasks\", and \"tasks\" is no unit (us, ms, s, m, "
			"min, h, d); a number of tasks from 1 to 1000000000, or a time from 1ms to "
			"1h, such as 50ms, is needed\n"},
		{"    session: {key: routing_key, on_failure: block}\n",
			"session.on_failure is block, which needs session.delivery_limit: none: "
			"the messages of a blocked session are returned with every channel, and "
			"the broker drops them at its limit; `wpool declare` makes a queue without "
			"one, and `rabbitmqctl list_policies` shows policies that set one\n"},
		{"    retry: {dead_letter: q.token}\n    session: {key: routing_key}\n",
			"retry.dead_letter is the queue of the sessions' token; another one or "
			"broker is needed\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char expected[500];
		load_with(POOL, cases[i].more);
		ck_assert_int_eq(loaded.rc, RC_MALFORMED);
		snprintf(expected, sizeof expected, "wpool.yaml:4: pools[0].%s", cases[i].problem);
		ck_assert_str_eq(loaded.problems, expected);
	}
}
END_TEST

/* Settings that sessions do not allow, each on line 5. */
START_TEST(test_contradictions)
{
	static const struct {
		const char *setting, *problem;
	} cases[] = {
		{"unroutable: retry", "unroutable contradicts session, which needs reject or drop"},
		{"prefetch: auto", "prefetch contradicts session, which needs a number"},
		{"pipe: corefx", "pipe contradicts session, which needs path or fifo"},
		{"declare: off", "declare contradicts session, which needs passive or on"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char more[100], expected[200];
		snprintf(more, sizeof more, "    %s\n", cases[i].setting);
		pool_with(more);
		load_with(SESSION, more);
		snprintf(
			expected, sizeof expected, "wpool.yaml:5: pools[0].%s\n", cases[i].problem);
		ck_assert_str_eq(loaded.problems, expected);
	}
	load_with(SESSION, "    unroutable: drop\n    declare: on\n    pipe: fifo\n");
	ck_assert_int_eq(loaded.rc, RC_OK);
	load_with(SESSION, "    concurrency: 20\n    limits: {on_soft: cancel}\n");
	ck_assert_int_eq(loaded.rc, RC_OK);
}
END_TEST

/* 255 bytes less ".token". */
START_TEST(test_long_queues)
{
	char yaml[600], name[300];
	memset(name, 'x', sizeof name);
	for (int len = 248; len <= 251; len++) {
		snprintf(yaml, sizeof yaml,
			"pools: [{queue: %.*s, command: w, retry: {dead_letter: d, delay: []},\n"
			"  session: {key: routing_key}}]",
			len, name);
		loading_load_yaml(text_from(yaml), NULL);
		ck_assert_msg((loaded.rc == RC_OK) == (len <= 249), "%d", len);
	}
	ck_assert_str_eq(loaded.problems,
		"wpool.yaml:1: pools[0].queue is too long for sessions: with \".token\" the name is "
		"over 255 bytes\n");
}
END_TEST

START_TEST(test_two_pools_of_a_queue)
{
	static const char problem[] =
		"wpool.yaml:3: pools[1].queue is also the queue of pools[0]; with sessions a queue "
		"has one pool\n";
	static const struct {
		const char *first, *second;
		bool is_good;
	} cases[] = {
		{"queue: q", "queue: q", true},
		{"queue: q, session: {key: routing_key}", "queue: r, session: {key: routing_key}",
			true},
		{"queue: q, session: {key: routing_key}", "queue: q, session: {key: routing_key}",
			false},
		{"queue: q, session: {key: routing_key}", "queue: q", false},
		{"queue: q", "queue: q, session: {key: routing_key}", false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char yaml[300];
		snprintf(yaml, sizeof yaml,
			"pools:\n- {name: a, command: w, %s}\n- {name: b, command: w, %s}\n",
			cases[i].first, cases[i].second);
		loading_load_yaml(text_from(yaml), NULL);
		ck_assert_str_eq(loaded.problems, cases[i].is_good ? "" : problem);
	}
}
END_TEST

START_TEST(test_variables)
{
	static const char *const command[] = {"w", NULL};
	static const char *const good[] = {"QUEUENAME=q", "WPOOL_SESSION_KEY=header:k",
		"WPOOL_SESSION_QUANTUM=1s", "WPOOL_SESSION_MAX_ACTIVE=5", NULL};
	static const char *const keyless[] = {"QUEUENAME=q", "WPOOL_SESSION_IDLE=1s", NULL};
	const struct config_flags flags = {.command = (char *const *)command};
	loading_load(&flags, good);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	ck_assert_str_eq(loaded.config->pools[0].session.key, "header:k");
	ck_assert_int_eq(loaded.config->pools[0].session.quantum.time, MTIME_SECOND);
	ck_assert_int_eq(loaded.config->pools[0].session.max_active, 5);
	loading_load(&flags, keyless);
	ck_assert_str_eq(loaded.problems, "WPOOL_SESSION_IDLE: " KEYLESS);
}
END_TEST

/* key, without_key: another pool. The others apply at once. */
START_TEST(test_reload)
{
	static const struct {
		const char *old, *other;
		enum setting_reload reload;
	} cases[] = {
		{"key: routing_key", "key: 'header:a'", SETTING_REPLACES},
		{"key: routing_key", "", SETTING_REPLACES},
		{"key: routing_key", "key: routing_key, without_key: reject", SETTING_REPLACES},
		{"key: routing_key", "key: routing_key, quantum: 11", SETTING_LIVE},
		{"key: routing_key, quantum: 10ms", "key: routing_key", SETTING_LIVE},
		{"key: routing_key, delivery_limit: none",
			"key: routing_key, delivery_limit: none, on_failure: block", SETTING_LIVE},
		{"key: routing_key", "key: routing_key, idle: 1s", SETTING_LIVE},
		{"key: routing_key", "key: routing_key, max_active: 1", SETTING_LIVE},
		{"key: routing_key", "key: routing_key, max_sessions: 1", SETTING_LIVE},
		{"key: routing_key", "key: routing_key, max_unacked_age: 1s", SETTING_LIVE},
		{"key: routing_key", "key: routing_key, takeover_delay: 10s", SETTING_LIVE},
		{"key: routing_key", "key: routing_key, takeover_delay: none", SETTING_REPLACES},
		{"key: routing_key, takeover_delay: none", "key: routing_key", SETTING_REPLACES},
		{"key: routing_key", "key: routing_key, delivery_limit: none", SETTING_LIVE},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char old[200], other[200];
		enum setting_reload reload;
		snprintf(old, sizeof old, "    prefetch: 50\n    session: {%s}\n", cases[i].old);
		snprintf(other, sizeof other, "    prefetch: 50\n%s%s%s\n",
			*cases[i].other ? "    session: {" : "", cases[i].other,
			*cases[i].other ? "}" : "");
		pool_with(old);
		struct config *before = loaded.config;
		loaded.config = NULL;
		ck_assert(change_is_any(SETTING_POOL, before->pools, pool_with(other), &reload));
		ck_assert_msg(reload == cases[i].reload, "%s, %s", old, other);
		config_free(before);
	}
}
END_TEST

static void expect_notes(const char *expected)
{
	struct problems problems = {0};
	struct buf out;
	char notes[LOADING_PROBLEMS_SIZE];
	buf_init(&out, LOADING_PROBLEMS_SIZE);
	warnings_add_delivery_limits(loaded.config, &problems);
	loading_join(&problems, &out);
	loading_take(&out, notes);
	ck_assert_str_eq(notes, expected);
}

START_TEST(test_warnings)
{
	pool_with("    session: {key: routing_key, max_active: 11, max_sessions: 10}\n");
	ck_assert_str_eq(loaded.problems,
		"pools[0].session.max_active: 11 is more than session.max_sessions (10), "
		"which forgets idle sessions before\n");
	pool_with("    session: {key: routing_key, max_active: 10, max_sessions: 10}\n");
	ck_assert_str_eq(loaded.problems, "");
	pool_with("    session: {key: routing_key, max_unacked_age: 30min}\n");
	ck_assert_str_eq(loaded.problems,
		"pools[0].session.max_unacked_age: a broker takes back what is not acked "
		"for 30min (its consumer_timeout, by default); less is needed\n");
	pool_with("    session: {key: routing_key, max_unacked_age: 29min}\n");
	ck_assert_str_eq(loaded.problems, "");
	expect_notes(
		"pools[0].session.delivery_limit is unknown, so no channel is renewed for a message "
		"that has come back 10 times; `wpool declare` shows the queue's own limit, "
		"`rabbitmqctl list_policies` those of policies; without any, set none "
		"(docs/ordering.md)\n");
	ck_assert_uint_eq(loaded.config->pools[0].line, 2);
	pool_with("    session: {key: routing_key, delivery_limit: none}\n");
	expect_notes("");
	pool_with("    session: {key: routing_key}\n    declare: on\n");
	expect_notes("");
	pool_with("");
	expect_notes("");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/session");
	TCase *files = tcase_create("files");
	tcase_add_checked_fixture(files, loading_set_up, loading_tear_down);
	tcase_add_test(files, test_without);
	tcase_add_test(files, test_defaults);
	tcase_add_test(files, test_everything_set);
	tcase_add_test(files, test_printed_loads_again);
	tcase_add_test(files, test_quanta);
	tcase_add_test(files, test_good_keys);
	tcase_add_test(files, test_refused);
	tcase_add_test(files, test_contradictions);
	tcase_add_test(files, test_long_queues);
	tcase_add_test(files, test_two_pools_of_a_queue);
	tcase_add_test(files, test_variables);
	tcase_add_test(files, test_reload);
	tcase_add_test(files, test_warnings);
	suite_add_tcase(s, files);
	return s;
}

UNIT_MAIN(suite)
