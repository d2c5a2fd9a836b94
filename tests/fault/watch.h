/* Facts about a running supervisor from /proc, and from its log about its loop. */
#ifndef FAULT_WATCH_H
#define FAULT_WATCH_H

#include "fault/fault.h"

#include <sys/types.h>

/* Get the children of that name (as in /proc/PID/comm: "echo", "evil"), at most capacity. Return
 * their number. */
int watch_children(pid_t, const char *name, pid_t pids[], int capacity);
/* Wait until there are that many. */
void watch_expect_children(pid_t, const char *name, int count);
/* The number of open descriptors. */
int watch_descriptors(pid_t);
/* RssAnon, in KiB. */
long watch_memory_kib(pid_t);
/* Put the longest turn of the loop, from the supervisor's log so far, into the tally. A time in
 * which it was not running counts as a turn, too, unless the row itself suspends it: the log of a
 * loop that is blocked for seconds is the same. */
void watch_note_turns(struct proc *, struct tally *);

#endif
