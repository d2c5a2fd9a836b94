#include "runtime/throttles/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* False: it is no absolute path, or too long. */
static bool set_path(char path[PATH_MAX], const char *folder, size_t len, const char *below)
{
	int count = 0;

	if (folder && folder[0] == '/')
		count = snprintf(path, PATH_MAX, "%.*s%s", (int)len, folder, below);
	if (count > 0 && count < PATH_MAX)
		return true;
	path[0] = '\0';
	return false;
}

static bool choose(char path[PATH_MAX])
{
	const char *list = getenv("STATE_DIRECTORY");
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (list && *list)
		return set_path(path, list, strcspn(list, ":"), "");
	if (geteuid() == 0)
		return set_path(path, "/var/lib/wpool", PATH_MAX, "");
	if (state && *state)
		return set_path(path, state, strlen(state), "/wpool");
	return set_path(path, home, home ? strlen(home) : 0, "/.local/state/wpool");
}

static bool make_with_parents(char path[PATH_MAX])
{
	for (char *at = path + 1;; at++) {
		char here = *at;
		if (here != '/' && here != '\0')
			continue;
		*at = '\0';
		bool is_there = mkdir(path, 0700) == 0 || errno == EEXIST;
		*at = here;
		if (!is_there || here == '\0')
			return is_there;
	}
}

enum rc state_folder_find(int *ret_fd, char ret_path[PATH_MAX])
{
	if (!choose(ret_path)) {
		errno = ENOENT;
		return RC_SYSTEM;
	}
	int fd = open(ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? RC_NOT_FOUND : RC_SYSTEM;
	if (faccessat(fd, ".", W_OK, AT_EACCESS) != 0) {
		int error = errno;
		close(fd);
		errno = error;
		return RC_SYSTEM;
	}
	*ret_fd = fd;
	return RC_OK;
}

enum rc state_folder_open(int *ret_fd, char ret_path[PATH_MAX])
{
	enum rc rc = state_folder_find(ret_fd, ret_path);

	if (rc != RC_NOT_FOUND)
		return rc;
	if (make_with_parents(ret_path))
		rc = state_folder_find(ret_fd, ret_path);
	return rc == RC_NOT_FOUND ? RC_SYSTEM : rc;
}
