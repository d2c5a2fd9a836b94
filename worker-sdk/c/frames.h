/* Split the bytes of the data pipe into frames. Part of the worker SDK, internal. Owns one buffer.
 * It grows with the bytes that have come, never with the length in a frame's head. */
#ifndef WPOOL_FRAMES_H
#define WPOOL_FRAMES_H

#include "buffer.h"

/* Workers do not get the pool's max_frame; this limit only refuses impossible lengths. */
#define FRAMES_LENGTH_MAX (1u << 30)

struct frames {
	struct buffer buffer;
};

enum frames_result { FRAMES_ONE, FRAMES_MORE, FRAMES_BAD_LENGTH, FRAMES_NO_MEMORY };

/* A frame without its length. */
struct frame {
	uint8_t *block; /* owned, to be freed; holds bytes and one byte behind them */
	uint8_t *bytes;
	size_t len;
};

void frames_release(struct frames *);
/* Return space for more bytes; NULL: out of memory. Call only if frames_has_next is false. */
uint8_t *frames_reserve(struct frames *, size_t *ret_len);
void frames_added(struct frames *, size_t len);
/* Return whether frames_next would return something else than FRAMES_MORE. */
bool frames_has_next(const struct frames *);
/* Remove the next frame. *ret_frame moves out; it is set only with FRAMES_ONE. */
enum frames_result frames_next(struct frames *, struct frame *ret_frame);
/* Return whether there are bytes of an incomplete frame. */
bool frames_is_cut(const struct frames *);

#endif
