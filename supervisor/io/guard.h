/* The guard: a small process that outlives a dead supervisor just long enough to end its workers.
 * Layer: io. It holds the reading end of a pipe whose only writer is the supervisor, and a list of
 * process groups; when the pipe ends, in order or not, it kills every group on the list and
 * whatever else bears the supervisor's mark (io/mark.h), removes the run directory and exits.
 * PDEATHSIG does not reach grandchildren; this does. */
#ifndef IO_GUARD_H
#define IO_GUARD_H

#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct guard;

/* Forks; call before there are threads and while the process is small. directory: names the
 * run in marks, and is removed with what is in it when the supervisor dies. cgroup: that of the
 * run, which is ended and removed (cgroups_remove); NULL: none. RC_SYSTEM: errno tells. */
enum rc guard_start(const char *directory, const char *cgroup, struct guard **ret) MUST_CHECK;
/* Somebody killed it and it was reaped: another one, with the same list. RC_SYSTEM: errno tells,
 * and there is none (guard_pid is -1). */
enum rc guard_restart(struct guard *) MUST_CHECK;
pid_t guard_pid(const struct guard *);
/* Where the next child writes its process group, itself, before its exec: were its parent to do it,
 * a parent killed in between would leave what the child forks. Whoever forks writes it too, before
 * the next call. NULL: the list is full, which is logged. */
atomic_int *guard_place(struct guard *);
void guard_remove(struct guard *, pid_t group);
/* Ends the guard in order (the list is empty by then) and reaps it. */
void guard_stop(struct guard *);

#endif
