/* Start one child process. Layer: process. Never waits for the child.
 * The contract:
 *  1. The program is looked up in PATH by the parent, so that after the fork nothing but
 *     async-signal-safe calls is made.
 *  2. The child leads its own session and process group (its pid names both), gets default signals,
 *     an empty mask, the original limit on descriptors, and SIGKILL when we die.
 *  3. It gets .rights in this order: priority, limits, keyring, capabilities, groups, group, user,
 *     no_new_privs. If a step fails, the child ends; it never runs with more rights.
 *  4. It has three descriptors: 0 is a pipe from us or a socket, 1 and 2 are pipes to us
 *     (process/child_pipes.h). Everything else is closed by its exec. Its folder and environment
 * are those given.
 *  5. A step that fails in the child comes back as {stage, errno} through the start pipe, which the
 *     exec closes: end of file there means that the program runs (process/child_start.h reads it).
 *  6. On success the caller owns the four descriptors (non-blocking, close-on-exec) and the pid,
 *     which it must reap. On failure nothing is left: no process, no descriptor.
 * A script without "#!" is given to /bin/sh, as execvp does. */
#ifndef PROCESS_SPAWN_H
#define PROCESS_SPAWN_H

#include "base/rc.h"
#include "config/rights.h"
#include "core/exit.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct spawn_request {
	char *const *command;             /* NULL-terminated, at least one */
	char *const *environment;         /* NULL-terminated */
	const struct rlimit *descriptors; /* of the child; NULL: ours */
	const struct rights *rights;      /* NULL: unchanged */
	const char *folder;               /* NULL: ours */
	const char *reach; /* a file that the child must be able to read and write; or NULL */
	int cgroup;        /* a descriptor (cgroups_begin); 0 or -1: our own group */
	bool has_socket;   /* for its stdin, instead of a pipe */
	bool is_limited;   /* by its control group: a child that cannot enter it ends */
	atomic_int *group; /* set to the pid before the exec, by child and parent, see guard_place;
			      or NULL */
};

struct spawned {
	pid_t pid;
	int control; /* writes to its stdin */
	int output;  /* reads its stdout */
	int error;   /* reads its stderr */
	int start;   /* reads the result of the start */
};

enum spawn_outcome { SPAWN_PENDING, SPAWN_RUNS, SPAWN_FAILED };

/* Start a child. SIGCHLD must not be ignored, and 0 to 2 must be open (descriptors_prepare).
 * RC_SYSTEM, RC_MEMORY: *ret_failure is set. */
enum rc spawn_process(const struct spawn_request *, struct spawned *ret,
	struct exit_info *ret_failure) MUST_CHECK;
/* Read the start pipe; *ret_failure is set only on SPAWN_FAILED. */
enum spawn_outcome spawn_outcome(int start, struct exit_info *ret_failure);
/* Send a signal to the process group of a child that is not reaped yet. */
void spawn_signal(pid_t, int number);
/* Give the session of a child that runs its program the child's nice value. The child does it
 * itself before its exec, but only root may then: until the exec it is as hidden as we are
 * (memory_hide). */
void spawn_set_session_priority(pid_t);

#endif
