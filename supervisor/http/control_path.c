#include "http/control_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "/wpool/control.sock"
#define RUN  "/run"
#define MODE 0700
/* The group may enter the folder, not list it. */
#define MODE_GROUP 0710

static void append_path(struct control_paths *paths, const char *folder, const char *name)
{
	char *path = paths->list[paths->count];
	int len = snprintf(path, LISTENER_PATH_BYTES, "%s%s", folder, name);

	if (len > 0 && (size_t)len < LISTENER_PATH_BYTES)
		paths->count++;
}

struct control_paths control_paths_of(const char *setting)
{
	struct control_paths paths = {.is_default = strcmp(setting, "auto") == 0};
	const char *own = getenv("XDG_RUNTIME_DIR");

	if (strcmp(setting, "off") == 0)
		return paths;
	if (!paths.is_default) {
		append_path(&paths, setting, "");
		return paths;
	}
	if (own && own[0] == '/')
		append_path(&paths, own, NAME);
	append_path(&paths, RUN, NAME);
	return paths;
}

enum rc control_path_prepare(const char *path, gid_t group)
{
	char folder[LISTENER_PATH_BYTES];
	const char *slash = strrchr(path, '/');

	snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
	if (mkdir(folder, MODE) != 0 && errno != EEXIST)
		return RC_SYSTEM;
	if (group == LISTENER_NO_GROUP)
		return RC_OK;
	return chown(folder, (uid_t)-1, group) == 0 && chmod(folder, MODE_GROUP) == 0 ? RC_OK
										      : RC_SYSTEM;
}
