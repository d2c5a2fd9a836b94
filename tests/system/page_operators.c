/* The parts of the page for operators, in a browser: with the token they control a pool and handle
 * its dead letters; without it there is no such part, and nothing that a message says. */
#include "harness/control.h"
#include "harness/page.h"
#include "harness/scratch.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

#define TOKEN "0123456789abcdef0123456789abcdef"
#define EVIL  "<img src=x onerror=\"document.title=1\">"
/* The button with this text, if it is shown. */
#define BUTTON(text)                                                                               \
	"[...document.querySelectorAll('button')].find((button) => "                               \
	"button.checkVisibility() && button.textContent === '" text "')"

static void serve(bool has_token)
{
	char *path = scratch_text("%s/token", fixture.folder);
	FILE *file = fopen(path, "w");
	fputs(TOKEN "\n", file);
	fclose(file);
	page_serve_with(has_token ? scratch_text("WPOOL_HTTP_TOKEN_FILE=%s", path) : NULL,
		page_echo_pool("first", 1), 0);
	control_await("/readyz", 200);
}

static void post_dead(int count)
{
	for (int i = 0; i < count; i++)
		client_post(fixture.client, fixture.dead,
			&(struct letter){.body = "secret body",
				.message_id = scratch_text("m-%d", i),
				.headers = {{"x-wpool-queue", fixture.queue},
					{"x-wpool-reason", i % 2 ? "failed" : "crashed"},
					{"x-wpool-attempt", "3"}, {"x-wpool-stderr", EVIL},
					{"mine", "header text"}}});
}

static void click(struct browser *browser, const char *button)
{
	browser_await(browser, scratch_text("Boolean(%s)", button));
	json_decref(browser_value(browser, scratch_text("%s.click()", button)));
}

/* Enter the token as a user does. */
static void enter_token(struct browser *browser, const char *token)
{
	browser_await(browser, "document.querySelector('#token').checkVisibility()");
	json_decref(browser_value(browser,
		scratch_text("document.querySelector('#token input').value = '%s'", token)));
	click(browser, BUTTON("Control pools"));
}

static void expect_rows(struct browser *browser, int count)
{
	browser_await(browser,
		scratch_text(
			"document.querySelectorAll('[data-fingerprint]').length === %d", count));
}

/* The pool is open: it is the only one. */
static struct browser *open_page(void)
{
	struct browser *browser = page_open();
	browser_await(browser, "document.querySelector('.more tbody tr') !== null");
	return browser;
}

START_TEST(without_the_token_there_is_no_such_part)
{
	serve(_i);
	post_dead(2);
	struct browser *browser = open_page();
	browser_await(browser,
		"document.querySelector(\"[data-of='tasks.dead_letters']\").textContent === '2'");
	if (_i) {
		enter_token(browser, "not the token of this supervisor");
		browser_await(browser,
			"document.querySelector('#token').textContent.includes('does not accept')");
	}
	json_t *parts = browser_value(
		browser, "document.querySelectorAll('.controls, .letters, .act').length - 1");
	ck_assert_int_eq(json_integer_value(parts), 0); /* 1: of the form */
	json_t *is_form_shown =
		browser_value(browser, "document.querySelector('#token').checkVisibility()");
	ck_assert_int_eq(json_is_true(is_form_shown), _i);
	ck_assert_ptr_null(strstr(browser_text(browser, "document.body.innerText"), "header text"));
	browser_free(browser);
}
END_TEST

START_TEST(operator_controls_a_pool)
{
	serve(true);
	struct browser *browser = open_page();
	enter_token(browser, TOKEN);
	click(browser, BUTTON("Pause"));
	click(browser, BUTTON("Really pause?"));
	browser_await(
		browser, "document.querySelector('[data-of=state]').textContent === 'paused'");
	click(browser, BUTTON("Resume"));
	browser_await(
		browser, "document.querySelector('[data-of=state]').textContent === 'consuming'");
	json_decref(
		browser_value(browser, "document.querySelector('.controls input').value = '3'"));
	click(browser, BUTTON("Scale"));
	browser_await(browser,
		"document.querySelector(\"[data-of='workers.ready']\").textContent === '3/3'");
	json_decref(
		browser_value(browser, "document.querySelector('.controls input').value = 'many'"));
	click(browser, BUTTON("Scale"));
	browser_await(browser,
		"/range|number|1 to/.test(document.querySelector('.outcome').textContent)");
	click(browser, BUTTON("Restart"));
	click(browser, BUTTON("Really restart?"));
	browser_await(
		browser, "document.querySelector('.outcome').textContent === 'Done: restart'");
	browser_free(browser);
}
END_TEST

START_TEST(operator_kills_a_task)
{
	static const char slot[] = "document.querySelector('.controls input[placeholder=slot]')";
	serve(true);
	struct browser *browser = open_page();
	enter_token(browser, TOKEN);
	browser_await(browser, scratch_text("%s !== null", slot));
	json_decref(browser_value(browser, scratch_text("%s.value = '7'", slot)));
	click(browser, BUTTON("Kill its task"));
	click(browser, BUTTON("Really kill its task?"));
	browser_await(browser, "document.querySelector('.outcome').textContent === 'There is no "
			       "worker in this slot.'");
	client_post(fixture.client, fixture.queue,
		&(struct letter){
			.body = "held", .headers = {{"X-Until", fixture_release_path("held")}}});
	browser_await(browser, "document.querySelector('[data-slot=\"0\"] .state').textContent === "
			       "'busy'");
	json_decref(browser_value(browser, scratch_text("%s.value = '0'", slot)));
	click(browser, BUTTON("Give up its task"));
	click(browser, BUTTON("Really give up its task?"));
	browser_await(browser, "document.querySelector('.outcome').textContent === 'Done: kill'");
	fixture_release("held");
	control_await_figure("totals", "done", 1);
	browser_free(browser);
}
END_TEST

START_TEST(operator_handles_dead_letters)
{
	serve(true);
	post_dead(5);
	struct browser *browser = open_page();
	enter_token(browser, TOKEN);
	click(browser, BUTTON("Dead letters"));
	expect_rows(browser, 5);
	char *row =
		browser_text(browser, "document.querySelector('[data-fingerprint]').textContent");
	control_expect_text(row, "crashed");
	control_expect_text(row, EVIL); /* as text */
	control_expect_text(row, "m-0");
	control_expect_text(row, "header text");
	ck_assert_ptr_null(strstr(row, "secret body"));
	json_t *images = browser_value(browser, "document.images.length");
	ck_assert_int_eq(json_integer_value(images), 0);
	click(browser, "document.querySelector('[data-fingerprint] button')"); /* replay */
	expect_rows(browser, 4);
	control_await_figure("totals", "done", 1);
	click(browser, "document.querySelectorAll('[data-fingerprint] button')[1]");
	click(browser, BUTTON("Really drop?"));
	expect_rows(browser, 3);
	json_decref(browser_value(browser,
		"document.querySelector('.letters input').value = 'x-wpool-reason=crashed'"));
	click(browser, BUTTON("Show"));
	expect_rows(browser, 2);
	click(browser, BUTTON("Replay all that match"));
	click(browser, BUTTON("Really replay all that match?"));
	expect_rows(browser, 0);
	control_await_figure("totals", "done", 3);
	json_decref(browser_value(browser, "document.querySelector('.letters input').value = ''"));
	click(browser, BUTTON("Show"));
	expect_rows(browser, 1);
	click(browser, BUTTON("Drop all that match"));
	click(browser, BUTTON("Really drop all that match?"));
	expect_rows(browser, 0);
	client_expect_ready(fixture.client, fixture.dead, 0);
	page_expect_no_warnings(browser);
	browser_free(browser);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("page operators", {without_the_token_there_is_no_such_part, 2},
		{operator_controls_a_pool, 1}, {operator_kills_a_task, 1},
		{operator_handles_dead_letters, 1});
}
