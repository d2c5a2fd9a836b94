/* After supervisors died in a row: which message the token names, and which wait for that. A
 * message that waits for its name keeps its session out of the ring, so others run meanwhile. */
#include "core/sessions/sessions_internal.h"
#include "core/tasks/source.h"

/* How many sessions are looked at for one that can be named: those that cannot wait for an ack. */
#define LOOKS_MAX 64

bool sessions_name_is_of(const struct sessions *sessions, const struct delivery *delivery)
{
	const struct naming *naming = &sessions->naming;
	return naming->tag == delivery->tag && naming->epoch == delivery->source->epoch;
}

/* One that no worker gets needs no name. */
bool sessions_await_name(const struct sessions *sessions, const struct delivery *next, mtime now)
{
	const struct naming *naming = &sessions->naming;
	if (now >= naming->until || !next->redelivered || next->invalid)
		return false;
	return !naming->is_named || !sessions_name_is_of(sessions, next);
}

void sessions_be_careful(struct sessions *sessions, mtime until, mtime now)
{
	sessions->naming = (struct naming){.until = until};
	for (uint32_t i = 0; i < sessions->count; i++)
		session_update(sessions, sessions->all[i], now);
}

/* A name is found by its lane, so it is given only to the message that would come back first. */
void sessions_name_next(struct sessions *sessions, const struct effects *effects, void *io)
{
	struct link *first;
	for (int i = 0;
		i < LOOKS_MAX && !sessions->naming.tag && (first = list_first(&sessions->unnamed));
		i++) {
		struct session *session = CONTAINER_OF(first, struct session, turn.place);
		const struct delivery *next = session_next(session);
		if (!lane_has_first(next)) {
			list_remove(first);
			list_append(&sessions->unnamed, first);
			continue;
		}
		sessions->naming.tag = next->tag;
		sessions->naming.epoch = next->source->epoch;
		sessions->naming.life = session->life;
		effects->name(io, &(struct session_handover){.key = session_key(session),
					  .has_message = true,
					  .is_high = next->is_high,
					  .is_poison = true});
	}
}

/* The session that was named stands first in its list, unless it has left that. */
void sessions_named(struct sessions *sessions, mtime now)
{
	struct link *first = list_first(&sessions->unnamed);
	sessions->naming.is_named = true;
	if (first)
		session_update(sessions, CONTAINER_OF(first, struct session, turn.place), now);
}

bool sessions_forget_name(struct sessions *sessions)
{
	bool was_named = sessions->naming.tag > 0;
	sessions->naming = (struct naming){.until = sessions->naming.until};
	return was_named;
}

bool sessions_unname(struct sessions *sessions, struct session *session, mtime now)
{
	if (sessions->naming.is_sent || sessions->naming.life != session->life)
		return false;
	sessions_forget_name(sessions);
	session_update(sessions, session, now);
	return true;
}

void sessions_end_careful(struct sessions *sessions, mtime now)
{
	struct link *first;
	while (now >= sessions->naming.until && (first = list_first(&sessions->unnamed)))
		session_update(sessions, CONTAINER_OF(first, struct session, turn.place), now);
}
