#include "runtime/command_check.h"

#include "process/program.h"
#include "runtime/pool_runtime_config.h"
#include "runtime/report.h"
#include "worker/worker_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_problem(const struct config_pool *pool, struct exit_info *ret_failure)
{
	struct workers_config workers = pool_runtime_workers_config(pool);
	char mark[] = "", path[PATH_MAX];
	char **environment = worker_environment_new(&workers, mark);
	const char *name = pool->command[0];
	bool is_relative = pool->cwd && strchr(name, '/') && name[0] != '/';
	int len = is_relative ? snprintf(path, PATH_MAX, "%s/%s", pool->cwd, name) : 0;
	bool has_one = environment && program_has_problem(len > 0 && len < PATH_MAX ? path : name,
					      environment, ret_failure);

	free(environment);
	return has_one;
}

void command_check_add_warnings(const struct config *config, struct problems *problems)
{
	for (size_t i = 0; i < config->pool_count; i++) {
		const struct config_pool *pool = &config->pools[i];
		struct exit_info failure;
		char exit[EXIT_TEXT_SIZE];

		if (has_problem(pool, &failure))
			problems_add_warning(problems,
				"pool %s: no worker can be started (command \"%s\"): %s; it is tried "
				"until one can",
				pool->name, pool->command[0], exit_text(&failure, NULL, exit));
	}
}
