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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER_DIGITS 20 /* of an uint64_t */
#define NAME_PREFIX   "wpool-run-"
#define NAME_RANDOM   "XXXXXX"
#define TRIES         10

struct rundir {
	int lock; /* the folder itself, locked as long as it is in use; -1: none */
	uint64_t next;
	char path[RUNDIR_PATH_BYTES - NUMBER_DIGITS - 1];
};

/* Open a folder. It must be ours and not a symlink: a cleaner of /tmp may have removed it, and
 * another user may have made a link of that name to a folder of their choice. */
static int open_own(int folder, const char *path)
{
	struct stat status;
	int fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && status.st_uid == geteuid())
		return fd;
	close(fd);
	return -1;
}

/* Such an entry stands for a file of that name outside. */
static bool is_outside(const char *name)
{
	return strncmp(name, RUNDIR_OUTSIDE_PREFIX, sizeof RUNDIR_OUTSIDE_PREFIX - 1) == 0;
}

static bool has_name(int fd, const char *path)
{
	struct stat open_one, named;
	return fstat(fd, &open_one) == 0 && lstat(path, &named) == 0 &&
	       open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* Lock the folder that was just made. False: another wpool that starts took it for a leftover. */
static bool lock_folder(struct rundir *dir)
{
	dir->lock = open_own(AT_FDCWD, dir->path);
	if (dir->lock < 0)
		return false;
	if (flock(dir->lock, LOCK_EX | LOCK_NB) == 0 && has_name(dir->lock, dir->path))
		return true;
	close(dir->lock);
	dir->lock = -1;
	return false;
}

static bool try_folder(struct rundir *dir, struct text folder)
{
	if (!text_starts(folder, TEXT("/")))
		return false;
	for (int i = 0; i < TRIES; i++) {
		int len = snprintf(dir->path, sizeof dir->path, "%.*s/" NAME_PREFIX NAME_RANDOM,
			TEXT_ARGS(folder));
		if (len < 0 || (size_t)len >= sizeof dir->path) {
			log_debug("run directory: %.*s is too long for a socket's name",
				TEXT_ARGS(folder));
			errno = ENAMETOOLONG;
			return false;
		}
		if (!mkdtemp(dir->path))
			return false;
		if (lock_folder(dir))
			return true;
		rmdir(dir->path);
	}
	return false;
}

/* True for what wpool puts into a run directory. */
static bool is_of_run(int folder, const char *name)
{
	struct stat status;
	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISREG(status.st_mode))
		return status.st_size == 0 && is_outside(name);
	return S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode);
}

/* The name alone is no proof: a user may have chosen it for a folder with files. */
static bool is_run_directory(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	bool is_one = dir != NULL;
	while (is_one && (entry = readdir(dir)))
		is_one = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			 is_of_run(fd, entry->d_name);
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	return is_one;
}

/* Remove a folder that nobody has locked: a killed supervisor, whose guard was killed as well, left
 * it. */
static void remove_leftover(int folder, const char *parent, const char *name)
{
	char path[RUNDIR_PATH_BYTES];
	int fd = open_own(folder, name);
	int len = snprintf(path, sizeof path, "%s/%s", parent, name);
	if (fd < 0)
		return;
	if (len > 0 && (size_t)len < sizeof path && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		is_run_directory(fd)) {
		log_debug("removing %s, which a killed supervisor left", path);
		rundir_remove(path);
	}
	close(fd);
}

/* Of our user, in a folder where a run directory may be made. */
static void remove_leftovers(struct text where)
{
	char parent[RUNDIR_PATH_BYTES];
	int len = snprintf(parent, sizeof parent, "%.*s", TEXT_ARGS(where));
	bool is_usable = len > 0 && (size_t)len < sizeof parent && *parent == '/';
	DIR *folder = is_usable ? opendir(parent) : NULL;
	const struct dirent *entry;
	while (folder && (entry = readdir(folder)))
		if (text_starts(text_from(entry->d_name), TEXT(NAME_PREFIX)) &&
			strlen(entry->d_name) == sizeof NAME_PREFIX NAME_RANDOM - 1)
			remove_leftover(dirfd(folder), parent, entry->d_name);
	if (folder)
		closedir(folder);
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
	dir->lock = -1;
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
			for (size_t place = 0; place < count; place++)
				remove_leftovers(folders[place]);
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
	close(dir->lock);
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

void rundir_share(const struct rundir *dir)
{
	if (has_name(dir->lock, dir->path))
		(void)fchmod(dir->lock, 0711);
}

void rundir_remove(const char *path)
{
	int fd = open_own(AT_FDCWD, path);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (fd >= 0 && !dir)
		close(fd);
	if (dir) {
		int outside = open(RUNDIR_OUTSIDE_FOLDER, O_PATH | O_DIRECTORY | O_CLOEXEC);
		const struct dirent *entry;
		while ((entry = readdir(dir))) {
			if (is_outside(entry->d_name))
				unlinkat(outside, entry->d_name, 0);
			unlinkat(dirfd(dir), entry->d_name, 0); /* refuses . and .. */
		}
		if (outside >= 0)
			close(outside);
		closedir(dir);
	}
	rmdir(path);
}
