/* The folder for what outlives a supervisor: the first of $STATE_DIRECTORY (from a service
 * manager), else /var/lib/wpool for root, else $XDG_STATE_HOME/wpool, else ~/.local/state/wpool.
 * Layer: runtime. */
#ifndef RUNTIME_STATE_FOLDER_H
#define RUNTIME_STATE_FOLDER_H

#include "base/rc.h"

#include <limits.h>

/* Open it; make it (0700), and what is above it, if it is missing. *ret_fd is owned. RC_SYSTEM: see
 * errno. ret_path is set in any case, empty if there is none to choose. */
enum rc state_folder_open(int *ret_fd, char ret_path[PATH_MAX]) MUST_CHECK;
/* The same, but RC_NOT_FOUND if it is missing. */
enum rc state_folder_find(int *ret_fd, char ret_path[PATH_MAX]) MUST_CHECK;

#endif
