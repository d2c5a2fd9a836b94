/* Write JSON strings, for log lines and for values of messages, which must keep every digit. Layer:
 * base. Other JSON is made with jansson. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

/* Append s as a quoted JSON string; bytes that are not UTF-8 become U+FFFD. */
void json_append_string(struct buf *, struct text s);

#endif
