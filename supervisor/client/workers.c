/* `wpool workers`: a line for each worker. */
#include "client/api_command.h"
#include "client/json_table.h"
#include "commands.h"

static const char help[] =
	"The workers of a running wpool serve: slot, process, what it uses, and its oldest task, by\n"
	"the id that wpool cancel takes, and by its correlation id, else its message id, else its\n"
	"delivery tag, with the time since it began, and what it last reported (status -1). OPEN is\n"
	"how many tasks it has begun.\n"
	"CPU is the share of one processor over the life of the process. For a slot whose last\n"
	"processes failed, TASK shows how the last one ended. A line without SLOT is no worker, but\n"
	"the process that forks those of a pool with preload: preloading, preloaded, or, while a\n"
	"restart replaces it, former preloaded.\n";

static const struct json_column columns[] = {
	{{.title = "POOL"}, JSON_TEXT, "pool", NULL},
	{TEXT_TABLE_FIGURES("SLOT"), JSON_PLAIN, "slot", NULL},
	{TEXT_TABLE_FIGURES("PID"), JSON_PLAIN, "process.pid", NULL},
	{{.title = "STATE", .is_whole = true}, JSON_TEXT, "state", NULL},
	{TEXT_TABLE_FIGURES("TASKS"), JSON_NUMBER, "tasks_answered", NULL},
	{TEXT_TABLE_FIGURES("OPEN"), JSON_NUMBER, "tasks_open", NULL},
	{TEXT_TABLE_FIGURES("IN PIPE"), JSON_NUMBER, "tasks_in_pipe", NULL},
	{TEXT_TABLE_FIGURES("MEMORY"), JSON_SIZE, "process.memory_bytes", NULL},
	{TEXT_TABLE_FIGURES("CPU"), JSON_SHARE, "process.cpu_s", "process.age_s"},
	{TEXT_TABLE_FIGURES("AGE"), JSON_SPAN, "process.age_s", NULL},
	{TEXT_TABLE_FIGURES("ID"), JSON_PLAIN, "task.id", NULL},
	{TEXT_TABLE_FIGURES("FOR"), JSON_SPAN, "task.for_s", NULL},
	{{.title = "TASK"}, JSON_ACTIVITY, NULL, NULL},
	{{.title = "PROGRESS"}, JSON_PROGRESS, NULL, NULL},
};

/* Move the preloaded processes of this pool to the rows; NULL: of all pools. */
static void move_preloaded(json_t *rows, json_t *preloaded, const json_t *pool)
{
	for (size_t i = 0; i < json_array_size(preloaded);) {
		json_t *process = json_array_get(preloaded, i);
		if (!pool || json_equal(json_object_get(process, "pool"), pool)) {
			json_array_append(rows, process);
			json_array_remove(preloaded, i);
		} else {
			i++;
		}
	}
}

/* The preloaded processes of a pool come before its workers. */
static int print_workers(const struct api_command *q, const json_t *answer)
{
	json_t *preloaded = json_object_get(answer, "preloaded"), *rows = json_array(), *worker;
	int exit_code;
	size_t i;

	json_array_foreach(json_object_get(answer, "workers"), i, worker)
	{
		move_preloaded(rows, preloaded, json_object_get(worker, "pool"));
		json_array_append(rows, worker);
	}
	move_preloaded(rows, preloaded, NULL);
	exit_code = json_table_print(q->command, rows, columns, sizeof columns / sizeof *columns);
	json_decref(rows);
	return exit_code;
}

int workers_main(int argc, char **argv)
{
	struct api_command q = {.command = "workers",
		.usage = "[POOL]",
		.help = help,
		.exits = "0 done, 65 no such pool",
		.arguments = {&q.pool}};
	int exit_code = api_command_read(&q, argc, argv);

	return exit_code >= 0 ? exit_code : api_command_show(&q, "/v1/workers", print_workers);
}
