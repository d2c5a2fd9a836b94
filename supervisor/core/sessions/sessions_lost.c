/* A channel is lost, and its messages come back on the next one. */
#include "core/sessions/sessions_internal.h"
#include "core/tasks/source.h"

#include <assert.h>

/* difference: 1 or -1. */
static void count_detached(
	struct sessions *sessions, const struct delivery *delivery, int32_t difference)
{
	sessions->detached += difference;
	if (delivery->state == DELIVERY_SETTLED)
		sessions->settled += difference;
}

/* Enter it before what is detached already; after a release also in its lane again. */
static void enter(struct sessions *sessions, struct delivery *delivery)
{
	struct lane *lane = delivery->session ? lane_of(delivery) : NULL;
	if (!lane)
		list_prepend(&sessions->lost, &delivery->in_lane);
	else
		list_insert_before(lane->detached ? &lane->detached->in_lane : &lane->open,
			&delivery->in_lane);
}

void sessions_detach(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	bool was_released = delivery->state == DELIVERY_RELEASED;
	source_forget(delivery);
	if (was_released) {
		delivery->state = DELIVERY_SETTLED;
		delivery->is_aged = false;
	}
	if (was_released || !delivery->session)
		enter(sessions, delivery);
	count_detached(sessions, delivery, 1);
	if (!delivery->session)
		return;
	list_prepend(&sessions->keyed_lost, &delivery->unacked);
	lane_of(delivery)->detached = delivery;
	session_update(sessions, delivery->session, now);
}

static void advance(struct sessions *sessions, struct lane *lane)
{
	struct link *next = lane->detached->in_lane.next;
	count_detached(sessions, lane->detached, -1);
	lane->detached = next == &lane->open ? NULL : lane_delivery(next);
}

static void free_given_up(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	struct session *session = delivery->session;
	if (delivery->state == DELIVERY_ANSWERED)
		outbox_take(sessions->outbox, &delivery->parcel);
	if (delivery->state == DELIVERY_QUEUED && session) {
		list_remove(&delivery->place);
		session_count_waiting(sessions, session, -1);
	}
	if (session)
		sessions_remove(sessions, delivery, now);
	else
		delivery_free(delivery);
}

/* Its message comes again as a new delivery, or never. What a worker or the broker has of it is
 * dropped when that ends. */
static void give_up(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	sessions->given_up++;
	list_remove(&delivery->in_lane);
	if (delivery->state == DELIVERY_SENT)
		return;
	if (delivery->state != DELIVERY_ANSWERED || !delivery->parcel.seq.number) {
		free_given_up(sessions, delivery, now);
	} else if (delivery->session) {
		delivery->session->unacked--;
		delivery->session = NULL;
	}
}

void sessions_forget_lost(struct sessions *sessions, struct delivery *delivery)
{
	count_detached(sessions, delivery, -1);
	list_remove(&delivery->in_lane);
	delivery_free(delivery);
}

static void give_up_lane(
	struct sessions *sessions, struct session *session, struct lane *lane, mtime now)
{
	session->unacked++; /* it must not end meanwhile */
	while (lane->detached) {
		struct delivery *delivery = lane->detached;
		list_remove(&delivery->unacked);
		advance(sessions, lane);
		give_up(sessions, delivery, now);
	}
	session_update(sessions, session, now);
	session_expect_no_more(sessions, session, now);
	session->unacked--;
	session_end_if_over(sessions, session, now);
}

/* From the last one to the first: one that ends gives its number to the last. */
static void disinherit_all(struct sessions *sessions, mtime now)
{
	for (uint32_t i = sessions->count; sessions->with_inherited > 0;) {
		assert(i > 0);
		struct session *session = sessions->all[--i];
		sessions->with_inherited -= session->inherited != NULL;
		session_disinherit(session);
		session_end_if_over(sessions, session, now);
	}
}

/* In the broker's order, in which they are near each other in memory. */
void sessions_give_up_all(struct sessions *sessions, mtime now)
{
	struct link *link;
	disinherit_all(sessions, now);
	while ((link = list_first(&sessions->keyed_lost))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		give_up_lane(sessions, delivery->session, lane_of(delivery), now);
	}
	while ((link = list_first(&sessions->lost))) {
		count_detached(sessions, lane_delivery(link), -1);
		give_up(sessions, lane_delivery(link), now);
	}
}

void sessions_resume_all(struct sessions *sessions, mtime now)
{
	for (uint32_t i = sessions->count; i-- > 0;)
		if (sessions->all[i]->is_paused)
			sessions_pause(sessions, sessions->all[i], false, now);
}

/* Of those without a key, the first that is lost comes back before the others. A message that is
 * another one waited for a worker, or its ack was lost. A suspect that waits is replaced by its
 * redelivery, which has the broker's present counts. */
static struct delivery *match_lost(struct sessions *sessions, struct delivery *delivery,
	bool (*is_same)(void *io, const struct delivery *, const struct delivery *), void *io)
{
	struct link *first = list_first(&sessions->lost);
	struct delivery *known = first ? lane_delivery(first) : NULL;
	if (!known || !is_same(io, known, delivery))
		return NULL;
	if (known->state != DELIVERY_QUEUED)
		return known;
	delivery->is_suspect = true;
	sessions_forget_lost(sessions, known);
	return NULL;
}

/* One with a key whose time had not come: it was put into no session. */
static bool is_first_lost(const struct sessions *sessions, const struct delivery *delivery,
	bool (*is_same)(void *io, const struct delivery *, const struct delivery *), void *io)
{
	struct link *first = list_first(&sessions->lost);
	return first && lane_delivery(first)->key.len > 0 &&
	       is_same(io, lane_delivery(first), delivery);
}

/* A queue gives back what was unacked before it delivers anything else. So a message that was never
 * delivered before shows that nothing else comes back; and another message of the same lane shows
 * that the detached ones of the lane do not. What is early is in no lane. */
struct delivery *sessions_match(struct sessions *sessions, struct delivery *delivery, bool is_early,
	mtime now, bool (*is_same)(void *io, const struct delivery *, const struct delivery *),
	void *io)
{
	if (sessions->detached + sessions->with_inherited == 0)
		return NULL;
	if (!delivery->redelivered) {
		sessions_give_up_all(sessions, now);
		return NULL;
	}
	if (!delivery->key.len || is_first_lost(sessions, delivery, is_same, io))
		return match_lost(sessions, delivery, is_same, io);
	struct session *session = is_early ? NULL : sessions_find(sessions, delivery->key);
	if (!session)
		return NULL;
	struct lane *lane = session_lane(session, delivery->is_high);
	struct delivery *known = lane->detached;
	if (known && is_same(io, known, delivery)) {
		list_remove(&known->unacked);
		return known;
	}
	give_up_lane(sessions, session, lane, now);
	return NULL;
}

static void reattach_lost(struct sessions *sessions, struct delivery *delivery)
{
	assert(list_first(&sessions->lost) == &delivery->in_lane && delivery->source);
	list_remove(&delivery->in_lane);
	count_detached(sessions, delivery, -1);
	if (delivery->state == DELIVERY_SETTLED)
		source_release(delivery);
}

void sessions_reattached(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	sessions->reattached++;
	if (!delivery->session) {
		reattach_lost(sessions, delivery);
		return;
	}
	struct lane *lane = lane_of(delivery);
	assert(lane->detached == delivery && delivery->source);
	advance(sessions, lane);
	lane_release(lane, delivery);
	session_update(sessions, delivery->session, now);
}
