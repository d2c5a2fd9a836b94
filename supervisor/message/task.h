/* A delivery, written as a task frame for a worker. Layer: message.
 * Implements PROTOCOL.md, section 5: body as str or bin, headers as text or typed, properties by
 * option. */
#ifndef MESSAGE_TASK_H
#define MESSAGE_TASK_H

#include "base/buf.h"
#include "core/tasks/delivery.h"

enum task_body { TASK_BODY_AUTO, TASK_BODY_STR, TASK_BODY_BIN };
enum task_headers { TASK_HEADERS_TEXT, TASK_HEADERS_TYPED };

struct task_options {
	enum task_body body;
	enum task_headers headers;
	bool properties;
	size_t frame_limit; /* bytes of a frame without its length */
	int64_t soft_ms;    /* TimeoutMilliseconds of a task that brings none; 0: none */
	struct text queue;  /* the pool's: OriginalQueueName unless the delivery names another */
};

/* Read what the pool must know of a delivery from its raw properties (delivery->properties is
 * set): headers, reply_to, correlation_id, origin, attempt, slice, renewed, returns, soft_ms,
 * unfit. body_limit: a larger body makes it unfit. Never fails: what cannot be read makes the
 * delivery unfit. */
void task_read_facts(struct delivery *, uint64_t body_limit);

/* A large body that its writer sends from where it lies. */
struct task_gap {
	size_t least;     /* bytes of a body that is left out, where it need not be repaired */
	size_t at;        /* of the frame with its length: where it belongs */
	struct text body; /* in the delivery; empty: nothing was left out */
};

/* Append length and frame to out, all of it or all but *gap. attempt: this try's number, from 1.
 * deadline_ms: the hard limit, 0 for none. gap: its least is set; NULL: nothing is left out.
 * RC_LIMIT: over frame_limit, RC_MEMORY; then out is as before (and not failed). */
enum rc task_write(const struct delivery *, const struct task_options *, uint16_t attempt,
	int64_t deadline_ms, struct buf *out, struct task_gap *gap) MUST_CHECK;

#endif
