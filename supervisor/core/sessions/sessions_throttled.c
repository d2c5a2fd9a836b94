#include "core/sessions/throttled.h"

#include "core/sessions/sessions_internal.h"
#include "core/throttle/throttling.h"

#include <assert.h>

void session_leave_group(struct sessions *sessions, struct session *session, mtime now)
{
	struct throttle_group *group = session->group;
	sessions->throttled -= !session->is_due;
	list_remove(&session->in_group);
	session->group = NULL;
	session->throttled = NULL;
	session->is_due = false;
	throttling_session_left(group, now);
}

void sessions_throttle(struct sessions *sessions, struct delivery *delivery,
	struct throttle_group *group, struct link *waiting, mtime now)
{
	struct session *session = delivery->session;
	assert(session->state == SESSION_READY && session_next(session) == delivery);
	if (session->group)
		session_leave_group(sessions, session, now);
	session->group = group;
	session->throttled = delivery;
	list_append(waiting, &session->in_group);
	sessions->throttled++;
	session_update(sessions, session, now);
}

void sessions_set_due(struct sessions *sessions, struct session *session, bool is_due, mtime now)
{
	if (session->is_due == is_due)
		return;
	sessions->throttled += is_due ? -1 : 1;
	session->is_due = is_due;
	session_update(sessions, session, now);
}

void sessions_unthrottle(struct sessions *sessions, struct session *session, mtime now)
{
	session_leave_group(sessions, session, now);
	session_update(sessions, session, now);
}
