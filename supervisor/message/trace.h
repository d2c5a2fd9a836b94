/* The distributed trace of a message, as defined by W3C Trace Context. Layer: message. */
#ifndef MESSAGE_TRACE_H
#define MESSAGE_TRACE_H

#include "base/text.h"

#define TRACE_ID_LEN 32 /* lower-case hexadecimal digits */

/* The trace id in a table's traceparent, borrowed from the table; empty: there is none, or it is
 * malformed (section 3.2.2). table: accepted by table_check, or empty. */
struct text trace_id(struct text table);

#endif
