/* Dispatch: which task next, for which worker. Layer: core. The only place that chooses a task.
 * Its seven verbs (offer, run, end, done, slot_up, slot_gone, source_down) are the only way to a
 * task; end (the attempt is over, the pipe has one less) and done (settled and confirmed, may be
 * acked) are two moments. Pipes stand in lists by load, with a bit for each list that is not empty,
 * so that the least loaded one is found in O(1). Owns the QUEUED and SENT deliveries. */
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
	bool is_alone;       /* the one in a pipe is to be alone: nothing is sent beside it */
	struct link running; /* pipes with a head, the one that runs longest first */
	struct link in_time; /* those of them whose head may still end in time, in the same order */
	mtime pipe_wait;     /* what is in time; MTIME_NEVER: anything */
};

/* To wake a process, and to let it find its memory again, costs some tens of microseconds of CPU,
 * and it takes as long until it runs: work of this length is not worth another process. */
#define DISPATCH_WAKING (MTIME_MS / 10)

/* Idle workers that are given a task in one run: where tasks are short, the first of them have
 * answered by the next run, and a thousand at once would keep all processors from the rest of us.
 */
#define DISPATCH_WAKES 64

enum dispatch_stop {
	DISPATCH_DONE, /* nothing waits, every pipe is full, or a task is or wants to be alone */
	DISPATCH_TOO_LARGE, /* *ret_unfit moves out: no worker can be given it */
	DISPATCH_NO_MEMORY, /* retry a little later */
	DISPATCH_ENOUGH,    /* so many workers were woken: go on in the next turn */
};

/* pipe_wait: nothing more is sent behind a head that runs for longer; MTIME_NEVER: no limit. */
void dispatch_init(struct dispatch *, mtime pipe_wait, const struct effects *, void *io);
/* Heads that closed their pipes by the limit before keep them closed. */
void dispatch_set_pipe_wait(struct dispatch *, mtime pipe_wait);

/* Tasks that no worker has yet. */
static inline uint32_t dispatch_waiting(const struct dispatch *dispatch)
{
	return dispatch->queued_count;
}

/* Those of them that would start now if workers were free: today all. */
static inline uint32_t dispatch_startable(const struct dispatch *dispatch)
{
	return dispatch->queued_count;
}

/* An open pipe is empty. */
static inline bool dispatch_has_idle(const struct dispatch *dispatch)
{
	return dispatch->loads & 1;
}

/* Moves in: behind all that wait, or before them, back from a pipe and never started. */
void dispatch_offer(struct dispatch *, struct delivery *);
void dispatch_requeue(struct dispatch *, struct delivery *);
/* Close the pipes whose heads were still running at that time, and for too long, until these end.
 * True: there are new ones. */
bool dispatch_hold_up(struct dispatch *, mtime arrived_after);
/* Send while a task waits and an open pipe holds less than depth (1 to POOL_PIPELINE_MAX): to the
 * least loaded one, of idle ones to the one that was busy last, because its memory is warm. Before
 * an idle one is woken, the one whose head began last gets up to pack (1 to depth). A task that is
 * to be alone (settle.h) is sent when all pipes are empty; those behind it wait for that and for
 * its end, or they would overtake it for ever. */
enum dispatch_stop dispatch_run(struct dispatch *, uint32_t depth, uint32_t pack, mtime now,
	struct delivery **ret_unfit) MUST_CHECK;
/* The head was answered: it moves out, and the next one in the pipe runs from now. If the worker
 * had been given up before, those behind are not to blame for its end. */
struct delivery *dispatch_end(struct dispatch *, struct pipe *, mtime now);
/* Settled and confirmed: moves in, to its source, which acks it. */
void dispatch_done(struct dispatch *, struct delivery *);
/* The oldest that waits moves out; NULL: none. */
struct delivery *dispatch_take(struct dispatch *);

/* The pipe of a new slot. */
void dispatch_add_slot(struct pipe *, uint16_t slot);
/* A process starts in it. */
void dispatch_slot_begin(struct pipe *, uint32_t life);
/* It is ready for tasks. */
void dispatch_slot_up(struct dispatch *, struct pipe *);
/* It is given so many at most; 0: any number. */
void dispatch_slot_limit(struct dispatch *, struct pipe *, uint32_t tasks_max);
/* The worker's output buffer takes more, or does not. */
void dispatch_slot_writable(struct dispatch *, struct pipe *, bool is_writable);
/* No more tasks for it, or again; those in its pipe go on. */
void dispatch_slot_dismiss(struct dispatch *, struct pipe *);
void dispatch_slot_keep(struct dispatch *, struct pipe *);
/* No more tasks, and its head is not under the hard limit any more. */
void dispatch_slot_stop(struct dispatch *, struct pipe *);
/* The worker has ended: the head moves out (or NULL), those behind it wait again, first of all and
 * in their order; orphans among them are freed. */
struct delivery *dispatch_slot_gone(struct dispatch *, struct pipe *);
/* What waits is freed, what is in a pipe becomes an orphan. */
void dispatch_source_down(struct dispatch *, struct source *);

/* When the head that runs longest is over the limit; MTIME_NEVER: none runs. */
mtime dispatch_deadline(const struct dispatch *, mtime hard_limit);
/* The running pipe whose head began first; NULL: none. */
struct pipe *dispatch_longest_running(const struct dispatch *);
/* The running pipe whose head began last, of those before `after`, if that is not NULL; or NULL. */
struct pipe *dispatch_latest_running(const struct dispatch *, const struct pipe *after);

#endif
