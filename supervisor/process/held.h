/* A process that is held: its number cannot pass to another process between a look at it and a
 * signal. Layer: process. */
#ifndef PROCESS_HELD_H
#define PROCESS_HELD_H

#include <sys/types.h>

struct held {
	pid_t pid;
	int fd; /* -1: this kernel cannot hold it, or it has ended */
};

/* Hold it, then look whether it is the right one, then signal it; let go in any case. */
struct held held_open(pid_t);
void held_signal(const struct held *, int number);
void held_close(struct held *);

#endif
