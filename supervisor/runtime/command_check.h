/* Check that the pools' commands can be started. Layer: runtime. A command that cannot is a
 * warning, not an error: it may exist later, or on the machine that the configuration is for. */
#ifndef RUNTIME_COMMAND_CHECK_H
#define RUNTIME_COMMAND_CHECK_H

#include "config/config.h"

/* Add a warning for each pool whose program does not exist or cannot be executed. */
void command_check_add_warnings(const struct config *, struct problems *);

#endif
