/* A worker's stdout or stderr, cut into log lines. Layer: io.
 * Bytes go in as they were read, whole lines go to the log. Keeps only the line that is not
 * finished yet, at most LOG_MESSAGE_MAX bytes of it: of a longer line that much is told, with a
 * mark, and the rest is left out. On demand also the last line that was told, so that it can be
 * said what a process died with. */
#ifndef IO_LINES_H
#define IO_LINES_H

#include "base/buf.h"
#include "io/log_gate.h"

#define LINES_LAST_MAX 1024 /* bytes that are kept of the last line */

struct lines {
	struct buf rest; /* begun, no newline seen */
	struct buf last; /* the last line that was not blank */
	bool keeps_last;
	bool is_cut;   /* the line was told already; what still comes of it is left out */
	uint64_t kept; /* how many lines were the last one once */
	uint64_t told; /* lines */
	struct log_origin origin;
	struct log_gate *gate; /* borrowed */
};

/* Allocates nothing. */
void lines_init(struct lines *, struct log_origin, struct log_gate *, bool keeps_last);
void lines_add(struct lines *, struct text bytes);
/* Tells what stands there without its newline, and gives memory back; may be used again. */
void lines_end(struct lines *);
/* The start of the last line that held more than blanks; empty: none. Good until more is told. */
struct text lines_last(const struct lines *);
/* Forgets that line, too. */
void lines_release(struct lines *);

#endif
