/* The workers of a pool: their slots, their lives, and how many there are. Layer: core. One half of
 * the pool; the other one is core/tasks/tasks.h. A slot is kept, or it leaves: then it gets no more
 * tasks, finishes those in its pipe and is retired. Changes pipes only by dispatch.h. Files:
 * slots.c (lives), slots_scale.c (how many, and which one leaves), slots_replace.c (rolling
 * restart, recycling). */
#ifndef CORE_WORKERS_SLOTS_H
#define CORE_WORKERS_SLOTS_H

#include "base/stable_array.h"
#include "core/context.h"
#include "core/dispatch/dispatch.h"
#include "core/event.h"
#include "core/workers/autoscale.h"
#include "core/workers/slot.h"
#include "core/workers/starts.h"

enum replace_state {
	REPLACE_OFF,
	REPLACE_WAITS, /* until something happens to a slot */
	REPLACE_LOOKS, /* something has happened: look at all slots in this turn */
};

/* The rolling restart: every worker is replaced, one by one. */
struct roll {
	enum replace_state state;
	struct slot *leaver; /* the latest slot that it asked to leave */
	/* new workers in a row that were never ready; that were ready and failed, without an answer
	 * in between */
	uint32_t never_ready, failed_when_ready;
};

/* Recycling: workers that are due are replaced, a few at a time. */
struct recycling {
	enum replace_state state; /* not OFF: a worker is due, or a spare is there */
	uint16_t spares; /* slots that are kept in addition, to replace those that are due */
	mtime next_at;   /* when the next worker may be due by its age; MTIME_NEVER: none */
};

struct slots {
	const struct pool_context *context; /* the pool's, like dispatch */
	struct dispatch *dispatch;
	struct stable_array all; /* of struct slot; those that are not needed are retired */
	struct timers timers;    /* of slots */
	uint16_t wanted;         /* workers */
	uint16_t kept;   /* slots that are not leaving: wanted, spares, and one more in a restart */
	uint32_t passed; /* below this number, idle slots that are to leave were asked to */
	uint16_t leaves; /* workers that were asked to leave since the end of the last turn */
	struct starts *starts; /* shared with other pools */
	struct link place;     /* of this pool in the line of starts */
	struct link line;      /* slots in LIFE_IN_LINE; the first is next */
	uint16_t starting;     /* slots in LIFE_STARTING */
	uint16_t ready;        /* slots in LIFE_READY */
	uint16_t failing;      /* slots whose last lives failed */
	uint16_t retired;      /* slots in LIFE_RETIRED */
	uint32_t generation;   /* of workers that start now; each restart increases it */
	struct roll roll;
	struct recycling recycling;
	struct autoscale autoscale;
	uint64_t worked; /* running_worked at the end of the last measure, with concurrency */
	struct scaling scaling; /* the latest change of wanted */
};

/* Make the first slots, without an effect. RC_MEMORY. */
enum rc slots_init(
	struct slots *, const struct pool_context *, struct dispatch *, struct starts *) MUST_CHECK;
void slots_release(struct slots *);
static inline struct slot *slots_at(const struct slots *slots, uint32_t number)
{
	return slots->all.at[number];
}
/* True: the slot's last lives failed, and the present one is not a success yet. */
bool slots_is_failing(const struct slots *, const struct slot *);

/* Events of slots (event.h). */
/* Apply a fact to the slot by the table of life.h, and carry out the action. */
void slots_step(struct slots *, struct slot *, enum life_fact);
/* computed: processor time since its start. */
void slots_on_ready(struct slots *, struct slot *, mtime computed);
void slots_on_writable(struct slots *, struct slot *, bool is_writable);
void slots_on_memory(struct slots *, struct slot *, uint64_t bytes);
/* Its worker broke the protocol, with a frame that named this open task (NULL: none, or one that it
 * does not have); what: static text; output: with its detail, or NULL; moves in. Only the first
 * call in a life counts. */
void slots_on_broken(struct slots *, struct slot *, struct delivery *named, const char *what,
	struct output *output);
/* Kill its worker, which is not to blame; what: why, static text. Its tasks count no attempt. */
void slots_end_worker(struct slots *, struct slot *, const char *what);
/* An operator kills a task that its worker has begun (dispatch_kill): end the worker if it has not
 * ended the task in limits.grace; at once if it could not be asked to. */
void slots_kill_task(struct slots *, struct slot *, bool was_asked);
/* Its process is gone; its tasks are still in the pipe. last_output: borrowed, or NULL. */
void slots_on_gone(
	struct slots *, struct slot *, struct exit_info, const struct output *last_output);
/* Its worker answered a task, on which it worked from `from` until `until`; the task has left the
 * pipe. */
void slots_on_answered(struct slots *, struct slot *, mtime from, mtime until);
/* If its pipe is empty now, and the slot or the pool is to leave: its worker leaves. */
void slots_on_emptied(struct slots *, struct slot *);

/* Commands. Scale to min workers, or to as many as needed from min to max. Return NULL, or why it
 * is refused. */
const char *slots_scale(struct slots *, uint32_t min, uint32_t max) MUST_CHECK;
void slots_restart(struct slots *);
/* Draw new limits for all workers. Those that are over theirs by then are replaced a few at a time,
 * like all that are due. */
void slots_configure(struct slots *);
void slots_drain(struct slots *);
void slots_force(struct slots *, struct slot *);

/* The parts of a turn, in this order. */
void slots_begin_turn(struct slots *);
/* Decide how many workers are needed. can_judge: tasks can come and are sent. */
void slots_autoscale(struct slots *, bool can_judge, bool is_window_full);
void slots_end_turn(struct slots *);
/* When the next turn is needed. */
mtime slots_deadline(const struct slots *, bool can_judge);

#endif
