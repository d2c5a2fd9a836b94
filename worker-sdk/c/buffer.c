#include "buffer.h"

#include <stdlib.h>
#include <string.h>

void buffer_release(struct buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct buffer){0};
}

/* Moving the bytes to the front pays off only if they are fewer than those that were removed. */
static void reclaim_front(struct buffer *buffer)
{
	size_t size = buffer_size(buffer);
	if (size > buffer->start)
		return;
	memmove(buffer->bytes, buffer->bytes + buffer->start, size);
	buffer->start = 0;
	buffer->end = size;
}

uint8_t *buffer_reserve(struct buffer *buffer, size_t len)
{
	if (buffer->start > 0 && buffer->capacity - buffer->end < len)
		reclaim_front(buffer);
	if (buffer->capacity - buffer->end < len) {
		size_t capacity = buffer->end + len;
		uint8_t *bytes = realloc(buffer->bytes, capacity);
		if (!bytes)
			return NULL;
		buffer->bytes = bytes;
		buffer->capacity = capacity;
	}
	return buffer->bytes + buffer->end;
}

int buffer_write(void *buffer, const char *bytes, size_t len)
{
	struct buffer *to = buffer;
	if (len == 0)
		return 0;
	bool must_grow = to->capacity - to->end < len;
	uint8_t *place = buffer_reserve(to, must_grow && len < to->capacity ? to->capacity : len);
	if (!place)
		return -1;
	memcpy(place, bytes, len);
	to->end += len;
	return 0;
}

void buffer_drop(struct buffer *buffer, size_t len)
{
	buffer->start += len;
	if (buffer->start < buffer->end)
		return;
	buffer->start = buffer->end = 0;
	if (buffer->capacity > BUFFER_KEPT)
		buffer_release(buffer);
}
