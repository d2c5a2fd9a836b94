/* What a line about a task says: which task, who had it, how it ended, and why it is the last try.
 */
#include "runtime/report/report.h"
#include "amqp/table.h"
#include "core/tasks/delivery.h"
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct report report = {.pool = "pool",
	.command = "worker",
	.queue = "orders",
	.dead_letters = "orders.dead",
	.max_body = 16,
	.wanted = 1};

/* Replaces the function of worker/workers.c. */
pid_t workers_pid(const struct workers *workers, uint16_t slot, uint32_t life)
{
	(void)workers, (void)slot, (void)life;
	return 77;
}

/* What a line says behind its time; good until the next call. notice NULL: the summary. */
static const char *said(enum log_format format, const struct notice *notice)
{
	static char text[4096];
	int fd = memfd_create("log", MFD_CLOEXEC);
	log_setup(fd, LOG_DEBUG, format, false);
	if (notice)
		report_notice(&report, notice);
	else
		report_log_summary(&report, false);
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	log_setup(2, LOG_INFO, LOG_TEXT, false);
	close(fd);
	return format == LOG_JSON ? strstr(text, "\"level\"")
				  : text + strlen("0000-00-00 00:00:00.000 ");
}

static struct delivery *delivery_of(const char *correlation_id, const char *message_id)
{
	struct delivery *delivery = delivery_new(0);
	delivery->tag = 57;
	delivery->correlation_id = text_from(correlation_id);
	delivery->message_id = text_from(message_id);
	return delivery;
}

/* Keys may be personal, and logs are kept: they are on the control socket only. */
START_TEST(a_blocked_session_is_logged_without_its_key)
{
	struct delivery *delivery = delivery_of("4711", "");
	struct notice notice = {.kind = NOTICE_SESSION_BLOCKED,
		.slot = -1,
		.delivery = delivery,
		.reason = REASON_TOO_LARGE};
	delivery->key = TEXT("acme\n1");
	ck_assert_ptr_nonnull(strstr(said(LOG_TEXT, &notice),
		"task 4711 too-large (a body of 0 bytes; with its headers it is over max_body, 16, "
		"and 1 MiB); its session is blocked until wpool session retry or skip"));
	ck_assert_ptr_null(strstr(said(LOG_JSON, &notice), "acme"));
	delivery_free(delivery);
}
END_TEST

START_TEST(a_task_is_called_by_its_best_id)
{
	static const char *const names[][3] = {
		{"4711", "m-1", "4711"},
		{"", "m-1", "m-1"},
		{"", "", "#57"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char expected[200];
		struct delivery *delivery = delivery_of(names[i][0], names[i][1]);
		struct output *output = output_new(0);
		struct notice notice = {.kind = NOTICE_TASK_RETRIED,
			.slot = 3,
			.delivery = delivery,
			.output = output,
			.reason = REASON_FAILED,
			.attempt = 2,
			.attempts = 3};
		output->status = 503;
		delivery->attempt = 1;
		snprintf(expected, sizeof expected,
			"warn  pool/3[77] task %s failed with status 503, attempt 2 of 3; "
			"retrying\n",
			names[i][2]);
		ck_assert_str_eq(said(LOG_TEXT, &notice), expected);
		snprintf(expected, sizeof expected,
			"\"level\":\"warn\",\"pool\":\"pool\",\"slot\":3,\"pid\":77,\"task\":\"%s\","
			"\"attempt\":2,\"reason\":\"failed\",\"status\":503,\"msg\":\"task %s failed ",
			names[i][2], names[i][2]);
		ck_assert_int_eq(strncmp(said(LOG_JSON, &notice), expected, strlen(expected)), 0);
		notice.attempt = 4; /* an operator ordered it */
		ck_assert_ptr_nonnull(
			strstr(said(LOG_TEXT, &notice), ", attempt 4 (retry.attempts: 3); "));
		output_free(output);
		delivery_free(delivery);
	}
}
END_TEST

/* A log of warnings alone explains them. */
START_TEST(a_failure_has_the_last_line_of_the_worker)
{
	struct delivery *delivery = delivery_of("4711", "");
	struct output *output =
		output_add_stderr_line(output_new(0), TEXT("ValueError: \x1b[31mno\0amount"));
	struct notice notice = {.kind = NOTICE_TASK_RETRIED,
		.slot = 3,
		.delivery = delivery,
		.output = output,
		.reason = REASON_FAILED,
		.attempt = 1,
		.attempts = 3};
	output->status = 500;
	ck_assert_str_eq(said(LOG_TEXT, &notice),
		"warn  pool/3[77] task 4711 failed with status 500, attempt 1 of 3; retrying; last "
		"stderr line: ValueError: \\x1b[31mno\\x00amount\n");
	output_free(output);
	delivery_free(delivery);
}
END_TEST

/* Texts of others may have any byte: none of them cuts the line or is obeyed. */
START_TEST(texts_of_others_are_shown_whole)
{
	struct delivery *delivery = delivery_of("", "");
	struct output *output = output_new(0);
	struct notice notice = {.kind = NOTICE_TASK_GIVEN_UP,
		.slot = 3,
		.delivery = delivery,
		.output = output,
		.reason = REASON_UNROUTABLE,
		.attempt = 1,
		.attempts = 1};
	struct notice refused = {.kind = NOTICE_PARCEL_REFUSED,
		.slot = 3,
		.delivery = delivery,
		.duration = MTIME_SECOND,
		.what = "found no queue"};
	delivery->correlation_id = TEXT("4\0x");
	delivery->reply_to = TEXT("victim\0.replies\n\xff");
	ck_assert_str_eq(said(LOG_TEXT, &notice),
		"warn  pool/3[77] task 4\\x00x unroutable: no queue \"victim\\x00.replies\\n\xef\xbf\xbd\" "
		"for its reply, attempt 1 of 1; given up, moving it to queue \"orders.dead\"\n");
	ck_assert_ptr_nonnull(strstr(said(LOG_JSON, &notice),
		"no queue \\\"victim\\\\x00.replies\\\\n\xef\xbf\xbd\\\" for its reply"));
	delivery->parcel.kind = PARCEL_REPLY;
	delivery->parcel.output = output;
	ck_assert_ptr_nonnull(strstr(said(LOG_TEXT, &refused),
		"the reply of task 4\\x00x to queue \"victim\\x00.replies\\n\xef\xbf\xbd\" found no queue; "));
	delivery_free(delivery);
}
END_TEST

/* Whoever looks for a trace finds its tasks, as fields and in words. */
START_TEST(a_line_has_the_trace_of_its_task)
{
	static const char id[] = "4bf92f3577b34da6a3ce929d0e0e4736";
	struct delivery *delivery = delivery_of("4711", "");
	struct buf headers;
	char value[64], words[100];
	struct notice notice = {.kind = NOTICE_TASK_DONE, .slot = 3, .delivery = delivery};
	snprintf(value, sizeof value, "00-%s-00f067aa0ba902b7-01", id);
	buf_init(&headers, SIZE_MAX);
	table_put_string(&headers, TEXT("traceparent"), text_from(value));
	delivery->headers = buf_text(&headers);
	snprintf(words, sizeof words, "task 4711 (trace %s) done in ", id);
	ck_assert_ptr_nonnull(strstr(said(LOG_TEXT, &notice), words));
	snprintf(words, sizeof words, "\"task\":\"4711\",\"trace_id\":\"%s\",", id);
	ck_assert_ptr_nonnull(strstr(said(LOG_JSON, &notice), words));
	delivery->headers = TEXT_NONE;
	ck_assert_ptr_null(strstr(said(LOG_TEXT, &notice), "trace"));
	ck_assert_ptr_null(strstr(said(LOG_JSON, &notice), "trace"));
	buf_release(&headers);
	delivery_free(delivery);
}
END_TEST

/* A task that is given up before its last try says why. */
START_TEST(a_given_up_task_has_its_reason_and_attempt)
{
	static const struct {
		enum reason reason;
		int slot;
		uint32_t attempt;
		struct exit_info exit;
		const char *what;
		uint32_t retried;
		const char *expected;
	} cases[] = {
		{REASON_FAILED, 3, 2, {0}, NULL, 0, "failed, attempt 2 of 4, not in retry.on"},
		/* an operator skipped it, or closed its session */
		{REASON_FAILED, 3, 2, {0}, NULL, 1u << REASON_FAILED, "failed, attempt 2 of 4"},
		{REASON_SESSION_CLOSED, 3, 2, {0}, NULL, 0, "session-closed"},
		{REASON_TIMED_OUT, 3, 2, {EXIT_SIGNAL, 15, NULL}, NULL, 0,
			"timed-out (signal 15 (Terminated)), attempt 2 of 4, not in retry.on"},
		{REASON_CRASHED, 3, 4, {EXIT_SIGNAL, 9, "over a limit"}, NULL, 0,
			"crashed (signal 9 (Killed), over a limit), attempt 4 of 4"},
		{REASON_TIMED_OUT, 3, 4, {EXIT_SIGNAL, 15, NULL}, NULL, 0,
			"timed-out (signal 15 (Terminated)), attempt 4 of 4"},
		{REASON_PROTOCOL, 3, 4, {EXIT_SIGNAL, 9, NULL}, "an unknown status", 0,
			"protocol-error (an unknown status), attempt 4 of 4"},
		{REASON_REJECTED, 3, 1, {0}, NULL, 0, "rejected, attempt 1 of 4"},
		{REASON_TOO_LARGE, -1, 1, {0}, NULL, 0,
			"too-large (a body of 0 bytes; with its headers it is over max_body, 16, "
			"and 1 MiB)"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char expected[200];
		struct delivery *delivery = delivery_of("x", "");
		struct notice notice = {.kind = NOTICE_TASK_GIVEN_UP,
			.slot = cases[i].slot,
			.delivery = delivery,
			.reason = cases[i].reason,
			.attempt = cases[i].attempt,
			.attempts = 4,
			.retried = cases[i].retried,
			.exit = cases[i].exit,
			.what = cases[i].what};
		snprintf(expected, sizeof expected,
			"warn  pool%s task x %s; given up, moving it to queue \"orders.dead\"\n",
			cases[i].slot == 3 ? "/3[77]" : "", cases[i].expected);
		ck_assert_str_eq(said(LOG_TEXT, &notice), expected);
		delivery_free(delivery);
	}
}
END_TEST

/* No worker, no attempt: neither in words nor in a field. */
START_TEST(a_task_without_a_worker_has_no_attempt)
{
	static const struct {
		int slot;
		const char *expected;
	} cases[] = {
		{3, "\"task\":\"x\",\"attempt\":1,\"reason\":\"too-large\""},
		{-1, "\"task\":\"x\",\"reason\":\"too-large\""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct delivery *delivery = delivery_of("x", "");
		struct notice notice = {.kind = NOTICE_TASK_GIVEN_UP,
			.slot = cases[i].slot,
			.delivery = delivery,
			.reason = REASON_TOO_LARGE,
			.attempt = 1,
			.attempts = 4};
		const char *line = said(LOG_JSON, &notice);
		ck_assert_msg(strstr(line, cases[i].expected) != NULL, "%s", line);
		delivery_free(delivery);
	}
}
END_TEST

/* Which queue is missing, and what helps; of one that is being made the first time is no news. */
START_TEST(a_refused_parcel_is_warned_of_once)
{
	static const struct {
		enum parcel_kind kind;
		mtime delay;
		uint16_t refusals;
		const char *expected;
	} cases[] = {
		{PARCEL_DEAD_LETTER, 0, 1,
			"warn  pool/3[77] the dead letter of task x to queue \"orders.dead\" found no queue; "},
		{PARCEL_DEAD_LETTER, 0, 2, "debug pool/3[77] the dead letter"},
		{PARCEL_RETRY, 2 * MTIME_SECOND, 1,
			"debug pool/3[77] the copy for the next attempt of task x to queue \"orders.retry.2s\" "},
		{PARCEL_RETRY, 2 * MTIME_SECOND, 2,
			"warn  pool/3[77] the copy for the next attempt"},
		{PARCEL_POSTPONE, 2 * MTIME_SECOND, 1,
			"debug pool/3[77] the copy for later of task x to queue \"orders.retry.2s\" "},
		{PARCEL_POSTPONE, 2 * MTIME_SECOND, 2, "warn  pool/3[77] the copy for later"},
		{PARCEL_RETRY, 0, 3,
			"debug pool/3[77] the copy for the next attempt of task x to queue \"orders\" "},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct delivery *delivery = delivery_of("x", "");
		struct notice notice = {.kind = NOTICE_PARCEL_REFUSED,
			.slot = 3,
			.delivery = delivery,
			.duration = MTIME_SECOND,
			.what = "found no queue"};
		delivery->parcel.kind = cases[i].kind;
		delivery->parcel.delay = cases[i].delay;
		delivery->parcel.refusals = cases[i].refusals;
		delivery->parcel.returned = true;
		const char *line = said(LOG_TEXT, &notice);
		ck_assert_msg(strncmp(line, cases[i].expected, strlen(cases[i].expected)) == 0,
			"%s", line);
		ck_assert_ptr_nonnull(strstr(line,
			"(declare it as docs/retries.md says, or give the user the right to "
			"configure it)"));
		delivery_free(delivery);
	}
}
END_TEST

/* Why one is replaced. */
START_TEST(a_replaced_worker_has_its_reason)
{
	static const struct {
		struct notice notice;
		const char *expected;
	} cases[] = {
		{{.recycled = RECYCLE_TASKS, .number = 1},
			"info  pool/3[77] replacing worker: it has done 1 task\n"},
		{{.recycled = RECYCLE_TASKS, .number = 100},
			"info  pool/3[77] replacing worker: it has done 100 tasks\n"},
		{{.recycled = RECYCLE_AGE, .duration = 60 * MTIME_MINUTE},
			"info  pool/3[77] replacing worker: its age is 60 min\n"},
		{{.recycled = RECYCLE_MEMORY, .bytes = 513 << 20},
			"info  pool/3[77] replacing worker: it has 513 MiB, more than "
			"recycle.memory\n"},
		{{.recycled = RECYCLE_KILL, .bytes = 513 << 20},
			"warn  pool/3[77] killing worker: it has 513 MiB, more than "
			"recycle.memory_kill\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct notice notice = cases[i].notice;
		notice.kind = NOTICE_WORKER_RECYCLED;
		notice.slot = 3;
		ck_assert_str_eq(said(LOG_TEXT, &notice), cases[i].expected);
	}
	ck_assert_uint_eq(report.statistics.recycled[RECYCLE_TASKS], 2);
	ck_assert_uint_eq(report.statistics.recycled[RECYCLE_KILL], 1);
}
END_TEST

/* Which of several open tasks ended its worker, or that it is not known: then the line is about no
 * task. */
START_TEST(a_worker_with_several_open_tasks_names_the_cause)
{
	static const struct {
		struct notice notice;
		const char *expected;
		bool names_task;
	} cases[] = {
		{{.kind = NOTICE_WORKER_DIED, .open = 37, .are_suspects = true},
			"worker died: exit status 3; 37 tasks were open, and which of them ended it "
			"is not known: each runs alone now, and no attempt is counted; starting "
			"another in 0 ms\n",
			false},
		{{.kind = NOTICE_WORKER_DIED, .open = 1},
			"worker died: exit status 3; starting another in 0 ms\n", true},
		{{.kind = NOTICE_WORKER_LEFT, .open = 2, .are_suspects = true},
			"worker left: exit status 3; 2 tasks were open, and which of them ended it "
			"is not known: each runs alone now, and no attempt is counted\n",
			false},
		{{.kind = NOTICE_WORKER_BROKEN, .open = 3, .what = "an unknown status"},
			"worker broke the pipe protocol: an unknown status in task x; the 2 others "
			"that were open go back, and no attempt of theirs is counted; killing it\n",
			true},
		{{.kind = NOTICE_WORKER_BROKEN, .open = 3, .what = "no map", .are_suspects = true},
			"worker broke the pipe protocol: no map; which of its 3 open tasks is the "
			"cause is not known; killing it\n",
			false},
		{{.kind = NOTICE_WORKER_BROKEN, .open = 1, .what = "no map"},
			"worker broke the pipe protocol: no map; killing it\n", true},
		{{.kind = NOTICE_WORKER_OVERDUE, .open = 2, .what = "hard limit"},
			"worker exceeded its hard limit (0 ms) in task x; the other that was open "
			"goes back, and no attempt of it is counted; ending it\n",
			true},
		{{.kind = NOTICE_WORKER_OVERDUE,
			 .open = 2,
			 .what = "hard limit",
			 .are_suspects = true},
			"worker exceeded its hard limit (0 ms); which of its 2 open tasks is the "
			"cause is not known; ending it\n",
			false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct delivery *delivery = delivery_of("x", "");
		struct notice notice = cases[i].notice;
		notice.slot = 3;
		notice.delivery = delivery;
		notice.exit = (struct exit_info){.kind = EXIT_STATUS, .number = 3};
		delivery->is_blamed = !notice.are_suspects;
		const char *line = strstr(said(LOG_TEXT, &notice), "worker ");
		ck_assert_msg(strncmp(line, cases[i].expected, strlen(cases[i].expected)) == 0,
			"%s", line);
		ck_assert_int_eq(strstr(said(LOG_JSON, &notice), "\"task\":\"x\"") != NULL,
			cases[i].names_task);
		delivery_free(delivery);
	}
	/* Each line was logged twice. */
	ck_assert_uint_eq(report.statistics.suspects, 2 * (37 + 2));
}
END_TEST

/* What operators asked a pool for. */
START_TEST(commands_are_logged_for_the_pool)
{
	static const struct scaling fixed = {.min = 8, .max = 8};
	static const struct scaling grew = {
		.cause = SCALING_GREW, .before = 4, .after = 8, .min = 2, .max = 32, .figure = 6};
	static const struct scaling shrank = {.cause = SCALING_SHRANK,
		.before = 4,
		.after = 3,
		.min = 2,
		.max = 32,
		.figure = 1,
		.span = MTIME_MINUTE};
	static const struct {
		struct notice notice;
		const char *expected;
	} cases[] = {
		{{.kind = NOTICE_PAUSED},
			"info  pool paused: no new tasks; workers finish those they have"},
		{{.kind = NOTICE_RESUMED}, "info  pool resumed\n"},
		{{.kind = NOTICE_SCALED, .number = 1, .scaling = &fixed},
			"info  pool scaled: 1 worker wanted\n"},
		{{.kind = NOTICE_SCALED, .number = 8, .scaling = &fixed},
			"info  pool scaled: 8 workers wanted\n"},
		{{.kind = NOTICE_SCALED, .number = 8, .scaling = &grew},
			"info  pool scaled: 8 workers wanted, as many as are needed from 2 to "
			"32\n"},
		{{.kind = NOTICE_GROWN, .number = 8, .scaling = &grew},
			"info  pool growing from 4 to 8 workers: no worker was free and 6 "
			"tasks waited\n"},
		{{.kind = NOTICE_SHRUNK, .number = 3, .scaling = &shrank},
			"info  pool shrinking from 4 to 3 workers: at most 1 worker was "
			"needed for 60.0 s\n"},
		{{.kind = NOTICE_GROWTH_REFUSED, .number = 64},
			"warn  pool not enough memory for 64 workers; retrying in 10 s\n"},
		{{.kind = NOTICE_WINDOW_KEPT, .number = 2000, .open = 10},
			"info  pool up to 2000 messages may be unacked, as before: a smaller "
			"prefetch would break the order of what may come back. prefetch: 10 is "
			"used when nothing is unacked\n"},
		{{.kind = NOTICE_ROLL_BEGINS, .number = 8},
			"info  pool restarting 8 workers one by one: "},
		{{.kind = NOTICE_ROLL_ENDS}, "info  pool restarted: all workers are new\n"},
		{{.kind = NOTICE_ROLL_STOPS, .what = "it rains"},
			"warn  pool restart given up: it rains; the other old workers stay\n"},
		{{.kind = NOTICE_COMMAND_REFUSED, .what = "it rains"},
			"warn  pool command refused: it rains\n"},
		{{.kind = NOTICE_SESSION_COMMAND_REFUSED, .what = "it rains"},
			"debug pool command for a session refused: it rains\n"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct notice notice = cases[i].notice;
		notice.slot = -1;
		const char *line = said(LOG_TEXT, &notice);
		ck_assert_msg(strncmp(line, cases[i].expected, strlen(cases[i].expected)) == 0,
			"%s", line);
	}
	ck_assert_uint_eq(report.wanted, 8);
}
END_TEST

START_TEST(a_summary_leaves_out_what_is_zero)
{
	struct statistics *statistics = &report.statistics;

	*statistics = (struct statistics){0};
	ck_assert_str_eq(said(LOG_TEXT, NULL), "info  pool drained: 0 done\n");
	statistics->counts[NOTICE_TASK_DONE] = 7;
	statistics->counts[NOTICE_TASK_RETRIED] = 3;
	statistics->retried[REASON_FAILED] = 2;
	statistics->retried[REASON_CRASHED] = 1;
	statistics->counts[NOTICE_TASK_CUT_SHORT] = 1;
	ck_assert_str_eq(said(LOG_TEXT, NULL),
		"info  pool drained: 7 done, 3 retried (2 failed, 1 crashed), 1 cut short\n");
	*statistics = (struct statistics){0};
	statistics->counts[NOTICE_TASK_POSTPONED] = 4;
	statistics->counts[NOTICE_TASK_REFUSED] = 5;
	ck_assert_str_eq(said(LOG_TEXT, NULL),
		"info  pool drained: 0 done, 4 postponed by a throttle, 5 refused by a throttle\n");
}
END_TEST

/* What came goes with what was wrong: into the line of the worker, and into that of its task. */
START_TEST(a_protocol_error_has_its_value)
{
	struct delivery *delivery = delivery_of("4711", "");
	struct output *output = output_add_detail(NULL, TEXT("the text \"200\"\x1b"));
	struct notice broken = {.kind = NOTICE_WORKER_BROKEN,
		.slot = 3,
		.output = output,
		.what = "a status that is no integer"};
	struct notice died = {.kind = NOTICE_WORKER_DIED,
		.slot = 3,
		.output = output,
		.exit = {.kind = EXIT_SIGNAL, .number = 9},
		.duration = MTIME_SECOND};
	struct notice retried = {.kind = NOTICE_TASK_RETRIED,
		.slot = 3,
		.delivery = delivery,
		.output = output,
		.what = broken.what,
		.exit = died.exit,
		.reason = REASON_PROTOCOL,
		.attempt = 1,
		.attempts = 3};
	ck_assert_str_eq(said(LOG_TEXT, &broken),
		"warn  pool/3[77] worker broke the pipe protocol: a status that is no integer (the "
		"text \"200\"\\x1b); killing it\n");
	ck_assert_ptr_nonnull(strstr(said(LOG_TEXT, &died),
		"worker died: signal 9 (Killed) (the text \"200\"\\x1b); starting another in 1.0 s\n"));
	ck_assert_str_eq(said(LOG_TEXT, &retried),
		"warn  pool/3[77] task 4711 protocol-error (a status that is no integer: the text "
		"\"200\"\\x1b), attempt 1 of 3; retrying\n");
	retried.what = NULL; /* it died in the middle of a frame */
	ck_assert_ptr_nonnull(strstr(
		said(LOG_TEXT, &retried), " (signal 9 (Killed): the text \"200\"\\x1b), attempt"));
	output_free(output);
	delivery_free(delivery);
}
END_TEST

START_TEST(a_task_that_is_too_large_has_its_size)
{
	struct delivery *delivery = delivery_of("4711", "");
	struct notice notice = {.kind = NOTICE_TASK_GIVEN_UP,
		.slot = -1,
		.delivery = delivery,
		.reason = REASON_TOO_LARGE};
	delivery->body = TEXT("seventeen bytes..");
	ck_assert_ptr_nonnull(strstr(said(LOG_TEXT, &notice),
		"task 4711 too-large (17 bytes, max_body is 16); given up, moving it"));
	delivery->body = TEXT("small");
	ck_assert_ptr_nonnull(strstr(said(LOG_TEXT, &notice),
		"task 4711 too-large (a body of 5 bytes; with its headers it is over max_body, "
		"16, and 1 MiB); given up"));
	delivery_free(delivery);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("runtime/report");
	UNIT_CASE(s, "tasks", a_task_is_called_by_its_best_id,
		a_failure_has_the_last_line_of_the_worker,
		a_blocked_session_is_logged_without_its_key, texts_of_others_are_shown_whole,
		a_line_has_the_trace_of_its_task, a_given_up_task_has_its_reason_and_attempt,
		a_protocol_error_has_its_value, a_task_that_is_too_large_has_its_size,
		a_task_without_a_worker_has_no_attempt, a_refused_parcel_is_warned_of_once);
	UNIT_CASE(s, "pool", commands_are_logged_for_the_pool, a_replaced_worker_has_its_reason,
		a_summary_leaves_out_what_is_zero,
		a_worker_with_several_open_tasks_names_the_cause);
	return s;
}

UNIT_MAIN(suite)
