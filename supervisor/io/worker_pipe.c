#include "io/worker_pipe.h"

#include "io/descriptors.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void worker_pipe_init(struct worker_pipe *pipe, enum pipe_form form, struct rundir *rundir,
	const struct rights *owner)
{
	*pipe = (struct worker_pipe){.form = form,
		.rundir = rundir,
		.owner = owner,
		.peer = owner ? owner->uid : geteuid(),
		.waiting = -1,
		.input = -1,
		.output = -1};
}

/* Nobody else can have put something in its place: its folder is ours, or sticky. */
enum rc worker_pipe_give(const struct worker_pipe *pipe, const char *file)
{
	if (!pipe->owner)
		return RC_OK;
	return lchown(file, pipe->owner->uid, pipe->owner->gid) == 0 ? RC_OK : RC_SYSTEM;
}

enum rc worker_pipe_open(struct worker_pipe *pipe)
{
	enum rc rc = pipe->form == PIPE_FIFO ? worker_fifo_open(pipe) : worker_socket_open(pipe);
	if (rc != RC_OK) {
		int error = errno;
		worker_pipe_close(pipe);
		errno = error;
	}
	return rc;
}

const char *worker_pipe_stage(enum pipe_form form)
{
	return form == PIPE_FIFO ? "fifo" : "socket";
}

void worker_pipe_file(const struct worker_pipe *pipe, char ret_path[WORKER_PIPE_FILE_BYTES])
{
	snprintf(ret_path, WORKER_PIPE_FILE_BYTES, "%s%s", pipe->path,
		pipe->form == PIPE_FIFO ? ".in" : "");
}

const char *worker_pipe_address(const struct worker_pipe *pipe)
{
	if (pipe->form != PIPE_COREFX)
		return pipe->path;
	return strrchr(pipe->path, '/') + sizeof "/" RUNDIR_OUTSIDE_PREFIX - 1;
}

enum rc worker_pipe_connect(
	struct worker_pipe *pipe, pid_t session, size_t frame_limit, pid_t *ret_peer)
{
	if (pipe->form == PIPE_FIFO)
		return worker_fifo_connect(pipe);
	return worker_socket_connect(pipe, session, frame_limit, ret_peer);
}

void worker_pipe_unlink(struct worker_pipe *pipe)
{
	if (pipe->path[0] == '\0')
		return;
	if (pipe->form == PIPE_FIFO)
		worker_fifo_unlink(pipe);
	else
		worker_socket_unlink(pipe);
	pipe->path[0] = '\0';
}

ssize_t worker_pipe_write(struct worker_pipe *pipe, struct iovec *parts, int count)
{
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
	if (pipe->form == PIPE_FIFO)
		return writev(pipe->output, parts, count);
	if (count == 1) /* as nearly always; it costs the kernel less */
		return send(pipe->output, parts->iov_base, parts->iov_len, MSG_NOSIGNAL);
	return sendmsg(pipe->output, &message, MSG_NOSIGNAL);
}

void worker_pipe_shut(struct worker_pipe *pipe)
{
	if (pipe->form == PIPE_FIFO)
		descriptor_close(&pipe->output);
	else if (pipe->output >= 0)
		shutdown(pipe->output, SHUT_WR);
	pipe->output = -1;
}

void worker_pipe_close(struct worker_pipe *pipe)
{
	worker_pipe_unlink(pipe);
	descriptor_close(&pipe->waiting);
	if (pipe->form == PIPE_FIFO)
		descriptor_close(&pipe->output);
	pipe->output = -1;
	descriptor_close(&pipe->input);
}
