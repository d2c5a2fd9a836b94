/* The core, watched from outside: the linker hands the calls between its files to these
 * (--wrap in sim.mk), so that nothing has to be built otherwise for a count. */
#include "core/pool_internal.h"
#include "sim/cover.h"
#include "sim/cover_command.h"
#include "sim/world.h"

/* The names that the linker gives to the real functions. */
void __real_pool_step(struct pool *, mtime, const struct event *);
void __wrap_pool_step(struct pool *, mtime, const struct event *);
struct life_step __real_life_next(enum life_state, enum life_fact);
struct life_step __wrap_life_next(enum life_state, enum life_fact);
struct decision __real_settle_decide(const struct settle_policy *, enum outcome,
	const struct delivery *, const struct output *, enum reason);
struct decision __wrap_settle_decide(const struct settle_policy *, enum outcome,
	const struct delivery *, const struct output *, enum reason);
bool __real_settle_arrival(
	const struct settle_policy *, const struct delivery *, int64_t, struct decision *);
bool __wrap_settle_arrival(
	const struct settle_policy *, const struct delivery *, int64_t, struct decision *);
struct decision __real_settle_give_up(const struct settle_policy *, enum reason);
struct decision __wrap_settle_give_up(const struct settle_policy *, enum reason);
bool __real_settle_throttled(const struct settle_policy *, const struct delivery *,
	enum throttle_excess, mtime, struct decision *);
bool __wrap_settle_throttled(const struct settle_policy *, const struct delivery *,
	enum throttle_excess, mtime, struct decision *);
enum throttling_answer __real_throttling_ask(
	struct throttling *, struct delivery *, bool keeps_place, mtime);
enum throttling_answer __wrap_throttling_ask(
	struct throttling *, struct delivery *, bool keeps_place, mtime);
struct parcel *__real_outbox_down(struct outbox *, enum outbox_loss, struct link *);
struct parcel *__wrap_outbox_down(struct outbox *, enum outbox_loss, struct link *);
void __real_source_release(struct delivery *);
void __wrap_source_release(struct delivery *);
void __real_source_reject(struct delivery *, enum reject);
void __wrap_source_reject(struct delivery *, enum reject);
void __real_source_forget(struct delivery *);
void __wrap_source_forget(struct delivery *);
void __real_dispatch_requeue(struct dispatch *, struct delivery *, mtime);
void __wrap_dispatch_requeue(struct dispatch *, struct delivery *, mtime);

/* ---------- source ---------- */

static bool is_of_present(const struct pool *pool, const struct event *event)
{
	if (event->kind == SOURCE_UP)
		return source_is_newer(&pool->tasks.source, event->source.epoch);
	return source_is_current(&pool->tasks.source, event->source.epoch);
}

static void mark_arrival(const struct delivery *delivery)
{
	cover_mark(COVER_ARRIVAL, 0, 0);
	cover_mark(COVER_ARRIVAL, 1, !delivery->redelivered);
	cover_mark(COVER_ARRIVAL, 2, delivery->returns == 0);
	cover_mark(COVER_ARRIVAL, 3, delivery->attempt == 0);
	cover_mark(COVER_ARRIVAL, 4, delivery->renewed == 0);
	cover_mark(COVER_ARRIVAL, 5, delivery->slice == 0);
	cover_mark(COVER_ARRIVAL, 6, delivery->soft_ms < 0);
	cover_mark(COVER_ARRIVAL, 7, delivery->invalid == REASON_NONE);
}

static void mark_source(const struct pool *pool, const struct event *event)
{
	bool is_present = is_of_present(pool, event);

	cover_mark(COVER_SOURCE, event->kind, is_present ? pool->tasks.source.state : COVER_OLDER);
	if (event->kind == DELIVERY)
		mark_arrival(event->source.delivery);
}

/* ---------- outbox ---------- */

static enum cover_outbox outbox_state(const struct outbox *outbox)
{
	if (outbox->state == OUTBOX_IS_DOWN)
		return COVER_OUTBOX_DOWN;
	if (outbox->state == OUTBOX_IS_PROBING)
		return COVER_OUTBOX_PROBING;
	return outbox_sent_count(outbox) ? COVER_OUTBOX_SENDING : COVER_OUTBOX_IDLE;
}

static void mark_confirm(const struct outbox *outbox, const struct parcel *parcel, bool multiple)
{
	cover_mark(COVER_PARCEL, parcel->kind, multiple ? FATE_CONFIRMED_MULTIPLE : FATE_CONFIRMED);
	if (!multiple && outbox_oldest(outbox) != parcel)
		cover_mark(COVER_PARCEL, parcel->kind, FATE_CONFIRMED_BEFORE);
	if (parcel->returned)
		cover_mark(COVER_PARCEL, parcel->kind, FATE_RETURNED);
	if (!parcel->delivery->source)
		cover_mark(COVER_PARCEL, parcel->kind, FATE_ORPHANED);
}

static void mark_verdict(
	const struct outbox *outbox, const struct event *event, const struct parcel *parcel)
{
	if (event->kind == CONFIRMED)
		mark_confirm(outbox, parcel, event->outbox.multiple);
	else
		cover_mark(COVER_PARCEL, parcel->kind,
			event->outbox.multiple ? FATE_NACKED_MULTIPLE : FATE_NACKED);
}

static void mark_verdicts(const struct outbox *outbox, const struct event *event)
{
	const struct parcel *parcel;

	if (!event->outbox.multiple) {
		parcel = outbox_find(outbox, event->outbox.seq);
		if (parcel)
			mark_verdict(outbox, event, parcel);
		return;
	}
	for (struct link *link = outbox->sent.next; link != &outbox->sent; link = link->next) {
		parcel = CONTAINER_OF(link, struct parcel, order);
		if (parcel->seq.number > event->outbox.seq)
			break;
		mark_verdict(outbox, event, parcel);
	}
}

static void mark_outbox(const struct outbox *outbox, const struct event *event)
{
	cover_mark(COVER_OUTBOX, event->kind, outbox_state(outbox));
	if (event->kind == CONFIRMED || event->kind == REFUSED)
		mark_verdicts(outbox, event);
}

struct parcel *__wrap_outbox_down(
	struct outbox *outbox, enum outbox_loss loss, struct link *ret_orphans)
{
	unsigned column = outbox_sent_count(outbox) == 0   ? 0
			  : outbox_sent_count(outbox) == 1 ? 1
							   : 2;
	struct parcel *culprit;

	cover_mark(COVER_LOSS, loss, column);
	if (outbox->state == OUTBOX_IS_PROBING)
		cover_mark(COVER_LOSS, loss, 3);
	for (struct link *link = outbox->sent.next; link != &outbox->sent; link = link->next)
		cover_mark(COVER_PARCEL, CONTAINER_OF(link, struct parcel, order)->kind,
			FATE_LOST + loss);
	culprit = __real_outbox_down(outbox, loss, ret_orphans);
	if (culprit)
		cover_mark(COVER_LOSS, loss, 4 + (culprit->kind == PARCEL_DEAD_LETTER));
	return culprit;
}

/* ---------- slots ---------- */

/* What a final answer is apart from a note of progress, and room from none. */
static unsigned slot_row(const struct event *event)
{
	bool is_second =
		(event->kind == SLOT_WRITABLE && event->slot.is_writable) ||
		(event->kind == SLOT_OUTPUT && event->slot.output->status == STATUS_PROGRESS);

	return 2 * (event->kind - SLOT_READY) + is_second;
}

static void mark_slot(const struct pool *pool, const struct event *event)
{
	const struct slot *slot = slots_at(&pool->slots, event->slot.slot);
	bool is_present = slot->life == event->slot.life;

	cover_mark(COVER_SLOT, slot_row(event), is_present ? slot->state : LIFE_RETIRED + 1);
}

struct life_step __wrap_life_next(enum life_state state, enum life_fact fact)
{
	cover_mark(COVER_LIFE, state, fact);
	return __real_life_next(state, fact);
}

/* ---------- settle ---------- */

/* As rows of PARCEL_KINDS, then: acked, acked without its reply, rejected, requeued, parked,
 * blocked, continued. */
static unsigned column_of(const struct decision *decision)
{
	switch (decision->verdict) {
	case VERDICT_PUBLISH:
		return decision->parcel;
	case VERDICT_ACK:
		return PARCEL_REFUSAL + (decision->reason ? 3 : decision->no_reply_to ? 2 : 1);
	case VERDICT_REJECT:
		return PARCEL_REFUSAL + 4;
	case VERDICT_REQUEUE:
		return PARCEL_REFUSAL + 5;
	case VERDICT_PARK:
		return PARCEL_REFUSAL + 6;
	case VERDICT_BLOCK:
		return PARCEL_REFUSAL + 7;
	case VERDICT_CONTINUE:
		break;
	}
	return PARCEL_REFUSAL + 8;
}

struct decision __wrap_settle_decide(const struct settle_policy *policy, enum outcome outcome,
	const struct delivery *delivery, const struct output *output, enum reason reason)
{
	struct decision decision = __real_settle_decide(policy, outcome, delivery, output, reason);

	cover_mark(COVER_SETTLE, outcome, column_of(&decision));
	cover_mark(COVER_REASON, decision.reason, column_of(&decision));
	return decision;
}

bool __wrap_settle_arrival(const struct settle_policy *policy, const struct delivery *delivery,
	int64_t left_ms, struct decision *ret_decision)
{
	bool is_settled = __real_settle_arrival(policy, delivery, left_ms, ret_decision);

	if (is_settled)
		cover_mark(COVER_REASON, ret_decision->reason, column_of(ret_decision));
	return is_settled;
}

struct decision __wrap_settle_give_up(const struct settle_policy *policy, enum reason reason)
{
	struct decision decision = __real_settle_give_up(policy, reason);

	cover_mark(COVER_REASON, reason, column_of(&decision));
	return decision;
}

/* Without a wait it is a question, and nothing is decided. */
bool __wrap_settle_throttled(const struct settle_policy *policy, const struct delivery *delivery,
	enum throttle_excess excess, mtime wait, struct decision *ret_decision)
{
	bool is_settled = __real_settle_throttled(policy, delivery, excess, wait, ret_decision);

	if (wait > 0 && is_settled && ret_decision->verdict == VERDICT_PUBLISH &&
		ret_decision->parcel == PARCEL_REFUSAL)
		throttles_refused(delivery);
	if (wait > 0 && is_settled && ret_decision->verdict == VERDICT_BLOCK)
		cover_mark(COVER_REASON, REASON_THROTTLED, column_of(ret_decision));
	if (wait > 0)
		throttles_decided(delivery, excess, wait);
	return is_settled;
}

enum throttling_answer __wrap_throttling_ask(
	struct throttling *throttling, struct delivery *delivery, bool keeps_place, mtime now)
{
	enum cover_asked asked = keeps_place         ? ASKED_ALONE
				 : delivery->session ? ASKED_SESSION
				 : delivery->group   ? ASKED_AGAIN
						     : ASKED_FIRST;
	enum throttling_answer answer =
		__real_throttling_ask(throttling, delivery, keeps_place, now);

	cover_mark(COVER_THROTTLE, answer, asked);
	if (answer == THROTTLING_WAITS && asked == ASKED_FIRST)
		throttles_waits(delivery);
	return answer;
}

/* ---------- deliveries ---------- */

void __wrap_source_release(struct delivery *delivery)
{
	cover_mark(COVER_DELIVERY, delivery->state, LEFT_RELEASED);
	__real_source_release(delivery);
}

void __wrap_source_reject(struct delivery *delivery, enum reject how)
{
	cover_mark(COVER_DELIVERY, delivery->state,
		how == REJECT_REQUEUE ? LEFT_TAKEN : LEFT_REJECTED);
	__real_source_reject(delivery, how);
}

void __wrap_source_forget(struct delivery *delivery)
{
	cover_mark(COVER_DELIVERY, delivery->state, LEFT_FORGOTTEN);
	__real_source_forget(delivery);
}

void __wrap_dispatch_requeue(struct dispatch *dispatch, struct delivery *delivery, mtime now)
{
	cover_mark(COVER_DELIVERY, delivery->state, LEFT_REQUEUED);
	__real_dispatch_requeue(dispatch, delivery, now);
}

/* ---------- commands ---------- */

static enum cover_situation situation_of(const struct pool *pool)
{
	if (!pool_stays(&pool->context))
		return SITUATION_STOPS;
	if (pool->slots.roll.state != REPLACE_OFF)
		return SITUATION_ROLLS;
	if (pool->context.phase == POOL_PAUSED)
		return SITUATION_PAUSED;
	return pool->slots.retired + pool->slots.kept < (int)pool->slots.all.count
		       ? SITUATION_SHRINKS
		       : SITUATION_PLAIN;
}

static unsigned command_row(const struct pool *pool, const struct event *event)
{
	uint32_t number = event->command.number, max = event->command.max;

	if (event->command.what != COMMAND_SCALE)
		return ROW_DRAIN - COMMAND_DRAIN + event->command.what;
	if (max)
		return ROW_SCALE_RANGE;
	if (number == 0 || number > POOL_WORKERS_MAX || number == pool->slots.wanted)
		return ROW_SCALE_NOWHERE;
	return number > pool->slots.wanted ? ROW_SCALE : ROW_SCALE_DOWN;
}

/* ---------- the step ---------- */

static unsigned phase_column(const struct pool_context *context)
{
	return pool_stays(context) ? 0 : pool_is_forced(context) ? 2 : 1;
}

static __attribute__((noinline)) void mark_event(const struct pool *pool, const struct event *event)
{
	struct pool_runtime *runtime = pool->context.io;

	runtime->has_events = true;
	if (event->kind <= DELIVERY)
		mark_source(pool, event);
	else if (event->kind <= QUEUE_FOUND)
		mark_outbox(&pool->tasks.outbox, event);
	else if (event->kind <= SLOT_MEMORY)
		mark_slot(pool, event);
	else if (event->kind == COMMAND)
		cover_mark(COVER_COMMAND, command_row(pool, event), situation_of(pool));
}

void __wrap_pool_step(struct pool *pool, mtime now, const struct event *event)
{
	enum source_state source = pool->tasks.source.state;
	enum cover_outbox outbox = outbox_state(&pool->tasks.outbox);

	cover_mark(COVER_EVENT, event->kind, phase_column(&pool->context));
	if (event->kind != TURN_END) /* which is the most frequent */
		mark_event(pool, event);
	order_event(pool->context.io, event);
	__real_pool_step(pool, now, event);
	order_stepped(pool->context.io, event);
	if (pool->tasks.source.state != source)
		cover_mark(COVER_SOURCE_MOVE, source, pool->tasks.source.state);
	if (outbox_state(&pool->tasks.outbox) != outbox)
		cover_mark(COVER_OUTBOX_MOVE, outbox, outbox_state(&pool->tasks.outbox));
}
