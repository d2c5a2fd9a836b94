/* Dispatch: which task next, for whom. Layer: core. The only place that knows sessions; today there
 * is one, the open session, of width without limit. Its seven verbs (offer, run, end, done,
 * slot_up, slot_gone, source_down) are the only way to a task; end (the attempt is over, the slot
 * has room) and done (settled and confirmed, may be acked) are two moments.
 * Slots stand in lists by load, with a bit for each list that is not empty, so that the least
 * loaded one is found in O(1). Owns the QUEUED and SENT deliveries. */
#ifndef CORE_DISPATCH_H
#define CORE_DISPATCH_H

#include "core/pool.h"
#include "core/slot.h"
#include "core/source.h"

struct session {
	struct link waiting; /* QUEUED, oldest first */
	uint32_t backlog;    /* how many */
};

struct dispatch {
	const struct effects *effects; /* borrowed until the pool's end, like io */
	void *io;
	struct session open;
	struct link by_load[POOL_PIPELINE_MAX]; /* open slots with that many tasks in the pipe */
	uint64_t loads;                         /* bit n: by_load[n] is not empty */
	uint32_t in_pipes;   /* tasks in all pipes, whatever their slots' state */
	bool is_alone;       /* the one in a pipe is to be alone: nothing is sent beside it */
	struct link running; /* slots with a head, the one that runs longest first */
	struct link fresh;   /* those of them whose head may still end in time, in the same order */
	mtime pipe_wait;     /* what is in time; MTIME_NEVER: anything */
};

/* To wake a process, and to let it find its memory again, costs some tens of microseconds of CPU,
 * and as long it takes until it runs: work of this length is not worth another process. */
#define DISPATCH_WAKING (MTIME_MS / 10)

/* Idle workers that are given a task in one run: the first of them have answered by the next one,
 * where tasks are short, and a thousand at once would keep all processors from the rest of us. */
#define DISPATCH_WAKES 64

enum dispatch_stop {
	DISPATCH_DONE,      /* nothing waits, no slot has room, or one is or wants to be alone */
	DISPATCH_TOO_LARGE, /* *ret_unfit moves out: no worker can be given it */
	DISPATCH_NO_MEMORY, /* try again in a while */
	DISPATCH_ENOUGH,    /* for this turn: so many workers were woken; go on in the next one */
};

/* pipe_wait: behind a head that runs for longer nothing more is sent; MTIME_NEVER: nobody minds. */
void dispatch_init(struct dispatch *, mtime pipe_wait, const struct effects *, void *io);
/* It is another one from now on; heads that closed their slots by the one before stay so. */
void dispatch_set_pipe_wait(struct dispatch *, mtime pipe_wait);
/* Its tasks_most is another one. */
void dispatch_slot_look(struct dispatch *, struct slot *);
/* It was given as many. */
bool dispatch_is_spent(const struct slot *);
/* The pipe and links of a new slot. */
void dispatch_add_slot(struct slot *);

/* Moves in, behind all that wait, or before them: back from a pipe, never started. */
void dispatch_offer(struct dispatch *, struct delivery *);
void dispatch_requeue(struct dispatch *, struct delivery *);
/* Heads that ran still at that time, and for too long, close their slots until they end. True:
 * there are new ones. */
bool dispatch_hold_up(struct dispatch *, mtime absent);
/* Sends while something waits and an open slot holds less than depth (1 to POOL_PIPELINE_MAX): to
 * the least loaded, of idle ones the one that was busy last, because its memory is warm; but before
 * an idle one is woken the latest that began gets up to pack (1 to depth). One that is to be alone
 * (settle.h) is sent when all pipes are empty; those behind it wait for that, and then for its end,
 * lest they overtake it for ever. */
enum dispatch_stop dispatch_run(struct dispatch *, uint32_t depth, uint32_t pack, mtime now,
	struct delivery **ret_unfit) MUST_CHECK;
/* The head's attempt is over: moves out. The next one in the pipe runs from now. */
struct delivery *dispatch_end(struct dispatch *, struct slot *, mtime now);
/* Settled and confirmed: to its source, which acks it. Moves in. */
void dispatch_done(struct dispatch *, struct delivery *);
/* The oldest that waits moves out, or NULL. */
struct delivery *dispatch_take(struct dispatch *);

/* The slot may be given tasks (slot->open until room is false or it stops). */
void dispatch_slot_up(struct dispatch *, struct slot *);
void dispatch_slot_room(struct dispatch *, struct slot *, bool room);
/* No more tasks for it, or again; those in its pipe go on. */
void dispatch_slot_dismiss(struct dispatch *, struct slot *);
void dispatch_slot_keep(struct dispatch *, struct slot *);
/* No more tasks, and its head is not under the hard limit any more. */
void dispatch_slot_stop(struct dispatch *, struct slot *);
/* Its pipe is void: the head moves out (or NULL), those behind it wait again, first of all and in
 * their order; orphans among them are freed. */
struct delivery *dispatch_slot_gone(struct dispatch *, struct slot *);
/* What waits is freed, what is in a pipe becomes an orphan. */
void dispatch_source_down(struct dispatch *, struct source *);

/* When the head that runs longest is over the limit; MTIME_NEVER: none runs. */
mtime dispatch_deadline(const struct dispatch *, mtime hard_limit);
struct slot *dispatch_longest_running(const struct dispatch *);

#endif
