#include "frames.h"

#include "wire/frame.h"
#include <stdlib.h>
#include <string.h>

#define READ_USUAL (64u << 10)

void frames_release(struct frames *frames)
{
	buffer_release(&frames->buffer);
}

static size_t first_length(const struct frames *frames)
{
	return wire_get_length(frames->buffer.bytes + frames->buffer.start);
}

/* How many bytes to read: the rest of the first frame, but at most as many as have arrived and the
 * usual number, so that a false length costs nothing. */
static size_t read_size(const struct frames *frames)
{
	size_t size = buffer_size(&frames->buffer), wanted = READ_USUAL;
	if (size >= WIRE_LENGTH_BYTES) {
		size_t missing = WIRE_LENGTH_BYTES + first_length(frames) - size;
		if (missing > wanted)
			wanted = missing < size + READ_USUAL ? missing : size + READ_USUAL;
	}
	return wanted;
}

/* One byte more than is read, so that a block that frames_next hands over has a byte behind its
 * frame. */
uint8_t *frames_reserve(struct frames *frames, size_t *ret_len)
{
	size_t len = read_size(frames);
	uint8_t *space = buffer_reserve(&frames->buffer, len + 1);
	*ret_len = len;
	return space;
}

void frames_added(struct frames *frames, size_t len)
{
	frames->buffer.end += len;
}

bool frames_has_next(const struct frames *frames)
{
	size_t size = buffer_size(&frames->buffer);
	if (size < WIRE_LENGTH_BYTES)
		return false;
	size_t len = first_length(frames);
	return len == 0 || len > FRAMES_LENGTH_MAX || size - WIRE_LENGTH_BYTES >= len;
}

static enum frames_result copy_frame(struct frames *frames, size_t len, struct frame *ret_frame)
{
	struct buffer *buffer = &frames->buffer;
	uint8_t *block = malloc(len + 1);
	if (!block)
		return FRAMES_NO_MEMORY;
	memcpy(block, buffer->bytes + buffer->start + WIRE_LENGTH_BYTES, len);
	*ret_frame = (struct frame){block, block, len};
	buffer_drop(buffer, WIRE_LENGTH_BYTES + len);
	return FRAMES_ONE;
}

/* Hand over the buffer's own memory, and continue with a copy of the bytes behind the frame. */
static enum frames_result detach_frame(struct frames *frames, size_t len, struct frame *ret_frame)
{
	struct buffer whole = frames->buffer, rest = {0};
	uint8_t *bytes = whole.bytes + whole.start + WIRE_LENGTH_BYTES;
	size_t left = buffer_size(&whole) - WIRE_LENGTH_BYTES - len;
	if (buffer_write(&rest, (const char *)bytes + len, left) < 0)
		return FRAMES_NO_MEMORY;
	frames->buffer = rest;
	*ret_frame = (struct frame){whole.bytes, bytes, len};
	return FRAMES_ONE;
}

/* Copy the smaller part, so that a large frame is not copied and a small one does not keep a large
 * block. */
enum frames_result frames_next(struct frames *frames, struct frame *ret_frame)
{
	if (!frames_has_next(frames))
		return FRAMES_MORE;
	size_t len = first_length(frames);
	if (len == 0 || len > FRAMES_LENGTH_MAX)
		return FRAMES_BAD_LENGTH;
	bool is_most =
		len > frames->buffer.capacity / 2 && frames->buffer.end < frames->buffer.capacity;
	return is_most ? detach_frame(frames, len, ret_frame) : copy_frame(frames, len, ret_frame);
}

bool frames_is_cut(const struct frames *frames)
{
	return buffer_size(&frames->buffer) > 0;
}
