#include "unit/support/process/spawned.h"

#include "os/descriptors.h"
#include "unit/unit.h"
#include <poll.h>
#include <sys/wait.h>

void spawned_await(int fd)
{
	struct pollfd poller = {fd, POLLIN, 0};
	ck_assert_int_eq(poll(&poller, 1, 20000), 1);
}

void spawned_close(struct spawned *child)
{
	descriptor_close(&child->control);
	descriptor_close(&child->output);
	descriptor_close(&child->error);
	descriptor_close(&child->start);
}

void spawned_reap(struct spawned *child)
{
	spawned_close(child);
	ck_assert_int_eq(waitpid(child->pid, NULL, 0), child->pid);
}
