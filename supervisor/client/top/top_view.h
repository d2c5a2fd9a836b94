/* The page of `wpool top`, as lines. Layer: client, without I/O. */
#ifndef CLIENT_TOP_TOP_VIEW_H
#define CLIENT_TOP_TOP_VIEW_H

#include "client/top/top_model.h"

/* Append height lines, each with its end; the terminal cuts them. Failure stays in out. */
void top_view_draw(struct top_model *, size_t width, size_t height, mtime now, struct buf *out);

#endif
