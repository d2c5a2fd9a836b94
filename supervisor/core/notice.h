/* What a pool reports: log lines and counters are made from notices. Layer: core, plain data.
 * Borrowed for the call. */
#ifndef CORE_NOTICE_H
#define CORE_NOTICE_H

#include "base/mtime.h"
#include "core/exit.h"
#include "core/tasks/reason.h"
#include "core/workers/recycle.h"
#include "core/workers/scaling.h"
#include <stdbool.h>

#define NOTICE_KINDS(X)                                                                            \
	X(NOTICE_TASK_DONE)        /* 200 or 205, or 201 confirmed: duration is set */             \
	X(NOTICE_TASK_PROGRESS)    /* status -1: output is set */                                  \
	X(NOTICE_TASK_ACCEPTED)    /* status -2: its message is acked, and it goes on */           \
	X(NOTICE_TASK_LIMITED)     /* by its worker: its hard limit is duration */                 \
	X(NOTICE_TASK_RETRIED)     /* reason; attempt, attempts; in duration, 0: at once */        \
	X(NOTICE_TASK_GIVEN_UP)    /* reason; becomes a dead letter */                             \
	X(NOTICE_TASK_RENEWED)     /* delivered too often: a renewal is published */               \
	X(NOTICE_TASK_HANDED_BACK) /* 201 to its own queue */                                      \
	X(NOTICE_TASK_POSTPONED)   /* by the throttle that what names, for duration */             \
	X(NOTICE_TASK_POSTPONED_BY_WORKER) /* for duration; no attempt is counted */               \
	X(NOTICE_TASK_NOT_DUE)    /* its time comes in duration: a copy waits in the broker */     \
	X(NOTICE_TASK_REFUSED)    /* by a throttle, too; its caller was told, and it is done */    \
	X(NOTICE_SESSION_BLOCKED) /* reason: why its front task would be given up */               \
	X(NOTICE_TASK_DISCARDED)  /* by command, with its session */                               \
	X(NOTICE_CHANNEL_LEFT)    /* what: why; what is unacked is delivered again */              \
	X(NOTICE_TASK_CANCELLED)  /* by command: its worker was asked to give it up */             \
	X(NOTICE_TASK_KILLED)     /* by command: what: what its worker does about it */            \
	X(NOTICE_TASK_UNSTARTED)  /* back to the broker */                                         \
	X(NOTICE_TASK_CUT_SHORT)  /* by a forced stop, after duration: back to the broker, or      \
				     lost if it was accepted */                                    \
	X(NOTICE_TASK_ORPHANED)   /* answered after its channel was lost: it is delivered again */ \
	X(NOTICE_TASKS_HELD_UP)   /* `behind` tasks waited behind delivery for duration */         \
	X(NOTICE_REPLY_IGNORED)   /* 200 or 205 with a ReplyQueueName; once in a pool */           \
	X(NOTICE_LIMIT_IGNORED)   /* a hard limit that a worker sets; what: why; once in a pool */ \
	X(NOTICE_NO_REPLY_TO)     /* 201 without a queue for the reply; once in a pool */          \
	X(NOTICE_REPLY_DROPPED)   /* unroutable: drop */                                           \
	X(NOTICE_PARCEL_LOST)     /* of an accepted task, not confirmed before a forced stop */    \
	X(NOTICE_PARCEL_REFUSED)  /* delivery->parcel was refused; published again in duration */  \
	X(NOTICE_WORKER_READY)                                                                     \
	X(NOTICE_WORKER_LEFT)     /* after it was asked to; exit is set */                         \
	X(NOTICE_WORKER_DIED)     /* exit; what: why we ended it; next start in duration */        \
	X(NOTICE_WORKER_BROKEN)   /* protocol error; what is set; killed */                        \
	X(NOTICE_WORKER_OVERDUE)  /* over the limit that what names; duration: the limit */        \
	X(NOTICE_WORKER_RECYCLED) /* recycled: why; number answers; duration: age; bytes */        \
	X(NOTICE_SOURCE_RESTS)    /* no worker lives: the pool stops consuming */                  \
	X(NOTICE_ALL_ACCEPTED)    /* the same: all workers are busy with accepted tasks */         \
	X(NOTICE_SOURCE_RESUMES)                                                                   \
	X(NOTICE_THROTTLE_CLOSES) /* what: the throttle; duration: how long none is fetched */     \
	X(NOTICE_THROTTLE_OPENS)                                                                   \
	X(NOTICE_WINDOW_KEPT) /* number: the window, as messages may come back; open: prefetch */  \
	X(NOTICE_PAUSED)      /* by command */                                                     \
	X(NOTICE_RESUMED)     /* by command */                                                     \
	X(NOTICE_SCALED)      /* by command: number workers are wanted; scaling is set */          \
	X(NOTICE_GROWN)       /* the same, decided by the pool */                                  \
	X(NOTICE_SHRUNK)      /* the same */                                                       \
	X(NOTICE_GROWTH_REFUSED)  /* there is no memory for number workers */                      \
	X(NOTICE_ROLL_BEGINS)     /* number workers are replaced, one by one */                    \
	X(NOTICE_ROLL_ENDS)       /* all were replaced */                                          \
	X(NOTICE_ROLL_STOPS)      /* what: why; the last of number new workers that failed died    \
				     last; the workers that exist stay */                          \
	X(NOTICE_COMMAND_REFUSED) /* what: why */                                                  \
	X(NOTICE_SESSION_COMMAND_REFUSED) /* the same; one command may be for many sessions */     \
	X(NOTICE_DRAINED)                 /* the pool is quiet */

enum notice_kind {
#define X(kind) kind,
	NOTICE_KINDS(X)
#undef X
};

struct delivery;
struct output;

struct notice {
	enum notice_kind kind;
	int slot;      /* of the worker, or of the worker that had the task; -1: none */
	uint32_t life; /* which worker in that slot */
	const struct delivery *delivery; /* or NULL */
	const struct output *output;     /* or NULL */
	enum reason reason;
	enum recycle_reason recycled;
	uint32_t attempt, attempts;
	uint32_t retried; /* with attempts: bit (1u << reason), see struct settle_policy */
	uint32_t behind;
	uint32_t open;     /* WORKER_LEFT, _DIED, _BROKEN, _OVERDUE: tasks that it had begun */
	bool are_suspects; /* with open: it is not known which of them is to blame, so they run
			      alone from now on and none counts an attempt. Else, if several are
			      open, delivery is the one that has failed, and the others go back */
	uint32_t number;
	uint64_t bytes;
	struct exit_info exit;
	mtime duration;
	const char *what;              /* static text, or NULL */
	const struct scaling *scaling; /* or NULL */
};

#endif
