#include "frames.h"

#include "wire/frame.h"
#include <stdlib.h>
#include <string.h>

#define CAPACITY_USUAL (64u << 10)
#define CAPACITY_KEPT  (1u << 20)

void frames_release(struct frames *frames)
{
	free(frames->bytes);
	*frames = (struct frames){0};
}

static size_t waiting(const struct frames *frames)
{
	return frames->end - frames->start;
}

/* The size that the first frame needs, including one byte behind it; at most twice the bytes that
 * have arrived, so that a false length costs nothing. */
static size_t capacity_wanted(const struct frames *frames)
{
	size_t wanted = CAPACITY_USUAL;
	if (waiting(frames) >= WIRE_LENGTH_BYTES) {
		size_t whole = wire_get_length(frames->bytes + frames->start);
		whole += WIRE_LENGTH_BYTES + 1;
		size_t doubled = 2 * waiting(frames) + CAPACITY_USUAL;
		if (whole > wanted)
			wanted = whole < doubled ? whole : doubled;
	}
	return wanted;
}

static bool resize(struct frames *frames, size_t capacity)
{
	uint8_t *bytes = realloc(frames->bytes, capacity);
	if (!bytes)
		return false;
	frames->bytes = bytes;
	frames->capacity = capacity;
	return true;
}

uint8_t *frames_reserve(struct frames *frames, size_t *ret_len)
{
	if (frames->start > 0) {
		memmove(frames->bytes, frames->bytes + frames->start, waiting(frames));
		frames->end -= frames->start;
		frames->start = 0;
	}
	size_t wanted = capacity_wanted(frames);
	bool is_wasteful = frames->capacity > CAPACITY_KEPT && wanted <= CAPACITY_USUAL &&
			   frames->end < CAPACITY_USUAL;
	if ((frames->capacity < wanted || is_wasteful) && !resize(frames, wanted))
		return NULL;
	*ret_len = frames->capacity - frames->end - 1;
	return frames->bytes + frames->end;
}

void frames_added(struct frames *frames, size_t len)
{
	frames->end += len;
}

enum frames_result frames_next(struct frames *frames, uint8_t **ret_frame, size_t *ret_len)
{
	if (frames->borrowed)
		frames->bytes[frames->start] = frames->behind;
	frames->borrowed = false;
	if (waiting(frames) < WIRE_LENGTH_BYTES)
		return FRAMES_MORE;
	size_t len = wire_get_length(frames->bytes + frames->start);
	if (len == 0 || len > FRAMES_LENGTH_MAX)
		return FRAMES_BAD_LENGTH;
	if (waiting(frames) - WIRE_LENGTH_BYTES < len)
		return FRAMES_MORE;
	*ret_frame = frames->bytes + frames->start + WIRE_LENGTH_BYTES;
	*ret_len = len;
	frames->start += WIRE_LENGTH_BYTES + len;
	frames->borrowed = true;
	frames->behind = frames->bytes[frames->start];
	return FRAMES_ONE;
}

bool frames_is_cut(const struct frames *frames)
{
	return waiting(frames) > 0;
}
