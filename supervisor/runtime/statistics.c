#include "runtime/statistics.h"

#include "base/utf8.h"
#include "core/tasks/delivery.h"
#include "core/tasks/output.h"
#include "os/clock.h"

static void record_death(struct statistics *statistics, const struct notice *notice)
{
	struct last_death *death = &statistics->last_death;
	const struct output *output = notice->output;
	struct text line = output ? output->stderr_line : TEXT_NONE;
	struct text detail = output ? output->detail : TEXT_NONE;

	statistics->deaths[notice->exit.kind]++;
	death->exit = notice->exit;
	death->why = notice->what;
	utf8_copy_escaped(death->detail, sizeof death->detail, detail);
	death->at = clock_now();
	utf8_copy_escaped(death->stderr_line, sizeof death->stderr_line, line);
}

static void record_end(struct statistics *statistics, const struct notice *notice)
{
	if (notice->kind == NOTICE_WORKER_DIED)
		record_death(statistics, notice);
	statistics->suspects += notice->are_suspects ? notice->open : 0;
}

static void record_restart(struct statistics *statistics, const struct notice *notice)
{
	struct failed_restart *restart = &statistics->failed_restart;

	*restart = (struct failed_restart){.why = NULL};
	if (notice->kind == NOTICE_ROLL_ENDS)
		return;
	restart->why = notice->what;
	restart->at = clock_now();
	if (notice->number > 0)
		restart->last = statistics->last_death;
}

/* Whether a worker could do the task. A rejection counts as a failure, too: one that rejects
 * everything does no work. */
static void judge_attempt(struct statistics *statistics, const struct notice *notice)
{
	bool has_failed =
		notice->kind != NOTICE_TASK_DONE && notice->kind != NOTICE_TASK_HANDED_BACK;

	failure_share_add(&statistics->failure_share, has_failed);
	if (!has_failed)
		return;
	statistics->last_failure = notice->reason;
	statistics->failed_at = clock_now();
}

static void count_attempt(struct statistics *statistics, const struct notice *notice)
{
	histogram_add(&statistics->took, notice->delivery->took);
	if (notice->kind != NOTICE_TASK_ORPHANED)
		judge_attempt(statistics, notice);
}

void statistics_count(struct statistics *statistics, const struct notice *notice)
{
	bool ends_attempt = false;

	statistics->counts[notice->kind]++;
	switch (notice->kind) {
	case NOTICE_TASK_DONE:
	case NOTICE_TASK_HANDED_BACK:
	case NOTICE_TASK_ORPHANED:
		ends_attempt = true;
		break;
	case NOTICE_TASK_RETRIED:
		ends_attempt = true;
		statistics->retried[notice->reason]++;
		break;
	case NOTICE_TASK_GIVEN_UP:
		ends_attempt = true;
		statistics->given_up[notice->reason]++;
		break;
	case NOTICE_REPLY_DROPPED:
		statistics->dropped[notice->reason]++;
		break;
	case NOTICE_TASKS_HELD_UP:
		statistics->held_up += notice->behind;
		break;
	case NOTICE_WORKER_RECYCLED:
		statistics->recycled[notice->recycled]++;
		break;
	case NOTICE_WORKER_DIED:
	case NOTICE_WORKER_LEFT:
		record_end(statistics, notice);
		break;
	case NOTICE_ROLL_ENDS:
	case NOTICE_ROLL_STOPS:
		record_restart(statistics, notice);
		break;
	case NOTICE_TASK_PROGRESS:
	case NOTICE_TASK_ACCEPTED:
	case NOTICE_TASK_LIMITED:
	case NOTICE_TASK_RENEWED:
	case NOTICE_TASK_POSTPONED:
	case NOTICE_TASK_POSTPONED_BY_WORKER:
	case NOTICE_TASK_NOT_DUE:
	case NOTICE_TASK_REFUSED:
	case NOTICE_TASK_CANCELLED:
	case NOTICE_TASK_KILLED:
	case NOTICE_SESSION_BLOCKED:
	case NOTICE_TASK_DISCARDED:
	case NOTICE_CHANNEL_LEFT:
	case NOTICE_WINDOW_KEPT:
	case NOTICE_TASK_UNSTARTED:
	case NOTICE_TASK_CUT_SHORT:
	case NOTICE_LIMIT_IGNORED:
	case NOTICE_REPLY_IGNORED:
	case NOTICE_NO_REPLY_TO:
	case NOTICE_PARCEL_REFUSED:
	case NOTICE_WORKER_READY:
	case NOTICE_WORKER_BROKEN:
	case NOTICE_WORKER_OVERDUE:
	case NOTICE_SOURCE_RESTS:
	case NOTICE_ALL_ACCEPTED:
	case NOTICE_PARCEL_LOST:
	case NOTICE_SOURCE_RESUMES:
	case NOTICE_THROTTLE_CLOSES:
	case NOTICE_THROTTLE_OPENS:
	case NOTICE_PAUSED:
	case NOTICE_RESUMED:
	case NOTICE_SCALED:
	case NOTICE_GROWN:
	case NOTICE_SHRUNK:
	case NOTICE_GROWTH_REFUSED:
	case NOTICE_ROLL_BEGINS:
	case NOTICE_COMMAND_REFUSED:
	case NOTICE_SESSION_COMMAND_REFUSED:
	case NOTICE_DRAINED:
		break;
	}
	if (ends_attempt && notice->delivery && notice->slot >= 0)
		count_attempt(statistics, notice);
}
