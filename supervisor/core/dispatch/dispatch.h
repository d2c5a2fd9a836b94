/* Dispatch: which task next, for which worker. Layer: core. The only place that chooses a task. A
 * task leaves a pipe with dispatch_end, when its attempt is over; source_release comes later, when
 * it is settled and confirmed. Owns the QUEUED and SENT deliveries.
 * Suspects: tasks of which one may have ended its worker. A suspect is sent to a worker that has no
 * other task, and that worker gets none until the suspect has ended; so one that ends its worker
 * again is found. Only a pool with a concurrency above 1 has suspects. */
#ifndef CORE_DISPATCH_DISPATCH_H
#define CORE_DISPATCH_DISPATCH_H

#include "core/dispatch/by_load.h"
#include "core/dispatch/running.h"
#include "core/pool_config.h"
#include "core/sessions/sessions.h"
#include "core/tasks/source.h"
#include "core/throttle/throttling.h"

struct dispatch {
	const struct effects *effects; /* borrowed until pool_free, like io, last_id and sessions */
	void *io;
	struct sessions *sessions; /* NULL: the pool has none */
	uint64_t *last_id;         /* that was given to a task; all pools share it */
	uint32_t concurrency;      /* open tasks in one worker */
	struct link queued;        /* QUEUED deliveries that are in no session, oldest first */
	struct link suspects;      /* the same, of those that are suspects, also of sessions */
	uint32_t queued_count;     /* in both, and in the groups of throttling */
	uint32_t suspect_count;    /* QUEUED suspects */
	struct by_load open;       /* open pipes */
	struct number_table by_id; /* SENT deliveries */
	uint32_t in_pipes;         /* tasks in all pipes, whatever their slots' state */
	uint32_t in_pipes_max;     /* maximum since dispatch_measured */
	uint32_t accepted;         /* tasks that ready workers have accepted and not ended */
	bool is_exclusive;         /* the task in a pipe must be the only one of the pool */
	struct throttling throttling;
	struct running running;
	struct link in_time; /* pipes whose head has not run for pipe_wait, by their begin */
	mtime pipe_wait;     /* as configured; MTIME_NEVER: no limit */
	/* suspects */
	struct link kept;    /* pipes that get a suspect when they are empty; empty ones first */
	uint32_t kept_count; /* how many */
	uint32_t alone;      /* pipes with PIPE_ALONE */
	uint32_t up;         /* pipes of workers that are ready and stay */
};

/* Less work than this is not worth another process: to wake one and to fill its caches costs some
 * tens of microseconds of CPU time, and it runs only after as long again. */
#define DISPATCH_WAKING (MTIME_MS / 10)

enum dispatch_stop {
	DISPATCH_DONE,      /* nothing can be sent now */
	DISPATCH_INVALID,   /* *ret_task moves out: it cannot be sent to any worker */
	DISPATCH_REFUSED,   /* *ret_task moves out: by .throttling.decision */
	DISPATCH_THROTTLED, /* a throttle lets none start */
	DISPATCH_NO_MEMORY, /* retry a little later */
	DISPATCH_ENOUGH,    /* enough were woken, or sent: continue in the next turn */
};

/* All are borrowed until dispatch_release. RC_MEMORY. */
enum rc dispatch_init(struct dispatch *, const struct pool_config *, struct sessions *,
	uint64_t *last_id, const struct effects *, void *io) MUST_CHECK;
void dispatch_release(struct dispatch *);
/* pipe_wait: no task is sent behind a head that has run for longer; MTIME_NEVER: no limit. */
void dispatch_configure(struct dispatch *, mtime pipe_wait);
/* True: an open pipe can take a task: it is empty, or with concurrency not full. */
bool dispatch_has_place(const struct dispatch *);
/* How many tasks wait for a worker; how many of them could be sent now, because no other task of
 * their session goes before them and no throttle refuses them; of these, suspects; and how many
 * wait for a throttle. */
uint32_t dispatch_waiting(const struct dispatch *);
uint32_t dispatch_runnable(const struct dispatch *);
uint32_t dispatch_suspects(const struct dispatch *);
uint32_t dispatch_throttled(const struct dispatch *);

/* Append a task without a session to those that wait. It moves in. */
void dispatch_offer(struct dispatch *, struct delivery *);
/* Put a task that came back from a pipe before all that wait, or before its session's. It moves in,
 * and is freed if its redelivery is as good. */
void dispatch_requeue(struct dispatch *, struct delivery *, mtime now);
/* If the session's front task waits to run alone, it waits in its session again. */
void dispatch_withdraw(struct dispatch *, const struct session *, mtime now);
/* Close each pipe whose head had run for pipe_wait or longer at arrived_after, until that head
 * ends. True: a pipe was closed. */
bool dispatch_hold_up(struct dispatch *, mtime arrived_after);
/* Begin a turn; follow another list of throttles. What waits for one may be asked about again. */
void dispatch_begin_turn(struct dispatch *, uint32_t window, mtime boot, mtime now);
void dispatch_rethrottle(struct dispatch *, mtime now);
/* Send while a task waits and an open pipe has less than depth tasks (1 to POOL_PIPELINE_MAX, or
 * the concurrency). The least loaded pipe is next; of idle workers the one that was busy last,
 * because its caches are warm. Before an idle worker is woken, the pipe whose head began last is
 * filled up to pack tasks (1 to depth). Suspects go first; in a pool with a single worker the older
 * task does. An exclusive task (settle_is_exclusive) is sent when all pipes are empty. The tasks
 * behind it wait until it has ended; otherwise they would overtake it for ever. */
enum dispatch_stop dispatch_run(struct dispatch *, uint32_t depth, uint32_t pack, mtime now,
	struct delivery **ret_task) MUST_CHECK;
/* With sessions: what the token names and is not sent is named no more, unless it is next in its
 * session and a name is needed. */
void dispatch_check_name(struct dispatch *, bool is_needed, mtime now);
/* Abort the session of this task, which is in a pipe. Its worker is asked to give the task up, now
 * or when it begins it. */
void dispatch_abort(struct dispatch *, const struct delivery *, enum session_rest goes, mtime now);
/* The tasks that the worker has begun, also after dispatch_slot_stop. */
static inline uint32_t dispatch_begun(const struct dispatch *dispatch, const struct pipe *pipe)
{
	return pipe->load > 0 && dispatch->concurrency == 1 ? 1 : pipe->load;
}
/* The SENT delivery with this id, or NULL. */
struct delivery *dispatch_find(const struct dispatch *, uint64_t id);
/* The task was answered: it moves out. Without concurrency the clock of the next task in its pipe
 * starts now; after dispatch_slot_stop no clock starts, and nobody is to blame. */
void dispatch_end(struct dispatch *, struct delivery *, mtime now);
/* The worker of the task, which is in a pipe, has accepted it: 1; or it counts no more: -1. */
void dispatch_count_accepted(struct dispatch *, const struct delivery *, int32_t difference);
/* The task is over the hard limit while others of its worker run: send nothing to this worker until
 * it is known which one has hung. */
void dispatch_overdue(struct dispatch *, struct delivery *, mtime now);
/* An operator kills the task: send nothing more to its worker until the attempt has ended. */
void dispatch_kill(struct dispatch *, struct delivery *, enum task_kill);
/* Take out the oldest suspect that waits, or the oldest other task; NULL: none waits. */
struct delivery *dispatch_take_suspect(struct dispatch *);
struct delivery *dispatch_take(struct dispatch *);
/* How many suspects are in pipes. */
static inline uint32_t dispatch_alone(const struct dispatch *dispatch)
{
	return dispatch->alone - dispatch->kept_count;
}
/* Begin to measure in_pipes_max. */
void dispatch_measured(struct dispatch *);

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
/* Send no more tasks to it, or send tasks to it again. Those in its pipe are not affected. */
void dispatch_slot_dismiss(struct dispatch *, struct pipe *);
void dispatch_slot_keep(struct dispatch *, struct pipe *);
/* Send no more tasks to it, and stop the clocks of its tasks: no limit applies any more. What runs
 * now decides who is to blame if the worker ends. */
void dispatch_slot_stop(struct dispatch *, struct pipe *);
/* Take out the last task of a pipe that was stopped, or return NULL. */
struct delivery *dispatch_take_last(struct dispatch *, struct pipe *);
/* The source's channel is gone: free its tasks that wait; those in pipes become orphans. Of a pool
 * with sessions all others are detached (sessions.h). */
void dispatch_source_down(struct dispatch *, struct source *, mtime now);

#endif
