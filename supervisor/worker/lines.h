/* Split a worker's stdout or stderr into log lines. Layer: worker. Bytes come in as they were read,
 * whole lines go to the log. Only the unfinished line is kept, at most LOG_MESSAGE_MAX bytes: a
 * longer line is logged up to there, with a mark, and the rest is dropped. If keeps_last is set,
 * the last line is kept, too, to be shown when the process dies. */
#ifndef WORKER_LINES_H
#define WORKER_LINES_H

#include "base/buf.h"
#include "worker/log_gate.h"

#define LINES_LAST_MAX 1024 /* bytes of the last line that are kept */

struct lines {
	struct buf rest; /* the unfinished line */
	struct buf last; /* the last line that was not blank */
	bool keeps_last;
	bool is_cut;    /* the beginning of the line was logged; the rest is dropped */
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
/* The beginning of the last line that was not blank; empty: none. Valid until more is logged. */
struct text lines_last(const struct lines *);
/* Free the last line, too. */
void lines_release(struct lines *);

#endif
