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

static struct proc *serve_pools(bool has_token, const char *pools)
{
	char *path = scratch_text("%s/token", fixture.folder);
	FILE *file = fopen(path, "w");
	fputs(TOKEN "\n", file);
	fclose(file);
	struct proc *proc = page_serve_with(
		has_token ? scratch_text("WPOOL_HTTP_TOKEN_FILE=%s", path) : NULL, pools, 0);
	control_await("/readyz", 200);
	return proc;
}

static void serve(bool has_token)
{
	serve_pools(has_token, page_echo_pool("first", 1));
}

/* A worker is killed a moment after it was asked to give its task up. */
static struct proc *serve_without_grace(void)
{
	return serve_pools(
		true, scratch_text("- {name: first, queue: '%s', command: ['%s'], workers: 1, "
				   "limits: {grace: 100ms}, "
				   "retry: {delay: 100ms, attempts: 9, dead_letter: '%s'}}\n",
			      fixture.queue, fixture_built("workers/echo"), fixture.dead));
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
		"document.querySelector(\"[data-of='tasks.dead_letters']\").textContent[0] === '2'");
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

/* Shown, with a text that this regular expression matches. */
#define BUTTON_LIKE(pattern)                                                                       \
	"[...document.querySelectorAll('button')].find((button) => "                               \
	"button.checkVisibility() && /^" pattern "$/.test(button.textContent))"
#define OUTCOME "document.querySelector('.controls .outcome').textContent"
#define LETTERS "document.querySelector('.letters .outcome').textContent"
#define FILTER  "document.querySelector('.letters input').value"

static void set_slot(struct browser *browser, const char *slot)
{
	static const char input[] = "document.querySelector('.controls input[placeholder=slot]')";

	browser_await(browser, scratch_text("%s !== null", input));
	json_decref(browser_value(browser, scratch_text("%s.value = '%s'", input, slot)));
}

/* The worker has this task, in this attempt, and the page shows it. */
static void await_task(struct browser *browser, const char *name, int attempt)
{
	browser_await(browser,
		scratch_text(
			"[...document.querySelectorAll('[data-slot=\"0\"] td')].some((cell) => "
			"cell.textContent === '%s')",
			name));
	browser_await(browser,
		scratch_text("document.querySelector('[data-slot=\"0\"] [data-title=Attempt]')"
			     ".textContent === '%d'",
			attempt));
}

START_TEST(operator_kills_a_task)
{
	struct proc *proc = serve_without_grace();
	struct browser *browser = open_page();
	enter_token(browser, TOKEN);
	set_slot(browser, "7");
	click(browser, BUTTON("Kill its task"));
	browser_await(browser, OUTCOME " === 'There is no worker in this slot.'");
	set_slot(browser, "0");
	click(browser, BUTTON("Kill its task"));
	browser_await(browser, OUTCOME " === 'The worker in slot 0 has no task.'");
	fixture_post_held(proc, "held");
	await_task(browser, "held", 1);
	click(browser, BUTTON("Kill its task"));
	click(browser, BUTTON_LIKE("Really kill task \\d+ of the worker in slot 0\\?"));
	await_task(browser, "held", 2);
	ck_assert_int_eq(control_figure("totals", "retried"), 1);
	ck_assert_int_eq(control_figure("totals", "given_up"), 0);
	click(browser, BUTTON("Give up its task"));
	click(browser, BUTTON_LIKE("Really give up task \\d+ of the worker in slot 0\\?"));
	control_await_figure("totals", "given_up", 1);
	ck_assert_int_eq(control_figure("given_up_by_reason", "killed"), 1);
	client_expect_ready(fixture.client, fixture.dead, 1);
	ck_assert_int_eq(control_figure("totals", "retried"), 1);
	ck_assert_int_eq(control_figure("totals", "done"), 0);
	browser_free(browser);
}
END_TEST

/* The question stays, however slow this machine is. */
static void keep_questions(struct browser *browser)
{
	json_decref(browser_value(browser,
		"window.setTimeout = ((real) => (call, ms) => ms === 5000 ? 0 : real(call, ms))"
		"(window.setTimeout), 0"));
}

/* The worker begins another task between the two clicks. */
START_TEST(only_the_task_in_the_question_is_killed)
{
	struct proc *proc = serve_without_grace();
	struct browser *browser = open_page();
	enter_token(browser, TOKEN);
	keep_questions(browser);
	fixture_post_held(proc, "seen");
	await_task(browser, "seen", 1);
	set_slot(browser, "0");
	click(browser, BUTTON("Kill its task"));
	browser_await(browser, "Boolean(" BUTTON_LIKE("Really kill task .*") ")");
	fixture_release("seen");
	fixture_post_held(proc, "unseen");
	await_task(browser, "unseen", 1);
	click(browser, BUTTON_LIKE("Really kill task .*"));
	browser_await(
		browser, OUTCOME ".startsWith('no worker of this pool has a task with this id')");
	fixture_release("unseen");
	control_await_figure("totals", "done", 2);
	ck_assert_int_eq(control_figure("totals", "retried"), 0);
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
	click(browser, BUTTON("Really replay 2 messages with x-wpool-reason=crashed?"));
	expect_rows(browser, 0);
	control_await_figure("totals", "done", 3);
	json_decref(browser_value(browser, "document.querySelector('.letters input').value = ''"));
	click(browser, BUTTON("Show"));
	expect_rows(browser, 1);
	click(browser, BUTTON("Drop all that match"));
	click(browser, BUTTON("Really drop 1 message?"));
	expect_rows(browser, 0);
	client_expect_ready(fixture.client, fixture.dead, 0);
	page_expect_no_warnings(browser);
	browser_free(browser);
}
END_TEST

static void expect_changes_disabled(struct browser *browser, bool are)
{
	browser_await(browser, scratch_text("%s.disabled === %s", BUTTON("Drop all that match"),
				       are ? "true" : "false"));
	browser_await(browser, scratch_text("%s.disabled === %s", BUTTON("Replay all that match"),
				       are ? "true" : "false"));
}

/* Not what the filter says later, nor what has come since then. */
START_TEST(changes_are_of_the_list_that_is_shown)
{
	serve(true);
	post_dead(5);
	struct browser *browser = open_page();
	enter_token(browser, TOKEN);
	keep_questions(browser);
	click(browser, BUTTON("Dead letters"));
	expect_rows(browser, 5);
	json_decref(browser_value(browser, FILTER " = 'x-wpool-reason=crashed'"));
	click(browser, BUTTON("Show"));
	expect_rows(browser, 3);
	json_decref(browser_value(browser, FILTER " = ''"));
	post_dead(1);
	click(browser, BUTTON("Drop all that match"));
	click(browser, BUTTON("Really drop 3 messages with x-wpool-reason=crashed?"));
	browser_await(browser, LETTERS " === '3 dropped; 3 of 3 messages'");
	post_dead(1);
	click(browser, BUTTON("Drop all that match"));
	click(browser, BUTTON("Really drop 3 messages?"));
	browser_await(browser, LETTERS " === '3 dropped; 1 of 1 message'");
	browser_free(browser);
}
END_TEST

/* The question was about the list before: the second click asks about the one that is shown. */
START_TEST(another_list_forgets_the_first_click)
{
	serve(true);
	post_dead(5);
	struct browser *browser = open_page();
	enter_token(browser, TOKEN);
	keep_questions(browser);
	click(browser, BUTTON("Dead letters"));
	expect_rows(browser, 5);
	click(browser, BUTTON("Drop all that match"));
	browser_await(browser, scratch_text("Boolean(%s)", BUTTON("Really drop 5 messages?")));
	json_decref(browser_value(browser, FILTER " = 'x-wpool-reason=crashed'"));
	click(browser, BUTTON("Show"));
	expect_rows(browser, 3);
	click(browser, BUTTON("Drop all that match"));
	click(browser, BUTTON("Really drop 3 messages with x-wpool-reason=crashed?"));
	browser_await(browser, LETTERS " === '3 dropped; 0 of 2 messages'");
	client_expect_ready(fixture.client, fixture.dead, 2);
	browser_free(browser);
}
END_TEST

/* Of a list that was empty, or could not be had, there is nothing to drop. */
START_TEST(changes_need_a_list)
{
	serve(true);
	struct browser *browser = open_page();
	enter_token(browser, TOKEN);
	click(browser, BUTTON("Dead letters"));
	browser_await(browser, LETTERS " === '0 of 0 messages'");
	expect_changes_disabled(browser, true);
	post_dead(1);
	click(browser, BUTTON("Show"));
	expect_rows(browser, 1);
	expect_changes_disabled(browser, false);
	client_delete(fixture.client, fixture.dead);
	click(browser, BUTTON("Show"));
	browser_await(browser, LETTERS ".startsWith('there is no queue')");
	expect_rows(browser, 0);
	expect_changes_disabled(browser, true);
	browser_free(browser);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("page operators", {without_the_token_there_is_no_such_part, 2},
		{operator_controls_a_pool, 1}, {operator_kills_a_task, 1},
		{only_the_task_in_the_question_is_killed, 1}, {operator_handles_dead_letters, 1},
		{changes_are_of_the_list_that_is_shown, 1},
		{another_list_forgets_the_first_click, 1}, {changes_need_a_list, 1});
}
