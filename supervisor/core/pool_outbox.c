/* What the publishing channel tells: the moment between "answered" and "may be acked". */
#include "core/pool_parts.h"

static struct parcel *parcel_of(struct pool *pool, const struct event *event)
{
	if (!outbox_is_current(&pool->outbox, event->outbox.epoch))
		return NULL;
	return outbox_find(&pool->outbox, event->outbox.seq);
}

static void hold(struct pool *pool, struct parcel *parcel, unsigned step, const char *what)
{
	outbox_put_later(&pool->outbox, parcel, step, pool->now);
	pool_tell(pool, (struct notice){
				.kind = NOTICE_PARCEL_REFUSED,
				.slot = parcel->delivery->slot,
				.life = parcel->delivery->life,
				.delivery = parcel->delivery,
				.reason = parcel->reason,
				.duration = backoff_wait(step),
				.what = what,
			});
}

/* Its target is missing or full now; the input stays unacked until that changes. */
static void hold_refused(struct pool *pool, struct parcel *parcel, const char *what)
{
	if (parcel->refusals < UINT16_MAX)
		parcel->refusals++;
	hold(pool, parcel, backoff_step(parcel->refusals), what);
}

static void finish_unroutable(struct pool *pool, struct parcel *parcel, enum reason reason)
{
	pool_finish(pool, parcel->delivery,
		(struct ending){
			.outcome = OUTCOME_UNROUTABLE, .reason = reason, .exit = parcel->exit});
}

static void tell_through(struct pool *pool, const struct parcel *parcel)
{
	if (parcel->kind != PARCEL_REPLY && parcel->kind != PARCEL_HAND_BACK)
		return; /* was told when it was decided */
	bool is_reply = parcel->kind == PARCEL_REPLY;
	pool_tell(pool, (struct notice){
				.kind = is_reply ? NOTICE_TASK_DONE : NOTICE_TASK_HANDED_BACK,
				.slot = parcel->delivery->slot,
				.life = parcel->delivery->life,
				.delivery = parcel->delivery,
				.output = parcel->output,
				.duration = parcel->delivery->took,
			});
}

static void confirm(struct pool *pool, struct parcel *parcel)
{
	struct delivery *delivery = parcel->delivery;
	outbox_take(&pool->outbox, parcel);
	if (!delivery->source) {
		delivery_free(delivery);
	} else if (parcel->returned && parcel->kind == PARCEL_REPLY) {
		finish_unroutable(pool, parcel, REASON_UNROUTABLE);
	} else if (parcel->again) {
		outbox_put(&pool->outbox, parcel);
	} else if (parcel->returned) {
		hold_refused(pool, parcel, "found no queue");
	} else {
		tell_through(pool, parcel);
		pace_settled(&pool->pace);
		dispatch_done(&pool->dispatch, delivery);
	}
}

static void refuse(struct pool *pool, struct parcel *parcel)
{
	outbox_take(&pool->outbox, parcel);
	if (parcel->delivery->source)
		hold_refused(pool, parcel, "was refused by the broker");
	else
		delivery_free(parcel->delivery);
}

static void judge(struct pool *pool, const struct event *event,
	void (*verdict)(struct pool *, struct parcel *))
{
	struct parcel *parcel = parcel_of(pool, event);
	if (!event->outbox.multiple) {
		if (parcel)
			verdict(pool, parcel);
		return;
	}
	if (!outbox_is_current(&pool->outbox, event->outbox.epoch))
		return;
	/* What a verdict publishes anew was not meant, whatever number came. */
	uint64_t last = event->outbox.seq;
	if (last > pool->outbox.last_seq)
		last = pool->outbox.last_seq;
	while ((parcel = outbox_oldest(&pool->outbox)) && parcel->seq <= last)
		verdict(pool, parcel);
}

void pool_on_confirmed(struct pool *pool, const struct event *event)
{
	judge(pool, event, confirm);
}

void pool_on_refused(struct pool *pool, const struct event *event)
{
	judge(pool, event, refuse);
}

void pool_on_returned(struct pool *pool, const struct event *event)
{
	struct parcel *parcel = parcel_of(pool, event);
	if (!parcel)
		return;
	parcel->returned = true;
	parcel->again = event->outbox.again;
}

void pool_on_queue_found(struct pool *pool, const struct event *event)
{
	if (outbox_is_current(&pool->outbox, event->outbox.epoch))
		outbox_again(&pool->outbox);
}

/* It was alone when the broker closed on us. A renewal has a reason of its own: no worker saw the
 * task, so its dead letter must not tell of an attempt. A dead letter has nowhere else to go: it
 * tries again, slowly and alone, and the others go past it. */
static void condemn(struct pool *pool, struct parcel *parcel)
{
	if (parcel->kind == PARCEL_REPLY || parcel->kind == PARCEL_HAND_BACK)
		finish_unroutable(pool, parcel, REASON_REPLY_REFUSED);
	else if (parcel->kind == PARCEL_DEAD_LETTER)
		hold(pool, parcel, BACKOFF_STEPS - 1, "cost a channel");
	else
		pool_give_up(pool, parcel->delivery,
			parcel->kind == PARCEL_RENEW ? REASON_RENEWAL_REFUSED
						     : REASON_REPLY_REFUSED);
}

static void lose(struct pool *pool, enum outbox_loss loss)
{
	struct link orphans, *link;
	list_init(&orphans);
	struct parcel *culprit = outbox_down(&pool->outbox, loss, &orphans);
	while ((link = list_first(&orphans))) {
		list_remove(link);
		delivery_free(CONTAINER_OF(link, struct parcel, order)->delivery);
	}
	if (culprit)
		condemn(pool, culprit);
}

void pool_on_outbox_up(struct pool *pool, const struct event *event)
{
	if (!outbox_is_newer(&pool->outbox, event->outbox.epoch))
		return;
	if (pool->outbox.is_up)
		lose(pool, LOSS_CONNECTION);
	outbox_up(&pool->outbox, event->outbox.epoch);
}

void pool_on_outbox_down(struct pool *pool, const struct event *event)
{
	if (outbox_is_current(&pool->outbox, event->outbox.epoch))
		lose(pool, event->outbox.loss);
}
