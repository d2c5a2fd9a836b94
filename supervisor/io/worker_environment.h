/* The environment that a pool's workers get. Layer: io; part of the crew. */
#ifndef IO_WORKER_ENVIRONMENT_H
#define IO_WORKER_ENVIRONMENT_H

#include "io/crew.h"

/* Ours as far as it is passed on, then what the user, the form of pipe and the configuration add,
 * then the mark; each variable once. NULL-terminated; the array is the caller's, its strings are
 * borrowed. NULL: out of memory. */
char **worker_environment_new(const struct crew_config *, char *mark);

#endif
