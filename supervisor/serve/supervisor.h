/* The supervisor: pools, broker connections, signals and the turn of the loop. Layer: serve.
 * Owns everything that `wpool serve` runs. */
#ifndef SERVE_SUPERVISOR_H
#define SERVE_SUPERVISOR_H

#include "config/config.h"

/* Run until drained or forced. config, and the flags that it was made from, are borrowed; its
 * pools move in. watched: paths whose changes restart the workers; NULL-terminated, borrowed.
 * Return an exit code of sysexits: 0 drained, 75 forced before drained, 70 could not start (the
 * reason is logged). */
int supervisor_run(
	struct config *config, const struct config_flags *flags, const char *const *watched);

#endif
