#include "cli/top_table.h"

#include "cli/doing.h"
#include "cli/figures.h"
#include "cli/pools.h"
#include "cli/usage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NOTHING TEXT("-")
/* Where lists have become that different, a row is a new one: with ten thousand of them the search
 * would be long. */
#define SEARCH_MAX 100
#define SPAN_MIN   (MTIME_SECOND / 2)

void top_table_init(struct top_table *table, const struct top_column *columns, size_t count,
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

/* A second, of what only grows; NAN: nobody knows. */
static double rate_of(
	const struct top_table *table, const struct top_row *row, const struct top_column *column)
{
	double seconds = (double)(table->now_at - table->before_at) / (double)MTIME_SECOND;
	double now = figure_value(row->now, column->path);
	double before = figure_value(row->before, column->path);

	if (now < 0 || before < 0 || now < before || seconds <= 0)
		return NAN;
	return (now - before) / seconds;
}

/* NAN: there is none, or it is words. */
static double value_of(
	const struct top_table *table, const struct top_row *row, const struct top_column *column)
{
	double value;

	switch (column->kind) {
	case TOP_STATE:
	case TOP_DOING:
	case TOP_TEXT:
		return NAN;
	case TOP_RATE:
	case TOP_SHARE:
		return rate_of(table, row, column);
	default:
		value = figure_value(row->now, column->path);
		return value < 0 ? NAN : value;
	}
}

static struct text words_of_rate(double rate, enum top_kind kind, char room[FIGURE_ROOM])
{
	if (isnan(rate))
		return NOTHING;
	if (kind == TOP_SHARE)
		snprintf(room, FIGURE_ROOM, "%.0f %%", 100 * rate);
	else if (rate < 100)
		snprintf(room, FIGURE_ROOM, "%.1f", rate);
	else
		usage_number((uint64_t)(rate + 0.5), room);
	return text_from(room);
}

static struct text words_of(const struct top_table *table, const struct top_row *row,
	const struct top_column *column, char room[DOING_ROOM])
{
	switch (column->kind) {
	case TOP_STATE:
		return pools_state(row->now);
	case TOP_DOING:
		return doing_words(row->now, room);
	case TOP_TEXT:
		return figure_text(row->now, column->path);
	case TOP_PLAIN:
		return figure_plain(row->now, column->path, room);
	case TOP_NUMBER:
		return figure_number(row->now, column->path, room);
	case TOP_PAIR:
		return figure_pair(row->now, column->path, column->whole, room);
	case TOP_SPAN:
		return figure_span(row->now, column->path, room);
	case TOP_SIZE:
		return figure_size(row->now, column->path, room);
	case TOP_RATE:
	case TOP_SHARE:
		return words_of_rate(rate_of(table, row, column), column->kind, room);
	}
	__builtin_unreachable();
}

/* ---------- order ---------- */

static bool is_words(const struct top_column *column)
{
	return column->kind == TOP_STATE || column->kind == TOP_DOING || column->kind == TOP_TEXT;
}

static int compare_texts(struct text a, struct text b)
{
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* The most first; what is unknown last. */
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
	const struct top_column *column = &table->columns[table->sort - 1];
	char room_a[DOING_ROOM], room_b[DOING_ROOM];
	int order = is_words(column) ? compare_texts(words_of(table, a, column, room_a),
					       words_of(table, b, column, room_b))
				     : compare_values(value_of(table, a, column),
					       value_of(table, b, column));

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

void top_table_sort_next(struct top_table *table)
{
	table->sort = (table->sort + 1) % (table->column_count + 1);
	sort(table);
}

const char *top_table_sorted_by(const struct top_table *table)
{
	return table->sort ? table->columns[table->sort - 1].grid.title : "";
}

/* ---------- rows ---------- */

static bool is_same(const struct top_table *table, const json_t *a, const json_t *b)
{
	for (size_t i = 0; table->keys[i]; i++)
		if (!json_equal(figure_find(a, table->keys[i]), figure_find(b, table->keys[i])))
			return false;
	return true;
}

/* Both lists have the same order: the search begins where the last one ended. */
static const json_t *find_before(const struct top_table *table, const json_t *member, size_t *at)
{
	size_t count = json_array_size(table->before);

	for (size_t i = 0; i < count && i < SEARCH_MAX; i++) {
		const json_t *before = json_array_get(table->before, (*at + i) % count);
		if (is_same(table, member, before)) {
			*at = (*at + i + 1) % count;
			return before;
		}
	}
	return NULL;
}

/* What is shortly before is no measure: a rate would be many, or none. */
static void take_list(struct top_table *table, json_t *list, mtime at)
{
	if (table->now && at - table->now_at >= SPAN_MIN) {
		json_decref(table->before);
		table->before = json_incref(table->now);
		table->before_at = table->now_at;
	}
	json_decref(table->now);
	table->now = json_incref(list);
	table->now_at = at;
}

enum rc top_table_take(struct top_table *table, json_t *list, mtime at)
{
	size_t count = json_array_size(list), i, found = 0;
	struct top_row *rows = calloc(count + 1, sizeof *rows);
	json_t *member;

	if (!rows)
		return RC_MEMORY;
	take_list(table, list, at);
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

static void widen(struct top_table *table, struct grid *grid)
{
	for (size_t i = 0; i < table->column_count; i++) {
		if (grid->widths[i] < table->widths[i])
			grid->widths[i] = table->widths[i];
		table->widths[i] = grid->widths[i];
	}
}

void top_table_write(
	struct top_table *table, size_t first, size_t count, size_t width, struct buf *out)
{
	struct grid_column columns[GRID_COLUMNS_MAX];
	struct grid grid;
	char room[DOING_ROOM];

	for (size_t i = 0; i < table->column_count; i++)
		columns[i] = table->columns[i].grid;
	grid_init(&grid, columns, table->column_count);
	for (size_t r = first; r < table->count && r - first < count; r++)
		for (size_t i = 0; i < table->column_count; i++)
			grid_add(&grid, words_of(table, &table->rows[r], &table->columns[i], room));
	widen(table, &grid);
	grid_write(&grid, width, out);
	grid_release(&grid);
}
