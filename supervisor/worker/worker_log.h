/* One of a worker's two log streams, read line by line into our log. Layer: worker. Owns the
 * descriptor; the worker watches .io and calls worker_log_read.
 * It also finds the last line that a task wrote to stderr. The worker does not mark where a task
 * begins there, so lines that were written before it began are counted when it begins. */
#ifndef WORKER_WORKER_LOG_H
#define WORKER_WORKER_LOG_H

#include "worker/lines.h"
#include <ev.h>

/* One read a stream and turn. Small, because every byte may be a line, and a line costs two system
 * calls: a worker that writes very many must not keep the loop. */
#define LOG_READ 1024

enum worker_stream { STREAM_OUTPUT, STREAM_ERROR, STREAM_COUNT };

struct worker_log {
	struct ev_loop *loop; /* borrowed */
	ev_io io;
	int fd;      /* -1: nothing more is read */
	size_t left; /* bytes to be read still; SIZE_MAX while the process lives */
	struct lines lines;
	/* stderr: which of its lines belong to the task at hand */
	uint64_t earlier;      /* this many do not */
	size_t stale;          /* bytes to be read still that were there when it began */
	bool has_more;         /* bytes were read that were not */
	unsigned silent;       /* tasks begun since bytes were read */
	unsigned last_turn;    /* of the loop, in which bytes were read last */
	unsigned caught_up_in; /* the turn of the latest catch-up: one a turn is enough */
};

void worker_log_init(struct worker_log *, struct ev_loop *);
/* A new life: fd moves in. .lines was initialized. */
void worker_log_open(struct worker_log *, int fd);
/* One read. */
void worker_log_read(struct worker_log *);
/* The process is gone: read what is there now, and no more. */
void worker_log_read_last(struct worker_log *);
/* A task begins: what was written so far, read or not, does not belong to it. is_read: what was
 * written before the previous answer is most likely read. */
void worker_log_begin(struct worker_log *, bool is_read);
/* The same for a task that ends in the read in which it began: what is unread stays for the next.
 */
void worker_log_pass(struct worker_log *);
/* Read what was written before an answer; within bounds. */
void worker_log_catch_up(struct worker_log *);
/* The last line since the task began, or empty. is_behind: its beginning can only be guessed, so
 * what was read in this turn or later counts as its own. */
struct text worker_log_last_line(const struct worker_log *, bool is_behind, unsigned turn);
/* The same, but no line that was read in the present turn. */
struct text worker_log_last_line_before(const struct worker_log *);
/* Its last line stays valid until .lines is released. */
void worker_log_close(struct worker_log *);

#endif
