/* The fake workers in the slots of a pool. */
#ifndef SIM_WORKERS_H
#define SIM_WORKERS_H

#include "core/effects.h"
#include "core/pool.h"
#include "sim/steer.h"

#define WORKER_TASKS_MAX 64

struct pool_runtime;

enum worker_phase { WORKER_NONE, WORKER_BOOTING, WORKER_RUNNING };

struct worker_task {
	uint64_t instance;            /* 0: the broker had already closed its channel */
	uint64_t task_id;             /* of this attempt */
	uint32_t id, slice, requeues; /* requeues: how often the instance was requeued before */
	uint16_t attempt;
	bool alone;       /* it came back after three renewals, so it must run alone */
	bool interrupted; /* it was asked to end early */
	bool cancelled;   /* the same, by an operator */
	bool is_aborted;  /* its session is */
	bool is_killed;   /* by an operator */
	uint32_t life;    /* with a key: order.h */
	bool is_lost;     /* without a key: its pool has lost the token since it was sent */
	mtime began;      /* MTIME_NEVER: another task is before it in its worker */
	mtime sent, soft; /* soft: its limit where the pool interrupts, else MTIME_NEVER */
	mtime hard;       /* set by its worker; 0: the pool's limit applies */
	/* blame.h */
	bool is_suspect;
	bool is_due;        /* it was over the hard limit when a turn began */
	enum reason blamed; /* for which its attempt counts; REASON_NONE: it does not */
	bool is_told;       /* the pool has reported how the attempt ended */
};

struct worker {
	enum worker_phase phase;
	uint32_t life;
	bool quit, term, kill; /* requested by the pool so far */
	bool reports_memory;   /* at this moment: only then it is killed because of it */
	bool given_up;         /* together with its task, because of a limit of time or memory */
	bool broken;           /* it broke the protocol and sends nothing more */
	bool has_ended;        /* it has given its last answer */
	bool full;             /* its pipe is full */
	bool stubborn;         /* ignores quit and SIGTERM */
	bool comes_to_nothing; /* it never becomes ready */
	bool blocked;          /* a task blocks all others: nothing is sent any more */
	mtime kill_at;         /* when it is ended unless it ends its tasks that are killed */
	bool is_dead;          /* the guard has killed it, which its pool does not know */
	mtime cost;            /* processor time that its start still needs */
	mtime started, waited; /* waited: for a processor since then */
	mtime since;           /* when its head was begun; valid if it has one */
	uint32_t given;        /* tasks that it got in this life */
	uint32_t given_max;    /* it may get; 0: any number */
	uint64_t bytes;        /* resident memory; grows with each task */
	uint32_t current;      /* index of the task that it acts on */
	uint64_t answered;     /* id of the task that it answered last; 0: none */
	/* blame.h */
	bool is_judged;      /* it is known whose attempts count */
	bool are_suspects;   /* nobody's: all that are open are suspects */
	mtime watched_since; /* a task is due since then */
	uint64_t heard_of;   /* the first task of which it has sent something since then */
	bool heard_more;     /* and something of another one, too */
	uint32_t count, unheard_count;
	struct worker_task tasks[WORKER_TASKS_MAX];   /* the oldest first; valid up to count */
	struct worker_task unheard[WORKER_TASKS_MAX]; /* answered when the pool did not listen */
};

struct workers {
	struct pool_runtime *runtime;
	uint32_t restless; /* bit (1u << slot): workers_act may change something, also in a calm
			      world */
	uint64_t cancels;  /* id of the task that an operator is cancelling; 0: none */
	bool was_asked;    /* its worker was asked to */
	/* blame.h: those that were open in the worker that ended last */
	uint32_t ended_count;
	struct worker_task ended[WORKER_TASKS_MAX];
	struct worker worker[SLOTS_MAX];
};

/* No worker is started yet. */
void workers_start(struct workers *, struct pool_runtime *);
enum send_result workers_send(
	struct workers *, uint16_t slot, const struct delivery *, uint16_t attempt);
void workers_request(struct workers *, uint16_t slot, uint32_t life, enum slot_request);
void workers_ask(
	struct workers *, uint16_t slot, uint32_t life, enum task_request, uint64_t task_id);
/* Let a worker do the next thing that it can do, if there is one. */
void workers_act(struct workers *, uint16_t slot);
/* The world becomes calm: each worker may act again. */
void workers_wake(struct workers *);
/* True: it is ready and was not asked to end. */
static inline bool workers_is_taking(const struct workers *workers, uint16_t slot)
{
	const struct worker *worker = &workers->worker[slot];

	return worker->phase == WORKER_RUNNING && !worker->quit && !worker->term && !worker->kill &&
	       !worker->broken;
}
/* True: in a calm world, workers_act changes nothing until the pool sends something. */
static inline bool workers_is_at_rest(const struct workers *workers, uint16_t slot)
{
	const struct worker *worker = &workers->worker[slot];

	return worker->phase == WORKER_NONE ||
	       (worker->phase == WORKER_RUNNING && (worker->count == 0 || worker->blocked) &&
		       !worker->full && !worker->quit && !worker->term && !worker->kill &&
		       !worker->is_dead);
}
bool workers_is_anyone_alive(const struct workers *);
/* It has a task whose session is aborted. */
bool workers_has_aborted(const struct worker *);
/* It has a task that an operator kills. */
bool workers_has_killed(const struct worker *);
/* Check that no worker keeps such a task for longer than it may. */
void workers_check_killed(const struct pool_runtime *);
/* The hard limit that applies to the task. */
mtime workers_hard_limit(const struct pool_runtime *, const struct worker_task *);
/* Check that no worker of a pool without concurrency goes on with a task that is over it. */
void workers_check_hard(const struct pool_runtime *);
/* The open task with this id, or NULL. */
struct worker_task *workers_find(struct worker *, uint64_t task_id);
/* True: its tasks carry ids that count, and each of them has begun. */
bool workers_have_many(const struct pool_runtime *);
/* The pool has another configuration. */
void workers_reconfigure(struct pool_runtime *);

#endif
