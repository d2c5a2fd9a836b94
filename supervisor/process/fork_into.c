#include "process/fork_into.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t clone_into(int group)
{
	struct clone_args arguments = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group};
	return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

/* This process. */
static bool move_into(int group)
{
	int fd = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	bool is_moved = fd >= 0 && write(fd, "0", 1) == 1;
	if (fd >= 0)
		close(fd);
	return is_moved;
}

pid_t fork_into(int group, bool *ret_is_inside)
{
	pid_t pid = -1;
	*ret_is_inside = group > 0;
	if (group > 0)
		pid = clone_into(group);
	if (pid >= 0 || (group > 0 && (errno == EAGAIN || errno == ENOMEM)))
		return pid;
	/* A kernel before 5.7; or a sandbox that refuses a call whose flags it cannot see, as
	 * systemd's RestrictNamespaces does. */
	pid = fork();
	if (pid == 0)
		*ret_is_inside = group > 0 && move_into(group);
	return pid;
}
