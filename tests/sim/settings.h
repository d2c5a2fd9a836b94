/* What may happen in a run. The shrinker removes one thing after the other to find what a failure
 * needs; a replay is a seed with its settings. */
#ifndef SIM_SETTINGS_H
#define SIM_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define TROUBLES(X)                                                                                \
	X(TROUBLE_CUT, "cut")                   /* connections end at any byte */                  \
	X(TROUBLE_CHANNELS, "channels")         /* the broker closes channels */                   \
	X(TROUBLE_CONNECTIONS, "connections")   /* it closes connections, with a code */           \
	X(TROUBLE_CANCEL, "cancel")             /* it cancels consumers */                         \
	X(TROUBLE_REPLIES, "replies")           /* the queue of the replies comes and goes */      \
	X(TROUBLE_DEAD, "dead")                 /* the queue of dead letters goes */               \
	X(TROUBLE_QUEUE, "queue")               /* the consumed queue comes and goes */            \
	X(TROUBLE_RETRY_QUEUES, "retry-queues") /* the retry queues go */                          \
	X(TROUBLE_ALARM, "alarm")               /* the broker does not read publishers */          \
	X(TROUBLE_NACKS, "nacks")               /* it refuses publishes */                         \
	X(TROUBLE_AGE, "age")                   /* messages were returned before */                \
	X(TROUBLE_TIMEOUT, "timeout")           /* the broker's ack timeout */                     \
	X(TROUBLE_LIMIT, "limit")               /* its delivery limit */                           \
	X(TROUBLE_LATE, "late")                 /* confirms late, multiple and out of order */     \
	X(TROUBLE_PARTS, "parts")               /* bytes arrive in any parts */                    \
	X(TROUBLE_FREEZE, "freeze")             /* a supervisor is suspended for a while */        \
	X(TROUBLE_PAUSE, "pause")               /* all of the world is suspended */                \
	X(TROUBLE_KILL, "kill")                 /* supervisors are killed */                       \
	X(TROUBLE_STOP, "stop")                 /* supervisors are stopped, or forced to */        \
	X(TROUBLE_EXITS, "exits")               /* workers exit or do not start, at random */      \
	X(TROUBLE_LAG, "lag")                   /* workers obey late */                            \
	X(TROUBLE_PIPE_FULL, "room")            /* their pipes are full */                         \
	X(TROUBLE_MEMORY, "memory")             /* a send finds no memory */                       \
	X(TROUBLE_STUBBORN, "stubborn")         /* workers that ignore quit and SIGTERM */         \
	X(TROUBLE_TEMPERS, "tempers")           /* tasks that are not just done */                 \
	X(TROUBLE_HEADERS, "headers")           /* messages with headers of our own */             \
	X(TROUBLE_RELEASE, "release")           /* the broker is a 4.0 */                          \
	X(TROUBLE_STEER, "steer")               /* pools are paused, scaled, restarted */          \
	X(TROUBLE_RELOAD, "reload")             /* pools are added, removed, changed */            \
	X(TROUBLE_RECYCLE, "recycle")           /* workers are replaced; their memory grows */     \
	X(TROUBLE_STARTS, "starts")             /* a start takes processor time */                 \
	X(TROUBLE_CONCURRENCY, "concurrency")   /* workers have several tasks open */              \
	X(TROUBLE_SESSIONS, "sessions")         /* messages have keys */                           \
	X(TROUBLE_TOKEN, "token")               /* several supervisors take turns at them */       \
	X(TROUBLE_THROTTLES, "throttles")       /* pools have throttles */                         \
	X(TROUBLE_ACCEPT, "accept")             /* workers accept tasks */                         \
	X(TROUBLE_LATER, "later")               /* messages have a time (NotBefore) */             \
	X(TROUBLE_LATER_KEYED, "later-keyed")   /* those with a key as well */

enum trouble {
#define X(trouble, name) trouble,
	TROUBLES(X)
#undef X
		TROUBLE_COUNT
};

struct settings {
	uint64_t without; /* bit (1 << trouble): it does not happen */
	uint32_t messages, rounds, supervisors, pools, workers; /* at most */
};

static inline bool settings_has(const struct settings *settings, enum trouble trouble)
{
	return !(settings->without >> trouble & 1);
}

#endif
