/* The life of a worker in a slot, as a table: (state, fact) gives the next state and an action.
 * Layer: core, pure. A pair that is not in the table is a bug of ours and asserts. */
#ifndef CORE_WORKERS_LIFE_H
#define CORE_WORKERS_LIFE_H

#define LIFE_STATES(X)                                                                             \
	X(LIFE_WAITING)  /* no process; at its timer it goes in line for the next one */           \
	X(LIFE_IN_LINE)  /* no process; the next one starts when it is its turn (starts.h) */      \
	X(LIFE_STARTING) /* spawned; its boot limit runs */                                        \
	X(LIFE_READY)    /* has opened the pipe; limits.grace runs if an operator kills a task */  \
	X(LIFE_QUITTING) /* was asked to leave; limits.grace runs */                               \
	X(LIFE_STOPPING) /* got SIGTERM; limits.grace runs */                                      \
	X(LIFE_KILLED)   /* got SIGKILL */                                                         \
	X(LIFE_RETIRED)  /* no process; none starts unless the slot is wanted again */

#define LIFE_FACTS(X)                                                                              \
	X(FACT_READY)                                                                              \
	X(FACT_BROKEN) /* a protocol error, or its pipe is closed */                               \
	X(FACT_GONE)                                                                               \
	X(FACT_TIMER)  /* the time of this state is over */                                        \
	X(FACT_TURN)   /* it may start now */                                                      \
	X(FACT_HARD)   /* its task exceeded the hard limit */                                      \
	X(FACT_LEAVE)  /* it is not wanted, or the pool drains, and its pipe is empty */           \
	X(FACT_WANTED) /* the slot is wanted, again or for the first time */                       \
	X(FACT_FORCE)

#define LIFE_ACTIONS(X)                                                                            \
	X(ACTION_BUG) /* the pair is not in the table */                                           \
	X(ACTION_IGNORE)                                                                           \
	X(ACTION_LINE_UP)                                                                          \
	X(ACTION_SPAWN)                                                                            \
	X(ACTION_WELCOME) /* it may get tasks */                                                   \
	X(ACTION_QUIT)                                                                             \
	X(ACTION_TERM)                                                                             \
	X(ACTION_KILL)                                                                             \
	X(ACTION_BURY) /* record how the life ended, set the timer for the next one */             \
	X(ACTION_RETIRE)                                                                           \
	X(ACTION_REVIVE)

#define X(name) name,
enum life_state { LIFE_STATES(X) };
enum life_fact { LIFE_FACTS(X) };
enum life_action { LIFE_ACTIONS(X) };
#undef X

struct life_step {
	enum life_state next;
	enum life_action action; /* never ACTION_BUG */
};

struct life_step life_next(enum life_state, enum life_fact);
const char *life_state_name(enum life_state);
/* The name, for the log, of the limit that the timer of this state ends; NULL: the timer is not a
 * limit but the time to line up. */
const char *life_overdue_text(enum life_state);

#endif
