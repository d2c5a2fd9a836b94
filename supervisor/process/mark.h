/* The mark: an environment variable that a worker and everything it starts inherit. It names the
 * run of the supervisor, by a random number that nobody else knows, and the worker's life. Layer:
 * process. It passes fork, setsid and exec; a process loses it only by clearing its environment. */
#ifndef PROCESS_MARK_H
#define PROCESS_MARK_H

#include "base/rc.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MARK_NAME     "WPOOL_WORKER"
#define MARK_RUN_SIZE 33 /* 128 bits in hexadecimal digits, and a NUL */
#define MARK_SIZE     (sizeof MARK_NAME + 1 + MARK_RUN_SIZE + 21)

/* Draw a run's number. RC_SYSTEM: the kernel gives no random bytes, see errno. */
enum rc mark_draw_run(char ret[MARK_RUN_SIZE]) MUST_CHECK;
/* Write the entry of the environment, NAME=run/life. life: from 1; 0: of no single worker. A
 * preloaded process has that, since what its workers start may still show its environment. */
void mark_write(char ret[MARK_SIZE], const char *run, uint64_t life);
/* Read the life in a process's mark. False: it has no mark of that run, or its environment cannot
 * be read. */
bool mark_read(pid_t, const char *run, uint64_t *ret_life);
/* Kill every process of the machine with a mark of that run whose real user is one of these: a
 * mark is a variable, which any user may give to a program that changes its user. Return how many
 * there were. */
int mark_kill_all(const char *run, const uid_t *users, size_t count);

#endif
