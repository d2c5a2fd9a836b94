/* A byte queue: appended at one end, consumed at the other. Layer: base.
 * Owns its memory, grows on demand up to a limit, and gives memory back when it runs empty after a
 * burst. Never reads or writes a descriptor. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/rc.h"
#include "base/text.h"

struct buf {
	uint8_t *bytes; /* owned; NULL while nothing was ever appended */
	size_t head;    /* first unread byte */
	size_t tail;    /* one past the last */
	size_t capacity;
	size_t limit; /* most bytes held at once */
	bool failed;  /* an append was refused; stays set until buf_clear */
};

/* limit: bytes, at least 1. Allocates nothing. */
void buf_init(struct buf *, size_t limit);
void buf_release(struct buf *);
/* Empty again, memory kept if small. */
void buf_clear(struct buf *);

static inline size_t buf_len(const struct buf *b)
{
	return b->tail - b->head;
}

static inline struct text buf_text(const struct buf *b)
{
	/* Where nothing was ever appended there is no block, not even a start to point at. */
	return b->bytes ? text_of(b->bytes + b->head, b->tail - b->head) : TEXT_NONE;
}

/* Room for len more bytes in one piece, at the tail; NULL (and failed set) when memory or limit
 * forbid. Nothing counts as appended before buf_added. The pointer is good until the next call. */
uint8_t *buf_room(struct buf *, size_t len) MUST_CHECK;
/* len bytes of the room now count. */
void buf_added(struct buf *, size_t len);
/* Copies; on refusal nothing is appended and failed is set. Callers may append a whole sequence and
 * look at failed once. */
void buf_append(struct buf *, const void *bytes, size_t len);
void buf_append_text(struct buf *, struct text);
void buf_append_byte(struct buf *, uint8_t byte);
void buf_append_be16(struct buf *, uint16_t);
void buf_append_be32(struct buf *, uint32_t);
void buf_append_be64(struct buf *, uint64_t);
void buf_printf(struct buf *, const char *format, ...) PRINTF_LIKE(2, 3);
/* Drops len bytes at the head; len at most buf_len. */
void buf_consume(struct buf *, size_t len);
/* Drops everything appended after the first len unread bytes; len at most buf_len. Undoes a
 * half-written record. */
void buf_truncate(struct buf *, size_t len);

#endif
