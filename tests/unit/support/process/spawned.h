/* The end of a child that spawn_process has started, for tests of processes. */
#ifndef UNIT_SPAWNED_H
#define UNIT_SPAWNED_H

#include "process/spawn.h"

/* Wait until there is something to be read, or the other end is closed. */
void spawned_await(int fd);
/* Close the descriptors. */
void spawned_close(struct spawned *);
/* The same, and reap the child. */
void spawned_reap(struct spawned *);

#endif
