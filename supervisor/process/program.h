/* A worker's program: where it is, and whether it could be run. Layer: process.
 * Looks at the file system as a start would, but starts nothing. */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

#include "core/exit.h"
#include <limits.h>
#include <stdbool.h>

/* The path of the program of that name: the first in the environment's PATH that can be run; a name
 * with a slash is its own path, whatever is there. False: errno says why. */
bool program_find(const char *name, char *const *environment, char ret[PATH_MAX]);
/* A start would fail now, and *ret_failure says as what. Not all is seen before a start. */
bool program_has_problem(const char *name, char *const *environment, struct exit_info *ret_failure);

#endif
