#include "core/sessions/throttled.h"

#include "core/sessions/sessions_internal.h"

#include <assert.h>

void sessions_throttle(struct sessions *sessions, struct delivery *delivery, mtime until, mtime now)
{
	struct session *session = delivery->session;
	assert(session->state == SESSION_READY && session_next(session) == delivery);
	session->throttled = delivery;
	sessions->throttled++;
	timers_set(&sessions->timers, &session->timer, until);
	session_update(sessions, session, now);
}

void session_stop_timer(struct sessions *sessions, struct session *session)
{
	sessions->throttled -= session->throttled != NULL;
	session->throttled = NULL;
	timers_set(&sessions->timers, &session->timer, MTIME_NEVER);
}

void sessions_unthrottle_all(struct sessions *sessions, mtime now)
{
	for (uint32_t i = 0; i < sessions->count && sessions->throttled > 0; i++) {
		struct session *session = sessions->all[i];
		if (!session->throttled)
			continue;
		session_stop_timer(sessions, session);
		session_update(sessions, session, now);
	}
}
