/* `wpool workers`: a line for each worker. */
#include "cli/commands.h"
#include "cli/doing.h"
#include "cli/figures.h"
#include "cli/grid.h"
#include "cli/inquiry.h"

#include <stdio.h>
#include <sysexits.h>

static const char help[] =
	"usage: wpool workers [OPTION]... [POOL]\n"
	"\n"
	"The workers of a running wpool serve: slot, process, what it uses, and the task in its\n"
	"hand, by its correlation id, else its message id, else its number, with the time since it\n"
	"was begun. CPU is the share of one processor over the life of the process. Where the last\n"
	"processes of a slot came to nothing, it stands there how the last one ended instead.\n"
	"\n" INQUIRY_OPTIONS "\n"
	"Exit status: 0 done, 64 usage, " INQUIRY_EXITS_POOL "\n";

static const struct grid_column columns[] = {
	{.title = "POOL"},
	{.title = "SLOT", .is_right = true, .is_whole = true},
	{.title = "PID", .is_right = true, .is_whole = true},
	{.title = "STATE", .is_whole = true},
	{.title = "TASKS", .is_right = true, .is_whole = true},
	{.title = "IN PIPE", .is_right = true, .is_whole = true},
	{.title = "MEMORY", .is_right = true, .is_whole = true},
	{.title = "CPU", .is_right = true, .is_whole = true},
	{.title = "AGE", .is_right = true, .is_whole = true},
	{.title = "FOR", .is_right = true, .is_whole = true},
	{.title = "TASK"},
};

static void add_row(struct grid *grid, const json_t *worker)
{
	char room[FIGURE_ROOM], doing[DOING_ROOM];

	grid_add(grid, figure_text(worker, "pool"));
	grid_add(grid, figure_plain(worker, "slot", room));
	grid_add(grid, figure_plain(worker, "process.pid", room));
	grid_add(grid, figure_text(worker, "state"));
	grid_add(grid, figure_number(worker, "tasks_answered", room));
	grid_add(grid, figure_number(worker, "tasks_in_pipe", room));
	grid_add(grid, figure_size(worker, "process.memory_bytes", room));
	grid_add(grid, figure_share(worker, "process.cpu_s", "process.age_s", room));
	grid_add(grid, figure_span(worker, "process.age_s", room));
	grid_add(grid, figure_span(worker, "task.for_s", room));
	grid_add(grid, doing_words(worker, doing));
}

static int print(const struct inquiry *q)
{
	json_t *answer;
	int exit_code = inquiry_ask_json(q, "/v1/workers", &answer);

	if (exit_code != EX_OK)
		return exit_code;
	exit_code = inquiry_print_rows(q, json_object_get(answer, "workers"), columns,
		sizeof columns / sizeof *columns, add_row);
	json_decref(answer);
	return exit_code;
}

int workers_main(int argc, char **argv)
{
	struct inquiry q = {.command = "workers", .help = help, .takes_pool = true};
	int exit_code = inquiry_read_options(&q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	return q.json ? inquiry_print(&q, "/v1/workers") : print(&q);
}
