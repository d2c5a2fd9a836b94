/* The tasks that workers have begun, and their limits in time. Layer: core. Begun is the head of a
 * pipe, or with concurrency each task in it; not those of a worker that was asked to end. */
#ifndef CORE_TASKS_RUNNING_H
#define CORE_TASKS_RUNNING_H

#include "core/tasks/pipe.h"

struct running {
	struct link begun;   /* tasks, the longest running first; those that are overdue are not in
				it */
	struct link busy;    /* pipes with a begun task */
	struct link watched; /* pipes with an overdue task, by watched_since: they are watched */
	struct timers soft;  /* of tasks with a soft limit that is not over */
	/* for running_worked */
	uint32_t count;     /* of begun tasks */
	uint64_t begun_sum; /* of their begun_at */
	uint64_t done;      /* the time that tasks took which have ended */
};

void running_init(struct running *);
void running_release(struct running *);

/* The task, which is in its pipe, begins now. */
void running_begin(struct running *, struct delivery *, mtime now);
/* It has ended, or no limit applies to it any more; does nothing if it has not begun. */
void running_end(struct running *, struct delivery *);
static inline bool running_has(const struct delivery *delivery)
{
	return !list_is_empty(&delivery->begun) || delivery->is_overdue;
}
/* The task that began first, or NULL; overdue ones do not count. */
struct delivery *running_longest(const struct running *);
/* The task that began last; if `after` is not NULL, the last one before it. NULL: none. */
struct delivery *running_latest(const struct running *, const struct delivery *after);

/* The task is over the hard limit, and others of its worker run: wait for a sign of these. */
void running_overdue(struct running *, struct delivery *, mtime now);
/* The worker has answered this task, or reported its progress. */
void running_heard(struct pipe *, uint64_t task_id);
/* When the next worker was watched for so long, `span`; MTIME_NEVER: none is watched. */
mtime running_watch_deadline(const struct running *, mtime span);
/* The pipe of a worker that was watched for so long, or NULL. Of its tasks that were overdue by
 * limit + span, those are blamed that have hung: the worker has sent something of another task. */
struct pipe *running_judge(struct running *, mtime limit, mtime span, mtime now);

/* If the worker ends now, the tasks that an operator kills have failed, and others only if they are
 * blamed already; unless nobody is to blame. */
void running_blame_killed(struct pipe *);

/* Set the soft limits (own, else `limit`) of the tasks that have begun since the last call. There
 * must be space for their timers (running_reserve). */
void running_set_soft(struct running *, mtime limit, mtime now);
/* Make space for the soft limits of so many tasks. RC_MEMORY. */
enum rc running_reserve(struct running *, uint32_t tasks) MUST_CHECK;
/* A task whose soft limit is over, once for each task; NULL: none. */
struct delivery *running_take_over_soft(struct running *, mtime now);

/* The task ended at `until`: count its time. */
void running_count(struct running *, const struct delivery *, mtime until);
/* The time that all tasks together have run until then; only differences have a meaning. */
uint64_t running_worked(const struct running *, mtime until);

#endif
