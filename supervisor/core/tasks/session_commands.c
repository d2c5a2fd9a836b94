/* What operators order about one session. */
#include "core/tasks/tasks_internal.h"

/* Settle a task that no worker has, because its session is closed. One that ran before, and failed,
 * is acked in its place. */
static void dispose(struct tasks *tasks, struct delivery *delivery, enum session_queued goes)
{
	delivery->is_disposed = delivery->id == 0;
	if (goes == SESSION_DEAD_LETTER)
		tasks_give_up(tasks, delivery, REASON_SESSION_CLOSED);
	else
		tasks_discard(tasks, delivery);
}

static void dispose_waiting(struct tasks *tasks, struct session *session, enum session_queued goes)
{
	struct delivery *delivery;
	if (goes == SESSION_KEEP)
		return;
	while ((delivery = sessions_take_waiting(tasks->sessions, session, tasks->context->now)))
		dispose(tasks, delivery, goes);
}

/* A former supervisor may still run what came back. If that were settled here, the next message of
 * the session would run beside it. NULL: it cannot. */
static const char *refuse_disposal(
	const struct tasks *tasks, const struct session *session, enum session_queued goes)
{
	bool is_held = session_is_held(tasks->sessions, session, tasks->context->now);
	return is_held && goes != SESSION_KEEP
		       ? "a former supervisor may still run its task until takeover_delay is over"
		       : NULL;
}

static bool has_task_at_work(const struct session *session)
{
	return session->state == SESSION_RUNNING;
}

static const char *do_drain(struct tasks *tasks, struct session *session, const struct event *event)
{
	(void)event;
	sessions_end_after(tasks->sessions, session, session->waiting + has_task_at_work(session),
		SESSION_END_DRAINED, tasks->context->now);
	return NULL;
}

static const char *do_close(struct tasks *tasks, struct session *session, const struct event *event)
{
	const char *refusal = refuse_disposal(tasks, session, event->session.queued);
	if (refusal)
		return refusal;
	dispose_waiting(tasks, session, event->session.queued);
	sessions_end_after(tasks->sessions, session, has_task_at_work(session), SESSION_END_CLOSED,
		tasks->context->now);
	return NULL;
}

static const char *do_abort(struct tasks *tasks, struct session *session, const struct event *event)
{
	static const uint8_t goes[] = {
		[SESSION_DEAD_LETTER] = REST_IS_DEAD_LETTER,
		[SESSION_DISCARD] = REST_IS_DISCARDED,
		[SESSION_KEEP] = REST_IS_KEPT,
	};
	mtime now = tasks->context->now;
	const char *refusal = refuse_disposal(tasks, session, event->session.queued);
	if (refusal)
		return refusal;
	dispose_waiting(tasks, session, event->session.queued);
	if (has_task_at_work(session))
		dispatch_abort(&tasks->dispatch, session->front, goes[event->session.queued], now);
	sessions_end_after(
		tasks->sessions, session, has_task_at_work(session), SESSION_END_ABORTED, now);
	return NULL;
}

static const char *do_pause(struct tasks *tasks, struct session *session, const struct event *event)
{
	(void)event;
	sessions_pause(tasks->sessions, session, true, tasks->context->now);
	return NULL;
}

static const char *do_resume(
	struct tasks *tasks, struct session *session, const struct event *event)
{
	(void)event;
	sessions_pause(tasks->sessions, session, false, tasks->context->now);
	return NULL;
}

static const char *do_retry(struct tasks *tasks, struct session *session, const struct event *event)
{
	(void)event;
	if (!session->front || has_task_at_work(session))
		return "no failed task is at its front";
	if (session->front->invalid)
		return "the message at its front cannot be sent to a worker";
	/* A parked task has counted its failed attempt already. */
	session->front->attempt +=
		session_has_uncounted(session) && session->front->attempt < UINT16_MAX;
	sessions_retry(tasks->sessions, session, tasks->context->now);
	return NULL;
}

/* A dead letter counts the attempt that failed last, and so has a task that is parked. */
static const char *do_skip(struct tasks *tasks, struct session *session, const struct event *event)
{
	(void)event;
	enum reason reason = session->reason;
	if (!session->front || has_task_at_work(session) || !reason)
		return "no failed task is at its front";
	const char *refusal = refuse_disposal(tasks, session, SESSION_DEAD_LETTER);
	if (refusal)
		return refusal;
	bool is_counted = !session->is_blocked && session_had_attempt(session);
	struct delivery *front =
		sessions_take_waiting(tasks->sessions, session, tasks->context->now);
	front->attempt -= is_counted && front->attempt > 0;
	tasks_give_up(tasks, front, reason);
	return NULL;
}

const char *tasks_command_session(struct tasks *tasks, const struct event *event)
{
#define X(id, name) do_##name,
	static const char *(*const verbs[])(
		struct tasks *, struct session *, const struct event *) = {SESSION_VERBS(X)};
#undef X
	struct sessions *sessions = tasks->sessions;
	struct text key = event->session.key;
	struct session *session = sessions_find(sessions, key);
	if (!session && event->session.verb == SESSION_VERB_PAUSE) {
		session = sessions_open(sessions, key, tasks->context->now);
		if (!session)
			return "there is no memory for another session";
	}
	if (session)
		dispatch_withdraw(&tasks->dispatch, session, tasks->context->now);
	return session ? verbs[event->session.verb](tasks, session, event)
		       : "no session has this key";
}
