#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { SMALLEST = 256, KEPT_WHEN_EMPTY = 64 * 1024 };

void buf_init(struct buf *b, size_t limit)
{
	assert(limit > 0);
	*b = (struct buf){.limit = limit};
}

void buf_release(struct buf *b)
{
	free(b->bytes);
	*b = (struct buf){.limit = b->limit};
}

static void rewind_empty(struct buf *b)
{
	b->head = b->tail = 0;
	if (b->capacity > KEPT_WHEN_EMPTY) {
		free(b->bytes);
		b->bytes = NULL;
		b->capacity = 0;
	}
}

void buf_clear(struct buf *b)
{
	rewind_empty(b);
	b->failed = false;
}

static void move_to_front(struct buf *b)
{
	if (b->head == 0)
		return;
	memmove(b->bytes, b->bytes + b->head, buf_len(b));
	b->tail -= b->head;
	b->head = 0;
}

/* Grow to at least need bytes, and to twice the size. */
static size_t next_capacity(const struct buf *b, size_t need)
{
	size_t capacity = b->capacity ? b->capacity : SMALLEST;
	if (b->capacity && b->capacity <= SIZE_MAX / 2)
		capacity = b->capacity * 2;
	while (capacity < need && capacity <= SIZE_MAX / 2)
		capacity *= 2;
	return capacity < need ? need : capacity;
}

/* Make space for len bytes at the tail, without regard to the limit. Content is moved to the
 * front only if at least as much was consumed since the last move, otherwise the buffer doubles;
 * so every byte is moved a bounded number of times. */
static __attribute__((noinline)) bool grow(struct buf *b, size_t len)
{
	if (len > SIZE_MAX - buf_len(b))
		return false;
	size_t need = buf_len(b) + len;
	if (b->bytes && b->head >= buf_len(b) && b->capacity >= need) {
		move_to_front(b);
		return true;
	}
	move_to_front(b);
	size_t capacity = next_capacity(b, need);
	uint8_t *bytes = realloc(b->bytes, capacity);
	if (!bytes)
		return false;
	b->bytes = bytes;
	b->capacity = capacity;
	return true;
}

static inline bool ensure_space(struct buf *b, size_t len)
{
	return (b->bytes && b->capacity - b->tail >= len) || grow(b, len);
}

uint8_t *buf_reserve(struct buf *b, size_t len)
{
	if (buf_len(b) > b->limit || len > b->limit - buf_len(b) || !ensure_space(b, len)) {
		b->failed = true;
		return NULL;
	}
	return b->bytes + b->tail;
}

void buf_commit(struct buf *b, size_t len)
{
	assert(len <= b->capacity - b->tail);
	b->tail += len;
}

static inline bool is_within_limit(const struct buf *b, size_t len)
{
	return len <= b->capacity - b->tail && len + buf_len(b) <= b->limit;
}

/* Inlined: most appends are short, of constant length, and fit. */
static inline __attribute__((always_inline)) void append(
	struct buf *b, const void *bytes, size_t len)
{
	uint8_t *data = is_within_limit(b, len) ? b->bytes + b->tail : buf_reserve(b, len);
	if (!data)
		return;
	memcpy(data, bytes, len);
	b->tail += len;
}

void buf_append(struct buf *b, const void *bytes, size_t len)
{
	if (len > 0)
		append(b, bytes, len);
}

void buf_append_text(struct buf *b, struct text t)
{
	buf_append(b, t.ptr, t.len);
}

void buf_append_byte(struct buf *b, uint8_t byte)
{
	append(b, &byte, 1);
}

void buf_append_be16(struct buf *b, uint16_t value)
{
	uint8_t bytes[] = {value >> 8, value & 0xff};
	append(b, bytes, sizeof bytes);
}

void buf_append_be32(struct buf *b, uint32_t value)
{
	uint8_t bytes[] = {value >> 24, value >> 16 & 0xff, value >> 8 & 0xff, value & 0xff};
	append(b, bytes, sizeof bytes);
}

void buf_append_be64(struct buf *b, uint64_t value)
{
	uint8_t bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = value >> (56 - 8 * i) & 0xff;
	append(b, bytes, sizeof bytes);
}

static int PRINTF_LIKE(2, 0) print_into(struct buf *b, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	size_t size = b->bytes ? b->capacity - b->tail : 0;
	int len = vsnprintf(size ? (char *)b->bytes + b->tail : NULL, size, format, again);
	va_end(again);
	return len;
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	int len = print_into(b, format, args);
	size_t count = len < 0 ? 0 : (size_t)len;
	/* vsnprintf's NUL needs space but is not content, so it does not count against the
	 * limit. */
	if (len < 0 || !buf_reserve(b, count) || !ensure_space(b, count + 1)) {
		b->failed = true;
	} else {
		print_into(b, format, args);
		buf_commit(b, count);
	}
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

void buf_consume(struct buf *b, size_t len)
{
	assert(len <= buf_len(b));
	b->head += len;
	if (b->head == b->tail)
		rewind_empty(b);
}

void buf_truncate(struct buf *b, size_t len)
{
	assert(len <= buf_len(b));
	b->tail = b->head + len;
	if (len == 0)
		rewind_empty(b);
}
