/* A running supervisor as the kernel sees it, and what it reports of its loop. */
#ifndef FAULT_WATCH_H
#define FAULT_WATCH_H

#include "fault/fault.h"

#include <sys/types.h>

/* Its children of that name (as in /proc/PID/comm: "echo", "evil"), at most room of them; how many
 * there are. */
int watch_children(pid_t, const char *name, pid_t pids[], int capacity);
/* Waits until there are that many. */
void watch_expect_children(pid_t, const char *name, int count);
/* Open descriptors. */
int watch_descriptors(pid_t);
/* RssAnon, in KiB. */
long watch_memory_kib(pid_t);
/* The supervisor has ended, or never will: its longest turn of the loop, into the tally. That it
 * says it was not running counts as a turn, too, but where the row itself suspends it: of a loop
 * that is blocked for seconds the supervisor says the same. */
void watch_note_turns(struct proc *, struct tally *);

#endif
