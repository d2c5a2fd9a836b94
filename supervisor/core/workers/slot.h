/* A slot: the place of one worker in a pool, whichever process fills it. Layer: core, plain data.
 * slots.c writes the life, alarms.c the alarm; the pipe belongs to the tasks' half. */
#ifndef CORE_WORKERS_SLOT_H
#define CORE_WORKERS_SLOT_H

#include "core/tasks/pipe.h"
#include "core/workers/life.h"
#include "core/workers/recycle.h"

struct slot {
	struct pipe pipe; /* the tasks of its worker; knows the slot's number */

	/* life */
	enum life_state state;
	uint32_t life;       /* of the present process, or the next one; rises when one is gone */
	uint32_t generation; /* of its process: the pool's when it was started */
	bool is_muted;       /* its output does not count any more */
	bool is_asked;       /* we asked it to leave for good */
	bool is_proven;    /* it has answered, in this life or before, and none has failed since */
	bool is_timed;     /* the alarm for its head's soft limit is set, or was over already */
	uint32_t failures; /* lives in a row that failed */
	mtime ready_at;    /* MTIME_NEVER: not yet */
	const char
		*ended_for; /* static text: the first cause why we end this life; NULL: we do not */
	struct exit_info exit; /* of the latest life that ended unasked */
	const char *exit_for;  /* its ended_for */
	mtime ended_at;        /* and when; MTIME_NEVER: none did */

	/* recycle, in this life */
	enum recycle_reason due; /* to be replaced */
	mtime old_at;            /* it is due by its age; MTIME_NEVER */
	uint64_t bytes;          /* resident when last reported */

	/* alarms */
	mtime alarm;         /* end of this state's time; MTIME_NEVER: none */
	uint16_t heap_place; /* from 1; 0: not in the heap */
};

/* Not wanted any more: gets nothing, and leaves when its pipe is empty. */
static inline bool slot_is_leaving(const struct slot *slot)
{
	return slot->pipe.closed & PIPE_DISMISSED;
}

static inline struct slot *slot_of_pipe(struct pipe *pipe)
{
	return CONTAINER_OF(pipe, struct slot, pipe);
}

#endif
