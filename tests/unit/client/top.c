/* What `wpool top` does with answers and keys, and how it lays them out. */
#include "client/top/top_keys.h"
#include "client/top/top_requests.h"
#include "client/top/top_view.h"
#include "unit/unit.h"

#include <stdio.h>

#define WIDTH 120

static struct top_model model;
static char page[32 * 1024];

static void set_up(void)
{
	top_model_init(&model, 0);
}

static void tear_down(void)
{
	top_model_release(&model);
}

static void take(enum top_question question, const char *text, mtime now)
{
	json_error_t error;
	json_t *json = json_loads(text, 0, &error);

	ck_assert_msg(json != NULL, "%s: %s", error.text, text);
	ck_assert_int_eq(top_model_take(&model, question, json, now), RC_OK);
	json_decref(json);
}

static void draw(size_t width, size_t height, mtime now)
{
	struct buf out;

	buf_init(&out, sizeof page);
	top_view_draw(&model, width, height, now, &out);
	ck_assert(!out.failed);
	snprintf(page, sizeof page, "%.*s", TEXT_ARGS(buf_text(&out)));
	buf_release(&out);
}

/* The line of the page that holds the needle; valid until the next call. */
static const char *line_with(const char *needle)
{
	static char line[1024];
	const char *hit = strstr(page, needle), *begin = hit;

	ck_assert_msg(hit != NULL, "'%s' is not in:\n%s", needle, page);
	while (begin > page && begin[-1] != '\n')
		begin--;
	snprintf(line, sizeof line, "%.*s", (int)strcspn(begin, "\n"), begin);
	return line;
}

#define EXPECT_IN(needle, words)                                                                   \
	do {                                                                                       \
		const char *found = line_with(needle);                                             \
		ck_assert_msg(strstr(found, words), "'%s' is not in: %s", words, found);           \
	} while (0)

#define POOL(name, done)                                                                           \
	"{\"name\": \"" name "\", \"state\": \"consuming\", \"consuming\": true,"                  \
	" \"workers\": {\"ready\": 2, \"wanted\": 3}, \"totals\": {\"done\": " #done "}}"
#define POOLS(list)          "{\"pools\": [" list "]}"
#define STATUS(status, list) "{\"status\": " status ", \"pools\": [" list "]}"

START_TEST(a_rate_is_the_growth_since_the_last_answer)
{
	take(TOP_ASK_POOLS, POOLS(POOL("one", 100) "," POOL("two", 7)), MTIME_SECOND);
	draw(WIDTH, 24, MTIME_SECOND);
	ck_assert_ptr_null(strstr(page, "25.0"));
	take(TOP_ASK_POOLS, POOLS(POOL("two", 7) "," POOL("one", 150)), 3 * MTIME_SECOND);
	draw(WIDTH, 24, 3 * MTIME_SECOND);
	EXPECT_IN("one", "  25.0  ");
	EXPECT_IN("two", "   0.0  ");
	EXPECT_IN("one", "2/3");
}
END_TEST

START_TEST(two_answers_within_a_moment_give_no_rate)
{
	take(TOP_ASK_POOLS, POOLS(POOL("one", 0)), 0);
	take(TOP_ASK_POOLS, POOLS(POOL("one", 100)), MTIME_SECOND);
	take(TOP_ASK_POOLS, POOLS(POOL("one", 102)), MTIME_SECOND + MTIME_MS);
	draw(WIDTH, 24, MTIME_SECOND);
	EXPECT_IN("one", " 102  "); /* a second, and not 2,000 */
}
END_TEST

START_TEST(a_counter_that_fell_gives_no_rate)
{
	take(TOP_ASK_POOLS, POOLS(POOL("one", 100)), 0);
	take(TOP_ASK_POOLS, POOLS(POOL("one", 3)), MTIME_SECOND);
	draw(WIDTH, 24, MTIME_SECOND);
	EXPECT_IN("one", " -  ");
	take(TOP_ASK_POOLS, STATUS("{\"pid\": 1}", POOL("one", 3)), 2 * MTIME_SECOND);
	take(TOP_ASK_POOLS, STATUS("{\"pid\": 2}", POOL("one", 9)), 3 * MTIME_SECOND);
	draw(WIDTH, 24, 3 * MTIME_SECOND);
	ck_assert_ptr_null(strstr(page, "6.0"));
}
END_TEST

static void expect_order(const char *first, const char *second)
{
	draw(WIDTH, 24, 0);
	const char *a = strstr(page, first), *b = strstr(page, second);
	ck_assert_msg(a && b && a < b, "%s, %s:\n%s", first, second, page);
}

START_TEST(sorting_rows_keeps_the_chosen_pool)
{
	take(TOP_ASK_POOLS, POOLS(POOL("bb", 0) "," POOL("aa", 0) "," POOL("cc", 0)), 0);
	take(TOP_ASK_POOLS, POOLS(POOL("bb", 5) "," POOL("aa", 50) "," POOL("cc", 6)),
		MTIME_SECOND);
	expect_order("  aa", "  cc");
	expect_order("> bb", "  aa");
	top_table_sort_next(&model.pools);
	ck_assert_str_eq(top_table_sorted_by(&model.pools), "POOL");
	expect_order("  aa", "> bb");
	while (strcmp(top_table_sorted_by(&model.pools), "DONE/S") != 0)
		top_table_sort_next(&model.pools);
	expect_order("  aa", "  cc");
	expect_order("  cc", "> bb");
	ck_assert(!top_model_move(&model, 1));
	ck_assert(top_model_move(&model, -1));
	expect_order("> cc", "  bb");
	while (model.pools.sort != 0)
		top_table_sort_next(&model.pools);
	expect_order("  bb", "  aa");
	expect_order("  aa", "> cc");
}
END_TEST

/* Only pools with sessions have the columns of sessions, and pages without them do not sort by
 * them.
 */
START_TEST(columns_of_sessions_come_with_sessions)
{
	take(TOP_ASK_POOLS, POOLS(POOL("one", 3)), 0);
	draw(WIDTH, 24, 0);
	ck_assert_ptr_null(strstr(page, "BLOCKED"));
	do {
		top_table_sort_next(&model.pools);
		ck_assert_str_ne(top_table_sorted_by(&model.pools), "BLOCKED");
	} while (model.pools.sort != 0);
	take(TOP_ASK_POOLS,
		POOLS(POOL(
			"one", 3) ", {\"name\": \"two\", \"sessions\": {\"active\": 7, "
				  "\"blocked\": 2, \"stuck\": 40}, \"tasks\": {\"window\": 99}}"),
		MTIME_SECOND);
	draw(WIDTH, 24, 0);
	EXPECT_IN("POOL", "SESSIONS");
	EXPECT_IN("POOL", "BLOCKED");
	EXPECT_IN("two", "40/99");
}
END_TEST

static size_t characters_in(const char *line)
{
	size_t count = 0;

	for (; *line; line++)
		count += ((unsigned char)*line & 0xc0) != 0x80;
	return count;
}

/* What an operator must not miss stays; the rest comes with the width. */
START_TEST(a_narrow_page_has_fewer_columns)
{
	static const char *const always[] = {
		"POOL", "STATE", "READY", "BACKLOG", "DEAD", "BLOCKED", "STUCK", "DONE/S"};
	static const struct {
		size_t width;
		const char *has, *has_not;
	} cases[] = {{80, "STUCK", "WAITING"}, {120, "SESSIONS", "MAX"}, {140, "UNACKED", "MAX"},
		{200, "MAX", NULL}};
	static const char list[] =
		"{\"name\": \"two\", \"state\": \"consuming\", \"workers\": {\"ready\": 2, \"wanted\": 3, \"busy\": 1}, \"sessions\": {\"active\": 70,"
		" \"parked\": 3, \"blocked\": 2, \"stuck\": 40}, \"tasks\": {\"window\": 2000,"
		" \"backlog\": 12345, \"dead_letters\": 7, \"waiting\": 5, \"unacked\": 99, \"open\": 1, \"places\": 2},"
		" \"totals\": {\"done\": 3, \"retried\": 1, \"given_up\": 2}}";
	char *answer;

	ck_assert_int_gt(asprintf(&answer, POOLS("%s"), list), 0);
	take(TOP_ASK_POOLS, answer, 0);
	free(answer);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		draw(cases[i].width, 24, 0);
		for (size_t k = 0; k < sizeof always / sizeof *always; k++)
			EXPECT_IN("POOL", always[k]);
		EXPECT_IN("POOL", cases[i].has);
		ck_assert_uint_le(
			characters_in(line_with("two")), cases[i].width + 7); /* a style */
		ck_assert(!cases[i].has_not || !strstr(line_with("POOL"), cases[i].has_not));
	}
}
END_TEST

START_TEST(when_the_chosen_pool_is_gone_another_is_chosen)
{
	take(TOP_ASK_POOLS, POOLS(POOL("one", 0) "," POOL("two", 0)), 0);
	ck_assert(top_model_move(&model, 1));
	take(TOP_ASK_WORKERS, "{\"workers\": [{\"pool\": \"two\", \"slot\": 0}]}", 0);
	take(TOP_ASK_POOLS, POOLS(POOL("one", 0)), MTIME_SECOND);
	ck_assert_str_eq(model.chosen, "one");
	ck_assert_uint_eq(model.workers.count, 0);
	take(TOP_ASK_POOLS, POOLS(""), 2 * MTIME_SECOND);
	ck_assert_ptr_null(model.chosen);
	ck_assert(!top_model_move(&model, 1));
	draw(WIDTH, 24, 0);
	EXPECT_IN("0 pools", "0 pools");
}
END_TEST

/* Answers of another version, or of something else. */
START_TEST(answers_that_make_no_sense_are_drawn_as_dashes)
{
	static const char *const odd[] = {"{}", "[]", "null", "{\"pools\": 1, \"workers\": {}}",
		"{\"pools\": [1, null, {\"name\": 7}], \"workers\": [[], {\"slot\": \"x\"}]}",
		"{\"status\": {\"reasons\": [1, {}], \"connections\": 3}}", "{\"status\": 1}"};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		json_t *json = json_loads(odd[i], JSON_DECODE_ANY, NULL);
		for (enum top_question q = TOP_ASK_POOLS; q <= TOP_ASK_WORKERS; q++)
			ck_assert_int_eq(top_model_take(&model, q, json, (mtime)i), RC_OK);
		json_decref(json);
		draw(WIDTH, 24, (mtime)i);
	}
}
END_TEST

static size_t lines_of_page(void)
{
	size_t count = 0;
	for (const char *at = page; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

START_TEST(a_page_has_as_many_lines_as_the_terminal)
{
	char pools[8192] = "", name[200];

	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof name, "%s" POOL("p%02d", 0), i ? "," : "", i);
		strcat(pools, name);
	}
	char *list = malloc(sizeof pools + 20);
	snprintf(list, sizeof pools + 20, "{\"pools\": [%s]}", pools);
	take(TOP_ASK_POOLS, list, 0);
	free(list);
	for (int i = 0; i < 20; i++)
		ck_assert(top_model_move(&model, 1));
	take(TOP_ASK_WORKERS, "{\"workers\": [{\"slot\": 0}, {\"slot\": 1}]}", 0);
	for (size_t height = 1; height < 60; height++) {
		draw(WIDTH, height, 0);
		ck_assert_uint_eq(lines_of_page(), height);
		if (height > 10)
			EXPECT_IN("> p20", "> p20");
	}
}
END_TEST

/* Over TCP the text is null. */
START_TEST(progress_is_shown_with_its_age)
{
	take(TOP_ASK_POOLS, POOLS(POOL("one", 1)), 0);
	take(TOP_ASK_WORKERS,
		"{\"workers\": [{\"slot\": 0, \"task\": {\"name\": \"a\", \"progress\": {\"text\": \"7 of 9\", "
		"\"age_s\": 3}}}, {\"slot\": 1, \"task\": {\"name\": \"b\", \"progress\": {\"text\": null, "
		"\"age_s\": 4}}}, {\"slot\": 2, \"task\": {\"name\": \"c\", \"progress\": null}}]}",
		0);
	draw(WIDTH, 24, 0);
	EXPECT_IN("PROGRESS", "PROGRESS");
	EXPECT_IN("7 of 9", "7 of 9, 3.0 s ago");
	EXPECT_IN("4.0 s ago", " b ");
	ck_assert_ptr_null(strstr(line_with(" c"), "ago"));
}
END_TEST

/* The columns at the right are cut. */
START_TEST(names_of_pools_are_whole_in_a_narrow_terminal)
{
	take(TOP_ASK_POOLS, POOLS(POOL("a-rather-long-name-of-a-pool", 0)), 0);
	draw(40, 24, 0);
	EXPECT_IN("> a-rather", "> a-rather-long-name-of-a-pool  consuming");
}
END_TEST

START_TEST(trouble_and_questions_are_shown)
{
	take(TOP_ASK_POOLS,
		STATUS("{\"pid\": 1, \"ready\": false, \"reasons\":"
		       " [\"a\\u001b[2J\", \"b\", \"c\", \"d\", \"e\", \"f\"]}",
			""),
		0);
	draw(WIDTH, 24, MTIME_SECOND);
	EXPECT_IN("NOT READY", "pid 1");
	EXPECT_IN("a\\x1b[2J", "  reason: a"); /* no control sequence */
	EXPECT_IN("and 2 more", "wpool status");
	ck_assert_ptr_null(strstr(page, "last answer"));
	draw(WIDTH, 24, 5 * MTIME_SECOND);
	EXPECT_IN("waiting for the supervisor", "the last answer was 5 s ago");
	snprintf(model.trouble, sizeof model.trouble, "it is gone");
	draw(WIDTH, 24, 7 * MTIME_SECOND);
	EXPECT_IN("it is gone", "the last answer was 7 s ago");
	take(TOP_ASK_POOLS, STATUS("{}", ""), 8 * MTIME_SECOND);
	draw(WIDTH, 24, 8 * MTIME_SECOND);
	ck_assert_ptr_null(strstr(page, "last answer"));
	take(TOP_ASK_POOLS, POOLS(POOL("one", 0)), 8 * MTIME_SECOND);
	model.asks = &api_verbs[API_VERB_restart];
	draw(WIDTH, 24, 8 * MTIME_SECOND);
	EXPECT_IN("one: replace all workers", "y, or any other key");
	model.is_help = true;
	draw(WIDTH, 24, 8 * MTIME_SECOND);
	EXPECT_IN("Any key goes back", "Any key");
}
END_TEST

START_TEST(keys_are_parsed_byte_by_byte)
{
	static const struct {
		const char *bytes;
		int key; /* of the last byte */
	} cases[] = {{"k", TOP_KEY_UP}, {"j", TOP_KEY_DOWN}, {"\x1b[A", TOP_KEY_UP},
		{"\x1b[B", TOP_KEY_DOWN}, {"\x1bOA", TOP_KEY_UP}, {"\x1bOB", TOP_KEY_DOWN},
		{"\x1b[1;5A", TOP_KEY_UP}, {"\x1b[C", TOP_KEY_NONE}, {"\x1b[3~", TOP_KEY_NONE},
		{"\x1b[3~q", 'q'}, {"\x1b", TOP_KEY_NONE}, {"\x1b\x1b[A", TOP_KEY_UP},
		{"\x1b[\x1b[B", TOP_KEY_DOWN}, {"\x1bq", 'q'}, {"x", 'x'}, {"A", 'A'}, {"+", '+'},
		{"-", '-'}, {"p", 'p'}, {"r", 'r'}, {"y", 'y'}, {"s", 's'}, {"S", 'S'}, {"?", '?'},
		{"\x1b[+", TOP_KEY_NONE}, {"\xff", 0xff}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct top_keys keys = {0};
		int key = TOP_KEY_NONE;
		for (const char *at = cases[i].bytes; *at; at++)
			key = top_keys_feed(&keys, (uint8_t)*at);
		ck_assert_msg(key == cases[i].key, "case %zu: %d", i, key);
	}
}
END_TEST

/* The same key pauses a pool and resumes a paused one. */
START_TEST(keys_of_verbs_depend_on_the_state)
{
	ck_assert_ptr_eq(api_verb_of_key('p', TEXT("consuming")), &api_verbs[API_VERB_pause]);
	ck_assert_ptr_eq(api_verb_of_key('p', TEXT("paused")), &api_verbs[API_VERB_resume]);
	ck_assert_ptr_eq(api_verb_of_key('-', TEXT("paused")), &api_verbs[API_VERB_scale]);
	ck_assert_ptr_null(api_verb_of_key('z', TEXT("paused")));
	ck_assert_ptr_null(api_verb_of_key('\0', TEXT("paused")));
}
END_TEST

/* The key + takes the choice from the pool. */
START_TEST(the_end_of_a_choice_is_named)
{
	json_t *choosing =
		json_loads("{\"name\": \"one\", \"workers\": {\"min\": 2, \"max\": 8}}", 0, NULL);
	json_t *fixed =
		json_loads("{\"name\": \"one\", \"workers\": {\"min\": 3, \"max\": 3}}", 0, NULL);
	struct buf text;

	buf_init(&text, SIZE_MAX);
	verb_append_end_of_choice(NULL, fixed, &text);
	verb_append_end_of_choice(fixed, fixed, &text);
	verb_append_end_of_choice(choosing, choosing, &text);
	verb_append_end_of_choice(fixed, choosing, &text);
	ck_assert_uint_eq(buf_len(&text), 0);
	verb_append_end_of_choice(choosing, fixed, &text);
	ck_assert(text_is(buf_text(&text),
		TEXT(", whatever there is to do; as many as are needed again: wpool scale one auto")));
	buf_release(&text);
	json_decref(choosing);
	json_decref(fixed);
}
END_TEST

START_TEST(an_order_is_computed_when_it_is_sent)
{
	struct top_orders orders = {0};
	char path[VERB_PATH_SIZE];
	struct buf done;

	take(TOP_ASK_POOLS, POOLS(POOL("one", 0)), 0);
	ck_assert(top_orders_add(&orders, &api_verbs[API_VERB_scale], 1, "one"));
	ck_assert(top_orders_add(&orders, &api_verbs[API_VERB_scale], 1, "one"));
	top_orders_path(&orders, top_model_pool(&model, "one"), path);
	ck_assert_str_eq(path, "/v1/pools/*/scale?workers=4");
	json_t *answer = json_loads(
		"{\"pools\": [{\"name\": \"one\", \"workers\": {\"wanted\": 4}}]}", 0, NULL);
	buf_init(&done, SIZE_MAX);
	verb_append_done(&api_verbs[API_VERB_scale],
		json_array_get(json_object_get(answer, "pools"), 0), &done);
	ck_assert(text_is(buf_text(&done), TEXT("one: 4 workers wanted")));
	buf_release(&done);
	top_model_correct(&model, answer);
	json_decref(answer);
	top_orders_drop(&orders);
	top_orders_path(&orders, top_model_pool(&model, "one"), path);
	ck_assert_str_eq(path, "/v1/pools/*/scale?workers=5");
	top_orders_drop(&orders);
	ck_assert(top_orders_add(&orders, &api_verbs[API_VERB_restart], 0, "one"));
	top_orders_path(&orders, NULL, path);
	ck_assert_str_eq(path, "/v1/pools/*/restart");
	for (size_t i = 1; i < TOP_ORDERS_MAX; i++)
		ck_assert(top_orders_add(&orders, &api_verbs[API_VERB_pause], 0, "one"));
	ck_assert(!top_orders_add(&orders, &api_verbs[API_VERB_pause], 0, "one"));
	top_orders_release(&orders);
	ck_assert_uint_eq(orders.count, 0);
}
END_TEST

static void take_workers(const char *json)
{
	json_t *answer = json_loads(json, 0, NULL);

	ck_assert_int_eq(top_model_take(&model, TOP_ASK_WORKERS, answer, 0), RC_OK);
	json_decref(answer);
}

/* The task that is shown when the slot is typed, so that none is killed that the worker gets after
 * it. */
START_TEST(a_kill_names_the_task_that_is_shown)
{
	struct top_requests requests = {0};
	struct top_orders *orders = &requests.orders;
	char path[VERB_PATH_SIZE];

	take(TOP_ASK_POOLS, POOLS(POOL("one", 0)), 0);
	take_workers("{\"workers\": [{\"slot\": 0}, {\"slot\": 12, \"task\": {\"id\": 4711}}]}");
	ck_assert_ptr_null(top_model_worker(&model, "1"));
	ck_assert_ptr_nonnull(top_model_worker(&model, "0"));
	model.asks = &api_verbs[API_VERB_kill];
	top_model_clear_slot(&model);
	ck_assert(top_model_type_slot(&model, '1'));
	draw(WIDTH, 24, 0);
	EXPECT_IN("one: kill the task of the worker in slot: 1_", "r: retry it");
	ck_assert(top_model_type_slot(&model, '2'));
	take_workers("{\"workers\": [{\"slot\": 0}, {\"slot\": 12, \"task\": {\"id\": 4712}}]}");
	draw(WIDTH, 24, 0);
	EXPECT_IN("one: kill the task of the worker in slot: 12_ task 4711:", "r: retry it");
	for (int gives_up = 0; gives_up < 2; gives_up++) {
		top_requests_kill(&requests, &model, &api_verbs[API_VERB_kill], gives_up);
		ck_assert_uint_eq(orders->count, 1);
		top_orders_path(orders, NULL, path);
		ck_assert_str_eq(path, gives_up ? "/v1/pools/*/kill?slot=12&task=4711&give_up=true"
						: "/v1/pools/*/kill?slot=12&task=4711");
		top_orders_drop(orders);
	}
}
END_TEST

/* Nor one that the worker got while the question was shown. */
START_TEST(a_kill_needs_a_task_that_was_shown)
{
	struct top_requests requests = {0};

	take(TOP_ASK_POOLS, POOLS(POOL("one", 0)), 0);
	take_workers("{\"workers\": [{\"slot\": 0}]}");
	top_model_clear_slot(&model);
	ck_assert(top_model_type_slot(&model, '0'));
	take_workers("{\"workers\": [{\"slot\": 0, \"task\": {\"id\": 4711}}]}");
	top_requests_kill(&requests, &model, &api_verbs[API_VERB_kill], false);
	ck_assert_uint_eq(requests.orders.count, 0);
	ck_assert_str_eq(model.message, "the worker in slot 0 had no task when it was chosen");
	for (size_t i = 2; i < TOP_SLOT_SIZE; i++)
		ck_assert(top_model_type_slot(&model, '0'));
	ck_assert(!top_model_type_slot(&model, '0'));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("client/top");
	TCase *model_case = tcase_create("model and view");
	tcase_add_checked_fixture(model_case, set_up, tear_down);
	tcase_add_test(model_case, a_rate_is_the_growth_since_the_last_answer);
	tcase_add_test(model_case, two_answers_within_a_moment_give_no_rate);
	tcase_add_test(model_case, progress_is_shown_with_its_age);
	tcase_add_test(model_case, a_counter_that_fell_gives_no_rate);
	tcase_add_test(model_case, sorting_rows_keeps_the_chosen_pool);
	tcase_add_test(model_case, columns_of_sessions_come_with_sessions);
	tcase_add_test(model_case, a_narrow_page_has_fewer_columns);
	tcase_add_test(model_case, when_the_chosen_pool_is_gone_another_is_chosen);
	tcase_add_test(model_case, answers_that_make_no_sense_are_drawn_as_dashes);
	tcase_add_test(model_case, a_page_has_as_many_lines_as_the_terminal);
	tcase_add_test(model_case, names_of_pools_are_whole_in_a_narrow_terminal);
	tcase_add_test(model_case, trouble_and_questions_are_shown);
	tcase_add_test(model_case, an_order_is_computed_when_it_is_sent);
	tcase_add_test(model_case, a_kill_names_the_task_that_is_shown);
	tcase_add_test(model_case, a_kill_needs_a_task_that_was_shown);
	suite_add_tcase(s, model_case);
	UNIT_CASE(s, "keys", keys_are_parsed_byte_by_byte);
	UNIT_CASE(s, "verbs", keys_of_verbs_depend_on_the_state, the_end_of_a_choice_is_named);
	return s;
}

UNIT_MAIN(suite)
