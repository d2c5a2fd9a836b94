/* Lists of the control API as tables: a column names a member and how it is shown. Layer: client.
 */
#ifndef CLIENT_JSON_TABLE_H
#define CLIENT_JSON_TABLE_H

#include "tty/text_table.h"

#include <jansson.h>

enum json_column_kind {
	JSON_TEXT,
	JSON_LIST,     /* of texts */
	JSON_STATE,    /* of a pool; shows it if a pool should consume and does not */
	JSON_ACTIVITY, /* of a worker: its task, or how its last processes failed */
	JSON_PROGRESS, /* of its task: the text, and its age; empty: there is none */
	JSON_PLAIN,
	JSON_NUMBER, /* this and a pair are empty if there is no such member, so that a column that
			no row has is left out */
	JSON_PAIR,
	JSON_AGED, /* a number, with the age that whole names */
	JSON_RANGE,
	JSON_SPAN,
	JSON_SIZE,
	JSON_SHARE,      /* of whole, in percent */
	JSON_RATE,       /* growth of a counter per second; only in `wpool top`, like the next */
	JSON_RATE_SHARE, /* growth of a counter of seconds, in percent */
};

struct json_column {
	struct text_table_column column;
	enum json_column_kind kind;
	const char *path,
		*whole; /* as in json_cells.h; whole: the second path of a kind with two */
};

#define JSON_COLUMN_SIZE 256

/* Return the text of a cell, in buffer or borrowed until the JSON is freed. Not for rates. */
struct text json_column_text(
	const struct json_column *, const json_t *member, char buffer[JSON_COLUMN_SIZE]);
/* Print a list on stdout, a row for each member. command: for messages. Return an exit code. */
int json_table_print(
	const char *command, const json_t *list, const struct json_column *, size_t count);

#endif
