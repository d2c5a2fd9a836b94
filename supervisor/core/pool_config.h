/* The configuration of a pool. Layer: core, plain data. The pool copies it; its texts are borrowed
 * until pool_free. */
#ifndef CORE_POOL_CONFIG_H
#define CORE_POOL_CONFIG_H

#include "core/tasks/settle.h"
#include "core/throttle/throttle.h"
#include "core/workers/recycle.h"

#define POOL_WORKERS_MAX     10000
#define POOL_CONCURRENCY_MAX 10000
#define POOL_PIPELINE_MAX    64
#define POOL_WINDOW_MAX      65535

/* What its worker is sent when a task has exceeded its soft limit. */
enum soft_action { SOFT_NOTHING, SOFT_CONTEXT_SWITCH, SOFT_CANCEL };

/* What happens to a session when the message at its front is given up. */
enum session_failure { SESSION_SKIP, SESSION_BLOCK };

struct session_config {
	bool is_on;         /* messages with a key run one at a time and in order for each key */
	uint32_t quantum;   /* tasks of one turn; 0: quantum_time counts */
	mtime quantum_time; /* of workers in one turn */
	enum session_failure on_failure;
	mtime idle;            /* a session ends so long after its last task; 0: at once */
	uint32_t max_active;   /* sessions begun and not ended; 0: any number */
	uint32_t max_sessions; /* that are remembered; above 0 */
	mtime max_unacked_age; /* then the channel is renewed; MTIME_NEVER: never */
	mtime takeover_delay;  /* MTIME_NEVER: no other supervisor runs this pool */
	uint64_t hash_seed;    /* secret, so that nobody can choose keys that collide */
	bool is_return_free;   /* the queue has no delivery limit, so a renewal costs nothing */
};

struct pool_throttle {
	struct throttle *throttle; /* borrowed until pool_free, or another configuration */
	const char *name; /* borrowed as long; the same text in each configuration that has it */
	bool has_key;     /* a limit for each key; false: one limit for all */
	enum throttle_excess excess;
};

struct pool_config {
	const char *name;
	uint16_t workers;     /* 1 to POOL_WORKERS_MAX, until it is scaled */
	uint16_t workers_max; /* the pool chooses a number from workers to this; 0: workers */
	uint16_t concurrency; /* open tasks in one worker, 1 to POOL_CONCURRENCY_MAX; above 1: the
				 pipeline is 1 */
	uint16_t pipeline;    /* 1 to POOL_PIPELINE_MAX; 0: auto, from the measured time */
	mtime pipe_wait;      /* auto: how long a task may wait behind others in a pipe; above 0 */
	uint16_t prefetch;    /* 0: auto */
	size_t memory;        /* target for the bytes of unacked messages; above 0 */
	mtime boot_limit;     /* from SPAWN to READY */
	mtime hard_limit;     /* of a task since it began; MTIME_NEVER: none */
	mtime soft_limit;     /* then on_soft is done, if it has no own limit; MTIME_NEVER: none */
	enum soft_action on_soft; /* other than SOFT_NOTHING: needs a pipeline of 1 */
	mtime grace;              /* after QUIT, and again after TERM */
	size_t outbox_limit;      /* unconfirmed bytes above which nothing is dispatched */
	struct recycle_limits recycle;
	struct session_config session; /* on: prefetch is above 0 */
	uint8_t throttle_count;        /* 0 to PASSES_MAX; above 0: the pipeline is 1 */
	struct pool_throttle throttles[PASSES_MAX]; /* in the order in which they are asked */
	struct settle_policy policy;
};

#endif
