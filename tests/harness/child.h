/* A process that a test forks. It dies with the test, and a signal to it ends nobody else: check
 * installs handlers that signal the process group of the test, and a fork inherits them. */
#ifndef HARNESS_CHILD_H
#define HARNESS_CHILD_H

#include <sys/types.h>

/* Fork. Return 0 in the child, and its pid, to be reaped by the caller, in the test. A signal that
 * comes before the child runs has its default action. If there is no process, the test fails. */
pid_t child_fork(void);
/* Kill and reap a child, which must still run. */
void child_end(pid_t pid);

#endif
