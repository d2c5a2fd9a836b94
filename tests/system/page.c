/* The page at /, in a browser: it shows what the API has, and requests no other host. */
#include "harness/page.h"
#include "harness/command.h"
#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/http.h"
#include "system/system.h"

#include <string.h>

/* The row of that pool must show this for a figure of the API. */
static void expect_figure(
	struct browser *browser, const char *pool, const char *of, const char *figure)
{
	browser_await(
		browser, scratch_text("document.querySelector(\"[data-pool='%s'] [data-of='%s']\")"
				      "?.textContent === '%s'",
				 pool, of, figure));
}

/* The same for what the broker is asked for every few seconds: its age may stand behind it. */
static void expect_aged_figure(
	struct browser *browser, const char *pool, const char *of, const char *figure)
{
	browser_await(browser, scratch_text("/^%s( \\(\\d+ s\\))?$/.test(document.querySelector("
					    "\"[data-pool='%s'] [data-of='%s']\")?.textContent)",
				       figure, pool, of));
}

START_TEST(page_shows_figures_of_the_api)
{
	struct browser *browser;
	page_serve(page_echo_pool("first", 2), 0);
	browser = page_open_ready();
	browser_await(browser, "document.title.startsWith('Ready')");
	for (int i = 0; i < 3; i++)
		client_post(fixture.client, fixture.queue,
			&(struct letter){.body = "x", .headers = {{"X-Status", "400"}}});
	control_post_many(0, 1234);
	control_expect_done(1234);
	const json_t *pool = control_member(control_get_json("/v1/pools"), "pools", 0);
	ck_assert_int_eq(control_number(pool, "totals", "done"), 1234);
	ck_assert_int_eq(control_number(pool, "totals", "given_up"), 3);
	expect_figure(browser, "first", "totals.done", "1,234");
	expect_figure(browser, "first", "totals.given_up", "3");
	expect_aged_figure(browser, "first", "tasks.dead_letters", "3");
	expect_figure(browser, "first", "totals.retried", "0");
	expect_figure(browser, "first", "workers.ready", "2/2");
	expect_figure(browser, "first", "workers.busy", "0");
	expect_figure(browser, "first", "tasks.open", "0/2");
	expect_aged_figure(browser, "first", "tasks.backlog", "0");
	browser_await(browser, "/^0 \\([2-9] s\\)$/.test(document.querySelector("
			       "\"[data-of='tasks.backlog']\").textContent)");
	expect_figure(browser, "first", "state", "consuming");
	browser_await(browser, "[...document.querySelectorAll('#figures div')].some((box) => "
			       "box.dataset.of === 'Dead letters' && box.innerText.includes('3'))");
	browser_await(browser, "document.querySelectorAll('#plots path[d*=L]').length >= 2");
	json_t *median = browser_value(browser,
		"Number(document.querySelector(\"[data-of='task_time.p50_s']\").textContent"
		".replace(/ ms$/, ''))");
	ck_assert(json_number_value(median) > 0);
	page_expect_no_warnings(browser);
	browser_free(browser);
}
END_TEST

/* Tasks are posted while the page is read. */
START_TEST(page_shows_rates_under_load)
{
	page_serve(page_echo_pool("first", 2), 0);
	struct browser *browser = page_open_ready();
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

/* How many seconds ago in the history of the pool its first tasks ended; -1: it has none of them.
 */
static json_int_t history_age(void)
{
	const json_t *history =
		control_member(control_get_json("/v1/history?pool=first"), "history", 0);
	const json_t *second = json_array_get(json_object_get(history, "seconds"), 0);
	return second ? json_integer_value(json_array_get(second, 0)) : -1;
}

/* The tasks are done before the page is opened, and more than their second is over: a line has two
 * points. Of live samples alone only the rates and their area have lines. */
START_TEST(page_shows_what_was_before_it_was_opened)
{
	page_serve(page_echo_pool("first", 2), 0);
	control_await("/readyz", 200);
	control_post_many(0, 400);
	control_expect_done(400);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (history_age() < 1)
		fixture_poll(deadline, 50, "the second after the tasks is over");
	struct browser *browser = page_open_ready();
	browser_await(browser,
		"/; done [^;]* now, [1-9][^;]* at most/.test(document.querySelector('#plots svg[role=img]').ariaLabel)");
	browser_await(browser, "document.querySelectorAll('#plots path[d*=L]').length >= 5");
	page_expect_no_warnings(browser);
	browser_free(browser);
}
END_TEST

/* Count the requests for figures and for the history, which fail, or stay without an answer. */
static const char history_fails[] =
	"window.asked = {pools: 0, history: 0}; window.fetch = ((real) => (path, options) => {"
	" if (!path.startsWith('v1/history')) {"
	"  window.asked.pools += path.startsWith('v1/pools'); return real(path, options); }"
	" window.asked.history++;"
	" return %s; })(window.fetch)";

START_TEST(page_needs_no_history)
{
	static const char *const ends[] = {
		"Promise.reject(new Error('closed'))", "new Promise(() => {})"};
	page_serve(page_echo_pool("first", 2), 0);
	control_await("/readyz", 200);
	struct browser *browser = browser_start(fixture.folder);
	json_decref(browser_command(browser, "Page.addScriptToEvaluateOnNewDocument",
		json_pack("{s:o}", "source", json_string(scratch_text(history_fails, ends[_i])))));
	browser_open(browser, scratch_text("http://%s/", page_address()));
	browser_await(browser, "document.querySelector('#verdict').textContent === 'Ready'");
	expect_figure(browser, "first", "workers.ready", "2/2");
	browser_await(browser, "window.asked.pools >= 3");
	json_t *count = browser_value(browser, "window.asked.history");
	ck_assert_int_eq(json_integer_value(count), 1);
	browser_free(browser);
}
END_TEST

START_TEST(page_requests_no_other_host)
{
	size_t i;
	json_t *url;
	struct http_reply reply;
	page_serve(page_echo_pool("first", 2), 0);
	struct browser *browser = page_open_ready();
	char *own = scratch_text("http://%s/", page_address());
	browser_await(browser, "performance.getEntriesByType('resource').length >= 6");
	json_array_foreach(browser_requests(browser), i, url)
	{
		const char *text = json_string_value(url);
		ck_assert_msg(strncmp(text, own, strlen(own)) == 0 ||
				      strncmp(text, "data:image/", 11) == 0,
			"it asks %s", text);
	}
	page_expect_no_warnings(browser);
	/* The policy also refuses other hosts and injected scripts. */
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
	reply = http_request(page_address(), "GET", "/");
	control_expect_text(reply.head, "Content-Security-Policy: default-src 'none'; ");
	control_expect_text(reply.head, "X-Content-Type-Options: nosniff");
	browser_free(browser);
}
END_TEST

#define EVIL "<img src=x onerror=\"document.title=1\">"

/* Names of pools are checked, names of queues and programs may be anything. */
START_TEST(hostile_names_are_shown_as_text)
{
	struct browser *browser;
	client_declare(fixture.client, EVIL, CLIENT_CLASSIC);
	page_serve(
		scratch_text(
			"- {name: odd, queue: '%s', command: [\"/bin/\\e \\n\\u202e\", '%s'], workers: 1}\n",
			EVIL, EVIL),
		0);
	browser = page_open();
	browser_await(browser,
		"document.querySelector('dl.facts')?.textContent.includes('" EVIL "') === true");
	browser_await(browser, "document.querySelector('.more tbody tr') !== null");
	browser_await(browser,
		"document.querySelector('dl.facts').textContent.includes('\\\\x1b \\\\n\\\\u202e') === true");
	json_t *images = browser_value(browser, "document.images.length");
	ck_assert_int_eq(json_integer_value(images), 0);
	expect_figure(browser, "odd", "workers.ready", "0/1");
	browser_await(browser,
		"document.querySelector('[data-why=odd]').textContent.includes('crash loop: 1 of 1 worker failed')");
	page_expect_no_warnings(browser);
	browser_free(browser);
	client_delete(fixture.client, EVIL);
}
END_TEST

/* Only a pool with sessions has such facts, and no key is among them. */
START_TEST(page_shows_sessions_without_keys)
{
	static const char facts[] = "document.querySelector('dl.facts')?.innerText";
	struct browser *browser;

	client_delete(fixture.client, fixture.queue);
	page_serve(scratch_text("- {name: first, queue: '%s', declare: on, command: ['%s'], "
				"session: {key: 'header:session'}}\n",
			   fixture.queue, fixture_built("workers/echo")),
		0);
	control_await("/readyz", 200);
	browser = page_open_ready();
	browser_await(browser, scratch_text("%s.includes('is the active one') === true", facts));
	RUN(0, "session", "pause", "first", "the-key"); /* which a standby refuses */
	browser_await(browser, scratch_text("%s.includes('1 paused') === true", facts));
	ck_assert_ptr_null(strstr(browser_text(browser, "document.body.innerText"), "the-key"));
	page_expect_no_warnings(browser);
	browser_free(browser);
}
END_TEST

START_TEST(page_shows_why_it_is_not_ready)
{
	struct browser *browser;
	page_serve(page_echo_pool("first", 2), 0);
	browser = page_open_ready();
	client_delete(fixture.client, fixture.queue);
	browser_await(browser, "document.querySelector('#verdict').textContent === 'Not ready'");
	browser_await(browser, scratch_text("document.querySelector('#reasons').textContent === "
					    "'pool first: not consuming its queue \"%s\": "
					    "the queue does not exist'",
				       fixture.queue));
	browser_await(browser,
		scratch_text("document.querySelector('[data-why=first].is-bad')?.textContent === "
			     "'not consuming its queue \"%s\": "
			     "the queue does not exist'",
			fixture.queue));
	client_declare(fixture.client, fixture.queue, CLIENT_QUORUM);
	browser_await(browser, "document.querySelector('#verdict').textContent === 'Ready'");
	browser_await(browser, "document.querySelector('#reasons').textContent === ''");
	browser_free(browser);
}
END_TEST

START_TEST(page_reconnects_to_restarted_supervisor)
{
	char *pools = page_echo_pool("first", 2);
	struct proc *first = page_serve(pools, 0);
	struct browser *browser = page_open_ready();
	char *since;
	fixture_stop(first);
	browser_await(browser, "/^No answer since \\d\\d:\\d\\d:\\d\\d$/.test("
			       "document.querySelector('#verdict').textContent)");
	since = browser_text(browser, "document.querySelector('#verdict').textContent");
	browser_await(browser, "document.title.startsWith('No answer since')");
	browser_await(
		browser, "/^for [2-9]/.test(document.querySelector('#answered').textContent)");
	ck_assert_str_eq(
		since, browser_text(browser, "document.querySelector('#verdict').textContent"));
	page_serve(pools, atoi(strchr(page_address(), ':') + 1));
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

START_TEST(workers_are_requested_for_open_pools_only)
{
	char *pools = scratch_text("%s", "");
	struct browser *browser;
	for (int i = 0; i < MANY_POOLS; i++)
		pools = scratch_text(
			"%s- {name: pool-%d, queue: '%s', command: ['%s'], workers: %d}\n", pools,
			i, fixture.replies, fixture_built("workers/echo"), MANY_WORKERS);
	page_serve(pools, 0);
	control_await("/readyz", 200);
	browser = page_open_ready();
	browser_await(browser, "document.querySelectorAll('[data-pool]').length === 50");
	expect_figure(browser, "pool-49", "workers.ready", "20/20");
	browser_await(browser, "document.querySelector('#figures').innerText.includes('1,000')");
	ck_assert_int_eq(workers_asked_for(browser), 0);
	json_decref(browser_value(
		browser, "document.querySelector(\"[data-pool='pool-7'] button\").click()"));
	browser_await(browser, "document.querySelectorAll('.more tbody tr').length === 20");
	ck_assert_int_ge(workers_asked_for(browser), 1);
	page_expect_no_warnings(browser);
	browser_free(browser);
}
END_TEST

START_TEST(first_workers_of_large_pool_are_shown)
{
	struct browser *browser;
	page_serve(page_echo_pool("first", 120), 0);
	browser = page_open_ready();
	browser_await(browser, "document.querySelectorAll('.more tbody tr').length === 50");
	browser_await(browser, "document.querySelector('.rest').textContent === 'Show all 120'");
	json_decref(browser_value(browser, "document.querySelector('.rest').click()"));
	browser_await(browser, "document.querySelectorAll('.more tbody tr').length === 120");
	browser_await(browser, "document.querySelector('.rest').hidden");
	browser_free(browser);
}
END_TEST

/* ---------- without a browser ---------- */

static const json_t *last_death(void)
{
	return json_object_get(
		control_member(control_get_json("/v1/pools"), "pools", 0), "last_death");
}

/* At the socket, which only the supervisor's own user can open, they are shown. */
START_TEST(stderr_of_workers_is_hidden_on_tcp)
{
	const json_t *death;
	char *open;
	page_serve(scratch_text("- {name: first, queue: '%s', workers: 1, "
				"command: [sh, -c, 'echo of the message >&2; exit 1']}\n",
			   fixture.queue),
		0);
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	while (!json_is_object(death = last_death()))
		fixture_poll(deadline, 20, "a worker has died");
	ck_assert_str_eq(control_text(death, "stderr"), "of the message");
	open = http_get(page_address(), "/v1/pools", 200);
	control_expect_text(open, "\"exit\":\"exit status 1\"");
	control_expect_text(open, "\"stderr\":null");
	ck_assert_ptr_null(strstr(open, "of the message"));
}
END_TEST

START_TEST(socket_serves_page_and_refuses_other_origins)
{
	struct http_reply reply;
	page_serve(page_echo_pool("first", 1), 0);
	control_await("/readyz", 200);
	control_expect_text(control_get("/", 200), "<!doctype html>");
	int fd = http_connect(control_socket());
	static const char foreign[] =
		"POST /v1/pause HTTP/1.0\r\nHost: wpool\r\nOrigin: http://x\r\n\r\n";
	http_send(fd, foreign, strlen(foreign));
	reply = http_read(fd);
	ck_assert_int_eq(reply.status, 403);
	control_get("/readyz", 200);
	ck_assert_int_eq(http_request(control_socket(), "POST", "/v1/pause").status, 200);
	ck_assert_int_eq(http_request(page_address(), "POST", "/").status, 405);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("page", {page_shows_figures_of_the_api, 1},
		{page_shows_rates_under_load, 1}, {page_shows_what_was_before_it_was_opened, 1},
		{page_needs_no_history, 2}, {page_requests_no_other_host, 1},
		{hostile_names_are_shown_as_text, 1}, {page_shows_sessions_without_keys, 1},
		{page_shows_why_it_is_not_ready, 1}, {page_reconnects_to_restarted_supervisor, 1},
		{workers_are_requested_for_open_pools_only, 1},
		{first_workers_of_large_pool_are_shown, 1}, {stderr_of_workers_is_hidden_on_tcp, 1},
		{socket_serves_page_and_refuses_other_origins, 1});
}
