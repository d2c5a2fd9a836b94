/* Just enough JSON to write: escaped strings for log lines and header texts. Layer: base.
 * Whole documents are jansson's work. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

/* Appends s as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void json_append_string(struct buf *, struct text s);

#endif
