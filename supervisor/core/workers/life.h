/* The life of what fills a slot, as a table: (state, fact) gives the next state and what to do.
 * Layer: core, pure. A pair that is not in the table is a bug of ours and asserts. */
#ifndef CORE_WORKERS_LIFE_H
#define CORE_WORKERS_LIFE_H

#define LIFE_STATES(X)                                                                             \
	X(LIFE_WAITING)  /* no process; the next one starts at its alarm */                        \
	X(LIFE_STARTING) /* spawned; its boot limit runs */                                        \
	X(LIFE_READY)    /* has opened the pipe */                                                 \
	X(LIFE_QUITTING) /* was asked to leave; the grace runs */                                  \
	X(LIFE_STOPPING) /* SIGTERM is out; the grace runs */                                      \
	X(LIFE_KILLED)   /* SIGKILL is out */                                                      \
	X(LIFE_RETIRED)  /* no process, and none will come unless it is wanted again */

#define LIFE_FACTS(X)                                                                              \
	X(FACT_READY)                                                                              \
	X(FACT_BROKEN) /* nothing useful will come from its pipe any more */                       \
	X(FACT_GONE)                                                                               \
	X(FACT_ALARM)  /* the time of this state is over; READY: its task's soft limit */          \
	X(FACT_HARD)   /* its task ran over the hard limit */                                      \
	X(FACT_LEAVE)  /* it is not wanted, or the pool drains, and its pipe is empty */           \
	X(FACT_WANTED) /* again, or for the first time */                                          \
	X(FACT_FORCE)

#define LIFE_ACTIONS(X)                                                                            \
	X(ACTION_BUG) /* the pair is not in the table */                                           \
	X(ACTION_IGNORE)                                                                           \
	X(ACTION_SPAWN)                                                                            \
	X(ACTION_WELCOME)   /* it may be given tasks */                                            \
	X(ACTION_INTERRUPT) /* its task should come to an end */                                   \
	X(ACTION_QUIT)                                                                             \
	X(ACTION_TERM)                                                                             \
	X(ACTION_KILL)                                                                             \
	X(ACTION_BURY) /* judge the life that ended, set the alarm for the next one */             \
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
/* The limit that is over when the alarm of this state comes, for the log; NULL: no limit, it is
 * time to spawn or to interrupt. */
const char *life_overdue_text(enum life_state);

#endif
