/* Two configurations beside each other: what differs, what that asks for, and what is taken over.
 */
#include "config/change.h"
#include "unit/support/config/loading.h"

#include <stdio.h>

#define POOL "pools: [{queue: q, command: [w, a], name: p"

/* Of the last two that were loaded. */
static struct config *old;

static void load_both(const char *yaml, const char *other)
{
	loading_load_yaml(text_from(yaml), NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	old = loaded.config;
	loaded.config = NULL;
	loading_load_yaml(text_from(other), NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
}

static void forget(void)
{
	config_free(old);
	old = NULL;
}

static const void *base_of(const struct config *config, enum setting_scope scope)
{
	return scope == SETTING_ROOT ? config : (const void *)&config->pools[0];
}

/* "workers limits.hard" */
static const char *differences(enum setting_scope scope)
{
	static char keys[1000];
	const struct setting *setting;
	keys[0] = '\0';
	for (size_t at = 0; (setting = change_next(scope, base_of(old, scope),
				     base_of(loaded.config, scope), &at));) {
		if (*keys)
			strcat(keys, " ");
		strcat(keys, setting->key);
	}
	return keys;
}

static void expect(const char *yaml, const char *other, enum setting_scope scope, const char *keys)
{
	load_both(yaml, other);
	ck_assert_str_eq(differences(scope), keys);
	forget();
}

/* Written another way, it is the same. */
START_TEST(test_same)
{
	expect(POOL "}]", "pools: [{queue: q, command: w a, name: p}]", SETTING_POOL, "");
	expect(POOL ", limits: {hard: 60s}}]", POOL ", limits: {hard: 1min}}]", SETTING_POOL, "");
	expect(POOL ", retry: {dead_letter: q.dead}}]", POOL "}]", SETTING_POOL, "");
	expect(POOL ", retry: {delay: [1s, 10s, 1min]}}]", POOL "}]", SETTING_POOL, "");
	expect(POOL ", retry: {on: [crashed, failed]}}]", POOL ", retry: {on: [failed, crashed]}}]",
		SETTING_POOL, "");
	expect("defaults: {nice: 1, limits: {hard: 9s}}\n" POOL ", nice: 2}]",
		POOL ", nice: 2, limits: {hard: 9s}}]", SETTING_POOL, "");
	expect("broker: {url: amqp://localhost}\n" POOL "}]",
		"broker: {url: 'amqp://guest:guest@localhost:5672/%2f'}\n" POOL "}]", SETTING_ROOT,
		"");
}
END_TEST

START_TEST(test_pool_settings)
{
	static const struct {
		const char *given, *other, *keys;
	} cases[] = {
		{"workers: 2", "workers: 3", "workers"},
		{"prefetch: auto", "prefetch: 3", "prefetch"},
		{"declare: on", "declare: off", "declare"},
		{"properties: true", "properties: false", "properties"},
		{"queue_arguments: {x-a: 1}", "queue_arguments: {x-a: 2}", "queue_arguments"},
		{"bindings: [{exchange: a}]", "bindings: [{exchange: b}]", "bindings"},
		{"bindings: [{exchange: a, routing_key: [k, l]}]",
			"bindings: [{exchange: a, routing_key: k}, {exchange: a, routing_key: l}]",
			""},
		{"memory: 1GiB", "memory: 2GiB", "memory"},
		{"limits: {soft: 1s}", "limits: {}", "limits.soft"},
		{"retry: {delay: [1s]}", "retry: {delay: [1s, 1s]}", "retry.delay"},
		{"retry: {delay: [1s]}", "retry: {delay: [2s]}", "retry.delay"},
		{"retry: {delay: []}", "retry: {delay: [2s]}", "retry.delay"},
		{"retry: {on: [failed]}", "retry: {on: []}", "retry.on"},
		{"retry: {dead_letter: a}", "retry: {dead_letter: b}", "retry.dead_letter"},
		{"interrupt: true", "interrupt: false", "pipeline interrupt limits.on_soft"},
		{"limits: {on_soft: cancel}", "limits: {on_soft: nothing}",
			"pipeline limits.on_soft"},
		{"concurrency: 10", "concurrency: 11", "concurrency"},
		{"pipe: corefx", "pipe: path", "pipeline pipe body"},
		{"workers: 1, outbox: 1MiB", "workers: 2, outbox: 2MiB", "workers outbox"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char yaml[200], other[200];
		snprintf(yaml, sizeof yaml, POOL ", %s}]", cases[i].given);
		snprintf(other, sizeof other, POOL ", %s}]", cases[i].other);
		expect(yaml, other, SETTING_POOL, cases[i].keys);
		expect(other, yaml, SETTING_POOL, cases[i].keys);
	}
}
END_TEST

START_TEST(test_commands)
{
	static const char *const cases[] = {
		"[w]", "[w, a, b]", "[w, b]", "[w, '']", "[v, a]", "['w a']", "[w, A]"};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char other[200];
		snprintf(
			other, sizeof other, "pools: [{queue: q, name: p, command: %s}]", cases[i]);
		expect(POOL "}]", other, SETTING_POOL, "command");
		expect(other, POOL "}]", SETTING_POOL, "command");
	}
	expect(POOL "}]", "pools: [{queue: q, name: p, preload: w}]", SETTING_POOL,
		"command preload");
}
END_TEST

/* Any part of an address counts, and those that are never shown, too. */
START_TEST(test_addresses)
{
	static const char base[] = "broker: {url: 'amqps://u:p@h:1/v'}\n" POOL "}]";
	static const char *const cases[] = {"amqp://u:p@h:1/v", "amqps://x:p@h:1/v",
		"amqps://u:x@h:1/v", "amqps://u:p@x:1/v", "amqps://u:p@h:2/v", "amqps://u:p@h:1/x",
		"amqps://u:p@h:1/v?heartbeat=3", "amqps://u:p@h:1/v?connection_timeout=3",
		"amqps://u:p@h:1/v?cacertfile=x", "amqps://u:p@h:1/v?certfile=x&keyfile=x",
		"amqps://u:p@h:1/v?server_name_indication=x",
		"amqps://u:p@h:1/v?verify=verify_none", "amqps://u:p@h:1/v,amqps://u:p@h:1/v"};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char other[200];
		snprintf(other, sizeof other, "broker: {url: '%s'}\n" POOL "}]", cases[i]);
		expect(base, other, SETTING_ROOT, "broker.url");
		expect(other, other, SETTING_ROOT, "");
	}
	expect("drain: 1s\nlog: {level: debug}\n" POOL "}]",
		"broker: {heartbeat: 5s}\nhttp: {listen: '127.0.0.1:1', hosts: [a]}\n" POOL "}]",
		SETTING_ROOT, "broker.heartbeat drain log.level http.listen http.hosts");
}
END_TEST

static bool need_of(const char *yaml, const char *other, enum setting_reload *ret)
{
	load_both(yaml, other);
	bool is_any = change_is_any(SETTING_POOL, base_of(old, SETTING_POOL),
		base_of(loaded.config, SETTING_POOL), ret);
	forget();
	return is_any;
}

START_TEST(test_what_it_asks_for)
{
	enum setting_reload need;
	ck_assert(!need_of(POOL "}]", POOL "}]", &need));
	ck_assert(need_of(POOL "}]", POOL ", workers: 99}]", &need));
	ck_assert_int_eq(need, SETTING_LIVE);
	ck_assert(need_of(POOL "}]", "pools: [{queue: q, command: x, name: p}]", &need));
	ck_assert_int_eq(need, SETTING_ROLLS);
	ck_assert(
		need_of(POOL "}]", "pools: [{queue: q, command: x, name: p, workers: 99}]", &need));
	ck_assert_int_eq(need, SETTING_ROLLS);
	ck_assert(need_of(POOL "}]", "pools: [{queue: r, command: x, name: p}]", &need));
	ck_assert_int_eq(need, SETTING_REPLACES);
}
END_TEST

/* What can be taken over is, with what is allocated; the rest, and what is the same, stays. */
START_TEST(test_taken_over)
{
	load_both(POOL ", workers: 2, retry: {on: [failed]}}]",
		"pools: [{queue: other, command: [x, y], name: p, workers: 3,"
		" limits: {soft: 2s}, retry: {on: []}}]");
	struct config_pool *pool = &old->pools[0], *other = &loaded.config->pools[0];
	const char *name = pool->name, *queue = pool->queue, *command = pool->command[0];
	change_take_over(SETTING_POOL, pool, other);
	ck_assert_str_eq(differences(SETTING_POOL),
		"queue command workers limits.soft retry.on retry.dead_letter");
	ck_assert_str_eq(pool->command[0], "x");
	ck_assert_int_eq(pool->workers, 3);
	ck_assert_int_eq(pool->limits.soft, 2 * MTIME_SECOND);
	ck_assert_uint_eq(pool->retry.on, 0);
	ck_assert_str_eq(pool->retry.dead_letter, "q.dead");
	ck_assert_ptr_eq(pool->name, name);
	ck_assert_ptr_eq(pool->queue, queue);
	ck_assert_ptr_eq(other->command[0], command);
	ck_assert_int_eq(other->workers, 2);
	forget();
}
END_TEST

/* A setting without `reload` replaces the pool, which is right for every setting. */
START_TEST(test_what_is_taken_over_is_listed)
{
	static const char *const kept[] = {"name", "queue", "declare", "pipe", "body", "headers",
		"properties", "max_body", "concurrency", "interrupt", "limits.on_soft",
		"retry.delay", "retry.jitter", "retry.dead_letter"};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		ck_assert_int_eq(settings_find(SETTING_POOL, kept[i])->reload, SETTING_REPLACES);
	ck_assert_int_eq(settings_find(SETTING_ROOT, "broker.url")->reload, SETTING_REPLACES);
	ck_assert_int_eq(settings_find(SETTING_ROOT, "control.socket")->reload, SETTING_REPLACES);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/change");
	TCase *tcase = tcase_create("change");
	tcase_add_checked_fixture(tcase, loading_set_up, loading_tear_down);
	tcase_add_test(tcase, test_same);
	tcase_add_test(tcase, test_pool_settings);
	tcase_add_test(tcase, test_commands);
	tcase_add_test(tcase, test_addresses);
	tcase_add_test(tcase, test_what_it_asks_for);
	tcase_add_test(tcase, test_taken_over);
	tcase_add_test(tcase, test_what_is_taken_over_is_listed);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
