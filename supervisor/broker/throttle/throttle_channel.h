/* The channel of a throttle that supervisors share (core/throttle/member.h), as a state machine.
 * Layer: broker, without I/O. It declares the queue of requests, which has a single active
 * consumer, consumes it, and gets its answers by direct reply-to. Nothing is acked or confirmed: a
 * request that is lost is asked again. Opens the channel again after each close. Refuses what is no
 * request and no answer. All times are those of the throttle. */
#ifndef BROKER_THROTTLE_CHANNEL_H
#define BROKER_THROTTLE_CHANNEL_H

#include "amqp/channel.h"
#include "broker/channel_log.h"
#include "core/throttle/member.h"

/* Before the name of the throttle. */
#define THROTTLE_QUEUE_PREFIX "wpool.throttle."

/* Declare the queue of a throttle's requests; passive: only ask whether it is there. The name is
 * borrowed for the call. */
void throttle_queue_declare(struct connection *, uint16_t channel, struct text queue, bool passive);

struct throttle_channel;

/* The member and the log are borrowed until throttle_channel_free; name: of the throttle. NULL: out
 * of memory. */
struct throttle_channel *throttle_channel_new(
	struct member *, struct text name, const struct channel_log *, uint32_t seed);
/* Closes the channel if the connection is open. */
void throttle_channel_free(struct throttle_channel *);
/* The connection is open (borrowed until throttle_channel_down), or gone. number: of the channel,
 * up to the connection's limit, and closed. */
void throttle_channel_up(struct throttle_channel *, struct connection *, uint16_t number);
void throttle_channel_down(struct throttle_channel *);
/* Handle an event of the channel. The content's memory stays the caller's. */
void throttle_channel_on_event(struct throttle_channel *, const struct amqp_event *, mtime now);
/* End for good: if this member leads, what it knows goes to the next one first, within a second. */
void throttle_channel_leave(struct throttle_channel *, mtime now);
bool throttle_channel_has_left(const struct throttle_channel *);
/* When to call throttle_channel_tick; MTIME_NEVER: it has nothing to do. */
mtime throttle_channel_deadline(const struct throttle_channel *, bool may_ask);
/* may_ask: what is sent now is on its way at once. Else no request is made: it would expire only
 * after it has come to the broker, and be granted starts that nobody can use. */
void throttle_channel_tick(struct throttle_channel *, bool may_ask, mtime now);

#endif
