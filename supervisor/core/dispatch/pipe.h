/* A pipe: the tasks that one worker has, and whether it may get more. Layer: core, plain data. In a
 * pool with a concurrency of 1 only the head has begun, and the tasks behind it wait in the pipe;
 * above 1 all have begun. dispatch.c and running.c write it, pace.c the members at its end. Each
 * slot embeds one; the workers' half of the core changes it by the functions of dispatch.h only. */
#ifndef CORE_DISPATCH_PIPE_H
#define CORE_DISPATCH_PIPE_H

#include "core/tasks/delivery.h"
#include "core/tasks/settle.h"

/* Why nothing is sent into a pipe; 0: it is open. */
enum pipe_closed {
	PIPE_NOT_READY = 1, /* no worker, or one that is leaving */
	PIPE_FULL = 2,      /* the buffer of bytes for the worker is above its high mark */
	PIPE_HELD_UP = 4,   /* its head runs for too long: no task should wait behind it */
	PIPE_DISMISSED = 8, /* its slot is leaving; tasks in the pipe are still done */
	PIPE_ALONE = 16,    /* it has a suspect, or gets one when it is empty */
	PIPE_OVERDUE = 32,  /* a task in it is over the hard limit */
	PIPE_KILLED = 64,   /* an operator kills a task in it, perhaps with the worker */
};

/* Whose attempt has failed if the worker ends now. */
enum pipe_blame {
	BLAME_BEGUN,    /* of the task that has begun; of several nobody's: all become suspects */
	BLAME_MARKED,   /* of those with is_blamed */
	BLAME_SUSPECTS, /* nobody's: all that have begun become suspects */
	BLAME_NOBODY,
};

struct pipe {
	struct link tasks;   /* deliveries, oldest first */
	uint16_t load;       /* how many */
	uint16_t begun;      /* those that the hard limit applies to */
	uint16_t overdue;    /* of these, those with is_overdue */
	uint16_t killed;     /* tasks that an operator kills */
	uint16_t slot;       /* number of its slot */
	uint32_t life;       /* of the worker that it belongs to */
	unsigned closed;     /* bits of enum pipe_closed */
	uint32_t tasks_max;  /* that this worker gets; 0: any number */
	uint32_t answers;    /* that this worker sent */
	struct link by_load; /* if open: in the list of pipes with the same load */
	struct link busy;    /* if a task has begun: in that list */
	struct link in_time; /* if its head has not run for too long: in that list */
	struct link kept;    /* if it is to get a suspect: in that list */
	mtime kept_since;
	struct link watched; /* if a task is overdue: in the list by watched_since */
	mtime watched_since; /* since then its worker is watched: a task became overdue */
	uint64_t heard_of;   /* the first task of which the worker has sent something since then */
	bool heard_more;     /* and something of another one, too */
	enum pipe_blame blame; /* if the process ends now */
	enum outcome on_exit;  /* then the outcome of the attempts that have failed */
	const char *violation; /* OUTCOME_BROKEN: how, static text */

	/* pace */
	mtime counted_until;  /* the head's time is counted up to then; MTIME_NEVER: not yet, it
				 counts from begun_at */
	struct link answered; /* if it has answers in this turn: in pace's list */
	uint32_t batch;       /* answers in this turn */
	mtime batch_time;     /* the time that they took together */
};

static inline struct delivery *pipe_head(const struct pipe *pipe)
{
	struct link *first = list_first(&pipe->tasks);
	return first ? CONTAINER_OF(first, struct delivery, place) : NULL;
}

/* The start of the work that is not counted yet, of the head and of those before it. The pipe is
 * not empty. */
static inline mtime pipe_works_since(const struct pipe *pipe)
{
	return mtime_min(pipe->counted_until, pipe_head(pipe)->begun_at);
}

/* True: its worker is ready and stays. */
static inline bool pipe_is_up(const struct pipe *pipe)
{
	return !(pipe->closed & (PIPE_NOT_READY | PIPE_DISMISSED));
}

/* True: the worker has got as many tasks as it may get. */
static inline bool pipe_is_spent(const struct pipe *pipe)
{
	return pipe->tasks_max && pipe->answers + pipe->load >= pipe->tasks_max;
}

#endif
