/* Make what is published for a delivery: replies, hand-backs, retry copies, dead letters. Layer:
 * message. Implements the header rules of PROTOCOL.md, sections 5 and 6: headers that belong to
 * wpool or the broker are removed; what would close a channel or deliver a copy elsewhere (user_id,
 * a foreign expiration, CC, BCC) is never published; the rest keeps its type. Each publish has its
 * parcel's number in the property cluster_id (unused by AMQP and RabbitMQ), because basic.return
 * has no delivery tag. */
#ifndef MESSAGE_COPY_H
#define MESSAGE_COPY_H

#include "amqp/channel.h"
#include "amqp/properties.h"
#include "amqp/table.h"
#include "core/tasks/delivery.h"

/* Maximum of fields in a header table that we publish, nested ones counted. It is below
 * TABLE_FIELDS_MAX, because a copy comes back to us with fields that the broker adds: about fifteen
 * for each dead-letter exchange (x-death and others). */
#define COPY_FIELDS_MAX (TABLE_FIELDS_MAX - 64)
/* Maximum of fields in a worker's reply, so that what we add, and a trace, still fit. */
#define REPLY_FIELDS_MAX (COPY_FIELDS_MAX - 8)

/* True: a worker may set this header table in an answer; it is valid and not too large. */
bool reply_headers_fit(struct text table);

struct copy_options {
	struct text queue;       /* the pool's own */
	struct text dead_letter; /* its dead-letter queue */
	struct text retry_queue; /* of a copy with a delay; empty: the pool's own queue, at once, or
				    of a LATER that no queue can have its name */
	struct text expiration;  /* of a copy for retry_queue: milliseconds as text */
	uint32_t frame_max;      /* the publish connection's */
	uint64_t now_s;          /* wall clock, for x-wpool-first-failed */
};

/* Fill *ret_publish for the parcel. Properties are written into scratch, which is cleared first;
 * other texts are borrowed from parcel, delivery and options. All are valid until the next use of
 * scratch. Headers that do not fit into the header frame are left out, the largest first, and then
 * those beyond COPY_FIELDS_MAX; x-wpool-cut names them. From a reply only the trace that it
 * inherits can be left out, because answer_read checked the rest. RC_MEMORY. */
enum rc copy_build(const struct parcel *, const struct copy_options *, struct buf *scratch,
	struct amqp_publish *ret_publish) MUST_CHECK;
/* Clear the properties that must not be published again: an old expiration, the user_id of another
 * user, and a reply_to that only its own channel may use. The last two would close the channel. */
void copy_make_safe(struct properties *);
/* Set the number of a publish on its channel; a returned message has it, while basic.return has
 * none. digits is borrowed as long as the properties. */
void copy_set_number(struct properties *, uint64_t number, char digits[TEXT_DECIMAL_MAX]);
/* The number in a returned message's raw properties; 0: it is not one of ours. */
uint64_t copy_returned_number(struct text properties);

#endif
