/* Kill what workers leave outside their process group: daemons, forked twice, in sessions of their
 * own. Layer: process. A worker with a control group is ended with all that is in it
 * (process/cgroups.h). For the others the supervisor is the parent of every orphan below it, and
 * kills those with the mark (process/mark.h) of a worker that has ended, then what they leave. A
 * stray of a worker that lives is not killed.
 * An orphan with neither group nor the mark of one worker is logged, and killed when no worker
 * lives that was there before it: then its worker is over. It stays where it may be of no worker:
 * if wpool had children at its start (a program became wpool by exec), or is PID 1 (docker exec
 * leaves it orphans). */
#ifndef PROCESS_STRAYS_H
#define PROCESS_STRAYS_H

#include "base/list.h"
#include "base/rc.h"
#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroup_limits;
struct cgroups;
struct descendants;
struct reaper;
struct strays;

/* The life of a worker. Part of its owner. Zero: none. */
struct stray_life {
	struct link living;
	uint64_t number;
	uint64_t began; /* proc_stat_now */
};

/* run: as in mark_write. cgroups: NULL: there are none. descendants: knows the children from
 * before. All are borrowed until strays_free. NULL: out of memory. */
struct strays *strays_new(struct ev_loop *, struct reaper *, const char *run, struct cgroups *,
	const struct descendants *);
void strays_free(struct strays *);
const char *strays_run(const struct strays *);
/* A worker is about to be started; the number goes into its mark. */
void strays_begin(struct strays *, struct stray_life *);
/* The descriptor of its control group (cgroups_begin), closed by the caller; -1: it has none. */
int strays_open_group(struct strays *, const struct stray_life *, const struct cgroup_limits *);
/* Move a process that another one forked into its control group. True also where there are none.
 * False: see errno. */
bool strays_enter_group(
	struct strays *, const struct stray_life *, const struct cgroup_limits *, pid_t) MUST_CHECK;
/* An orphan is a worker, forked by a preloaded process: its life decides about it. */
void strays_adopt(struct strays *, pid_t);
/* Before strays_end: the kernel killed it because it was over its group's limit of memory. */
bool strays_was_over_memory(const struct strays *, const struct stray_life *);
/* The worker has ended, or was never started: kill what it left, which takes a moment. A zeroed
 * life is legal. */
void strays_end(struct strays *, struct stray_life *);
/* True: a look is due. */
bool strays_is_looking(const struct strays *);

#endif
