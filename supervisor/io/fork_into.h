/* A fork whose child begins in another control group. Layer: io. */
#ifndef IO_FORK_INTO_H
#define IO_FORK_INTO_H

#include <stdbool.h>
#include <sys/types.h>

/* As fork(2). group: a descriptor of the group's folder; 0 or -1: the child stays in ours. In the
 * child *ret_is_inside tells whether it got there: it is its own to decide what that means. What
 * the child may do is what is async-signal-safe, for libc does not know of it. */
pid_t fork_into(int group, bool *ret_is_inside);

#endif
