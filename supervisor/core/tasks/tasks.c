/* The source and its window, and what a turn does for tasks. */
#include "core/tasks/tasks_internal.h"

#define MEMORY_WAIT   (10 * MTIME_MS)
#define ASKS_PER_TURN 256
#define ASK_AGAIN     MTIME_SECOND
/* Each is a publish. A queue may be full of tasks that a throttle refuses. */
#define REFUSALS_PER_TURN 1024

enum rc tasks_init(struct tasks *tasks, const struct pool_context *context, uint64_t *last_task_id)
{
	*tasks = (struct tasks){.context = context,
		.send_again = MTIME_NEVER,
		.delivered_at = MTIME_NEVER,
		.all_accepted_since = MTIME_NEVER};
	bool has_sessions = context->config.session.is_on;
	source_init(&tasks->source, has_sessions, context->effects, context->io);
	pace_init(&tasks->pace, &context->config, context->now);
	if (has_sessions) {
		tasks->rests_since = MTIME_NEVER;
		tasks->is_standby = context->config.session.takeover_delay != MTIME_NEVER;
		session_window_init(tasks);
		tasks->sessions = sessions_new(&context->config, &tasks->outbox);
	}
	if ((has_sessions && !tasks->sessions) ||
		dispatch_init(&tasks->dispatch, &context->config, tasks->sessions, last_task_id,
			context->effects, context->io) != RC_OK ||
		outbox_init(&tasks->outbox, context->effects, context->io) != RC_OK) {
		dispatch_release(&tasks->dispatch);
		sessions_free(tasks->sessions);
		return RC_MEMORY;
	}
	dispatch_configure(&tasks->dispatch, pace_pipe_wait(&tasks->pace));
	return RC_OK;
}

/* ---------- the end ---------- */

void tasks_free_orphans(struct pipe *pipe)
{
	struct link *link;
	while ((link = list_first(&pipe->tasks))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, place);
		list_remove(link);
		if (!delivery->source)
			delivery_free(delivery);
	}
}

void tasks_end_sessions(struct tasks *tasks)
{
	sessions_free(tasks->sessions);
	tasks->sessions = tasks->dispatch.sessions = NULL;
}

static void collect_if_without_source(void *ctx, struct parcel *parcel)
{
	if (!parcel->delivery->source)
		list_append(ctx, &parcel->delivery->place);
}

/* Deliveries in the ledger are freed with it. Orphans and accepted ones are in no ledger: those in
 * the outbox are freed here, those in pipes by tasks_free_orphans. */
void tasks_release(struct tasks *tasks)
{
	struct link others, *link;
	list_init(&others);
	outbox_each(&tasks->outbox, collect_if_without_source, &others);
	while ((link = list_first(&others))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, place);
		list_remove(link);
		outbox_take(&tasks->outbox, &delivery->parcel);
		delivery_free(delivery);
	}
	while ((link = list_first(&tasks->source.unacked))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		source_forget(delivery);
		delivery_free(delivery);
	}
	outbox_release(&tasks->outbox);
	dispatch_release(&tasks->dispatch);
}

/* ---------- the window ---------- */

static void rename_throttle(void *ctx, struct parcel *parcel)
{
	const struct throttling *throttling = ctx;
	if (parcel->kind == PARCEL_POSTPONE || parcel->kind == PARCEL_REFUSAL)
		parcel->what = throttling_name(throttling, parcel->what);
}

void tasks_configure(struct tasks *tasks)
{
	const struct pool_config *config = &tasks->context->config;
	if (config->prefetch != tasks->pace.prefetch)
		tasks->window_change = WINDOW_NEW;
	pace_configure(&tasks->pace, config);
	if (tasks->sessions) {
		session_window_configured(tasks);
		sessions_configured(tasks->sessions, tasks->context->now);
	}
	/* Pipes that the old limit closed stay closed until their heads end. */
	dispatch_configure(&tasks->dispatch, pace_pipe_wait(&tasks->pace));
	dispatch_rethrottle(&tasks->dispatch, tasks->context->now);
	outbox_each(&tasks->outbox, rename_throttle, &tasks->dispatch.throttling);
}

void tasks_set_workers(struct tasks *tasks, uint16_t wanted)
{
	if (wanted > tasks->pace.workers && tasks->window_change == WINDOW_SAME)
		tasks->window_change = WINDOW_WIDER;
	pace_scaled(&tasks->pace, wanted);
}

bool tasks_flow(const struct tasks *tasks)
{
	bool is_consuming = tasks_is_consuming(tasks) && tasks->source.state == SOURCE_IS_CONSUMING;
	return tasks->context->phase != POOL_PAUSED &&
	       (is_consuming || tasks->intake == INTAKE_ALL_ACCEPTED ||
		       throttling_is_closed(&tasks->dispatch.throttling));
}

static uint32_t wanted_window(const struct tasks *tasks)
{
	if (tasks->sessions)
		return session_window_wanted(tasks);
	uint32_t window = pace_window(&tasks->pace);
	return window > tasks->source.excluded ? window - tasks->source.excluded : 1;
}

void tasks_consume(struct tasks *tasks)
{
	source_consume(&tasks->source, wanted_window(tasks));
	tasks->pace.changed_at = tasks->context->now;
	tasks->intake = tasks->source.excluded > 0 ? INTAKE_NARROWED : INTAKE_WHOLE;
}

/* What was delivered before a rest or a cancel stays unacked, and is subtracted from the window.
 * Otherwise a pool whose workers or whose queue come and go would add a window each time. */
void tasks_begin_consuming(struct tasks *tasks)
{
	enum intake before = tasks->intake;
	source_exclude_unacked(&tasks->source);
	tasks_consume(tasks);
	if (before == INTAKE_NO_WORKERS || before == INTAKE_ALL_ACCEPTED)
		pool_emit_plain(tasks->context, NOTICE_SOURCE_RESUMES, NULL);
	else if (before == INTAKE_THROTTLED)
		pool_emit_plain(tasks->context, NOTICE_THROTTLE_OPENS, NULL);
}

static void stop_consuming(struct tasks *tasks, enum intake intake)
{
	source_rest(&tasks->source);
	tasks->intake = intake;
	tasks->rests_since = tasks->context->now;
}

_Static_assert(THROTTLING_CLOSED_MIN > TASKS_RESTING_LIMIT, "what is kept goes back");

static void close_for_throttle(struct tasks *tasks)
{
	const struct throttle_hold *closed = &tasks->dispatch.throttling.closed;
	pool_emit(tasks->context, (struct notice){.kind = NOTICE_THROTTLE_CLOSES,
					  .slot = -1,
					  .what = closed->by,
					  .duration = closed->until - tasks->context->now});
	stop_consuming(tasks, INTAKE_THROTTLED);
}

void tasks_pause(struct tasks *tasks)
{
	if (tasks_is_consuming(tasks) && !tasks->sessions)
		stop_consuming(tasks, INTAKE_STOPPED);
	else if (tasks->intake == INTAKE_THROTTLED)
		tasks->intake = INTAKE_STOPPED;
}

void tasks_drain(struct tasks *tasks)
{
	tasks_pause(tasks);
	tasks_hand_back_rest(tasks);
}

/* Throttles keep the window small, and all that it allows is with workers. They may work for long,
 * so the next window is for what may start then. */
static bool is_starved(const struct tasks *tasks)
{
	const struct source *source = &tasks->source;
	return pace_window(&tasks->pace) == tasks->pace.window_max &&
	       dispatch_waiting(&tasks->dispatch) == 0 &&
	       source->open - source->excluded >= source->window &&
	       pace_may_change(&tasks->pace, tasks->context->now);
}

/* True: accepted tasks have kept all workers for so long that what waits for one would wait too
 * long.
 */
static bool are_all_accepted(const struct tasks *tasks)
{
	return mtime_after(tasks->all_accepted_since, ALL_ACCEPTED_LIMIT) <= tasks->context->now;
}

/* True: another window is to be set. A narrowed window becomes whole when the deliveries from
 * before are settled and no more are open than it allows. Until then pace decides, so that a few
 * tasks that take long do not keep it narrow. */
static bool changes_window(const struct tasks *tasks)
{
	const struct source *source = &tasks->source;
	uint32_t wanted = wanted_window(tasks);
	if (tasks->intake == INTAKE_NARROWED && !source->excluded && source->open <= source->window)
		return true;
	if (tasks->window_change == WINDOW_WIDER && wanted > source->window)
		return true;
	return wanted != source->window &&
	       pace_changes_window(&tasks->pace, source->window + source->excluded, source->open,
		       tasks->context->now);
}

/* Only with fewer open deliveries than the window: a pool that is paused and resumed again and
 * again during long tasks would otherwise take one more each time. */
static bool may_begin_consuming(const struct tasks *tasks, enum worker_supply workers)
{
	return !tasks_is_consuming(tasks) && workers == WORKERS_READY && !are_all_accepted(tasks) &&
	       tasks->context->phase != POOL_PAUSED &&
	       !throttling_is_closed(&tasks->dispatch.throttling) &&
	       tasks->source.open < pace_window(&tasks->pace);
}

/* ---------- when it consumes ---------- */

/* A slot that is not ready will be soon, unless its last life failed. So a worker that dies in a
 * task and starts again does not stop the pool from consuming, unless all have failed. */
void tasks_decide_consuming(struct tasks *tasks, enum worker_supply workers)
{
	if (tasks->sessions) {
		session_channel_decide(tasks, workers);
		return;
	}
	if (tasks_is_consuming(tasks) && workers == WORKERS_FAILING) {
		stop_consuming(tasks, INTAKE_NO_WORKERS);
		pool_emit_plain(tasks->context, NOTICE_SOURCE_RESTS, NULL);
	} else if (tasks_is_consuming(tasks) && are_all_accepted(tasks)) {
		stop_consuming(tasks, INTAKE_ALL_ACCEPTED);
		pool_emit_plain(tasks->context, NOTICE_ALL_ACCEPTED, NULL);
	} else if (tasks_is_consuming(tasks) &&
		   (tasks->window_change == WINDOW_NEW || is_starved(tasks))) {
		tasks_begin_consuming(tasks);
	} else if (tasks_is_consuming(tasks) && changes_window(tasks)) {
		tasks_consume(tasks);
	} else if (may_begin_consuming(tasks, workers)) {
		tasks_begin_consuming(tasks);
	}
	tasks->window_change = WINDOW_SAME;
}

/* ---------- what the consume channel reports ---------- */

/* The attempts of orphans go on in vain, and a parcel that was sent cannot be taken back. */
static void lose_channel(struct tasks *tasks)
{
	struct source *source = &tasks->source;
	struct link *link;
	while ((link = list_first(&source->accepted))) { /* they are not acked, and will not be */
		list_remove(link);
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, released);
		tasks->accepted--;
		if (delivery->state == DELIVERY_SENT)
			dispatch_count_accepted(&tasks->dispatch, delivery, -1);
		delivery->is_accepted = false;
	}
	dispatch_source_down(&tasks->dispatch, source, tasks->context->now);
	if (tasks->sessions && (tasks->is_standby || source->request == SOURCE_CLOSE))
		sessions_give_up_all(tasks->sessions, tasks->context->now);
	while ((link = list_first(&source->unacked))) {
		struct delivery *delivery = CONTAINER_OF(link, struct delivery, unacked);
		source_forget(delivery);
		if (delivery->state == DELIVERY_ANSWERED && delivery->parcel.seq.number)
			continue;
		if (delivery->state == DELIVERY_ANSWERED)
			outbox_take(&tasks->outbox, &delivery->parcel);
		delivery_free(delivery);
	}
	source_down(source);
}

void tasks_on_source_up(struct tasks *tasks, const struct event *event)
{
	if (!source_is_newer(&tasks->source, event->source.epoch))
		return;
	if (tasks->source.state != SOURCE_IS_ABSENT)
		lose_channel(tasks);
	source_up(&tasks->source, event->source.epoch);
	tasks->returns_max = event->source.returns_max;
	if (tasks->sessions)
		session_window_up(tasks, event->source.window);
	tasks->up_since = tasks->context->now;
}

void tasks_on_source_rested(struct tasks *tasks, const struct event *event)
{
	if (!source_is_current(&tasks->source, event->source.epoch))
		return;
	source_rested(&tasks->source);
	tasks_hand_back_rest(tasks);
}

/* Reported for each consumer of the channel: the last report excludes all open deliveries. */
void tasks_on_source_cancelled(struct tasks *tasks, const struct event *event)
{
	if (source_is_current(&tasks->source, event->source.epoch) && tasks_is_consuming(tasks))
		tasks_begin_consuming(tasks);
}

void tasks_on_source_down(struct tasks *tasks, const struct event *event)
{
	if (source_is_current(&tasks->source, event->source.epoch))
		lose_channel(tasks);
}

/* ---------- the turn ---------- */

/* Of what waits for a throttle, as many are kept as may start before the broker takes them back,
 * and at least one, whose refusal shows when. Suspects stay in any case. */
static uint32_t throttled_window(const struct tasks *tasks)
{
	uint32_t supply = throttling_supply(&tasks->dispatch.throttling);
	uint32_t kept = dispatch_waiting(&tasks->dispatch) - tasks->dispatch.suspect_count;
	uint32_t others = tasks->source.open > kept ? tasks->source.open - kept : 0;
	if (supply == 0)
		supply = 1;
	return supply < UINT32_MAX - others ? supply + others : UINT32_MAX;
}

static void record_all_accepted(struct tasks *tasks, uint32_t workers)
{
	uint32_t places = workers * tasks->context->config.concurrency;
	if (tasks->dispatch.accepted < places || places == 0)
		tasks->all_accepted_since = MTIME_NEVER;
	else if (tasks->all_accepted_since == MTIME_NEVER)
		tasks->all_accepted_since = tasks->context->now;
}

void tasks_begin_turn(struct tasks *tasks, uint32_t workers)
{
	record_all_accepted(tasks, workers);
	if (tasks->sessions) {
		sessions_wake(tasks->sessions, tasks->context->now);
		dispatch_check_name(
			&tasks->dispatch, tasks->context->phase == POOL_RUNS, tasks->context->now);
	}
	dispatch_begin_turn(
		&tasks->dispatch, tasks->source.window, tasks->context->boot, tasks->context->now);
	tasks->pace.window_max = throttled_window(tasks);
	tasks->send_again = MTIME_NEVER;
	outbox_tick(&tasks->outbox, tasks->context->now);
}

void tasks_hand_back_rest(struct tasks *tasks)
{
	if (tasks->source.state == SOURCE_IS_RESTED && pool_drains(tasks->context))
		tasks_hand_back(tasks);
}

/* When the tasks that wait are handed back, because there is no worker, or because of a pause or a
 * throttle. They stay for a while, because a broker may count each return. Suspects stay: the
 * broker would forget what they are. */
static mtime hand_back_at(const struct tasks *tasks, enum worker_supply workers)
{
	bool is_at_work = workers == WORKERS_READY && tasks->context->phase != POOL_PAUSED &&
			  !are_all_accepted(tasks) &&
			  !throttling_is_closed(&tasks->dispatch.throttling);
	if (is_at_work || tasks->source.state != SOURCE_IS_RESTED)
		return MTIME_NEVER;
	bool is_any = tasks->dispatch.queued_count > tasks->dispatch.suspect_count;
	return is_any ? tasks->rests_since + TASKS_RESTING_LIMIT : MTIME_NEVER;
}

/* A task is asked to end in the turn in which that is due, because the machine may be suspended
 * before the next turn, and then the hard limit is over as well. Each request is a write, so a turn
 * makes a limited number. A worker that does not read is asked later. */
void tasks_judge_soft_limits(struct tasks *tasks)
{
	const struct pool_context *context = tasks->context;
	struct running *running = &tasks->dispatch.running;
	bool is_cancelled = context->config.on_soft == SOFT_CANCEL;
	struct delivery *delivery;
	for (int i = 0;
		i < ASKS_PER_TURN && (delivery = running_take_over_soft(running, context->now));
		i++)
		if (!context->effects->ask(context->io, delivery->pipe->slot, delivery->pipe->life,
			    is_cancelled ? TASK_CANCEL : TASK_CONTEXT_SWITCH, delivery->id))
			timers_set(&running->soft, &delivery->soft,
				mtime_after(context->now, ASK_AGAIN));
}

/* What cannot be sent, or is refused by a throttle, is settled. */
static enum dispatch_stop dispatch_and_settle(struct tasks *tasks)
{
	struct dispatch *dispatch = &tasks->dispatch;
	struct delivery *task = NULL;
	enum dispatch_stop stop = dispatch_run(dispatch, pace_depth(&tasks->pace),
		pace_pack(&tasks->pace), tasks->context->now, &task);
	if (stop == DISPATCH_INVALID)
		tasks_finish(tasks, task, (struct ending){.outcome = OUTCOME_INVALID});
	else if (stop == DISPATCH_REFUSED)
		tasks_settle_refused(tasks, task, &dispatch->throttling.decision);
	if (task && tasks->sessions) /* the token may have named it */
		dispatch_check_name(dispatch, true, tasks->context->now);
	return stop;
}

/* Dispatch until a task waits for no other reason than that there is no place, or that a throttle
 * refuses it. */
static enum dispatch_stop send_tasks(struct tasks *tasks)
{
	const struct pool_context *context = tasks->context;
	struct dispatch *dispatch = &tasks->dispatch;
	enum dispatch_stop stop = DISPATCH_INVALID;
	int refused = 0;
	bool has_soft_limits = context->config.on_soft != SOFT_NOTHING;
	if (has_soft_limits && running_reserve(&dispatch->running,
				       dispatch->in_pipes + dispatch_waiting(dispatch)) != RC_OK)
		return DISPATCH_NO_MEMORY;
	while ((stop == DISPATCH_INVALID || stop == DISPATCH_REFUSED) &&
		refused < REFUSALS_PER_TURN &&
		tasks->outbox.bytes <= context->config.outbox_limit) {
		stop = dispatch_and_settle(tasks);
		refused += stop == DISPATCH_REFUSED;
	}
	if (has_soft_limits)
		running_set_soft(&dispatch->running, context->config.soft_limit, context->now);
	return refused == REFUSALS_PER_TURN ? DISPATCH_ENOUGH : stop;
}

/* What waits goes back now. */
static bool is_leaving(const struct tasks *tasks)
{
	return tasks->sessions && tasks->source.state == SOURCE_IS_CLOSING;
}

void tasks_dispatch(struct tasks *tasks, enum worker_supply workers)
{
	const struct pool_context *context = tasks->context;
	if (hand_back_at(tasks, workers) <= context->now)
		tasks_hand_back_others(tasks);
	if (context->phase == POOL_PAUSED || is_leaving(tasks))
		return;
	if (dispatch_hold_up(&tasks->dispatch, context->arrived_after))
		pace_held_up(&tasks->pace);
	enum dispatch_stop stop = send_tasks(tasks);
	if (tasks_is_consuming(tasks) && throttling_is_closed(&tasks->dispatch.throttling))
		close_for_throttle(tasks);
	if (stop == DISPATCH_NO_MEMORY)
		tasks->send_again = mtime_after(context->now, MEMORY_WAIT);
	if (stop == DISPATCH_ENOUGH)
		tasks->send_again = mtime_after(context->now, TASKS_NEXT_TURN);
}

/* The last acks may let the pool consume again, and no event may follow that would check it. */
void tasks_flush(struct tasks *tasks, enum worker_supply workers)
{
	/* While a message is named, acks do not wait: if this supervisor dies, one that is finished
	 * and not acked would come back first, and be taken for the one that was named. */
	bool is_named = tasks->sessions && sessions_has_name(tasks->sessions);
	if (!pool_stays(tasks->context) || is_named) {
		source_flush(&tasks->source);
	} else {
		bool is_hungry = dispatch_runnable(&tasks->dispatch) == 0;
		bool is_short = pace_is_short(&tasks->pace);
		source_flush_due(&tasks->source, is_hungry, is_short, tasks->context->now);
	}
	if (tasks->sessions)
		session_channel_flushed(tasks);
	else if (pool_stays(tasks->context) && may_begin_consuming(tasks, workers))
		tasks_begin_consuming(tasks);
}

static bool may_close(const struct tasks *tasks)
{
	const struct source *source = &tasks->source;
	if (pool_stays(tasks->context) || source->request == SOURCE_CLOSE)
		return false;
	if (pool_is_forced(tasks->context))
		return true;
	if (tasks->sessions)
		return tasks->dispatch.in_pipes == 0 && tasks->outbox.count == 0 &&
		       source->released_count == 0 && !tasks_await_acks(tasks);
	bool is_empty = source->state == SOURCE_IS_RESTED && source->open == 0;
	return tasks->accepted == 0 && (is_empty || source->state == SOURCE_IS_ABSENT);
}

bool tasks_are_closed(const struct tasks *tasks)
{
	bool has_accepted = tasks->accepted > 0 && !pool_is_forced(tasks->context);
	return tasks->source.state == SOURCE_IS_ABSENT && !has_accepted &&
	       (!tasks->sessions || tasks->source.request == SOURCE_CLOSE);
}

void tasks_end_turn(struct tasks *tasks)
{
	struct dispatch *dispatch = &tasks->dispatch;
	if (throttling_is_on(&dispatch->throttling))
		throttling_end_turn(&dispatch->throttling,
			tasks->context->phase == POOL_RUNS ? dispatch_throttled(dispatch) : 0,
			tasks->context->now);
	if (!may_close(tasks))
		return;
	if (tasks->sessions && !tasks->is_standby)
		sessions_hand_over(tasks->sessions, tasks->context->effects->hand_over,
			tasks->context->io, tasks->context->now);
	source_close(&tasks->source);
	tasks->intake = INTAKE_STOPPED;
}

/* The channel machine may report that it rests after the turn in which it was asked to, and no
 * event may follow, so the next turn is due now. */
mtime tasks_deadline(const struct tasks *tasks, enum worker_supply workers)
{
	if (may_close(tasks))
		return tasks->context->now;
	mtime deadline = mtime_min(tasks->send_again, source_deadline(&tasks->source));
	deadline = mtime_min(deadline, outbox_deadline(&tasks->outbox));
	deadline = mtime_min(deadline, timers_deadline(&tasks->dispatch.running.soft));
	deadline = mtime_min(deadline, throttling_deadline(&tasks->dispatch.throttling));
	if (tasks_is_consuming(tasks))
		deadline = mtime_min(
			deadline, mtime_after(tasks->all_accepted_since, ALL_ACCEPTED_LIMIT));
	if (tasks->sessions)
		deadline = mtime_min(deadline, session_channel_deadline(tasks));
	return mtime_min(deadline, hand_back_at(tasks, workers));
}
