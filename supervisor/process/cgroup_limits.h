/* Limits of a control group by the controllers pids and memory (cgroups(7), version 2). Layer:
 * process. Every group is given by a descriptor of its folder. A group with processes cannot hand
 * controllers down to those below it, so the supervisor and the guard move into a leaf. */
#ifndef PROCESS_CGROUP_LIMITS_H
#define PROCESS_CGROUP_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_LIMITS_CONTROLLERS "pids memory"

struct cgroup_limits {
	int64_t processes;    /* and threads; 0: no limit */
	int64_t memory_bytes; /* 0: no limit */
};

static inline bool cgroup_limits_are_set(const struct cgroup_limits *limits)
{
	return limits->processes > 0 || limits->memory_bytes > 0;
}

/* Set them for a group. Over its memory all of it is killed at once. False: see errno. */
bool cgroup_limits_write(int group, const struct cgroup_limits *);
/* True: the kernel has killed something in it because it was over its memory. */
bool cgroup_limits_was_over_memory(int group);

/* controllers: names with a blank between. */
/* True: it may hand all of them down. */
bool cgroup_controllers_are_available(int group, const char *controllers);
/* Hand them down. False: see errno; EBUSY: it has processes. */
bool cgroup_controllers_enable(int group, const char *controllers);
/* The same; if it has processes, move this process and others (ended by 0) into a new group below
 * it, of this name, first. False: see errno, and everything is as before. */
bool cgroup_controllers_enable_above(
	int group, const char *controllers, const char *leaf, const pid_t others[]);
/* The opposite: move what is in the leaf back, and remove it. A missing leaf is legal. */
void cgroup_controllers_disable_above(int group, const char *controllers, const char *leaf);

#endif
