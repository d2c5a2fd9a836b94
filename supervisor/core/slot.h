/* A slot: the place of one worker in a pool, whichever process fills it. Layer: core, plain data.
 * Who writes what: dispatch the pipe and its place in the lists, pool_slots the life, alarms the
 * alarm, pace the batch. */
#ifndef CORE_SLOT_H
#define CORE_SLOT_H

#include "core/life.h"
#include "core/recycle.h"
#include "core/settle.h"

struct slot {
	/* dispatch */
	struct link by_load; /* open: among the slots with the same load; else alone */
	struct link running; /* its head is under the hard limit: by since; else alone */
	struct link pipe;    /* deliveries, oldest first; only the head counts as started */
	mtime since;         /* the head runs since the answer before it, or its own send */
	struct link fresh;   /* its head has not run for long, as far as is known; else alone */
	uint16_t load;       /* deliveries in the pipe */
	bool open;           /* may be given tasks */
	bool is_held_up;     /* by a head that runs for too long: nothing is sent behind it */
	bool is_leaving;     /* is not kept: gets nothing more, leaves when its pipe is empty */

	/* life */
	uint16_t number;
	uint32_t life;       /* of the present process, or the next one; rises when one is gone */
	uint32_t generation; /* of its process: the pool's when it was started */
	enum life_state state;
	enum outcome blame; /* what becomes of the head if the process ends now */
	const char *what;   /* OUTCOME_BROKEN: how, static words */
	bool deaf;          /* nothing it says counts any more */
	bool asked;         /* we asked it to leave for good */
	bool has_answered;  /* in this life */
	bool is_proven;     /* it has, in this life or before, and no life came to nothing since */
	bool is_timed;      /* its head's soft limit is set, or was over already */
	uint32_t answers;   /* in this life */
	uint32_t failures;  /* lives in a row that came to nothing */
	mtime ready_at;     /* MTIME_NEVER: not yet */
	const char *ended_for; /* static words: why we end this life, the first cause; NULL: we do
				  not */
	struct exit_info exit; /* of the last life that ended unasked */
	const char *exit_for;  /* its ended_for */
	mtime ended_at;        /* and when; MTIME_NEVER: none did */

	/* recycle, in this life */
	enum recycle_reason due; /* to be replaced */
	mtime old_at;            /* it is due by its age; MTIME_NEVER */
	uint32_t tasks_most;     /* that it is given; 0: any number */
	uint64_t bytes;          /* resident when that was last told */

	/* alarms */
	mtime alarm;         /* end of this state's time; MTIME_NEVER: none */
	uint16_t heap_place; /* from 1; 0: not in the heap */

	/* pace */
	mtime paced;          /* its time is counted up to then; MTIME_NEVER: from since on */
	struct link answered; /* answered in this turn; else alone */
	uint32_t batch;       /* answers of this turn */
	mtime batch_time;     /* and the time they took together */
};

/* The time of its head, and what was not counted of those before it. */
static inline mtime slot_works_since(const struct slot *slot)
{
	return mtime_min(slot->paced, slot->since);
}

static inline struct delivery *slot_head(const struct slot *slot)
{
	struct link *first = list_first(&slot->pipe);
	return first ? CONTAINER_OF(first, struct delivery, place) : NULL;
}

static inline void slot_note_cause(struct slot *slot, const char *what)
{
	slot->ended_for = slot->ended_for ? slot->ended_for : what;
}

/* One that was asked to leave tells nothing. */
static inline void slot_note_exit(struct slot *slot, struct exit_info exit, mtime now)
{
	if (slot->asked)
		return;
	slot->exit = exit;
	slot->exit_for = slot->ended_for;
	slot->ended_at = now;
}

#endif
