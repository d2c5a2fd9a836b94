/* What a child does between fork and exec. Layer: process; part of spawn. Async-signal-safe: no
 * allocation, no lock, no stdio. The steps are one list, in order; a failed one is reported to
 * the parent by its number. */
#ifndef PROCESS_SPAWN_CHILD_H
#define PROCESS_SPAWN_CHILD_H

#include "config/rights.h"
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* The step, and its name in a failure. */
#define SPAWN_STEPS(X)                                                                             \
	X(cgroup, "control group")    /* limits that are configured hold, or it does not run */    \
	X(session, "session")         /* its own, and its own process group */                     \
	X(group, "group")             /* recorded for the guard */                                 \
	X(signals, "signals")         /* default actions, empty mask: both survive an exec */      \
	X(descriptors, "descriptors") /* the exec closes all but 0 to 2; while all are in reach */ \
	X(priority, "nice")           /* needs rights, and one more descriptor for a moment */     \
	X(limits, "rlimits")          /* before the user: raising a limit needs rights, too */     \
	X(pipes, "its pipes")         /* become the worker's, so that it can open /dev/stdout */   \
	X(keyring, "keyring")         /* a new session keyring; while root's many may be had */    \
	X(bounds, "capabilities")     /* none can be gained; while we may give them up */          \
	X(gid, "group")               /* and all supplementary groups */                           \
	X(uid, "user")                /* from here on it has no rights of ours */                  \
	X(mask, "umask")                                                                           \
	X(folder, "cwd") /* as this user */                                                        \
	X(reach, "reaching its pipe")                                                              \
	X(parent, "parent")   /* the death signal, which a change of user would clear */           \
	X(streams, "streams") /* 0, 1, 2 */                                                        \
	X(exec, "exec")                                                                            \
	X(interpreter, "interpreter") /* the script's interpreter or the loader cannot be run */

struct spawn_plan {
	const char *program;    /* a path */
	char *const *arguments; /* of the program */
	char *const *by_shell;  /* the same as a script of /bin/sh */
	char *const *environment;
	const struct rlimit *descriptors; /* or NULL */
	const struct rights *rights;      /* or NULL */
	const char *folder;               /* or NULL */
	const char *reach;                /* or NULL */
	atomic_int *group;                /* set to the pid; or NULL */
	int cgroup_error;                 /* errno of entering the control group; 0: it need not */
	pid_t parent;
	int streams[3]; /* become 0, 1, 2; all are above 2 */
	int start;      /* the failure is written here */
};

/* One write, one read: shorter than any pipe. */
struct spawn_report {
	int32_t step; /* index in SPAWN_STEPS */
	int32_t error;
};

_Noreturn void spawn_child(const struct spawn_plan *);

#endif
