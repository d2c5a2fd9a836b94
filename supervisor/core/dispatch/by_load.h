/* Pipes by the number of their tasks; the least loaded one in O(1). Layer: core. A list for each
 * load, and bits in two levels for the lists that are not empty. */
#ifndef CORE_DISPATCH_BY_LOAD_H
#define CORE_DISPATCH_BY_LOAD_H

#include "core/dispatch/pipe.h"
#include "core/pool_config.h"

#define BY_LOAD_BITS   64
#define BY_LOAD_WORDS  (POOL_CONCURRENCY_MAX / BY_LOAD_BITS + 1)
#define BY_LOAD_GROUPS (BY_LOAD_WORDS / BY_LOAD_BITS + 1)

struct by_load {
	struct link *lists;              /* owned; [n]: pipes with n tasks */
	uint32_t max;                    /* a pipe with so many tasks is in no list */
	uint64_t words[BY_LOAD_WORDS];   /* bit n: lists[n] is not empty */
	uint64_t groups[BY_LOAD_GROUPS]; /* bit n: words[n] is not 0 */
};

/* max: 1 to POOL_CONCURRENCY_MAX. RC_MEMORY. */
enum rc by_load_init(struct by_load *, uint32_t max) MUST_CHECK;
void by_load_release(struct by_load *);
/* Put the pipe behind those with the same load, which is below max; or before them. */
void by_load_append(struct by_load *, struct pipe *);
void by_load_prepend(struct by_load *, struct pipe *);
/* Take it out, before its load changes; does nothing if it is in no list. */
void by_load_remove(struct by_load *, struct pipe *);
/* The first of the pipes with the fewest tasks, or NULL. */
struct pipe *by_load_first(const struct by_load *);

#endif
