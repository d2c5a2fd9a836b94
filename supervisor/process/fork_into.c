#include "process/fork_into.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* digits: of a pid; "0": this process. */
static bool move_into(int group, const char *digits, size_t len)
{
	int fd = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	bool is_moved = fd >= 0 && write(fd, digits, len) == (ssize_t)len;
	int error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return is_moved;
}

bool fork_move_into(int group, pid_t pid)
{
	char digits[16];
	int len = snprintf(digits, sizeof digits, "%d", (int)pid);
	return move_into(group, digits, (size_t)len);
}

pid_t fork_into(int group, bool *ret_is_inside)
{
	struct clone_args arguments = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group};
	*ret_is_inside = group > 0;
	if (group > 0) {
		pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
		if (pid >= 0 || errno == EAGAIN || errno == ENOMEM)
			return pid;
	}
	/* A kernel before 5.7; or a sandbox that refuses a call whose flags it cannot see, as
	 * systemd's RestrictNamespaces does. */
	pid_t pid = fork();
	if (pid == 0)
		*ret_is_inside = group > 0 && move_into(group, "0", 1);
	return pid;
}
