/* What workers leave behind outside their process group: daemons, forked twice, in sessions of
 * their own. Layer: io. The supervisor becomes the parent of whatever is orphaned below it, and a
 * process that bears the mark (io/mark.h) of a worker that is no more is killed, with what it
 * leaves behind in its turn; so is whatever is in its group (io/cgroups.h), marked or not. One of a
 * worker that lives is let be until then; one without a mark always is: a program that became wpool
 * by exec may have had children of its own. */
#ifndef IO_STRAYS_H
#define IO_STRAYS_H

#include "base/list.h"
#include <ev.h>
#include <stdint.h>

struct cgroups;
struct reaper;
struct strays;

/* The life of a worker. Open: part of its owner. Zero: none. */
struct stray_life {
	struct link living;
	uint64_t number;
};

/* run: see mark_write. cgroups: NULL: there are none. All are borrowed until strays_free. NULL: out
 * of memory. */
struct strays *strays_new(struct ev_loop *, struct reaper *, const char *run, struct cgroups *);
void strays_free(struct strays *);
const char *strays_run(const struct strays *);
/* A worker is about to be started; its number is that of its mark. */
void strays_begin(struct strays *, struct stray_life *);
/* The descriptor of its group, to be started into and closed by the caller; -1: it has none. */
int strays_open_group(struct strays *, const struct stray_life *);
/* It is no more, or was never started. In a moment nothing of it is left. None: nothing happens. */
void strays_end(struct strays *, struct stray_life *);

#endif
