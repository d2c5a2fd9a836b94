/* Dead letters as JSON, with their types. Layer: cli. Failure stays in the buf. */
#ifndef CLI_DEAD_LETTERS_JSON_H
#define CLI_DEAD_LETTERS_JSON_H

#include "cli/dead_letters_letter.h"

/* One object; with_body: its body too, as "body" where it is UTF-8, else as "body_base64". */
void dead_letter_write_json(struct buf *, const struct dead_letter *, bool with_body);
/* A type's name for people ("int64", "string"); "unknown" for no type of AMQP. */
const char *field_type_name(char type);

#endif
