/* What the publish channel reports: when it has confirmed a parcel, its delivery may be acked. */
#include "core/tasks/tasks_internal.h"

static struct parcel *parcel_of(struct tasks *tasks, const struct event *event)
{
	if (!outbox_is_current(&tasks->outbox, event->outbox.epoch))
		return NULL;
	return outbox_find(&tasks->outbox, event->outbox.seq);
}

static void hold(struct tasks *tasks, struct parcel *parcel, unsigned step, const char *what)
{
	outbox_put_later(&tasks->outbox, parcel, step, tasks->context->now);
	pool_emit(tasks->context, (struct notice){
					  .kind = NOTICE_PARCEL_REFUSED,
					  .slot = parcel->delivery->slot,
					  .life = parcel->delivery->life,
					  .delivery = parcel->delivery,
					  .reason = parcel->reason,
					  .duration = failure_wait(step),
					  .what = what,
				  });
}

/* Its target is missing or full; its delivery stays unacked until that changes. */
static void hold_refused(struct tasks *tasks, struct parcel *parcel, const char *what)
{
	if (parcel->refusals < UINT16_MAX)
		parcel->refusals++;
	hold(tasks, parcel, failure_wait_step(parcel->refusals), what);
}

static void finish_unroutable(struct tasks *tasks, struct parcel *parcel, enum reason reason)
{
	tasks_finish(tasks, parcel->delivery,
		(struct ending){
			.outcome = OUTCOME_UNROUTABLE, .reason = reason, .exit = parcel->exit});
}

static void emit(struct tasks *tasks, const struct parcel *parcel, enum notice_kind kind)
{
	bool is_refusal = kind == NOTICE_TASK_REFUSED;
	pool_emit(tasks->context,
		(struct notice){
			.kind = kind,
			.slot = parcel->delivery->slot,
			.life = parcel->delivery->life,
			.delivery = parcel->delivery,
			.output = parcel->output,
			.what = is_refusal ? parcel->what : NULL,
			.duration = is_refusal ? parcel->delay : parcel->delivery->took,
		});
}

/* The notice about a copy was emitted when it was decided. */
static void emit_confirmed(struct tasks *tasks, const struct parcel *parcel)
{
	if (parcel->kind == PARCEL_REPLY)
		emit(tasks, parcel, NOTICE_TASK_DONE);
	else if (parcel->kind == PARCEL_HAND_BACK)
		emit(tasks, parcel, NOTICE_TASK_HANDED_BACK);
	else if (parcel->kind == PARCEL_REFUSAL)
		emit(tasks, parcel, NOTICE_TASK_REFUSED);
}

/* Its caller cannot be told that it may not start, so it comes back later. */
static void postpone(struct tasks *tasks, struct parcel *parcel)
{
	struct decision decision = settle_postpone(parcel->delay);
	decision.what = parcel->what;
	tasks_settle_refused(tasks, parcel->delivery, &decision);
}

static void confirm(struct tasks *tasks, struct parcel *parcel)
{
	struct delivery *delivery = parcel->delivery;
	outbox_take(&tasks->outbox, parcel);
	if (!delivery_is_live(delivery)) {
		delivery_free(delivery);
	} else if (parcel->returned && parcel->kind == PARCEL_REPLY) {
		finish_unroutable(tasks, parcel, REASON_UNROUTABLE);
	} else if (parcel->returned && parcel->kind == PARCEL_REFUSAL) {
		postpone(tasks, parcel);
	} else if (parcel->returned == RETURNED_RESEND) {
		outbox_put(&tasks->outbox, parcel);
	} else if (parcel->returned) {
		hold_refused(tasks, parcel, "found no queue");
	} else {
		emit_confirmed(tasks, parcel);
		tasks_release_delivery(tasks, delivery);
	}
}

static void refuse(struct tasks *tasks, struct parcel *parcel)
{
	outbox_take(&tasks->outbox, parcel);
	if (!delivery_is_live(parcel->delivery))
		delivery_free(parcel->delivery);
	else if (parcel->kind == PARCEL_REFUSAL)
		postpone(tasks, parcel);
	else
		hold_refused(tasks, parcel, "was refused by the broker");
}

static void judge(struct tasks *tasks, const struct event *event,
	void (*verdict)(struct tasks *, struct parcel *))
{
	struct parcel *parcel = parcel_of(tasks, event);
	if (!event->outbox.multiple) {
		if (parcel)
			verdict(tasks, parcel);
		return;
	}
	if (!outbox_is_current(&tasks->outbox, event->outbox.epoch))
		return;
	/* A verdict may publish parcels again, with higher numbers; these are not confirmed. */
	uint64_t last = event->outbox.seq;
	if (last > tasks->outbox.last_seq)
		last = tasks->outbox.last_seq;
	while ((parcel = outbox_oldest(&tasks->outbox)) && parcel->seq.number <= last)
		verdict(tasks, parcel);
}

void tasks_on_confirmed(struct tasks *tasks, const struct event *event)
{
	judge(tasks, event, confirm);
}

void tasks_on_refused(struct tasks *tasks, const struct event *event)
{
	judge(tasks, event, refuse);
}

void tasks_on_returned(struct tasks *tasks, const struct event *event)
{
	struct parcel *parcel = parcel_of(tasks, event);
	if (!parcel)
		return;
	parcel->returned = event->outbox.again ? RETURNED_RESEND : RETURNED_HOLD;
}

void tasks_on_queue_found(struct tasks *tasks, const struct event *event)
{
	if (outbox_is_current(&tasks->outbox, event->outbox.epoch))
		outbox_resend_returned(&tasks->outbox);
}

/* The reason for the dead letter of a task whose copy or reply costs a channel. Where no worker saw
 * the task, the dead letter must not report an attempt. */
static enum reason reason_to_give_up(enum parcel_kind kind)
{
	switch (kind) {
	case PARCEL_RENEW:
	case PARCEL_POSTPONE:
	case PARCEL_LATER:
		return REASON_RENEWAL_REFUSED;
	case PARCEL_REFUSAL:
		return REASON_THROTTLED;
	case PARCEL_REPLY:
	case PARCEL_HAND_BACK:
	case PARCEL_RETRY:
	case PARCEL_DEAD_LETTER:
		break;
	}
	return REASON_REPLY_REFUSED;
}

/* Its dead letter has no name of a throttle, which may be freed before it is published again. */
static void give_up(struct tasks *tasks, struct parcel *parcel)
{
	if (parcel->kind == PARCEL_POSTPONE || parcel->kind == PARCEL_REFUSAL)
		parcel->what = NULL;
	tasks_give_up(tasks, parcel->delivery, reason_to_give_up(parcel->kind));
}

/* Settle the parcel that was alone on the channel when the broker closed it. A dead letter has no
 * other target: it is published again, alone and after a wait, and others overtake it. */
static void settle_culprit(struct tasks *tasks, struct parcel *parcel)
{
	if (parcel->kind == PARCEL_REPLY || parcel->kind == PARCEL_HAND_BACK)
		finish_unroutable(tasks, parcel, REASON_REPLY_REFUSED);
	else if (parcel->kind == PARCEL_DEAD_LETTER)
		hold(tasks, parcel, FAILURE_WAIT_STEPS - 1, "cost a channel");
	else
		give_up(tasks, parcel);
}

static void channel_down(struct tasks *tasks, enum outbox_loss loss)
{
	struct link orphans, *link;
	list_init(&orphans);
	struct parcel *culprit = outbox_down(&tasks->outbox, loss, &orphans);
	while ((link = list_first(&orphans))) {
		list_remove(link);
		delivery_free(CONTAINER_OF(link, struct parcel, order)->delivery);
	}
	if (culprit)
		settle_culprit(tasks, culprit);
}

void tasks_on_outbox_up(struct tasks *tasks, const struct event *event)
{
	if (!outbox_is_newer(&tasks->outbox, event->outbox.epoch))
		return;
	if (tasks->outbox.state != OUTBOX_IS_DOWN)
		channel_down(tasks, LOSS_CONNECTION);
	outbox_up(&tasks->outbox, event->outbox.epoch);
}

void tasks_on_outbox_down(struct tasks *tasks, const struct event *event)
{
	if (outbox_is_current(&tasks->outbox, event->outbox.epoch))
		channel_down(tasks, event->outbox.loss);
}
