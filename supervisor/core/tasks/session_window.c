/* The window of a pool with sessions. When a channel is lost twice, a window smaller than that of
 * the first channel breaks the order: what came back to the second one goes behind the rest. So the
 * channel is renewed for a smaller window when nothing is unacked, and gets it only if it can hold
 * all that the queue has then (broker/consumer.c); else it keeps the larger one. The token names
 * the largest one of which something may come back: a larger one before it is used, a smaller one
 * after. */
#include "core/tasks/tasks_internal.h"

/* After the channel was renewed while more messages than the smaller window holds were ready. */
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

/* Without a token nothing needs to be told before. */
static void widen_without_token(struct tasks *tasks)
{
	if (!has_token(tasks) && prefetch(tasks) > tasks->window.used)
		tasks->window.used = prefetch(tasks);
}

void session_window_configured(struct tasks *tasks)
{
	widen_without_token(tasks);
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

mtime session_window_at(const struct tasks *tasks)
{
	const struct sessions *sessions = tasks->sessions;
	bool comes_back = sessions->detached + sessions->with_inherited > 0;
	mtime now = tasks->context->now;
	if (tasks->source.open > 0)
		return MTIME_NEVER;
	if (tasks->source.window < tasks->window.used)
		return now;
	if (!is_narrower_wanted(tasks) || comes_back)
		return MTIME_NEVER;
	return mtime_max(tasks->window.narrow_at, now);
}

void session_window_left(struct tasks *tasks)
{
	tasks->window.is_narrowing = is_narrower_wanted(tasks);
}

uint32_t session_window_wanted(const struct tasks *tasks)
{
	bool is_narrower = tasks->window.is_narrowing && is_narrower_wanted(tasks);
	return is_narrower ? prefetch(tasks) : tasks->window.used;
}

void session_window_up(struct tasks *tasks, uint32_t window)
{
	struct source *source = &tasks->source;
	if (window > 0)
		source->window = window;
	if (!tasks->window.is_narrowing)
		return;
	tasks->window.is_narrowing = false;
	if (!is_narrower_wanted(tasks))
		return; /* a larger one was configured meanwhile */
	if (source->window >= tasks->window.used) {
		tasks->window.narrow_at = mtime_after(tasks->context->now, NARROW_AGAIN);
		return;
	}
	tasks->window.used = source->window;
	widen_without_token(tasks); /* it was configured meanwhile */
	name_window(tasks);
}
