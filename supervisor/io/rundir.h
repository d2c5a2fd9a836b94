/* The run directory: a private folder (0700) for the sockets and FIFOs of all workers. Layer: io.
 * Once it is shared (0711), other users reach what is theirs in it, by name.
 * Made in $RUNTIME_DIRECTORY (a service manager's), else $XDG_RUNTIME_DIR, /run, $TMPDIR, /tmp: the
 * first that can be written and leaves room for a socket's name. Names are handed out once each, so
 * that pools do not meet. */
#ifndef IO_RUNDIR_H
#define IO_RUNDIR_H

#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>

/* Of a path that rundir_next makes, with its NUL: what sockaddr_un bears, less a suffix. */
#define RUNDIR_PATH_BYTES 100

/* An empty file of this name stands in the run directory for a file of the same name in /tmp that
 * has to be removed with it: the sockets of `pipe: corefx`, which cannot lie here. */
#define RUNDIR_OUTSIDE_PREFIX "CoreFxPipe_"
#define RUNDIR_OUTSIDE_FOLDER "/tmp"

struct rundir;

/* for_others: preferably where every user can get to, because it is to be shared. RC_MEMORY,
 * RC_SYSTEM (errno tells of the last folder tried). */
enum rc rundir_new(bool for_others, struct rundir **ret) MUST_CHECK;
/* Workers of another user are to come. A failure shows when one is started. */
void rundir_share(const struct rundir *);
/* Removes the folder with all that is in it. */
void rundir_free(struct rundir *);
const char *rundir_path(const struct rundir *);
/* An absolute path in it that was never handed out before. */
void rundir_next(struct rundir *, char ret_path[RUNDIR_PATH_BYTES]);
/* The outside file of this name is about to be made, or was removed. */
enum rc rundir_note_outside(struct rundir *, const char *name) MUST_CHECK;
void rundir_drop_outside(struct rundir *, const char *name);
/* Removes any such folder, made by whichever process; what is not there is no error. */
void rundir_remove(const char *path);

#endif
