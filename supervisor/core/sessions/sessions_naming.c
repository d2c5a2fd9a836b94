#include "core/sessions/sessions_internal.h"
#include "core/tasks/source.h"

/* How many sessions are looked at for one that can be named: the others wait for an ack or a place,
 * which are few. */
#define LOOKS_MAX 64

static bool is_of(const struct naming *naming, const struct delivery *delivery)
{
	return naming->tag == delivery->tag && naming->epoch == delivery->source->epoch;
}

/* One that no worker gets needs no name. */
bool sessions_must_name(const struct sessions *sessions, const struct delivery *next, mtime now)
{
	const struct naming *naming = &sessions->naming;
	if (now >= naming->until || !next->redelivered || next->invalid)
		return false;
	return !naming->is_confirmed || !is_of(naming, next);
}

void sessions_start_naming(struct sessions *sessions, mtime until, mtime now)
{
	sessions->naming = (struct naming){.until = until, .sent = sessions->naming.sent};
	for (uint32_t i = 0; i < sessions->count; i++)
		session_update(sessions, sessions->all[i], now);
}

bool sessions_has_name(const struct sessions *sessions)
{
	return sessions->naming.tag > 0 || sessions->naming.sent > 0;
}

/* A name is found by its lane, so it is given only to the message that would come back first. */
static bool can_be_named(const struct sessions *sessions, const struct session *session)
{
	return lane_has_first(session_next(session)) && session_has_place_for(sessions, session);
}

void sessions_name_next(struct sessions *sessions, const struct effects *effects, void *io)
{
	struct link *first;
	for (int i = 0; i < LOOKS_MAX && !sessions_has_name(sessions) &&
			(first = list_first(&sessions->unnamed));
		i++) {
		struct session *session = CONTAINER_OF(first, struct session, turn.place);
		const struct delivery *next = session_next(session);
		list_remove(first);
		list_append(&sessions->unnamed, first);
		if (!can_be_named(sessions, session))
			continue;
		sessions->naming.tag = next->tag;
		sessions->naming.epoch = next->source->epoch;
		sessions->naming.session = session;
		effects->name(io, &(struct session_handover){.key = session_key(session),
					  .has_message = true,
					  .past.is_high = next->is_high,
					  .past.is_poison = true});
	}
}

void sessions_named(struct sessions *sessions, mtime now)
{
	struct naming *naming = &sessions->naming;
	naming->is_confirmed = naming->tag > 0;
	if (naming->session)
		session_update(sessions, naming->session, now);
}

bool sessions_name_is_over(const struct sessions *sessions)
{
	const struct naming *naming = &sessions->naming;
	const struct session *session = naming->session;
	if (!session || (session->state != SESSION_READY && session->state != SESSION_RUNNING &&
				!session->is_unnamed))
		return true;
	return !is_of(naming, session_next(session));
}

struct session *sessions_forget_name(struct sessions *sessions, mtime now)
{
	struct session *session = sessions->naming.session;
	sessions->naming =
		(struct naming){.until = sessions->naming.until, .sent = sessions->naming.sent};
	if (session)
		session_update(sessions, session, now);
	return session;
}

void sessions_name_sent(struct sessions *sessions, const struct delivery *delivery)
{
	if (is_of(&sessions->naming, delivery))
		sessions->naming =
			(struct naming){.until = sessions->naming.until, .sent = delivery->id};
}

bool sessions_name_ended(struct sessions *sessions, uint64_t id)
{
	if (sessions->naming.sent != id)
		return false;
	sessions->naming.sent = 0;
	return true;
}

void sessions_stop_naming(struct sessions *sessions, mtime now)
{
	struct link *first;
	while (now >= sessions->naming.until && (first = list_first(&sessions->unnamed)))
		session_update(sessions, CONTAINER_OF(first, struct session, turn.place), now);
}
