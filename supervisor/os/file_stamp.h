/* Whether a file was changed since it was read, without reading it again. Layer: os. */
#ifndef OS_FILE_STAMP_H
#define OS_FILE_STAMP_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct file_stamp {
	bool exists;
	bool is_regular; /* others may block who opens or reads them: a FIFO waits for a writer */
	bool is_fresh;   /* the file had just changed: a second change might show no other times */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
};

/* Of a file or a folder; take it before reading. path may be NULL: nothing there. */
struct file_stamp file_stamp_take(const char *path);
/* True if the file is certainly the one that was stamped, with the same contents. */
bool file_stamp_holds(const struct file_stamp *, const char *path);

#endif
