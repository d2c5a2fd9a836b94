/* What a task consists of now: of the message, or of the rest of its work, which a worker handed
 * back and the core keeps in memory (delivery->rest). Layer: message, private to task.c and
 * copy*.c. A rest has the same effect as the copy that is published for a task without a key. */
#ifndef MESSAGE_REST_H
#define MESSAGE_REST_H

#include "amqp/properties.h"
#include "core/tasks/delivery.h"

static inline struct text rest_body(const struct delivery *delivery)
{
	return delivery->rest ? delivery->rest->body : delivery->body;
}

/* The header table: of a rest with two kinds of the message's headers that the worker did not set:
 * its trace and the one that is its session's key, for a later replay. Borrowed from the delivery
 * or from scratch, which is cleared first; errors stay in scratch. */
struct text rest_headers(const struct delivery *, struct buf *scratch);
/* Set what a rest changes in the properties of its message. */
void rest_set_properties(const struct delivery *, struct properties *);
/* True: this header of the task is kept beside those that the worker set: a trace that it did not
 * continue. sets_trace, sets_state: the worker set traceparent, tracestate. */
bool rest_keeps_trace(struct text header, bool sets_trace, bool sets_state);

#endif
