/* Dispatch: which task next, for which worker. Layer: core. The only place that chooses a task. A
 * task leaves a pipe with dispatch_end, when its attempt is over; source_release comes later, when
 * it is settled and confirmed. Pipes are in one list for each load, and a bit mask shows which
 * lists are not empty, so the least loaded pipe is found in O(1). Owns the QUEUED and SENT
 * deliveries. */
#ifndef CORE_TASKS_DISPATCH_H
#define CORE_TASKS_DISPATCH_H

#include "core/pool_config.h"
#include "core/tasks/pipe.h"
#include "core/tasks/source.h"

struct dispatch {
	const struct effects *effects; /* borrowed until pool_free, like io */
	void *io;
	struct link queued;                     /* QUEUED deliveries, oldest first */
	uint32_t queued_count;                  /* how many */
	struct link by_load[POOL_PIPELINE_MAX]; /* open pipes with that many tasks */
	uint64_t loads;                         /* bit n: by_load[n] is not empty */
	uint32_t in_pipes;   /* tasks in all pipes, whatever their slots' state */
	bool is_exclusive;   /* the task in a pipe must be the only one of the pool in a pipe */
	struct link running; /* pipes with a head, the longest running first */
	struct link in_time; /* those whose head has not reached pipe_wait, in the same order */
	mtime pipe_wait;     /* as configured; MTIME_NEVER: no limit */
};

/* Less work than this is not worth another process: to wake one and to fill its caches costs some
 * tens of microseconds of CPU time, and it runs only after as long again. */
#define DISPATCH_WAKING (MTIME_MS / 10)

/* At most so many idle workers get a task in one run. If tasks are short, the first of them have
 * answered by the next run; a thousand at once would keep the processors from the broker and the
 * supervisor. */
#define DISPATCH_WAKES 64

enum dispatch_stop {
	DISPATCH_DONE,      /* no task waits, every pipe is full, or an exclusive task waits or runs */
	DISPATCH_TOO_LARGE, /* *ret_invalid moves out: it cannot be sent to any worker */
	DISPATCH_NO_MEMORY, /* retry a little later */
	DISPATCH_ENOUGH,    /* DISPATCH_WAKES workers were woken: continue in the next turn */
};

/* pipe_wait: no task is sent behind a head that has run for longer; MTIME_NEVER: no limit. */
void dispatch_init(struct dispatch *, mtime pipe_wait, const struct effects *, void *io);

/* An open pipe is empty. */
static inline bool dispatch_has_idle(const struct dispatch *dispatch)
{
	return dispatch->loads & 1;
}

/* Append a task to those that wait; or put one that came back from a pipe, not begun, before them.
 * It moves in. */
void dispatch_offer(struct dispatch *, struct delivery *);
void dispatch_requeue(struct dispatch *, struct delivery *);
/* Close each pipe whose head had run for pipe_wait or longer at arrived_after, until that head
 * ends. True: a pipe was closed. */
bool dispatch_hold_up(struct dispatch *, mtime arrived_after);
/* Send while a task waits and an open pipe has less than depth tasks (1 to POOL_PIPELINE_MAX). The
 * least loaded pipe is next; of idle workers the one that was busy last, because its caches are
 * warm. Before an idle worker is woken, the pipe whose head began last is filled up to pack tasks
 * (1 to depth). An exclusive task (settle_is_exclusive) is sent when all pipes are empty. The
 * tasks behind it wait until it has ended; otherwise they would overtake it for ever. */
enum dispatch_stop dispatch_run(struct dispatch *, uint32_t depth, uint32_t pack, mtime now,
	struct delivery **ret_invalid) MUST_CHECK;
/* The head was answered: it moves out, and the clock of the next task in the pipe starts now. After
 * dispatch_slot_stop no clock starts: the tasks behind the head count as not begun. */
struct delivery *dispatch_end(struct dispatch *, struct pipe *, mtime now);
/* Take out the oldest task that waits, or return NULL. */
struct delivery *dispatch_take(struct dispatch *);

/* Initialize the pipe of a new slot. */
void dispatch_add_slot(struct pipe *, uint16_t slot);
/* A process starts in the slot. */
void dispatch_slot_begin(struct pipe *, uint32_t life);
/* The worker is ready for tasks. */
void dispatch_slot_up(struct dispatch *, struct pipe *);
/* Give this worker at most so many tasks; 0: any number. */
void dispatch_slot_limit(struct dispatch *, struct pipe *, uint32_t tasks_max);
/* The buffer of bytes for this worker accepts more, or is full. */
void dispatch_slot_writable(struct dispatch *, struct pipe *, bool is_writable);
/* Send no more tasks to it, or send tasks to it again. Tasks that are in its pipe are not
 * affected. */
void dispatch_slot_dismiss(struct dispatch *, struct pipe *);
void dispatch_slot_keep(struct dispatch *, struct pipe *);
/* Send no more tasks to it, and stop the clock of its head: the hard limit does not apply any
 * more. */
void dispatch_slot_stop(struct dispatch *, struct pipe *);
/* The worker has ended: the head moves out (NULL: the pipe was empty). The tasks behind it wait
 * again, before all others and in their order; orphans among them are freed. */
struct delivery *dispatch_slot_gone(struct dispatch *, struct pipe *);
/* The source's channel is gone: free its tasks that wait; those in pipes become orphans. */
void dispatch_source_down(struct dispatch *, struct source *);

/* When the longest running head exceeds the limit; MTIME_NEVER: none runs. */
mtime dispatch_deadline(const struct dispatch *, mtime hard_limit);
/* The running pipe whose head began first, or NULL. */
struct pipe *dispatch_longest_running(const struct dispatch *);
/* The running pipe whose head began last; if `after` is not NULL, the last one before it. NULL:
 * none. */
struct pipe *dispatch_latest_running(const struct dispatch *, const struct pipe *after);

#endif
