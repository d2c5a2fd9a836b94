/* The data pipe to one worker, in the three forms of protocol.md 1. Layer: io.
 * Owns its descriptors and what lies in the file system for it. Knows nothing of the loop: its
 * owner watches .waiting (or asks again on a timer) until worker_pipe_connect says RC_OK, then
 * .input and .output. Never blocks. */
#ifndef IO_WORKER_PIPE_H
#define IO_WORKER_PIPE_H

#include "base/rc.h"
#include "config/config.h"
#include "io/rundir.h"
#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#define WORKER_PIPE_FILE_BYTES (RUNDIR_PATH_BYTES + 8)

struct worker_pipe {
	enum pipe_form form;
	struct rundir *rundir;      /* borrowed */
	const struct rights *owner; /* borrowed until it is open; NULL: ours */
	uid_t peer;                 /* who may come */
	int waiting;                /* readable when a peer has come; -1: connected, or a FIFO */
	int input;  /* what the worker writes; -1: not connected (FIFO: from the start) */
	int output; /* what it reads; a socket: the same descriptor; -1: none, or shut */
	char path[RUNDIR_PATH_BYTES]; /* "": nothing is left in the file system */
};

/* As a pipe that holds nothing; close does no harm. */
void worker_pipe_init(
	struct worker_pipe *, enum pipe_form, struct rundir *, const struct rights *owner);
/* Before the spawn. RC_SYSTEM: errno tells, nothing is left. */
enum rc worker_pipe_open(struct worker_pipe *) MUST_CHECK;
/* The file that the worker opens first, until it has. */
void worker_pipe_file(const struct worker_pipe *, char ret_path[WORKER_PIPE_FILE_BYTES]);
/* What fails when worker_pipe_open fails: static words. */
const char *worker_pipe_stage(enum pipe_form);
/* The first control line, without its newline; until worker_pipe_connect is RC_OK. */
const char *worker_pipe_address(const struct worker_pipe *);

/* RC_OK: the worker is there. RC_NOT_FOUND: not yet. RC_REFUSED: somebody who is not of this uid
 * and session was turned away, *ret_peer tells who. RC_SYSTEM: errno tells; to be tried again.
 * session: the child's pid. frame_limit: the largest frame there will be. */
enum rc worker_pipe_connect(
	struct worker_pipe *, pid_t session, size_t frame_limit, pid_t *ret_peer) MUST_CHECK;
/* The worker has used all that lies in the file system: removed, if it is still there. */
void worker_pipe_unlink(struct worker_pipe *);

/* As writev(2), without SIGPIPE for sockets. */
ssize_t worker_pipe_write(struct worker_pipe *, struct iovec *parts, int count);
/* The worker reads an end of file after what was written. */
void worker_pipe_shut(struct worker_pipe *);
void worker_pipe_close(struct worker_pipe *);

/* The forms; called by the above only. */
enum rc worker_socket_open(struct worker_pipe *) MUST_CHECK;
enum rc worker_socket_connect(
	struct worker_pipe *, pid_t session, size_t frame_limit, pid_t *ret_peer) MUST_CHECK;
void worker_socket_unlink(const struct worker_pipe *);
enum rc worker_fifo_open(struct worker_pipe *) MUST_CHECK;
enum rc worker_fifo_connect(struct worker_pipe *) MUST_CHECK;
void worker_fifo_unlink(const struct worker_pipe *);
/* Makes a file of this pipe the owner's. */
enum rc worker_pipe_give(const struct worker_pipe *, const char *file) MUST_CHECK;

#endif
