/* Rows in aligned columns, for people. Layer: tty. Without I/O.
 * Columns that are empty in all rows are left out. If a line would be too wide, so are spare ones,
 * then the widest columns are cut. */
#ifndef TTY_TEXT_TABLE_H
#define TTY_TEXT_TABLE_H

#include "base/buf.h"

#define TEXT_TABLE_COLUMNS_MAX 24
/* Maximum characters of a cell, even in a wide line: a text from a message can have any length, and
 * should not make all rows wide. */
#define TEXT_TABLE_CELL_MAX  256
#define TEXT_TABLE_WHOLE_MAX 32

struct text_table_column {
	const char *title; /* ASCII */
	bool is_right;     /* aligned to the right */
	bool is_whole;     /* cut only beyond TEXT_TABLE_WHOLE_MAX characters */
	uint8_t spare; /* left out where a line would be too wide, the highest first; 0: never */
};

/* A column of figures. */
#define TEXT_TABLE_FIGURES(words)                                                                  \
	{                                                                                          \
		.title = (words), .is_right = true, .is_whole = true                               \
	}

struct text_table {
	const struct text_table_column *columns;
	size_t count;
	size_t widths[TEXT_TABLE_COLUMNS_MAX]; /* characters of the widest cell; 0: all are empty */
	size_t at;                             /* of the next cell */
	struct buf cells;                      /* each: 4 bytes of length, and its text */
};

/* columns: static, at most TEXT_TABLE_COLUMNS_MAX. */
void text_table_init(struct text_table *, const struct text_table_column *columns, size_t count);
void text_table_release(struct text_table *);
/* Add the next cell, row by row. It is cut, and control characters are escaped. text_table_write
 * reports if memory ran out. */
void text_table_add(struct text_table *, struct text cell);
/* Append a line with the titles and one for each row. width: maximum characters of a line; 0: no
 * limit. Failure stays in out. */
void text_table_write(const struct text_table *, size_t width, struct buf *out);

#endif
