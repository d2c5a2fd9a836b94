/* A queue of bytes: added at its end, removed at its front. Part of the worker SDK, internal. Owns
 * its memory, and gives a large block back once it is no longer needed. */
#ifndef WPOOL_BUFFER_H
#define WPOOL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory up to this size is kept while the buffer is empty. */
#define BUFFER_KEPT (1u << 20)

struct buffer {
	uint8_t *bytes;
	size_t capacity, start, end; /* the bytes from start to end are in the queue */
};

void buffer_release(struct buffer *);
static inline size_t buffer_size(const struct buffer *buffer)
{
	return buffer->end - buffer->start;
}
/* Return memory behind the end for at least len bytes; NULL: out of memory. */
uint8_t *buffer_reserve(struct buffer *, size_t len);
/* Add len bytes. 0, or -1: out of memory, nothing was added. msgpack_packer calls it. */
int buffer_write(void *buffer, const char *bytes, size_t len);
/* Remove len bytes at the front, at most what there is. */
void buffer_drop(struct buffer *, size_t len);

#endif
