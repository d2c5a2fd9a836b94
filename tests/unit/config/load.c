/* Whole configurations: what they come to, and every mistake with its line and what would be right.
 */
#include "config/settings.h"
#include "unit/support/config/loading.h"
#include <stdio.h>
#include <unistd.h>

/* A pool that lacks nothing, on lines 1 to 3; what is appended stands in it from line 4 on. */
#define POOL "pools:\n  - queue: q\n    command: [w]\n"

/* The pool after loading POOL and more. */
static const struct config_pool *pool_with(const char *more)
{
	char yaml[1000];
	snprintf(yaml, sizeof yaml, "%s%s", POOL, more);
	loading_load_yaml(text_from(yaml), NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s: %s", more, loaded.problems);
	ck_assert_uint_eq(loaded.config->pool_count, 1);
	return &loaded.config->pools[0];
}

START_TEST(test_defaults)
{
	const struct config_pool *p = pool_with("");
	const struct config *c = loaded.config;
	ck_assert_uint_eq(c->host_count, 1);
	ck_assert_str_eq(c->hosts[0].host, "localhost");
	ck_assert_str_eq(c->hosts[0].password, "guest");
	ck_assert_int_eq(c->heartbeat, 15 * MTIME_SECOND);
	ck_assert_int_eq(c->drain, 25 * MTIME_MINUTE + 20 * MTIME_SECOND);
	ck_assert_int_eq(c->log_level, LOG_INFO);
	ck_assert_int_eq(c->log_format, CONFIG_LOG_AUTO);
	ck_assert_str_eq(p->name, "q");
	ck_assert_str_eq(p->queue, "q");
	ck_assert_str_eq(p->command[0], "w");
	ck_assert_ptr_null(p->command[1]);
	ck_assert_int_ge(p->workers, 1);
	ck_assert_int_le(p->workers, sysconf(_SC_NPROCESSORS_CONF));
	ck_assert_int_eq(p->prefetch, 0);
	ck_assert_int_eq(p->pipeline, 0);
	ck_assert_int_eq(p->pipe, PIPE_PATH);
	ck_assert_int_eq(p->declare, CONFIG_DECLARE_PASSIVE);
	ck_assert_int_eq(p->body, CONFIG_BODY_AUTO);
	ck_assert_int_eq(p->headers, CONFIG_HEADERS_TEXT);
	ck_assert(!p->properties);
	ck_assert_int_eq(p->unroutable, CONFIG_UNROUTABLE_REJECT);
	ck_assert_int_eq(p->max_body, 16 << 20);
	ck_assert_int_eq(p->outbox, 16 << 20);
	ck_assert_int_eq(p->limits.hard, 25 * MTIME_MINUTE);
	ck_assert_int_eq(p->limits.boot, 10 * MTIME_SECOND);
	ck_assert_int_eq(p->limits.grace, 10 * MTIME_SECOND);
	ck_assert_int_eq(p->limits.slices, 10000);
	ck_assert_int_eq(p->retry.attempts, 3);
	ck_assert_str_eq(p->retry.dead_letter, "q.dead");
	ck_assert_uint_eq(p->retry.delay.count, 3);
	ck_assert_int_eq(p->retry.delay.each[0], MTIME_SECOND);
	ck_assert_int_eq(p->retry.delay.each[1], 10 * MTIME_SECOND);
	ck_assert_int_eq(p->retry.delay.each[2], 60 * MTIME_SECOND);
	ck_assert_int_eq(p->retry.jitter, 10);
	ck_assert_uint_eq(p->retry.on, 0x1f);
	ck_assert_int_eq(p->limits.soft, MTIME_NEVER);
	ck_assert_int_eq(p->limits.group_processes, MTIME_NEVER);
	ck_assert_int_eq(p->limits.group_memory, MTIME_NEVER);
	ck_assert(!p->new_privs);
	ck_assert(!p->interrupt);
	ck_assert_int_eq(p->limits.on_soft, CONFIG_SOFT_NOTHING);
	ck_assert_int_eq(p->concurrency, 1);
}
END_TEST

START_TEST(test_everything_set)
{
	loading_load_yaml(
		TEXT("broker:\n"
		     "  url: [amqp://a, 'amqp://u:p%40@b/v']\n"
		     "  heartbeat: 1500ms\n"
		     "drain: 0s\n"
		     "log: {level: debug, format: json}\n"
		     "pools:\n"
		     "  - name: n-1\n"
		     "    queue: the queue\n"
		     "    command: w \"a b\" ''\n"
		     "    workers: 7\n"
		     "    prefetch: 100\n"
		     "    pipeline: 8\n"
		     "    pipe: fifo\n"
		     "    declare: on\n"
		     "    body: bin\n"
		     "    headers: typed\n"
		     "    properties: true\n"
		     "    unroutable: retry\n"
		     "    reply_queues: [replies, 'r.*']\n"
		     "    max_body: 1KiB\n"
		     "    outbox: 1MB\n"
		     "    log_rate: [500, 2MiB]\n"
		     "    limits: {soft: 30s, hard: 1min, boot: 2s, grace: 0s, slices: 5,\n"
		     "      group_processes: 20, group_memory: 64MiB}\n"
		     "    new_privs: true\n"
		     "    retry: {attempts: 1, delay: [100ms, 1h], jitter: 0, on: [crashed, unroutable],\n"
		     "      dead_letter: broker}\n"
		     "  - {queue: the queue, command: [x], name: other, declare: off, unroutable: drop}\n"),
		NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	const struct config *c = loaded.config;
	const struct config_pool *p = c->pools;
	ck_assert_uint_eq(c->host_count, 2);
	ck_assert_str_eq(c->hosts[1].password, "p@");
	ck_assert_int_eq(c->heartbeat, 2 * MTIME_SECOND); /* whole seconds, rounded up */
	ck_assert_int_eq(c->drain, 0);
	ck_assert_int_eq(c->log_level, LOG_DEBUG);
	ck_assert_int_eq(c->log_format, CONFIG_LOG_JSON);
	ck_assert_str_eq(p->name, "n-1");
	ck_assert_str_eq(p->command[1], "a b");
	ck_assert_str_eq(p->command[2], "");
	ck_assert_ptr_null(p->command[3]);
	ck_assert_int_eq(p->workers, 7);
	ck_assert_int_eq(p->prefetch, 100);
	ck_assert_int_eq(p->pipeline, 8);
	ck_assert_int_eq(p->pipe, PIPE_FIFO);
	ck_assert_int_eq(p->declare, CONFIG_DECLARE_ON);
	ck_assert_int_eq(p->body, CONFIG_BODY_BIN);
	ck_assert_int_eq(p->headers, CONFIG_HEADERS_TYPED);
	ck_assert(p->properties);
	ck_assert_int_eq(p->unroutable, CONFIG_UNROUTABLE_RETRY);
	ck_assert_str_eq(p->reply_queues[1], "r.*");
	ck_assert_ptr_null(p->reply_queues[2]);
	ck_assert_ptr_null(p[1].reply_queues);
	ck_assert_int_eq(p->max_body, 1024);
	ck_assert_int_eq(p->outbox, 1000000);
	ck_assert_int_eq(p->log_rate, 500);
	ck_assert_int_eq(p->log_bytes, 2 << 20);
	ck_assert_int_eq(p->limits.hard, MTIME_MINUTE);
	ck_assert_int_eq(p->limits.grace, 0);
	ck_assert_int_eq(p->limits.slices, 5);
	ck_assert_int_eq(p->limits.group_processes, 20);
	ck_assert_int_eq(p->limits.group_memory, 64 << 20);
	ck_assert(p->new_privs);
	ck_assert_int_eq(p->retry.attempts, 1);
	ck_assert_str_eq(p->retry.dead_letter, "broker");
	ck_assert_uint_eq(p->retry.delay.count, 2);
	ck_assert_int_eq(p->retry.delay.each[0], 100 * MTIME_MS);
	ck_assert_int_eq(p->retry.delay.each[1], 60 * MTIME_MINUTE);
	ck_assert_int_eq(p->retry.jitter, 0);
	ck_assert_uint_eq(p->retry.on, 1u << CONFIG_RETRY_CRASHED | 1u << CONFIG_RETRY_UNROUTABLE);
	ck_assert_int_eq(p->limits.soft, 30 * MTIME_SECOND);
	ck_assert_uint_eq(c->pool_count, 2);
	ck_assert_str_eq(p[1].name, "other");
	ck_assert_int_eq(p[1].declare, CONFIG_DECLARE_OFF);
	ck_assert_int_eq(p[1].unroutable, CONFIG_UNROUTABLE_DROP);
}
END_TEST

/* A pool's own setting replaces the default as a whole; each key of a section counts alone. */
START_TEST(test_defaults_for_pools)
{
	loading_load_yaml(
		TEXT("pools:\n"
		     "  - {queue: a}\n"
		     "  - {queue: b, command: [own], workers: 2, cwd: /tmp, env: {OWN: 1},\n"
		     "     limits: {grace: 1s}, retry: {on: []}, properties: false}\n"
		     "  - {queue: c, env: {}, session: {key: routing_key}}\n"
		     "defaults:\n"
		     "  command: [shared, x]\n"
		     "  workers: {min: 3, max: 5}\n"
		     "  cwd: /\n"
		     "  env: {SHARED: '${S:-s}'}\n"
		     "  properties: true\n"
		     "  limits: {hard: 1min, grace: 2s}\n"
		     "  retry: {on: [crashed], dead_letter: dead}\n"
		     "  session: {quantum: 7}\n"),
		NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	const struct config_pool *a = loaded.config->pools, *b = a + 1, *c = a + 2;
	ck_assert_str_eq(a->command[1], "x");
	ck_assert_int_eq(a->workers, 3);
	ck_assert_int_eq(a->workers_max, 5);
	ck_assert_str_eq(a->cwd, "/");
	ck_assert_str_eq(a->env[0], "SHARED=s");
	ck_assert(a->properties);
	ck_assert_int_eq(a->limits.hard, MTIME_MINUTE);
	ck_assert_uint_eq(a->retry.on, 1u << CONFIG_RETRY_CRASHED);
	ck_assert_str_eq(a->retry.dead_letter, "dead");
	ck_assert_ptr_null(a->session.key);
	ck_assert_str_eq(b->command[0], "own");
	ck_assert_ptr_null(b->command[1]);
	ck_assert_int_eq(b->workers, 2);
	ck_assert_int_eq(b->workers_max, 2);
	ck_assert_str_eq(b->cwd, "/tmp");
	ck_assert_str_eq(b->env[0], "OWN=1");
	ck_assert_ptr_null(b->env[1]);
	ck_assert(!b->properties);
	ck_assert_int_eq(b->limits.hard, MTIME_MINUTE);
	ck_assert_int_eq(b->limits.grace, MTIME_SECOND);
	ck_assert_uint_eq(b->retry.on, 0);
	ck_assert_ptr_null(c->env);
	ck_assert_int_eq(c->session.quantum.tasks, 7);
	ck_assert_int_eq(loaded.config->drain, MTIME_MINUTE + 4 * MTIME_SECOND);
	ck_assert_ptr_nonnull(strstr(loaded.printed, "    cwd: /\n"));
	ck_assert_ptr_null(strstr(loaded.printed, "defaults"));
}
END_TEST

/* Nothing in it, as when all its keys are commented out. */
/* A pool's own program replaces that of defaults, of either kind. */
START_TEST(test_one_program)
{
	loading_load_yaml(TEXT("defaults: {command: [w, x]}\n"
			       "pools: [{queue: q, preload: [p, '1']}, {queue: r}]\n"),
		NULL);
	ck_assert_str_eq(loaded.problems, "");
	const struct config_pool *pools = loaded.config->pools;
	ck_assert_ptr_null(pools[0].command);
	ck_assert_str_eq(config_pool_program(&pools[0])[1], "1");
	ck_assert_ptr_null(pools[1].preload);
	ck_assert_str_eq(config_pool_program(&pools[1])[1], "x");
	loading_load_yaml(TEXT("defaults: {preload: p}\npools: [{queue: q, command: w}]\n"), NULL);
	ck_assert_str_eq(loaded.problems, "");
	ck_assert_ptr_null(loaded.config->pools[0].preload);
	loading_load_yaml(
		TEXT("defaults: {command: w, preload: p}\npools: [{queue: q}, {queue: r}]\n"),
		NULL);
	ck_assert_str_eq(loaded.problems,
		"wpool.yaml:1: defaults.preload is given together with command; one of them is "
		"needed\n");
	loading_load_yaml(TEXT("pools: [{queue: q, preload: ['']}]\n"), NULL);
	ck_assert_str_eq(loaded.problems,
		"wpool.yaml:1: pools[0].preload begins with an empty text; a program is needed\n");
	loading_load(&(struct config_flags){.queue = "q"},
		(const char *const[]){"WORKER_PRELOAD=python3 -m app", NULL});
	ck_assert_str_eq(loaded.problems, "");
	ck_assert_str_eq(config_pool_program(loaded.config->pools)[2], "app");
}
END_TEST

START_TEST(test_empty_defaults)
{
	loading_load_yaml(TEXT("defaults:\npools: [{queue: q, command: w}]\n"), NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
}
END_TEST

/* What else the section must have. */
static const char *needed_beside(const char *key)
{
	if (strcmp(key, "session.on_failure") == 0)
		return "key: routing_key, delivery_limit: none, ";
	return strncmp(key, "session.", 8) == 0 ? "key: routing_key, " : "";
}

/* The longest limits.hard and twice the limits.grace of its pool. */
START_TEST(test_drain_follows_the_slowest_pool)
{
	static const struct {
		const char *root, *limits;
		mtime drain;
	} cases[] = {{"", "{hard: 1min, grace: 1s}", 25 * MTIME_MINUTE + 20 * MTIME_SECOND},
		{"", "{hard: 1h, grace: 1s}", 60 * MTIME_MINUTE + 2 * MTIME_SECOND},
		{"", "{hard: 365d}", CONFIG_DRAIN_MAX}, {"drain: 0s\n", "{hard: 1h}", 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char yaml[200];
		int len = snprintf(yaml, sizeof yaml,
			"%spools: [{queue: a, command: w}, {queue: b, command: w, limits: %s}]",
			cases[i].root, cases[i].limits);
		loading_load_yaml(text_of(yaml, (size_t)len), NULL);
		ck_assert_int_eq(loaded.rc, RC_OK);
		ck_assert_int_eq(loaded.config->drain, cases[i].drain);
	}
}
END_TEST

/* Every name of every choice, from the table itself. */
START_TEST(test_choices)
{
	size_t count;
	const struct setting *setting = settings_of(SETTING_POOL, &count);
	for (; count > 0; count--, setting++) {
		for (unsigned i = 0; setting->type == SETTING_CHOICE && setting->choices[i]; i++) {
			char more[100];
			const char *key = setting->key, *dot = strchr(key, '.');
			snprintf(more, sizeof more, "    %.*s: %s%s%s%s%s%s\n",
				(int)strcspn(key, "."), key, dot ? "{" : "", needed_beside(key),
				dot ? dot + 1 : "", dot ? ": " : "", setting->choices[i],
				dot ? "}" : "");
			const char *pool = (const char *)pool_with(more);
			ck_assert_uint_eq(*(const unsigned *)(pool + setting->offset), i);
		}
	}
}
END_TEST

START_TEST(test_log_rates)
{
	static const struct {
		const char *yaml;
		int64_t lines, bytes; /* 0: refused */
	} cases[] = {
		{"50", 50, 1 << 20},
		{"[50]", 50, 1 << 20},
		{"[50, 128KiB]", 50, 128 << 10},
		{"'50, 512MiB'", 50, 512 << 20},
		{"\"[50, ${SIZE}]\"", 50, 3 << 20},
		{"[1000000000, 1MiB]", 1000000000, 1 << 20},
		{"[1000000001, 1MiB]", 0, 0},
		{"[0, 1MiB]", 0, 0},
		{"[50, 127KiB]", 0, 0},
		{"[50, 513MiB]", 0, 0},
		{"[50, 1048576]", 0, 0},
		{"[1MiB, 50]", 0, 0},
		{"[50, 1MiB, 1]", 0, 0},
		{"1MiB", 0, 0},
		{"[]", 0, 0},
		{"''", 0, 0},
		{"{lines: 50}", 0, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char yaml[200];
		snprintf(yaml, sizeof yaml, "pools: [{queue: q, command: w, log_rate: %s}]",
			cases[i].yaml);
		loading_load_yaml(text_from(yaml), (const char *const[]){"SIZE=3MiB", NULL});
		ck_assert_msg((loaded.rc == RC_OK) == (cases[i].lines > 0), "%s: %s", yaml,
			loaded.problems);
		if (loaded.rc != RC_OK)
			continue;
		ck_assert_int_eq(loaded.config->pools[0].log_rate, cases[i].lines);
		ck_assert_int_eq(loaded.config->pools[0].log_bytes, cases[i].bytes);
	}
}
END_TEST

START_TEST(test_lists)
{
	static const struct {
		const char *yaml;
		size_t count;
		mtime last;
	} cases[] = {
		{"[]", 0, 0},
		{"''", 9, 0},
		{"[ ]", 0, 0},
		{"'[]'", 0, 0},
		{"5s", 1, 5 * MTIME_SECOND},
		{"'1s,2s'", 2, 2 * MTIME_SECOND},
		{"\"[1s, ${TWO}]\"", 2, 2 * MTIME_SECOND},
		{"[1s, '${TWO}']", 2, 2 * MTIME_SECOND},
		{"[24h]", 1, 24 * 60 * MTIME_MINUTE},
		{"[99ms]", 9, 0},
		{"[24.1h]", 9, 0},
		{"[100.5ms]", 9, 0},
		{"[1s, ]", 1, MTIME_SECOND},
		{"'1s,'", 9, 0},
		{"[1s, none]", 9, 0},
		{"[1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,3s]", 16, 3 * MTIME_SECOND},
		{"[1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s]", 9, 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char yaml[200];
		snprintf(yaml, sizeof yaml, "pools: [{queue: q, command: w, retry: {delay: %s}}]",
			cases[i].yaml);
		loading_load_yaml(text_from(yaml), (const char *const[]){"TWO=2s", NULL});
		ck_assert_msg((loaded.rc == RC_OK) == (cases[i].count != 9), "%s: %s", yaml,
			loaded.problems);
		if (loaded.rc != RC_OK)
			continue;
		const struct config_delays *delays = &loaded.config->pools[0].retry.delay;
		ck_assert_uint_eq(delays->count, cases[i].count);
		if (delays->count > 0)
			ck_assert_int_eq(delays->each[delays->count - 1], cases[i].last);
	}
}
END_TEST

START_TEST(test_interrupt)
{
	ck_assert_int_eq(pool_with("    interrupt: true\n")->pipeline, 1);
	ck_assert_int_eq(pool_with("    interrupt: true\n    pipeline: 1\n")->pipeline, 1);
	ck_assert_int_eq(pool_with("    interrupt: false\n    pipeline: 4\n")->pipeline, 4);
}
END_TEST

START_TEST(test_on_soft)
{
	static const struct {
		const char *yaml;
		enum config_soft_action on_soft;
		int64_t pipeline;
		bool interrupt;
	} cases[] = {
		{"", CONFIG_SOFT_NOTHING, 0, false},
		{"    interrupt: true\n", CONFIG_SOFT_CONTEXT_SWITCH, 1, true},
		{"    limits: {on_soft: nothing}\n    pipeline: 4\n", CONFIG_SOFT_NOTHING, 4,
			false},
		{"    limits: {on_soft: context-switch}\n", CONFIG_SOFT_CONTEXT_SWITCH, 1, true},
		{"    limits: {on_soft: cancel}\n    pipeline: 1\n", CONFIG_SOFT_CANCEL, 1, false},
		{"    interrupt: true\n    limits: {on_soft: context-switch}\n",
			CONFIG_SOFT_CONTEXT_SWITCH, 1, true},
		{"    interrupt: false\n    limits: {on_soft: cancel}\n", CONFIG_SOFT_CANCEL, 1,
			false},
		{"    pipe: corefx\n    limits: {on_soft: context-switch}\n",
			CONFIG_SOFT_CONTEXT_SWITCH, 1, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct config_pool *p = pool_with(cases[i].yaml);
		ck_assert_int_eq(p->limits.on_soft, cases[i].on_soft);
		ck_assert_int_eq(p->pipeline, cases[i].pipeline);
		ck_assert(p->interrupt == cases[i].interrupt);
	}
}
END_TEST

START_TEST(test_concurrency)
{
	ck_assert_int_eq(pool_with("    concurrency: 1\n")->pipeline, 0);
	ck_assert_int_eq(pool_with("    concurrency: 1\n    pipeline: 8\n")->pipeline, 8);
	ck_assert_int_eq(pool_with("    concurrency: 2\n")->pipeline, 1);
	ck_assert_int_eq(
		pool_with("    concurrency: 10000\n    pipeline: 1\n")->concurrency, 10000);
	pool_with("    concurrency: 5\n    limits: {on_soft: cancel}\n    interrupt: false\n");
	pool_with("    concurrency: 1\n    pipe: corefx\n");
}
END_TEST

START_TEST(test_corefx)
{
	const struct config_pool *p = pool_with("    pipe: corefx\n");
	ck_assert_int_eq(p->body, CONFIG_BODY_STR);
	ck_assert_int_eq(p->headers, CONFIG_HEADERS_TEXT);
	ck_assert_int_eq(p->pipeline, 1);
	pool_with("    pipe: corefx\n    body: str\n    headers: text\n    pipeline: 1\n");
}
END_TEST

START_TEST(test_name_from_queue)
{
	loading_load_yaml(TEXT("pools: [{queue: 'a b/\xc3\xa9', command: w}]"), NULL);
	ck_assert_int_eq(loaded.rc, RC_OK);
	ck_assert_str_eq(loaded.config->pools[0].name, "a-b---");
	ck_assert_str_eq(loaded.config->pools[0].retry.dead_letter, "a b/\xc3\xa9.dead");
}
END_TEST

/* Variables are replaced after the YAML was read: nothing in them is YAML. */
START_TEST(test_variables)
{
	static const char *const environment[] = {"SECRET=a # b: [c", "QUEUE=q,r", "N=3",
		"COMMAND=w 'x y' $Z", "EMPTY=", "QUEUENAME=ignored", "WORKER_COUNT=ignored", NULL};
	loading_load_yaml(TEXT("pools:\n"
			       "  - queue: ${QUEUE}\n"
			       "    command: ${COMMAND}\n"
			       "    workers: ${N}\n"
			       "    prefetch: ${EMPTY:-50}\n"
			       "  - queue: r\n"
			       "    command: [w, \"${SECRET}\", $$HOME, '${NONE:-}']\n"),
		environment);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	const struct config_pool *p = loaded.config->pools;
	ck_assert_str_eq(p[0].queue, "q,r");
	ck_assert_str_eq(p[0].command[1], "x y");
	ck_assert_str_eq(p[0].command[2], "$Z");
	ck_assert_int_eq(p[0].workers, 3);
	ck_assert_int_eq(p[0].prefetch, 50);
	ck_assert_str_eq(p[1].command[1], "a # b: [c");
	ck_assert_str_eq(p[1].command[2], "$HOME");
	ck_assert_str_eq(p[1].command[3], "");
}
END_TEST

/* ---------- without a file ---------- */

static const char *const command[] = {"w", "a b", NULL};

START_TEST(test_environment_for_one_pool)
{
	static const char *const environment[] = {"AMQP_URL=amqp://e", "QUEUENAME=q",
		"WORKER_COUNT=5", "PREFETCH=9", "WORKER_COMMAND=w 'a b'", "WPOOL_DRAIN=1min",
		"WPOOL_LIMITS_HARD=2s", "WPOOL_LOG_LEVEL=warn", "WPOOL_PIPE=", NULL};
	loading_load(&(struct config_flags){0}, environment);
	ck_assert_msg(loaded.rc == RC_OK, "%s", loaded.problems);
	const struct config_pool *p = loaded.config->pools;
	ck_assert_str_eq(loaded.config->hosts[0].host, "e");
	ck_assert_int_eq(loaded.config->drain, MTIME_MINUTE);
	ck_assert_int_eq(loaded.config->log_level, LOG_WARN);
	ck_assert_str_eq(p->queue, "q");
	ck_assert_str_eq(p->command[1], "a b");
	ck_assert_int_eq(p->workers, 5);
	ck_assert_int_eq(p->prefetch, 9);
	ck_assert_int_eq(p->limits.hard, 2 * MTIME_SECOND);
	ck_assert_int_eq(p->pipe, PIPE_PATH);
}
END_TEST

START_TEST(test_flags_win)
{
	static const char *const environment[] = {"AMQP_URL=amqp://e", "QUEUENAME=q",
		"WORKER_COUNT=5", "PREFETCH=9", "WORKER_COMMAND='", "WPOOL_PIPELINE=3",
		"WPOOL_LOG_LEVEL=warn", "WORKER_CONCURRENCY=5", NULL};
	const struct config_flags flags = {.broker = "amqp://f,amqp://g",
		.queue = "r",
		.workers = "6",
		.prefetch = "auto",
		.pipeline = "4",
		.concurrency = "1",
		.pipe = "fifo",
		.declare = "on",
		.log_level = "error",
		.log_format = "text",
		.command = (char *const *)command};
	loading_load(&flags, environment);
	/* What the flag replaces must still be right. */
	ck_assert_str_eq(loaded.problems,
		"WORKER_COMMAND: command is invalid; a list of texts, or one text with its "
		"quotes closed, is needed\n");
	loading_load(&flags, environment + 5);
	const struct config_pool *p = loaded.config->pools;
	ck_assert_uint_eq(loaded.config->host_count, 2);
	ck_assert_str_eq(p->queue, "r");
	ck_assert_int_eq(p->workers, 6);
	ck_assert_int_eq(p->prefetch, 0);
	ck_assert_int_eq(p->pipeline, 4);
	ck_assert_int_eq(p->concurrency, 1);
	ck_assert_int_eq(p->pipe, PIPE_FIFO);
	ck_assert_int_eq(p->declare, CONFIG_DECLARE_ON);
	ck_assert_int_eq(loaded.config->log_level, LOG_ERROR);
	ck_assert_int_eq(loaded.config->log_format, CONFIG_LOG_TEXT);
}
END_TEST

START_TEST(test_flags_beside_a_file)
{
	static const char *const environment[] = {
		"AMQP_URL=amqp://e", "WPOOL_DRAIN=2s", "WPOOL_LOG_LEVEL=warn", NULL};
	struct config_flags flags = {.file = LOADING_FILE};
	loading_write(TEXT("broker: {url: amqp://file}\nlog: {level: error}\n" POOL));
	loading_load(&flags, environment);
	ck_assert_str_eq(loaded.config->hosts[0].host, "file");
	ck_assert_int_eq(loaded.config->log_level, LOG_ERROR);
	ck_assert_int_eq(loaded.config->drain, 2 * MTIME_SECOND);
	flags.broker = "amqp://flag";
	flags.log_level = "debug";
	loading_load(&flags, environment);
	ck_assert_uint_eq(loaded.config->host_count, 1);
	ck_assert_str_eq(loaded.config->hosts[0].host, "flag");
	ck_assert_int_eq(loaded.config->log_level, LOG_DEBUG);
	loading_write(TEXT(POOL));
	flags.broker = NULL;
	loading_load(&flags, environment);
	ck_assert_str_eq(loaded.config->hosts[0].host, "e");
	flags.queue = "x";
	flags.command = (char *const *)command;
	loading_load(&flags, environment);
	ck_assert_int_eq(loaded.rc, RC_REFUSED);
	ck_assert_str_eq(loaded.problems,
		"--queue: not together with a file, which has the pools; wpool.yaml is the place for "
		"it\n"
		"the command after --: not together with a file, which has the pools; wpool.yaml is "
		"the place for it\n");
}
END_TEST

START_TEST(test_wrong_flags)
{
	loading_load(&(struct config_flags){.workers = "many", .broker = "x", .log_level = "loud"},
		NULL);
	ck_assert_int_eq(loaded.rc, RC_REFUSED);
	ck_assert_str_eq(loaded.problems,
		"--workers: the value is \"many\"; a number from 1 to 10000, MIN..MAX (MIN <= MAX) or auto is needed\n"
		"queue is missing; --queue NAME or the variable QUEUENAME is needed\n"
		"command is missing; -- COMMAND [ARG...] or the variable WORKER_COMMAND is needed\n"
		"--log-level: the value is \"loud\"; debug, info, warn or error is needed\n"
		"--broker: the value is not an address: the address must begin with amqp:// or "
		"amqps://\n");
}
END_TEST

/* Who typed nothing wrong must look elsewhere. */
START_TEST(test_whose_mistake)
{
	static const struct {
		const char *workers, *variable;
		enum rc rc;
	} cases[] = {
		{"many", "", RC_REFUSED},
		{"4", "PREFETCH=many", RC_MALFORMED},
		{"many", "PREFETCH=many", RC_MALFORMED},
		{"4", "PREFETCH=4", RC_OK},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const environment[] = {cases[i].variable, NULL};
		const struct config_flags flags = {.queue = "q",
			.workers = cases[i].workers,
			.command = (char *const *)command};
		loading_load(&flags, environment);
		ck_assert_int_eq(loaded.rc, cases[i].rc);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/load");
	TCase *files = tcase_create("files");
	static const TTest *const *const tests[] = {&test_defaults, &test_everything_set,
		&test_drain_follows_the_slowest_pool, &test_defaults_for_pools, &test_one_program,
		&test_empty_defaults, &test_choices, &test_log_rates, &test_lists, &test_interrupt,
		&test_on_soft, &test_concurrency, &test_corefx, &test_name_from_queue,
		&test_variables, &test_environment_for_one_pool, &test_flags_win,
		&test_flags_beside_a_file, &test_wrong_flags, &test_whose_mistake};
	tcase_add_checked_fixture(files, loading_set_up, loading_tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(files, *tests[i]);
	suite_add_tcase(s, files);
	return s;
}

UNIT_MAIN(suite)
