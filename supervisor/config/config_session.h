/* The section session of a pool: messages with the same key run one at a time and in order. Layer:
 * config, plain data. */
#ifndef CONFIG_CONFIG_SESSION_H
#define CONFIG_CONFIG_SESSION_H

#include "base/mtime.h"
#include "config/choices.h"

/* The upper bound of max_active and max_sessions. */
#define CONFIG_SESSIONS_MAX 10000000

/* Bounds of the time in session.quantum. */
#define CONFIG_QUANTUM_TIME_MIN MTIME_MS
#define CONFIG_QUANTUM_TIME_MAX (60 * MTIME_MINUTE)

/* The prefetch of a pool with sessions, by default. */
#define CONFIG_SESSION_PREFETCH 2000

/* The upper bound of takeover_delay. */
#define CONFIG_TAKEOVER_DELAY_MAX (24 * 60 * MTIME_MINUTE)

/* The queue of a pool's token: the pool's queue and this. */
#define TOKEN_QUEUE_SUFFIX ".token"

/* A number of tasks, or a time; the other one is 0. */
struct config_quantum {
	int64_t tasks;
	mtime time;
};

struct config_session {
	char *key; /* "header:NAME", "property:NAME" or "routing_key"; NULL: the pool has no
		      sessions, and the other settings have no meaning */
	enum config_without_key without_key;
	struct config_quantum quantum;
	enum config_session_failure on_failure;
	mtime idle;            /* MTIME_NEVER: a session ends as soon as it is empty */
	int64_t max_active;    /* MTIME_NEVER: none */
	int64_t max_sessions;  /* that are remembered */
	mtime max_unacked_age; /* MTIME_NEVER: none */
	mtime takeover_delay;  /* MTIME_NEVER: no other supervisor runs this pool */
	enum config_delivery_limit delivery_limit;
};

#endif
