#include "os/peer_process.h"

#include "os/clock.h"
#include "os/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD /* of the C library; since Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

static int open_pidfd(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer, pidfd_len = sizeof(int);
	int pidfd;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &pidfd_len) == 0)
		return pidfd;
	if (errno != ENOPROTOOPT || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return -1;
	return (int)syscall(SYS_pidfd_open, peer.pid, 0); /* 0 in another namespace: an error */
}

void peer_process_hold(struct peer_process *peer, int fd)
{
	peer_process_release(peer);
	peer->connection = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	peer->pidfd = open_pidfd(fd);
}

/* False: it is `until`. */
static bool wait_for(int fd, short events, mtime until)
{
	struct pollfd wait = {.fd = fd, .events = events};
	int ready;

	do
		ready = poll(&wait, 1, (int)(mtime_max(until - clock_now(), 0) / MTIME_MS));
	while (ready < 0 && errno == EINTR);
	return ready != 0;
}

bool peer_process_await_end(const struct peer_process *peer, int limit_ms)
{
	mtime until = clock_now() + limit_ms * MTIME_MS;

	/* Not readable: what the peer sent last need not be read for that. */
	if (peer->connection >= 0 && !wait_for(peer->connection, POLLRDHUP, until))
		return false;
	return peer->pidfd < 0 || wait_for(peer->pidfd, POLLIN, until);
}

void peer_process_release(struct peer_process *peer)
{
	descriptor_close(&peer->connection);
	descriptor_close(&peer->pidfd);
}

pid_t peer_process_at(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct ucred peer = {0};
	socklen_t len = sizeof peer;
	int fd;

	if (strlen(path) >= sizeof name.sun_path)
		return 0;
	memcpy(name.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)&name, sizeof name) != 0 ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		peer.pid = 0;
	close(fd);
	return peer.pid;
}

void peer_process_read_command(pid_t pid, char *ret, size_t size)
{
	char path[32];
	ssize_t len = 0;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, ret, size - 1);
		close(fd);
	}
	if (len < 0)
		len = 0;
	while (len > 0 && !ret[len - 1])
		len--;
	for (ssize_t i = 0; i < len; i++)
		ret[i] = ret[i] ? ret[i] : ' ';
	ret[len] = '\0';
}
