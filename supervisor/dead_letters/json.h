/* Dead letters as JSON, with their types. Layer: dead_letters. Failure stays in the buf. */
#ifndef DEAD_LETTERS_JSON_H
#define DEAD_LETTERS_JSON_H

#include "dead_letters/letter.h"

/* One object; with_body: its body too, as "body" where it is UTF-8, else as "body_base64". */
void dead_letter_write_json(struct buf *, const struct dead_letter *, bool with_body);
/* The name of a type ("int64", "string"); "unknown" if AMQP does not have it. */
const char *field_type_name(char type);

#endif
