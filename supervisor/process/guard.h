/* The guard: a small process that kills the workers when the supervisor dies. Layer: process. It
 * holds the reading end of a pipe whose only writer is the supervisor, and a list of process
 * groups. When the pipe ends, it kills every group on the list, every other process with the
 * supervisor's mark (process/mark.h) and everything in its control group, removes the run
 * directory, and exits. */
#ifndef PROCESS_GUARD_H
#define PROCESS_GUARD_H

#include "base/rc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct guard;

/* Forks; call before there are threads and while the process is small. directory: names the run in
 * marks, and is removed when the supervisor dies. cgroup: that of the run; NULL: none. RC_SYSTEM:
 * see errno. */
enum rc guard_start(const char *directory, const char *cgroup, struct guard **ret) MUST_CHECK;
/* The guard was killed and reaped: start another one, with the same list. RC_SYSTEM: see errno, and
 * there is none (guard_pid is -1). */
enum rc guard_restart(struct guard *) MUST_CHECK;
pid_t guard_pid(const struct guard *);
/* The entry of the list for the next child. The child writes its process group there itself, before
 * its exec: a parent that is killed between fork and writing would leave what the child starts. The
 * parent writes it too, before the next call. NULL: the list is full, which is logged. */
atomic_int *guard_place(struct guard *);
void guard_remove(struct guard *, pid_t group);
/* End the guard in order (the list is empty by then) and reap it. */
void guard_stop(struct guard *);

#endif
