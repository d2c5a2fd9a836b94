/* The supervisor: stations, broker connections, signals and the turn of the loop. Layer: cli.
 * Owns everything that serve runs; supervisor_run is the whole life of `wpool serve`. */
#ifndef CLI_SUPERVISOR_H
#define CLI_SUPERVISOR_H

#include "config/config.h"

/* Runs until drained or forced. config and flags, which it was made of, are borrowed; its pools
 * move in. Returns an exit code of sysexits (0 drained, 75 forced before drained, 70 internal: it
 * could not start, and said why). */
int supervisor_run(struct config *config, const struct config_flags *flags);

#endif
