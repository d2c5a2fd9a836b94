/* What the evil worker (tests/workers/evil) can do to its tasks, and how a task that meets it ends.
 */
#ifndef HARNESS_MANNERS_H
#define HARNESS_MANNERS_H

#include <stdbool.h>

#define MANNERS_MOST 128

struct manners {
	int count;
	char names[MANNERS_MOST][64];
};

/* All behaviours that the worker knows of, by its --list: a new one is tested at once. */
void manners_read(struct manners *);
/* The behaviour hurts only the supervisor, or comes after the answer: the task is done. Else it is
 * given up in the end. */
bool manners_are_harmless(const char *name);
/* No worker of these ever works at a task. */
bool manners_never_work(const char *name);

#endif
