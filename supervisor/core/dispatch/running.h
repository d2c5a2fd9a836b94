/* The tasks that workers have begun, and their limits in time. Layer: core. Begun is the head of a
 * pipe, or with concurrency each task in it; not those of a worker that was asked to end. */
#ifndef CORE_DISPATCH_RUNNING_H
#define CORE_DISPATCH_RUNNING_H

#include "core/dispatch/pipe.h"

struct running {
	struct link begun; /* tasks, the longest running first; those that are overdue are not in
			      it */
	struct delivery *longest; /* the first of them that has no hard limit of its own, or NULL */
	struct link busy;         /* pipes with a begun task */
	struct link watched; /* pipes with an overdue task, by watched_since: they are watched */
	struct timers soft;  /* of tasks with a soft limit that is not over */
	struct timers hard;  /* of tasks with a hard limit of their own that is not over */
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
/* Give a begun task that is not overdue a hard limit of its own, from its begin. RC_MEMORY: nothing
 * has changed. */
enum rc running_set_hard(struct running *, struct delivery *, mtime limit) MUST_CHECK;
/* The hard limit of a task, where the pool's is `limit`. */
static inline mtime running_hard_limit(const struct delivery *delivery, mtime limit)
{
	return delivery->hard_limit ? delivery->hard_limit : limit;
}
/* When a task that is not overdue will be over its hard limit; MTIME_NEVER: none will. */
mtime running_hard_deadline(const struct running *, mtime limit);
/* A task that is over its hard limit, and is not overdue yet; or NULL. */
struct delivery *running_over_hard(const struct running *, mtime limit, mtime now);
/* The task that began last; if `after` is not NULL, the last one before it. NULL: none. */
struct delivery *running_latest(const struct running *, const struct delivery *after);

/* The task is over the hard limit, and others of its worker run: wait for a sign of these. */
void running_overdue(struct running *, struct delivery *, mtime now);
/* The worker has answered this task, or reported its progress. */
void running_heard(struct pipe *, uint64_t task_id);
/* When the next worker was watched for so long, `span`; MTIME_NEVER: none is watched. */
mtime running_watch_deadline(const struct running *, mtime span);
/* A task that was overdue for `span` while its worker was watched for so long, or NULL. Of such
 * tasks of this worker those are blamed that have hung: it has sent something of another task. */
struct delivery *running_judge(struct running *, mtime limit, mtime span, mtime now);

/* If an operator kills tasks of the worker: when it ends now, these have failed, and others only if
 * they are blamed already. */
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
