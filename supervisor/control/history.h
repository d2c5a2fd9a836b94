/* The answer to GET /v1/history in small pieces. Layer: control. Between two of them seconds end
 * and pools leave. */
#ifndef CONTROL_HISTORY_H
#define CONTROL_HISTORY_H

#include "base/buf.h"
#include "runtime/supervisor_view.h"

/* A piece is not longer. */
#define HISTORY_PIECE_MAX 8192

/* Only the functions below change it. */
struct history_list {
	const struct supervisor_view *view; /* borrowed */
	uint32_t only;                      /* serial of a pool runtime; 0: all */
	int64_t end;                        /* the second that had not ended at the start */
	mtime age;                          /* of what ended last, then */
	size_t place;                       /* of the next pool */
	size_t at;                          /* place and serial of the open entry; */
	uint32_t serial;                    /* 0: all pools together */
	int64_t next;                       /* its second that comes next */
	bool has_begun, has_entries, is_inside, has_seconds, has_ended;
};

/* only: serial of a pool runtime; 0: all pools together, and each. */
void history_list_init(struct history_list *, const struct supervisor_view *, uint32_t only);
/* Append the next piece; false: it was the last one. */
bool history_list_next(struct history_list *, struct buf *out);

#endif
