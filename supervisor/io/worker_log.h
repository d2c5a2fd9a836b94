/* One of a worker's two log streams: its descriptor, read line by line into our log. Layer: io;
 * part of the crew. */
#ifndef IO_WORKER_LOG_H
#define IO_WORKER_LOG_H

#include "io/lines.h"
#include <ev.h>

/* One read a stream and turn. Small, because every byte may be a line, and a line costs two system
 * calls: a worker that floods us with them must not keep the loop. */
#define LOG_READ 1024

enum worker_stream { STREAM_OUTPUT, STREAM_ERROR, STREAM_COUNT };

struct worker;

struct worker_log {
	ev_io io;
	int fd;      /* -1: nothing more is read */
	size_t left; /* bytes to be read still; SIZE_MAX while the process lives */
	struct lines lines;
	struct worker *worker;
	/* stderr: which of its lines are of the task at hand */
	uint64_t earlier;      /* so many are not */
	size_t stale;          /* bytes to be read still that were there when it began */
	bool has_more;         /* bytes were read that were not */
	unsigned last_turn;    /* of the loop, in which bytes were read last */
	unsigned caught_up_in; /* turn; one that was caught up with is not again */
};

/* fd moves in; starts to watch it. */
void worker_log_open(struct worker_log *, struct worker *, int fd, enum worker_stream);
/* One read. */
void worker_log_read(struct worker_log *);
/* The process is gone: what is there now is read, and no more. */
void worker_log_last(struct worker_log *);
/* A task begins: what was said so far, read or not, is not of it. */
void worker_log_begin(struct worker_log *);
/* The same for one that ends in the read in which it began: what is unread stays for the next. */
void worker_log_pass(struct worker_log *);
/* Some more reads, so that what was written before an answer is there with it; within bounds. */
void worker_log_catch_up(struct worker_log *);
/* The last line since the task began, or empty. is_behind: when it began can only be guessed, so
 * what was read in this turn or later is taken for its own. */
struct text worker_log_words(const struct worker_log *, bool is_behind, unsigned turn);
/* The same, but none that was read in the present turn. */
struct text worker_log_earlier_words(const struct worker_log *);
bool worker_log_is_over(const struct worker_log *);
/* Its last line stays until worker_log_forget. */
void worker_log_close(struct worker_log *);
void worker_log_forget(struct worker_log *);

#endif
