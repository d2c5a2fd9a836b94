/* What a child does between fork and exec. Layer: io; part of spawn. Async-signal-safe throughout:
 * no allocation, no lock, no stdio. Its steps stand in one list, in order; a failed one is named to
 * the parent by its number. */
#ifndef IO_SPAWN_CHILD_H
#define IO_SPAWN_CHILD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define SPAWN_STEPS(X)                                                                             \
	X(session) /* its own, and its own process group */                                        \
	X(group)   /* is told to the guard */                                                      \
	X(signals) /* default actions, empty mask: both survive an exec */                         \
	X(limits)                                                                                  \
	X(parent)      /* dies with us */                                                          \
	X(streams)     /* 0, 1, 2 */                                                               \
	X(descriptors) /* the exec closes all others */                                            \
	X(exec)                                                                                    \
	X(interpreter) /* it is the script's, or the loader, that cannot be run */

struct spawn_plan {
	const char *program;    /* a path */
	char *const *arguments; /* of the program */
	char *const *by_shell;  /* the same as a script of /bin/sh */
	char *const *environment;
	const struct rlimit *descriptors; /* or NULL */
	atomic_int *group;                /* gets the pid; or NULL */
	pid_t parent;
	int streams[3]; /* what becomes 0, 1, 2; all above 2 */
	int start;      /* the failure is written here */
};

/* One write, one read: shorter than any pipe. */
struct spawn_report {
	int32_t step; /* index in SPAWN_STEPS */
	int32_t error;
};

_Noreturn void spawn_child(const struct spawn_plan *);

#endif
