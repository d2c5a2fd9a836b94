#include "os/file_stamp.h"

#include <stddef.h>
#include <sys/stat.h>

/* File systems count times in ticks, some of them in seconds. */
#define FRESH_S 2

struct file_stamp file_stamp_take(const char *path)
{
	struct stat status;
	if (!path || stat(path, &status) < 0)
		return (struct file_stamp){0};
	return (struct file_stamp){
		.exists = true,
		.is_regular = S_ISREG(status.st_mode),
		.is_fresh = time(NULL) - status.st_ctim.tv_sec < FRESH_S,
		.device = status.st_dev,
		.inode = status.st_ino,
		.size = status.st_size,
		.modified = status.st_mtim,
		.changed = status.st_ctim,
	};
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool file_stamp_holds(const struct file_stamp *stamp, const char *path)
{
	struct file_stamp now = file_stamp_take(path);
	if (!stamp->exists || !now.exists)
		return stamp->exists == now.exists;
	return !stamp->is_fresh && stamp->device == now.device && stamp->inode == now.inode &&
	       stamp->size == now.size && is_same_time(stamp->modified, now.modified) &&
	       is_same_time(stamp->changed, now.changed);
}
