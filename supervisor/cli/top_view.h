/* What `wpool top` shows, as lines. Layer: cli, without I/O. */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "cli/top_model.h"

/* height lines, each with its end, that are to be cut at width. Failure stays in out. */
void top_view_draw(struct top_model *, size_t width, size_t height, mtime now, struct buf *out);

#endif
