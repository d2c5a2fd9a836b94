/* What many notices come to: counters, and the lines that rest on them. */
#include "cli/report.h"

#include "core/delivery.h"
#include "core/output.h"
#include "io/clock.h"

#include <stdio.h>

#define REASONS_ROOM 512 /* every reason, each with the longest number */

/* Each attempt that a worker made ends with one of these. */
static bool ends_attempt(const struct notice *notice)
{
	static const bool ends[REPORT_KINDS] = {
		[NOTICE_TASK_DONE] = true,
		[NOTICE_TASK_HANDED_BACK] = true,
		[NOTICE_TASK_RETRIED] = true,
		[NOTICE_TASK_GIVEN_UP] = true,
		[NOTICE_TASK_ORPHANED] = true,
	};

	return ends[notice->kind] && notice->delivery && notice->slot >= 0;
}

static void note_death(struct report *report, const struct notice *notice)
{
	struct report_death *death = &report->last_death;
	struct text words = notice->output ? notice->output->words : TEXT_NONE;

	report->deaths[notice->exit.kind]++;
	death->exit = notice->exit;
	death->why = notice->what;
	death->at = clock_now();
	snprintf(death->words, sizeof death->words, "%.*s", TEXT_ARGS(words));
}

static void add(struct report *report, const struct notice *notice)
{
	report->counts[notice->kind]++;
	if (ends_attempt(notice))
		histogram_add(&report->took, notice->delivery->took);
	if (notice->kind == NOTICE_TASK_RETRIED)
		report->retried[notice->reason]++;
	else if (notice->kind == NOTICE_TASK_GIVEN_UP)
		report->given_up[notice->reason]++;
	else if (notice->kind == NOTICE_REPLY_DROPPED)
		report->dropped[notice->reason]++;
	else if (notice->kind == NOTICE_TASKS_HELD_UP)
		report->held_up += notice->behind;
	else if (notice->kind == NOTICE_WORKER_RECYCLED)
		report->recycled[notice->recycled]++;
	else if (notice->kind == NOTICE_WORKER_DIED)
		note_death(report, notice);
}

/* It is told what is known: whoever wrote a wrong name should not look for a fault in his worker.
 */
static void tell_hopeless(const struct report *report, const struct notice *notice)
{
	struct log_origin origin = {.pool = report->pool, .slot = -1};
	char exit[REPORT_EXIT_ROOM];

	report_end_of_life(&notice->exit, notice->what, exit, sizeof exit);
	if (notice->exit.kind == EXIT_NOT_STARTED)
		log_line(LOG_ERROR, origin,
			"no worker can be started (command \"%s\"): %s; the pool takes no messages "
			"until one can",
			report->command, exit);
	else
		log_line(LOG_ERROR, origin,
			"no worker has come up yet, the last one ended by %s: the pool takes no "
			"messages until one does (does \"%s\" open the pipe that its first line of "
			"input names?)",
			exit, report->command);
}

/* What several notices come to. */
static void sum_up(struct report *report, const struct notice *notice)
{
	struct log_origin origin = {.pool = report->pool, .slot = -1};
	uint64_t ready = report->counts[NOTICE_WORKER_READY];

	if (notice->kind == NOTICE_SCALED)
		report->workers = (uint16_t)notice->number;

	if (notice->kind == NOTICE_WORKER_READY && ready >= report->workers && !report->was_ready) {
		report->was_ready = true;
		log_line(LOG_INFO, origin, "%u worker%s ready: %s", report->workers,
			report->workers == 1 ? "" : "s", report->command);
	}
	if (notice->kind == NOTICE_WORKER_DIED && report->counts[NOTICE_WORKER_READY] == 0 &&
		report->counts[NOTICE_WORKER_DIED] >= report->workers && !report->was_hopeless) {
		report->was_hopeless = true;
		tell_hopeless(report, notice);
	}
}

void report_count(struct report *report, const struct notice *notice)
{
	add(report, notice);
	sum_up(report, notice);
}

/* " (8 failed, 4 crashed)"; nothing for none. */
static const char *by_reason(const uint64_t counts[REASON_COUNT], char *buffer, size_t room)
{
	size_t len = 0;

	*buffer = 0;
	for (int reason = 0; reason < REASON_COUNT && len < room; reason++)
		if (counts[reason])
			len += (size_t)snprintf(buffer + len, room - len, "%s%llu %s",
				len ? ", " : " (", (unsigned long long)counts[reason],
				reason_words((enum reason)reason));
	if (len && len < room)
		snprintf(buffer + len, room - len, ")");
	return buffer;
}

/* What `pipeline: auto` could not foresee. */
static void tell_held_up(const struct report *report)
{
	if (report->held_up)
		log_line(LOG_INFO, (struct log_origin){.pool = report->pool, .slot = -1},
			"%llu long tasks held up %llu that were sent ahead behind them (where that is too "
			"long, pipeline: 1 sends none ahead, a smaller pipe_wait fewer)",
			(unsigned long long)report->counts[NOTICE_TASKS_HELD_UP],
			(unsigned long long)report->held_up);
}

void report_end(const struct report *report, bool forced)
{
	const uint64_t *counts = report->counts;
	char retried[REASONS_ROOM], given_up[REASONS_ROOM], dropped[REASONS_ROOM];

	log_line(forced ? LOG_WARN : LOG_INFO,
		(struct log_origin){.pool = report->pool, .slot = -1},
		"%s: %llu done, %llu handed on in slices, %llu tried again%s, %llu given up%s, "
		"%llu replies dropped%s, %llu back to the broker unstarted, %llu cut short",
		forced ? "stopped" : "drained", (unsigned long long)counts[NOTICE_TASK_DONE],
		(unsigned long long)counts[NOTICE_TASK_HANDED_BACK],
		(unsigned long long)counts[NOTICE_TASK_RETRIED],
		by_reason(report->retried, retried, sizeof retried),
		(unsigned long long)counts[NOTICE_TASK_GIVEN_UP],
		by_reason(report->given_up, given_up, sizeof given_up),
		(unsigned long long)counts[NOTICE_REPLY_DROPPED],
		by_reason(report->dropped, dropped, sizeof dropped),
		(unsigned long long)counts[NOTICE_TASK_UNSTARTED],
		(unsigned long long)counts[NOTICE_TASK_CUT_SHORT]);
	tell_held_up(report);
}
