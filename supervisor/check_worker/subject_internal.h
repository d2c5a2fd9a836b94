/* What the files of the subject share: its turns of the loop, and the frames that came. Layer:
 * check_worker. */
#ifndef CHECK_WORKER_SUBJECT_INTERNAL_H
#define CHECK_WORKER_SUBJECT_INTERNAL_H

#include "check_worker/subject.h"

/* How often to look at what the kernel does not report: a FIFO that was opened, bytes that were
 * read, a process that has gone. */
#define LOOK_AGAIN (2 * MTIME_MS)

static inline struct ev_loop *subject_loop(const struct subject *subject)
{
	return subject->setup->tools.loop;
}

static inline double subject_seconds(mtime span)
{
	return (double)span / MTIME_SECOND;
}

/* One turn of the loop, of at most span. */
void subject_run_once(struct subject *, mtime span);
/* Run the loop until is_there says so, in turns of at most this length. False: .fault is set, or
 * span is over. */
bool subject_wait_until(
	struct subject *, bool (*is_there)(struct subject *), mtime span, mtime turn);
/* A worker that sends faster than its outputs are wanted waits in its write. */
void subject_read_on(struct subject *);
/* Take the first output that came. False: none has come whole, or .fault is set. */
bool subject_take_output(struct subject *);
/* The frame with its length at the head of what came; empty: it is not whole. */
struct text subject_first_frame(const struct subject *);
/* .fault: a frame is not whole. Returns false. */
bool subject_fail_by_half_frame(struct subject *, const char *until, const char *what);

#endif
