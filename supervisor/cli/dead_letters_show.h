/* One dead letter in full, for people. Layer: cli. Failure stays in the buf. */
#ifndef CLI_DEAD_LETTERS_SHOW_H
#define CLI_DEAD_LETTERS_SHOW_H

#include "cli/dead_letters_letter.h"

#define SHOWN_TEXT_MAX  4096 /* bytes of a body that is text; then it is cut, and that said */
#define SHOWN_BYTES_MAX 256  /* and of another, in hexadecimal */

void dead_letter_write_text(struct buf *, const struct dead_letter *);
/* "2026-11-21 07:37:23Z" from seconds since 1970. */
void append_time(struct buf *, int64_t seconds);

#endif
