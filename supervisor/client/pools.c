/* `wpool pools`: a line for each pool. */
#include "client/pools.h"

#include "api/figures.h"
#include "base/utf8.h"
#include "client/api_command.h"
#include "client/findings.h"
#include "client/json_cells.h"
#include "commands.h"

#include <assert.h>
#include <stdio.h>
#include <sysexits.h>

static const char help[] =
	"The state of each pool of a running wpool serve, and what it has done since the start;\n"
	"below the table, what is wrong. BACKLOG waits in the broker: \"12 (4 s)\" was so 4 s ago;\n"
	"WAITING waits here; OPEN is what workers have begun, of the places that they have; UNACKED\n"
	"is all that came and is not settled; DEAD is in the dead-letter queue now. Only with sessions:\n"
	"SESSIONS that have begun, PARKED and BLOCKED ones, and STUCK, the messages that cannot run\n"
	"now, of the window.\n";

/* ---------- columns ---------- */

size_t pools_columns(bool is_top, struct json_column ret[TEXT_TABLE_COLUMNS_MAX])
{
	size_t count = 2;

	ret[0] = (struct json_column){
		{.title = "POOL", .is_whole = is_top}, JSON_TEXT, "name", NULL};
	ret[1] = (struct json_column){{.title = "STATE", .is_whole = true}, JSON_STATE, NULL, NULL};
	for (size_t i = 0; i < API_FIGURE_COUNT; i++) {
		const struct api_figure *figure = &api_figures[i];
		bool is_rate = is_top && figure->rate;
		if (!is_rate && (!figure->column || (is_top && figure->is_not_in_top)))
			continue;
		assert(count < TEXT_TABLE_COLUMNS_MAX);
		ret[count++] = (struct json_column){
			.column = {.title = is_rate ? figure->rate : figure->column,
				.is_right = true,
				.is_whole = true,
				.spare = is_top ? figure->spare : 0},
			.kind = is_rate                       ? JSON_RATE
				: figure->of                  ? JSON_PAIR
				: figure->to                  ? JSON_RANGE
				: figure->age                 ? JSON_AGED
				: figure->unit == API_SECONDS ? JSON_SPAN
				: figure->unit == API_BYTES   ? JSON_SIZE
							      : JSON_NUMBER,
			.path = figure->path,
			.whole = figure->of   ? figure->of
				 : figure->to ? figure->to
					      : figure->age};
	}
	return count;
}

/* ---------- what is wrong ---------- */

static void append_line(const json_t *pool, const char *label, struct text line, struct buf *out)
{
	utf8_append_escaped(out, json_cell_text(pool, "name"));
	buf_printf(out, ": %s: ", label);
	utf8_append_escaped(out, line);
	buf_append_byte(out, '\n');
}

static void append_findings(const json_t *pool, struct buf *out)
{
	struct finding finding;

	for (size_t at = 0; findings_next(pool, &at, &finding);)
		append_line(pool, finding.label, text_from(finding.text), out);
}

/* A text of the last worker that died, while workers fail. */
static void append_text_of_worker(
	const json_t *pool, const char *path, const char *label, struct buf *out)
{
	if (json_cell_value(pool, "workers.failing") > 0 &&
		json_is_string(json_cell_find(pool, path)))
		append_line(pool, label, json_cell_text(pool, path), out);
}

/* ---------- the command ---------- */

int pools_print(const char *command, const json_t *pools, bool with_reasons)
{
	struct json_column columns[TEXT_TABLE_COLUMNS_MAX];
	int exit_code = json_table_print(command, pools, columns, pools_columns(false, columns));
	const json_t *pool;
	struct buf out;
	size_t i;

	if (exit_code != EX_OK)
		return exit_code;
	buf_init(&out, SIZE_MAX);
	json_array_foreach(pools, i, pool)
	{
		if (with_reasons)
			append_findings(pool, &out);
		append_text_of_worker(pool, "last_death.detail", "detail", &out);
		append_text_of_worker(pool, "last_death.stderr", "last stderr line", &out);
	}
	if (buf_len(&out) > 0)
		printf("\n%.*s", TEXT_ARGS(buf_text(&out)));
	buf_release(&out);
	return EX_OK;
}

static int print_pools(const struct api_command *q, const json_t *answer)
{
	return pools_print(q->command, json_object_get(answer, "pools"), true);
}

int pools_main(int argc, char **argv)
{
	struct api_command q = {.command = "pools",
		.usage = "[POOL]",
		.help = help,
		.exits = "0 done, 65 no such pool",
		.arguments = {&q.pool}};
	int exit_code = api_command_read(&q, argc, argv);

	return exit_code >= 0 ? exit_code : api_command_show(&q, "/v1/pools", print_pools);
}
