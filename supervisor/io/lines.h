/* A worker's stdout or stderr, cut into log lines. Layer: io.
 * Bytes go in as they were read, whole lines go to the log. Keeps only the line that is not
 * finished yet, at most LINES_PIECE bytes of it: a longer line is told in pieces. On demand also
 * the last line that was told, so that it can be said what a process died with. */
#ifndef IO_LINES_H
#define IO_LINES_H

#include "base/buf.h"
#include "base/log.h"

#define LINES_PIECE    8192
#define LINES_LAST_MAX 1024 /* bytes that are kept of the last line */

struct lines {
	struct buf rest; /* begun, no newline seen */
	struct buf last; /* the last line that was not blank */
	bool keeps_last;
	uint64_t kept; /* how many lines were the last one once */
	uint64_t told; /* lines and pieces that went to the log */
	struct log_origin origin;
};

/* Allocates nothing. */
void lines_init(struct lines *, struct log_origin, bool keeps_last);
void lines_add(struct lines *, struct text bytes);
/* Tells what stands there without its newline, and gives memory back; may be used again. */
void lines_end(struct lines *);
/* The start of the last line that held more than blanks; empty: none. Good until more is told. */
struct text lines_last(const struct lines *);
/* Forgets that line, too. */
void lines_release(struct lines *);

#endif
