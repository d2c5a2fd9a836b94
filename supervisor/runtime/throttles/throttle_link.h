/* The connection on which a supervisor asks for its starts of shared throttles, and answers others
 * while it leads. Layer: runtime. It is one of its own: a broker under an alarm stops reading it,
 * and neither acks nor replies must wait for that; and it is opened when the first shared throttle
 * is there. */
#ifndef RUNTIME_THROTTLE_LINK_H
#define RUNTIME_THROTTLE_LINK_H

#include "net/broker_link.h"
#include "runtime/throttles/throttles.h"

struct throttle_link;

/* shared: everything but the names; what it points to and the throttles are borrowed until
 * throttle_link_free. NULL: out of memory. */
struct throttle_link *throttle_link_new(
	struct ev_loop *, const struct broker_link_config *shared, struct throttles *);
void throttle_link_free(struct throttle_link *);
/* Send what is due; once in each turn, after the pools. */
void throttle_link_turn(struct throttle_link *);
/* How long until throttle_link_turn has something to do; MTIME_NEVER: only after events. */
mtime throttle_link_wait(const struct throttle_link *);
void throttle_link_close(struct throttle_link *);
/* After throttle_link_close: true when no event will follow. */
bool throttle_link_is_closed(const struct throttle_link *);

#endif
