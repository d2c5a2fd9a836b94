/* What the files of the sessions share. Layer: core. */
#ifndef CORE_SESSIONS_SESSIONS_INTERNAL_H
#define CORE_SESSIONS_SESSIONS_INTERNAL_H

#include "core/sessions/sessions.h"

/* True: a worker has the front task, or it is in the list of those that wait to run alone. */
static inline bool session_is_at_work(const struct session *session)
{
	const struct delivery *front = session->front;
	return front && (front->state == DELIVERY_SENT || !list_is_empty(&front->place));
}

static inline struct delivery *lane_delivery(const struct link *in_lane)
{
	return CONTAINER_OF(in_lane, struct delivery, in_lane);
}

/* The first task of the lane that waits, or NULL. */
static inline struct delivery *lane_first(const struct lane *lane)
{
	struct link *first = list_first(&lane->waiting);
	return first ? CONTAINER_OF(first, struct delivery, place) : NULL;
}

/* sessions.c */
/* The task that the session gives next, or NULL. */
struct delivery *session_next(const struct session *);
/* It has one of max_active, or there is one. */
bool session_has_place_for(const struct sessions *, const struct session *);
/* Something of the session has changed: give it the state that it has now. */
void session_update(struct sessions *, struct session *, mtime now);
/* difference: 1 or -1. */
void session_count_waiting(struct sessions *, struct session *, int32_t difference);
/* End it if only an ack was missing. */
void session_end_if_over(struct sessions *, struct session *, mtime now);
/* What was given up comes again as a new message, or never: an order to end does not wait for it.
 * The session must not end now. */
void session_expect_no_more(struct sessions *, struct session *, mtime now);
/* Release the settled deliveries at the head of the lane, and this one if it waits for none. */
void lane_release(struct lane *, struct delivery *settled);

/* sessions_throttled.c */
/* It does not wait for a throttle any more. The caller updates its state. */
void session_leave_group(struct sessions *, struct session *, mtime now);

/* sessions_naming.c */
/* The task, which is next in its session, must be named before it is sent. */
bool sessions_must_name(const struct sessions *, const struct delivery *next, mtime now);
/* If no name is needed any more, nothing waits for one. */
void sessions_stop_naming(struct sessions *, mtime now);

/* sessions_handover.c */
/* Give a message that has come the past that its lane inherited. */
void session_inherit(struct sessions *, struct delivery *, mtime now);
void session_disinherit(struct session *);

#endif
