/* The data pipe, in its three forms. Part of the worker SDK, internal.
 * Owns its descriptors, which are close-on-exec; FIFOs are in non-blocking mode. Every call handles
 * signals and short counts. None raises SIGPIPE or changes how the process handles it. */
#ifndef WPOOL_PIPE_H
#define WPOOL_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct data_pipe {
	int in;
	int out; /* for a socket the same as in */
};

/* address: an absolute path of a socket; an absolute path P where P.in and P.out are FIFOs; or a
 * bare name N for the socket /tmp/CoreFxPipe_N. 0, or -1 with errno. */
int data_pipe_open(struct data_pipe *, const char *address);
void data_pipe_close(struct data_pipe *);
/* Read at most len bytes, without waiting. Call it when poll reported input. 0: the other end has
 * closed the pipe or is gone. -1 with errno; EAGAIN: nothing yet. */
ssize_t data_pipe_read(const struct data_pipe *, void *bytes, size_t len);
/* Write the parts: all of them if waits, else as much as goes without waiting. Changes the array.
 * Return how many bytes were written, or -1 with errno: then the pipe is broken. */
ssize_t data_pipe_write(const struct data_pipe *, struct iovec *parts, int count, bool waits);

#endif
