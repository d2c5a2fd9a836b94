/* What we publish for a delivery: replies, hand-backs, retry copies, dead letters. Layer: message.
 * Implements the header rules of PROTOCOL.md, sections 5 and 6: what is ours or the broker's is
 * stripped, what would close a channel (user_id, a foreign expiration, CC, BCC) never goes out, the
 * rest keeps its type. Every publish carries its parcel's number in the property cluster_id (unused
 * by AMQP and by RabbitMQ), because basic.return tells no delivery tag. */
#ifndef MESSAGE_COPY_H
#define MESSAGE_COPY_H

#include "amqp/channel.h"
#include "amqp/properties.h"
#include "amqp/table.h"
#include "core/tasks/delivery.h"

/* Fields that a header table of ours has at most, nested ones counted. A copy comes back to us, and
 * the broker may have added its own by then: each time it went through a dead-letter exchange some
 * fifteen (x-death and its like). */
#define COPY_FIELDS_MAX (TABLE_FIELDS_MAX - 64)
/* Fields that a worker's reply may bring: what is added to it, and a trace, fit beside them. */
#define REPLY_FIELDS_MAX (COPY_FIELDS_MAX - 8)

struct copy_options {
	struct text queue;       /* the pool's own */
	struct text dead_letter; /* its dead-letter queue */
	struct text retry_queue; /* of a RETRY with a delay; empty: the pool's own queue, at once */
	struct text expiration;  /* of what goes there: milliseconds as text */
	uint32_t frame_max;      /* the publish connection's */
	uint64_t now_s;          /* wall clock, for x-wpool-first-failed */
};

/* Fills *ret_publish for the parcel. Its properties are written into scratch (cleared first), its
 * other texts are borrowed from parcel, delivery and options: all good until the next use of
 * scratch. Headers that would not fit the header frame are left out, the largest first, and then
 * those beyond COPY_FIELDS_MAX; x-wpool-cut names them. A reply can need that only for the trace
 * that it inherits, the rest was checked before. RC_MEMORY. */
enum rc copy_build(const struct parcel *, const struct copy_options *, struct buf *scratch,
	struct amqp_publish *ret_publish) MUST_CHECK;
/* Clear the properties that no publish of ours may have: an expiration that is over, a user_id
 * that is not ours, and a reply_to that only its own channel may use. The last two would close the
 * channel. */
void copy_make_safe(struct properties *);
/* Set the number of a publish on its channel, which a returned message brings back: basic.return
 * has none. digits is borrowed as long as the properties. */
void copy_set_number(struct properties *, uint64_t number, char digits[TEXT_DECIMAL_MAX]);
/* The number in a returned message's raw properties; 0: it is not one of ours. */
uint64_t copy_returned_number(struct text properties);

#endif
