#include "worker/launch.h"

#include "os/descriptors.h"
#include "os/oom_score.h"
#include "process/guard.h"
#include "process/mark.h"
#include "worker/worker_environment.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static bool fail(struct exit_info *ret_failure, int number, const char *stage)
{
	*ret_failure = (struct exit_info){EXIT_NOT_STARTED, number, stage};
	return false;
}

/* Use the present configuration, which may differ from that of the previous life. file: of its
 * pipe; NULL: it is the preloaded process, which has none. */
static bool spawn(const struct launch *launch, const char *file, struct spawned *ret,
	struct exit_info *ret_failure)
{
	const struct workers_config *config = launch->config;
	char mark[MARK_SIZE];
	mark_write(mark, strays_run(launch->strays), file ? launch->life->number : 0);
	char **environment =
		worker_environment_new(config, file ? launch->slot : -1, mark, launch->last_exit);
	if (!environment)
		return fail(ret_failure, ENOMEM, "memory");
	const struct rights *owner = workers_owner(config);
	guard_allow_user(launch->guard, owner ? owner->uid : getuid()); /* the real one */
	int cgroup = strays_open_group(launch->strays, launch->life, &config->group_limits);
	const struct spawn_request request = {.command = config->command,
		.environment = environment,
		.descriptors = config->descriptors,
		.cgroup = cgroup,
		.has_socket = !file,
		.is_limited = cgroup_limits_are_set(&config->group_limits),
		.group = guard_place(launch->guard, file ? config->lease : 0),
		.rights = config->rights,
		.folder = config->folder,
		.reach = owner ? file : NULL};
	enum rc rc = spawn_process(&request, ret, ret_failure);
	descriptor_close(&cgroup);
	free(environment);
	return rc == RC_OK;
}

/* False: the reaper does not watch the child, whose exit counts as one of a stranger. */
static bool watch_exit(const struct launch *launch, pid_t pid, struct exit_info *ret_failure)
{
	guard_know(launch->guard, pid);
	if (reaper_watch(launch->reaper, pid, launch->on_exit, launch->ctx))
		return true;
	kill(pid, SIGKILL);
	guard_remove(launch->guard, pid);
	return fail(ret_failure, ENOMEM, "memory");
}

bool launch_prepare(const struct launch *launch, struct exit_info *ret_failure)
{
	const struct workers_config *config = launch->config;
	const struct rights *owner = workers_owner(config);
	if (owner)
		rundir_share(launch->rundir);
	worker_pipe_init(launch->pipe, config->pipe, launch->rundir, owner);
	if (worker_pipe_open(launch->pipe) != RC_OK)
		return fail(ret_failure, errno, config->pipe == PIPE_FIFO ? "fifo" : "socket");
	strays_begin(launch->strays, launch->life);
	return true;
}

static bool execute(const struct launch *launch, const char *file, struct spawned *ret,
	struct exit_info *ret_failure)
{
	struct spawned child;
	if (!spawn(launch, file, &child, ret_failure))
		return false;
	if (!watch_exit(launch, child.pid, ret_failure)) {
		descriptor_close(&child.control);
		descriptor_close(&child.output);
		descriptor_close(&child.error);
		descriptor_close(&child.start);
		return false;
	}
	*ret = child;
	return true;
}

bool launch_worker(const struct launch *launch, struct spawned *ret, struct exit_info *ret_failure)
{
	char file[WORKER_PIPE_FILE_BYTES];
	if (!launch_prepare(launch, ret_failure))
		return false;
	worker_pipe_file(launch->pipe, file);
	return execute(launch, file, ret, ret_failure);
}

bool launch_preload(const struct launch *launch, struct spawned *ret, struct exit_info *ret_failure)
{
	strays_begin(launch->strays, launch->life);
	return execute(launch, NULL, ret, ret_failure);
}

bool launch_adopt(const struct launch *launch, pid_t pid, struct exit_info *ret_failure)
{
	const struct workers_config *config = launch->config;
	if (!strays_enter_group(launch->strays, launch->life, &config->group_limits, pid)) {
		int error = errno;
		kill(pid, SIGKILL);
		return fail(ret_failure, error, "control group");
	}
	atomic_int *place = guard_place(launch->guard, config->lease);
	if (place)
		atomic_store(place, pid);
	if (!watch_exit(launch, pid, ret_failure))
		return false;
	oom_score_raise(pid);
	return true;
}

void launch_ended(struct guard *guard, const struct strays *strays, const struct stray_life *life,
	pid_t pid, struct exit_info *exit)
{
	kill(-pid, SIGKILL);
	guard_remove(guard, pid);
	if (exit->kind == EXIT_SIGNAL && strays_was_over_memory(strays, life))
		exit->stage = "over limits.group_memory";
}
