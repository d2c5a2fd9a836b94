/* The mark that a worker and all that it starts bear in their environment: which life of which
 * supervisor they are of. Layer: io. A process keeps it through fork, setsid and exec, unless it
 * takes pains to lose it. */
#ifndef IO_MARK_H
#define IO_MARK_H

#include "io/rundir.h"
#include <stdint.h>
#include <sys/types.h>

#define MARK_NAME  "WPOOL_WORKER"
#define MARK_BYTES (sizeof MARK_NAME + 1 + RUNDIR_PATH_BYTES + 21)

/* NAME=run/life: an entry of an environment. run: a path of our own, such as the run directory's;
 * life: from 1. */
void mark_write(char ret[MARK_BYTES], const char *run, uint64_t life);
/* The life that a process bears the mark of; 0: of none of that run, or its environment cannot be
 * read. */
uint64_t mark_read(pid_t, const char *run);
/* Kills every process of the machine that bears a mark of that run; how many there were. */
int mark_kill_all(const char *run);

#endif
