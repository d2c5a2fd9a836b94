/* The page at /, in a browser: what it says is so, and it asks nobody else. */
#include "harness/page.h"
#include "harness/control.h"
#include "harness/http.h"
#include "system/system.h"

#include <string.h>

/* What stands in that pool's row for that figure of the API. */
static void expect_figure(
	struct browser *browser, const char *pool, const char *of, const char *figure)
{
	browser_await(
		browser, scratch_text("document.querySelector(\"[data-pool='%s'] [data-of='%s']\")"
				      "?.textContent === '%s'",
				 pool, of, figure));
}

START_TEST(its_figures_are_those_of_the_api)
{
	struct browser *browser;
	page_serve(page_echo_pool("first", 2), 0);
	browser = page_look_when_ready();
	browser_await(browser, "document.title.startsWith('Ready')");
	for (int i = 0; i < 3; i++)
		client_post(site.client, site.queue,
			&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	control_post_many(0, 1234);
	control_expect_done(1234);
	const json_t *pool = control_member(control_get_json("/v1/pools"), "pools", 0);
	ck_assert_int_eq(control_number(pool, "totals", "done"), 1234);
	ck_assert_int_eq(control_number(pool, "totals", "given_up"), 3);
	expect_figure(browser, "first", "totals.done", "1,234");
	expect_figure(browser, "first", "totals.given_up", "3");
	expect_figure(browser, "first", "totals.retried", "0");
	expect_figure(browser, "first", "workers.ready", "2/2");
	expect_figure(browser, "first", "workers.busy", "0");
	expect_figure(browser, "first", "tasks.backlog", "0");
	expect_figure(browser, "first", "state", "consuming");
	browser_await(browser, "[...document.querySelectorAll('#figures div')].some((box) => "
			       "box.dataset.of === 'Dead letters' && box.innerText.includes('3'))");
	browser_await(browser, "document.querySelectorAll('#plots path[d*=L]').length >= 2");
	json_t *median = browser_value(browser,
		"Number(document.querySelector(\"[data-of='task_time.p50_s']\").textContent"
		".replace(/ ms$/, ''))");
	ck_assert(json_number_value(median) > 0);
	page_expect_no_complaints(browser);
	browser_free(browser);
}
END_TEST

/* The rates are those of a flow that goes on while it is looked at. */
START_TEST(rates_are_seen_while_work_flows)
{
	page_serve(page_echo_pool("first", 2), 0);
	struct browser *browser = page_look_when_ready();
	for (int from = 0; from < 100000; from += 200) {
		control_post_many(from, from + 200);
		json_t *rate = browser_value(browser,
			"Number(document.querySelector('[data-pool=first]').children[5].textContent"
			".replaceAll(',', ''))");
		bool is_seen = json_number_value(rate) > 0;
		json_decref(rate);
		if (is_seen) {
			browser_free(browser);
			return;
		}
	}
	ck_abort_msg("no rate is shown");
}
END_TEST

START_TEST(nobody_else_is_asked)
{
	size_t i;
	json_t *url;
	struct http_reply reply;
	page_serve(page_echo_pool("first", 2), 0);
	struct browser *browser = page_look_when_ready();
	char *own = scratch_text("http://%s/", page_where());
	browser_await(browser, "performance.getEntriesByType('resource').length >= 6");
	json_array_foreach(browser_requests(browser), i, url)
	{
		const char *text = json_string_value(url);
		ck_assert_msg(strncmp(text, own, strlen(own)) == 0 ||
				      strncmp(text, "data:image/", 11) == 0,
			"it asks %s", text);
	}
	page_expect_no_complaints(browser);
	/* And could not, nor run what came into it. */
	char *refused = browser_text(browser,
		"new Promise((done) => { document.addEventListener('securitypolicyviolation', "
		"(event) => done(event.effectiveDirective)); fetch('http://127.0.0.2:9/')"
		".catch(() => {}); })");
	ck_assert_str_eq(refused, "connect-src");
	refused = browser_text(browser,
		"new Promise((done) => { document.addEventListener('securitypolicyviolation', "
		"(event) => done(event.effectiveDirective)); const script = "
		"document.createElement('script'); script.textContent = 'window.hit = 1'; "
		"document.body.append(script); })");
	ck_assert_str_eq(refused, "script-src-elem");
	reply = http_ask(page_where(), "GET", "/");
	control_expect_words(reply.head, "Content-Security-Policy: default-src 'none'; ");
	control_expect_words(reply.head, "X-Content-Type-Options: nosniff");
	browser_free(browser);
}
END_TEST

#define EVIL "<img src=x onerror=\"document.title=1\">"

/* Pools have harmless names; queues and programs have those that somebody gave them. */
START_TEST(a_hostile_name_is_a_text)
{
	struct browser *browser;
	client_declare(site.client, EVIL, CLIENT_CLASSIC);
	page_serve(scratch_text("- {name: odd, queue: '%s', command: ['/bin/%s'], workers: 1}\n",
			   EVIL, EVIL),
		0);
	browser = page_look();
	browser_await(browser,
		"document.querySelector('dl.facts')?.textContent.includes('" EVIL "') === true");
	browser_await(browser, "document.querySelector('.more tbody tr') !== null");
	json_t *images = browser_value(browser, "document.images.length");
	ck_assert_int_eq(json_integer_value(images), 0);
	expect_figure(browser, "odd", "workers.ready", "0/1");
	browser_await(browser,
		"document.querySelector('[data-why=odd]').textContent.includes('crash loop: 1 of 1 worker failed')");
	page_expect_no_complaints(browser);
	browser_free(browser);
	client_delete(site.client, EVIL);
}
END_TEST

START_TEST(trouble_is_told_with_its_reasons)
{
	struct browser *browser;
	page_serve(page_echo_pool("first", 2), 0);
	browser = page_look_when_ready();
	client_delete(site.client, site.queue);
	browser_await(browser, "document.querySelector('#verdict').textContent === 'Not ready'");
	browser_await(browser,
		scratch_text("document.querySelector('#reasons').textContent === "
			     "'pool first: not consuming its queue \"%s\", which may be missing; "
			     "the log says why'",
			site.queue));
	browser_await(browser,
		scratch_text("document.querySelector('[data-why=first].is-bad')?.textContent === "
			     "'not consuming its queue \"%s\", which may be missing; "
			     "the log says why'",
			site.queue));
	client_declare(site.client, site.queue, CLIENT_QUORUM);
	browser_await(browser, "document.querySelector('#verdict').textContent === 'Ready'");
	browser_await(browser, "document.querySelector('#reasons').textContent === ''");
	browser_free(browser);
}
END_TEST

START_TEST(a_lost_supervisor_is_told_and_found_again)
{
	char *pools = page_echo_pool("first", 2);
	struct proc *first = page_serve(pools, 0);
	struct browser *browser = page_look_when_ready();
	char *since;
	site_stop(first);
	browser_await(browser, "/^No answer since \\d\\d:\\d\\d:\\d\\d$/.test("
			       "document.querySelector('#verdict').textContent)");
	since = browser_text(browser, "document.querySelector('#verdict').textContent");
	browser_await(browser, "document.title.startsWith('No answer since')");
	browser_await(browser, "/^for [2-9]/.test(document.querySelector('#heard').textContent)");
	ck_assert_str_eq(
		since, browser_text(browser, "document.querySelector('#verdict').textContent"));
	page_serve(pools, atoi(strchr(page_where(), ':') + 1));
	browser_await(browser, "document.querySelector('#verdict').textContent === 'Ready'");
	browser_await(browser, "document.querySelectorAll('[data-pool=first]').length === 1");
	browser_free(browser);
}
END_TEST

/* ---------- many ---------- */

#define MANY_POOLS   50
#define MANY_WORKERS 20

static int workers_asked_for(const struct browser *browser)
{
	size_t i;
	json_t *url;
	int count = 0;

	json_array_foreach(browser_requests(browser), i, url) count +=
		strstr(json_string_value(url), "/v1/workers") != NULL;
	return count;
}

START_TEST(a_thousand_workers_are_shown_where_they_are_looked_at)
{
	char *pools = scratch_text("%s", "");
	struct browser *browser;
	for (int i = 0; i < MANY_POOLS; i++)
		pools = scratch_text(
			"%s- {name: pool-%d, queue: '%s', command: ['%s'], workers: %d}\n", pools,
			i, site.replies, site_built("workers/echo"), MANY_WORKERS);
	page_serve(pools, 0);
	control_await("/readyz", 200);
	browser = page_look_when_ready();
	browser_await(browser, "document.querySelectorAll('[data-pool]').length === 50");
	expect_figure(browser, "pool-49", "workers.ready", "20/20");
	browser_await(browser, "document.querySelector('#figures').innerText.includes('1,000')");
	ck_assert_int_eq(workers_asked_for(browser), 0);
	json_decref(browser_value(
		browser, "document.querySelector(\"[data-pool='pool-7'] button\").click()"));
	browser_await(browser, "document.querySelectorAll('.more tbody tr').length === 20");
	ck_assert_int_ge(workers_asked_for(browser), 1);
	page_expect_no_complaints(browser);
	browser_free(browser);
}
END_TEST

START_TEST(of_many_workers_of_a_pool_some_are_shown_first)
{
	struct browser *browser;
	page_serve(page_echo_pool("first", 120), 0);
	browser = page_look_when_ready();
	browser_await(browser, "document.querySelectorAll('.more tbody tr').length === 50");
	browser_await(browser, "document.querySelector('.rest').textContent === 'Show all 120'");
	json_decref(browser_value(browser, "document.querySelector('.rest').click()"));
	browser_await(browser, "document.querySelectorAll('.more tbody tr').length === 120");
	browser_await(browser, "document.querySelector('.rest').hidden");
	browser_free(browser);
}
END_TEST

/* ---------- without a browser ---------- */

/* At the socket they are told, to the supervisor's own user. */
START_TEST(what_workers_say_is_not_for_everybody)
{
	const json_t *death;
	char *open;
	page_serve(scratch_text("- {name: first, queue: '%s', workers: 1, "
				"command: [sh, -c, 'echo of the message >&2; exit 1']}\n",
			   site.queue),
		0);
	do
		death = json_object_get(
			control_member(control_get_json("/v1/pools"), "pools", 0), "last_death");
	while (!json_is_object(death));
	ck_assert_str_eq(control_words(death, "stderr"), "of the message");
	open = http_get(page_where(), "/v1/pools", 200);
	control_expect_words(open, "\"exit\":\"exit status 1\"");
	control_expect_words(open, "\"stderr\":null");
	ck_assert_ptr_null(strstr(open, "of the message"));
}
END_TEST

START_TEST(it_is_there_by_the_socket_too_and_steers_for_no_page)
{
	struct http_reply reply;
	page_serve(page_echo_pool("first", 1), 0);
	control_await("/readyz", 200);
	control_expect_words(control_get("/", 200), "<!doctype html>");
	int fd = http_connect(control_socket());
	static const char foreign[] =
		"POST /v1/pause HTTP/1.0\r\nHost: x\r\nOrigin: http://x\r\n\r\n";
	http_send(fd, foreign, strlen(foreign));
	reply = http_read(fd);
	ck_assert_int_eq(reply.status, 403);
	control_get("/readyz", 200);
	ck_assert_int_eq(http_ask(control_socket(), "POST", "/v1/pause").status, 200);
	ck_assert_int_eq(http_ask(page_where(), "POST", "/").status, 405);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("page", {its_figures_are_those_of_the_api, 1},
		{rates_are_seen_while_work_flows, 1}, {nobody_else_is_asked, 1},
		{a_hostile_name_is_a_text, 1}, {trouble_is_told_with_its_reasons, 1},
		{a_lost_supervisor_is_told_and_found_again, 1},
		{a_thousand_workers_are_shown_where_they_are_looked_at, 1},
		{of_many_workers_of_a_pool_some_are_shown_first, 1},
		{what_workers_say_is_not_for_everybody, 1},
		{it_is_there_by_the_socket_too_and_steers_for_no_page, 1});
}
