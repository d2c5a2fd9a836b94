/* Cuts a worker's stdout or stderr into log lines. Layer: worker.
 * Bytes go in as they were read, whole lines go to the log. Keeps only the unfinished line, at most
 * LOG_MESSAGE_MAX bytes of it: a longer line is logged up to there, with a mark, and the rest is
 * dropped. On demand also keeps the last line, to be shown when a process died. */
#ifndef WORKER_LINES_H
#define WORKER_LINES_H

#include "base/buf.h"
#include "worker/log_gate.h"

#define LINES_LAST_MAX 1024 /* bytes of the last line that are kept */

struct lines {
	struct buf rest; /* begun, no newline seen */
	struct buf last; /* the last line that was not blank */
	bool keeps_last;
	bool is_cut;    /* the line was logged already; what still comes of it is dropped */
	uint64_t kept;  /* number of lines that were kept as the last one */
	uint64_t count; /* lines that were logged */
	struct log_origin origin;
	struct log_gate *gate; /* borrowed */
};

/* Allocates nothing. */
void lines_init(struct lines *, struct log_origin, struct log_gate *, bool keeps_last);
void lines_add(struct lines *, struct text bytes);
/* Log the unfinished line, and give memory back; may be used again. */
void lines_end(struct lines *);
/* The start of the last line that held more than blanks; empty: none. Valid until more is logged.
 */
struct text lines_last(const struct lines *);
/* Free the last line, too. */
void lines_release(struct lines *);

#endif
