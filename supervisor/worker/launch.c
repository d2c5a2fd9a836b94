#include "worker/launch.h"

#include "os/descriptors.h"
#include "process/guard.h"
#include "process/mark.h"
#include "worker/worker_environment.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Use the present configuration, which may differ from that of the previous life. */
static bool spawn(const struct launch *launch, struct spawned *ret, struct exit_info *ret_failure)
{
	const struct workers_config *config = launch->config;
	char file[WORKER_PIPE_FILE_BYTES], mark[MARK_SIZE];
	worker_pipe_file(launch->pipe, file);
	mark_write(mark, strays_run(launch->strays), launch->life->number);
	char **environment = worker_environment_new(config, launch->slot, mark);
	if (!environment) {
		*ret_failure = (struct exit_info){EXIT_NOT_STARTED, ENOMEM, "memory"};
		return false;
	}
	const struct rights *owner = workers_owner(config);
	guard_allow_user(launch->guard, owner ? owner->uid : getuid()); /* the real one */
	int cgroup = strays_open_group(launch->strays, launch->life, &config->group_limits);
	const struct spawn_request request = {.command = config->command,
		.environment = environment,
		.descriptors = config->descriptors,
		.cgroup = cgroup,
		.is_limited = cgroup_limits_are_set(&config->group_limits),
		.group = guard_place(launch->guard, config->lease),
		.rights = config->rights,
		.folder = config->folder,
		.reach = owner ? file : NULL};
	enum rc rc = spawn_process(&request, ret, ret_failure);
	descriptor_close(&cgroup);
	free(environment);
	return rc == RC_OK;
}

/* The reaper does not watch the child: its exit counts as one of a stranger. */
static void abandon(struct guard *guard, struct spawned *child)
{
	kill(child->pid, SIGKILL);
	guard_remove(guard, child->pid);
	descriptor_close(&child->control);
	descriptor_close(&child->output);
	descriptor_close(&child->error);
	descriptor_close(&child->start);
}

bool launch_worker(const struct launch *launch, struct spawned *ret, struct exit_info *ret_failure)
{
	const struct workers_config *config = launch->config;
	const struct rights *owner = workers_owner(config);
	struct spawned child;
	if (owner)
		rundir_share(launch->rundir);
	worker_pipe_init(launch->pipe, config->pipe, launch->rundir, owner);
	if (worker_pipe_open(launch->pipe) != RC_OK) {
		*ret_failure = (struct exit_info){
			EXIT_NOT_STARTED, errno, config->pipe == PIPE_FIFO ? "fifo" : "socket"};
		return false;
	}
	strays_begin(launch->strays, launch->life);
	if (!spawn(launch, &child, ret_failure))
		return false;
	guard_know(launch->guard, child.pid);
	if (!reaper_watch(launch->reaper, child.pid, launch->on_exit, launch->ctx)) {
		abandon(launch->guard, &child);
		*ret_failure = (struct exit_info){EXIT_NOT_STARTED, ENOMEM, "memory"};
		return false;
	}
	*ret = child;
	return true;
}
