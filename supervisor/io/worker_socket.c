/* `pipe: path` and `pipe: corefx`: a Unix-domain stream socket, accepted once. */
#include "io/worker_pipe.h"

#include "io/descriptors.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 8 /* the worker, and wrong peers that come before it */

static const char *file_name(const struct worker_pipe *pipe)
{
	return strrchr(pipe->path, '/') + 1;
}

/* /tmp is everybody's: who could guess the name could take it before us. */
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
	/* The file gets the socket's own mode: there is no moment at which it is open to others. */
	return fchmod(fd, 0600) == 0 &&
	       bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
	       listen(fd, BACKLOG) == 0;
}

enum rc worker_socket_open(struct worker_pipe *pipe)
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
	return worker_pipe_give(pipe, pipe->path);
}

/* The worker's uid, and the session that the child leads: a wrapper such as `sh -c` may stand
 * between. */
static bool is_ours(int fd, uid_t uid, pid_t session, pid_t *ret_peer)
{
	struct ucred peer;
	socklen_t len = sizeof peer;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return false;
	*ret_peer = peer.pid;
	return peer.uid == uid && peer.pid > 0 && getsid(peer.pid) == session;
}

/* Existing workers take a body with one receive call: the whole frame has to fit the socket. */
static void widen(int fd, size_t frame_limit)
{
	int bytes = frame_limit > INT32_MAX / 2 ? INT32_MAX / 2 : (int)frame_limit;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

enum rc worker_socket_connect(
	struct worker_pipe *pipe, pid_t session, size_t frame_limit, pid_t *ret_peer)
{
	int fd = accept4(pipe->waiting, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
		return RC_NOT_FOUND;
	if (fd < 0)
		return RC_SYSTEM;
	pid_t peer = 0;
	if (!is_ours(fd, pipe->peer, session, &peer)) {
		close(fd);
		*ret_peer = peer;
		return RC_REFUSED;
	}
	if (pipe->form == PIPE_COREFX)
		widen(fd, frame_limit);
	worker_pipe_unlink(pipe);
	descriptor_close(&pipe->waiting);
	pipe->input = pipe->output = fd;
	return RC_OK;
}

void worker_socket_unlink(const struct worker_pipe *pipe)
{
	unlink(pipe->path);
	if (pipe->form == PIPE_COREFX)
		rundir_drop_outside(pipe->rundir, file_name(pipe));
}
