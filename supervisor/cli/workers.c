/* `wpool workers`: a line for each worker. */
#include "cli/commands.h"
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
	"was begun. CPU is the share of one processor over the life of the process.\n"
	"\n" INQUIRY_OPTIONS "\n"
	"Exit status: 0 done, " INQUIRY_EXITS "\n";

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
	char room[FIGURE_ROOM];

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
	grid_add(grid, figure_text(worker, "task.name"));
}

int workers_main(int argc, char **argv)
{
	struct inquiry q = {.command = "workers", .help = help, .takes_pool = true};
	int exit_code = inquiry_read_options(&q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	if (q.json)
		return inquiry_print(&q, "/v1/workers");
	return inquiry_print_table(
		&q, "workers", columns, sizeof columns / sizeof *columns, add_row);
}
