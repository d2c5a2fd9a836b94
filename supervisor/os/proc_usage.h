/* The resource usage of a process, from the kernel. Layer: os. */
#ifndef OS_PROC_USAGE_H
#define OS_PROC_USAGE_H

#include "base/mtime.h"

#include <stdbool.h>
#include <sys/types.h>

struct proc_usage {
	uint64_t memory_bytes; /* resident */
	mtime computed;        /* processor time */
	mtime age;             /* since its start */
};

/* Read the usage of a process, by one short read of /proc. False: no such process, or no
 * permission. */
bool proc_usage_read(pid_t, struct proc_usage *ret);

/* The processor time of the process, its threads included, by one quick system call. MTIME_NEVER:
 * no such process. */
mtime proc_usage_computed(pid_t);

#endif
