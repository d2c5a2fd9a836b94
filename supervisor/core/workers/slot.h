/* A slot: the place of one worker in a pool; one process after the other fills it. Layer: core,
 * plain data. slots.c writes the life; the pipe belongs to the tasks' half. */
#ifndef CORE_WORKERS_SLOT_H
#define CORE_WORKERS_SLOT_H

#include "core/dispatch/pipe.h"
#include "core/workers/life.h"
#include "core/workers/recycle.h"

struct slot {
	struct pipe pipe; /* the tasks of its worker; has the slot's number */

	/* life */
	enum life_state state;
	uint32_t life; /* of the present process, or the next one; increased when one is gone */
	uint32_t generation; /* the pool's generation when the process was started */
	bool is_muted;       /* its output is ignored */
	bool is_asked;       /* it was asked to leave: its end is not a failure */
	bool is_proven;      /* a life in this slot has answered, and none has failed since */
	uint32_t failures;   /* lives in a row that failed */
	mtime started_at;
	mtime computed;   /* processor time until it was ready */
	mtime boot_until; /* end of its boot limit, without the time it waited for processors */
	mtime ready_at;   /* MTIME_NEVER: not yet */
	const char *
		ended_for; /* static text: the first reason why we end this life; NULL: we do not */
	struct output *violation;   /* owned: with .detail, how it broke the protocol; or NULL */
	struct exit_info exit;      /* of the latest life that ended without being asked */
	const char *exit_for;       /* ended_for of that life */
	struct output *exit_output; /* owned: with .detail of that life; or NULL */
	mtime ended_at;             /* when it ended; MTIME_NEVER: none did */

	/* recycle, in this life */
	enum recycle_reason due; /* why it is to be replaced */
	mtime old_at;            /* when it is due by its age; MTIME_NEVER: no limit */
	uint64_t bytes;          /* resident when last reported */

	struct link in_line; /* LIFE_IN_LINE: in slots.line */

	struct timer timer; /* end of this state's time */
};

static inline bool slot_has_process(const struct slot *slot)
{
	return slot->state != LIFE_WAITING && slot->state != LIFE_IN_LINE &&
	       slot->state != LIFE_RETIRED;
}

/* True: the slot gets no more tasks, and its worker leaves when its pipe is empty. */
static inline bool slot_is_leaving(const struct slot *slot)
{
	return slot->pipe.closed & PIPE_DISMISSED;
}

static inline struct slot *slot_of_pipe(struct pipe *pipe)
{
	return CONTAINER_OF(pipe, struct slot, pipe);
}

#endif
