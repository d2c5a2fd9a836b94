/* A list of the control API as rows, sorted by a column; rates are differences to the previous
 * list. Layer: client, without I/O. */
#ifndef CLIENT_TOP_TOP_TABLE_H
#define CLIENT_TOP_TOP_TABLE_H

#include "base/mtime.h"
#include "client/json_table.h"

struct top_row {
	const json_t *now, *before; /* before NULL: the row is new */
	size_t place;               /* in the list */
};

struct top_table {
	const struct json_column *columns; /* borrowed */
	size_t column_count;               /* TEXT_TABLE_COLUMNS_MAX at most */
	const char *const *keys;           /* members that identify a row; NULL-terminated */
	json_t *now, *before;              /* lists, owned; NULL: none yet */
	mtime now_at, before_at;
	struct top_row *rows; /* owned; in the order to be shown */
	size_t count;
	size_t sort; /* by columns[sort - 1]; 0: in the order of the list */
	size_t widths[TEXT_TABLE_COLUMNS_MAX]; /* the maximum so far, so that columns do not jump */
};

void top_table_init(
	struct top_table *, const struct json_column *, size_t count, const char *const *keys);
void top_table_release(struct top_table *);
/* Store the next list, with a reference of its own. JSON that is not a list counts as an empty one.
 * RC_MEMORY: nothing has changed. */
enum rc top_table_take(struct top_table *, json_t *list, mtime at) MUST_CHECK;
/* Remove all rows. */
void top_table_clear(struct top_table *);
/* Sort by the next column that is shown; after the last one, in the order of the list. */
void top_table_sort_next(struct top_table *);
/* Return the title of the column by which it is sorted, or "". */
const char *top_table_sorted_by(const struct top_table *);
/* Append the titles and at most count rows from first on, as text_table_write does. */
void top_table_write(struct top_table *, size_t first, size_t count, size_t width, struct buf *out);
/* Let columns become narrower. */
void top_table_forget_widths(struct top_table *);

#endif
