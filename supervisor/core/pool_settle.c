/* Carries out what settle.h decides. */
#include "core/pool_parts.h"

void pool_tell(struct pool *pool, struct notice notice)
{
	pool->effects->tell(pool->io, &notice);
}

static void tell_attempt(struct pool *pool, enum notice_kind kind, const struct delivery *delivery,
	enum reason reason, mtime duration)
{
	pool_tell(pool, (struct notice){
				.kind = kind,
				.slot = delivery->slot,
				.life = delivery->life,
				.delivery = delivery,
				.output = delivery->parcel.output,
				.reason = reason,
				.attempt = delivery->attempt + 1u,
				.attempts = pool->config.policy.attempts,
				.exit = delivery->parcel.exit,
				.what = delivery->parcel.what,
				.duration = duration,
			});
}

static void tell_task(struct pool *pool, enum notice_kind kind, const struct delivery *delivery,
	enum reason reason)
{
	tell_attempt(pool, kind, delivery, reason, delivery->took);
}

static void tell_once(
	struct pool *pool, bool *told, enum notice_kind kind, const struct delivery *delivery)
{
	if (!*told)
		tell_task(pool, kind, delivery, REASON_NONE);
	*told = true;
}

static void drop_orphan(struct pool *pool, struct delivery *delivery)
{
	tell_task(pool, NOTICE_TASK_ORPHANED, delivery, REASON_NONE);
	delivery_free(delivery);
}

static void carry_out_ack(
	struct pool *pool, struct delivery *delivery, const struct decision *decision)
{
	if (decision->unasked)
		tell_once(pool, &pool->told_unasked, NOTICE_REPLY_UNASKED, delivery);
	if (decision->reason)
		tell_task(pool, NOTICE_REPLY_DROPPED, delivery, decision->reason);
	tell_task(pool, NOTICE_TASK_DONE, delivery, REASON_NONE);
	pace_settled(&pool->pace);
	dispatch_done(&pool->dispatch, delivery);
}

static void carry_out_publish(
	struct pool *pool, struct delivery *delivery, const struct decision *decision)
{
	struct parcel *parcel = &delivery->parcel;
	parcel->kind = decision->parcel;
	parcel->reason = decision->reason;
	parcel->delay = decision->delay;
	parcel->refusals = 0;
	parcel->suspicions = 0;
	delivery->state = DELIVERY_ANSWERED;
	if (parcel->kind == PARCEL_RETRY)
		tell_attempt(pool, NOTICE_TASK_RETRIED, delivery, decision->reason, parcel->delay);
	if (parcel->kind == PARCEL_RENEW)
		tell_task(pool, NOTICE_TASK_RENEWED, delivery, REASON_NONE);
	if (parcel->kind == PARCEL_DEAD_LETTER)
		tell_task(pool, NOTICE_TASK_GIVEN_UP, delivery, decision->reason);
	outbox_put(&pool->outbox, parcel);
}

static void carry_out_reject(
	struct pool *pool, struct delivery *delivery, const struct decision *decision)
{
	tell_task(pool, NOTICE_TASK_GIVEN_UP, delivery, decision->reason);
	pace_settled(&pool->pace);
	if (delivery->source->state != SOURCE_IS_CLOSING) {
		source_reject(delivery, REJECT_DEAD_LETTER);
		return;
	}
	/* Nothing can be said on this channel any more; its close gives the message back. */
	source_forget(delivery);
	delivery_free(delivery);
}

static void carry_out(struct pool *pool, struct delivery *delivery, struct decision decision)
{
	switch (decision.verdict) {
	case VERDICT_ACK:
		carry_out_ack(pool, delivery, &decision);
		break;
	case VERDICT_PUBLISH:
		carry_out_publish(pool, delivery, &decision);
		break;
	case VERDICT_REJECT:
		carry_out_reject(pool, delivery, &decision);
		break;
	case VERDICT_REQUEUE:
		dispatch_requeue(&pool->dispatch, delivery);
		break;
	}
}

void pool_finish(struct pool *pool, struct delivery *delivery, struct ending ending)
{
	const struct output *output = delivery->parcel.output;
	delivery->parcel.exit = ending.exit;
	delivery->parcel.what = ending.what;
	if (!delivery->source) {
		drop_orphan(pool, delivery);
		return;
	}
	if (ending.outcome == OUTCOME_DONE && output->reply_queue.len)
		tell_once(pool, &pool->told_ignored, NOTICE_REPLY_IGNORED, delivery);
	carry_out(pool, delivery,
		settle_decide(
			&pool->config.policy, ending.outcome, delivery, output, ending.reason));
}

void pool_arrive(struct pool *pool, struct delivery *delivery)
{
	struct decision decision;
	pace_arrived(&pool->pace, delivery->body.len);
	if (delivery->unfit)
		pool_finish(pool, delivery, (struct ending){.outcome = OUTCOME_UNFIT});
	else if (settle_arrival(&pool->config.policy, delivery, &decision))
		carry_out(pool, delivery, decision);
	else
		dispatch_offer(&pool->dispatch, delivery);
}

void pool_give_up(struct pool *pool, struct delivery *delivery, enum reason reason)
{
	carry_out(pool, delivery, settle_give_up(&pool->config.policy, reason));
}

void pool_hand_back(struct pool *pool)
{
	struct delivery *delivery;
	while ((delivery = dispatch_take(&pool->dispatch))) {
		tell_task(pool, NOTICE_TASK_UNSTARTED, delivery, REASON_NONE);
		source_reject(delivery, REJECT_REQUEUE);
	}
}
