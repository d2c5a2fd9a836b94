/* When a worker is to be replaced. Layer: core, pure. Each life has limits of its own, so that
 * workers that were started together do not leave together. */
#ifndef CORE_WORKERS_RECYCLE_H
#define CORE_WORKERS_RECYCLE_H

#include "base/mtime.h"
#include <stdint.h>

#define RECYCLE_REASONS(X)                                                                         \
	X(RECYCLE_NOT, "")                                                                         \
	X(RECYCLE_TASKS, "tasks")                                                                  \
	X(RECYCLE_AGE, "age")                                                                      \
	X(RECYCLE_MEMORY, "memory")                                                                \
	X(RECYCLE_KILL, "memory-kill") /* at once, even during a task */

enum recycle_reason {
#define X(reason, name) reason,
	RECYCLE_REASONS(X)
#undef X
		RECYCLE_REASON_COUNT
};

/* 0: none. */
struct recycle_limits {
	uint32_t tasks;       /* answers of one worker; it never gets more tasks */
	mtime age;            /* since it was ready */
	uint64_t memory;      /* bytes, resident */
	uint64_t memory_kill; /* bytes, resident; not less than memory */
	uint32_t seed;        /* of the random part of limits */
};

/* How many answers a worker may send: up to an eighth fewer than the limit, because workers that
 * are equally busy would otherwise leave together. 0: any number. */
uint32_t recycle_tasks(const struct recycle_limits *, uint16_t slot, uint32_t life);
/* From so many of these answers on, the worker is replaced when another one is ready. */
uint32_t recycle_enough(uint32_t tasks);
/* How old a worker may become: up to an eighth less than the limit. MTIME_NEVER: no limit. */
mtime recycle_age(const struct recycle_limits *, uint16_t slot, uint32_t life);
const char *recycle_reason_name(enum recycle_reason);

#endif
