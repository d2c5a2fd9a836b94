/* The last log lines, in a bounded piece of memory. Layer: base.
 * The oldest give way. Whoever reads keeps a cursor and is told how many went by unread, so a slow
 * reader holds up nobody and costs nothing. */
#ifndef BASE_LOG_RING_H
#define BASE_LOG_RING_H

#include "base/log.h"

struct log_ring;

struct log_record {
	enum log_level level;
	struct text pool; /* empty: the supervisor's own */
	int slot;         /* -1: none */
	struct text line; /* JSON, without a newline */
};

/* Where a reader stands; plain data, good for any time. */
struct log_cursor {
	uint64_t serial;   /* of the line that is next, from 0 */
	uint64_t position; /* log_ring.c's */
};

/* NULL: out of memory. Of so many bytes, pages are taken as they are written. */
struct log_ring *log_ring_new(size_t bytes);
void log_ring_free(struct log_ring *);
/* Copies; false: it is longer than the whole ring, and is left out. */
bool log_ring_add(struct log_ring *, const struct log_record *);
/* At the oldest line that is there. */
struct log_cursor log_ring_begin(const struct log_ring *);
/* Behind the latest. */
struct log_cursor log_ring_end(const struct log_ring *);
/* The next line, and the cursor moves behind it; false: there is none yet. What went by unread is
 * added to *missed. ret is borrowed until the next log_ring_add. */
bool log_ring_next(
	const struct log_ring *, struct log_cursor *, struct log_record *ret, uint64_t *missed);

#endif
