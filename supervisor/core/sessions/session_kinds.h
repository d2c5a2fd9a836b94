/* The states and the ends of a session, and why channels are renewed. Layer: core, plain data. The
 * texts are an interface (docs/control.md). */
#ifndef CORE_SESSIONS_SESSION_KINDS_H
#define CORE_SESSIONS_SESSION_KINDS_H

#define SESSION_STATES(X)                                                                          \
	X(SESSION_READY, "ready")       /* its next task waits for its turn */                     \
	X(SESSION_RUNNING, "running")   /* a worker has a task of it, or it waits to run alone */  \
	X(SESSION_PARKED, "parked")     /* its front task waits for its next attempt, or */        \
					/* its next task for a throttle */                         \
	X(SESSION_BLOCKED, "blocked")   /* its front task failed for good; an operator decides */  \
	X(SESSION_PAUSED, "paused")     /* by command */                                           \
	X(SESSION_WAITING, "waiting")   /* for a place: max_active */                              \
	X(SESSION_DETACHED, "detached") /* its next task waits for its redelivery */               \
	X(SESSION_HELD, "held") /* its next task waits for the end of takeover_delay, or */        \
				/* to be named in the token after deaths in a row */               \
	X(SESSION_IDLE, "idle") /* it has no task */

enum session_state {
#define X(state, text) state,
	SESSION_STATES(X)
#undef X
		SESSION_STATE_COUNT
};

/* Why a session ended. */
#define SESSION_ENDS(X)                                                                            \
	X(SESSION_END_IDLE, "idle") /* its idle time is over */                                    \
	X(SESSION_END_DRAINED, "drained")                                                          \
	X(SESSION_END_CLOSED, "closed")                                                            \
	X(SESSION_END_ABORTED, "aborted")                                                          \
	X(SESSION_END_FORGOTTEN, "forgotten") /* idle, and max_sessions were remembered */

enum session_end {
#define X(end, text) end,
	SESSION_ENDS(X)
#undef X
		SESSION_END_COUNT
};

/* Why a channel was renewed, or what it held was given back. */
#define RENEWALS(X)                                                                                \
	X(RENEWAL_AGE, "age", "a message was unacked for max_unacked_age")                         \
	X(RENEWAL_PAUSE, "pause", "the pool is paused")                                            \
	X(RENEWAL_WORKERS, "workers", "no worker lives")                                           \
	X(RENEWAL_PREFETCH, "prefetch", "another prefetch is configured")                          \
	X(RENEWAL_MEMORY, "memory", "there was no memory for another session")

enum renewal {
#define X(renewal, text, why) renewal,
	RENEWALS(X)
#undef X
		RENEWAL_COUNT
};

const char *session_state_name(enum session_state);
const char *session_end_name(enum session_end);
const char *renewal_name(enum renewal);
/* The same as a clause, for the log. */
const char *renewal_why(enum renewal);

#endif
