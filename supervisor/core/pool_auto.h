/* The number of workers, where the pool chooses it itself. Layer: core; part of the pool's inside
 * (pool_parts.h). Measures for autoscale.h and carries out what it decides: never more than its
 * bounds, nobody is interrupted, idle workers leave first (pool_scale.h). */
#ifndef CORE_POOL_AUTO_H
#define CORE_POOL_AUTO_H

#include "core/autoscale.h"

struct pool;
struct slot;

/* The slot's worker was at its task from then until then, and has answered. */
void pool_auto_answered(struct pool *, const struct slot *, mtime from, mtime until);
/* A turn has sent all that it could. True: it has grown, and workers are to be started. */
bool pool_auto(struct pool *);
mtime pool_auto_deadline(const struct pool *);

#endif
