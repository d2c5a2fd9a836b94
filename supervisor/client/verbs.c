/* `wpool pause`, `resume`, `restart`, `scale`, `cancel`, `kill`: what operators ask of pools
 * (api/verbs.def). */
#include "client/verbs.h"

#include "client/api_command.h"
#include "client/json_cells.h"
#include "commands.h"
#include "config/config.h"
#include "config/value/quantity.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

void verb_path(
	const struct api_verb *verb, bool has_pool, const char *value, char path[VERB_PATH_SIZE])
{
	const char *query = !value ? "" : verb->takes_task ? "?task=" : "?workers=";

	snprintf(path, VERB_PATH_SIZE, "/v1/%s%s%s%s", has_pool ? "pools/*/" : "", verb->name,
		query, value ? value : "");
}

void verb_path_of_slot(const struct api_verb *verb, const char *slot, const char *task,
	bool gives_up, char path[VERB_PATH_SIZE])
{
	snprintf(path, VERB_PATH_SIZE, "/v1/pools/*/%s?slot=%s%s%s%s", verb->name, slot,
		task ? "&task=" : "", task ? task : "", gives_up ? "&give_up=true" : "");
}

/* Append the bounds of a pool that chooses its number of workers. */
static void append_bounds(const json_t *pool, struct buf *out)
{
	char min_cell[JSON_CELL_SIZE], max_cell[JSON_CELL_SIZE];
	struct text min = json_cell_number(pool, "workers.min", min_cell);
	struct text max = json_cell_number(pool, "workers.max", max_cell);

	if (!text_is(min, max))
		buf_printf(out, ", as many as are needed from %.*s to %.*s", TEXT_ARGS(min),
			TEXT_ARGS(max));
}

void verb_append_done(const struct api_verb *verb, const json_t *pool, struct buf *out)
{
	char cell[JSON_CELL_SIZE];
	struct text wanted = json_cell_number(pool, "workers.wanted", cell);

	buf_append_text(out, json_cell_text(pool, "name"));
	buf_append_text(out, TEXT(": "));
	if (verb->takes_workers)
		buf_printf(out, "%.*s worker%s ", TEXT_ARGS(wanted),
			text_is(wanted, TEXT("1")) ? "" : "s");
	buf_append_text(out, text_from(verb->done));
	if (verb->takes_workers)
		append_bounds(pool, out);
}

static bool chooses_number(const json_t *pool)
{
	return !json_equal(
		json_cell_find(pool, "workers.min"), json_cell_find(pool, "workers.max"));
}

void verb_append_end_of_choice(const json_t *before, const json_t *after, struct buf *out)
{
	if (before && chooses_number(before) && !chooses_number(after))
		buf_printf(out,
			", whatever there is to do; as many as are needed again: wpool scale %.*s auto",
			TEXT_ARGS(json_cell_text(after, "name")));
}

/* -1: continue; else an exit code. */
static int check_workers(const struct api_command *q, const char *workers)
{
	int64_t min, max;

	if (!workers)
		return cli_problem(q->command, "POOL and N are needed");
	if (strcmp(workers, "auto") == 0 || (quantity_read_range(text_from(workers), &min, &max) &&
						    min >= 1 && max <= CONFIG_WORKERS_MAX))
		return -1;
	return cli_problem(q->command, "'%s' is no number from 1 to %d, no MIN..MAX, and not auto",
		workers, CONFIG_WORKERS_MAX);
}

int verb_check_task(const struct api_command *q, const char *task)
{
	uint64_t id;

	if (!task)
		return cli_problem(q->command, "POOL and ID are needed");
	if (text_read_decimal(text_from(task), UINT64_MAX, &id) && id > 0)
		return -1;
	return cli_problem(q->command,
		"'%s' is no id of a task, which is a number from 1; see wpool workers", task);
}

enum { YES = 1 };

static const struct option options[] = {
	{"yes", no_argument, NULL, YES},
	API_COMMAND_OPTION_TABLE,
};

struct verb_command {
	struct api_command q;
	bool is_agreed;
};

static int on_option(struct api_command *q, int option)
{
	(void)option; /* there is one */
	((struct verb_command *)q)->is_agreed = true;
	return -1;
}

/* On a terminal, ask before the verb is for all pools. Return -1, or the exit code if the operator
 * refuses. */
static int ask_for_all(const struct verb_command *command, const struct api_verb *verb)
{
	if (!verb->question_all || command->q.pool || command->is_agreed || !console_can_ask() ||
		console_ask("%s", verb->question_all))
		return -1;
	console_problem(command->q.command, "nothing was %s", verb->done);
	return EX_TEMPFAIL;
}

int verb_print(const struct api_command *q, const json_t *answer)
{
	const json_t *pool;
	struct buf out;
	size_t i;

	buf_init(&out, SIZE_MAX);
	json_array_foreach(json_object_get(answer, "pools"), i, pool)
	{
		verb_append_done(api_verb_find(text_from(q->command)), pool, &out);
		buf_append_byte(&out, '\n');
	}
	console_print_lines(stdout, buf_text(&out));
	buf_release(&out);
	return EX_OK;
}

/* -1: continue; else an exit code. */
static int check_arguments(
	const struct verb_command *command, const struct api_verb *verb, const char *value)
{
	const struct api_command *q = &command->q;

	if (verb->takes_workers)
		return check_workers(q, value);
	if (verb->takes_task)
		return verb_check_task(q, value);
	if (!q->pool && !verb->takes_all)
		return cli_problem(q->command, "POOL is needed");
	return ask_for_all(command, verb);
}

int verb_main(int argc, char **argv)
{
	const struct api_verb *verb = api_verb_find(text_from(argv[0]));
	bool takes_value = verb->takes_workers || verb->takes_task;
	const char *value = NULL;
	struct verb_command command = {
		.q = {.command = verb->name,
			.usage = verb->takes_workers ? "POOL N|MIN..MAX|auto"
				 : verb->takes_task  ? "POOL ID"
				 : verb->takes_all   ? "[POOL]"
						     : "POOL",
			.help = verb->help,
			.own = verb->question_all ? "  --yes          do not ask\n" : NULL,
			.exits = verb->takes_task ? "0 asked, 65 no such pool or task, 75 refused"
						  : "0 begun, 65 no such pool, 75 refused",
			.options = verb->question_all ? options : NULL,
			.on_option = on_option,
			.arguments = {&command.q.pool, takes_value ? &value : NULL},
			.is_post = true}};
	char path[VERB_PATH_SIZE];
	int exit_code;

	if (verb->takes_slot)
		return verb_kill_main(verb, argc, argv);
	if (verb->wait)
		return verb_restart_main(verb, argc, argv);
	exit_code = api_command_read(&command.q, argc, argv);

	if (exit_code < 0)
		exit_code = check_arguments(&command, verb, value);
	if (exit_code >= 0)
		return exit_code;
	verb_path(verb, command.q.pool, value, path);
	return api_command_show(&command.q, path, verb_print);
}
