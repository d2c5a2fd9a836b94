/* The configuration of a pool. Layer: core, plain data. The pool copies it; its texts are borrowed
 * until pool_free. */
#ifndef CORE_POOL_CONFIG_H
#define CORE_POOL_CONFIG_H

#include "core/tasks/settle.h"
#include "core/workers/recycle.h"

#define POOL_WORKERS_MAX     10000
#define POOL_CONCURRENCY_MAX 10000
#define POOL_PIPELINE_MAX    64
#define POOL_WINDOW_MAX      65535

/* What its worker is sent when a task has exceeded its soft limit. */
enum soft_action { SOFT_NOTHING, SOFT_CONTEXT_SWITCH, SOFT_CANCEL };

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
	struct settle_policy policy;
};

#endif
