/* The mark: an environment variable that a worker and everything it starts inherit. It names the
 * run of the supervisor and the worker's life. Layer: process. It passes fork, setsid and exec; a
 * process loses it only by clearing its environment. */
#ifndef PROCESS_MARK_H
#define PROCESS_MARK_H

#include "os/rundir.h"
#include <stdint.h>
#include <sys/types.h>

#define MARK_NAME "WPOOL_WORKER"
#define MARK_SIZE (sizeof MARK_NAME + 1 + RUNDIR_PATH_BYTES + 21)

/* Write the entry of the environment, NAME=run/life. run: the run directory; life: from 1. */
void mark_write(char ret[MARK_SIZE], const char *run, uint64_t life);
/* The life in a process's mark; 0: it has no mark of that run, or its environment cannot be read.
 */
uint64_t mark_read(pid_t, const char *run);
/* Kill every process of the machine with a mark of that run. Return how many there were. */
int mark_kill_all(const char *run);

#endif
