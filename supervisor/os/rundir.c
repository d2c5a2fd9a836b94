#include "os/rundir.h"

#include "base/log.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER_DIGITS 20 /* of an uint64_t */

struct rundir {
	uint64_t next;
	char path[RUNDIR_PATH_BYTES - NUMBER_DIGITS - 1];
};

static bool try_folder(struct rundir *dir, struct text folder)
{
	if (!text_starts(folder, TEXT("/")))
		return false;
	int len = snprintf(dir->path, sizeof dir->path, "%.*s/wpool-XXXXXX", TEXT_ARGS(folder));
	if (len < 0 || (size_t)len >= sizeof dir->path) {
		log_debug("run directory: %.*s is too long for a socket's name", TEXT_ARGS(folder));
		errno = ENAMETOOLONG;
		return false;
	}
	return mkdtemp(dir->path) != NULL;
}

/* Only modes are considered, not ACLs. */
static bool others_may_enter(struct text folder)
{
	char path[sizeof((struct rundir *)NULL)->path];
	struct stat status;
	for (size_t len = 1; len <= folder.len && len < sizeof path; len++) {
		if (len < folder.len && folder.ptr[len] != '/')
			continue;
		snprintf(path, sizeof path, "%.*s", (int)len, folder.ptr);
		if (stat(path, &status) < 0 || !(status.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

enum rc rundir_new(bool for_others, struct rundir **ret)
{
	struct rundir *dir = calloc(1, sizeof *dir);
	if (!dir)
		return RC_MEMORY;
	/* The service manager's folder for us is the first of RUNTIME_DIRECTORY. */
	const char *list = getenv("RUNTIME_DIRECTORY");
	const struct text folders[] = {text_of(list, list ? strcspn(list, ":") : 0),
		text_from(getenv("XDG_RUNTIME_DIR")), TEXT("/run"), text_from(getenv("TMPDIR")),
		TEXT("/tmp")};
	const size_t count = sizeof folders / sizeof *folders;
	/* If none is open to others, any: the start of such a worker then fails with the reason. */
	for (size_t i = for_others ? 0 : count; i < 2 * count; i++) {
		if (i < count && !others_may_enter(folders[i]))
			continue;
		if (try_folder(dir, folders[i % count])) {
			*ret = dir;
			return RC_OK;
		}
	}
	int error = errno;
	free(dir);
	errno = error;
	return RC_SYSTEM;
}

void rundir_free(struct rundir *dir)
{
	if (!dir)
		return;
	rundir_remove(dir->path);
	free(dir);
}

const char *rundir_path(const struct rundir *dir)
{
	return dir->path;
}

void rundir_next(struct rundir *dir, char ret_path[RUNDIR_PATH_BYTES])
{
	snprintf(ret_path, RUNDIR_PATH_BYTES, "%s/%" PRIu64, dir->path, dir->next++);
}

static bool note_path(const struct rundir *dir, const char *name, char *path, size_t size)
{
	int len = snprintf(path, size, "%s/%s", dir->path, name);
	return len > 0 && (size_t)len < size;
}

enum rc rundir_note_outside(struct rundir *dir, const char *name)
{
	char path[2 * RUNDIR_PATH_BYTES];
	if (!note_path(dir, name, path, sizeof path))
		return RC_LIMIT;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return RC_SYSTEM;
	close(fd);
	return RC_OK;
}

void rundir_drop_outside(struct rundir *dir, const char *name)
{
	char path[2 * RUNDIR_PATH_BYTES];
	if (note_path(dir, name, path, sizeof path))
		unlink(path);
}

/* It must be ours and not a symlink: a cleaner of /tmp may have removed it, and another user may
 * have made a link of that name to a folder of their choice. */
static DIR *open_own(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	bool is_own = fstat(fd, &status) == 0 && status.st_uid == geteuid();
	DIR *dir = is_own ? fdopendir(fd) : NULL;
	if (!dir)
		close(fd);
	return dir;
}

void rundir_share(const struct rundir *dir)
{
	DIR *own = open_own(dir->path);
	if (!own)
		return;
	(void)fchmod(dirfd(own), 0711);
	closedir(own);
}

void rundir_remove(const char *path)
{
	DIR *dir = open_own(path);
	if (dir) {
		int outside = open(RUNDIR_OUTSIDE_FOLDER, O_PATH | O_DIRECTORY | O_CLOEXEC);
		const struct dirent *entry;
		while ((entry = readdir(dir))) {
			size_t prefix = sizeof RUNDIR_OUTSIDE_PREFIX - 1;
			if (strncmp(entry->d_name, RUNDIR_OUTSIDE_PREFIX, prefix) == 0)
				unlinkat(outside, entry->d_name, 0);
			unlinkat(dirfd(dir), entry->d_name, 0); /* refuses . and .. */
		}
		if (outside >= 0)
			close(outside);
		closedir(dir);
	}
	rmdir(path);
}
