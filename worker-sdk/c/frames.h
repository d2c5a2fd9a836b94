/* Split the bytes of the data pipe into frames. Part of the worker SDK, internal. Owns one buffer.
 * It grows with the bytes that have come, never with the length in a frame's head. */
#ifndef WPOOL_FRAMES_H
#define WPOOL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Workers do not get the pool's max_frame; this limit only refuses impossible lengths. */
#define FRAMES_LENGTH_MAX (1u << 30)

struct frames {
	uint8_t *bytes;
	size_t capacity, start, end;
	bool borrowed; /* the byte behind the last frame may have been overwritten */
	uint8_t behind;
};

enum frames_result { FRAMES_ONE, FRAMES_MORE, FRAMES_BAD_LENGTH };

void frames_release(struct frames *);
/* Return space for more bytes; NULL: out of memory. Call only after frames_next returned
 * FRAMES_MORE. */
uint8_t *frames_reserve(struct frames *, size_t *ret_len);
void frames_added(struct frames *, size_t len);
/* Return the next frame without its length, borrowed until the next call. The caller may overwrite
 * the one byte behind it, with the NUL of the frame's last text. */
enum frames_result frames_next(struct frames *, uint8_t **ret_frame, size_t *ret_len);
/* Return whether there are bytes of an incomplete frame. */
bool frames_is_cut(const struct frames *);

#endif
