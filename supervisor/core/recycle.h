/* When a worker has lived for long enough. Layer: core, pure.
 * By tasks and by age a worker is replaced from seven eighths of its limit on, so that those that
 * were started together do not leave together. */
#ifndef CORE_RECYCLE_H
#define CORE_RECYCLE_H

#include "base/mtime.h"
#include <stdint.h>

#define RECYCLE_REASONS(X)                                                                         \
	X(RECYCLE_NOT, "")                                                                         \
	X(RECYCLE_TASKS, "tasks")                                                                  \
	X(RECYCLE_AGE, "age")                                                                      \
	X(RECYCLE_MEMORY, "memory")                                                                \
	X(RECYCLE_KILL, "memory-kill") /* at once, whatever it is at */

enum recycle_reason {
#define X(reason, words) reason,
	RECYCLE_REASONS(X)
#undef X
		RECYCLE_REASON_COUNT
};

/* 0: none. */
struct recycle_limits {
	uint32_t tasks;       /* answers of one worker; it is never given more */
	mtime age;            /* since it was ready */
	uint64_t memory;      /* bytes, resident */
	uint64_t memory_kill; /* the same; not less than memory */
	uint32_t seed;        /* of what is left to chance */
};

/* So many answers are enough, if there is another worker. */
uint32_t recycle_enough(const struct recycle_limits *);
/* How old a worker may become: up to an eighth less than the limit. MTIME_NEVER: there is none. */
mtime recycle_age(const struct recycle_limits *, uint16_t slot, uint32_t life);
const char *recycle_words(enum recycle_reason);

#endif
