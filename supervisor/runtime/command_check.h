/* Check what this machine has for the pools: commands that can be started, limits that hold. Layer:
 * runtime. A command that cannot is a warning, not an error: it may exist later, or on the machine
 * that the configuration is for. */
#ifndef RUNTIME_COMMAND_CHECK_H
#define RUNTIME_COMMAND_CHECK_H

#include "config/config.h"

/* Add a warning for each pool whose program does not exist or cannot be executed. */
void command_check_add_warnings(const struct config *, struct problems *);

/* True if a pool limits the control groups of its workers. */
bool command_check_has_group_limits(const struct config *);
/* Add a warning for each such pool that the limits do not hold. why: cgroups_why_no_limits; NULL:
 * they hold. */
void command_check_add_group_limits(const struct config *, const char *why, struct problems *);

#endif
