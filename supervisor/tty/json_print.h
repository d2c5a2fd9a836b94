/* Results of commands as JSON, for programs. Layer: tty. */
#ifndef TTY_JSON_PRINT_H
#define TTY_JSON_PRINT_H

#include "base/buf.h"

#include <jansson.h>

/* Make a string of bytes that may not be UTF-8. NULL: out of memory. */
json_t *json_text(struct text);
/* Append a document, which moves in, on one line, with what a terminal would obey as escapes. NULL,
 * or out of memory: out->failed. */
void json_append(struct buf *out, json_t *);
/* Print a document, which moves in, on one line of stdout. False: it could not be written, as
 * ferror(stdout) shows, or there is no memory (NULL is legal), which was printed. */
bool json_print(json_t *);

#endif
