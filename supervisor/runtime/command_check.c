#include "runtime/command_check.h"

#include "process/program.h"
#include "runtime/pool_runtime_config.h"
#include "runtime/report.h"
#include "worker/worker_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Looked up from the workers' folder, if one is set. */
static const char *program_of(const struct config_pool *pool, char path[PATH_MAX])
{
	const char *name = pool->command[0];
	bool is_from_there = pool->cwd && strchr(name, '/') && name[0] != '/';
	int len = is_from_there ? snprintf(path, PATH_MAX, "%s/%s", pool->cwd, name) : 0;

	return len > 0 && len < PATH_MAX ? path : name;
}

static bool has_problem(const struct config_pool *pool, struct exit_info *ret_failure)
{
	struct workers_config workers = pool_runtime_workers_config(pool);
	char mark[] = "", path[PATH_MAX];
	char **environment = worker_environment_new(&workers, mark);
	bool has_one = environment &&
		       program_has_problem(program_of(pool, path), environment, ret_failure);

	free(environment);
	return has_one;
}

void command_check_append_warnings(const struct config *config, struct buf *out)
{
	for (size_t i = 0; i < config->pool_count; i++) {
		const struct config_pool *pool = &config->pools[i];
		struct exit_info failure;
		char words[EXIT_TEXT_SIZE];

		if (has_problem(pool, &failure))
			buf_printf(out,
				"pool %s: no worker can be started (command \"%s\"): %s; it is tried "
				"until one can\n",
				pool->name, pool->command[0], exit_text(&failure, NULL, words));
	}
}
