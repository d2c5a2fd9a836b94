/* Where a supervisor's control socket is. Layer: http. Used by the supervisor that makes it and by
 * the commands that look for it. */
#ifndef HTTP_CONTROL_PATH_H
#define HTTP_CONTROL_PATH_H

#include "http/listener.h"

#define CONTROL_PATHS_MAX 3

struct control_paths {
	char list[CONTROL_PATHS_MAX][LISTENER_PATH_BYTES]; /* in the order of trying */
	size_t count;
	bool is_default;
};

/* setting: control.socket. "off" has no path; a path too long for a socket is left out. The last
 * default path is in /tmp, in a folder of our own user. */
struct control_paths control_paths_of(const char *setting);
/* Leave out each path in /tmp unless its folder is there and is ours: in another one, or one that
 * is not there yet, the socket could be another user's. For those who connect. */
void control_paths_drop_foreign(struct control_paths *);
/* Make the folder of a default path, for our own user, if it is missing, and let this group enter
 * it. group: LISTENER_NO_GROUP: none. RC_SYSTEM: see errno; EPERM: in /tmp, and not ours. */
enum rc control_path_prepare(const char *path, gid_t group) MUST_CHECK;

#endif
