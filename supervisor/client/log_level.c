/* `wpool log-level`: how much is logged, and less or more from now on. */
#include "base/log.h"
#include "client/api_command.h"
#include "commands.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <stdio.h>
#include <sysexits.h>

#define PATH_SIZE 64

static const char help[] =
	"The lowest level that a running wpool serve logs. LEVEL (debug, info, warn or error) sets\n"
	"it until the supervisor ends: for one pool with its workers, or for all, which also removes\n"
	"what was set for single pools.\n";

static const char *level_in(const json_t *json)
{
	return json_is_string(json) ? json_string_value(json) : "-";
}

static int print_level(const struct api_command *q, const json_t *answer)
{
	json_t *level;
	const char *pool;

	(void)q;
	console_print(stdout, "%s", level_in(json_object_get(answer, "level")));
	putchar('\n');
	json_object_foreach(json_object_get(answer, "pools"), pool, level)
	{
		console_print(stdout, "%s: %s", pool, level_in(level));
		putchar('\n');
	}
	return EX_OK;
}

int log_level_main(int argc, char **argv)
{
	const char *name = NULL;
	struct api_command q = {.command = "log-level",
		.usage = "[LEVEL [POOL]]",
		.help = help,
		.exits = "0 done, 65 no such pool",
		.arguments = {&name, &q.pool}};
	char path[PATH_SIZE] = "/v1/log-level";
	enum log_level level;
	int exit_code = api_command_read(&q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	if (name && !log_level_find(name, &level))
		return cli_problem(q.command, "'%s' is none of debug, info, warn, error", name);
	q.is_post = name != NULL;
	if (name)
		snprintf(path, sizeof path,
			q.pool ? "/v1/pools/*/log-level?level=%s" : "/v1/log-level?level=%s",
			log_level_name(level));
	return api_command_show(&q, path, print_level);
}
