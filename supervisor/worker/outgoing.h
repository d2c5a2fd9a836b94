/* Bytes that are still to be written to a worker. Layer: worker; has no descriptor. Tasks are
 * copied into the buffer, except one large body at a time: it is written from its delivery, which
 * is held until then (delivery_hold). */
#ifndef WORKER_OUTGOING_H
#define WORKER_OUTGOING_H

#include "message/task.h"

#include <sys/uio.h>

#define OUTGOING_PARTS 3

/* Above OUTPUT_HIGH bytes the pool sends no more tasks, until only OUTPUT_LOW are left; with
 * throttles, above none and until none are. */
#define OUTPUT_HIGH (256 * 1024)
#define OUTPUT_LOW  (64 * 1024)

struct outgoing {
	struct buf bytes;
	struct delivery *large; /* its body is written between two parts of bytes; NULL: none */
	size_t before;          /* how many of bytes are written before it */
	struct text body;       /* what is left of it */
};

/* limit: in bytes. */
void outgoing_init(struct outgoing *, size_t limit);
/* Free everything; may be used again. */
void outgoing_drop(struct outgoing *);
size_t outgoing_len(const struct outgoing *);
/* Append the task's frame. Arguments and errors are those of task_write. */
enum rc outgoing_add(struct outgoing *, struct delivery *, const struct task_options *,
	uint16_t attempt, int64_t deadline_ms) MUST_CHECK;
/* The next bytes, in order. Return how many of ret are used. Borrowed until the next call. */
int outgoing_parts(const struct outgoing *, struct iovec ret[OUTGOING_PARTS]);
/* The first len bytes are written. */
void outgoing_consume(struct outgoing *, size_t len);

#endif
