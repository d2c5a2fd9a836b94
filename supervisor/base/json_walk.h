/* A JSON object looked through where it stands, without a copy of it. Layer: base.
 * For lines of workers: their members pass through as they were written, byte by byte. The grammar
 * is RFC 8259's, with surrogates in pairs and at most JSON_WALK_DEPTH levels; but bytes in strings
 * need be no UTF-8, whoever copies them repairs that. */
#ifndef BASE_JSON_WALK_H
#define BASE_JSON_WALK_H

#include "base/buf.h"

#define JSON_WALK_DEPTH 32

/* As they are written: a key without its quotes, a string's value with them. Borrowed from the
 * object. */
struct json_member {
	struct text key, value;
};

/* The whole of it is one object, with blanks around it or none. */
bool json_walk_is_object(struct text);
/* Of an object, the first time: *rest is all of it. The next member is taken off; false: there is
 * none any more. */
bool json_walk_next(struct text *rest, struct json_member *ret);
/* Whether a key or a string without its quotes, escapes and all, means this word (ASCII). */
bool json_walk_means(struct text written, const char *word);
/* Without its quotes, if the value is a string; else TEXT_NONE, and false. */
bool json_walk_string(struct text value, struct text *ret);
/* A string without its quotes: what it means, and harmless for a terminal. */
void json_walk_append_meant(struct buf *, struct text written);

#endif
