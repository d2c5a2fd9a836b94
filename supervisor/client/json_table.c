#include "client/json_table.h"

#include "client/json_cells.h"
#include "tty/console.h"

#include <assert.h>
#include <stdio.h>

/* The name of its task; or of a worker that failed, "3 x exit status 1, 2.1 s ago; next start in
 * 4.0 s". */
static struct text activity_of(const json_t *worker, char buffer[JSON_COLUMN_SIZE])
{
	char age[JSON_CELL_SIZE], wait[JSON_CELL_SIZE];
	int len;

	if (json_cell_value(worker, "failures") <= 0 ||
		json_is_object(json_cell_find(worker, "task")))
		return json_cell_text(worker, "task.name");
	len = snprintf(buffer, JSON_COLUMN_SIZE, "%.0f x %.*s, %.*s ago",
		json_cell_value(worker, "failures"),
		TEXT_ARGS(json_cell_text(worker, "last_exit.exit")),
		TEXT_ARGS(json_cell_span(worker, "last_exit.age_s", age)));
	if (json_cell_value(worker, "next_start_s") >= 0 && len < JSON_COLUMN_SIZE)
		snprintf(buffer + len, JSON_COLUMN_SIZE - (size_t)len, "; next start in %.*s",
			TEXT_ARGS(json_cell_span(worker, "next_start_s", wait)));
	return text_from(buffer);
}

/* "half, 3.0 s ago". A supervisor of another version has none. */
static struct text progress_of(const json_t *worker, char buffer[JSON_COLUMN_SIZE])
{
	char age[JSON_CELL_SIZE];
	const json_t *text = json_cell_find(worker, "task.progress.text");
	int len = (int)json_string_length(text);

	if (json_cell_value(worker, "task.progress.age_s") < 0)
		return TEXT_NONE;
	snprintf(buffer, JSON_COLUMN_SIZE, "%.*s%s%.*s ago", len < 160 ? len : 160,
		len > 0 ? json_string_value(text) : "", len > 0 ? ", " : "",
		TEXT_ARGS(json_cell_span(worker, "task.progress.age_s", age)));
	return text_from(buffer);
}

struct text json_column_text(
	const struct json_column *column, const json_t *member, char buffer[JSON_COLUMN_SIZE])
{
	struct text state;

	if ((column->kind == JSON_NUMBER || column->kind == JSON_PAIR) &&
		!json_cell_find(member, column->path))
		return TEXT_NONE;
	switch (column->kind) {
	case JSON_TEXT:
		return json_cell_text(member, column->path);
	case JSON_LIST:
		return json_cell_list(member, column->path, buffer);
	case JSON_STATE:
		state = json_cell_text(member, "state");
		if (text_is(state, TEXT("consuming")) &&
			json_is_false(json_cell_find(member, "consuming")))
			return TEXT("not consuming");
		return state;
	case JSON_ACTIVITY:
		return activity_of(member, buffer);
	case JSON_PROGRESS:
		return progress_of(member, buffer);
	case JSON_PLAIN:
		return json_cell_plain(member, column->path, buffer);
	case JSON_NUMBER:
		return json_cell_number(member, column->path, buffer);
	case JSON_PAIR:
		return json_cell_pair(member, column->path, column->whole, buffer);
	case JSON_AGED:
		return json_cell_aged(member, column->path, column->whole, buffer);
	case JSON_RANGE:
		return json_cell_range(member, column->path, column->whole, buffer);
	case JSON_SPAN:
		return json_cell_span(member, column->path, buffer);
	case JSON_SIZE:
		return json_cell_size(member, column->path, buffer);
	case JSON_SHARE:
		return json_cell_share(member, column->path, column->whole, buffer);
	case JSON_RATE:
	case JSON_RATE_SHARE:
		break;
	}
	__builtin_unreachable();
}

int json_table_print(
	const char *command, const json_t *list, const struct json_column *columns, size_t count)
{
	struct text_table_column titles[TEXT_TABLE_COLUMNS_MAX];
	char buffer[JSON_COLUMN_SIZE];
	struct text_table table;
	const json_t *member;
	size_t row;
	int exit_code;

	assert(count <= TEXT_TABLE_COLUMNS_MAX);
	for (size_t i = 0; i < count; i++)
		titles[i] = columns[i].column;
	text_table_init(&table, titles, count);
	json_array_foreach(list, row, member)
	{
		for (size_t i = 0; i < count; i++)
			text_table_add(&table, json_column_text(&columns[i], member, buffer));
	}
	exit_code = console_print_table(command, &table);
	text_table_release(&table);
	return exit_code;
}
