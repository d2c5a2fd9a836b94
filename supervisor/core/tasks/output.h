/* What a worker sent in one frame, decoded and checked. Layer: core, plain data. Made by message/,
 * moved into the pool inside an event; all texts point into the same block. */
#ifndef CORE_TASKS_OUTPUT_H
#define CORE_TASKS_OUTPUT_H

#include "base/text.h"
#include "core/tasks/reason.h"

#include <stdbool.h>

#define STATUS_ACCEPTED  (-2) /* acked now, and its task stays open */
#define STATUS_PROGRESS  (-1)
#define STATUS_DONE      200
#define STATUS_REPLY     201
#define STATUS_DONE_LAST 205 /* done, and its worker ends */
#define STATUS_REJECTED  400 /* to 499 */
#define STATUS_THROTTLED 429 /* of a refusal by a throttle */
#define STATUS_FAILED    500 /* to 599 */
#define STATUS_POSTPONED 503 /* with postpone_ms */

/* 365 days, as for limits.hard. */
#define OUTPUT_HARD_LIMIT_MAX (INT64_C(365) * 24 * 60 * 60 * 1000)

struct output {
	uint64_t task_id;         /* that it names; 0: none */
	int32_t status;           /* of PROTOCOL.md, section 6, checked; 0: no answer */
	enum reason invalid;      /* REASON_NONE, or why it cannot be published */
	struct text body;         /* of the reply or the progress note */
	struct text headers;      /* AMQP table, without its length; stripped of what is ours */
	struct text reply_queue;  /* empty: the task's own reply_to */
	struct text content_type; /* empty: the task's own */
	struct text stderr_line;  /* the last line that the worker wrote to stderr; may be empty */
	struct text detail;       /* what it sent against the protocol, to be shown; may be empty */
	int64_t retry_after_ms;   /* what the worker asked for; -1: nothing */
	int64_t postpone_ms;      /* the same, of what has not failed; -1: nothing that is valid */
	int64_t hard_limit_ms;    /* of progress: the hard limit that the worker sets, at most
				     OUTPUT_HARD_LIMIT_MAX; 0: one that cannot be; -1: none */
	int64_t soft_ms;          /* the header TimeoutMilliseconds, of the rest of a task; -1:
				     none */
	size_t size;              /* of bytes */
	uint8_t bytes[];
};

/* False: its task stays open. */
static inline bool output_ends_task(const struct output *output)
{
	return output->status != STATUS_PROGRESS && output->status != STATUS_ACCEPTED;
}

/* Allocate an output with size bytes in .bytes, owned by the caller. Texts are empty, status is 0,
 * retry_after_ms, postpone_ms, hard_limit_ms and soft_ms -1. NULL: out of memory. */
struct output *output_new(size_t size);
/* A new output with copies of these; NULL: out of memory. */
struct output *output_copy_of(struct text body, struct text headers, struct text content_type);
/* Return the output with .stderr_line set; the old one moves in, and the result is another block.
 * Out of memory: return it unchanged. */
struct output *output_add_stderr_line(struct output *, struct text line);
/* The same with .detail; without an output, return a new one. NULL: out of memory, or neither. */
struct output *output_add_detail(struct output *, struct text detail);
/* Return what shows why an attempt failed: its status, the line on stderr and the detail. The old
 * one, or NULL, moves in. NULL: there was none, or no memory. */
struct output *output_of_failure(struct output *);
void output_free(struct output *);
/* The bytes that it takes in memory, for the limits. */
size_t output_size(const struct output *);

#endif
