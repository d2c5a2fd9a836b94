/* What a process uses, as the kernel counts it. Layer: io. */
#ifndef IO_USAGE_H
#define IO_USAGE_H

#include "base/mtime.h"

#include <stdbool.h>
#include <sys/types.h>

struct usage {
	uint64_t memory_bytes; /* resident */
	mtime computed;        /* processor time */
	mtime age;             /* since it was started */
};

/* False: there is no such process, or it may not be looked at. One short read, of /proc. */
bool usage_read(pid_t, struct usage *ret);

#endif
