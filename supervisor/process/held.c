#include "process/held.h"

#include "os/descriptors.h"
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

struct held held_open(pid_t pid)
{
	return (struct held){.pid = pid, .fd = (int)syscall(SYS_pidfd_open, pid, 0)};
}

void held_signal(const struct held *held, int number)
{
	if (held->fd >= 0)
		syscall(SYS_pidfd_send_signal, held->fd, number, NULL, 0);
	else
		kill(held->pid, number);
}

void held_close(struct held *held)
{
	descriptor_close(&held->fd);
}
