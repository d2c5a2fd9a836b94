/* The run directory: a private folder (0700) for the sockets and FIFOs of all workers. Layer:
 * os. When it is shared (0711), other users reach their own files in it by name. Made in
 * $RUNTIME_DIRECTORY (from a service manager), else $XDG_RUNTIME_DIR, /run, $TMPDIR or /tmp: the
 * first that is writable and short enough for a socket's path. It is locked (flock) while it is in
 * use; those of our user in any of these folders that are not are leftovers, and are removed: the
 * supervisor that left one may have had another environment. Each name is given out once, so that
 * pools do not collide. */
#ifndef OS_RUNDIR_H
#define OS_RUNDIR_H

#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>

/* Size of a path from rundir_next, with its NUL: the limit of sockaddr_un less a suffix. */
#define RUNDIR_PATH_BYTES 100

/* An empty file with this prefix in the run directory stands for a file in /tmp that is removed
 * with it: the sockets of `pipe: corefx`, which cannot be here. */
#define RUNDIR_OUTSIDE_PREFIX "CoreFxPipe_"
#define RUNDIR_OUTSIDE_FOLDER "/tmp"

struct rundir;

/* for_others: prefer a folder that every user can reach, because it will be shared. RC_MEMORY;
 * RC_SYSTEM: see errno, of the last folder tried. */
enum rc rundir_new(bool for_others, struct rundir **ret) MUST_CHECK;
/* Share it with workers of other users. A failure shows when one is started. */
void rundir_share(const struct rundir *);
/* Remove the folder with its contents, and free it. */
void rundir_free(struct rundir *);
const char *rundir_path(const struct rundir *);
/* An absolute path in it that was never given out before. */
void rundir_next(struct rundir *, char ret_path[RUNDIR_PATH_BYTES]);
/* Record that the outside file of this name is about to be made, or was removed. */
enum rc rundir_note_outside(struct rundir *, const char *name) MUST_CHECK;
void rundir_drop_outside(struct rundir *, const char *name);
/* Remove such a folder, made by any process; a missing one is not an error. */
void rundir_remove(const char *path);

#endif
