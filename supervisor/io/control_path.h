/* Where a supervisor's control socket is: for the one that makes it and those that look for it.
 * Layer: io. */
#ifndef IO_CONTROL_PATH_H
#define IO_CONTROL_PATH_H

#include "io/listener.h"

#define CONTROL_PATHS_MAX 2

struct control_paths {
	char list[CONTROL_PATHS_MAX][LISTENER_PATH_BYTES]; /* in the order of trying */
	size_t count;
	bool is_default;
};

/* setting: control.socket. None for "off"; nor what is longer than a socket's name may be. */
struct control_paths control_paths_of(const char *setting);
/* Makes the folder of a default path, for us alone, where it is missing. RC_SYSTEM: errno tells. */
enum rc control_path_prepare(const char *path) MUST_CHECK;

#endif
