/* What a run may contain. The shrinker takes things out, one after the other, to see what a failure
 * needs; a replay is a seed and these. */
#ifndef SIM_SETTINGS_H
#define SIM_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define TROUBLES(X)                                                                                \
	X(TROUBLE_CUT, "cut")                   /* connections end at any byte */                  \
	X(TROUBLE_CHANNELS, "channels")         /* the broker closes channels */                   \
	X(TROUBLE_CONNECTIONS, "connections")   /* and connections, with a code */                 \
	X(TROUBLE_CANCEL, "cancel")             /* and cancels consumers */                        \
	X(TROUBLE_REPLIES, "replies")           /* the queue of the replies comes and goes */      \
	X(TROUBLE_DEAD, "dead")                 /* that of the dead letters goes */                \
	X(TROUBLE_QUEUE, "queue")               /* the one that is consumed comes and goes */      \
	X(TROUBLE_RETRY_QUEUES, "retry-queues") /* those of the retries go */                      \
	X(TROUBLE_ALARM, "alarm")               /* the broker stops reading who publishes */       \
	X(TROUBLE_NACKS, "nacks")               /* and refuses publishes */                        \
	X(TROUBLE_AGE, "age")                   /* messages came back before */                    \
	X(TROUBLE_TIMEOUT, "timeout")           /* the broker's ack timeout */                     \
	X(TROUBLE_LIMIT, "limit")               /* its delivery limit */                           \
	X(TROUBLE_LATE, "late")                 /* confirms late, multiple and out of order */     \
	X(TROUBLE_PARTS, "parts")               /* bytes arrive in any parts */                    \
	X(TROUBLE_FREEZE, "freeze")             /* a supervisor stands still for a while */        \
	X(TROUBLE_PAUSE, "pause")               /* or all the world does */                        \
	X(TROUBLE_KILL, "kill")                 /* supervisors are killed */                       \
	X(TROUBLE_STOP, "stop")                 /* and stopped, gracefully and by force */         \
	X(TROUBLE_EXITS, "exits")               /* workers exit, or do not start, for no reason */ \
	X(TROUBLE_LAG, "lag")                   /* and do not obey at once */                      \
	X(TROUBLE_PIPE_FULL, "room")            /* their pipes are full */                         \
	X(TROUBLE_MEMORY, "memory")             /* a send finds no memory */                       \
	X(TROUBLE_STUBBORN, "stubborn")         /* workers that heed neither quit nor term */      \
	X(TROUBLE_TEMPERS, "tempers")           /* tasks that do not simply get done */            \
	X(TROUBLE_HEADERS, "headers")           /* messages that bring headers of ours */          \
	X(TROUBLE_RELEASE, "release")           /* the broker is a 4.0 */                          \
	X(TROUBLE_STEER, "steer")               /* pools are paused, scaled, restarted */          \
	X(TROUBLE_RELOAD, "reload")             /* and added, removed, changed */                  \
	X(TROUBLE_RECYCLE, "recycle")           /* workers are replaced; their memory grows */

enum trouble {
#define X(trouble, name) trouble,
	TROUBLES(X)
#undef X
		TROUBLE_COUNT
};

struct settings {
	uint32_t without; /* bit (1u << trouble): it does not happen */
	uint32_t messages, rounds, supervisors, pools, workers; /* at most */
};

static inline bool settings_has(const struct settings *settings, enum trouble trouble)
{
	return !(settings->without >> trouble & 1);
}

#endif
