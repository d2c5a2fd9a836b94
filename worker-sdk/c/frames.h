/* Cuts the bytes of the data pipe into frames. Part of the worker SDK, internal.
 * Owns one buffer, which grows with what arrived, never with what a length promised. */
#ifndef WPOOL_FRAMES_H
#define WPOOL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The pool's max_frame is not told to workers; this is only a bound on nonsense. */
#define FRAMES_LENGTH_MAX (1u << 30)

struct frames {
	uint8_t *bytes;
	size_t room, start, end;
	bool borrowed; /* the byte behind the last frame may have been overwritten */
	uint8_t behind;
};

enum frames_result { FRAMES_ONE, FRAMES_MORE, FRAMES_BAD_LENGTH };

void frames_release(struct frames *);
/* Room for more bytes; NULL: out of memory. Only when frames_next has just asked for more. */
uint8_t *frames_room(struct frames *, size_t *ret_len);
void frames_added(struct frames *, size_t len);
/* The next frame without its length, borrowed until the next call here. The one byte behind it may
 * be overwritten meanwhile: a NUL behind its last text goes there. */
enum frames_result frames_next(struct frames *, uint8_t **ret_frame, size_t *ret_len);
/* Whether bytes wait that are no whole frame yet. */
bool frames_is_cut(const struct frames *);

#endif
