/* A list of the control API as rows, sorted by a column, with rates from what was the difference to
 * the list before. Layer: cli, without I/O. */
#ifndef CLI_TOP_TABLE_H
#define CLI_TOP_TABLE_H

#include "base/mtime.h"
#include "cli/grid.h"

#include <jansson.h>

enum top_kind {
	TOP_STATE, /* of a pool */
	TOP_DOING, /* of a worker: its task, or how the last ones came to nothing */
	TOP_TEXT,
	TOP_PLAIN,
	TOP_NUMBER,
	TOP_PAIR,
	TOP_SPAN,
	TOP_SIZE,
	TOP_RATE,  /* of a counter: so many a second */
	TOP_SHARE, /* of a counter of seconds: so many of hundred */
};

struct top_column {
	struct grid_column grid;
	enum top_kind kind;
	const char *path, *whole; /* of figures.h; whole: of TOP_PAIR */
};

struct top_row {
	const json_t *now, *before; /* before: NULL: it was not there */
	size_t place;               /* as the list came */
};

struct top_table {
	const struct top_column *columns; /* borrowed */
	size_t column_count;              /* GRID_COLUMNS_MAX at most */
	const char *const *keys;          /* a row is the same as one before; NULL-terminated */
	json_t *now, *before;             /* lists, owned; NULL: none yet */
	mtime now_at, before_at;
	struct top_row *rows; /* owned; in the order to be shown */
	size_t count;
	size_t sort;                     /* by columns[sort - 1]; 0: as the list came */
	size_t widths[GRID_COLUMNS_MAX]; /* so far: columns do not jump */
};

void top_table_init(
	struct top_table *, const struct top_column *, size_t count, const char *const *keys);
void top_table_release(struct top_table *);
/* list: borrowed, and what it has is kept; no list at all is an empty one. RC_MEMORY: nothing has
 * changed. */
enum rc top_table_take(struct top_table *, json_t *list, mtime at) MUST_CHECK;
/* Forgets all rows. */
void top_table_clear(struct top_table *);
/* By the next column, at last as the list came. */
void top_table_sort_next(struct top_table *);
/* The column's title, or "". */
const char *top_table_sorted_by(const struct top_table *);
/* The rows from first on, count of them at most, below their titles; as grid_write. */
void top_table_write(struct top_table *, size_t first, size_t count, size_t width, struct buf *out);
/* What was forgotten of widths may be narrower. */
void top_table_forget_widths(struct top_table *);

#endif
