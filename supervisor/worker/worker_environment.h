/* The environment that a pool's workers get. Layer: worker. */
#ifndef WORKER_WORKER_ENVIRONMENT_H
#define WORKER_WORKER_ENVIRONMENT_H

#include "worker/workers.h"

/* The variable that has the number of tasks that are open at once in a worker. */
#define CONCURRENCY_NAME "WPOOL_CONCURRENCY"

/* Make the environment: our own variables that are passed on, those of the user, of the
 * configuration and of the form of pipe, the concurrency, and the mark. A later one replaces an
 * earlier one of the same name. NULL-terminated; the caller owns the array; its strings are
 * borrowed, or are freed with it. NULL: out of memory. */
char **worker_environment_new(const struct workers_config *, char *mark);

#endif
