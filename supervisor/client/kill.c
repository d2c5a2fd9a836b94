/* `wpool kill`: the verb that takes a worker and its task. */
#include "client/verbs.h"

#include "tty/cli_options.h"

enum { GIVE_UP = 1 };

static const struct option options[] = {
	{"give-up", no_argument, NULL, GIVE_UP},
	API_COMMAND_OPTION_TABLE,
};

struct kill {
	struct api_command q;
	const char *slot, *task;
	bool gives_up;
};

static int on_option(struct api_command *q, int option)
{
	(void)option; /* there is one */
	((struct kill *)q)->gives_up = true;
	return -1;
}

/* -1: continue; else an exit code. */
static int check_arguments(const struct kill *kill)
{
	uint64_t slot;

	if (!kill->slot)
		return cli_problem(kill->q.command, "POOL and SLOT are needed");
	if (!text_read_decimal(text_from(kill->slot), UINT16_MAX, &slot))
		return cli_problem(kill->q.command,
			"'%s' is no slot, which is a number from 0; see wpool workers", kill->slot);
	return kill->task ? verb_check_task(&kill->q, kill->task) : -1;
}

int verb_kill_main(const struct api_verb *verb, int argc, char **argv)
{
	struct kill kill = {
		.q = {.command = verb->name,
			.usage = "POOL SLOT [TASK]",
			.help = verb->help,
			.own = "  --give-up      make a dead letter of the task in place of a retry\n",
			.exits = "0 asked, 65 no such pool or task, 75 refused",
			.options = options,
			.on_option = on_option,
			.arguments = {&kill.q.pool, &kill.slot, &kill.task},
			.is_post = true}};
	char path[VERB_PATH_SIZE];
	int exit_code = api_command_read(&kill.q, argc, argv);

	if (exit_code < 0)
		exit_code = check_arguments(&kill);
	if (exit_code >= 0)
		return exit_code;
	verb_path_of_slot(verb, kill.slot, kill.task, kill.gives_up, path);
	return api_command_show(&kill.q, path, verb_print);
}
