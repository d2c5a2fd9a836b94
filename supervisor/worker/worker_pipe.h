/* The data pipe to one worker, in the three forms of worker-sdk/PROTOCOL.md, section 3. Layer:
 * worker. Owns its descriptors and its files. Independent of the loop: its owner watches .waiting
 * (or retries on a timer) until worker_pipe_connect returns RC_OK, then .input and .output. Never
 * blocks. */
#ifndef WORKER_WORKER_PIPE_H
#define WORKER_WORKER_PIPE_H

#include "base/rc.h"
#include "config/config.h"
#include "os/rundir.h"
#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#define WORKER_PIPE_FILE_BYTES (RUNDIR_PATH_BYTES + 8)

struct worker_pipe {
	enum pipe_form form;
	struct rundir *rundir;      /* borrowed */
	const struct rights *owner; /* borrowed until it is open; NULL: ours */
	uid_t peer;                 /* who may connect */
	int waiting;                /* readable when a peer connects; -1: connected, or a FIFO */
	int input;  /* reads what the worker writes; -1: not connected (FIFO: from the start) */
	int output; /* writes what it reads; a socket: the same descriptor; -1: none, or shut */
	char path[RUNDIR_PATH_BYTES]; /* "": nothing is left in the file system */
};

/* Initialize a pipe without descriptors and files; it may be closed. */
void worker_pipe_init(
	struct worker_pipe *, enum pipe_form, struct rundir *, const struct rights *owner);
/* Create its files and descriptors, before the spawn. RC_SYSTEM: see errno; nothing is left. */
enum rc worker_pipe_open(struct worker_pipe *) MUST_CHECK;
/* The path of the file that the worker opens first. */
void worker_pipe_file(const struct worker_pipe *, char ret_path[WORKER_PIPE_FILE_BYTES]);
/* The first control line, without its newline; valid until worker_pipe_connect returns RC_OK. */
const char *worker_pipe_address(const struct worker_pipe *);

/* Accept the worker's connection. RC_OK: it is connected. RC_NOT_FOUND: not yet. RC_REFUSED: the
 * process *ret_peer was refused, because it has another uid or session. RC_SYSTEM: see errno;
 * retry. session: the child's pid. frame_limit: the size of the largest frame. */
enum rc worker_pipe_connect(
	struct worker_pipe *, pid_t session, size_t frame_limit, pid_t *ret_peer) MUST_CHECK;
/* The worker has opened its files: remove them, if they are still there. */
void worker_pipe_unlink(struct worker_pipe *);

/* As writev(2), without SIGPIPE for sockets. */
ssize_t worker_pipe_write(struct worker_pipe *, struct iovec *parts, int count);
/* Close our sending side: the worker reads an end of file after what was written. */
void worker_pipe_shut(struct worker_pipe *);
void worker_pipe_close(struct worker_pipe *);

#endif
