/* What the misbehaving worker (tests/workers/evil) can do to its tasks, and how a task that it
 * gets ends. */
#ifndef HARNESS_BAD_WORKER_H
#define HARNESS_BAD_WORKER_H

#include <stdbool.h>

#define MANNERS_MAX 128

struct bad_behaviours {
	int count;
	char names[MANNERS_MAX][64];
};

/* All behaviours that the worker lists with --list, so that a new one is tested at once. */
void bad_worker_read(struct bad_behaviours *);
/* True if the behaviour hurts only the supervisor, or follows the answer: the task is done.
 * Otherwise it is given up in the end. */
bool bad_worker_is_harmless(const char *name);
/* True if a worker with this behaviour never works on a task. */
bool bad_worker_never_works(const char *name);

#endif
