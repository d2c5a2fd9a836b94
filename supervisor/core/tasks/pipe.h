/* A pipe: the tasks that one worker has, and whether it may be given more. Layer: core, plain data.
 * dispatch.c writes it, pace.c its batch. The workers' half embeds one in each slot, changes it by
 * the verbs of dispatch.h only, and writes the blame. */
#ifndef CORE_TASKS_PIPE_H
#define CORE_TASKS_PIPE_H

#include "core/tasks/delivery.h"
#include "core/tasks/settle.h"

/* Why nothing is sent into a pipe; 0: it is open. */
enum pipe_closed {
	PIPE_NOT_READY = 1, /* no worker, or one that is on its way out */
	PIPE_FULL = 2,      /* the worker's output buffer has crossed its high mark */
	PIPE_HELD_UP = 4,   /* its head runs for too long for others to wait behind it */
	PIPE_DISMISSED = 8, /* its slot is not wanted any more; what it holds is finished */
};

struct pipe {
	struct link tasks;   /* deliveries, oldest first; only the head counts as started */
	uint16_t load;       /* how many */
	uint16_t slot;       /* number of its slot */
	uint32_t life;       /* of the worker that it was last open for */
	unsigned closed;     /* bits of enum pipe_closed */
	uint32_t tasks_max;  /* that this worker is given; 0: any number */
	uint32_t answers;    /* that this worker gave */
	struct link by_load; /* open: among the pipes with the same load; else alone */
	struct link running; /* its head is under the hard limit: by since; else alone */
	struct link in_time; /* its head has not run for too long, as far as is known; else alone */
	mtime since;         /* the head runs since the answer before it, or since it was sent */
	enum outcome blame;  /* what becomes of the head if the process ends now */
	const char *violation; /* OUTCOME_BROKEN: how, static text */

	/* pace */
	mtime counted_until;  /* its time is counted up to then; MTIME_NEVER: from since on */
	struct link answered; /* answered in this turn; else alone */
	uint32_t batch;       /* answers in this turn */
	mtime batch_time;     /* and the time they took together */
};

/* The start of the head's time, and of what was not counted of those before it. */
static inline mtime pipe_works_since(const struct pipe *pipe)
{
	return mtime_min(pipe->counted_until, pipe->since);
}

static inline struct delivery *pipe_head(const struct pipe *pipe)
{
	struct link *first = list_first(&pipe->tasks);
	return first ? CONTAINER_OF(first, struct delivery, place) : NULL;
}

/* Its worker has been given as many tasks as it may have. */
static inline bool pipe_is_spent(const struct pipe *pipe)
{
	return pipe->tasks_max && pipe->answers + pipe->load >= pipe->tasks_max;
}

#endif
