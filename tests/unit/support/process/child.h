/* The other end of a worker's pipe, for tests of processes: the test program runs itself again as
 * `PROGRAM FORM BEHAVIOUR`, as a worker with that behaviour. Every
 * behaviour waits for events and ends when its stdin ends. */
#ifndef UNIT_CHILD_H
#define UNIT_CHILD_H

#include "unit/unit.h"

/* Run the worker. Return its exit status. */
int child_run(const char *form, const char *behaviour);
/* A Unix stream socket that is connected to path; -1: errno is set. */
int child_connect(const char *path);

/* main of a test program that runs itself as a worker. Its tests get more time, because they start
 * processes. */
#define CHILD_MAIN(suite_function)                                                                 \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		if (argc == 3)                                                                     \
			return child_run(argv[1], argv[2]);                                        \
		setenv("CK_DEFAULT_TIMEOUT", "60", 0);                                             \
		return unit_run(suite_function());                                                 \
	}

#endif
