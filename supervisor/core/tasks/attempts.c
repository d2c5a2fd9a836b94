/* A task arrives, and its attempts end: carry out what settle.h decides, and emit it. */
#include "core/tasks/tasks_internal.h"

#include <assert.h>

/* Bytes of a progress report that are kept, to be shown. */
#define PROGRESS_KEPT 128

static bool has_delay(enum notice_kind kind)
{
	return kind == NOTICE_TASK_RETRIED || kind == NOTICE_TASK_POSTPONED ||
	       kind == NOTICE_TASK_POSTPONED_BY_WORKER || kind == NOTICE_TASK_NOT_DUE;
}

/* A notice about a delivery, with what is known of its worker and its last answer. */
static void emit(struct tasks *tasks, enum notice_kind kind, const struct delivery *delivery,
	enum reason reason)
{
	const struct parcel *parcel = &delivery->parcel;
	tasks->context->effects->emit(tasks->context->io,
		&(struct notice){
			.kind = kind,
			.slot = delivery->slot,
			.life = delivery->life,
			.delivery = delivery,
			.output = parcel->output,
			.reason = reason,
			.attempt = delivery->attempt + 1u,
			.attempts = tasks->context->config.policy.attempts,
			.retried = tasks->context->config.policy.retried,
			.exit = parcel->exit,
			.what = parcel->what,
			.duration = has_delay(kind) ? parcel->delay : delivery->took,
		});
}

_Static_assert(NOTICE_DRAINED < 64, "tasks->warned has a bit for each");

/* True: for the first time in this pool. */
static bool is_first(struct tasks *tasks, enum notice_kind kind)
{
	uint64_t bit = UINT64_C(1) << kind;
	bool is_known = tasks->warned & bit;
	tasks->warned |= bit;
	return !is_known;
}

static void emit_once(struct tasks *tasks, enum notice_kind kind, const struct delivery *delivery)
{
	if (is_first(tasks, kind))
		emit(tasks, kind, delivery, REASON_NONE);
}

/* ---------- what is decided ---------- */

/* What its worker asks for goes before what its headers say. */
static void put_off(struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	const struct pool_context *context = tasks->context;
	if (decision->reason != REASON_POSTPONED) {
		emit(tasks, NOTICE_TASK_NOT_DUE, delivery, REASON_NONE);
		return;
	}
	/* The clock shows whole milliseconds, and it must not be early by the rest of one. */
	delivery->not_before_ms =
		context->effects->wall_ms(context->io) + 1 + decision->delay / MTIME_MS;
	emit(tasks, NOTICE_TASK_POSTPONED_BY_WORKER, delivery, REASON_NONE);
}

static void publish(struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	struct parcel *parcel = &delivery->parcel;
	parcel->kind = decision->parcel;
	parcel->reason = decision->reason;
	parcel->delay = decision->delay;
	parcel->failing_for = delivery->failed_at ? tasks->context->now - delivery->failed_at : 0;
	parcel->refusals = 0;
	parcel->losses = 0;
	delivery->state = DELIVERY_ANSWERED;
	switch (parcel->kind) {
	case PARCEL_RETRY:
		emit(tasks, NOTICE_TASK_RETRIED, delivery, decision->reason);
		break;
	case PARCEL_RENEW:
		emit(tasks, NOTICE_TASK_RENEWED, delivery, decision->reason);
		break;
	case PARCEL_POSTPONE:
		emit(tasks, NOTICE_TASK_POSTPONED, delivery, decision->reason);
		break;
	case PARCEL_LATER:
		put_off(tasks, delivery, decision);
		break;
	case PARCEL_DEAD_LETTER:
		emit(tasks, NOTICE_TASK_GIVEN_UP, delivery, decision->reason);
		break;
	case PARCEL_REPLY:
	case PARCEL_HAND_BACK:
	case PARCEL_REFUSAL:
		break; /* emitted when it is confirmed */
	}
	outbox_put(&tasks->outbox, parcel);
}

static void end_accepted(struct tasks *tasks, struct delivery *delivery)
{
	delivery->is_accepted = false;
	tasks->accepted--;
	if (delivery->source) /* its ack has waited for others */
		source_release(delivery);
	else
		delivery_free(delivery);
}

void tasks_release_delivery(struct tasks *tasks, struct delivery *delivery)
{
	tasks->pace.settled++;
	if (delivery->is_accepted)
		end_accepted(tasks, delivery);
	else if (delivery->session || delivery_is_detached(delivery))
		sessions_settle(tasks->sessions, delivery);
	else
		source_release(delivery);
}

static void reject(struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	emit(tasks, NOTICE_TASK_GIVEN_UP, delivery, decision->reason);
	if (tasks->sessions || delivery->is_accepted) {
		delivery->is_rejected = !delivery->is_accepted; /* the broker has it no more */
		tasks_release_delivery(tasks, delivery);
		return;
	}
	tasks->pace.settled++;
	if (delivery->source->state != SOURCE_IS_CLOSING) {
		source_reject(delivery, REJECT_DEAD_LETTER);
		return;
	}
	/* Nothing can be sent on this channel any more; its close gives the message back. */
	source_forget(delivery);
	delivery_free(delivery);
}

/* Its next attempt is due after a delay. */
static void park(struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	mtime now = tasks->context->now;
	bool is_postponed = decision->reason == REASON_POSTPONED;
	delivery->parcel.delay = decision->delay;
	if (is_postponed)
		emit(tasks, NOTICE_TASK_POSTPONED_BY_WORKER, delivery, REASON_NONE);
	else
		emit(tasks, NOTICE_TASK_RETRIED, delivery, decision->reason);
	/* For its dead letter, if an operator gives it up. */
	delivery->parcel.output = output_of_failure(delivery->parcel.output);
	if (!is_postponed) {
		if (!delivery->failed_at)
			delivery->failed_at = now;
		delivery->attempt++;
		delivery->is_suspect |=
			decision->reason == REASON_CRASHED || decision->reason == REASON_TIMED_OUT;
	}
	sessions_park(tasks->sessions, delivery, decision->reason, decision->delay, now);
}

/* The task stays at the front of its session. */
static void keep(struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	mtime now = tasks->context->now;
	if (decision->verdict == VERDICT_BLOCK) {
		emit(tasks, NOTICE_SESSION_BLOCKED, delivery, decision->reason);
		sessions_block(tasks->sessions, delivery, decision->reason, now);
		return;
	}
	if (decision->verdict == VERDICT_PARK) {
		park(tasks, delivery, decision);
		return;
	}
	emit(tasks, NOTICE_TASK_HANDED_BACK, delivery, REASON_NONE);
	delivery->attempt = 0;
	delivery->failed_at = 0;
	delivery->is_suspect = false;
	delivery->soft_ms = delivery->parcel.output->soft_ms;
	delivery->slice++;
	output_free(delivery->rest);
	delivery->rest = delivery->parcel.output;
	delivery->parcel.output = NULL;
	sessions_continue(tasks->sessions, delivery, now);
}

void tasks_discard(struct tasks *tasks, struct delivery *delivery)
{
	emit(tasks, NOTICE_TASK_DISCARDED, delivery, REASON_NONE);
	tasks_release_delivery(tasks, delivery);
}

/* It is settled here or by the broker: its session goes on without it. */
static void leave_session(struct tasks *tasks, struct delivery *delivery)
{
	if (delivery->session)
		sessions_leave(tasks->sessions, delivery, tasks->context->now);
}

static void acknowledge(
	struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	if (decision->no_reply_to)
		emit_once(tasks, NOTICE_NO_REPLY_TO, delivery);
	if (decision->reason)
		emit(tasks, NOTICE_REPLY_DROPPED, delivery, decision->reason);
	emit(tasks, NOTICE_TASK_DONE, delivery, REASON_NONE);
	tasks_release_delivery(tasks, delivery);
}

/* True: its session was aborted while it ran, and it is not done; it has moved in. Not inlined:
 * most tasks need none of it. */
static __attribute__((noinline)) bool is_aborted(
	struct tasks *tasks, struct delivery *delivery, enum verdict verdict)
{
	const struct session *session = delivery->session;
	bool is_undone = verdict == VERDICT_PARK || verdict == VERDICT_BLOCK ||
			 verdict == VERDICT_CONTINUE || verdict == VERDICT_REQUEUE;
	if (session->front != delivery || !is_undone || pool_is_forced(tasks->context))
		return false;
	switch ((enum session_rest)session->rest_goes) {
	case REST_IS_RETRIED:
		return false;
	case REST_IS_KEPT:
		output_free(delivery->parcel.output);
		delivery->parcel.output = NULL;
		dispatch_requeue(&tasks->dispatch, delivery, tasks->context->now);
		break;
	case REST_IS_DEAD_LETTER:
		tasks_give_up(tasks, delivery, REASON_SESSION_CLOSED);
		break;
	case REST_IS_DISCARDED:
		leave_session(tasks, delivery);
		tasks_discard(tasks, delivery);
		break;
	}
	return true;
}

static void carry_out(
	struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	if (delivery->session && is_aborted(tasks, delivery, decision->verdict))
		return;
	if (decision->what)
		delivery->parcel.what = decision->what;
	switch (decision->verdict) {
	case VERDICT_ACK:
		leave_session(tasks, delivery);
		acknowledge(tasks, delivery, decision);
		break;
	case VERDICT_PUBLISH:
		leave_session(tasks, delivery);
		publish(tasks, delivery, decision);
		break;
	case VERDICT_REJECT:
		leave_session(tasks, delivery);
		reject(tasks, delivery, decision);
		break;
	case VERDICT_REQUEUE:
		dispatch_requeue(&tasks->dispatch, delivery, tasks->context->now);
		break;
	case VERDICT_PARK:
	case VERDICT_BLOCK:
	case VERDICT_CONTINUE:
		keep(tasks, delivery, decision);
		break;
	}
}

/* An orphan whose worker or parcel has ended. */
static void free_orphan(struct tasks *tasks, struct delivery *delivery)
{
	if (delivery->session)
		sessions_remove(tasks->sessions, delivery, tasks->context->now);
	else
		delivery_free(delivery);
}

/* Its worker has answered with a failure, or has ended. An answer that gives the task up is how a
 * worker follows a request to cancel, so it is not what counts. */
static bool is_killed(const struct delivery *delivery, enum outcome outcome)
{
	bool is_undone = outcome == OUTCOME_REJECTED || outcome == OUTCOME_FAILED ||
			 outcome == OUTCOME_CRASHED || outcome == OUTCOME_TIMED_OUT ||
			 outcome == OUTCOME_BROKEN;
	return delivery->kill && is_undone;
}

void tasks_finish(struct tasks *tasks, struct delivery *delivery, struct ending ending)
{
	const struct output *output = delivery->parcel.output;
	delivery->parcel.exit = ending.exit;
	delivery->parcel.what = ending.what;
	if (!delivery_is_live(delivery)) {
		emit(tasks, NOTICE_TASK_ORPHANED, delivery, REASON_NONE);
		free_orphan(tasks, delivery);
		return;
	}
	if (is_killed(delivery, ending.outcome))
		ending.outcome = OUTCOME_KILLED;
	if (ending.outcome == OUTCOME_DONE && output->reply_queue.len)
		emit_once(tasks, NOTICE_REPLY_IGNORED, delivery);
	struct decision decision = settle_decide(
		&tasks->context->config.policy, ending.outcome, delivery, output, ending.reason);
	carry_out(tasks, delivery, &decision);
}

/* No worker has had it since its latest attempt, if it had one. */
void tasks_settle_refused(
	struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	delivery->parcel.exit = (struct exit_info){0};
	delivery->parcel.what = NULL;
	carry_out(tasks, delivery, decision);
}

/* The redelivery of a detached one, which has its place, and perhaps a worker. */
static void reattach(struct tasks *tasks, struct delivery *known, struct delivery *delivery)
{
	known->tag = delivery->tag;
	known->returns = delivery->returns;
	known->queued_at = tasks->context->now;
	delivery_free(delivery);
	source_open(&tasks->source, known);
	sessions_reattached(tasks->sessions, known, tasks->context->now);
}

/* In how many milliseconds its time comes; 0: it may start. A time too far ahead is a mistake, but
 * one of ours was not: the clock may be wrong. */
static int64_t time_left(const struct pool_context *context, struct delivery *delivery)
{
	if (!delivery->not_before_ms || delivery->invalid)
		return 0;
	int64_t left_ms = delivery->not_before_ms - context->effects->wall_ms(context->io);
	if (left_ms > WAIT_MAX_MS && !delivery->is_time_ours)
		delivery->invalid = REASON_BAD_HEADERS;
	return left_ms > 0 && !delivery->invalid ? left_ms : 0;
}

/* True: the delivery has moved in. It joins the detached one that it delivers again; or there is no
 * memory for its session, and the channel gives back what it holds, so that nothing overtakes it.
 * What is early has no place in its session yet. */
static bool joins_detached(struct tasks *tasks, struct delivery *delivery, bool is_early)
{
	const struct pool_context *context = tasks->context;
	struct delivery *known = sessions_match(tasks->sessions, delivery, is_early, context->now,
		context->effects->is_same, context->io);
	if (known) {
		reattach(tasks, known, delivery);
		return true;
	}
	if (!delivery->key.len || is_early)
		return false;
	delivery->session = sessions_open(tasks->sessions, delivery->key, context->now);
	if (delivery->session)
		return false;
	delivery_free(delivery);
	tasks_leave(tasks, RENEWAL_MEMORY);
	return true;
}

void tasks_on_delivery(struct tasks *tasks, const struct event *event)
{
	struct source *source = &tasks->source;
	struct delivery *delivery = event->source.delivery;
	struct decision decision;
	if (event->source.epoch != source->epoch || !source_accepts(source, delivery->tag)) {
		delivery_free(delivery);
		return;
	}
	throttling_arrived(&tasks->dispatch.throttling, delivery);
	tasks->deliveries++;
	tasks->delivered_at = tasks->context->now;
	int64_t left_ms = time_left(tasks->context, delivery);
	if (tasks->sessions && joins_detached(tasks, delivery, left_ms > 0))
		return;
	source_open(source, delivery);
	delivery->queued_at = tasks->context->now;
	pace_arrived(&tasks->pace, delivery->content);
	if (delivery->session)
		sessions_append(tasks->sessions, delivery, tasks->context->now);
	else if (delivery->invalid)
		tasks_finish(tasks, delivery, (struct ending){.outcome = OUTCOME_INVALID});
	else if (settle_arrival(&tasks->context->config.policy, delivery, left_ms, &decision))
		carry_out(tasks, delivery, &decision);
	else
		dispatch_offer(&tasks->dispatch, delivery);
	tasks_hand_back_rest(tasks);
}

void tasks_give_up(struct tasks *tasks, struct delivery *delivery, enum reason reason)
{
	struct decision decision = settle_give_up(&tasks->context->config.policy, reason);
	carry_out(tasks, delivery, &decision);
}

static void hand_back(struct tasks *tasks, struct delivery *delivery)
{
	emit(tasks, NOTICE_TASK_UNSTARTED, delivery, REASON_NONE);
	source_reject(delivery, REJECT_REQUEUE);
}

/* A pool with sessions hands nothing back: what it holds goes back in order when its channel
 * closes.
 */
void tasks_hand_back(struct tasks *tasks)
{
	struct delivery *delivery;
	if (tasks->sessions)
		return;
	while ((delivery = dispatch_take_suspect(&tasks->dispatch)))
		hand_back(tasks, delivery);
	tasks_hand_back_others(tasks);
}

void tasks_hand_back_others(struct tasks *tasks)
{
	struct delivery *delivery;
	while ((delivery = dispatch_take(&tasks->dispatch)))
		hand_back(tasks, delivery);
}

/* ---------- what workers do ---------- */

/* A task that takes much longer than the others cannot be foreseen; the log shows how long the
 * tasks behind it waited. No limit and no time applies to tasks of a pipe that was stopped. */
static void emit_held_up(struct tasks *tasks, const struct pipe *pipe, mtime took)
{
	if (pipe->load < 2 || took < tasks->dispatch.pipe_wait || pipe->blame == BLAME_NOBODY)
		return;
	pool_emit(tasks->context, (struct notice){.kind = NOTICE_TASKS_HELD_UP,
					  .slot = pipe->slot,
					  .life = pipe->life,
					  .delivery = pipe_head(pipe),
					  .duration = took,
					  .behind = pipe->load - 1u});
}

/* An answer may have waited in the kernel while this process was busy: that is not its worker's
 * time. What is not counted now counts for the next task in the pipe, so that the sum is right. */
static void count_head(struct tasks *tasks, struct pipe *pipe, mtime counted_until)
{
	mtime counted = counted_until - pipe_works_since(pipe);
	pipe->counted_until = pipe->load > 1 ? counted_until : MTIME_NEVER;
	emit_held_up(tasks, pipe, counted);
	pace_answered(&tasks->pace, pipe, counted);
}

void tasks_answered(struct tasks *tasks, struct delivery *delivery, enum outcome outcome,
	struct output *output, mtime counted_until)
{
	bool is_single = tasks->dispatch.concurrency == 1;
	mtime since = is_single ? pipe_works_since(delivery->pipe) : delivery->begun_at;
	if (tasks->sessions)
		sessions_charge(tasks->sessions, delivery, counted_until - since);
	if (is_single)
		count_head(tasks, delivery->pipe, counted_until);
	else
		running_count(&tasks->dispatch.running, delivery, counted_until);
	dispatch_end(&tasks->dispatch, delivery, tasks->context->now);
	delivery->parcel.output = output;
	delivery->took = tasks->context->now - delivery->begun_at;
	tasks_finish(tasks, delivery, (struct ending){.outcome = outcome});
}

/* A text is cut after a whole character. Without memory the one before stays. */
static void keep_progress(struct delivery *delivery, struct text text, mtime now)
{
	size_t len = text.len < PROGRESS_KEPT ? text.len : PROGRESS_KEPT;
	while (len < text.len && len > 0 && ((uint8_t)text.ptr[len] & 0xc0) == 0x80)
		len--;
	struct output *kept = output_copy_of(text_of(text.ptr, len), TEXT_NONE, TEXT_NONE);
	if (!kept)
		return;
	output_free(delivery->progress);
	delivery->progress = kept;
	delivery->progress_at = now;
}

/* About a task that its worker has begun. */
static void emit_begun(
	const struct tasks *tasks, const struct delivery *delivery, struct notice notice)
{
	notice.slot = delivery->pipe->slot;
	notice.life = delivery->pipe->life;
	notice.delivery = delivery;
	pool_emit(tasks->context, notice);
}

/* The worker sets the task's hard limit, which replaces the pool's. A limit that is over stays
 * over, and none applies to a worker that is ending. */
static void set_hard_limit(struct tasks *tasks, struct delivery *delivery, int64_t limit_ms)
{
	const char *refusal = limit_ms > 0 ? NULL : "it is no number from 1 to 31536000000";
	if (!running_has(delivery) || delivery->is_overdue)
		return;
	if (!refusal &&
		running_set_hard(&tasks->dispatch.running, delivery, limit_ms * MTIME_MS) != RC_OK)
		refusal = "out of memory";
	if (!refusal)
		emit_begun(tasks, delivery,
			(struct notice){
				.kind = NOTICE_TASK_LIMITED, .duration = delivery->hard_limit});
	else if (is_first(tasks, NOTICE_LIMIT_IGNORED))
		emit_begun(tasks, delivery,
			(struct notice){.kind = NOTICE_LIMIT_IGNORED, .what = refusal});
}

/* One that only sets a limit leaves the progress that was reported before. */
void tasks_progress(struct tasks *tasks, struct delivery *delivery, struct output *output)
{
	bool has_limit = output->hard_limit_ms >= 0;
	if (has_limit)
		set_hard_limit(tasks, delivery, output->hard_limit_ms);
	if (!has_limit || output->body.len > 0) {
		keep_progress(delivery, output->body, tasks->context->now);
		emit_begun(tasks, delivery,
			(struct notice){.kind = NOTICE_TASK_PROGRESS, .output = output});
	}
	output_free(output);
}

void tasks_accept(struct tasks *tasks, struct delivery *delivery)
{
	assert(!tasks->sessions);
	if (!delivery->source || delivery->is_accepted)
		return;
	source_accept(delivery, tasks->context->now);
	dispatch_count_accepted(&tasks->dispatch, delivery, 1);
	tasks->accepted++;
	pool_emit(tasks->context, (struct notice){.kind = NOTICE_TASK_ACCEPTED,
					  .slot = delivery->pipe->slot,
					  .life = delivery->pipe->life,
					  .delivery = delivery});
}

/* Take the last task out of a pipe that was stopped, if its worker had begun it. One that was not
 * begun waits again, before all others; an orphan is freed. NULL: the pipe is empty. */
static struct delivery *take_last_begun(struct tasks *tasks, struct pipe *pipe)
{
	struct delivery *delivery;
	while ((delivery = dispatch_take_last(&tasks->dispatch, pipe))) {
		if (pipe->load == 0 || tasks->dispatch.concurrency > 1)
			return delivery;
		if (delivery_is_live(delivery))
			carry_out(tasks, delivery, &(struct decision){.verdict = VERDICT_REQUEUE});
		else
			free_orphan(tasks, delivery);
	}
	return NULL;
}

/* One task has begun, or the pool knows who is to blame. */
static bool has_failed(const struct pipe *pipe, const struct delivery *delivery)
{
	return pipe->blame == BLAME_BEGUN || (pipe->blame == BLAME_MARKED && delivery->is_blamed);
}

void tasks_worker_gone(
	struct tasks *tasks, struct pipe *pipe, struct exit_info exit, struct output *last_output)
{
	struct delivery *delivery;
	if (pipe->load > 0)
		emit_held_up(tasks, pipe, tasks->context->now - pipe_head(pipe)->begun_at);
	while ((delivery = take_last_begun(tasks, pipe))) {
		struct ending ending = {.outcome = OUTCOME_UNSTARTED, .exit = exit};
		delivery->took = tasks->context->now - delivery->begun_at;
		if (tasks->sessions)
			sessions_charge(tasks->sessions, delivery, delivery->took);
		if (has_failed(pipe, delivery)) {
			ending.outcome = pipe->on_exit;
			ending.what = pipe->on_exit == OUTCOME_BROKEN ? pipe->violation : NULL;
			/* kept for the notice of the failed attempt */
			delivery->parcel.output = last_output;
			last_output = NULL;
		}
		delivery->is_suspect |= pipe->blame == BLAME_SUSPECTS;
		tasks_finish(tasks, delivery, ending);
	}
	output_free(last_output);
}

static void emit_if_accepted(void *ctx, struct parcel *parcel)
{
	if (parcel->delivery->is_accepted)
		emit(ctx, NOTICE_PARCEL_LOST, parcel->delivery, parcel->reason);
}

void tasks_emit_lost(struct tasks *tasks)
{
	outbox_each(&tasks->outbox, emit_if_accepted, tasks);
}

/* The worker had begun the task and may have done a part of it, so this is logged. An orphan is
 * not: it is delivered again anyway. */
void tasks_cut_short(struct tasks *tasks, struct pipe *pipe)
{
	struct delivery *delivery;
	dispatch_slot_stop(&tasks->dispatch, pipe);
	while ((delivery = take_last_begun(tasks, pipe))) {
		if (!delivery_is_live(delivery)) {
			free_orphan(tasks, delivery);
			continue;
		}
		pool_emit(tasks->context,
			(struct notice){.kind = NOTICE_TASK_CUT_SHORT,
				.slot = pipe->slot,
				.life = pipe->life,
				.delivery = delivery,
				.duration = tasks->context->now - delivery->begun_at});
		if (delivery->is_accepted)
			tasks_release_delivery(tasks, delivery);
		else if (tasks->sessions)
			dispatch_requeue(&tasks->dispatch, delivery, tasks->context->now);
		else
			source_reject(delivery, REJECT_REQUEUE);
	}
}
