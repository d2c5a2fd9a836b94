#include "cli/report.h"

#include "core/delivery.h"
#include "core/output.h"
#include "core/settle.h"
#include "message/copy_headers.h"
#include "message/retry_queue.h"
#include "message/trace.h"

#include <stdio.h>
#include <string.h>

#define WORDS_ROOM 160

struct line {
	enum log_level level;
	struct log_origin origin;
	const struct notice *notice;
	const struct report *report;
	char exit[WORDS_ROOM];
	char span[32];
	/* names the task: "task 4711", "task #57 (trace 4bf9...)" */
	char task[DELIVERY_NAME_MAX + TRACE_ID_LEN + 32];
	struct log_task fields;
};

static const char *what_of(const struct notice *notice)
{
	return notice->what ? notice->what : "";
}

/* ---------- tasks ---------- */

/* " (an unknown status)", " (signal 11 ...)", " with status 503", " (no queue "x")", or nothing. */
static const char *circumstance(const struct line *line, char *buffer, size_t room)
{
	const struct notice *notice = line->notice;

	*buffer = 0;
	if (notice->what)
		snprintf(buffer, room, " (%s)", notice->what);
	else if (notice->exit.kind != EXIT_NONE)
		snprintf(buffer, room, " (%s)", line->exit);
	else if (notice->output && notice->output->status >= STATUS_REJECTED)
		snprintf(buffer, room, " with status %d", notice->output->status);
	else if (notice->output && notice->reason == REASON_UNROUTABLE)
		snprintf(buffer, room, ": no queue \"%.*s\" for its reply",
			TEXT_ARGS(settle_reply_target(notice->delivery, notice->output)));
	return buffer;
}

/* ", attempt 2 of 4", and why it is the last one where there would be more; nothing where no worker
 * had it. */
static const char *attempt_of(const struct notice *notice, char *buffer, size_t room)
{
	const unsigned workers_doing = 1u << REASON_FAILED | 1u << REASON_CRASHED |
				       1u << REASON_TIMED_OUT | 1u << REASON_PROTOCOL;
	bool is_last = notice->kind == NOTICE_TASK_GIVEN_UP && notice->attempt < notice->attempts;

	*buffer = 0;
	if (notice->slot >= 0)
		snprintf(buffer, room, ", attempt %u of %u%s", notice->attempt, notice->attempts,
			is_last && (workers_doing & 1u << notice->reason) ? ", not in retry.on"
									  : "");
	return buffer;
}

static void say_failed_task(const struct line *line)
{
	const struct notice *notice = line->notice;
	const char *dead = line->report->dead_letters;
	char words[WORDS_ROOM + 300], attempt[80];

	circumstance(line, words, sizeof words);
	attempt_of(notice, attempt, sizeof attempt);
	if (notice->kind == NOTICE_TASK_RETRIED)
		log_line(line->level, line->origin, "%s %s%s%s; it is tried again%s%s", line->task,
			reason_words(notice->reason), words, attempt,
			notice->duration > 0 ? " in " : "", notice->duration > 0 ? line->span : "");
	else if (dead)
		log_line(line->level, line->origin, "%s %s%s%s; given up, it goes to queue \"%s\"",
			line->task, reason_words(notice->reason), words, attempt, dead);
	else
		log_line(line->level, line->origin,
			"%s %s%s%s; given up, the queue's own policy decides", line->task,
			reason_words(notice->reason), words, attempt);
}

static void say_task(const struct line *line)
{
	const struct notice *notice = line->notice;

	switch (notice->kind) {
	case NOTICE_TASK_RETRIED:
	case NOTICE_TASK_GIVEN_UP:
		say_failed_task(line);
		break;
	case NOTICE_TASK_RENEWED:
		log_line(line->level, line->origin,
			"%s came back from the broker again and again; it is published as new",
			line->task);
		break;
	case NOTICE_TASK_DONE:
		log_line(line->level, line->origin, "%s done in %s", line->task, line->span);
		break;
	case NOTICE_TASK_PROGRESS:
		log_line(line->level, line->origin, "%s reports progress (%zu bytes)", line->task,
			notice->output ? notice->output->body.len : 0);
		break;
	case NOTICE_TASK_HANDED_BACK:
		log_line(line->level, line->origin, "%s handed its rest back to the queue",
			line->task);
		break;
	case NOTICE_TASK_UNSTARTED:
		log_line(line->level, line->origin, "%s goes back to the broker, never started",
			line->task);
		break;
	case NOTICE_TASK_CUT_SHORT:
		log_line(line->level, line->origin,
			"%s is cut short after %s, by the stop; it may have had a part of its effect, and "
			"the broker delivers it again",
			line->task, line->span);
		break;
	case NOTICE_TASKS_HELD_UP:
		log_line(line->level, line->origin,
			"%s ran for %s, and %u others waited behind it in its worker's pipe",
			line->task, line->span, notice->behind);
		break;
	default: /* NOTICE_TASK_ORPHANED */
		log_line(line->level, line->origin,
			"%s was answered after its channel was lost; the answer is dropped, the broker "
			"delivers it again",
			line->task);
		break;
	}
}

/* ---------- replies ---------- */

/* The queue that a parcel is for. */
static struct text target_of(
	const struct report *report, const struct parcel *parcel, char *name, size_t room)
{
	struct text queue = text_from(report->queue);

	if (parcel_is_answer(parcel))
		return settle_reply_target(parcel->delivery, parcel->output);
	if (parcel->kind == PARCEL_DEAD_LETTER && report->dead_letters)
		return text_from(report->dead_letters);
	if (parcel->kind == PARCEL_RETRY && parcel->delay > 0)
		return retry_queue_name(queue, parcel->delay, name, room);
	return queue;
}

static void say_refused(const struct line *line)
{
	static const char *const names[] = {
		[PARCEL_REPLY] = "the reply",
		[PARCEL_HAND_BACK] = "the rest",
		[PARCEL_RETRY] = "the copy for the next attempt",
		[PARCEL_DEAD_LETTER] = "the dead letter",
		[PARCEL_RENEW] = "the copy as new",
	};
	const struct parcel *parcel = &line->notice->delivery->parcel;
	char name[RETRY_QUEUE_NAME_MAX + 1];
	struct text target = target_of(line->report, parcel, name, sizeof name);
	bool is_ours = parcel->kind == PARCEL_DEAD_LETTER || parcel->kind == PARCEL_RETRY;

	log_line(line->level, line->origin,
		"%s of %s to queue \"%.*s\" %s; the task stays unacked, publishing it again in %s, "
		"and more and more rarely until it gets through%s",
		names[parcel->kind], line->task, TEXT_ARGS(target), what_of(line->notice),
		line->span,
		is_ours && parcel->returned
			? " (declare it as docs/retries.md says, or give the user the right to "
			  "configure it)"
			: "");
}

static void say_reply(const struct line *line)
{
	switch (line->notice->kind) {
	case NOTICE_REPLY_IGNORED:
		log_line(line->level, line->origin,
			"a worker sent status 200 with a ReplyQueueName; the reply is not "
			"published (use "
			"201 for that; said once)");
		break;
	case NOTICE_REPLY_UNASKED:
		log_line(line->level, line->origin,
			"a worker sent status 201 for a task that asks for no reply; it is acked, "
			"the "
			"reply is not published (said once)");
		break;
	case NOTICE_REPLY_DROPPED:
		log_line(line->level, line->origin,
			"a reply could not be delivered (%s) and is dropped; its task is acked",
			reason_words(line->notice->reason));
		break;
	default: /* NOTICE_PARCEL_REFUSED */
		say_refused(line);
		break;
	}
}

/* ---------- workers ---------- */

static void say_death(const struct line *line)
{
	bool again = line->notice->duration != MTIME_NEVER;
	const char *next = again ? line->span : "not at all: it is not wanted any more";

	if (line->notice->exit.kind == EXIT_NOT_STARTED)
		log_line(line->level, line->origin,
			"worker could not be started: %s (command \"%s\"); trying again%s%s",
			line->exit, line->report->command, again ? " in " : " ", next);
	else
		log_line(line->level, line->origin, "worker died: %s; started again%s%s",
			line->exit, again ? " in " : " ", next);
}

static void say_recycled(const struct line *line)
{
	const struct notice *notice = line->notice;
	double mebibytes = (double)notice->bytes / (1 << 20);

	if (notice->recycled == RECYCLE_KILL)
		log_line(line->level, line->origin,
			"worker has %.0f MiB, more than recycle.memory_kill; killing it",
			mebibytes);
	else if (notice->recycled == RECYCLE_MEMORY)
		log_line(line->level, line->origin,
			"worker is replaced: it has %.0f MiB, more than recycle.memory", mebibytes);
	else if (notice->recycled == RECYCLE_AGE)
		log_line(
			line->level, line->origin, "worker is replaced: its age is %s", line->span);
	else
		log_line(line->level, line->origin, "worker is replaced: it has done %u task%s",
			notice->number, notice->number == 1 ? "" : "s");
}

static void say_worker(const struct line *line)
{
	const struct notice *notice = line->notice;

	switch (notice->kind) {
	case NOTICE_WORKER_READY:
		log_line(line->level, line->origin, "worker ready");
		break;
	case NOTICE_WORKER_RECYCLED:
		say_recycled(line);
		break;
	case NOTICE_WORKER_LEFT:
		log_line(line->level, line->origin, "worker left: %s", line->exit);
		break;
	case NOTICE_WORKER_DIED:
		say_death(line);
		break;
	case NOTICE_WORKER_BROKEN:
		log_line(line->level, line->origin,
			"worker broke the pipe protocol: %s; killing it", what_of(notice));
		break;
	default: /* NOTICE_WORKER_OVERDUE */
		log_line(line->level, line->origin, "worker is over its %s (%s); ending it",
			what_of(notice), line->span);
		break;
	}
}

static void say_pool(const struct line *line)
{
	report_pool(line->level, line->origin, line->notice, line->report->command);
}

/* Said once: each time, a night long, it would be noise. A queue for tasks that wait is made when
 * it is first needed, so one that is not there yet is no news. */
static enum log_level level_of_refusal(const struct parcel *parcel)
{
	unsigned first = parcel->kind == PARCEL_RETRY && parcel->returned ? 2 : 1;

	return parcel->refusals == first || parcel->refusals == 0 ? LOG_WARN : LOG_DEBUG;
}

/* Which words, and how loud. Every kind is listed; the compiler misses none. */
static enum log_level level_of(const struct notice *notice, void (**ret_say)(const struct line *))
{
	switch (notice->kind) {
	case NOTICE_TASK_DONE:
	case NOTICE_TASK_PROGRESS:
	case NOTICE_TASK_HANDED_BACK:
	case NOTICE_TASK_UNSTARTED:
	case NOTICE_TASKS_HELD_UP:
		*ret_say = say_task;
		return LOG_DEBUG;
	case NOTICE_TASK_ORPHANED:
	case NOTICE_TASK_CUT_SHORT:
	case NOTICE_TASK_RETRIED:
	case NOTICE_TASK_RENEWED:
	case NOTICE_TASK_GIVEN_UP:
		*ret_say = say_task;
		return LOG_WARN;
	case NOTICE_REPLY_IGNORED:
	case NOTICE_REPLY_UNASKED:
	case NOTICE_REPLY_DROPPED:
		*ret_say = say_reply;
		return LOG_WARN;
	case NOTICE_PARCEL_REFUSED:
		*ret_say = say_reply;
		return level_of_refusal(&notice->delivery->parcel);
	case NOTICE_WORKER_READY:
		*ret_say = say_worker;
		return LOG_DEBUG;
	case NOTICE_WORKER_LEFT:
		*ret_say = say_worker;
		return LOG_INFO;
	case NOTICE_WORKER_RECYCLED:
		*ret_say = say_worker;
		return notice->recycled == RECYCLE_KILL ? LOG_WARN : LOG_INFO;
	case NOTICE_WORKER_DIED:
	case NOTICE_WORKER_BROKEN:
	case NOTICE_WORKER_OVERDUE:
		*ret_say = say_worker;
		return LOG_WARN;
	case NOTICE_SOURCE_RESTS:
	case NOTICE_ROLL_STOPS:
	case NOTICE_GROWTH_REFUSED:
	case NOTICE_COMMAND_REFUSED:
		*ret_say = say_pool;
		return LOG_WARN;
	case NOTICE_PAUSED:
	case NOTICE_RESUMED:
	case NOTICE_SCALED:
	case NOTICE_GROWN:
	case NOTICE_SHRUNK:
	case NOTICE_ROLL_BEGINS:
	case NOTICE_ROLL_ENDS:
	case NOTICE_SOURCE_RESUMES:
		*ret_say = say_pool;
		return LOG_INFO;
	case NOTICE_DRAINED: /* report_end has more to say */
		*ret_say = say_pool;
		return LOG_DEBUG;
	}
	__builtin_unreachable();
}

static void name_task(struct line *line, const struct delivery *delivery)
{
	char room[DELIVERY_NAME_ROOM];
	struct text name = delivery_name(delivery, room), trace = trace_id(delivery->headers);

	snprintf(line->task, sizeof line->task, "task %.*s%s%.*s%s", TEXT_ARGS(name),
		trace.len ? " (trace " : "", TEXT_ARGS(trace), trace.len ? ")" : "");
	line->fields = (struct log_task){.name = text_of(line->task + strlen("task "), name.len),
		.trace = trace,
		.attempt = line->notice->slot >= 0 ? delivery->attempt + 1u : 0,
		.reason = reason_words(line->notice->reason),
		.status = line->notice->output ? line->notice->output->status : 0};
	line->origin.task = &line->fields;
}

/* Most notices are told to nobody: nothing is made ready for those. */
static void say_notice(struct line *line, void (*say)(const struct line *))
{
	const struct notice *notice = line->notice;

	report_exit(&notice->exit, line->exit, sizeof line->exit);
	report_span(notice->duration, line->span, sizeof line->span);
	if (notice->delivery)
		name_task(line, notice->delivery);
	say(line);
}

void report_notice(struct report *report, struct log_origin origin, const struct notice *notice)
{
	void (*say)(const struct line *);
	enum log_level level = level_of(notice, &say);

	if (log_is_on(level, origin.pool))
		say_notice(&(struct line){.level = level,
				   .origin = origin,
				   .notice = notice,
				   .report = report},
			say);
	report_count(report, notice);
}
