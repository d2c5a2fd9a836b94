/* `wpool pools`: a line for each pool. */
#include "cli/pools.h"

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/figures.h"
#include "cli/grid.h"

#include <stdio.h>
#include <sysexits.h>

static const char help[] =
	"usage: wpool pools [OPTION]... [POOL]\n"
	"\n"
	"What the pools of a running wpool serve are at, and what they did since its start; below\n"
	"the table what is wrong with them. BACKLOG waits in the broker (asked every 5 s), WAITING\n"
	"here, UNACKED is all that came and is not settled.\n"
	"\n" INQUIRY_OPTIONS "\n"
	"Exit status: 0 done, 64 usage, " INQUIRY_EXITS_POOL "\n";

static const struct grid_column columns[] = {
	{.title = "POOL"},
	{.title = "STATE", .is_whole = true},
	{.title = "READY", .is_right = true, .is_whole = true},
	{.title = "AUTO", .is_right = true, .is_whole = true},
	{.title = "BUSY", .is_right = true, .is_whole = true},
	{.title = "BACKLOG", .is_right = true, .is_whole = true},
	{.title = "WAITING", .is_right = true, .is_whole = true},
	{.title = "UNACKED", .is_right = true, .is_whole = true},
	{.title = "DONE", .is_right = true, .is_whole = true},
	{.title = "RETRIED", .is_right = true, .is_whole = true},
	{.title = "GIVEN UP", .is_right = true, .is_whole = true},
	{.title = "MEDIAN", .is_right = true, .is_whole = true},
	{.title = "99 %", .is_right = true, .is_whole = true},
	{.title = "LAST CAME", .is_right = true, .is_whole = true},
};

_Static_assert(sizeof columns / sizeof *columns <= GRID_COLUMNS_MAX, "fits");

struct text pools_state(const json_t *pool)
{
	struct text state = figure_text(pool, "state");

	if (text_is(state, TEXT("consuming")) && json_is_false(figure_find(pool, "consuming")))
		return TEXT("not consuming");
	return state;
}

/* "2..32"; "-": as many as are wanted, whatever happens. */
static struct text bounds_of(const json_t *pool, char room[FIGURE_ROOM])
{
	double least = figure_value(pool, "workers.min"), most = figure_value(pool, "workers.max");

	if (least < 0 || most <= least)
		return TEXT("-");
	snprintf(room, FIGURE_ROOM, "%.0f..%.0f", least, most);
	return text_from(room);
}

static void add_row(struct grid *grid, const json_t *pool)
{
	char room[FIGURE_ROOM];

	grid_add(grid, figure_text(pool, "name"));
	grid_add(grid, pools_state(pool));
	grid_add(grid, figure_pair(pool, "workers.ready", "workers.wanted", room));
	grid_add(grid, bounds_of(pool, room));
	grid_add(grid, figure_number(pool, "workers.busy", room));
	grid_add(grid, figure_number(pool, "tasks.backlog", room));
	grid_add(grid, figure_number(pool, "tasks.waiting", room));
	grid_add(grid, figure_number(pool, "tasks.unacked", room));
	grid_add(grid, figure_number(pool, "totals.done", room));
	grid_add(grid, figure_number(pool, "totals.retried", room));
	grid_add(grid, figure_number(pool, "totals.given_up", room));
	grid_add(grid, figure_span(pool, "task_time.p50_s", room));
	grid_add(grid, figure_span(pool, "task_time.p99_s", room));
	grid_add(grid, figure_span(pool, "last_delivery_age_s", room));
}

static void append_line(const json_t *pool, const char *before, struct text words, struct buf *out)
{
	utf8_append_harmless(out, figure_text(pool, "name"));
	buf_printf(out, ": %s", before);
	utf8_append_harmless(out, words);
	buf_append_byte(out, '\n');
}

/* of: "reasons", "warnings" */
static void append_lines(const json_t *pool, const char *of, struct buf *out)
{
	const json_t *lines = figure_find(pool, of);
	size_t i;
	json_t *line;

	json_array_foreach(lines, i, line) if (json_is_string(line))
		append_line(pool, "", text_from(json_string_value(line)), out);
}

static void append_trouble(const json_t *pool, bool with_reasons, struct buf *out)
{
	if (with_reasons) {
		append_lines(pool, "reasons", out);
		append_lines(pool, "warnings", out);
	}
	if (figure_value(pool, "workers.failing") > 0 &&
		json_is_string(figure_find(pool, "last_death.words")))
		append_line(pool,
			"the last line of the last one: ", figure_text(pool, "last_death.words"),
			out);
}

static int print_trouble(const struct inquiry *q, const json_t *pools, bool with_reasons)
{
	struct buf out;
	size_t i;
	json_t *pool;

	buf_init(&out, SIZE_MAX);
	json_array_foreach(pools, i, pool) append_trouble(pool, with_reasons, &out);
	if (buf_len(&out) > 0)
		printf("\n%.*s", TEXT_ARGS(buf_text(&out)));
	buf_release(&out);
	return inquiry_flush(q);
}

int pools_print(const struct inquiry *q, bool with_reasons)
{
	json_t *answer, *pools;
	int exit_code = inquiry_ask_json(q, "/v1/pools", &answer);

	if (exit_code != EX_OK)
		return exit_code;
	pools = json_object_get(answer, "pools");
	exit_code =
		inquiry_print_rows(q, pools, columns, sizeof columns / sizeof *columns, add_row);
	if (exit_code == EX_OK)
		exit_code = print_trouble(q, pools, with_reasons);
	json_decref(answer);
	return exit_code;
}

int pools_main(int argc, char **argv)
{
	struct inquiry q = {.command = "pools", .help = help, .takes_pool = true};
	int exit_code = inquiry_read_options(&q, argc, argv);

	if (exit_code >= 0)
		return exit_code;
	return q.json ? inquiry_print(&q, "/v1/pools") : pools_print(&q, true);
}
