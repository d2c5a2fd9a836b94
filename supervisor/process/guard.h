/* The guard: a small process that kills the workers when the supervisor dies or has stopped. Layer:
 * process. It holds the reading end of a pipe whose only writer is the supervisor, and a list of
 * process groups. Meanwhile it looks about once a second which processes are below the supervisor.
 * When the pipe ends, it kills every group on the list, every other process with the supervisor's
 * mark (process/mark.h), those that it saw (process/descendants.h) and everything in its control
 * group, removes the run directory, and exits. A lease bounds how long workers may run while the
 * supervisor does not: those of a lease that is over are killed. */
#ifndef PROCESS_GUARD_H
#define PROCESS_GUARD_H

#include "base/mtime.h"
#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* Leases have numbers from 1 to this. */
#define GUARD_LEASES 10000

struct descendants;
struct guard;

struct guard_run {
	const char *directory;           /* of the run; removed when the supervisor dies */
	const char *mark;                /* mark_draw_run */
	const char *cgroup;              /* of the run; NULL: none */
	struct descendants *descendants; /* borrowed until guard_stop; NULL: none are ended */
};

/* Forks; call before there are threads and while the process is small. RC_SYSTEM: see errno. */
enum rc guard_start(const struct guard_run *, struct guard **ret) MUST_CHECK;
/* The guard was killed and reaped: start another one, with the same list. RC_SYSTEM: see errno, and
 * there is none (guard_pid is -1). */
enum rc guard_restart(struct guard *) MUST_CHECK;
pid_t guard_pid(const struct guard *);
/* The entry of the list for the next child. The child writes its process group there itself, before
 * its exec: a parent that is killed between fork and writing would leave what the child starts. The
 * parent writes it too, before the next call. lease: the child's; 0: none. NULL: the list is full,
 * which is logged. */
atomic_int *guard_place(struct guard *, unsigned lease);
/* The children of this lease may run until then, by clock_boot; 0: without a limit. The supervisor
 * ends them itself at that time; the guard does it half a second later. */
void guard_set_lease(struct guard *, unsigned lease, mtime until);
/* The leader of this group, which is not reaped, is the one that the guard may kill: not a later
 * process that gets its number while the supervisor dies. */
void guard_know(struct guard *, pid_t group);
void guard_remove(struct guard *, pid_t group);
/* A worker of this user is about to be started: the guard believes marks of processes of this user.
 */
void guard_allow_user(struct guard *, uid_t);
/* End the guard in order (the list is empty by then) and reap it. */
void guard_stop(struct guard *);

#endif
