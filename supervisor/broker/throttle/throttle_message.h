/* The messages of a throttle that supervisors share (core/throttle/request.h). Layer: broker. They
 * are transient, and anybody may have sent one: each is refused with the reason unless all of it is
 * in its range. What a member does with the numbers is not known here.
 *
 * The body is one array of MessagePack, whose elements are integers of 0 or more, of any width:
 *
 *   request  1 0 member number lease version limit period leader U N U*(key stamp starts)
 *            N*(key starts late)
 *   answer   1 1 leader member number version limit period stamp in_windows keys_known N
 *            N*(key starts wait is_unsure)
 *   leave    1 2 leader
 *   take     1 3 member
 *   handover 1 4 leader member version limit period sure_for N N*(key starts after)
 *
 * First come the version of this protocol and the kind. All others have the names of the structs'
 * members: version, limit and period are the figures, U is unused_count, N is count. Times are in
 * microseconds. is_unsure is 0 or 1. A leader that leaves puts `leave` into the queue, the next one
 * sends `take` to its reply_to, and gets the handover. The array ends with the last element, and
 * the body with the array. */
#ifndef BROKER_THROTTLE_MESSAGE_H
#define BROKER_THROTTLE_MESSAGE_H

#include "amqp/channel.h"
#include "core/throttle/handover.h"

/* The type of all, as a property. */
#define THROTTLE_MESSAGE_TYPE TEXT("wpool-throttle")
/* Bytes of a body. All that is written fits with its properties, and so would nine bytes for each
 * integer. */
#define THROTTLE_MESSAGE_MAX  (64 * 1024)
#define THROTTLE_HANDOVER_MAX (2 * 1024 * 1024) /* of the body of a handover */
/* No honest time of a clock is later, and no honest wait longer: ten of the longest periods. */
#define THROTTLE_STAMP_MAX (((mtime)1 << 62) - 1)
#define THROTTLE_WAIT_MAX  (10 * SHARED_PERIOD_MAX)

/* Fill *ret: for the default exchange, with the direct reply-to of its channel, and to expire with
 * the lease, in whole milliseconds, rounded up. Properties and body are written into scratch, which
 * is cleared first; they and queue are borrowed. RC_LIMIT: a value is out of the range that
 * throttle_request_read accepts, or queue is longer than 255 bytes. RC_MEMORY. */
enum rc throttle_request_write(const struct throttle_request *, struct text queue,
	struct buf *scratch, struct amqp_publish *ret) MUST_CHECK;
/* Read a body. NULL, or a static text: why it is no request; then *ret has any content. Nothing is
 * allocated. */
const char *throttle_request_read(struct text body, struct throttle_request *ret) MUST_CHECK;

/* The same for answers, without reply-to and expiration. reply_to: of the request, the routing key
 * here; a sender may have set it to any bytes. RC_LIMIT: also if it is longer than 255 bytes. */
enum rc throttle_answer_write(const struct throttle_answer *, struct text reply_to,
	struct buf *scratch, struct amqp_publish *ret) MUST_CHECK;
const char *throttle_answer_read(struct text body, struct throttle_answer *ret) MUST_CHECK;

/* What the message is; THROTTLE_NO_MESSAGE: none of these. */
enum throttle_message {
	THROTTLE_REQUEST,
	THROTTLE_ANSWER,
	THROTTLE_LEAVE,
	THROTTLE_TAKE,
	THROTTLE_HANDOVER,
	THROTTLE_NO_MESSAGE,
};
enum throttle_message throttle_message_kind(struct text body);

/* A leader leaves: for the queue, to expire after the lifetime. id: its number as a member.
 * RC_LIMIT, RC_MEMORY. */
enum rc throttle_leave_write(uint64_t id, mtime lifetime, struct text queue, struct buf *scratch,
	struct amqp_publish *ret) MUST_CHECK;
const char *throttle_leave_read(struct text body, uint64_t *ret_id) MUST_CHECK;
/* The answer to that: what it knows is wanted. */
enum rc throttle_take_write(uint64_t id, struct text reply_to, struct buf *scratch,
	struct amqp_publish *ret) MUST_CHECK;
const char *throttle_take_read(struct text body, uint64_t *ret_id) MUST_CHECK;
/* The answer to that. */
enum rc throttle_handover_write(const struct throttle_handover *, struct text reply_to,
	struct buf *scratch, struct amqp_publish *ret) MUST_CHECK;
const char *throttle_handover_read(struct text body, struct throttle_handover *ret) MUST_CHECK;

#endif
