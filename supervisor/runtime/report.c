#include "runtime/report.h"

#include "base/utf8.h"
#include "core/tasks/delivery.h"
#include "core/tasks/output.h"
#include "core/tasks/settle.h"
#include "message/copy_headers.h"
#include "message/retry_queue.h"
#include "message/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Every kind of notice: its level and its line. A name in braces is replaced by the function of
 * that name in `parts`. */
#define NOTICE_LINES(X)                                                                             \
	X(NOTICE_TASK_DONE, LOG_DEBUG, "{task} done in {span}")                                     \
	X(NOTICE_TASK_PROGRESS, LOG_DEBUG, "{task} reports progress ({bytes} bytes)")               \
	X(NOTICE_TASK_RETRIED, LOG_WARN, "{task} {outcome}; retrying{delay}")                       \
	X(NOTICE_TASK_GIVEN_UP, LOG_WARN, "{task} {outcome}; given up, {dead_letter}")              \
	X(NOTICE_TASK_RENEWED, LOG_WARN,                                                            \
		"{task} was delivered again too often; publishing it as a new message")             \
	X(NOTICE_TASK_HANDED_BACK, LOG_DEBUG, "{task} handed its rest back to the queue")           \
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
		"and the broker delivers it again")                                                 \
	X(NOTICE_TASK_ORPHANED, LOG_WARN,                                                           \
		"{task} was answered after its channel was lost; the answer is dropped, and the "   \
		"broker delivers the task again")                                                   \
	X(NOTICE_TASKS_HELD_UP, LOG_DEBUG,                                                          \
		"{task} ran for {span}, and {behind} others waited behind it in its worker's pipe") \
	X(NOTICE_REPLY_IGNORED, LOG_WARN,                                                           \
		"a worker sent status 200 with a ReplyQueueName; the reply is not published (use "  \
		"201 for that; logged once)")                                                       \
	X(NOTICE_NO_REPLY_TO, LOG_WARN,                                                             \
		"a worker sent status 201 for a task that asks for no reply; it is acked, the "     \
		"reply is not published (logged once)")                                             \
	X(NOTICE_REPLY_DROPPED, LOG_WARN,                                                           \
		"a reply could not be delivered ({reason}) and is dropped; its task is acked")      \
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
	X(NOTICE_SOURCE_RESUMES, LOG_INFO, "a worker is ready: consuming")                          \
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
	X(NOTICE_ROLL_STOPS, LOG_WARN,                                                              \
		"restart given up: {what} (is \"{command}\" right?); the other old workers stay")   \
	X(NOTICE_COMMAND_REFUSED, LOG_WARN, "command refused: {what}")                              \
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

/* ---------- texts ---------- */

/* The steps of a start whose names mean nothing to the author of the command. */
static const char *stage_text(const char *stage)
{
	if (strcmp(stage, "exec") == 0)
		return "the command cannot be run";
	return strcmp(stage, "interpreter") == 0
		       ? "the command is there, its interpreter cannot be run"
		       : stage;
}

const char *exit_text(const struct exit_info *exit, const char *why, char buffer[EXIT_TEXT_SIZE])
{
	size_t size = EXIT_TEXT_SIZE, len;

	switch (exit->kind) {
	case EXIT_NONE:
		snprintf(buffer, size, "still running");
		break;
	case EXIT_STATUS:
		snprintf(buffer, size, "exit status %d", exit->number);
		break;
	case EXIT_SIGNAL:
		snprintf(buffer, size, "signal %d (%s)%s%s", exit->number,
			sigdescr_np(exit->number) ? sigdescr_np(exit->number) : "unknown",
			exit->stage ? ", " : "", exit->stage ? exit->stage : "");
		break;
	case EXIT_NOT_STARTED:
		snprintf(buffer, size, "%s: %s", stage_text(exit->stage), strerror(exit->number));
		break;
	}
	len = strlen(buffer);
	if (why)
		snprintf(buffer + len, size - len, ", ended by wpool: %s", why);
	return buffer;
}

const char *span_text(mtime span, char buffer[SPAN_TEXT_SIZE])
{
	if (span < MTIME_SECOND)
		snprintf(buffer, SPAN_TEXT_SIZE, "%lld ms", (long long)(span / MTIME_MS));
	else if (span < 2 * MTIME_MINUTE)
		snprintf(buffer, SPAN_TEXT_SIZE, "%.1f s", (double)span / MTIME_SECOND);
	else
		snprintf(buffer, SPAN_TEXT_SIZE, "%lld min", (long long)(span / MTIME_MINUTE));
	return buffer;
}

const char *scaling_text(const struct scaling *scaling, char buffer[SCALING_TEXT_SIZE])
{
	char span[SPAN_TEXT_SIZE];
	const char *plural = scaling->figure == 1 ? "" : "s";

	if (scaling->cause == SCALING_GREW)
		snprintf(buffer, SCALING_TEXT_SIZE, "no worker was free and %u task%s waited",
			scaling->figure, plural);
	else if (scaling->cause == SCALING_SHRANK)
		snprintf(buffer, SCALING_TEXT_SIZE, "at most %u worker%s needed for %s",
			scaling->figure, scaling->figure == 1 ? " was" : "s were",
			span_text(scaling->span, span));
	else
		snprintf(buffer, SCALING_TEXT_SIZE, "by command");
	return buffer;
}

/* ---------- parts of lines ---------- */

#define LINE_SIZE 1536

struct line {
	const struct report *report;
	const struct notice *notice;
	size_t len;
	char text[LINE_SIZE]; /* cut where it is longer */
};

static void PRINTF_LIKE(2, 3) add(struct line *line, const char *format, ...)
{
	size_t size = sizeof line->text - line->len;
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

	utf8_copy_escaped(end, sizeof line->text - line->len, text);
	line->len += strlen(end);
}

static void add_task(struct line *line)
{
	const struct delivery *delivery = line->notice->delivery;
	char buffer[DELIVERY_NAME_SIZE];
	struct text trace = trace_id(delivery->headers);

	add(line, "task ");
	add_shown(line, delivery_name(delivery, buffer));
	if (trace.len)
		add(line, " (trace %.*s)", TEXT_ARGS(trace));
}

static void add_span(struct line *line)
{
	char span[SPAN_TEXT_SIZE];

	add(line, "%s", span_text(line->notice->duration, span));
}

static void add_exit(struct line *line)
{
	char exit[EXIT_TEXT_SIZE];

	add(line, "%s", exit_text(&line->notice->exit, NULL, exit));
}

static void add_what(struct line *line)
{
	add(line, "%s", line->notice->what ? line->notice->what : "");
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
	add(line, " (");
	add_shown(line, detail);
	add(line, ")");
}

static void add_reason(struct line *line)
{
	add(line, "%s", reason_name(line->notice->reason));
}

static void add_bytes(struct line *line)
{
	add(line, "%zu", line->notice->output ? line->notice->output->body.len : 0);
}

static void add_behind(struct line *line)
{
	add(line, "%u", line->notice->behind);
}

static void add_workers(struct line *line)
{
	add(line, "%u worker%s", line->notice->number, line->notice->number == 1 ? "" : "s");
}

static void add_command(struct line *line)
{
	add(line, "%s", line->report->command);
}

/* " (an unknown status: 999)", " (exit status 3: 7 of the 30 bytes of a frame came ...)" */
static void add_cause(struct line *line, const char *cause)
{
	struct text detail = detail_of(line->notice);

	add(line, " (%s%s", cause, detail.len > 0 ? ": " : "");
	add_shown(line, detail);
	add(line, ")");
}

static void add_size(struct line *line)
{
	const struct report *report = line->report;
	size_t len = line->notice->delivery->body.len;

	if (len > report->max_body)
		add(line, " (%zu bytes, max_body is %llu)", len,
			(unsigned long long)report->max_body);
	else
		add(line,
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
		add(line, ": no queue \"");
		add_shown(line, settle_reply_target(notice->delivery, notice->output));
		add(line, "\" for its reply%s%s", notice->what ? ": " : "",
			notice->what ? notice->what : "");
	} else if (notice->what) {
		add_cause(line, notice->what);
	} else if (notice->exit.kind != EXIT_NONE) {
		add_cause(line, exit_text(&notice->exit, NULL, exit));
	} else if (notice->reason == REASON_TOO_LARGE) {
		add_size(line);
	} else if (notice->output && notice->output->status >= STATUS_REJECTED) {
		add(line, " with status %d", notice->output->status);
	}
}

/* "failed with status 503, attempt 2 of 4", and why it was the last attempt if there could be more.
 * An operator may order one more than there are. No attempt where no worker had the task. */
static void add_outcome(struct line *line)
{
	const unsigned workers_outcomes = 1u << REASON_FAILED | 1u << REASON_CRASHED |
					  1u << REASON_TIMED_OUT | 1u << REASON_PROTOCOL;
	const struct notice *notice = line->notice;

	add_reason(line);
	add_details(line);
	if (notice->slot < 0)
		return;
	if (notice->attempt > notice->attempts)
		add(line, ", attempt %u (retry.attempts: %u)", notice->attempt, notice->attempts);
	else
		add(line, ", attempt %u of %u", notice->attempt, notice->attempts);
	if (notice->kind == NOTICE_TASK_GIVEN_UP && notice->attempt < notice->attempts &&
		(workers_outcomes & 1u << notice->reason))
		add(line, ", not in retry.on");
}

/* What the worker wrote is the usual explanation, and its own line may be below the level. */
static void add_last_line(struct line *line)
{
	const struct output *output = line->notice->output;

	if (!output || output->stderr_line.len == 0)
		return;
	add(line, "; last stderr line: ");
	add_shown(line, output->stderr_line);
}

static void add_delay(struct line *line)
{
	if (line->notice->duration > 0) {
		add(line, " in ");
		add_span(line);
	}
}

static void add_dead_letter(struct line *line)
{
	if (line->report->dead_letters)
		add(line, "moving it to queue \"%s\"", line->report->dead_letters);
	else
		add(line, "the queue's own policy decides");
}

static void add_parcel(struct line *line)
{
	static const char *const names[] = {
		[PARCEL_REPLY] = "the reply",
		[PARCEL_HAND_BACK] = "the rest",
		[PARCEL_RETRY] = "the copy for the next attempt",
		[PARCEL_DEAD_LETTER] = "the dead letter",
		[PARCEL_RENEW] = "the new copy",
	};

	add(line, "%s", names[line->notice->delivery->parcel.kind]);
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
	else if (parcel->kind == PARCEL_DEAD_LETTER && report->dead_letters)
		queue = text_from(report->dead_letters);
	else if (parcel->kind == PARCEL_RETRY && parcel->delay > 0)
		queue = retry_queue_name(queue, parcel->delay, name, sizeof name);
	add_shown(line, queue);
}

static void add_advice(struct line *line)
{
	const struct parcel *parcel = &line->notice->delivery->parcel;

	if (parcel->returned &&
		(parcel->kind == PARCEL_DEAD_LETTER || parcel->kind == PARCEL_RETRY))
		add(line, " (declare it as docs/retries.md says, or give the user the right to "
			  "configure it)");
}

static void add_death(struct line *line)
{
	if (line->notice->exit.kind == EXIT_NOT_STARTED) {
		add(line, "worker could not be started: ");
		add_exit(line);
		add(line, " (command \"%s\")", line->report->command);
	} else {
		add(line, "worker died: ");
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
		add(line, "; a task was open, and nothing shows that it is the cause: it runs "
			  "again, alone, and no attempt is counted");
	else
		add(line,
			"; %u tasks were open, and which of them ended it is not known: each runs "
			"alone now, and no attempt is counted",
			line->notice->open);
}

/* Which of several open tasks is the cause, or that it is not known. */
static void add_culprit(struct line *line)
{
	const struct notice *notice = line->notice;

	if (notice->are_suspects && notice->open == 1) {
		add(line, "; whether its open task is the cause is not known");
	} else if (notice->are_suspects) {
		add(line, "; which of its %u open tasks is the cause is not known", notice->open);
	} else if (notice->open > 1 && notice->delivery && notice->delivery->is_blamed) {
		add(line, " in ");
		add_task(line);
		if (notice->open == 2)
			add(line, "; the other that was open goes back, and no attempt of it is "
				  "counted");
		else
			add(line,
				"; the %u others that were open go back, and no attempt of theirs "
				"is counted",
				notice->open - 1);
	}
}

static void add_next_start(struct line *line)
{
	if (line->notice->duration == MTIME_NEVER) {
		add(line, "not replaced, because it is not wanted any more");
	} else {
		add(line, "starting another in ");
		add_span(line);
	}
}

static void add_number(struct line *line)
{
	add(line, "%u", line->notice->number);
}

static void add_prefetch(struct line *line)
{
	add(line, "%u", line->notice->open);
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
		add(line, "killing worker: it has %.0f MiB, more than recycle.memory_kill",
			mebibytes);
		break;
	case RECYCLE_MEMORY:
		add(line, "replacing worker: it has %.0f MiB, more than recycle.memory", mebibytes);
		break;
	case RECYCLE_AGE:
		add(line, "replacing worker: its age is %s", span_text(notice->duration, span));
		break;
	case RECYCLE_TASKS:
		add(line, "replacing worker: it has done %u task%s", notice->number,
			notice->number == 1 ? "" : "s");
		break;
	}
}

static void add_bounds(struct line *line)
{
	const struct scaling *scaling = line->notice->scaling;

	if (scaling->min < scaling->max)
		add(line, ", as many as are needed from %u to %u", scaling->min, scaling->max);
}

static void add_scaling(struct line *line)
{
	const struct scaling *scaling = line->notice->scaling;
	char why[SCALING_TEXT_SIZE];

	add(line, "from %u to %u workers: %s", scaling->before, scaling->after,
		scaling_text(scaling, why));
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
	PART(advice),
	PART(death),
	PART(suspects),
	PART(culprit),
	PART(detail),
	PART(next_start),
	PART(recycled),
	PART(bounds),
	PART(scaling),
#undef PART
};

/* ---------- lines ---------- */

static void add_text(struct line *line, const char *text)
{
	const char *open;

	for (; (open = strchr(text, '{')); text = strchr(open, '}') + 1) {
		struct text name = text_of(open + 1, strcspn(open + 1, "}"));
		add(line, "%.*s", (int)(open - text), text);
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			if (text_is(parts[i].name, name))
				parts[i].add(line);
	}
	add(line, "%s", text);
}

static void log_notice(
	const struct report *report, enum log_level level, const struct notice *notice)
{
	struct log_origin origin = {.pool = report->pool, .slot = notice->slot};
	struct line line = {.report = report, .notice = notice};
	const struct delivery *delivery = notice->delivery;
	char buffer[DELIVERY_NAME_SIZE];
	struct log_task task;

	if (notice->slot >= 0)
		origin.pid = workers_pid(report->workers, (uint16_t)notice->slot, notice->life);
	if (delivery && !notice->are_suspects) {
		task = (struct log_task){.name = delivery_name(delivery, buffer),
			.trace = trace_id(delivery->headers),
			.attempt = notice->slot >= 0 ? delivery->attempt + 1u : 0,
			.reason = reason_name(notice->reason),
			.status = notice->output ? notice->output->status : 0};
		origin.task = &task;
	}
	add_text(&line, lines[notice->kind].text);
	add_last_line(&line);
	log_line(level, origin, "%s", line.text);
}

/* A parcel that is refused again and again is warned of once. A retry queue is declared when its
 * first copy is returned, so that return is expected. */
static enum log_level refusal_level(const struct parcel *parcel)
{
	unsigned first = parcel->kind == PARCEL_RETRY && parcel->returned ? 2 : 1;

	return parcel->refusals == first || parcel->refusals == 0 ? LOG_WARN : LOG_DEBUG;
}

/* Once. */
static void log_all_ready(struct report *report)
{
	if (report->has_logged_all_ready ||
		report->statistics.counts[NOTICE_WORKER_READY] < report->wanted)
		return;
	report->has_logged_all_ready = true;
	log_line(LOG_INFO, (struct log_origin){.pool = report->pool, .slot = -1},
		"%u worker%s ready: %s", report->wanted, report->wanted == 1 ? "" : "s",
		report->command);
}

/* Once. Distinguish a command that cannot be run from a worker that does not become ready. */
static void log_none_ready(struct report *report, const struct notice *notice)
{
	struct log_origin origin = {.pool = report->pool, .slot = -1};
	const uint64_t *counts = report->statistics.counts;
	char exit[EXIT_TEXT_SIZE];

	if (report->has_logged_none_ready || counts[NOTICE_WORKER_READY] > 0 ||
		counts[NOTICE_WORKER_DIED] < report->wanted)
		return;
	report->has_logged_none_ready = true;
	exit_text(&notice->exit, notice->what, exit);
	if (notice->exit.kind == EXIT_NOT_STARTED)
		log_line(LOG_ERROR, origin,
			"no worker can be started (command \"%s\"): %s; the pool takes no messages "
			"until one can",
			report->command, exit);
	else
		log_line(LOG_ERROR, origin,
			"no worker has become ready yet, last exit: %s; the pool takes no messages "
			"until one is ready (does \"%s\" open the pipe that its first line of input "
			"names?)",
			exit, report->command);
}

/* When most attempts fail, and when they do not any more. */
static void log_failure_share(const struct report *report)
{
	const struct statistics *statistics = &report->statistics;
	const struct failure_share *share = &statistics->failure_share;

	log_line(share->is_high ? LOG_WARN : LOG_INFO,
		(struct log_origin){.pool = report->pool, .slot = -1},
		share->is_high
			? "%u of the last %u attempts failed, the last one as %s; the pool "
			  "takes tasks all the same (pause it, or see its dead letters)"
			: "%u of the last %u attempts failed, the last one as %s; most succeed "
			  "again",
		failure_share_failed(share), share->attempts,
		reason_name(statistics->last_failure));
}

void report_notice(struct report *report, const struct notice *notice)
{
	enum log_level level = lines[notice->kind].level;
	bool had_failed = report->statistics.failure_share.is_high;

	if (notice->kind == NOTICE_PARCEL_REFUSED)
		level = refusal_level(&notice->delivery->parcel);
	else if (notice->kind == NOTICE_WORKER_RECYCLED && notice->recycled == RECYCLE_KILL)
		level = LOG_WARN;
	if (log_is_on(level, report->pool))
		log_notice(report, level, notice);
	statistics_count(&report->statistics, notice);
	if (report->statistics.failure_share.is_high != had_failed)
		log_failure_share(report);
	if (notice->kind == NOTICE_SCALED)
		report->wanted = (uint16_t)notice->number;
	else if (notice->kind == NOTICE_WORKER_READY)
		log_all_ready(report);
	else if (notice->kind == NOTICE_WORKER_DIED)
		log_none_ready(report, notice);
}

/* ---------- state and summary ---------- */

void report_log_state(const struct report *report, const struct pool_facts *facts,
	const struct slot_counts *counts, const struct backlog *backlog, mtime now)
{
	const uint16_t *slots = counts->by_state;
	const uint64_t *totals = report->statistics.counts;
	char waiting[32] = "unknown", suspects[64] = "", span[SPAN_TEXT_SIZE];
	bool has_deliveries = facts->delivered_at != MTIME_NEVER;

	if (backlog)
		snprintf(waiting, sizeof waiting, "%u", backlog->messages);
	if (facts->suspects)
		snprintf(suspects, sizeof suspects, " (%u of them to run alone)", facts->suspects);
	log_line(LOG_INFO, (struct log_origin){.pool = report->pool, .slot = -1},
		"%s; workers: %u wanted, %u ready, %u of them busy, %u starting, %u waiting to start, "
		"%u leaving%s; backlog: %s; tasks: %u with workers, %u waiting%s, %u unacked (window "
		"%u), %zu unconfirmed; %s%s%s; %llu done, %llu retried, %llu given up",
		pool_state_name(facts->state), facts->wanted, facts->ready, counts->busy,
		slots[LIFE_STARTING], slots[LIFE_WAITING] + slots[LIFE_IN_LINE],
		slots[LIFE_QUITTING] + slots[LIFE_STOPPING] + slots[LIFE_KILLED],
		facts->is_rolling ? ", being replaced one by one" : "", waiting, facts->in_pipes,
		facts->waiting, suspects, facts->unacked, facts->window, facts->unconfirmed,
		has_deliveries ? "last delivery " : "no delivery yet",
		has_deliveries ? span_text(now - facts->delivered_at, span) : "",
		has_deliveries ? " ago" : "", (unsigned long long)totals[NOTICE_TASK_DONE],
		(unsigned long long)totals[NOTICE_TASK_RETRIED],
		(unsigned long long)totals[NOTICE_TASK_GIVEN_UP]);
}

void report_log_sessions(
	const struct report *report, const struct session_counts *counts, mtime now)
{
	const uint32_t *sessions = counts->by_state;
	char span[SPAN_TEXT_SIZE] = "0 ms";

	if (counts->oldest_wait != MTIME_NEVER)
		span_text(now - counts->oldest_wait, span);
	log_line(LOG_INFO, (struct log_origin){.pool = report->pool, .slot = -1},
		"sessions: %s; %u remembered, %u active: %u ready (for up to %s), %u running, %u "
		"parked, %u blocked, %u paused, %u waiting for a place, %u detached, %u held, %u "
		"idle; %u messages cannot run; %llu reattached, %llu given up",
		counts->is_standby ? "standby" : "active here", counts->remembered, counts->active,
		sessions[SESSION_READY], span, sessions[SESSION_RUNNING], sessions[SESSION_PARKED],
		sessions[SESSION_BLOCKED], sessions[SESSION_PAUSED], sessions[SESSION_WAITING],
		sessions[SESSION_DETACHED], sessions[SESSION_HELD], sessions[SESSION_IDLE],
		counts->stuck, (unsigned long long)counts->reattached,
		(unsigned long long)counts->given_up);
}

#define REASONS_SIZE 512 /* every reason, each with the longest number */
#define SUMMARY_MAX  (4 * REASONS_SIZE)

/* " (8 failed, 4 crashed)"; empty for none */
static const char *by_reason(const uint64_t counts[REASON_COUNT], char buffer[REASONS_SIZE])
{
	size_t len = 0;

	*buffer = 0;
	for (int reason = 0; reason < REASON_COUNT && len < REASONS_SIZE; reason++)
		if (counts[reason])
			len += (size_t)snprintf(buffer + len, REASONS_SIZE - len, "%s%llu %s",
				len ? ", " : " (", (unsigned long long)counts[reason],
				reason_name((enum reason)reason));
	if (len && len < REASONS_SIZE)
		snprintf(buffer + len, REASONS_SIZE - len, ")");
	return buffer;
}

/* ", 3 retried (2 failed, 1 crashed)"; nothing for none. reasons: NULL if it has none. */
static void append_sum(
	struct buf *line, uint64_t sum, const char *what, const uint64_t reasons[REASON_COUNT])
{
	char buffer[REASONS_SIZE];

	if (sum)
		buf_printf(line, ", %" PRIu64 " %s%s", sum, what,
			reasons ? by_reason(reasons, buffer) : "");
}

void report_log_summary(const struct report *report, bool is_cut_short)
{
	struct log_origin origin = {.pool = report->pool, .slot = -1};
	const struct statistics *statistics = &report->statistics;
	const uint64_t *counts = statistics->counts;
	struct buf line;

	buf_init(&line, SUMMARY_MAX);
	buf_printf(&line, "%s: %" PRIu64 " done", is_cut_short ? "stopped" : "drained",
		counts[NOTICE_TASK_DONE]);
	append_sum(&line, counts[NOTICE_TASK_HANDED_BACK], "handed on in slices", NULL);
	append_sum(&line, counts[NOTICE_TASK_RETRIED], "retried", statistics->retried);
	append_sum(&line, counts[NOTICE_TASK_GIVEN_UP], "given up", statistics->given_up);
	append_sum(&line, counts[NOTICE_REPLY_DROPPED], "replies dropped", statistics->dropped);
	append_sum(&line, counts[NOTICE_TASK_UNSTARTED], "back to the broker unstarted", NULL);
	append_sum(&line, counts[NOTICE_TASK_CUT_SHORT], "cut short", NULL);
	log_line(is_cut_short ? LOG_WARN : LOG_INFO, origin, "%.*s", TEXT_ARGS(buf_text(&line)));
	buf_release(&line);
	if (statistics->held_up)
		log_line(LOG_INFO, origin,
			"%llu long tasks held up %llu that were sent ahead behind them (where that "
			"is too long, pipeline: 1 sends none ahead, a smaller pipe_wait fewer)",
			(unsigned long long)counts[NOTICE_TASKS_HELD_UP],
			(unsigned long long)statistics->held_up);
}
