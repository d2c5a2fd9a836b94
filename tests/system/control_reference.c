/* docs/control.md is complete: it names each metric and each JSON member of a supervisor, and no
 * other metric. */
#include "harness/command.h"
#include "harness/control.h"
#include "harness/page.h"
#include "system/system.h"

#include <string.h>

#define NAME_SIZE 128

static const char *the_page(void)
{
	static char *text;
	if (!text)
		text = scratch_read("docs/control.md", NULL);
	ck_assert_ptr_nonnull(text);
	return text;
}

/* In backticks: alone, in a path of members, or with a label. */
static void expect_on_page(const char *name)
{
	static const char *const forms[] = {"`%s`", ".%s`", "`%s.", "`%s{"};
	bool is_there = false;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		char code[NAME_SIZE];
		snprintf(code, sizeof code, forms[i], name);
		is_there |= strstr(the_page(), code) != NULL;
	}
	ck_assert_msg(is_there, "docs/control.md does not name %s", name);
}

/* A pool without sessions, and one with a throttle and a session that is paused, with a task. */
static void serve_pools(void)
{
	const char *queue = scratch_text("%s.ordered", fixture.queue);

	struct proc *serve = page_serve(
		scratch_text("%s- {name: ordered, queue: '%s', declare: on, command: ['%s'], "
			     "session: {key: 'header:session'}, throttle: [erp]}\n"
			     "throttles:\n- {name: erp, limit: 1000, period: 1ms}\n",
			page_echo_pool("first", 2), queue, fixture_built("workers/echo")),
		0);
	control_await("/readyz", 200);
	proc_expect(serve, "active: has the token"); /* a standby is ready, too */
	RUN(0, "session", "pause", "ordered", "a key");
	client_post(fixture.client, queue,
		&(struct letter){.body = "x", .headers = {{"session", "a key"}}});
	control_post_many(0, 50);
	control_expect_done(50);
}

/* Keys that are reasons or names of pools are data. */
static bool has_free_keys(const char *name)
{
	return strstr(name, "_by_") != NULL || strcmp(name, "pools") == 0;
}

static void expect_members(const json_t *value)
{
	const char *name;
	json_t *member;
	size_t i;
	json_object_foreach((json_t *)value, name, member)
	{
		expect_on_page(name);
		if (!json_is_object(member) || !has_free_keys(name))
			expect_members(member);
	}
	json_array_foreach(value, i, member) expect_members(member);
}

START_TEST(each_json_member_is_documented)
{
	static const char *const paths[] = {"/v1/status", "/v1/pools", "/v1/workers", "/v1/history",
		"/v1/log-level", "/v1/throttles", "/v1/pools/ordered/sessions?tasks=true",
		"/v1/pools/ordered/sessions?count=true"};
	serve_pools();
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		json_t *answer = control_get_json(paths[i]);
		expect_members(answer);
		json_decref(answer);
	}
	expect_members(control_parse(RUN(0, "session", "drain", "ordered", "a key", "--json")));
}
END_TEST

START_TEST(each_metric_is_documented)
{
	static const char type[] = "# TYPE ";
	serve_pools();
	char *exposition = control_get("/metrics", 200);
	for (const char *at = exposition; (at = strstr(at, type)) != NULL; at++) {
		const char *name = at + strlen(type);
		char *word = scratch_text("%.*s", (int)strcspn(name, " "), name);
		expect_on_page(word);
		free(word);
	}
}
END_TEST

START_TEST(each_documented_metric_exists)
{
	serve_pools();
	char *exposition = control_get("/metrics", 200);
	int count = 0;
	for (const char *at = the_page(); (at = strstr(at, "`wpool_")) != NULL; at++) {
		char *type = scratch_text("# TYPE %.*s ", (int)strcspn(at + 1, "`{"), at + 1);
		ck_assert_msg(strstr(exposition, type) != NULL, "there is no %s", type);
		free(type);
		count++;
	}
	ck_assert_int_ge(count, 30);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("control_reference", {each_json_member_is_documented, 1},
		{each_metric_is_documented, 1}, {each_documented_metric_exists, 1});
}
