/* The workers of a pool: their slots, their lives, and how many there are. Layer: core.
 * One half of the pool; the other one is core/tasks/tasks.h. A slot is kept or leaves: one that
 * leaves gets nothing more, finishes what is in its pipe and is retired. Changes pipes only by
 * dispatch.h. Files: slots.c (lives), slots_scale.c (how many, and which one leaves),
 * slots_replace.c (rolling restart, recycling), slots_auto.c (how many are needed). */
#ifndef CORE_WORKERS_SLOTS_H
#define CORE_WORKERS_SLOTS_H

#include "base/stable_array.h"
#include "core/context.h"
#include "core/event.h"
#include "core/tasks/dispatch.h"
#include "core/workers/alarms.h"
#include "core/workers/autoscale.h"
#include "core/workers/slot.h"

enum replace_state {
	REPLACE_OFF,
	REPLACE_WAITS, /* for something to happen to a slot */
	REPLACE_LOOKS, /* that has happened: look at all slots in this turn */
};

/* The rolling restart: every worker is replaced, one by one. */
struct roll {
	enum replace_state state;
	struct slot *leaver; /* the latest that it sent away */
	uint32_t stillborn;  /* new workers in a row that never were ready */
	uint32_t useless;    /* that were, and ended soon, with no answer of another between them */
};

/* Workers that are due are replaced, a few at a time. */
struct recycling {
	enum replace_state state; /* not OFF: a worker is due, or a spare is there */
	uint16_t spares; /* slots that are kept beside those wanted, for those that are due */
	mtime next_at;   /* when one may be due by its age; MTIME_NEVER */
};

struct slots {
	const struct pool_context *context; /* the pool's, like dispatch */
	struct dispatch *dispatch;
	struct stable_array all; /* of struct slot; those that are not wanted are retired */
	struct alarms alarms;
	uint16_t wanted; /* workers */
	uint16_t kept;   /* slots that are not leaving: wanted, spares, one more in a restart */
	uint32_t passed; /* the slots below have been asked to leave, if they are to and are idle */
	uint16_t leaves; /* workers that were asked to since the end of the last turn */
	uint16_t starting;   /* slots in LIFE_STARTING */
	mtime started_at;    /* the latest of them */
	uint16_t ready;      /* slots in LIFE_READY */
	uint16_t failing;    /* slots whose last lives failed */
	uint16_t retired;    /* slots in LIFE_RETIRED */
	uint32_t generation; /* of the workers that are started now; each restart begins one */
	struct roll roll;
	struct recycling recycling;
	struct autoscale autoscale;
	struct scaling scaling; /* the latest change of wanted */
};

/* The first slots, before any effect. RC_MEMORY. */
enum rc slots_init(struct slots *, const struct pool_context *, struct dispatch *) MUST_CHECK;
void slots_release(struct slots *);
static inline struct slot *slots_at(const struct slots *slots, uint32_t number)
{
	return slots->all.at[number];
}
/* The slot of that event; NULL: it is about a life that is over. */
struct slot *slots_find(const struct slots *, const struct event *);
/* Its last lives have failed, and this one is no success so far. */
bool slots_is_failing(const struct slots *, const struct slot *);

/* Events of slots (event.h). */
void slots_on_ready(struct slots *, struct slot *);
void slots_on_writable(struct slots *, struct slot *, bool is_writable);
void slots_on_memory(struct slots *, struct slot *, uint64_t bytes);
/* Its worker broke the protocol; what: static text. The first reason counts. */
void slots_on_broken(struct slots *, struct slot *, const char *what);
/* Its process is gone; the pipe is still full. last_words: borrowed, or NULL. */
void slots_on_gone(
	struct slots *, struct slot *, struct exit_info, const struct output *last_words);
/* Its worker answered a task that took it from then until then. */
void slots_on_answered(struct slots *, struct slot *, mtime from, mtime until);
/* Its pipe may be empty now: it leaves, if it is to. */
void slots_on_less(struct slots *, struct slot *);

/* Commands. Scale to so many workers, or between bounds; NULL, or why not. */
const char *slots_scale(struct slots *, uint32_t min, uint32_t max) MUST_CHECK;
void slots_restart(struct slots *);
void slots_configure(struct slots *);
void slots_drain(struct slots *);
void slots_force(struct slots *, struct slot *);

/* The parts of a turn, in this order. */
void slots_begin_turn(struct slots *);
/* Set the soft limits of the tasks that were sent in this turn. */
void slots_time_sent(struct slots *);
/* Judge how many workers are needed. can_judge: tasks can come, and are sent. */
void slots_autoscale(struct slots *, bool can_judge, bool is_window_full);
void slots_end_turn(struct slots *);
/* A turn is wanted then. */
mtime slots_deadline(const struct slots *, bool can_judge);

#endif
