/* The environment that a pool's workers get. Layer: worker. */
#ifndef WORKER_WORKER_ENVIRONMENT_H
#define WORKER_WORKER_ENVIRONMENT_H

#include "worker/workers.h"

#define LAST_EXIT_NAME "WPOOL_LAST_EXIT"

/* Make the environment: our own variables that are passed on, those of the user, of the
 * configuration and of the form of pipe, what the worker knows of its place (WPOOL_POOL,
 * WPOOL_SLOT, WPOOL_WORKERS, WPOOL_CONCURRENCY, WPOOL_TASK), the mark and last_exit. slot: -1: it
 * is the preloaded process, which has WPOOL_PRELOAD=1 in place of WPOOL_SLOT. last_exit: a whole
 * variable, how the process before it in its slot ended, or NULL. A later variable replaces an
 * earlier one of the same name. NULL-terminated; the caller owns the array; its strings are
 * borrowed, or are freed with it. NULL: out of memory. */
char **worker_environment_new(const struct workers_config *, int slot, char *mark, char *last_exit);

#endif
