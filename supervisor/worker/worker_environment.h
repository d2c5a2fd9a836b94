/* The environment that a pool's workers get. Layer: worker. */
#ifndef WORKER_WORKER_ENVIRONMENT_H
#define WORKER_WORKER_ENVIRONMENT_H

#include "worker/workers.h"

/* Our own variables as far as they are passed on, then those of the user, of the configuration and
 * of the form of pipe, then the mark; each variable once. NULL-terminated; the array is the
 * caller's, its strings are borrowed. NULL: out of memory. */
char **worker_environment_new(const struct workers_config *, char *mark);

#endif
