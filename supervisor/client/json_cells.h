/* Members of a JSON answer as short texts for a table. Layer: client, without I/O. A member that is
 * missing or has another type becomes "-", because the supervisor may have another version. */
#ifndef CLIENT_JSON_CELLS_H
#define CLIENT_JSON_CELLS_H

#include "base/text.h"

#include <jansson.h>

#define JSON_CELL_SIZE 32

/* Return the member at a path like "workers.ready", borrowed, or NULL. */
const json_t *json_cell_find(const json_t *, const char *path);
/* Return a number; below 0 if there is none. */
double json_cell_value(const json_t *, const char *path);
/* Borrowed until the JSON is freed. */
struct text json_cell_text(const json_t *, const char *path);
/* "drain, pause": an array of texts. Return a text in buffer, or "-" if there is none. */
struct text json_cell_list(const json_t *, const char *path, char buffer[JSON_CELL_SIZE]);
/* "1,234,567". This and the next functions return a text in buffer, or "-". */
struct text json_cell_number(const json_t *, const char *path, char buffer[JSON_CELL_SIZE]);
/* "1234567": a number that is not a quantity, such as a pid. */
struct text json_cell_plain(const json_t *, const char *path, char buffer[JSON_CELL_SIZE]);
/* A number of seconds: "12 ms", "3.4 s", "25 min", "7 h", "12 d". */
struct text json_cell_span(const json_t *, const char *path, char buffer[JSON_CELL_SIZE]);
/* A number of bytes: "812 kB", "3.4 MB". */
struct text json_cell_size(const json_t *, const char *path, char buffer[JSON_CELL_SIZE]);
/* One number in percent of another: "12 %". */
struct text json_cell_share(
	const json_t *, const char *path, const char *whole, char buffer[JSON_CELL_SIZE]);
/* "2..32"; "-" where both are equal. */
struct text json_cell_range(
	const json_t *, const char *path, const char *to, char buffer[JSON_CELL_SIZE]);
/* "1,234 (4 s)": a number and how many seconds old it is; "1,234" where that is a second at most.
 */
struct text json_cell_aged(
	const json_t *, const char *path, const char *age, char buffer[JSON_CELL_SIZE]);
/* "3/4" */
struct text json_cell_pair(
	const json_t *, const char *path, const char *whole, char buffer[JSON_CELL_SIZE]);

#endif
