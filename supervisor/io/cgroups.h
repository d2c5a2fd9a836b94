/* A control group for each worker (cgroups(7), version 2), for one purpose: whatever a worker
 * starts stays in its group, in whichever session, with whatever environment, so that all of it can
 * be ended. Layer: io. Nothing is limited, and where there is no such thing to be had, workers do
 * without.
 * A run has a group of its own below the one that wpool is in, locked as long as wpool lives: so
 * the next one there knows what a killed one left behind. */
#ifndef IO_CGROUPS_H
#define IO_CGROUPS_H

#include "base/rc.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroups;

/* Where this process's own group is; RC_NOT_FOUND: no version 2 is mounted, or it is outside. */
enum rc cgroups_find_own(char ret[PATH_MAX]) MUST_CHECK;
/* The same from what the kernel says in mountinfo and cgroup of /proc/self. */
enum rc cgroups_find(const char *mounts, const char *own, char ret[PATH_MAX]) MUST_CHECK;

/* A run's group below own, named after the base of run, a path; first it ends and removes what dead
 * runs left there. RC_SYSTEM: errno says why there can be none; RC_MEMORY. */
enum rc cgroups_new(const char *own, const char *run, struct cgroups **ret) MUST_CHECK;
/* Ends what is left, and removes the run's group as far as that is quick: a guard does the rest. */
void cgroups_free(struct cgroups *);
const char *cgroups_path(const struct cgroups *);

/* The group for the life of this number: a descriptor to be started into and then closed; -1: this
 * one does without. */
int cgroups_begin(struct cgroups *, uint64_t life);
/* That life is over: whatever is left in its group is killed. */
void cgroups_end(struct cgroups *, uint64_t life);
/* Removes groups whose last process has gone by now. */
void cgroups_sweep(struct cgroups *);

/* Kills all that is in a run's group, and removes it. False: something is still dying, to be asked
 * again in a moment. By any process; async-signal-safe it is not. */
bool cgroups_remove(const char *path);

#endif
