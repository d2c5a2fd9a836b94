#include "worker/worker_pipe.h"

#include "os/descriptors.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 8 /* the worker, and wrong peers that come before it */

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

/* No other user can have replaced the file: its folder is ours, or sticky. */
static enum rc give_to_owner(const struct worker_pipe *pipe, const char *file)
{
	if (!pipe->owner)
		return RC_OK;
	return lchown(file, pipe->owner->uid, pipe->owner->gid) == 0 ? RC_OK : RC_SYSTEM;
}

/* ---------- path, corefx: a Unix-domain stream socket, accepted once ---------- */

static const char *file_name(const struct worker_pipe *pipe)
{
	return strrchr(pipe->path, '/') + 1;
}

/* /tmp is open to all users: one of them could take a name that can be guessed. */
static enum rc name_corefx(struct worker_pipe *pipe)
{
	uint64_t random[2];
	if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
		return RC_SYSTEM;
	snprintf(pipe->path, sizeof pipe->path,
		RUNDIR_OUTSIDE_FOLDER "/" RUNDIR_OUTSIDE_PREFIX "%016" PRIx64 "%016" PRIx64,
		random[0], random[1]);
	enum rc rc = rundir_note_outside(pipe->rundir, file_name(pipe));
	if (rc != RC_OK)
		pipe->path[0] = '\0';
	return rc;
}

static bool listen_at(int fd, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_Static_assert(sizeof address.sun_path > RUNDIR_PATH_BYTES, "a path fits");
	memcpy(address.sun_path, path, strlen(path) + 1);
	/* The file gets the socket's mode: it is never open to others. */
	return fchmod(fd, 0600) == 0 &&
	       bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
	       listen(fd, BACKLOG) == 0;
}

static enum rc open_socket(struct worker_pipe *pipe)
{
	pipe->waiting = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (pipe->waiting < 0)
		return RC_SYSTEM;
	if (pipe->form == PIPE_COREFX) {
		enum rc rc = name_corefx(pipe);
		if (rc != RC_OK)
			return rc;
	} else {
		rundir_next(pipe->rundir, pipe->path);
	}
	if (!listen_at(pipe->waiting, pipe->path))
		return RC_SYSTEM;
	return give_to_owner(pipe, pipe->path);
}

/* True if the peer has the uid of the worker and is in the session that the child leads. It need
 * not be the child itself, which may be a wrapper such as `sh -c`. */
static bool is_worker(int fd, uid_t uid, pid_t session, pid_t *ret_peer)
{
	struct ucred peer;
	socklen_t len = sizeof peer;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return false;
	*ret_peer = peer.pid;
	return peer.uid == uid && peer.pid > 0 && getsid(peer.pid) == session;
}

static enum rc connect_socket(
	struct worker_pipe *pipe, pid_t session, size_t frame_limit, pid_t *ret_peer)
{
	int fd = accept4(pipe->waiting, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
		return RC_NOT_FOUND;
	if (fd < 0)
		return RC_SYSTEM;
	pid_t peer = 0;
	if (!is_worker(fd, pipe->peer, session, &peer)) {
		close(fd);
		*ret_peer = peer;
		return RC_REFUSED;
	}
	/* Workers of corefx read a body with one receive call: the whole frame has to fit into the
	 * socket. */
	int bytes = frame_limit > INT32_MAX / 2 ? INT32_MAX / 2 : (int)frame_limit;
	if (pipe->form == PIPE_COREFX &&
		setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	worker_pipe_unlink(pipe);
	descriptor_close(&pipe->waiting);
	pipe->input = pipe->output = fd;
	return RC_OK;
}

/* ---------- fifo: P.in and P.out ---------- */

struct fifo_paths {
	char in[WORKER_PIPE_FILE_BYTES], out[WORKER_PIPE_FILE_BYTES]; /* as the worker sees it */
};

static struct fifo_paths paths_of(const struct worker_pipe *pipe)
{
	struct fifo_paths paths;
	snprintf(paths.in, sizeof paths.in, "%s.in", pipe->path);
	snprintf(paths.out, sizeof paths.out, "%s.out", pipe->path);
	return paths;
}

static enum rc open_fifos(struct worker_pipe *pipe)
{
	rundir_next(pipe->rundir, pipe->path);
	struct fifo_paths paths = paths_of(pipe);
	if (mkfifo(paths.in, 0600) < 0 || mkfifo(paths.out, 0600) < 0)
		return RC_SYSTEM;
	pipe->input = open(paths.out, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (pipe->input < 0 || give_to_owner(pipe, paths.in) != RC_OK)
		return RC_SYSTEM;
	return give_to_owner(pipe, paths.out);
}

static enum rc connect_fifos(struct worker_pipe *pipe)
{
	struct fifo_paths paths = paths_of(pipe);
	int fd = open(paths.in, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENXIO ? RC_NOT_FOUND : RC_SYSTEM;
	pipe->output = fd;
	/* P.out stays until the first bytes come through it: the worker opens it only now. */
	unlink(paths.in);
	return RC_OK;
}

/* ---------- all forms ---------- */

enum rc worker_pipe_open(struct worker_pipe *pipe)
{
	enum rc rc = pipe->form == PIPE_FIFO ? open_fifos(pipe) : open_socket(pipe);
	if (rc != RC_OK) {
		int error = errno;
		worker_pipe_close(pipe);
		errno = error;
	}
	return rc;
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
		return connect_fifos(pipe);
	return connect_socket(pipe, session, frame_limit, ret_peer);
}

void worker_pipe_unlink(struct worker_pipe *pipe)
{
	if (pipe->path[0] == '\0')
		return;
	if (pipe->form == PIPE_FIFO) {
		struct fifo_paths paths = paths_of(pipe);
		unlink(paths.in);
		unlink(paths.out);
	} else {
		unlink(pipe->path);
		if (pipe->form == PIPE_COREFX)
			rundir_drop_outside(pipe->rundir, file_name(pipe));
	}
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
