/* What a supervisor that leaves passes to the next one, and how that one applies it. */
#include "core/sessions/sessions_internal.h"

#include <assert.h>
#include <stdlib.h>

static void inherited_free(struct inherited *inherited)
{
	output_free(inherited->rest);
	free(inherited);
}

void session_disinherit(struct session *session)
{
	struct inherited *inherited;
	while ((inherited = session->inherited)) {
		session->inherited = inherited->next;
		inherited_free(inherited);
	}
}

/* What is handed over is applied to the message of the lane that comes back first. After a forced
 * stop that may be one before it, whose publish was not confirmed. One that waits to run alone has
 * its past, too, and one that a former holder died of. */
static bool has_past(const struct session *session, const struct delivery *delivery)
{
	if (!delivery)
		return false;
	assert(delivery->state == DELIVERY_QUEUED); /* no worker has a task any more */
	bool is_poison = delivery->invalid == REASON_COMES_BACK;
	return lane_has_first(delivery) &&
	       (delivery == session->front || delivery->rest || is_poison);
}

/* rest: or NULL; borrowed. */
static void add_rest(struct session_handover *handover, const struct output *rest)
{
	handover->has_rest = rest != NULL;
	if (!rest)
		return;
	handover->body = rest->body;
	handover->headers = rest->headers;
	handover->content_type = rest->content_type;
}

static struct session_handover handover_of(
	const struct session *session, const struct delivery *delivery, mtime now)
{
	bool is_front = delivery == session->front;
	bool is_parked = is_front && session->timer.place;
	struct session_handover handover = {.key = session_key(session),
		.is_paused = session->is_paused,
		.has_message = true,
		.past = {.is_high = delivery->is_high,
			.is_later = is_front,
			.is_blocked = is_front && session->is_blocked,
			.is_poison = !is_front && delivery->invalid == REASON_COMES_BACK,
			.reason = is_front ? session->reason : REASON_NONE,
			.wait = is_parked ? mtime_max(session->timer.at - now, 0) : 0,
			.attempt = delivery->attempt,
			.slice = delivery->slice}};
	add_rest(&handover, delivery->rest);
	return handover;
}

/* What has not come back yet is handed on as it was found. */
static struct session_handover handover_of_inherited(
	const struct session *session, const struct inherited *inherited)
{
	struct session_handover handover = {.key = session_key(session),
		.is_paused = session->is_paused,
		.has_message = true,
		.past = inherited->past};
	add_rest(&handover, inherited->rest);
	return handover;
}

void sessions_hand_over(const struct sessions *sessions,
	void (*hand_over)(void *io, const struct session_handover *), void *io, mtime now)
{
	for (uint32_t i = 0; i < sessions->count; i++) {
		const struct session *session = sessions->all[i];
		const struct delivery *with_past[] = {session->front,
			lane_first(&session->lanes[LANE_HIGH]),
			lane_first(&session->lanes[LANE_NORMAL])};
		struct session_handover handover = {
			.key = session_key(session), .is_paused = session->is_paused};
		if (session->is_paused)
			hand_over(io, &handover);
		for (size_t at = 0; at < sizeof with_past / sizeof *with_past; at++) {
			if (!has_past(session, with_past[at]))
				continue;
			handover = handover_of(session, with_past[at], now);
			hand_over(io, &handover);
		}
		for (const struct inherited *at = session->inherited; at; at = at->next) {
			handover = handover_of_inherited(session, at);
			hand_over(io, &handover);
		}
	}
}

static struct inherited *inherited_new(const struct session_handover *handover)
{
	struct inherited *inherited = malloc(sizeof *inherited);
	struct output *rest = NULL;
	if (handover->has_rest)
		rest = output_copy_of(handover->body, handover->headers, handover->content_type);
	if (!inherited || (handover->has_rest && !rest)) {
		free(inherited);
		output_free(rest);
		return NULL;
	}
	*inherited = (struct inherited){.rest = rest, .past = handover->past};
	return inherited;
}

void sessions_take_over(
	struct sessions *sessions, const struct session_handover *handover, mtime now)
{
	struct session *session = sessions_open(sessions, handover->key, now);
	if (!session)
		return;
	session->is_paused |= handover->is_paused;
	struct inherited *inherited = handover->has_message ? inherited_new(handover) : NULL;
	if (inherited) {
		sessions->with_inherited += !session->inherited;
		inherited->next = session->inherited;
		session->inherited = inherited;
	}
	session_update(sessions, session, now);
}

/* The message waits; it is the first of its lane that has come. */
static void apply(struct sessions *sessions, struct delivery *delivery, struct inherited *inherited,
	mtime now)
{
	struct session *session = delivery->session;
	const struct message_past *past = &inherited->past;
	if (past->is_poison) {
		delivery->invalid = REASON_COMES_BACK;
		return;
	}
	delivery->attempt = past->attempt;
	delivery->slice = past->slice;
	delivery->rest = inherited->rest;
	inherited->rest = NULL;
	if (!past->is_later || session->front)
		return;
	list_remove(&delivery->place);
	session->front = delivery;
	sessions->active += !session->has_place;
	session->has_place = true;
	session->reason = (uint8_t)past->reason;
	session->is_blocked = past->is_blocked;
	delivery->is_later = true;
	if (past->wait > 0)
		timers_set(&sessions->timers, &session->timer, mtime_after(now, past->wait));
}

/* A message that was never delivered before has no past: it has ended what was inherited. */
void session_inherit(struct sessions *sessions, struct delivery *delivery, mtime now)
{
	struct inherited **at = &delivery->session->inherited, *found;
	while ((found = *at) && found->past.is_high != delivery->is_high)
		at = &found->next;
	if (!found)
		return;
	assert(delivery->redelivered);
	*at = found->next;
	sessions->with_inherited -= !delivery->session->inherited;
	apply(sessions, delivery, found, now);
	inherited_free(found);
}
