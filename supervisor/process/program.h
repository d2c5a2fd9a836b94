/* A worker's program: where it is, and whether it can be run. Layer: process. Checks the file
 * system, but starts nothing. */
#ifndef PROCESS_PROGRAM_H
#define PROCESS_PROGRAM_H

#include "core/exit.h"
#include <limits.h>
#include <stdbool.h>

/* Find the path of a program: the first in the environment's PATH that can be run; a name with a
 * slash is used as it is. False: see errno. */
bool program_find(const char *name, char *const *environment, char ret[PATH_MAX]);
/* True: a start would fail now, as *ret_failure describes. Not every problem can be found before a
 * start. */
bool program_has_problem(const char *name, char *const *environment, struct exit_info *ret_failure);

#endif
