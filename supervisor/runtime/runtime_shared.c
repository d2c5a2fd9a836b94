#include "runtime/runtime_shared.h"

#include "base/log.h"
#include "os/descriptors.h"
#include "os/loop.h"
#include "os/memory.h"
#include "os/rundir.h"
#include "process/cgroups.h"
#include "process/descendants.h"
#include "process/guard.h"
#include "process/reaper.h"
#include "process/strays.h"
#include "runtime/command_check.h"
#include "tty/console.h"

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

/* It is no process that a worker left. */
static void watch_guard(struct runtime_shared *tools)
{
	if (!descendants_leave(tools->descendants, guard_pid(tools->guard)))
		log_warn(
			"out of memory: the guard process may be taken for one that a worker left");
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

/* Before the loop, so that the guard is small and inherits nothing. */
static bool start_guard(struct runtime_shared *tools)
{
	const struct guard_run run = {.directory = rundir_path(tools->rundir),
		.mark = tools->mark,
		.cgroup = tools->cgroups ? cgroups_path(tools->cgroups) : NULL,
		.descendants = tools->descendants};

	if (tools->descendants && guard_start(&run, &tools->guard) == RC_OK)
		return true;
	log_error("cannot start the guard process: %s", strerror(errno));
	return false;
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
	if (mark_draw_run(tools->mark) != RC_OK) {
		log_error("cannot draw a random number: %s", strerror(errno));
		return false;
	}
	tools->descendants = descendants_new();
	tools->cgroups = open_cgroups(rundir_path(tools->rundir));
	if (!start_guard(tools))
		return false;
	tools->loop = loop_default();
	tools->reaper = tools->loop ? reaper_new(tools->loop) : NULL;
	tools->strays = tools->reaper ? strays_new(tools->loop, tools->reaper, tools->mark,
						tools->cgroups, tools->descendants)
				      : NULL;
	if (!tools->strays) {
		log_error("cannot start the event loop: %s", strerror(errno));
		return false;
	}
	watch_guard(tools);
	runtime_shared_allow_limits(tools, config);
	return true;
}

/* NULL: limits hold; else why they do not. */
static const char *allow_limits(const struct runtime_shared *tools)
{
	const char *why = cgroups_why_no_limits();

	if (why)
		return why;
	if (!tools->cgroups)
		return "workers have no control groups";
	if (cgroups_allow_limits(tools->cgroups, guard_pid(tools->guard)) == RC_OK)
		return NULL;
	return errno == EBUSY ? "its control group has other processes" : strerror(errno);
}

void runtime_shared_allow_limits(const struct runtime_shared *tools, const struct config *config)
{
	struct problems warnings = {0};

	if (command_check_has_group_limits(config))
		command_check_add_group_limits(config, allow_limits(tools), &warnings);
	console_warn(&warnings);
	problems_release(&warnings);
}

void runtime_shared_close(struct runtime_shared *tools)
{
	strays_free(tools->strays);
	reaper_free(tools->reaper);
	cgroups_free(tools->cgroups); /* before the guard, which waits for it */
	if (tools->guard)
		guard_stop(tools->guard); /* it kills what is left */
	descendants_free(tools->descendants);
	rundir_free(tools->rundir);
}
