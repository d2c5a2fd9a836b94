/* Rows in aligned columns, for people. Layer: cli. Without I/O.
 * Columns in which no row has anything are left out; where a line is to be narrower than the rest,
 * the widest columns are cut. */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include "base/buf.h"

#define GRID_COLUMNS_MAX 16
/* Characters of a cell, whatever the line may hold: a foreign message can say anything, and one of
 * them should not pad the rows of all. */
#define GRID_CELL_MAX  256
#define GRID_WHOLE_MAX 32

struct grid_column {
	const char *title; /* ASCII */
	bool is_right;     /* aligned to the right */
	bool is_whole;     /* cut only beyond GRID_WHOLE_MAX characters */
};

struct grid {
	const struct grid_column *columns;
	size_t count;
	size_t widths[GRID_COLUMNS_MAX]; /* characters of the widest cell; 0: all are empty */
	size_t at;                       /* of the coming cell */
	struct buf cells;                /* each: 4 bytes of length, and its text */
};

/* columns: static, at most GRID_COLUMNS_MAX. */
void grid_init(struct grid *, const struct grid_column *columns, size_t count);
void grid_release(struct grid *);
/* The next cell, row by row; cut, and made harmless for a terminal. Out of memory shows in
 * grid_write. */
void grid_add(struct grid *, struct text cell);
/* A line for the titles and one for each row. width: most characters of a line; 0: any. Failure
 * stays in out. */
void grid_write(const struct grid *, size_t width, struct buf *out);

#endif
