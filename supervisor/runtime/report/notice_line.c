#include "runtime/report/notice_line.h"

#include "base/utf8.h"
#include "core/tasks/delivery.h"
#include "core/tasks/output.h"
#include "core/tasks/settle.h"
#include "message/copy_headers.h"
#include "message/retry_queue.h"
#include "message/trace.h"
#include "runtime/report/report.h"
#include "runtime/report/texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Every kind of notice: its level and its line. A name in braces is replaced by the function of
 * that name in `parts`. */
#define NOTICE_LINES(X)                                                                             \
	X(NOTICE_TASK_DONE, LOG_DEBUG, "{task} done in {span}")                                     \
	X(NOTICE_TASK_PROGRESS, LOG_DEBUG, "{task} reports progress ({bytes} bytes)")               \
	X(NOTICE_TASK_ACCEPTED, LOG_DEBUG,                                                          \
		"{task} is accepted by its worker: acked before its end")                           \
	X(NOTICE_TASK_LIMITED, LOG_DEBUG,                                                           \
		"{task} has a hard limit of {span} now, set by its worker")                         \
	X(NOTICE_TASK_RETRIED, LOG_WARN, "{task} {outcome}; retrying{delay}")                       \
	X(NOTICE_TASK_GIVEN_UP, LOG_WARN, "{task} {outcome}; given up, {dead_letter}")              \
	X(NOTICE_TASK_RENEWED, LOG_WARN,                                                            \
		"{task} was delivered again too often; publishing it as a new message")             \
	X(NOTICE_TASK_HANDED_BACK, LOG_DEBUG, "{task} handed its rest back to the queue")           \
	X(NOTICE_TASK_POSTPONED, LOG_DEBUG,                                                         \
		"{task} may not start before the throttle {what} lets it; it comes back in {span}") \
	X(NOTICE_TASK_POSTPONED_BY_WORKER, LOG_DEBUG,                                               \
		"{task} is postponed by its worker; it comes back in {span}")                       \
	X(NOTICE_TASK_NOT_DUE, LOG_DEBUG, "{task} may not start yet, but in {span}")                \
	X(NOTICE_TASK_REFUSED, LOG_DEBUG,                                                           \
		"{task} may not start before the throttle {what} lets it, in {span}; its caller "   \
		"was told")                                                                         \
	X(NOTICE_SESSION_BLOCKED, LOG_WARN,                                                         \
		"{task} {outcome}; its session is blocked until wpool session retry or skip "       \
		"(wpool sessions POOL --where state=blocked)")                                      \
	X(NOTICE_TASK_DISCARDED, LOG_INFO, "an operator discards {task} with its session")          \
	X(NOTICE_CHANNEL_LEFT, LOG_INFO,                                                            \
		"the channel is closed, and what is unacked goes back to the queue, "               \
		"because {what}")                                                                   \
	X(NOTICE_WINDOW_KEPT, LOG_INFO,                                                             \
		"up to {number} messages may be unacked, as before: a smaller prefetch would "      \
		"break the order of what may come back. prefetch: {prefetch} is used when "         \
		"nothing is unacked")                                                               \
	X(NOTICE_TASK_CANCELLED, LOG_INFO,                                                          \
		"an operator cancels {task}: its worker is asked to give it up")                    \
	X(NOTICE_TASK_KILLED, LOG_INFO, "an operator kills {task}: its worker {what}")              \
	X(NOTICE_TASK_UNSTARTED, LOG_DEBUG, "{task} goes back to the broker, never started")        \
	X(NOTICE_TASK_CUT_SHORT, LOG_WARN,                                                          \
		"{task} was cut short after {span} by the stop; it may have taken effect in part, " \
		"and {again}")                                                                      \
	X(NOTICE_TASK_ORPHANED, LOG_WARN,                                                           \
		"{task} was answered after its channel was lost; the answer is dropped, and the "   \
		"broker delivers the task again")                                                   \
	X(NOTICE_TASKS_HELD_UP, LOG_DEBUG,                                                          \
		"{task} ran for {span}, and {behind} others waited behind it in its worker's pipe") \
	X(NOTICE_LIMIT_IGNORED, LOG_WARN,                                                           \
		"a worker sent progress with the header HardLimitMilliseconds, which is ignored: "  \
		"{what} (logged once)")                                                             \
	X(NOTICE_REPLY_IGNORED, LOG_WARN,                                                           \
		"a worker sent status 200 or 205 with a ReplyQueueName; the reply is not "          \
		"published (use 201 for that; logged once)")                                        \
	X(NOTICE_NO_REPLY_TO, LOG_WARN,                                                             \
		"a worker sent status 201 for a task that asks for no reply; it is acked, the "     \
		"reply is not published (logged once)")                                             \
	X(NOTICE_REPLY_DROPPED, LOG_WARN,                                                           \
		"a reply could not be delivered ({reason}) and is dropped; its task is acked")      \
	X(NOTICE_PARCEL_LOST, LOG_WARN,                                                             \
		"{parcel} of {task} to queue \"{target}\" was not confirmed before the stop; the "  \
		"task is accepted, so it is not run again")                                         \
	X(NOTICE_PARCEL_REFUSED, LOG_WARN,                                                          \
		"{parcel} of {task} to queue \"{target}\" {what}; the task stays unacked, "         \
		"publishing again in {span}, then less and less often{advice}")                     \
	X(NOTICE_WORKER_READY, LOG_DEBUG, "worker ready")                                           \
	X(NOTICE_WORKER_LEFT, LOG_INFO, "worker left: {exit}{detail}{suspects}")                    \
	X(NOTICE_WORKER_DIED, LOG_WARN, "{death}{detail}{suspects}; {next_start}")                  \
	X(NOTICE_WORKER_BROKEN, LOG_WARN,                                                           \
		"worker broke the pipe protocol: {what}{detail}{culprit}; killing it")              \
	X(NOTICE_WORKER_OVERDUE, LOG_WARN,                                                          \
		"worker exceeded its {what} ({span}){culprit}; ending it")                          \
	X(NOTICE_WORKER_RECYCLED, LOG_INFO, "{recycled}")                                           \
	X(NOTICE_SOURCE_RESTS, LOG_WARN, "no worker lives: not consuming until one is ready")       \
	X(NOTICE_ALL_ACCEPTED, LOG_INFO,                                                            \
		"not consuming: all workers have been busy with accepted tasks for a minute")       \
	X(NOTICE_SOURCE_RESUMES, LOG_INFO, "a worker is ready: consuming")                          \
	X(NOTICE_THROTTLE_CLOSES, LOG_INFO,                                                         \
		"not consuming for {span}: the throttle {what} lets too few tasks start")           \
	X(NOTICE_THROTTLE_OPENS, LOG_INFO, "consuming again")                                       \
	X(NOTICE_PAUSED, LOG_INFO,                                                                  \
		"paused: no new tasks; workers finish those they have; messages that wait go back " \
		"to the broker after a minute")                                                     \
	X(NOTICE_RESUMED, LOG_INFO, "resumed")                                                      \
	X(NOTICE_SCALED, LOG_INFO, "scaled: {workers} wanted{bounds}")                              \
	X(NOTICE_GROWN, LOG_INFO, "growing {scaling}")                                              \
	X(NOTICE_SHRUNK, LOG_INFO, "shrinking {scaling}")                                           \
	X(NOTICE_GROWTH_REFUSED, LOG_WARN, "not enough memory for {workers}; retrying in 10 s")     \
	X(NOTICE_ROLL_BEGINS, LOG_INFO,                                                             \
		"restarting {workers} one by one: a new one is ready before an old one leaves")     \
	X(NOTICE_ROLL_ENDS, LOG_INFO, "restarted: all workers are new")                             \
	X(NOTICE_ROLL_STOPS, LOG_WARN, "restart given up: {restart}; the other old workers stay")   \
	X(NOTICE_COMMAND_REFUSED, LOG_WARN, "command refused: {what}")                              \
	X(NOTICE_SESSION_COMMAND_REFUSED, LOG_DEBUG, "command for a session refused: {what}")       \
	X(NOTICE_DRAINED, LOG_DEBUG, "drained")

static const struct {
	enum log_level level;
	const char *text;
} lines[] = {
#define X(kind, level, text) [kind] = {level, text},
	NOTICE_LINES(X)
#undef X
};

#define X(kind, ...) +1
_Static_assert(0 NOTICE_LINES(X) == 0 NOTICE_KINDS(X), "every kind has a line");
#undef X

/* ---------- parts of lines ---------- */

struct line {
	const struct report *report;
	const struct notice *notice;
	size_t len;
	char *text; /* of NOTICE_LINE_SIZE bytes; cut where it is longer */
};

static void PRINTF_LIKE(2, 3) line_printf(struct line *line, const char *format, ...)
{
	size_t size = NOTICE_LINE_SIZE - line->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line->text + line->len, size, format, args);
	va_end(args);
	if (len > 0)
		line->len += (size_t)len < size ? (size_t)len : size - 1;
}

/* A text of others may have any byte: a NUL would end it. */
static void add_shown(struct line *line, struct text text)
{
	char *end = line->text + line->len;

	utf8_copy_escaped(end, NOTICE_LINE_SIZE - line->len, text);
	line->len += strlen(end);
}

static void add_task(struct line *line)
{
	const struct delivery *delivery = line->notice->delivery;
	char buffer[DELIVERY_NAME_SIZE];
	struct text trace = trace_id(delivery->headers);

	line_printf(line, "task ");
	add_shown(line, delivery_name(delivery, buffer));
	if (trace.len)
		line_printf(line, " (trace %.*s)", TEXT_ARGS(trace));
}

static void add_span(struct line *line)
{
	char span[SPAN_TEXT_SIZE];

	line_printf(line, "%s", span_text(line->notice->duration, span));
}

static void add_exit(struct line *line)
{
	char exit[EXIT_TEXT_SIZE];

	line_printf(line, "%s", exit_text(&line->notice->exit, NULL, exit));
}

static void add_what(struct line *line)
{
	line_printf(line, "%s", line->notice->what ? line->notice->what : "");
}

static struct text detail_of(const struct notice *notice)
{
	return notice->output ? notice->output->detail : TEXT_NONE;
}

/* What the worker sent against the protocol. */
static void add_detail(struct line *line)
{
	struct text detail = detail_of(line->notice);

	if (detail.len == 0)
		return;
	line_printf(line, " (");
	add_shown(line, detail);
	line_printf(line, ")");
}

static void add_reason(struct line *line)
{
	line_printf(line, "%s", reason_name(line->notice->reason));
}

static void add_bytes(struct line *line)
{
	line_printf(line, "%zu", line->notice->output ? line->notice->output->body.len : 0);
}

static void add_behind(struct line *line)
{
	line_printf(line, "%u", line->notice->behind);
}

static void add_workers(struct line *line)
{
	line_printf(
		line, "%u worker%s", line->notice->number, line->notice->number == 1 ? "" : "s");
}

static void add_command(struct line *line)
{
	line_printf(line, "%s", line->report->command);
}

/* " (an unknown status: 999)", " (exit status 3: 7 of the 30 bytes of a frame came ...)" */
static void add_cause(struct line *line, const char *cause)
{
	struct text detail = detail_of(line->notice);

	line_printf(line, " (%s%s", cause, detail.len > 0 ? ": " : "");
	add_shown(line, detail);
	line_printf(line, ")");
}

static void add_size(struct line *line)
{
	const struct report *report = line->report;
	size_t len = line->notice->delivery->body.len;

	if (len > report->max_body)
		line_printf(line, " (%zu bytes, max_body is %llu)", len,
			(unsigned long long)report->max_body);
	else
		line_printf(line,
			" (a body of %zu bytes; with its headers it is over max_body, %llu, and 1 MiB)",
			len, (unsigned long long)report->max_body);
}

/* " (an unknown status: 999)", " (signal 11 ...)", " with status 503", ": no queue "x" for its
 * reply" */
static void add_details(struct line *line)
{
	const struct notice *notice = line->notice;
	char exit[EXIT_TEXT_SIZE];

	if (notice->output && notice->reason == REASON_UNROUTABLE) {
		line_printf(line, ": no queue \"");
		add_shown(line, settle_reply_target(notice->delivery, notice->output));
		line_printf(line, "\" for its reply%s%s", notice->what ? ": " : "",
			notice->what ? notice->what : "");
	} else if (notice->what) {
		add_cause(line, notice->what);
	} else if (notice->exit.kind != EXIT_NONE) {
		add_cause(line, exit_text(&notice->exit, NULL, exit));
	} else if (notice->reason == REASON_TOO_LARGE) {
		add_size(line);
	} else if (notice->output && notice->output->status >= STATUS_REJECTED) {
		line_printf(line, " with status %d", notice->output->status);
	}
}

/* "failed with status 503, attempt 2 of 4", and why it was the last attempt if there could be more.
 * An operator may order one more than there are, or give a task up before them. No attempt where
 * no worker had the task, or that of before an operator closed its session. */
static void add_outcome(struct line *line)
{
	const unsigned workers_outcomes = 1u << REASON_FAILED | 1u << REASON_CRASHED |
					  1u << REASON_TIMED_OUT | 1u << REASON_PROTOCOL;
	const struct notice *notice = line->notice;

	add_reason(line);
	add_details(line);
	if (notice->slot < 0 || notice->reason == REASON_SESSION_CLOSED)
		return;
	if (notice->attempt > notice->attempts)
		line_printf(line, ", attempt %u (retry.attempts: %u)", notice->attempt,
			notice->attempts);
	else
		line_printf(line, ", attempt %u of %u", notice->attempt, notice->attempts);
	if (notice->delivery->is_accepted)
		line_printf(line, ", accepted by its worker");
	else if (notice->kind == NOTICE_TASK_GIVEN_UP && notice->attempt < notice->attempts &&
		 (workers_outcomes & ~notice->retried & 1u << notice->reason))
		line_printf(line, ", not in retry.on");
}

/* What the worker wrote is the usual explanation, and its own line may be below the level. */
static void add_last_line(struct line *line)
{
	const struct output *output = line->notice->output;

	if (!output || output->stderr_line.len == 0)
		return;
	line_printf(line, "; last stderr line: ");
	add_shown(line, output->stderr_line);
}

static void add_delay(struct line *line)
{
	if (line->notice->duration > 0) {
		line_printf(line, " in ");
		add_span(line);
	}
}

static void add_dead_letter(struct line *line)
{
	if (line->report->dead_letters)
		line_printf(line, "moving it to queue \"%s\"", line->report->dead_letters);
	else if (line->notice->delivery->is_accepted)
		line_printf(line, "and acked before, so that no dead letter is left");
	else
		line_printf(line, "the queue's own policy decides");
}

static void add_again(struct line *line)
{
	line_printf(line, "%s",
		line->notice->delivery->is_accepted ? "it is accepted, so it is not run again"
						    : "the broker delivers it again");
}

static void add_parcel(struct line *line)
{
	static const char *const names[] = {
		[PARCEL_REPLY] = "the reply",
		[PARCEL_HAND_BACK] = "the rest",
		[PARCEL_RETRY] = "the copy for the next attempt",
		[PARCEL_DEAD_LETTER] = "the dead letter",
		[PARCEL_RENEW] = "the new copy",
		[PARCEL_POSTPONE] = "the copy for later",
		[PARCEL_LATER] = "the copy that waits for its time",
		[PARCEL_REFUSAL] = "the refusal",
	};

	line_printf(line, "%s", names[line->notice->delivery->parcel.kind]);
}

/* The queue that a parcel is for. */
static void add_target(struct line *line)
{
	const struct report *report = line->report;
	const struct parcel *parcel = &line->notice->delivery->parcel;
	char name[RETRY_QUEUE_NAME_MAX + 1];
	struct text queue = text_from(report->queue);

	if (parcel_is_answer(parcel))
		queue = settle_reply_target(parcel->delivery, parcel->output);
	else if (parcel->kind == PARCEL_REFUSAL)
		queue = parcel->delivery->reply_to;
	else if (parcel->kind == PARCEL_DEAD_LETTER && report->dead_letters)
		queue = text_from(report->dead_letters);
	else if (parcel->kind == PARCEL_LATER && parcel->delay > 0)
		queue = wait_queue_name(queue, parcel->delay, name, sizeof name);
	else if (parcel_may_wait(parcel) && parcel->delay > 0)
		queue = retry_queue_name(queue, parcel->delay, name, sizeof name);
	add_shown(line, queue);
}

static void add_advice(struct line *line)
{
	const struct parcel *parcel = &line->notice->delivery->parcel;

	if (parcel->returned && (parcel->kind == PARCEL_DEAD_LETTER || parcel_may_wait(parcel)))
		line_printf(line,
			" (declare it as docs/retries.md says, or give the user the right to "
			"configure it)");
}

static void add_death(struct line *line)
{
	if (line->notice->exit.kind == EXIT_NOT_STARTED) {
		line_printf(line, "worker could not be started: ");
		add_exit(line);
		line_printf(line, " (command \"%s\")", line->report->command);
	} else {
		line_printf(line, "worker died: ");
		add_exit(line);
	}
}

/* A worker has ended with several tasks open: "; 37 tasks were open, and which of them ended it is
 * not known: each runs alone now, and no attempt is counted" */
static void add_suspects(struct line *line)
{
	if (!line->notice->are_suspects)
		return;
	if (line->notice->open == 1)
		line_printf(line,
			"; a task was open, and nothing shows that it is the cause: it runs "
			"again, alone, and no attempt is counted");
	else
		line_printf(line,
			"; %u tasks were open, and which of them ended it is not known: each runs "
			"alone now, and no attempt is counted",
			line->notice->open);
}

/* Which of several open tasks is the cause, or that it is not known. */
static void add_culprit(struct line *line)
{
	const struct notice *notice = line->notice;

	if (notice->are_suspects && notice->open == 1) {
		line_printf(line, "; whether its open task is the cause is not known");
	} else if (notice->are_suspects) {
		line_printf(line, "; which of its %u open tasks is the cause is not known",
			notice->open);
	} else if (notice->open > 1 && notice->delivery && notice->delivery->is_blamed) {
		line_printf(line, " in ");
		add_task(line);
		if (notice->open == 2)
			line_printf(line,
				"; the other that was open goes back, and no attempt of it is "
				"counted");
		else
			line_printf(line,
				"; the %u others that were open go back, and no attempt of theirs "
				"is counted",
				notice->open - 1);
	}
}

static void add_next_start(struct line *line)
{
	if (line->notice->duration == MTIME_NEVER) {
		line_printf(line, "not replaced, because it is not wanted any more");
	} else {
		line_printf(line, "starting another in ");
		add_span(line);
	}
}

static void add_number(struct line *line)
{
	line_printf(line, "%u", line->notice->number);
}

static void add_prefetch(struct line *line)
{
	line_printf(line, "%u", line->notice->open);
}

static void add_recycled(struct line *line)
{
	const struct notice *notice = line->notice;
	double mebibytes = (double)notice->bytes / (1 << 20);
	char span[SPAN_TEXT_SIZE];

	switch (notice->recycled) {
	case RECYCLE_NOT:
	case RECYCLE_REASON_COUNT:
		break;
	case RECYCLE_KILL:
		line_printf(line, "killing worker: it has %.0f MiB, more than recycle.memory_kill",
			mebibytes);
		break;
	case RECYCLE_MEMORY:
		line_printf(line, "replacing worker: it has %.0f MiB, more than recycle.memory",
			mebibytes);
		break;
	case RECYCLE_AGE:
		line_printf(
			line, "replacing worker: its age is %s", span_text(notice->duration, span));
		break;
	case RECYCLE_TASKS:
		line_printf(line, "replacing worker: it has done %u task%s", notice->number,
			notice->number == 1 ? "" : "s");
		break;
	}
}

static void add_bounds(struct line *line)
{
	const struct scaling *scaling = line->notice->scaling;

	if (scaling->min < scaling->max)
		line_printf(
			line, ", as many as are needed from %u to %u", scaling->min, scaling->max);
}

static void add_scaling(struct line *line)
{
	const struct scaling *scaling = line->notice->scaling;
	char why[SCALING_TEXT_SIZE];

	line_printf(line, "from %u to %u workers: %s", scaling->before, scaling->after,
		scaling_text(scaling, why));
}

/* Of a restart that was given up. */
static void add_restart(struct line *line)
{
	const struct report *report = line->report;
	char why[RESTART_TEXT_SIZE];

	line_printf(
		line, "%s", restart_text(&report->statistics.failed_restart, report->command, why));
}

static const struct part {
	struct text name;
	void (*add)(struct line *);
} parts[] = {
#define PART(name)                                                                                 \
	{                                                                                          \
		{#name, sizeof #name - 1}, add_##name                                              \
	}
	PART(task),
	PART(span),
	PART(exit),
	PART(what),
	PART(reason),
	PART(bytes),
	PART(behind),
	PART(workers),
	PART(number),
	PART(prefetch),
	PART(command),
	PART(outcome),
	PART(delay),
	PART(dead_letter),
	PART(parcel),
	PART(target),
	PART(again),
	PART(advice),
	PART(death),
	PART(suspects),
	PART(culprit),
	PART(detail),
	PART(next_start),
	PART(recycled),
	PART(bounds),
	PART(scaling),
	PART(restart),
#undef PART
};

/* ---------- whole lines ---------- */

/* The text, with its parts in braces replaced. */
static void add_text(struct line *line, const char *text)
{
	const char *open;

	for (; (open = strchr(text, '{')); text = strchr(open, '}') + 1) {
		struct text name = text_of(open + 1, strcspn(open + 1, "}"));
		line_printf(line, "%.*s", (int)(open - text), text);
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			if (text_is(parts[i].name, name))
				parts[i].add(line);
	}
	line_printf(line, "%s", text);
}

enum log_level notice_line_level(const struct notice *notice)
{
	return lines[notice->kind].level;
}

const char *notice_line(
	const struct report *report, const struct notice *notice, char buffer[NOTICE_LINE_SIZE])
{
	struct line line = {.report = report, .notice = notice, .text = buffer};

	*buffer = '\0';
	add_text(&line, lines[notice->kind].text);
	add_last_line(&line);
	return buffer;
}
