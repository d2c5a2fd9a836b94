#include "os/ancestry.h"

#include "os/descriptors.h"
#include "os/proc_stat.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD /* of the C library; since Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

#define FILE_SIZE 4096
/* Generations, and how often the walk starts again because one of them ended meanwhile. */
#define DEPTH_MAX 1000
#define WALKS_MAX 10

enum answer { OURS, FOREIGN, UNKNOWN };

static enum answer walk_to_supervisor(pid_t pid)
{
	struct proc_stat stat;

	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (pid == getpid())
			return OURS;
		if (pid == 0 || pid == 1)
			return FOREIGN;
		if (!proc_stat_read(pid, &stat))
			return UNKNOWN;
		pid = stat.parent;
	}
	return UNKNOWN;
}

/* The control group of version 2 down to the first service or session, which a process without
 * rights cannot leave; empty: there is none. */
static void read_unit(pid_t pid, char unit[FILE_SIZE])
{
	static const char *const ends[] = {".service", ".scope"};
	char text[FILE_SIZE];
	const char *group;
	size_t len = 0;

	unit[0] = '\0';
	if (!proc_stat_text(pid, "cgroup", text, sizeof text)) /* cgroups(7) */
		return;
	group = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!group)
		return;
	group = strchr(group, '/');
	for (size_t part; group && group[len] == '/'; len += part) {
		part = 1 + strcspn(group + len + 1, "/\n");
		for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
			size_t size = strlen(ends[i]);
			if (part > size && strncmp(group + len + part - size, ends[i], size) == 0) {
				snprintf(unit, FILE_SIZE, "%.*s", (int)(len + part), group);
				return;
			}
		}
	}
}

static bool is_in_other_unit(pid_t pid)
{
	char own[FILE_SIZE], other[FILE_SIZE];

	read_unit(getpid(), own);
	read_unit(pid, other);
	return *own && *other && strcmp(own, other) != 0;
}

bool ancestry_may_be_ours(pid_t pid, uid_t uid, bool starts_other_users)
{
	enum answer answer = UNKNOWN;

	if (pid <= 0) /* it is outside our namespace of processes; what we start is inside */
		return false;
	for (int i = 0; i < WALKS_MAX && answer == UNKNOWN; i++)
		answer = walk_to_supervisor(pid);
	if (answer != UNKNOWN)
		return answer == OURS;
	/* Root needs no socket to do with us what it likes. */
	if (uid != geteuid() && (uid == 0 || !starts_other_users))
		return false;
	return !is_in_other_unit(pid);
}

/* It has ended if its descriptor can be read; then its number may be another's. */
static bool has_ended(int pidfd)
{
	struct pollfd process = {.fd = pidfd, .events = POLLIN};
	int ready;

	do /* a signal ends poll also if it does not wait */
		ready = poll(&process, 1, 0);
	while (ready < 0 && errno == EINTR);
	return ready != 0;
}

bool ancestry_peer_may_be_ours(int fd, bool starts_other_users)
{
	struct ucred peer;
	socklen_t len = sizeof peer, pidfd_len = sizeof(int);
	int pidfd = -1;
	bool may_be;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &pidfd_len) != 0) {
		if (errno != ENOPROTOOPT)
			return true; /* it has ended and was reaped */
		pidfd = -1;
	}
	may_be = ancestry_may_be_ours(peer.pid, peer.uid, starts_other_users);
	/* Asked last: it had this number while we looked. */
	may_be |= pidfd >= 0 && has_ended(pidfd);
	descriptor_close(&pidfd);
	return may_be;
}
