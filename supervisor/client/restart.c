/* `wpool restart`: replace the workers, and with --wait wait until they are replaced. */
#include "client/json_cells.h"
#include "client/verbs.h"
#include "tty/console.h"

#include <stdio.h>
#include <sysexits.h>

static const char own[] =
	"  --wait         return when all workers are new, or the restart was given up\n";

enum { WAIT = 1 };

static const struct option options[] = {
	{"wait", no_argument, NULL, WAIT},
	API_COMMAND_OPTION_TABLE,
};

struct restart {
	struct api_command q;
	bool waits;
};

static int on_option(struct api_command *q, int option)
{
	(void)option; /* there is one */
	((struct restart *)q)->waits = true;
	return -1;
}

/* Why the restart of a pool has ended without success; NULL: all its workers are new. */
static const char *failure_of(const json_t *pool)
{
	/* Then restart_given_up is of an earlier one. */
	if (json_is_true(json_cell_find(pool, "workers.restarting")))
		return "the pool ends, or another one replaces it";
	return json_string_value(json_cell_find(pool, "restart_given_up.why"));
}

static int exit_code_of(const json_t *answer)
{
	const json_t *pools = json_object_get(answer, "pools"), *pool;
	size_t i;

	json_array_foreach(pools, i, pool)
	{
		if (failure_of(pool))
			return EX_TEMPFAIL;
	}
	return json_array_size(pools) > 0 ? EX_OK : EX_TEMPFAIL;
}

static void print_pool(const struct api_command *q, const json_t *pool)
{
	const char *failure = failure_of(pool);

	if (failure) {
		console_problem(q->command, "%.*s: restart given up: %s",
			TEXT_ARGS(json_cell_text(pool, "name")), failure);
		return;
	}
	console_print(stdout, "%.*s: restarted: all workers are new",
		TEXT_ARGS(json_cell_text(pool, "name")));
	putchar('\n');
}

static int print_end(const struct api_command *q, const json_t *answer)
{
	const json_t *pools = json_object_get(answer, "pools"), *pool;
	size_t i;

	json_array_foreach(pools, i, pool) print_pool(q, pool);
	if (json_array_size(pools) == 0)
		console_problem(q->command, "the pool has ended meanwhile");
	return exit_code_of(answer);
}

static int wait_for_end(struct api_command *q)
{
	const char *path = q->pool ? "/v1/pools/*/restart?wait=true" : "/v1/restart?wait=true";

	q->is_long = true;
	return q->wants_json ? api_command_print(q, path, exit_code_of)
			     : api_command_show(q, path, print_end);
}

int verb_restart_main(const struct api_verb *verb, int argc, char **argv)
{
	struct restart restart = {
		.q = {.command = verb->name,
			.usage = "[POOL]",
			.help = verb->help,
			.own = own,
			.exits = "0 begun (--wait: all workers are new), 65 no such pool,\n"
				 "75 refused (--wait: or given up)",
			.options = options,
			.on_option = on_option,
			.arguments = {&restart.q.pool},
			.is_post = true}};
	char path[VERB_PATH_SIZE];
	int exit_code = api_command_read(&restart.q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	if (restart.waits)
		return wait_for_end(&restart.q);
	verb_path(verb, restart.q.pool, NULL, path);
	return api_command_show(&restart.q, path, verb_print);
}
