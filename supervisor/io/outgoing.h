/* What is still to be written to a worker. Layer: io, without a descriptor.
 * Tasks are copied into bytes, but for one large body at a time: that goes out from where it lies,
 * in its delivery, which is held until then. */
#ifndef IO_OUTGOING_H
#define IO_OUTGOING_H

#include "message/task.h"

#include <sys/uio.h>

#define OUTGOING_PARTS 3

/* Bytes above and below which the pool is told to stop and to go on. */
#define OUTPUT_HIGH (256 * 1024)
#define OUTPUT_LOW  (64 * 1024)

struct outgoing {
	struct buf bytes;
	struct delivery *large; /* whose body goes out in the middle of bytes; NULL: none */
	size_t before;          /* the bytes that go out before it */
	struct text body;       /* what is left of it */
};

/* limit: of bytes. */
void outgoing_init(struct outgoing *, size_t limit);
/* Nothing is left; to be used again. */
void outgoing_drop(struct outgoing *);
size_t outgoing_len(const struct outgoing *);
/* Appends the task's frame; the rest is as task_write says. */
enum rc outgoing_add(struct outgoing *, struct delivery *, const struct task_options *,
	uint16_t attempt, int64_t deadline_ms) MUST_CHECK;
/* The next bytes, in order: how many of ret are used. Borrowed until the next call. */
int outgoing_parts(const struct outgoing *, struct iovec ret[OUTGOING_PARTS]);
/* len of them are written. */
void outgoing_consume(struct outgoing *, size_t len);

#endif
