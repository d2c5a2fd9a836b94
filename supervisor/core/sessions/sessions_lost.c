/* A channel is lost, and its messages come back on the next one. */
#include "core/sessions/sessions_internal.h"
#include "core/tasks/source.h"

#include <assert.h>

/* From the latest to the oldest, so that lane->detached becomes the oldest one, and so that those
 * that were released are before all others again. */
void sessions_detach(struct sessions *sessions, struct source *source, mtime now)
{
	struct link *before;
	for (struct link *link = source->unacked.prev; link != &source->unacked; link = before) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		before = link->prev;
		if (!delivery->session)
			continue;
		struct lane *lane = lane_of(delivery);
		source_forget(delivery);
		if (delivery->state == DELIVERY_RELEASED) {
			delivery->state = DELIVERY_SETTLED;
			delivery->is_aged = false;
			list_prepend(&lane->open, &delivery->in_lane);
		}
		lane->detached = delivery;
		sessions->detached++;
		session_update(sessions, delivery->session, now);
	}
}

static void advance(struct sessions *sessions, struct lane *lane)
{
	struct link *next = lane->detached->in_lane.next;
	lane->detached = next == &lane->open ? NULL : lane_delivery(next);
	sessions->detached--;
}

/* Its message comes again as a new delivery, or never. What a worker or the broker has of it is
 * dropped when that ends. */
static void give_up(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	struct session *session = delivery->session;
	sessions->given_up++;
	list_remove(&delivery->in_lane);
	if (delivery->state == DELIVERY_SENT) {
		delivery->is_dropped = true;
		return;
	}
	if (delivery->state == DELIVERY_ANSWERED && delivery->parcel.seq.number) {
		session->unacked--;
		delivery->session = NULL;
		return;
	}
	if (delivery->state == DELIVERY_ANSWERED)
		outbox_take(sessions->outbox, &delivery->parcel);
	if (delivery->state == DELIVERY_QUEUED) {
		list_remove(&delivery->place);
		session_count_waiting(sessions, session, UINT32_MAX);
	}
	sessions_remove(sessions, delivery, now);
}

static void give_up_lane(
	struct sessions *sessions, struct session *session, struct lane *lane, mtime now)
{
	session->unacked++; /* it must not end meanwhile */
	while (lane->detached) {
		struct delivery *delivery = lane->detached;
		advance(sessions, lane);
		give_up(sessions, delivery, now);
	}
	session->unacked--;
	session_update(sessions, session, now);
	session_end_if_over(sessions, session, now);
}

/* From the last one to the first: one that ends gives its number to the last. */
void sessions_give_up_all(struct sessions *sessions, mtime now)
{
	for (uint32_t i = sessions->count; sessions->detached + sessions->heirs > 0 && i-- > 0;) {
		struct session *session = sessions->all[i];
		sessions->heirs -= session->inherited != NULL;
		session_disinherit(session);
		session->unacked++;
		for (int lane = 0; lane < LANE_COUNT; lane++)
			give_up_lane(sessions, session, &session->lanes[lane], now);
		session->unacked--;
		session_end_if_over(sessions, session, now);
	}
}

/* A queue gives back what was unacked before it delivers anything else. So a message that was never
 * delivered before shows that nothing else comes back; and another message of the same lane shows
 * that the detached ones of the lane do not. */
struct delivery *sessions_match(struct sessions *sessions, const struct delivery *delivery,
	mtime now, bool (*is_same)(void *io, const struct delivery *, const struct delivery *),
	void *io)
{
	if (sessions->detached + sessions->heirs == 0)
		return NULL;
	if (!delivery->redelivered) {
		sessions_give_up_all(sessions, now);
		return NULL;
	}
	struct session *session = delivery->key.len ? sessions_find(sessions, delivery->key) : NULL;
	if (!session)
		return NULL;
	struct lane *lane = &session->lanes[delivery->is_high ? LANE_HIGH : LANE_NORMAL];
	if (lane->detached && is_same(io, lane->detached, delivery))
		return lane->detached;
	give_up_lane(sessions, session, lane, now);
	return NULL;
}

void sessions_reattached(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	struct lane *lane = lane_of(delivery);
	assert(lane->detached == delivery && delivery->source);
	advance(sessions, lane);
	sessions->reattached++;
	lane_release(lane);
	session_update(sessions, delivery->session, now);
}
