#include "client/top/top_table.h"

#include "client/json_cells.h"
#include "tty/cli_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NOTHING TEXT("-")
/* Rows to search for the row before. In lists that differ more, a row counts as new: with ten
 * thousand rows the search would take too long. */
#define SEARCH_MAX 100
#define SPAN_MIN   (MTIME_SECOND / 2)

void top_table_init(struct top_table *table, const struct json_column *columns, size_t count,
	const char *const *keys)
{
	*table = (struct top_table){.columns = columns, .column_count = count, .keys = keys};
}

void top_table_release(struct top_table *table)
{
	top_table_clear(table);
}

void top_table_clear(struct top_table *table)
{
	json_decref(table->now);
	json_decref(table->before);
	free(table->rows);
	table->now = table->before = NULL;
	table->rows = NULL;
	table->count = 0;
}

/* ---------- values ---------- */

/* Growth per second of a counter; NAN: not known. */
static double rate_of(
	const struct top_table *table, const struct top_row *row, const struct json_column *column)
{
	double seconds = (double)(table->now_at - table->before_at) / (double)MTIME_SECOND;
	double now = json_cell_value(row->now, column->path);
	double before = json_cell_value(row->before, column->path);

	if (now < 0 || before < 0 || now < before || seconds <= 0)
		return NAN;
	return (now - before) / seconds;
}

/* NAN: it has no value, or is a text. */
static double value_of(
	const struct top_table *table, const struct top_row *row, const struct json_column *column)
{
	double value;

	switch (column->kind) {
	case JSON_STATE:
	case JSON_ACTIVITY:
	case JSON_PROGRESS:
	case JSON_TEXT:
		return NAN;
	case JSON_RATE:
	case JSON_RATE_SHARE:
		return rate_of(table, row, column);
	default:
		value = json_cell_value(row->now, column->path);
		return value < 0 ? NAN : value;
	}
}

static struct text text_of_cell(const struct top_table *table, const struct top_row *row,
	const struct json_column *column, char buffer[JSON_COLUMN_SIZE])
{
	double rate;

	if (column->kind != JSON_RATE && column->kind != JSON_RATE_SHARE)
		return json_column_text(column, row->now, buffer);
	rate = rate_of(table, row, column);
	if (isnan(rate))
		return NOTHING;
	if (column->kind == JSON_RATE_SHARE)
		snprintf(buffer, JSON_COLUMN_SIZE, "%.0f %%", 100 * rate);
	else if (rate < 100)
		snprintf(buffer, JSON_COLUMN_SIZE, "%.1f", rate);
	else
		cli_number((uint64_t)(rate + 0.5), buffer);
	return text_from(buffer);
}

/* ---------- order ---------- */

static int compare_texts(struct text a, struct text b)
{
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* The largest first, unknown values last. */
static int compare_values(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a < b) - (a > b);
}

static int compare_rows(const void *left, const void *right, void *ctx)
{
	const struct top_row *a = left, *b = right;
	const struct top_table *table = ctx;
	const struct json_column *column = &table->columns[table->sort - 1];
	char buffer_a[JSON_COLUMN_SIZE], buffer_b[JSON_COLUMN_SIZE];
	bool is_text = column->kind == JSON_STATE || column->kind == JSON_ACTIVITY ||
		       column->kind == JSON_PROGRESS || column->kind == JSON_TEXT;
	int order =
		is_text ? compare_texts(text_of_cell(table, a, column, buffer_a),
				  text_of_cell(table, b, column, buffer_b))
			: compare_values(value_of(table, a, column), value_of(table, b, column));

	return order ? order : (a->place > b->place) - (a->place < b->place);
}

static int compare_places(const void *left, const void *right)
{
	const struct top_row *a = left, *b = right;

	return (a->place > b->place) - (a->place < b->place);
}

static void sort(struct top_table *table)
{
	if (table->count == 0)
		return;
	if (table->sort)
		qsort_r(table->rows, table->count, sizeof *table->rows, compare_rows, table);
	else
		qsort(table->rows, table->count, sizeof *table->rows, compare_places);
}

/* A column that is empty in all rows is not shown. */
static bool is_shown(const struct top_table *table, const struct json_column *column)
{
	char buffer[JSON_COLUMN_SIZE];

	for (size_t i = 0; i < table->count; i++)
		if (text_of_cell(table, &table->rows[i], column, buffer).len > 0)
			return true;
	return false;
}

void top_table_sort_next(struct top_table *table)
{
	do
		table->sort = (table->sort + 1) % (table->column_count + 1);
	while (table->sort && !is_shown(table, &table->columns[table->sort - 1]));
	sort(table);
}

const char *top_table_sorted_by(const struct top_table *table)
{
	return table->sort ? table->columns[table->sort - 1].column.title : "";
}

/* ---------- rows ---------- */

/* Both lists usually have the same order, so the search begins where the last one ended. */
static const json_t *find_before(const struct top_table *table, const json_t *member, size_t *at)
{
	size_t count = json_array_size(table->before);

	for (size_t i = 0; i < count && i < SEARCH_MAX; i++) {
		const json_t *before = json_array_get(table->before, (*at + i) % count);
		const char *const *key = table->keys;
		while (*key &&
			json_equal(json_cell_find(member, *key), json_cell_find(before, *key)))
			key++;
		if (*key)
			continue;
		*at = (*at + i + 1) % count;
		return before;
	}
	return NULL;
}

enum rc top_table_take(struct top_table *table, json_t *list, mtime at)
{
	size_t count = json_array_size(list), i, found = 0;
	struct top_row *rows = calloc(count + 1, sizeof *rows);
	json_t *member;

	if (!rows)
		return RC_MEMORY;
	if (table->now && at - table->now_at >= SPAN_MIN) { /* less gives no useful rate */
		json_decref(table->before);
		table->before = json_incref(table->now);
		table->before_at = table->now_at;
	}
	json_decref(table->now);
	table->now = json_incref(list);
	table->now_at = at;
	free(table->rows);
	table->rows = rows;
	table->count = count;
	json_array_foreach(list, i, member) rows[i] = (struct top_row){
		.now = member, .before = find_before(table, member, &found), .place = i};
	sort(table);
	return RC_OK;
}

void top_table_forget_widths(struct top_table *table)
{
	memset(table->widths, 0, sizeof table->widths);
}

void top_table_write(
	struct top_table *table, size_t first, size_t count, size_t width, struct buf *out)
{
	struct text_table_column columns[TEXT_TABLE_COLUMNS_MAX];
	struct text_table text;
	char buffer[JSON_COLUMN_SIZE];

	for (size_t i = 0; i < table->column_count; i++)
		columns[i] = table->columns[i].column;
	text_table_init(&text, columns, table->column_count);
	for (size_t r = first; r < table->count && r - first < count; r++)
		for (size_t i = 0; i < table->column_count; i++)
			text_table_add(&text,
				text_of_cell(table, &table->rows[r], &table->columns[i], buffer));
	for (size_t i = 0; i < table->column_count; i++) { /* as wide as ever before */
		if (text.widths[i] < table->widths[i])
			text.widths[i] = table->widths[i];
		table->widths[i] = text.widths[i];
	}
	text_table_write(&text, width, out);
	text_table_release(&text);
}
