/* A line of `wpool request --lines`, and the line that answers it: JSON objects. Layer: publish.
 * Without I/O. */
#ifndef PUBLISH_REQUEST_LINE_H
#define PUBLISH_REQUEST_LINE_H

#include "broker/envelope.h"

#include <jansson.h>

/* Zero is empty. */
struct request_line {
	json_t *object;   /* owned */
	struct text body; /* borrowed from object */
};

/* Read {"queue": "Q", "headers": {"KEY": "VALUE"}, "body": "TEXT"}, of which only the body is
 * required. The queue, borrowed from *ret, and the headers go into the envelope. Return NULL, or
 * what is wrong; request_line_release in any case. */
const char *request_line_read(
	struct text line, struct envelope *, struct request_line *ret) MUST_CHECK;
void request_line_release(struct request_line *);
/* Append {"queue": ..., "body": ...} and a newline; "body_base64" if it is not UTF-8. */
void request_line_append_reply(struct buf *, struct text queue, struct text body);
/* Append {"queue": ..., "error": ...} and a newline. */
void request_line_append_error(struct buf *, struct text queue, struct text error);

#endif
