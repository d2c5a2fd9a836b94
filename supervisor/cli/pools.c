/* `wpool pools`: a line for each pool. */
#include "cli/pools.h"

#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/grid.h"

#include <stdio.h>
#include <sysexits.h>

static const char help[] =
	"usage: wpool pools [OPTION]... [POOL]\n"
	"\n"
	"What the pools of a running wpool serve are at, and what they did since its start.\n"
	"\n" INQUIRY_OPTIONS "\n"
	"Exit status: 0 done, " INQUIRY_EXITS "\n";

static const struct grid_column columns[] = {
	{.title = "POOL"},
	{.title = "STATE", .is_whole = true},
	{.title = "READY", .is_right = true, .is_whole = true},
	{.title = "BUSY", .is_right = true, .is_whole = true},
	{.title = "WAITING", .is_right = true, .is_whole = true},
	{.title = "UNACKED", .is_right = true, .is_whole = true},
	{.title = "DONE", .is_right = true, .is_whole = true},
	{.title = "RETRIED", .is_right = true, .is_whole = true},
	{.title = "GIVEN UP", .is_right = true, .is_whole = true},
	{.title = "MEDIAN", .is_right = true, .is_whole = true},
	{.title = "99 %", .is_right = true, .is_whole = true},
	{.title = "LAST CAME", .is_right = true, .is_whole = true},
};

struct text pools_state(const json_t *pool)
{
	struct text state = figure_text(pool, "state");

	if (text_is(state, TEXT("consuming")) && json_is_false(figure_find(pool, "consuming")))
		return TEXT("not consuming");
	return state;
}

static void add_row(struct grid *grid, const json_t *pool)
{
	char room[FIGURE_ROOM];

	grid_add(grid, figure_text(pool, "name"));
	grid_add(grid, pools_state(pool));
	grid_add(grid, figure_pair(pool, "workers.ready", "workers.wanted", room));
	grid_add(grid, figure_number(pool, "workers.busy", room));
	grid_add(grid, figure_number(pool, "tasks.waiting", room));
	grid_add(grid, figure_number(pool, "tasks.unacked", room));
	grid_add(grid, figure_number(pool, "totals.done", room));
	grid_add(grid, figure_number(pool, "totals.retried", room));
	grid_add(grid, figure_number(pool, "totals.given_up", room));
	grid_add(grid, figure_span(pool, "task_time.p50_s", room));
	grid_add(grid, figure_span(pool, "task_time.p99_s", room));
	grid_add(grid, figure_span(pool, "last_delivery_age_s", room));
}

int pools_print(const struct inquiry *q)
{
	return inquiry_print_table(q, "pools", columns, sizeof columns / sizeof *columns, add_row);
}

int pools_main(int argc, char **argv)
{
	struct inquiry q = {.command = "pools", .help = help, .takes_pool = true};
	int exit_code = inquiry_read_options(&q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	return q.json ? inquiry_print(&q, "/v1/pools") : pools_print(&q);
}
