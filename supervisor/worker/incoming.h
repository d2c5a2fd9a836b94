/* What came through a worker's pipe and is not handled yet: frames with outputs. Layer: worker; has
 * no descriptor. Once the reading has ended, it knows what came of a frame that was not whole. */
#ifndef WORKER_INCOMING_H
#define WORKER_INCOMING_H

#include "base/buf.h"
#include "base/rc.h"
#include "message/answer.h"

#define INCOMING_HEAD 16

struct incoming {
	struct buf bytes;  /* begin with a frame that is not whole, or was not handled */
	size_t unfinished; /* so much came of the last frame, after incoming_end; 0: it was whole */
	uint8_t head[INCOMING_HEAD]; /* of that frame */
};

/* Find the frame at the front of bytes. RC_OK: *ret is the frame without its length, borrowed from
 * bytes. RC_NOT_FOUND: not all of it is there. RC_MALFORMED: its length is 0 or above limit, which
 * *ret_fault describes. */
enum rc incoming_first(struct text bytes, size_t limit, struct text *ret,
	struct answer_fault *ret_fault) MUST_CHECK;

/* limit: in bytes. */
void incoming_init(struct incoming *, size_t limit);
/* Nothing more comes in this life: keep the beginning of a frame that is not whole, and free the
 * rest. */
void incoming_end(struct incoming *);
/* Another life begins, or what is unfinished was reported. */
void incoming_forget(struct incoming *);
/* Describe the frame that was not whole. False: it was. */
bool incoming_describe(const struct incoming *, char ret[FAULT_DETAIL_SIZE]) MUST_CHECK;

#endif
