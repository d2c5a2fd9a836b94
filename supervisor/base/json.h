/* Write JSON strings, for log lines and for values of messages, which must keep every digit. Layer:
 * base. Other JSON is made with jansson. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

/* Append s as a quoted JSON string; bytes that are not UTF-8 become U+FFFD. What utf8_is_control
 * names is escaped. */
void json_append_string(struct buf *, struct text s);
/* Append "name": s as a string, or "name_base64" if s is not UTF-8. */
void json_append_bytes(struct buf *, const char *name, struct text s);
/* Append JSON of another program as it may be shown. In it only strings can have what
 * utf8_is_control names, and there an escape means the same. Blanks stay, but a carriage return
 * becomes a space; bytes that are not UTF-8 become U+FFFD. */
void json_append_written(struct buf *, struct text json);

#endif
