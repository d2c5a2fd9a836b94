/* One of a worker's two log streams, read line by line into our log. Layer: worker. Owns the
 * descriptor; the worker watches .io and calls worker_log_read. It also finds the last line that a
 * task wrote to stderr. The stream does not show where a task begins, so the bytes that were
 * written before are counted when the task begins. */
#ifndef WORKER_WORKER_LOG_H
#define WORKER_WORKER_LOG_H

#include "worker/lines.h"
#include <ev.h>

/* Bytes of one read; a stream is read once in a turn. Small, because every byte may be a line, and
 * a line costs two system calls: a worker that writes many lines must not block the loop. */
#define LOG_READ 1024

enum worker_stream { STREAM_OUTPUT, STREAM_ERROR, STREAM_COUNT };

struct worker_log {
	struct ev_loop *loop; /* borrowed */
	ev_io io;
	int fd;      /* -1: nothing more is read */
	size_t left; /* bytes still to be read; SIZE_MAX while the process lives */
	struct lines lines;
	/* stderr: which of its lines belong to the current task */
	uint64_t earlier;      /* this many lines do not */
	size_t stale;          /* unread bytes that were written before it began */
	bool has_more;         /* bytes that were written since were read */
	unsigned silent;       /* tasks begun since bytes were read */
	unsigned last_turn;    /* the turn of the loop in which bytes were last read */
	unsigned caught_up_in; /* the turn of the latest catch-up: one a turn is enough */
};

void worker_log_init(struct worker_log *, struct ev_loop *);
/* A new life: fd moves in, and is watched. on_readable, whose io->data is data, reads. origin: of
 * the process. gate: borrowed until worker_log_release. */
void worker_log_open(struct worker_log *, enum worker_stream, int fd, struct log_origin,
	struct log_gate *, void (*on_readable)(struct ev_loop *, ev_io *, int), void *data);
/* Read once. */
void worker_log_read(struct worker_log *);
/* The process is gone: read what is there now, and no more. */
void worker_log_read_last(struct worker_log *);
/* A task begins: what was written so far, read or not, does not belong to it. is_read: what was
 * written before the previous answer has most likely been read. */
void worker_log_begin(struct worker_log *, bool is_read);
/* The same for a task that begins and ends within one read of the pipe: what is unread counts for
 * the next task. */
void worker_log_pass(struct worker_log *);
/* Read what was written before an answer; within bounds. */
void worker_log_catch_up(struct worker_log *);
/* The last line since the task began, or empty. is_behind: the beginning is not known exactly, so
 * what was read in this turn or later counts as the task's own. */
struct text worker_log_last_line(const struct worker_log *, bool is_behind, unsigned turn);
/* The same, but no line that was read in the present turn. */
struct text worker_log_last_line_before(const struct worker_log *);
/* Its last line stays valid until worker_log_release. */
void worker_log_close(struct worker_log *);
/* Close it, and free the last line. */
void worker_log_release(struct worker_log *);

#endif
