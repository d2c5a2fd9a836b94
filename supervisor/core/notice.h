/* What a pool tells people: log lines and counters come from these. Layer: core, plain data.
 * Borrowed for the length of the call. */
#ifndef CORE_NOTICE_H
#define CORE_NOTICE_H

#include "base/mtime.h"
#include "core/exit.h"
#include "core/tasks/reason.h"
#include "core/workers/recycle.h"
#include "core/workers/scaling.h"

#define NOTICE_KINDS(X)                                                                            \
	X(NOTICE_TASK_DONE)        /* 200, or 201 confirmed: duration is set */                    \
	X(NOTICE_TASK_PROGRESS)    /* status -1: output is set */                                  \
	X(NOTICE_TASK_RETRIED)     /* reason; attempt: of how many; in duration, 0: at once */     \
	X(NOTICE_TASK_GIVEN_UP)    /* reason; goes to the dead letters */                          \
	X(NOTICE_TASK_RENEWED)     /* came back too often: published as new */                     \
	X(NOTICE_TASK_HANDED_BACK) /* 201 to its own queue */                                      \
	X(NOTICE_TASK_UNSTARTED)   /* back to the broker (a stop) */                               \
	X(NOTICE_TASK_CUT_SHORT)   /* by a forced stop, after duration: back to the broker */      \
	X(NOTICE_TASK_ORPHANED) /* answered after its channel was lost: dropped, it comes again */ \
	X(NOTICE_TASKS_HELD_UP) /* by delivery, for duration: `behind` waited in its pipe */       \
	X(NOTICE_REPLY_IGNORED) /* 200 with a ReplyQueueName; once a pool */                       \
	X(NOTICE_REPLY_UNASKED) /* 201 with nowhere to send it; once a pool */                     \
	X(NOTICE_REPLY_DROPPED) /* unroutable: drop */                                             \
	X(NOTICE_PARCEL_REFUSED) /* what delivery->parcel met; published again in duration */      \
	X(NOTICE_WORKER_READY)                                                                     \
	X(NOTICE_WORKER_LEFT)     /* as asked; exit is set */                                      \
	X(NOTICE_WORKER_DIED)     /* exit; what: why by us; again in duration */                   \
	X(NOTICE_WORKER_BROKEN)   /* protocol error; what is set; killed */                        \
	X(NOTICE_WORKER_OVERDUE)  /* boot, hard limit or grace, duration long: what says which */  \
	X(NOTICE_WORKER_RECYCLED) /* recycled; after number answers, duration; bytes resident */   \
	X(NOTICE_SOURCE_RESTS)    /* no worker lives: the pool stops consuming */                  \
	X(NOTICE_SOURCE_RESUMES)                                                                   \
	X(NOTICE_PAUSED)          /* by command */                                                 \
	X(NOTICE_RESUMED)         /* by command */                                                 \
	X(NOTICE_SCALED)          /* by command: number workers are wanted; scaling */             \
	X(NOTICE_GROWN)           /* the same, by the pool's own choice */                         \
	X(NOTICE_SHRUNK)          /* the same */                                                   \
	X(NOTICE_GROWTH_REFUSED)  /* there is no memory for number workers */                      \
	X(NOTICE_ROLL_BEGINS)     /* number workers are replaced, one by one */                    \
	X(NOTICE_ROLL_ENDS)       /* they are */                                                   \
	X(NOTICE_ROLL_STOPS)      /* what says why; the workers there are stay */                  \
	X(NOTICE_COMMAND_REFUSED) /* what says why */                                              \
	X(NOTICE_DRAINED)         /* quiet, nothing is left */

enum notice_kind {
#define X(kind) kind,
	NOTICE_KINDS(X)
#undef X
};

struct delivery;
struct output;

struct notice {
	enum notice_kind kind;
	int slot;      /* of the worker it is about, or that had the task; -1: none */
	uint32_t life; /* which worker in that slot */
	const struct delivery *delivery; /* or NULL */
	const struct output *output;     /* or NULL */
	enum reason reason;
	enum recycle_reason recycled;
	uint32_t attempt, attempts;
	uint32_t behind;
	uint32_t number;
	uint64_t bytes;
	struct exit_info exit;
	mtime duration;
	const char *what;              /* static words, or NULL */
	const struct scaling *scaling; /* or NULL */
};

#endif
