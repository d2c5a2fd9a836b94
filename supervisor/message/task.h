/* Write a delivery as a task frame for a worker. Layer: message. Implements PROTOCOL.md, section 5:
 * body as str or bin, headers as text or typed, properties by option. */
#ifndef MESSAGE_TASK_H
#define MESSAGE_TASK_H

#include "amqp/table.h"
#include "base/buf.h"
#include "core/tasks/delivery.h"
#include "message/key_source.h"

enum task_body { TASK_BODY_AUTO, TASK_BODY_STR, TASK_BODY_BIN };
enum task_headers { TASK_HEADERS_TEXT, TASK_HEADERS_TYPED };
/* The words of these in a configuration, as config/choices.h has them. NULL-terminated. */
extern const char *const task_body_words[];
extern const char *const task_headers_words[];

struct task_options {
	enum task_body body;
	enum task_headers headers;
	bool properties;
	bool has_id;        /* with "7", the delivery's id, unless that is 0 */
	size_t frame_limit; /* bytes of a frame without its length */
	int64_t soft_ms;    /* TimeoutMilliseconds of a task without that header; 0: none */
	uint16_t attempts;  /* of a task in all, for its properties */
	struct text queue;  /* the pool's: OriginalQueueName */
};

struct task_facts_options {
	uint64_t body_limit;                   /* bytes; a delivery with a larger body is invalid */
	const struct key_source *key;          /* borrowed for the call; NULL: no sessions */
	const struct throttle_keys *throttles; /* borrowed for the call; NULL: none */
};

/* Set the members of a delivery that depend on its raw properties (delivery->properties, body and
 * routing_key are set): headers, key, is_high, reply_to, correlation_id, attempt, is_suspect,
 * slice, renewed, returns, soft_ms, not_before_ms, throttle_keys, invalid. Never fails: a delivery
 * that cannot be read, or has a body that is too large or a key that cannot be used, becomes
 * invalid. */
void task_read_facts(struct delivery *, const struct task_facts_options *);

/* The soft limit in a header, a number of any type or its digits as text; -1: none that is valid.
 */
int64_t task_read_timeout(const struct table_field *);

/* A large body that is not copied into the frame: the caller writes it from the delivery. */
struct task_gap {
	size_t size_min;  /* of a body that is left out; one to repair, and that of a rest, which
			     the next one may replace, is always copied */
	size_t at;        /* its position in the frame, the frame's length included */
	struct text body; /* in the delivery; empty: nothing was left out */
};

/* Append length and frame to out, with or without the body (*gap). Of a delivery with a rest, the
 * rest's body, headers and content type take the place of the message's. attempt: from 1.
 * deadline_ms: the hard limit; 0: none. gap: .size_min is set by the caller; NULL: the body is
 * copied. RC_LIMIT: over frame_limit; RC_MEMORY. After an error out is as before, and not failed.
 */
enum rc task_write(const struct delivery *, const struct task_options *, uint16_t attempt,
	int64_t deadline_ms, struct buf *out, struct task_gap *gap) MUST_CHECK;

#endif
