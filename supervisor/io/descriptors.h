/* The descriptors of this process: the standard three, and how many there may be. Layer: io. */
#ifndef IO_DESCRIPTORS_H
#define IO_DESCRIPTORS_H

#include "base/rc.h"
#include <stddef.h>
#include <sys/resource.h>

/* Once at start, before anything else is opened: opens /dev/null wherever 0, 1 or 2 is closed (a
 * pipe end that got such a number would be lost in a child's dup2), and raises the soft limit on
 * descriptors as far as it may be. *ret_original is the limit that children must get back:
 * select(2) in a worker breaks above 1,024. RC_SYSTEM: errno tells. */
enum rc descriptors_prepare(struct rlimit *ret_original) MUST_CHECK;
/* As close_range(2) from first to the last, 0 or CLOSE_RANGE_CLOEXEC; one by one where the kernel
 * or a sandbox refuses that. Async-signal-safe. */
void descriptors_range(int first, unsigned flags);
/* Closes *fd unless it is -1, and leaves -1. */
void descriptor_close(int *fd);
/* Bytes that wait to be read from a pipe or stream socket; 0 when the kernel will not say. */
size_t descriptor_waiting(int fd);

#endif
