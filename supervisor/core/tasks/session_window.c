/* The window of a pool with sessions. When a channel is lost twice, a window smaller than that of
 * the first channel breaks the order: what came back to the second one goes behind the rest. So the
 * window becomes smaller only after an orderly close with nothing to come back, and the token names
 * the largest one of which something may: a larger one before it is used, a smaller one after. */
#include "core/tasks/tasks_internal.h"

/* After a close at which messages were on their way. */
#define NARROW_AGAIN MTIME_MINUTE

static uint16_t prefetch(const struct tasks *tasks)
{
	return tasks->context->config.prefetch;
}

static bool has_token(const struct tasks *tasks)
{
	return tasks->context->config.session.takeover_delay != MTIME_NEVER;
}

static void name_window(const struct tasks *tasks)
{
	uint32_t used = tasks->window.used;
	if (has_token(tasks) && !tasks->is_standby)
		tasks->context->effects->window(
			tasks->context->io, prefetch(tasks) > used ? prefetch(tasks) : used);
}

static void emit_if_wider(const struct tasks *tasks)
{
	if (tasks->window.used > prefetch(tasks) && !tasks->is_standby)
		pool_emit(tasks->context, (struct notice){.kind = NOTICE_WINDOW_KEPT,
						  .slot = -1,
						  .number = tasks->window.used,
						  .open = prefetch(tasks)});
}

void session_window_init(struct tasks *tasks)
{
	tasks->window = (struct session_window){.used = prefetch(tasks)};
}

void session_window_configured(struct tasks *tasks)
{
	if (!has_token(tasks) && prefetch(tasks) > tasks->window.used)
		tasks->window.used = prefetch(tasks);
	tasks->window.narrow_at = 0;
	name_window(tasks);
	emit_if_wider(tasks);
}

void session_window_held(struct tasks *tasks, uint32_t window)
{
	tasks->window = (struct session_window){.used = window};
	if (prefetch(tasks) > window)
		name_window(tasks);
	emit_if_wider(tasks);
}

void tasks_on_window_named(struct tasks *tasks, const struct event *event)
{
	bool is_wider = prefetch(tasks) > tasks->window.used;
	if (is_wider && event->token.window >= prefetch(tasks))
		tasks->window.used = prefetch(tasks);
}

static bool is_narrower_wanted(const struct tasks *tasks)
{
	return prefetch(tasks) < tasks->window.used;
}

bool session_window_begins_to_narrow(struct tasks *tasks)
{
	const struct sessions *sessions = tasks->sessions;
	bool comes_back = sessions->detached + sessions->heirs > 0;
	tasks->window.is_narrowing = is_narrower_wanted(tasks) && tasks->source.open == 0 &&
				     !comes_back && tasks->window.narrow_at <= tasks->context->now;
	return tasks->window.is_narrowing;
}

void session_window_delivered_late(struct tasks *tasks)
{
	if (tasks->window.is_narrowing)
		tasks->window.narrow_at = mtime_after(tasks->context->now, NARROW_AGAIN);
	tasks->window.is_narrowing = false;
}

void session_window_source_down(struct tasks *tasks, bool is_clean)
{
	if (!is_clean)
		session_window_delivered_late(tasks);
	if (tasks->window.is_narrowing && is_narrower_wanted(tasks)) {
		tasks->window.used = prefetch(tasks);
		name_window(tasks);
	}
	tasks->window.is_narrowing = false;
}

mtime session_window_deadline(const struct tasks *tasks)
{
	bool waits = is_narrower_wanted(tasks) && tasks->window.narrow_at > tasks->context->now;
	return waits ? tasks->window.narrow_at : MTIME_NEVER;
}
