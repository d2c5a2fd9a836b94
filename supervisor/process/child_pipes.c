#include "process/child_pipes.h"

#include "os/descriptors.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

void child_pipes_init(struct child_pipes *pipes)
{
	for (int i = 0; i < CHILD_STREAMS; i++)
		pipes->theirs[i] = pipes->ours[i] = -1;
}

void child_pipes_close(struct child_pipes *pipes)
{
	int error = errno;
	for (int i = 0; i < CHILD_STREAMS; i++) {
		descriptor_close(&pipes->theirs[i]);
		descriptor_close(&pipes->ours[i]);
	}
	errno = error;
}

static bool open_one(struct child_pipes *pipes, int stream, bool is_socket)
{
	int ends[2];
	if (is_socket) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
			return false;
	} else if (pipe2(ends, O_CLOEXEC) < 0) {
		return false;
	}
	int ours = stream == CHILD_INPUT ? 1 : 0;
	pipes->ours[stream] = ends[ours];
	pipes->theirs[stream] = ends[1 - ours];
	return fcntl(ends[ours], F_SETFL, O_NONBLOCK) >= 0;
}

bool child_pipes_open(struct child_pipes *pipes, bool has_socket)
{
	child_pipes_init(pipes);
	for (int i = 0; i < CHILD_STREAMS; i++) {
		if (!open_one(pipes, i, has_socket && i == CHILD_INPUT)) {
			child_pipes_close(pipes);
			return false;
		}
	}
	return true;
}

bool child_pipes_give(const struct child_pipes *pipes, uid_t uid, gid_t gid)
{
	for (int i = 0; i < CHILD_STREAMS; i++)
		if (fchown(pipes->theirs[i], uid, gid) < 0)
			return false;
	return true;
}

int child_pipes_take(struct child_pipes *pipes, enum child_stream stream)
{
	int fd = pipes->ours[stream];
	pipes->ours[stream] = -1;
	return fd;
}
