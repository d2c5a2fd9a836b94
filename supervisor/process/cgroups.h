/* A control group for each worker (cgroups(7), version 2). Layer: process. Whatever a worker starts
 * stays in its group, in any session and with any environment, so all of it can be ended, and
 * limited together (process/cgroup_limits.h). Without control groups the mark does this
 * (process/mark.h). A run has a group of its own below that of this process; only its user enters
 * it. */
#ifndef PROCESS_CGROUPS_H
#define PROCESS_CGROUPS_H

#include "base/rc.h"
#include "process/cgroup_limits.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroups;

/* The folder of this process's own group. RC_NOT_FOUND: no version 2 is mounted where systemd
 * mounts it, or our group is not below that mount. */
enum rc cgroups_find_own(char ret[PATH_MAX]) MUST_CHECK;

/* Make the run's group below own, NAME-workers after the last part of run, a path. RC_SYSTEM: errno
 * is the reason why there can be none; RC_MEMORY. */
enum rc cgroups_new(const char *own, const char *run, struct cgroups **ret) MUST_CHECK;
/* Kill what is left, and remove the run's group if that is done at once; else the guard does it. */
void cgroups_free(struct cgroups *);
const char *cgroups_path(const struct cgroups *);

/* NULL: limits can hold here; else why they do not, a static text. For any process; nothing is
 * changed, so cgroups_allow_limits may still fail. */
const char *cgroups_why_no_limits(void);
/* Let groups have limits from now on. This process and the guard (0 or -1: there is none) may move
 * to a group of their own. RC_SYSTEM: see errno. */
enum rc cgroups_allow_limits(struct cgroups *, pid_t guard) MUST_CHECK;

/* Make the group of this life, with limits if they are allowed. Return a descriptor to start its
 * process into (fork_into), which the caller closes; -1: this worker has no group. */
int cgroups_begin(struct cgroups *, uint64_t life, const struct cgroup_limits *);
/* Before its end: it was over its limit of memory. */
bool cgroups_was_over_memory(const struct cgroups *, uint64_t life);
/* That life is over: kill what is left in its group. */
void cgroups_end(struct cgroups *, uint64_t life);
/* True: this process is in the group of a life. */
bool cgroups_holds(const struct cgroups *, pid_t);
/* Remove groups whose last process has gone by now. */
void cgroups_sweep(struct cgroups *);

/* Kill everything in a run's group, and remove it. False: something is still dying; call again in a
 * moment. For any process; not async-signal-safe. */
bool cgroups_remove(const char *path);

#endif
