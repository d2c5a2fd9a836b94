#include "http/control_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME     "/wpool/control.sock"
#define RUN      "/run"
#define TMP      "/tmp/"
#define TMP_NAME TMP "wpool-%u"
#define MODE     0700
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
	char of_user[sizeof TMP_NAME + 10];

	if (strcmp(setting, "off") == 0)
		return paths;
	if (!paths.is_default) {
		append_path(&paths, setting, "");
		return paths;
	}
	if (own && own[0] == '/')
		append_path(&paths, own, NAME);
	append_path(&paths, RUN, NAME);
	snprintf(of_user, sizeof of_user, TMP_NAME, (unsigned)geteuid());
	append_path(&paths, of_user, strrchr(NAME, '/'));
	return paths;
}

static void copy_folder(const char *path, char ret_folder[LISTENER_PATH_BYTES])
{
	snprintf(ret_folder, LISTENER_PATH_BYTES, "%.*s", (int)(strrchr(path, '/') - path), path);
}

static bool is_in_tmp(const char *path)
{
	return strncmp(path, TMP, strlen(TMP)) == 0;
}

/* True for a folder, not a link, that only our user may change. */
static bool is_own_folder(const char *folder)
{
	struct stat status;

	return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
	       status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void control_paths_drop_foreign(struct control_paths *paths)
{
	char folder[LISTENER_PATH_BYTES];
	size_t kept = 0;

	if (!paths->is_default)
		return;
	for (size_t i = 0; i < paths->count; i++) {
		copy_folder(paths->list[i], folder);
		if (!is_in_tmp(folder) || is_own_folder(folder))
			memmove(paths->list[kept++], paths->list[i], LISTENER_PATH_BYTES);
	}
	paths->count = kept;
}

enum rc control_path_prepare(const char *path, gid_t group)
{
	char folder[LISTENER_PATH_BYTES];

	copy_folder(path, folder);
	if (mkdir(folder, MODE) != 0 && errno != EEXIST)
		return RC_SYSTEM;
	if (is_in_tmp(path) && !is_own_folder(folder)) {
		errno = EPERM;
		return RC_SYSTEM;
	}
	if (group == LISTENER_NO_GROUP)
		return RC_OK;
	return chown(folder, (uid_t)-1, group) == 0 && chmod(folder, MODE_GROUP) == 0 ? RC_OK
										      : RC_SYSTEM;
}
