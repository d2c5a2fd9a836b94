/* The processes below the supervisor. Layer: process. A process may leave the process group, the
 * session, the mark and the control group of its worker; while the supervisor lives it is still
 * below it (subreaper). When the supervisor is dead, nothing connects them any more, so the guard
 * looks while it lives and kills what it saw. Plain data: supervisor and guard have a copy each.
 * Children that were there before (of a program that became wpool by exec) and what is below them
 * are left alone; their orphans are not. */
#ifndef PROCESS_DESCENDANTS_H
#define PROCESS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct descendants;

/* Those of this process; its present children are left alone. NULL: out of memory. */
struct descendants *descendants_new(void);
void descendants_free(struct descendants *);
/* Leave another child alone, too: the guard. False: out of memory. */
bool descendants_leave(struct descendants *, pid_t child);
/* True: a child that is left alone. */
bool descendants_is_left(const struct descendants *, pid_t child);
/* True: there are children from before. */
bool descendants_has_left(const struct descendants *);
/* Look through all processes of the machine. Out of memory: what was seen before stays. */
void descendants_look(struct descendants *);
/* How many were seen at the last look, and their pids; an index is valid until the next look. */
size_t descendants_count(const struct descendants *);
pid_t descendants_pid(const struct descendants *, size_t index);
/* Kill the processes that were seen at the last look or are below them now. They are stopped first,
 * so that none forks meanwhile. */
void descendants_kill(struct descendants *);

#endif
