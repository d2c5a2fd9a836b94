#include "cli/programs.h"

#include "cli/report.h"
#include "io/program.h"

void programs_append_doubts(const struct config *config, char *const *environment, struct buf *out)
{
	for (size_t i = 0; i < config->pool_count; i++) {
		const struct config_pool *pool = &config->pools[i];
		struct exit_info failure;
		char words[REPORT_EXIT_ROOM];

		if (program_has_problem(pool->command[0], environment, &failure))
			buf_printf(out,
				"pool %s: no worker can be started (command \"%s\"): %s; it is tried "
				"until one can\n",
				pool->name, pool->command[0],
				report_exit(&failure, words, sizeof words));
	}
}
