/* One dead letter in full, as text. Layer: dead_letters. Failure stays in the buf. */
#ifndef DEAD_LETTERS_SHOW_H
#define DEAD_LETTERS_SHOW_H

#include "dead_letters/letter.h"

#define SHOWN_TEXT_MAX  4096 /* bytes of a body that is text; a longer one is cut, with a note */
#define SHOWN_BYTES_MAX 256  /* and of another, in hexadecimal */

void dead_letter_write_text(struct buf *, const struct dead_letter *);
/* "2026-11-21 07:37:23Z" from seconds since 1970. */
void append_time(struct buf *, int64_t seconds);

#endif
