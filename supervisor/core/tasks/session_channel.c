/* The channel of a pool with sessions: when it is opened, left and renewed, and what becomes of the
 * sessions then. */
#include "core/tasks/tasks_internal.h"

#include "core/token.h"

#include <assert.h>

#define NAMING_DEATHS       3
#define DETACHED_LIMIT      (60 * MTIME_SECOND)
#define RENEWED_RETURNS_MAX 10
#define NO_MEMORY_WAIT      MTIME_SECOND /* each leave counts as a return */

/* ---------- acks ---------- */

void tasks_take_acked(struct tasks *tasks)
{
	struct link *link;
	while ((link = list_first(&tasks->source.acked))) {
		list_remove(link);
		sessions_remove(tasks->sessions, CONTAINER_OF(link, struct delivery, released),
			tasks->context->now);
	}
}

/* One that ends may give its place to another one, and no event may follow that would check it. */
void session_channel_flushed(struct tasks *tasks)
{
	uint32_t runnable = dispatch_runnable(&tasks->dispatch);
	tasks_take_acked(tasks);
	sessions_end_idle(tasks->sessions, tasks->context->now);
	if (dispatch_runnable(&tasks->dispatch) > runnable)
		tasks->send_again = mtime_after(tasks->context->now, TASKS_NEXT_TURN);
}

bool tasks_await_acks(const struct tasks *tasks)
{
	return tasks->sessions && tasks->sessions->settled > 0;
}

/* ---------- leave and renew ---------- */

void tasks_leave(struct tasks *tasks, enum renewal why)
{
	assert(tasks_is_consuming(tasks));
	source_leave(&tasks->source);
	tasks_take_acked(tasks);
	tasks->intake = why == RENEWAL_WORKERS ? INTAKE_NO_WORKERS : INTAKE_STOPPED;
	tasks->sessions->renewals[why]++;
	if (why == RENEWAL_MEMORY)
		tasks->consume_at = mtime_after(tasks->context->now, NO_MEMORY_WAIT);
	if (why == RENEWAL_WORKERS)
		pool_emit_plain(tasks->context, NOTICE_SOURCE_RESTS, NULL);
	else
		pool_emit_plain(tasks->context, NOTICE_CHANNEL_LEFT, renewal_why(why));
}

static const struct delivery *oldest_unacked(const struct tasks *tasks)
{
	struct link *first = list_first(&tasks->source.unacked);
	return first ? CONTAINER_OF(first, struct delivery, unacked) : NULL;
}

/* Each renewal counts as a return of all that is unacked, so on a queue with a delivery limit the
 * pool stops long before the limit: a policy may set a smaller one than the queue has. */
static uint32_t renewals_max(const struct tasks *tasks)
{
	uint32_t half = tasks->returns_max / 2;
	return tasks->returns_max > 0 && half < RENEWED_RETURNS_MAX ? half : RENEWED_RETURNS_MAX;
}

static bool may_renew(const struct tasks *tasks)
{
	const struct delivery *oldest = oldest_unacked(tasks);
	bool is_free = tasks->context->config.session.is_return_free || !oldest ||
		       oldest->returns < renewals_max(tasks);
	return is_free && tasks->source.state == SOURCE_IS_CONSUMING && tasks_is_consuming(tasks);
}

/* When the oldest unacked message is too old. */
static mtime renewal_at(const struct tasks *tasks)
{
	const struct delivery *oldest = oldest_unacked(tasks);
	if (!oldest || !may_renew(tasks))
		return MTIME_NEVER;
	return mtime_after(oldest->queued_at, tasks->context->config.session.max_unacked_age);
}

/* When it is renewed for another window. */
static mtime window_at(const struct tasks *tasks)
{
	return may_renew(tasks) ? session_window_at(tasks) : MTIME_NEVER;
}

/* When what waits is given back, because the pool is paused or no worker lives. */
static mtime rest_at(const struct tasks *tasks)
{
	return may_renew(tasks) ? mtime_after(tasks->rests_since, TASKS_RESTING_LIMIT)
				: MTIME_NEVER;
}

/* When what is detached is given up: the queue gives back at once what it has, so it was purged, or
 * another consumer has it. A full window delays what comes back: the time begins when it has space
 * again. */
static mtime detached_until(const struct tasks *tasks)
{
	const struct source *source = &tasks->source;
	bool is_any = tasks->sessions->detached + tasks->sessions->with_inherited > 0;
	if (!is_any || source->state != SOURCE_IS_CONSUMING || tasks_window_is_full(tasks))
		return MTIME_NEVER;
	mtime since = mtime_max(tasks->up_since, tasks->full_at);
	if (tasks->delivered_at != MTIME_NEVER)
		since = mtime_max(since, tasks->delivered_at);
	return mtime_after(since, DETACHED_LIMIT);
}

static void give_up_detached(struct tasks *tasks)
{
	mtime now = tasks->context->now;
	if (tasks_window_is_full(tasks))
		tasks->full_at = now;
	if (detached_until(tasks) <= now)
		sessions_give_up_all(tasks->sessions, now);
}

static void record_rest(struct tasks *tasks, enum worker_supply workers)
{
	bool rests = workers == WORKERS_FAILING || tasks->context->phase == POOL_PAUSED;
	if (!rests)
		tasks->rests_since = MTIME_NEVER;
	else if (tasks->rests_since == MTIME_NEVER)
		tasks->rests_since = tasks->context->now;
}

void session_channel_decide(struct tasks *tasks, enum worker_supply workers)
{
	const struct source *source = &tasks->source;
	mtime now = tasks->context->now;
	bool is_paused = tasks->context->phase == POOL_PAUSED;
	record_rest(tasks, workers);
	give_up_detached(tasks);
	if (window_at(tasks) <= now) {
		session_window_left(tasks);
		tasks_leave(tasks, RENEWAL_PREFETCH);
	} else if (rest_at(tasks) <= now)
		tasks_leave(tasks, is_paused ? RENEWAL_PAUSE : RENEWAL_WORKERS);
	else if (renewal_at(tasks) <= now)
		tasks_leave(tasks, RENEWAL_AGE);
	else if (!tasks_is_consuming(tasks) && source->state == SOURCE_IS_ABSENT && !is_paused &&
		 !tasks->is_standby && workers == WORKERS_READY && tasks->consume_at <= now)
		tasks_begin_consuming(tasks);
}

/* Nothing is sent meanwhile: what else comes goes back when the channel closes. */
void tasks_decide_drain(struct tasks *tasks)
{
	mtime now = tasks->context->now;
	if (!tasks->sessions || pool_is_forced(tasks->context))
		return;
	give_up_detached(tasks);
	if (tasks_await_acks(tasks) && !tasks_is_consuming(tasks) &&
		tasks->source.state == SOURCE_IS_ABSENT && tasks->consume_at <= now)
		tasks_consume(tasks);
}

mtime session_channel_deadline(const struct tasks *tasks)
{
	mtime now = tasks->context->now;
	mtime deadline = mtime_min(sessions_deadline(tasks->sessions), detached_until(tasks));
	if (tasks->consume_at > now)
		deadline = mtime_min(deadline, tasks->consume_at);
	if (!pool_stays(tasks->context))
		return deadline;
	deadline = mtime_min(deadline, window_at(tasks));
	return mtime_min(deadline, mtime_min(renewal_at(tasks), rest_at(tasks)));
}

/* ---------- the token ---------- */

/* Held is what another supervisor may still run, unless it left in an orderly way. */
void tasks_on_token_held(struct tasks *tasks, const struct event *event)
{
	mtime now = tasks->context->now;
	tasks->is_standby = false;
	session_window_held(tasks, event->token.window);
	if (!event->token.is_orderly)
		sessions_hold(tasks->sessions, mtime_after(now, event->token.delay));
	if (event->token.deaths >= NAMING_DEATHS)
		sessions_start_naming(tasks->sessions, mtime_after(now, TOKEN_DEATHS_KEPT), now);
	for (size_t i = 0; i < event->token.handed_count; i++)
		sessions_take_over(tasks->sessions, &event->token.handed[i], now);
}

/* Operators command the next holder, which knows nothing of their orders here. */
void tasks_on_token_lost(struct tasks *tasks)
{
	tasks->is_standby = true;
	sessions_give_up_all(tasks->sessions, tasks->context->now);
	sessions_resume_all(tasks->sessions, tasks->context->now);
	if (tasks_is_consuming(tasks)) {
		source_leave(&tasks->source);
		tasks_take_acked(tasks);
		tasks->intake = INTAKE_STOPPED;
	}
}
