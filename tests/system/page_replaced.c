/* The page at /, in a browser, while pools of one name follow one another: one row, the latest one,
 * and no figure counts twice. */
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "harness/page.h"
#include "system/system.h"

#include <string.h>

static void reload(const char *pools)
{
	fixture_write_pools(pools);
	ck_assert_int_eq(http_request(control_socket(), "POST", "/v1/reload").status, 200);
}

/* A change of this setting replaces the pool. */
static char *pool_with(const char *properties)
{
	return scratch_text(
		"- {name: first, queue: '%s', command: ['%s'], workers: 1, properties: %s, "
		"retry: {dead_letter: '%s'}}\n",
		fixture.queue, fixture_built("workers/echo"), properties, fixture.dead);
}

static size_t pools_listed(void)
{
	json_t *answer = control_get_json("/v1/pools");
	size_t count = json_array_size(json_object_get(answer, "pools"));

	json_decref(answer);
	return count;
}

static void await_pools(size_t count)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);

	while (pools_listed() != count)
		fixture_poll(deadline, 20, "so many pools are listed");
}

/* The third pool takes the place of the first one, before the second one. */
START_TEST(latest_pool_of_a_name_is_shown_once)
{
	struct proc *serve = page_serve(pool_with("false"), 0);
	struct browser *browser = page_open_ready();
	for (int i = 0; i < 3; i++)
		client_post(fixture.client, fixture.dead, &(struct letter){.body = "dead"});
	reload(pool_with("true"));
	await_pools(1);
	fixture_post_held(serve, "held");
	reload(pool_with("false"));
	await_pools(2);
	browser_await(browser,
		"document.querySelector('[data-pool=first] [data-of=state]').textContent === 'consuming'");
	browser_await(browser,
		"document.querySelector(\"[data-of='Dead letters'] dd span\").textContent === '3'");
	browser_await(browser, "document.querySelectorAll('[data-pool]').length === 1");
	browser_await(
		browser, "document.querySelector('#answered').textContent.startsWith('1 pool,')");
	browser_await(browser, "document.querySelector('[data-why=first]').textContent.includes("
			       "'it replaces a pool that is draining, with 1 open task')");
	control_post_many(0, 50);
	control_await_figure("totals", "done", 50);
	fixture_release("held");
	await_pools(1);
	browser_await(browser,
		"!document.querySelector('[data-why=first]').textContent.includes('replaces')");
	ck_assert_ptr_null(strstr(browser_text(browser, "document.body.innerText"), "NaN"));
	page_expect_no_warnings(browser);
	browser_free(browser);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("page_replaced", {latest_pool_of_a_name_is_shown_once, 1});
}
