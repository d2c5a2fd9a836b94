/* A task arrives, and its attempts end: carry out what settle.h decides, and emit it. */
#include "core/tasks/tasks_internal.h"

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
			.exit = parcel->exit,
			.what = parcel->what,
			.duration = kind == NOTICE_TASK_RETRIED ? parcel->delay : delivery->took,
		});
}

static void emit_once(struct tasks *tasks, enum notice_kind kind, const struct delivery *delivery)
{
	uint64_t bit = UINT64_C(1) << kind;
	if (!(tasks->warned & bit))
		emit(tasks, kind, delivery, REASON_NONE);
	tasks->warned |= bit;
}

/* ---------- what is decided ---------- */

static void publish(struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	struct parcel *parcel = &delivery->parcel;
	parcel->kind = decision->parcel;
	parcel->reason = decision->reason;
	parcel->delay = decision->delay;
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
	case PARCEL_DEAD_LETTER:
		emit(tasks, NOTICE_TASK_GIVEN_UP, delivery, decision->reason);
		break;
	case PARCEL_REPLY:
	case PARCEL_HAND_BACK:
		break; /* emitted when it is confirmed */
	}
	outbox_put(&tasks->outbox, parcel);
}

static void reject(struct tasks *tasks, struct delivery *delivery, const struct decision *decision)
{
	emit(tasks, NOTICE_TASK_GIVEN_UP, delivery, decision->reason);
	tasks->pace.settled++;
	if (delivery->source->state != SOURCE_IS_CLOSING) {
		source_reject(delivery, REJECT_DEAD_LETTER);
		return;
	}
	/* Nothing can be sent on this channel any more; its close gives the message back. */
	source_forget(delivery);
	delivery_free(delivery);
}

static void carry_out(struct tasks *tasks, struct delivery *delivery, struct decision decision)
{
	if (decision.what)
		delivery->parcel.what = decision.what;
	switch (decision.verdict) {
	case VERDICT_ACK:
		if (decision.no_reply_to)
			emit_once(tasks, NOTICE_NO_REPLY_TO, delivery);
		if (decision.reason)
			emit(tasks, NOTICE_REPLY_DROPPED, delivery, decision.reason);
		emit(tasks, NOTICE_TASK_DONE, delivery, REASON_NONE);
		tasks->pace.settled++;
		source_release(delivery);
		break;
	case VERDICT_PUBLISH:
		publish(tasks, delivery, &decision);
		break;
	case VERDICT_REJECT:
		reject(tasks, delivery, &decision);
		break;
	case VERDICT_REQUEUE:
		dispatch_requeue(&tasks->dispatch, delivery);
		break;
	}
}

void tasks_finish(struct tasks *tasks, struct delivery *delivery, struct ending ending)
{
	const struct output *output = delivery->parcel.output;
	delivery->parcel.exit = ending.exit;
	delivery->parcel.what = ending.what;
	if (!delivery->source) {
		emit(tasks, NOTICE_TASK_ORPHANED, delivery, REASON_NONE);
		delivery_free(delivery);
		return;
	}
	if (ending.outcome == OUTCOME_DONE && output->reply_queue.len)
		emit_once(tasks, NOTICE_REPLY_IGNORED, delivery);
	carry_out(tasks, delivery,
		settle_decide(&tasks->context->config.policy, ending.outcome, delivery, output,
			ending.reason));
}

void tasks_on_delivery(struct tasks *tasks, const struct event *event)
{
	struct source *source = &tasks->source;
	struct delivery *delivery = event->source.delivery;
	struct decision decision;
	if (event->source.epoch != source->epoch || !source_open(source, delivery)) {
		delivery_free(delivery);
		return;
	}
	delivery->queued_at = tasks->delivered_at = tasks->context->now;
	tasks->deliveries++;
	pace_arrived(&tasks->pace, delivery_content_size(delivery));
	if (delivery->invalid)
		tasks_finish(tasks, delivery, (struct ending){.outcome = OUTCOME_INVALID});
	else if (settle_arrival(&tasks->context->config.policy, delivery, &decision))
		carry_out(tasks, delivery, decision);
	else
		dispatch_offer(&tasks->dispatch, delivery);
	tasks_hand_back_rest(tasks);
}

void tasks_give_up(struct tasks *tasks, struct delivery *delivery, enum reason reason)
{
	carry_out(tasks, delivery, settle_give_up(&tasks->context->config.policy, reason));
}

static void hand_back(struct tasks *tasks, struct delivery *delivery)
{
	emit(tasks, NOTICE_TASK_UNSTARTED, delivery, REASON_NONE);
	source_reject(delivery, REJECT_REQUEUE);
}

void tasks_hand_back(struct tasks *tasks)
{
	struct delivery *delivery;
	while ((delivery = dispatch_take_suspect(&tasks->dispatch)))
		hand_back(tasks, delivery);
	tasks_hand_back_innocents(tasks);
}

void tasks_hand_back_innocents(struct tasks *tasks)
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
	if (tasks->dispatch.concurrency > 1)
		running_count(&tasks->dispatch.running, delivery, counted_until);
	else
		count_head(tasks, delivery->pipe, counted_until);
	dispatch_end(&tasks->dispatch, delivery, tasks->context->now);
	delivery->parcel.output = output;
	delivery->took = tasks->context->now - delivery->begun_at;
	tasks_finish(tasks, delivery, (struct ending){.outcome = outcome});
}

void tasks_progress(struct tasks *tasks, const struct delivery *delivery, struct output *output)
{
	pool_emit(tasks->context, (struct notice){.kind = NOTICE_TASK_PROGRESS,
					  .slot = delivery->pipe->slot,
					  .life = delivery->pipe->life,
					  .delivery = delivery,
					  .output = output});
	output_free(output);
}

/* Take the last task out of a pipe that was stopped, if its worker had begun it. One that was not
 * begun waits again, before all others; an orphan is freed. NULL: the pipe is empty. */
static struct delivery *take_last_begun(struct tasks *tasks, struct pipe *pipe)
{
	struct delivery *delivery;
	while ((delivery = dispatch_take_last(&tasks->dispatch, pipe))) {
		if (pipe->load == 0 || tasks->dispatch.concurrency > 1)
			return delivery;
		if (delivery->source)
			dispatch_requeue(&tasks->dispatch, delivery);
		else
			delivery_free(delivery);
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

/* The worker had begun the task and may have done a part of it, so this is logged. An orphan is
 * not: it is delivered again anyway. */
void tasks_cut_short(struct tasks *tasks, struct pipe *pipe)
{
	struct delivery *delivery;
	dispatch_slot_stop(&tasks->dispatch, pipe);
	while ((delivery = take_last_begun(tasks, pipe))) {
		if (!delivery->source) {
			delivery_free(delivery);
			continue;
		}
		pool_emit(tasks->context,
			(struct notice){.kind = NOTICE_TASK_CUT_SHORT,
				.slot = pipe->slot,
				.life = pipe->life,
				.delivery = delivery,
				.duration = tasks->context->now - delivery->begun_at});
		source_reject(delivery, REJECT_REQUEUE);
	}
}
