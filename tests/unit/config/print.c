/* What is printed: loads again to the same, hides secrets, and the reference misses no setting. */
#include "config/settings.h"
#include "unit/support/config/loading.h"
#include <stdio.h>

/* Loads, prints, loads what was printed: the same again, and nothing secret in it. */
static void round_trip(const char *yaml)
{
	static char first[LOADING_PROBLEMS_SIZE];
	loading_load_yaml(text_from(yaml), NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s: %s", yaml, loaded.problems);
	strcpy(first, loaded.printed);
	ck_assert_ptr_null(strstr(first, "secret"));
	loading_load_yaml(text_from(first), NULL);
	ck_assert_msg(loaded.rc == RC_OK, "%s: %s", first, loaded.problems);
	ck_assert_str_eq(loaded.printed, first);
}

START_TEST(test_exact_page)
{
	loading_load_yaml(
		TEXT("broker: {url: 'amqps://u:secret@h/v?verify=verify_none', heartbeat: 5s}\n"
		     "log: {level: warn}\n"
		     "http: {listen: '[::1]:9464', hosts: [a.example, b]}\n"
		     "pools:\n"
		     "  - {queue: q 1, command: 'a \"b c\" $$x true 1', workers: 3, pipe: corefx,\n"
		     "     limits: {hard: 90s}, retry: {dead_letter: broker}, max_body: 1MiB}\n"),
		NULL);
	ck_assert_str_eq(loaded.problems, "");
	ck_assert_str_eq(loaded.printed,
		"broker:\n"
		"  url:\n"
		"    - \"amqps://u:***@h:5671/v?verify=verify_none\"\n"
		"  heartbeat: 5s\n"
		"drain: 110s\n"
		"log:\n"
		"  level: warn\n"
		"  format: auto\n"
		"control:\n"
		"  socket: auto\n"
		"http:\n"
		"  listen: \"[::1]:9464\"\n"
		"  hosts: [a.example, b]\n"
		"pools:\n"
		"  - name: q-1\n"
		"    queue: \"q 1\"\n"
		"    command: [a, \"b c\", \"$$x\", \"true\", \"1\"]\n"
		"    env_pass: [auto]\n"
		"    new_privs: false\n"
		"    umask: \"022\"\n"
		"    nice: 0\n"
		"    workers: 3\n"
		"    prefetch: auto\n"
		"    pipeline: 1\n"
		"    concurrency: 1\n"
		"    pipe_wait: 5ms\n"
		"    pipe: corefx\n"
		"    declare: passive\n"
		"    body: str\n"
		"    headers: text\n"
		"    properties: false\n"
		"    unroutable: reject\n"
		"    max_body: 1MiB\n"
		"    memory: 512MiB\n"
		"    outbox: 16MiB\n"
		"    log_rate: [10000, 1MiB]\n"
		"    interrupt: false\n"
		"    limits:\n"
		"      soft: none\n"
		"      on_soft: nothing\n"
		"      hard: 90s\n"
		"      boot: 10s\n"
		"      grace: 10s\n"
		"      slices: 10000\n"
		"      group_processes: none\n"
		"      group_memory: none\n"
		"    recycle:\n"
		"      tasks: none\n"
		"      age: none\n"
		"      memory: none\n"
		"      memory_kill: none\n"
		"    retry:\n"
		"      attempts: 3\n"
		"      delay: [1s, 10s, 1min]\n"
		"      jitter: 10\n"
		"      on: [failed, crashed, timed-out, protocol-error, unroutable]\n"
		"      dead_letter: broker\n");
}
END_TEST

static const char *const pages[] = {
	"pools: [{queue: q, command: w}]",
	"broker: {url: ['amqp://u:secret@h', 'amqps://u:secret%40@[::1]:7/%2f?heartbeat=3']}\n"
	"pools: [{queue: q, command: w}]",
	"pools: [{queue: 'null', command: ['~', 'null', '', ' ', '- a', '#', 'a: b', '''', '\"', "
	"'\\', '[', '{', '*x', '&x', '!x', '%x', '@x', '`', '|', '>', '?', '-', '1', '0x1', 'on']}]",
	"pools: [{queue: \"\\x01\\t\\n\\r\\e\\x7f\\x80\\x9f\\xa0\", command: \"w\"}]",
	"pools: [{queue: \"\\u2028\\u2029\\ufeff\\ufffd\\uffff\\U0001f600\\U0010ffff\xc3\xa9\", "
	"command: [\"$${A}\", \"$$$$\", \"$\", \"$A\"]}]",
	"pools: [{queue: q, command: [w, 'amqp://u:secret@h/v', '--url=amqp://u:secret@h', 'a:b@c']}]",
	"pools: [{queue: q, command: w, cwd: /, umask: 0027, nice: -0, env_pass: [A, 'B*'],\n"
	"env: {A: secret, B: '', C: 'amqp://u:secret@h'}, rlimits: {nofile: '1:2', core: 0}}]",
	"pools: [{queue: q, command: w, env: {}, rlimits: {}, env_pass: none}]",
	"pools: [{queue: q, command: w, interrupt: true}]",
	"pools: [{queue: q, command: w, queue_arguments: {x-max-length: 5, x-overflow: reject-publish},\n"
	"bindings: [{exchange: e}, {exchange: f, type: topic, routing_key: [a, 'b.#', '']},\n"
	"{exchange: h, headers: {k: 'v=w', l: 'x, y'}, match: any, routing_key: k}]}]",
	"pools: [{queue: q, command: w, bindings: [{exchange: e, match: all, headers: {a: x, b: x, c: x,\n"
	"d: x, e: x, f: x, g: x, h: x, i: x, j: x, k: x, l: x, m: x, n: x, o: x}}]}]",
	"pools: [{queue: q, command: w, limits: {on_soft: context-switch}}]",
	"pools: [{queue: q, command: w, concurrency: 500, limits: {on_soft: cancel}}]",
	"drain: 0s\npools: [{queue: a, command: w, limits: {hard: 1ms, grace: 0s}, name: -}, "
	"{queue: a, command: w, outbox: 100000000B, pipe: fifo, name: .}]",
};

START_TEST(test_round_trip)
{
	round_trip(pages[_i]);
}
END_TEST

/* Arguments from a command line may be any bytes: printed as UTF-8 that loads. */
START_TEST(test_bytes_that_are_no_text)
{
	static const char *const command[] = {"\xff\xfe", "a\xc3", NULL};
	static char first[LOADING_PROBLEMS_SIZE];
	loading_load(&(struct config_flags){.queue = "q", .command = (char *const *)command}, NULL);
	ck_assert_int_eq(loaded.rc, RC_OK);
	strcpy(first, loaded.printed);
	loading_load_yaml(text_from(first), NULL);
	ck_assert_str_eq(loaded.problems, "");
	ck_assert_str_eq(loaded.config->pools[0].command[1], "a\xef\xbf\xbd");
	loading_load(
		&(struct config_flags){.queue = "q\xff", .command = (char *const *)command}, NULL);
	ck_assert_str_eq(loaded.problems,
		"--queue: the value is \"q?\"; a text of 1 to 255 bytes is needed\n");
}
END_TEST

/* ---------- the table ---------- */

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static const enum setting_scope scopes[] = {SETTING_ROOT, SETTING_POOL, SETTING_THROTTLE};
static const char *const headings[] = {"\n## Global settings\n",
	"\n## Settings of each pool, under `pools`\n",
	"\n## Settings of each throttle, under `throttles`\n"};
#define SCOPES (sizeof scopes / sizeof *scopes)

/* A pool without a file has no throttles to name. */
static bool is_only_in_file(enum setting_scope scope, const struct setting *setting)
{
	return scope == SETTING_THROTTLE || strcmp(setting->key, "throttle") == 0;
}

START_TEST(test_table_is_consistent)
{
	const struct setting *all[3 * SETTINGS_MAX];
	size_t total = 0;
	for (size_t scope = 0; scope < SCOPES; scope++) {
		size_t count;
		const struct setting *settings = settings_of(scopes[scope], &count);
		for (size_t i = 0; i < count; i++) {
			ck_assert_msg(!settings[i].variable ==
					      is_only_in_file(scopes[scope], &settings[i]),
				"%s", settings[i].key);
			all[total++] = &settings[i];
		}
	}
	for (size_t i = 0; i < total; i++) {
		const struct setting *s = all[i];
		ck_assert_msg(s->key && s->help, "%zu", i);
		ck_assert_msg(!s->fallback != !s->default_words, "%s", s->key);
		ck_assert_msg(s->help[strlen(s->help) - 1] == '.', "%s", s->key);
		ck_assert_msg(!strchr(s->help, '|'), "%s: breaks the reference's table", s->key);
		bool has_choices = s->type == SETTING_CHOICE || s->type == SETTING_SET;
		ck_assert_msg(has_choices == !!s->choices, "%s", s->key);
		for (size_t j = 0; j < i; j++) {
			ck_assert_msg(!is_same(s->key, all[j]->key) || s->is_own, "%s", s->key);
			ck_assert_msg(!is_same(s->variable, all[j]->variable), "%s", s->key);
			ck_assert_msg(!is_same(s->flag, all[j]->flag), "%s", s->key);
		}
	}
}
END_TEST

START_TEST(test_reference_misses_nothing)
{
	static char reference[LOADING_PROBLEMS_SIZE], flags[LOADING_PROBLEMS_SIZE];
	struct buf out;
	buf_init(&out, LOADING_PROBLEMS_SIZE);
	config_print_reference(&out);
	loading_take(&out, reference);
	buf_init(&out, LOADING_PROBLEMS_SIZE);
	config_print_flags(&out);
	loading_take(&out, flags);
	for (size_t scope = 0; scope < SCOPES; scope++) {
		size_t count;
		const struct setting *s = settings_of(scopes[scope], &count);
		const char *section = strstr(reference, headings[scope]);
		ck_assert_ptr_nonnull(section);
		for (; count > 0; count--, s++) {
			char row[100];
			snprintf(row, sizeof row, "\n| `%s` | ", s->key);
			const char *found = strstr(section, row);
			ck_assert_msg(found, "%s", s->key);
			const char *end = strchr(found + 1, '\n');
			struct text line = text_of(found, (size_t)(end - found));
			const char *cells[] = {s->fallback ? s->fallback : s->default_words,
				s->variable ? s->variable : "", s->flag ? s->flag : "", s->help};
			for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
				ck_assert_msg(
					memmem(line.ptr, line.len, cells[i], strlen(cells[i])),
					"%s: %s", s->key, cells[i]);
			ck_assert_msg(!s->flag || strstr(flags, s->flag), "%s", s->key);
		}
	}
	for (const char *line = flags; *line; line = strchr(line, '\n') + 1)
		ck_assert_uint_le(strcspn(line, "\n"), 100);
}
END_TEST

/* The example in the reference is itself a configuration. */
START_TEST(test_example_loads)
{
	static char reference[LOADING_PROBLEMS_SIZE];
	struct buf out;
	buf_init(&out, LOADING_PROBLEMS_SIZE);
	config_print_reference(&out);
	loading_take(&out, reference);
	char *start = strstr(reference, "```yaml\n");
	ck_assert_ptr_nonnull(start);
	start += strlen("```yaml\n");
	char *end = strstr(start, "```");
	ck_assert_ptr_nonnull(end);
	loading_load_yaml(text_of(start, (size_t)(end - start)), NULL);
	ck_assert_str_eq(loaded.problems, "");
	ck_assert_uint_eq(loaded.config->pool_count, 3);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/print");
	TCase *files = tcase_create("files");
	tcase_add_checked_fixture(files, loading_set_up, loading_tear_down);
	tcase_add_test(files, test_exact_page);
	tcase_add_loop_test(files, test_round_trip, 0, sizeof pages / sizeof *pages);
	tcase_add_test(files, test_bytes_that_are_no_text);
	tcase_add_test(files, test_example_loads);
	suite_add_tcase(s, files);
	UNIT_CASE(s, "table", test_table_is_consistent, test_reference_misses_nothing);
	return s;
}

UNIT_MAIN(suite)
