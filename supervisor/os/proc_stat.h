/* What the kernel shows of a process below /proc/[pid] (proc(5)). Layer: os. */
#ifndef OS_PROC_STAT_H
#define OS_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char state; /* 'Z': ended and not reaped */
	pid_t parent;
	uint64_t start;    /* ticks since the machine's start; with the pid it names one process */
	uint64_t computed; /* ticks of processor time */
	uint64_t resident; /* pages */
};

/* Read the file of this name, a short text, by one read, up to size - 1 bytes. False: there is
 * none, no permission, or it is empty; then *ret is the empty text. */
bool proc_stat_text(pid_t, const char *name, char *ret, size_t size);
/* From /proc/[pid]/stat. False: as above. */
bool proc_stat_read(pid_t, struct proc_stat *ret);
/* Its real user, from /proc/[pid]/status. False: no such process. */
bool proc_stat_real_user(pid_t, uid_t *ret);
/* The present time in the ticks of proc_stat.start. */
uint64_t proc_stat_now(void);

#endif
