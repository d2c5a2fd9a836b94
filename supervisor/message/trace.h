/* Which distributed trace a message is part of, after W3C Trace Context. Layer: message. */
#ifndef MESSAGE_TRACE_H
#define MESSAGE_TRACE_H

#include "base/text.h"

#define TRACE_ID_LEN 32 /* lower-case hexadecimal digits */

/* The trace id of a table's traceparent, in the table; empty where there is none, or the header is
 * malformed (section 3.2.2). table: one that table_check found good, or empty. */
struct text trace_id(struct text table);

#endif
