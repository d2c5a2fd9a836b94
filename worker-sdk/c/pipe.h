/* The data pipe, in its three forms. Part of the worker SDK, internal.
 * Owns its descriptors, which are close-on-exec. Every call survives signals and short counts;
 * none raises SIGPIPE, and the process's own handling of it is left alone. */
#ifndef WPOOL_PIPE_H
#define WPOOL_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct data_pipe {
	int in;
	int out; /* the same as in where it is a socket */
};

/* address: an absolute path of a socket; an absolute path P where P.in and P.out are FIFOs; or a
 * bare name N for the socket /tmp/CoreFxPipe_N. 0, or -1 with errno. */
int data_pipe_open(struct data_pipe *, const char *address);
void data_pipe_close(struct data_pipe *);
/* At most len bytes, without waiting where poll said that there are some. 0: the other end has
 * closed it, or is gone. -1 with errno; EAGAIN means nothing yet. */
ssize_t data_pipe_read(struct data_pipe *, void *bytes, size_t len);
/* All of it; changes parts. 0, or -1 with errno. */
int data_pipe_write(struct data_pipe *, struct iovec *parts, int count);

#endif
