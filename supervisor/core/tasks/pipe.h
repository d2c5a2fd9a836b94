/* A pipe: the tasks that one worker has, and whether it may get more. Layer: core, plain data.
 * dispatch.c writes it, pace.c the members at its end. Each slot embeds one; the workers' half of
 * the core changes it by the functions of dispatch.h only, except outcome_on_exit and violation. */
#ifndef CORE_TASKS_PIPE_H
#define CORE_TASKS_PIPE_H

#include "core/tasks/delivery.h"
#include "core/tasks/settle.h"

/* Why nothing is sent into a pipe; 0: it is open. */
enum pipe_closed {
	PIPE_NOT_READY = 1, /* no worker, or one that is leaving */
	PIPE_FULL = 2,      /* the buffer of bytes for the worker is above its high mark */
	PIPE_HELD_UP = 4,   /* its head runs for too long: no task should wait behind it */
	PIPE_DISMISSED = 8, /* its slot is leaving; tasks in the pipe are still done */
};

struct pipe {
	struct link tasks;   /* deliveries, oldest first; only the head counts as begun */
	uint16_t load;       /* how many */
	uint16_t slot;       /* number of its slot */
	uint32_t life;       /* of the worker that it belongs to */
	unsigned closed;     /* bits of enum pipe_closed */
	uint32_t tasks_max;  /* that this worker gets; 0: any number */
	uint32_t answers;    /* that this worker sent */
	struct link by_load; /* if open: in the list of pipes with the same load */
	struct link running; /* if the hard limit applies to its head: in the list by since */
	struct link in_time; /* if its head has not run for too long: in that list */
	mtime since;         /* when the head began: at the answer before it, or when it was sent */
	enum outcome outcome_on_exit; /* of the head's attempt, if the process ends now */
	const char *violation;        /* OUTCOME_BROKEN: how, static text */

	/* pace */
	mtime counted_until;  /* the head's time is counted up to then; MTIME_NEVER: not yet, it
				 counts from since */
	struct link answered; /* if it has answers in this turn: in pace's list */
	uint32_t batch;       /* answers in this turn */
	mtime batch_time;     /* the time that they took together */
};

/* The start of the work that is not counted yet, of the head and of those before it. */
static inline mtime pipe_works_since(const struct pipe *pipe)
{
	return mtime_min(pipe->counted_until, pipe->since);
}

static inline struct delivery *pipe_head(const struct pipe *pipe)
{
	struct link *first = list_first(&pipe->tasks);
	return first ? CONTAINER_OF(first, struct delivery, place) : NULL;
}

/* True: the worker has got as many tasks as it may get. */
static inline bool pipe_is_spent(const struct pipe *pipe)
{
	return pipe->tasks_max && pipe->answers + pipe->load >= pipe->tasks_max;
}

#endif
