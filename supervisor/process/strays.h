/* Kill what workers leave outside their process group: daemons, forked twice, in sessions of their
 * own. Layer: process. A worker with a control group is ended with all that is in it
 * (process/cgroups.h). For the others the supervisor is the parent of every orphan below it, and
 * kills those with the mark (process/mark.h) of a worker that has ended, then what they leave. A
 * stray of a worker that lives is not killed. A process without a mark is not killed either: a
 * program that became wpool by exec may have children of its own. */
#ifndef PROCESS_STRAYS_H
#define PROCESS_STRAYS_H

#include "base/list.h"
#include <ev.h>
#include <stdint.h>

struct cgroups;
struct reaper;
struct strays;

/* The life of a worker. Part of its owner. Zero: none. */
struct stray_life {
	struct link living;
	uint64_t number;
};

/* run: as in mark_write. cgroups: NULL: there are none. All are borrowed until strays_free. NULL:
 * out of memory. */
struct strays *strays_new(struct ev_loop *, struct reaper *, const char *run, struct cgroups *);
void strays_free(struct strays *);
const char *strays_run(const struct strays *);
/* A worker is about to be started; the number goes into its mark. */
void strays_begin(struct strays *, struct stray_life *);
/* The descriptor of its control group (cgroups_begin), closed by the caller; -1: it has none. */
int strays_open_group(struct strays *, const struct stray_life *);
/* The worker has ended, or was never started: kill what it left, which takes a moment. A zeroed
 * life is legal. */
void strays_end(struct strays *, struct stray_life *);

#endif
