/* Iterate over a JSON object in place. Layer: base. For the log lines of workers, whose members
 * are passed on byte by byte. The grammar is RFC 8259's, with surrogates in pairs and at most
 * JSON_WALK_DEPTH levels. Strings may have invalid UTF-8: the code that copies them replaces it. */
#ifndef BASE_JSON_WALK_H
#define BASE_JSON_WALK_H

#include "base/buf.h"

#define JSON_WALK_DEPTH 32

/* As written: a key without its quotes, a string value with them. Borrowed from the object. */
struct json_member {
	struct text key, value;
};

/* True if the text is one object, with or without blanks around it. */
bool json_walk_is_object(struct text);
/* Take the next member off *rest, which is the whole object before the first call; false: no
 * more members. */
bool json_walk_next(struct text *rest, struct json_member *ret);
/* True if a key, or a string without its quotes, decodes to this ASCII word. */
bool json_walk_means(struct text written, const char *word);
/* True if the value is a string; *ret is it without quotes, else TEXT_NONE. */
bool json_walk_string(struct text value, struct text *ret);
/* Append a decoded string (given without quotes), safe for a terminal. */
void json_walk_append_decoded(struct buf *, struct text written);

#endif
