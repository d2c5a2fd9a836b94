/* The descriptors of this process: the standard three, and the limit on their number. Layer: os. */
#ifndef OS_DESCRIPTORS_H
#define OS_DESCRIPTORS_H

#include "base/rc.h"
#include <stddef.h>
#include <sys/resource.h>

/* Call once at the start, before anything is opened. Open /dev/null for each of 0, 1 and 2 that
 * is closed, since a pipe end with such a number would be lost in a child's dup2, and raise the
 * soft limit on descriptors as far as possible. *ret_original is the limit to restore in
 * children: select(2) in a worker breaks above 1,024. RC_SYSTEM: see errno. */
enum rc descriptors_prepare(struct rlimit *ret_original) MUST_CHECK;
/* Like close_range(2) from first on, with flags 0 or CLOSE_RANGE_CLOEXEC; one by one if the
 * kernel or a sandbox refuses that. Async-signal-safe. */
void descriptors_range(int first, unsigned flags);
/* Close *fd unless it is -1, and set it to -1. */
void descriptor_close(int *fd);
/* The number of bytes that can be read from a pipe or stream socket; 0 if that is unknown. */
size_t descriptor_waiting(int fd);

#endif
