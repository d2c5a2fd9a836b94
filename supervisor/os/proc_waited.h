/* How long a process waited for a processor, from /proc/[pid]/task/[tid]/schedstat. Layer: os. */
#ifndef OS_PROC_WAITED_H
#define OS_PROC_WAITED_H

#include "base/mtime.h"

#include <sys/types.h>

/* Of its threads and of what it has started, that which waited longest. The time in which the quota
 * of a control group is used up counts; a wait that goes on does not yet. 0: unknown. */
mtime proc_waited(pid_t);

#endif
