/* The last log lines, in bounded memory. Layer: base. New lines overwrite the oldest. A reader
 * keeps a cursor and gets the number of lines that it missed, so a slow reader delays nothing. */
#ifndef BASE_LOG_RING_H
#define BASE_LOG_RING_H

#include "base/log.h"

struct log_ring;

struct log_record {
	enum log_level level;
	struct text pool; /* empty: of the supervisor itself */
	int slot;         /* -1: none */
	struct text line; /* JSON, without a newline */
};

/* The position of a reader; plain data, valid for any time. */
struct log_cursor {
	uint64_t serial;   /* of the next line, from 0 */
	uint64_t position; /* private to log_ring.c */
};

/* NULL: out of memory. Pages are allocated when they are written. */
struct log_ring *log_ring_new(size_t bytes);
void log_ring_free(struct log_ring *);
/* Append a copy; false: it is longer than the whole ring and is dropped. */
bool log_ring_add(struct log_ring *, const struct log_record *);
/* A cursor at the oldest line. */
struct log_cursor log_ring_begin(const struct log_ring *);
/* A cursor after the latest line. */
struct log_cursor log_ring_end(const struct log_ring *);
/* Read the next line and advance the cursor; false: no line yet. Lines that were overwritten
 * unread are added to *missed. ret is borrowed until the next log_ring_add. */
bool log_ring_next(
	const struct log_ring *, struct log_cursor *, struct log_record *ret, uint64_t *missed);

#endif
