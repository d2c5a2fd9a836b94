/* A byte queue: appended at one end, consumed at the other. Layer: base.
 * Owns its memory, grows on demand up to a limit, and gives memory back when it runs empty after a
 * burst. Never reads or writes a descriptor. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/rc.h"
#include "base/text.h"

#include <stdarg.h>

struct buf {
	uint8_t *bytes; /* owned; NULL until the first append */
	size_t head;    /* first unread byte */
	size_t tail;    /* one past the last */
	size_t capacity;
	size_t limit; /* upper bound of the content, in bytes */
	bool failed;  /* an append failed; set until buf_clear */
};

/* limit: bytes, at least 1. Allocates nothing. */
void buf_init(struct buf *, size_t limit);
void buf_release(struct buf *);
/* Empty the buffer; its memory is kept if small. */
void buf_clear(struct buf *);

static inline size_t buf_len(const struct buf *b)
{
	return b->tail - b->head;
}

static inline struct text buf_text(const struct buf *b)
{
	/* An unused buffer has no block to point into. */
	return b->bytes ? text_of(b->bytes + b->head, b->tail - b->head) : TEXT_NONE;
}

/* Reserve len contiguous bytes at the tail; NULL, with failed set, if memory or the limit does
 * not allow it. buf_commit makes them content. Valid until the next call. */
uint8_t *buf_reserve(struct buf *, size_t len) MUST_CHECK;
/* Add len of the reserved bytes to the content. */
void buf_commit(struct buf *, size_t len);
/* Append a copy. On failure nothing is appended and failed is set, so that a caller can check
 * once after a sequence. */
void buf_append(struct buf *, const void *bytes, size_t len);
void buf_append_text(struct buf *, struct text);
void buf_append_byte(struct buf *, uint8_t byte);
void buf_append_be16(struct buf *, uint16_t);
void buf_append_be32(struct buf *, uint32_t);
void buf_append_be64(struct buf *, uint64_t);
void buf_printf(struct buf *, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *, const char *format, va_list) PRINTF_LIKE(2, 0);
/* Remove len bytes at the head; len <= buf_len. */
void buf_consume(struct buf *, size_t len);
/* Cut the content to its first len bytes; len <= buf_len. Undoes a partly written record. */
void buf_truncate(struct buf *, size_t len);

#endif
