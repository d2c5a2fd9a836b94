/* Documents of the control API, written piece by piece. Layer: cli.
 * jansson makes the objects; where memory is short they are NULL, which shows in the buf. */
#ifndef CLI_CONTROL_JSON_H
#define CLI_CONTROL_JSON_H

#include "base/buf.h"
#include "base/mtime.h"
#include "cli/feed.h"

#include <jansson.h>

#define CONTROL_JSON_TYPE "application/json"
/* A document on each line. */
#define CONTROL_LINES_TYPE "application/x-ndjson"

/* Moves in: appended on one line, and freed. */
void control_json_append(struct buf *, json_t *);
/* Bytes that need be no UTF-8. */
json_t *control_json_text(struct text);
/* In seconds; null for MTIME_NEVER. */
json_t *control_json_span(mtime);
/* From now until then, or since: 0 at the least; null for MTIME_NEVER. */
json_t *control_json_until(mtime then);
json_t *control_json_since(mtime then);
/* A connection to the broker: up, reconnects, last_failure. */
json_t *control_json_link(struct link_facts);
/* The lines of a buf, which is released, as an array. */
json_t *control_json_lines(struct buf *);

#endif
