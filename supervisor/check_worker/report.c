#include "check_worker/report.h"

#include "tty/console.h"
#include "tty/json_print.h"
#include "tty/text_table.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <sysexits.h>

#define BYTES_IN_LINE 16

static size_t count_of(const struct result *results, size_t count, enum trial_verdict verdict)
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++)
		found += results[i].verdict == verdict;
	return found;
}

/* ret: 3 characters for each byte. count: at least 1. */
static void hex_of(const uint8_t *bytes, size_t count, char *ret)
{
	for (size_t i = 0; i < count; i++) {
		snprintf(ret + 3 * i, 3, "%02x", bytes[i]);
		ret[3 * i + 2] = i + 1 < count ? ' ' : '\0';
	}
}

/* ---------- for people ---------- */

/* In hexadecimal and in ASCII, within 80 columns. */
static void print_bytes(const char *name, const struct fault_bytes *bytes)
{
	char hex[3 * BYTES_IN_LINE];
	for (size_t at = 0; at < bytes->shown; at += BYTES_IN_LINE) {
		size_t left = bytes->shown - at,
		       count = left < BYTES_IN_LINE ? left : BYTES_IN_LINE;
		hex_of(bytes->head + at, count, hex);
		printf("  %-11s%-*s  ", at == 0 ? name : "", 3 * BYTES_IN_LINE - 1, hex);
		for (size_t i = at; i < at + count; i++)
			putchar(isprint(bytes->head[i]) ? bytes->head[i] : '.');
		putchar('\n');
	}
	if (bytes->shown < bytes->len)
		printf("  %-11s... (%zu bytes)\n", "", bytes->len);
}

static void print_line(const char *name, const char *text)
{
	if (*text == '\0')
		return;
	printf("  %-11s", name);
	console_print(stdout, "%s", text);
	putchar('\n');
}

/* True: the task that was sent may be what the worker could not read. */
static bool is_about_task(enum fault_kind fault)
{
	return fault == FAULT_EXITED || fault == FAULT_NO_ANSWER || fault == FAULT_CLOSED ||
	       fault == FAULT_FAILED_TASK;
}

/* A check that needs an explanation. */
static void print_details(const struct result *result)
{
	const struct check *check = result->check;
	printf("\n%s: %s", check->name, verdict_name(result->verdict));
	printf(result->fault.kind == FAULT_NONE ? "\n" : " (%s)\n", fault_name(result->fault.kind));
	print_line("sent", check->sent);
	print_line("expected", check->expected);
	print_line("came", result->fault.came);
	print_bytes("its bytes", &result->fault.frame);
	if (is_about_task(result->fault.kind))
		print_bytes("the task", &result->sent);
	for (size_t i = 0; i < result->last_lines.count; i++)
		print_line(i == 0 ? "stderr" : "", result->last_lines.line[i]);
	print_line("likely", result->cause);
	if (check->only_for)
		print_line("only for", check->only_for);
}

static void print_sum(const struct result *results, size_t count)
{
	size_t wrong = count_of(results, count, VERDICT_WRONG);
	size_t not_shown = count_of(results, count, VERDICT_NOT_SHOWN);
	size_t not_run = count_of(results, count, VERDICT_NOT_RUN);
	printf("\n%zu of %zu checks right", count_of(results, count, VERDICT_OK), count);
	if (wrong > 0)
		printf(", %zu wrong", wrong);
	if (not_shown > 0)
		printf(", %zu not shown by this worker", not_shown);
	if (not_run > 0)
		printf(", %zu not run", not_run);
	putchar('\n');
}

int report_print(const struct result *results, size_t count)
{
	static const struct text_table_column columns[] = {
		{.title = "CHECK", .is_whole = true},
		{.title = "RESULT", .is_whole = true},
		{.title = "SENT"},
		{.title = "EXPECTED"},
		{.title = "CAME"},
	};
	struct text_table table;
	text_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < count && results[i].verdict != VERDICT_NOT_RUN; i++) {
		text_table_add(&table, text_from(results[i].check->name));
		text_table_add(&table, text_from(verdict_name(results[i].verdict)));
		text_table_add(&table, text_from(results[i].check->sent));
		text_table_add(&table, text_from(results[i].check->expected));
		text_table_add(&table, text_from(results[i].fault.came));
	}
	int exit_code = console_print_table("check-worker", &table);
	text_table_release(&table);
	if (exit_code != EX_OK)
		return exit_code;
	for (size_t i = 0; i < count; i++)
		if (results[i].fault.kind != FAULT_NONE || *results[i].cause)
			print_details(&results[i]);
	print_sum(results, count);
	return EX_OK;
}

/* ---------- for programs ---------- */

static int set_text(json_t *object, const char *key, const char *text)
{
	if (*text == '\0')
		return 0;
	return json_object_set_new(object, key, json_text(text_from(text)));
}

static int set_bytes(json_t *object, const char *key, const struct fault_bytes *bytes)
{
	char hex[3 * FAULT_BYTES_SHOWN];
	if (bytes->len == 0)
		return 0;
	hex_of(bytes->head, bytes->shown, hex);
	return json_object_set_new(
		object, key, json_pack("{s:s, s:I}", "hex", hex, "bytes", (json_int_t)bytes->len));
}

static int set_lines(json_t *object, const char *key, const struct last_lines *lines)
{
	json_t *list = json_array();
	int failed = list ? 0 : -1;
	if (lines->count == 0) {
		json_decref(list);
		return 0;
	}
	for (size_t i = 0; i < lines->count && !failed; i++)
		failed = json_array_append_new(list, json_text(text_from(lines->line[i])));
	return json_object_set_new(object, key, list) | failed;
}

/* NULL: out of memory. */
static json_t *json_of(const struct result *result)
{
	const struct check *check = result->check;
	json_t *object = json_object();
	int failed = object ? 0 : -1;
	failed |= set_text(object, "check", check->name);
	failed |= set_text(object, "result", verdict_name(result->verdict));
	if (result->fault.kind != FAULT_NONE)
		failed |= set_text(object, "fault", fault_name(result->fault.kind));
	failed |= set_text(object, "sent", check->sent);
	failed |= set_text(object, "expected", check->expected);
	failed |= set_text(object, "came", result->fault.came);
	failed |= set_bytes(object, "frame", &result->fault.frame);
	failed |= set_bytes(object, "task", &result->sent);
	failed |= set_lines(object, "stderr", &result->last_lines);
	failed |= set_text(object, "cause", result->cause);
	if (check->only_for)
		failed |= set_text(object, "only_for", check->only_for);
	if (!failed)
		return object;
	json_decref(object);
	return NULL;
}

bool report_print_json(const struct result *results, size_t count)
{
	json_t *list = json_array();
	int failed = list ? 0 : -1;
	for (size_t i = 0; i < count && !failed; i++)
		failed = json_array_append_new(list, json_of(&results[i]));
	if (failed) {
		json_decref(list);
		return json_print(NULL);
	}
	return json_print(json_pack("{s:b, s:o}", "right",
		count_of(results, count, VERDICT_WRONG) +
				count_of(results, count, VERDICT_NOT_RUN) ==
			0,
		"checks", list));
}

void report_progress(const struct check *check, size_t index, size_t count)
{
	if (check)
		fprintf(stderr, "\r\033[Kchecking %s (%zu of %zu)", check->name, index + 1, count);
	else
		fputs("\r\033[K", stderr);
	fflush(stderr);
}
