#include "runtime/report/report.h"

#include "core/tasks/delivery.h"
#include "core/tasks/output.h"
#include "message/trace.h"
#include "runtime/report/notice_line.h"
#include "runtime/report/texts.h"

#include <inttypes.h>
#include <stdio.h>

/* ---------- notices ---------- */

static void log_notice(
	const struct report *report, enum log_level level, const struct notice *notice)
{
	struct log_origin origin = {.pool = report->pool, .slot = notice->slot};
	const struct delivery *delivery = notice->delivery;
	char name[DELIVERY_NAME_SIZE], line[NOTICE_LINE_SIZE];
	struct log_task task;

	if (notice->slot >= 0)
		origin.pid = workers_pid(report->workers, (uint16_t)notice->slot, notice->life);
	if (delivery && !notice->are_suspects) {
		task = (struct log_task){.name = delivery_name(delivery, name),
			.trace = trace_id(delivery->headers),
			.attempt = notice->slot >= 0 ? delivery->attempt + 1u : 0,
			.reason = reason_name(notice->reason),
			.status = notice->output ? notice->output->status : 0};
		origin.task = &task;
	}
	log_line(level, origin, "%s", notice_line(report, notice, line));
}

/* A parcel that is refused again and again is warned of once. A retry queue is declared when its
 * first copy is returned, so that return is expected. */
static enum log_level refusal_level(const struct parcel *parcel)
{
	unsigned first = parcel_may_wait(parcel) && parcel->returned ? 2 : 1;

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
	enum log_level level = notice_line_level(notice);
	bool had_failed = report->statistics.failure_share.is_high;

	if (notice->kind == NOTICE_PARCEL_REFUSED)
		level = refusal_level(&notice->delivery->parcel);
	else if (notice->kind == NOTICE_WORKER_RECYCLED && notice->recycled == RECYCLE_KILL)
		level = LOG_WARN;
	statistics_count(&report->statistics, notice); /* first: lines have some of it */
	if (log_is_on(level, report->pool))
		log_notice(report, level, notice);
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

void report_log_state(const struct report *report, const char *state,
	const struct pool_facts *facts, const struct slot_counts *counts,
	const struct backlog *backlog, mtime now)
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
		state, facts->wanted, facts->ready, counts->busy, slots[LIFE_STARTING],
		slots[LIFE_WAITING] + slots[LIFE_IN_LINE],
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
	append_sum(&line, counts[NOTICE_TASK_POSTPONED_BY_WORKER], "postponed by a worker", NULL);
	append_sum(&line, counts[NOTICE_TASK_POSTPONED], "postponed by a throttle", NULL);
	append_sum(&line, counts[NOTICE_TASK_REFUSED], "refused by a throttle", NULL);
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
