#include "runtime/runtime_shared.h"

#include "base/log.h"
#include "os/descriptors.h"
#include "os/loop.h"
#include "os/memory.h"
#include "os/rundir.h"
#include "process/cgroups.h"
#include "process/guard.h"
#include "process/reaper.h"
#include "process/strays.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static void watch_guard(struct runtime_shared *);

static void on_guard_exit(void *ctx, pid_t pid, struct exit_info exit)
{
	struct runtime_shared *tools = ctx;

	(void)exit;
	log_warn("the guard process %d was killed; starting another", (int)pid);
	if (guard_restart(tools->guard) == RC_OK)
		watch_guard(tools);
	else
		log_error(
			"cannot start the guard process: %s; if wpool is killed now, what its workers forked outlives it",
			strerror(errno));
}

static void watch_guard(struct runtime_shared *tools)
{
	if (!reaper_watch(tools->reaper, guard_pid(tools->guard), on_guard_exit, tools))
		log_warn("out of memory: if the guard process is killed, wpool does not notice it");
}

/* Without control groups, strays are found by their mark. */
static struct cgroups *open_cgroups(const char *run)
{
	struct cgroups *cgroups = NULL;
	char own[PATH_MAX];

	if (cgroups_find_own(own) != RC_OK)
		log_info("workers have no control groups: none of version 2 is mounted here");
	else if (cgroups_new(own, run, &cgroups) != RC_OK)
		log_info("workers have no control groups: %s: %s", own, strerror(errno));
	else
		log_debug("control groups of workers: %s", cgroups_path(cgroups));
	return cgroups;
}

static bool has_other_users(const struct config *config)
{
	for (size_t i = 0; i < config->pool_count; i++)
		if (config->pools[i].rights.is_other)
			return true;
	return false;
}

bool runtime_shared_cannot_serve(const struct runtime_shared *tools, const struct config *config)
{
	return !tools->is_for_others && has_other_users(config);
}

bool runtime_shared_open(struct runtime_shared *tools, const struct config *config)
{
	tools->is_for_others = has_other_users(config);
	tools->secrets = &config->secrets;
	signal(SIGPIPE, SIG_IGN);
	memory_prepare();
	if (descriptors_prepare(&tools->descriptors) != RC_OK) {
		log_error("cannot open /dev/null or read the limit on descriptors: %s",
			strerror(errno));
		return false;
	}
	if (rundir_new(tools->is_for_others, &tools->rundir) != RC_OK) {
		log_error("cannot make a private directory for the workers' pipes: %s (set TMPDIR "
			  "to a directory that can be written)",
			strerror(errno));
		return false;
	}
	tools->cgroups = open_cgroups(rundir_path(tools->rundir));
	/* Before the loop, so that the guard is small and inherits nothing. */
	if (guard_start(rundir_path(tools->rundir),
		    tools->cgroups ? cgroups_path(tools->cgroups) : NULL, &tools->guard) != RC_OK) {
		log_error("cannot start the guard process: %s", strerror(errno));
		return false;
	}
	tools->loop = loop_default();
	tools->reaper = tools->loop ? reaper_new(tools->loop) : NULL;
	tools->strays = tools->reaper ? strays_new(tools->loop, tools->reaper,
						rundir_path(tools->rundir), tools->cgroups)
				      : NULL;
	if (!tools->strays) {
		log_error("cannot start the event loop: %s", strerror(errno));
		return false;
	}
	watch_guard(tools);
	return true;
}

void runtime_shared_close(struct runtime_shared *tools)
{
	strays_free(tools->strays);
	reaper_free(tools->reaper);
	cgroups_free(tools->cgroups); /* before the guard, which waits for it */
	if (tools->guard)
		guard_stop(tools->guard);
	rundir_free(tools->rundir);
}
