#include "pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int connect_socket(struct data_pipe *pipe, const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof name.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(name.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	int result;
	do
		result = connect(fd, (struct sockaddr *)&name, sizeof name);
	while (result < 0 && errno == EINTR);
	if (result < 0) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	pipe->in = pipe->out = fd;
	return 0;
}

static int open_fifo(const char *path, const char *suffix, int mode)
{
	char name[PATH_MAX];
	if ((size_t)snprintf(name, sizeof name, "%s%s", path, suffix) >= sizeof name) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(name, mode | O_NONBLOCK | O_CLOEXEC);
}

/* The order is part of the protocol (PROTOCOL.md, section 3). No open blocks, because it would
 * never return if the supervisor is gone. Until the supervisor opens P.in for writing, poll reports
 * nothing. */
static int open_fifos(struct data_pipe *pipe, const char *path)
{
	int in = open_fifo(path, ".in", O_RDONLY);
	if (in < 0)
		return -1;
	int out = open_fifo(path, ".out", O_WRONLY);
	if (out < 0) {
		int error = errno;
		close(in);
		errno = error;
		return -1;
	}
	pipe->in = in;
	pipe->out = out;
	return 0;
}

static bool has_fifos(const char *path)
{
	char name[PATH_MAX];
	struct stat facts;
	snprintf(name, sizeof name, "%s.in", path);
	return stat(name, &facts) == 0 && S_ISFIFO(facts.st_mode);
}

int data_pipe_open(struct data_pipe *pipe, const char *address)
{
	if (*address == '/')
		return has_fifos(address) ? open_fifos(pipe, address)
					  : connect_socket(pipe, address);
	char path[PATH_MAX];
	snprintf(path, sizeof path, "/tmp/CoreFxPipe_%s", address);
	return connect_socket(pipe, path);
}

void data_pipe_close(struct data_pipe *pipe)
{
	if (pipe->out >= 0 && pipe->out != pipe->in)
		close(pipe->out);
	if (pipe->in >= 0)
		close(pipe->in);
	*pipe = (struct data_pipe){-1, -1};
}

static bool is_socket(const struct data_pipe *pipe)
{
	return pipe->in == pipe->out;
}

ssize_t data_pipe_read(const struct data_pipe *pipe, void *bytes, size_t len)
{
	ssize_t got;
	do
		got = is_socket(pipe) ? recv(pipe->in, bytes, len, MSG_DONTWAIT)
				      : read(pipe->in, bytes, len);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno == ECONNRESET)
		return 0; /* a socket whose other end died with bytes of ours unread */
	return got;
}

/* A write to a FIFO raises SIGPIPE and has no flag against that. So block the signal in this
 * thread, and consume it if this write caused it. */
static ssize_t write_fifo(int fd, const struct iovec *parts, int count)
{
	sigset_t broken, before, pending;
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	ssize_t put = writev(fd, parts, count);
	int error = errno;
	if (put < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&broken, NULL, &(struct timespec){0, 0});
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return put;
}

static ssize_t write_some(
	const struct data_pipe *pipe, const struct iovec *parts, int count, bool waits)
{
	if (!is_socket(pipe))
		return write_fifo(pipe->out, parts, count);
	struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
	return sendmsg(pipe->out, &message, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
}

/* Remove len written bytes from the front of the parts. */
static void advance(struct iovec **parts, int *count, size_t len)
{
	for (; *count > 0 && len >= (*parts)->iov_len; ++*parts, --*count)
		len -= (*parts)->iov_len;
	if (*count > 0) {
		(*parts)->iov_base = (char *)(*parts)->iov_base + len;
		(*parts)->iov_len -= len;
	}
}

/* -1 with errno: waiting cannot help. */
static int await_writable(const struct data_pipe *pipe)
{
	struct pollfd wait = {.fd = pipe->out, .events = POLLOUT};
	return poll(&wait, 1, -1) < 0 && errno != EINTR ? -1 : 0;
}

ssize_t data_pipe_write(const struct data_pipe *pipe, struct iovec *parts, int count, bool waits)
{
	ssize_t written = 0;
	advance(&parts, &count, 0);
	while (count > 0) {
		ssize_t put = write_some(pipe, parts, count, waits);
		if (put >= 0) {
			written += put;
			advance(&parts, &count, (size_t)put);
		} else if (errno == EAGAIN) {
			if (!waits)
				break;
			if (await_writable(pipe) < 0)
				return -1;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return written;
}
