/* Notices that source files below some paths have changed, by inotify: for development, so that
 * workers restart with new code. Layer: os. Owns its descriptor, watches and timer. It follows no
 * symbolic link below a path, and never reads a file. */
#ifndef OS_SOURCE_WATCH_H
#define OS_SOURCE_WATCH_H

#include "base/mtime.h"
#include "base/rc.h"

#include <ev.h>
#include <stdbool.h>

/* Changes that follow each other faster than this are one. */
#define SOURCE_WATCH_QUIET (150 * MTIME_MS)
/* A change is reported this long after it at the latest, however many follow. */
#define SOURCE_WATCH_LIMIT MTIME_SECOND

struct source_watch;

/* False for the names of hidden files, caches, compiled Python, and of what editors write beside a
 * file while it is edited or saved. Also for folders. */
bool source_watch_is_source(const char *name);
/* True for what holds code or its settings: a file that can be executed, or whose name ends like
 * those of a programming language, of templates or of settings. Workers write other files beside
 * their code: logs, results, data. For a name of source_watch_is_source that is no folder's. */
bool source_watch_is_code(const char *name, bool is_executable);
/* How long to wait for a further change, if the first one came at first; 0: no longer. */
mtime source_watch_wait(mtime first, mtime now);

/* paths: files, whatever they are, and folders with all code below them; NULL-terminated, borrowed
 * during the call. Of several changes at once on_change gets the path of the first one that is
 * still there (borrowed during the call), and whether other files changed, too. NULL: the reason is
 * logged. */
struct source_watch *source_watch_new(struct ev_loop *, const char *const *paths,
	void (*on_change)(void *ctx, const char *path, bool has_others), void *ctx) MUST_CHECK;
void source_watch_free(struct source_watch *);

#endif
