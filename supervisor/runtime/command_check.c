#include "runtime/command_check.h"

#include "process/program.h"
#include "runtime/pool_runtime_config.h"
#include "runtime/report/texts.h"
#include "worker/worker_environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool has_no_folder(const struct config_pool *pool, struct exit_info *ret_failure)
{
	struct stat status;
	int error = 0;

	if (!pool->cwd)
		return false;
	if (stat(pool->cwd, &status) != 0)
		error = errno;
	else if (!S_ISDIR(status.st_mode))
		error = ENOTDIR;
	if (error)
		*ret_failure = (struct exit_info){EXIT_NOT_STARTED, error, "cwd"};
	return error != 0;
}

static bool has_problem(const struct config_pool *pool, struct exit_info *ret_failure)
{
	struct workers_config workers = pool_runtime_workers_config(pool);
	char mark[] = "", path[PATH_MAX];
	char **environment = worker_environment_new(&workers, 0, mark, NULL);
	const char *name = config_pool_program(pool)[0];
	bool is_relative = pool->cwd && strchr(name, '/') && name[0] != '/';
	int len = is_relative ? snprintf(path, PATH_MAX, "%s/%s", pool->cwd, name) : 0;
	bool has_one = environment && program_has_problem(len > 0 && len < PATH_MAX ? path : name,
					      environment, ret_failure);

	free(environment);
	return has_one;
}

static const char *folder_text(const struct config_pool *pool, const struct exit_info *failure,
	char buffer[EXIT_TEXT_SIZE])
{
	snprintf(buffer, EXIT_TEXT_SIZE, "its folder (cwd) %s: %s", pool->cwd,
		strerror(failure->number));
	return buffer;
}

void command_check_add_warnings(const struct config *config, struct problems *problems)
{
	for (size_t i = 0; i < config->pool_count; i++) {
		const struct config_pool *pool = &config->pools[i];
		struct exit_info failure;
		char exit[EXIT_TEXT_SIZE];
		bool has_folder = !has_no_folder(pool, &failure);

		if (!has_folder || has_problem(pool, &failure))
			problems_add_warning(problems, pool->line,
				"pool %s: no worker can be started (command \"%s\"): %s; the start is "
				"retried until one can",
				pool->name, config_pool_program(pool)[0],
				has_folder ? exit_text(&failure, NULL, exit)
					   : folder_text(pool, &failure, exit));
	}
}

static bool has_group_limits(const struct config_pool *pool)
{
	struct workers_config workers = pool_runtime_workers_config(pool);

	return cgroup_limits_are_set(&workers.group_limits);
}

bool command_check_has_group_limits(const struct config *config)
{
	for (size_t i = 0; i < config->pool_count; i++)
		if (has_group_limits(&config->pools[i]))
			return true;
	return false;
}

void command_check_add_group_limits(
	const struct config *config, const char *why, struct problems *problems)
{
	for (size_t i = 0; why && i < config->pool_count; i++)
		if (has_group_limits(&config->pools[i]))
			problems_add_warning(problems, config->pools[i].line,
				"pool %s: limits.group_processes and limits.group_memory do not hold: %s; "
				"a service of systemd with Delegate=yes has what they need",
				config->pools[i].name, why);
}
