/* Fork a child into another control group. Layer: process. */
#ifndef PROCESS_FORK_INTO_H
#define PROCESS_FORK_INTO_H

#include <stdbool.h>
#include <sys/types.h>

/* Like fork(2). group: a descriptor of the group's folder; 0 or -1: the child stays in ours. In the
 * child *ret_is_inside is true if it is in the group; false: errno is the reason. The child may
 * only make async-signal-safe calls, because libc's own fork handling is bypassed. */
pid_t fork_into(int group, bool *ret_is_inside);
/* Move another process into a group, without what it has forked. False: see errno. */
bool fork_move_into(int group, pid_t);

#endif
