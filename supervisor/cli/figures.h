/* Members of a JSON answer as short words for a table. Layer: cli, without I/O.
 * What is missing or of another type becomes "-": the supervisor may be of another version. */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include "base/text.h"

#include <jansson.h>

/* Bytes of any of them. */
#define FIGURE_ROOM 32

/* path: keys with dots between, "workers.ready". Borrowed; NULL: there is none. */
const json_t *figure_find(const json_t *, const char *path);
/* Below 0: there is no number. */
double figure_value(const json_t *, const char *path);
/* Borrowed, until the JSON is freed. */
struct text figure_text(const json_t *, const char *path);
/* The others return text in room. "1,234,567". */
struct text figure_number(const json_t *, const char *path, char room[FIGURE_ROOM]);
/* "1234567": what is no quantity. */
struct text figure_plain(const json_t *, const char *path, char room[FIGURE_ROOM]);
/* Of seconds: "12 ms", "3.4 s", "25 min", "7 h", "12 d". */
struct text figure_span(const json_t *, const char *path, char room[FIGURE_ROOM]);
/* Of bytes: "812 kB", "3.4 MB". */
struct text figure_size(const json_t *, const char *path, char room[FIGURE_ROOM]);
/* One in percent of the other: "12 %". */
struct text figure_share(
	const json_t *, const char *path, const char *whole, char room[FIGURE_ROOM]);
/* "3/4" */
struct text figure_pair(
	const json_t *, const char *path, const char *whole, char room[FIGURE_ROOM]);

#endif
