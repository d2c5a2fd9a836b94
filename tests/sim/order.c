#include "sim/order.h"

#include "core/pool_internal.h"
#include "sim/copies.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/order_facts.h"
#include "sim/order_later.h"
#include "sim/order_turns.h"
#include "sim/order_twins.h"
#include "sim/supervisor.h"
#include "sim/world.h"

#define SILENCE MTIME_MINUTE

static struct order *order_of(const struct pool_runtime *runtime)
{
	return &runtime->world->order;
}

static struct ordered *ordered_at(const struct pool_runtime *runtime, uint32_t id)
{
	return &runtime->world->order.message[id];
}

static bool is_in_lane(const struct ordered *a, const struct ordered *b)
{
	return a->key == b->key && a->is_high == b->is_high;
}

/* ---------- what is in hand ---------- */

static void take(struct hand *hand, uint32_t id)
{
	uint32_t i = 0;

	while (i < hand->count && hand->ids[i] != id)
		i++;
	sim_require(i < hand->count, "message %u is not in hand", id);
	hand->count--;
	memmove(&hand->ids[i], &hand->ids[i + 1], (hand->count - i) * sizeof *hand->ids);
	hand->held[id].state = HAND_NONE;
}

static void put(struct hand *hand, uint32_t id, uint64_t tag)
{
	struct held *held = &hand->held[id];

	sim_require(held->state == HAND_NONE, "message %u comes twice on one channel", id);
	sim_require(hand->count < HAND_MAX, "a hand over its size");
	*held = (struct held){.state = HAND_WAITING, .life = ++hand->lives, .tag = tag};
	hand->ids[hand->count++] = id;
}

static void detach_all(struct pool_runtime *runtime)
{
	struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++)
		hand->held[hand->ids[i]].is_detached = true;
	order_loose_detach(runtime);
}

static bool is_any_lost(const struct pool_runtime *runtime, uint32_t id)
{
	const struct ordered *message = ordered_at(runtime, id);

	return order_of(runtime)->lost[message->key][message->is_high].id > 0;
}

/* This one has come again, on a later channel than what was lost. */
static void forget_lost(struct order *order, uint32_t id)
{
	const struct ordered *message = &order->message[id];

	if (id >= order->lost[message->key][message->is_high].id &&
		order->channels > order->lost[message->key][message->is_high].channels)
		order->lost[message->key][message->is_high].id = 0;
}

/* Forget what is detached in the lane of a message; lane NULL: in all lanes. */
static void give_up(struct pool_runtime *runtime, const struct ordered *lane)
{
	struct hand *hand = &runtime->hand;

	for (uint32_t i = hand->count; i-- > 0;) {
		uint32_t id = hand->ids[i];

		if (!hand->held[id].is_detached ||
			(lane && !is_in_lane(lane, ordered_at(runtime, id))))
			continue;
		sim_trace("message %u is given up by its pool", id);
		ordered_at(runtime, id)->may_repeat |= is_any_lost(runtime, id);
		take(hand, id);
	}
}

static uint32_t first_detached(const struct pool_runtime *runtime, const struct ordered *lane)
{
	const struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++)
		if (hand->held[hand->ids[i]].is_detached &&
			is_in_lane(lane, ordered_at(runtime, hand->ids[i])))
			return hand->ids[i];
	return 0;
}

/* The broker does not have it from this channel any more, or not yet. */
static bool is_lost_at_once(const struct pool_runtime *runtime, uint64_t tag)
{
	const struct client_link *link = pool_link(runtime);

	return !link->peer || !broker_instance_of(link->peer, runtime->channel, tag);
}

/* It must not come again in a stop in good order, unless it is on its way already; or an operator
 * gave it up, while one before it in its lane was not done.
 */
static void note_ended(struct pool_runtime *runtime, uint32_t id)
{
	struct account *account = &runtime->world->account;
	uint64_t instance = ordered_at(runtime, id)->instance;

	if (!ordered_at(runtime, id)->is_disposed &&
		!is_lost_at_once(runtime, runtime->hand.held[id].tag))
		account_ended(account, instance, account->requeues[instance],
			runtime->supervisor->number);
}

static void attach(struct pool_runtime *runtime, uint32_t id, uint64_t tag)
{
	struct held *held = &runtime->hand.held[id];

	sim_trace("message %u is attached again", id);
	held->is_detached = false;
	held->tag = tag;
	if (held->state == HAND_ENDED)
		note_ended(runtime, id);
}

static void check_facts(const struct ordered *ordered, const struct delivery *delivery, uint32_t id)
{
	uint8_t key = ordered->key ? ordered->key : ordered->later_key;

	sim_require(text_is(delivery->key, order_key(key)), "message %u has the key %.*s", id,
		TEXT_ARGS(delivery->key));
	sim_require(!ordered->key || delivery->is_high == ordered->is_high,
		"message %u is in the other lane", id);
}

static void on_delivery(struct pool_runtime *runtime, const struct delivery *delivery)
{
	uint32_t id = account_id(delivery->body);
	struct ordered *ordered = ordered_at(runtime, id);
	uint32_t expected;

	check_facts(ordered, delivery, id);
	sim_trace("message %u comes%s, session %u%s", id, delivery->redelivered ? " again" : "",
		ordered->key, ordered->is_high ? ", high" : "");
	if (!source_accepts(&runtime->pool->tasks.source, delivery->tag))
		return; /* its channel is being left */
	if (!delivery->redelivered) {
		give_up(runtime, NULL);
		order_loose_give_up(runtime, false);
		order_takeover_forget(&runtime->hand);
	}
	order_later_comes(runtime, delivery);
	if (!ordered->key) {
		order_loose_comes(runtime, delivery);
		return;
	}
	expected = first_detached(runtime, ordered);
	if (expected != id && delivery->redelivered &&
		order_twins_are(order_of(runtime), expected, id))
		order_twins_exchange(runtime, expected, id);
	if (first_detached(runtime, ordered) == id) {
		attach(runtime, id, delivery->tag);
		return;
	}
	give_up(runtime, ordered);
	if (delivery->redelivered)
		forget_lost(order_of(runtime), id);
	put(&runtime->hand, id, delivery->tag);
	order_takeover_arrives(runtime, id, delivery);
	ordered->is_disposed = false;
}

void order_begin(struct pool_runtime *runtime)
{
	struct hand *hand = &runtime->hand;

	hand->count = 0;
	order_loose_begin(runtime);
	if (!order_of(runtime)->is_on)
		return;
	memset(hand->held, 0, sizeof hand->held);
	memset(hand->is_paused, 0, sizeof hand->is_paused);
	memset(hand->ending, 0, sizeof hand->ending);
	memset(hand->had_work, 0, sizeof hand->had_work);
	for (uint8_t key = 0; key <= ORDER_KEYS_MAX; key++)
		hand->idle_since[key] = MTIME_NEVER;
	hand->is_unsteady = runtime->config.session.max_sessions < order_of(runtime)->keys;
	hand->is_standby = order_of(runtime)->has_token;
	hand->held_until = hand->careful_until = 0;
	hand->passed = 0;
	order_takeover_forget(hand);
	order_turns_begin(hand);
	hand->named = (struct naming_seen){0};
}

/* What it had done and not acked is done again. */
void order_end(struct pool_runtime *runtime)
{
	const struct hand *hand = &runtime->hand;

	if (!order_of(runtime)->is_on)
		return;
	for (uint32_t i = 0; i < hand->count; i++)
		ordered_at(runtime, hand->ids[i])->may_repeat = true;
	order_loose_end(runtime);
}

/* It has asked for the end of its channel, for good, or another supervisor has the token. */
static bool is_last(const struct pool_runtime *runtime)
{
	return runtime->pool->tasks.source.request == SOURCE_CLOSE || runtime->hand.is_standby;
}

/* What the broker has not delivered again by now, it does not have. */
static bool is_silent(const struct pool_runtime *runtime)
{
	const struct tasks *tasks = &runtime->pool->tasks;

	return !pool_is_forced(&runtime->pool->context) &&
	       tasks->source.state == SOURCE_IS_CONSUMING && !tasks_window_is_full(tasks) &&
	       runtime->world->now - runtime->hand.heard_at >= SILENCE;
}

static void give_up_purged(struct pool_runtime *runtime)
{
	const struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++)
		if (hand->held[hand->ids[i]].is_detached)
			ordered_at(runtime, hand->ids[i])->may_repeat = true;
	give_up(runtime, NULL);
	order_loose_give_up(runtime, true);
	order_takeover_forget(&runtime->hand);
}

/* Another supervisor may get all of it. What still runs is of no interest when it ends. */
static void lose_token(struct pool_runtime *runtime)
{
	struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++)
		ordered_at(runtime, hand->ids[i])->may_repeat = true;
	runtime->world->account.refusals |= 1u << runtime->supervisor->number;
	order_loose_lose(runtime);
	give_up_purged(runtime);
	memset(hand->is_paused, 0, sizeof hand->is_paused);
	hand->is_standby = true;
}

static void forget_all(struct pool_runtime *runtime)
{
	order_end(runtime);
	while (runtime->hand.count)
		take(&runtime->hand, runtime->hand.ids[0]);
}

void order_event(struct pool_runtime *runtime, const struct event *event)
{
	if (!order_of(runtime)->is_on)
		return;
	order_of(runtime)->channels += event->kind == SOURCE_UP;
	if (event->kind == DELIVERY || event->kind == SOURCE_UP)
		runtime->hand.heard_at = runtime->world->now;
	if (event->kind == TURN_END && is_silent(runtime))
		give_up_purged(runtime);
	order_takeover_event(runtime, event);
	if (event->kind == TOKEN_LOST && !runtime->hand.is_standby)
		lose_token(runtime);
	if (event->kind == DELIVERY)
		on_delivery(runtime, event->source.delivery);
	else if (event->kind == SOURCE_DOWN && is_last(runtime))
		forget_all(runtime);
	else if (event->kind == SOURCE_DOWN)
		detach_all(runtime);
}

void order_stepped(struct pool_runtime *runtime, const struct event *event)
{
	if (!order_of(runtime)->is_on)
		return;
	if (event->kind == SOURCE_UP)
		order_of(runtime)->used = (uint16_t)event->source.window;
	order_turns_follow(runtime);
	order_facts_follow(runtime);
	if (event->kind != TURN_END || pool_is_forced(&runtime->pool->context) ||
		runtime->hand.is_standby)
		return;
	order_turns_check(runtime);
	order_facts_check(runtime);
	order_takeover_check(runtime);
}

bool order_is_at_rest(const struct pool_runtime *runtime)
{
	const struct order *order = order_of(runtime);

	for (uint8_t key = 1; order->is_on && key <= order->keys; key++)
		if (runtime->hand.is_paused[key] && !runtime->hand.is_standby)
			return false;
	return runtime->hand.count + runtime->hand.loose.count == 0;
}

bool order_is_fit(const struct pool_runtime *runtime, uint32_t id)
{
	enum temper temper = runtime->world->account.message[id].temper;

	return temper != TEMPER_INVALID && temper != TEMPER_TOO_LARGE &&
	       !runtime->hand.held[id].is_poison;
}

uint16_t order_failures(const struct pool_runtime *runtime, uint32_t id)
{
	return runtime->hand.held[id].failures;
}

/* ---------- a task is sent ---------- */

static void check_worker(
	const struct pool_runtime *runtime, const struct worker *worker, uint32_t id)
{
	const struct ordered *message = runtime->world->order.message;

	for (uint32_t k = 0; k < worker->count; k++)
		sim_require(message[worker->tasks[k].id].key != message[id].key,
			"message %u runs beside message %u of its session, of supervisor %u", id,
			worker->tasks[k].id, runtime->supervisor->number);
}

/* A worker that SIGKILL was sent to runs no more, though its own pool waits for its end. */
static void check_workers(const struct pool_runtime *runtime, uint32_t id, bool is_own)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &runtime->workers.worker[i];

		if (is_own || (!worker->kill && !worker->is_dead))
			check_worker(runtime, worker, id);
	}
}

/* In no worker of any supervisor, one that is ending included. */
static void check_alone(const struct pool_runtime *runtime, uint32_t id)
{
	EACH_SUPERVISOR(runtime->world, supervisor)
	{
		EACH_POOL(supervisor, other)
		{
			if (supervisor_is_alive(supervisor))
				check_workers(other, id, other == runtime);
		}
	}
}

/* The one at the front of its session goes first; then its lane counts, and the high one before
 * the normal one. */
static void check_before(
	const struct pool_runtime *runtime, uint32_t id, uint32_t other, bool is_older)
{
	const struct ordered *a = ordered_at(runtime, id), *b = ordered_at(runtime, other);
	const struct held *held = &runtime->hand.held[id];
	const struct held *waits = &runtime->hand.held[other];
	bool is_ready = waits->state == HAND_WAITING && !waits->is_detached;

	if (a->key != b->key || waits->state == HAND_ENDED)
		return;
	sim_require(waits->state != HAND_PARKED && waits->state != HAND_BLOCKED,
		"message %u overtakes message %u, which has failed", id, other);
	sim_require(!is_older || !is_in_lane(a, b), "message %u overtakes message %u of its lane",
		id, other);
	sim_require(held->is_front || a->is_high || !b->is_high || !is_ready,
		"message %u goes before message %u, which is high", id, other);
}

/* It is this message's turn in its session. */
static void check_turn(const struct pool_runtime *runtime, uint32_t id)
{
	const struct hand *hand = &runtime->hand;
	const struct held *held = &hand->held[id];
	bool is_older = true;

	sim_require(held->state == HAND_WAITING || held->state == HAND_PARKED,
		"message %u is begun in state %d", id, held->state);
	sim_require(!held->is_detached, "message %u is begun while it is detached", id);
	sim_require(!hand->is_paused[ordered_at(runtime, id)->key],
		"message %u is begun while its session is paused", id);
	sim_require(held->state != HAND_PARKED || runtime->world->now >= held->due,
		"message %u is begun %lld us too early", id,
		(long long)(held->due - runtime->world->now));
	for (uint32_t i = 0; i < hand->count; i++) {
		if (hand->ids[i] == id)
			is_older = false;
		else
			check_before(runtime, id, hand->ids[i], is_older);
	}
}

/* All before it in its lane have passed. If it has passed before, those behind it follow again. */
static void check_passed(struct order *order, uint32_t id, uint32_t last)
{
	struct ordered *message = order->message;
	bool is_repeat = message[id].has_passed;

	for (uint32_t other = 1; other <= last; other++) {
		if (!is_in_lane(&message[id], &message[other]) || message[other].is_gone)
			continue;
		sim_require(other >= id || message[other].has_passed,
			"message %u is begun before message %u of its lane", id, other);
		if (other >= id && is_repeat)
			message[other].has_passed = false;
	}
}

static void check_repeat(struct ordered *message, uint32_t id)
{
	sim_require(!message->is_done || message->may_repeat,
		"message %u was done and runs again, for no reason", id);
	message->is_done = message->may_repeat = false;
}

void order_sent(
	struct pool_runtime *runtime, struct worker_task *task, const struct delivery *delivery)
{
	struct order *order = order_of(runtime);
	struct held *held = &runtime->hand.held[task->id];

	if (!order->is_on)
		return;
	order_turns_sent(runtime, task);
	if (!order->message[task->id].key) {
		order_loose_sent(runtime, task, delivery);
		return;
	}
	check_alone(runtime, task->id);
	order_takeover_sent(runtime, task->id);
	check_turn(runtime, task->id);
	check_passed(order, task->id, runtime->world->account.messages);
	check_repeat(&order->message[task->id], task->id);
	sim_require(task->attempt == held->failures + 1,
		"message %u is in attempt %u, after %u failures", task->id, task->attempt,
		held->failures);
	order->message[task->id].is_disposed = false; /* at another supervisor, which lost it */
	held->state = HAND_RUNNING;
	held->is_front = true;
	task->life = held->life;
}

/* ---------- a run ends ---------- */

/* NULL: the pool has given up what this worker had. */
static struct held *held_by(struct pool_runtime *runtime, const struct worker_task *task)
{
	struct held *held = &runtime->hand.held[task->id];

	return held->state != HAND_NONE && held->life == task->life ? held : NULL;
}

void order_pass(struct pool_runtime *runtime, uint32_t id)
{
	struct ordered *message = ordered_at(runtime, id);
	struct held *held = &runtime->hand.held[id];

	if (held->state == HAND_ENDED)
		return;
	held->state = HAND_ENDED;
	held->is_front = false;
	message->has_passed = message->is_done = true;
	if (!held->is_detached)
		note_ended(runtime, id);
}

/* Other answers are failures, or the last slice: the pool decides what becomes of them. */
void order_answered(
	struct pool_runtime *runtime, const struct worker_task *task, const struct output *output)
{
	const struct settle_policy *policy = &runtime->config.policy;
	struct held *held;

	if (!order_of(runtime)->is_on)
		return;
	order_turns_worked(runtime, task);
	if (!order_has_key(order_of(runtime), task->id)) {
		order_loose_answered(runtime, task);
		return;
	}
	held = held_by(runtime, task);
	if (!held || (output->status > STATUS_REPLY && output->status != STATUS_DONE_LAST))
		return;
	if (held->is_aborted && text_is(output->reply_queue, policy->queue) &&
		output->status == STATUS_REPLY)
		return;
	if (output->status == STATUS_DONE || !text_is(output->reply_queue, policy->queue)) {
		order_pass(runtime, task->id);
	} else if (task->slice < policy->slices) {
		held->state = HAND_WAITING;
		held->is_front = held->is_suspect = held->is_postponed = false;
		held->has_rest = true;
		held->failures = 0;
	}
}

/* It goes before both lanes. */
static bool had_attempt(const struct held *held)
{
	return held->failures || held->is_suspect || held->is_postponed;
}

/* It was not done when its session was aborted. */
static void end_aborted(struct pool_runtime *runtime, uint32_t id)
{
	struct held *held = &runtime->hand.held[id];

	bool is_forced = pool_is_forced(&runtime->pool->context); /* then all goes back */

	sim_require(held->rest != SESSION_DEAD_LETTER || is_forced,
		"message %u is not given up with its session", id);
	held->is_aborted = false;
	if (held->rest == SESSION_DISCARD && !is_forced) {
		order_pass(runtime, id);
		return;
	}
	ordered_at(runtime, id)->is_disposed = false; /* by an abort before this one */
	held->state = had_attempt(held) ? HAND_PARKED : HAND_WAITING;
	held->due = runtime->world->now;
}

void order_after_answer(struct pool_runtime *runtime, const struct worker_task *task)
{
	struct held *held;

	if (!order_has_key(order_of(runtime), task->id))
		return;
	held = held_by(runtime, task);
	if (held && held->is_aborted && held->state == HAND_RUNNING)
		end_aborted(runtime, task->id);
}

void order_dispose(struct pool_runtime *runtime, uint32_t id, enum session_queued queued)
{
	struct world *world = runtime->world;

	if (queued == SESSION_KEEP)
		return;
	world->order.message[id].is_disposed = true;
	world->account.message[id].excused = true; /* it may have been given up anyway */
	if (queued == SESSION_DEAD_LETTER)
		return;
	world->account.message[id].forgiven = true;
	world->account.may_ack[world->order.message[id].instance] = true;
}

/* One whose attempt does not count is next in its session. */
void order_gone(struct pool_runtime *runtime, const struct worker_task *task, bool is_suspect)
{
	struct held *held;

	if (!order_of(runtime)->is_on)
		return;
	order_turns_worked(runtime, task);
	if (!order_has_key(order_of(runtime), task->id)) {
		order_loose_gone(runtime, task, is_suspect);
		return;
	}
	held = held_by(runtime, task);
	if (!held)
		return;
	held->is_suspect |= is_suspect;
	if (held->state != HAND_RUNNING)
		return;
	/* A forced stop settles nothing more. */
	if (held->is_aborted && !pool_is_forced(&runtime->pool->context)) {
		end_aborted(runtime, task->id);
		return;
	}
	held->state = had_attempt(held) ? HAND_PARKED : HAND_WAITING;
	held->due = runtime->world->now;
	order_turns_unsent(runtime, task);
}

static void park(struct pool_runtime *runtime, uint32_t id, const struct notice *notice)
{
	struct held *held = &runtime->hand.held[id];

	sim_require(
		held->state == HAND_RUNNING, "message %u is parked in state %d", id, held->state);
	held->state = HAND_PARKED;
	held->due = runtime->world->now + notice->duration;
	held->is_postponed = notice->kind == NOTICE_TASK_POSTPONED_BY_WORKER;
	if (held->is_postponed)
		return;
	copies_check_retry(
		&runtime->config.policy, id, notice->reason, notice->duration, held->failures);
	held->is_suspect |=
		workers_have_many(runtime) &&
		(notice->reason == REASON_CRASHED || notice->reason == REASON_TIMED_OUT);
	held->failures++;
}

static void block(struct pool_runtime *runtime, uint32_t id, const struct notice *notice)
{
	struct held *held = &runtime->hand.held[id];

	sim_require(runtime->config.session.on_failure == SESSION_BLOCK,
		"message %u blocks its session", id);
	if (held->state == HAND_WAITING)
		check_turn(runtime, id);
	held->state = HAND_BLOCKED;
	held->is_front = true;
	held->is_refused = notice->reason == REASON_THROTTLED;
}

void order_told(struct pool_runtime *runtime, const struct notice *notice)
{
	uint32_t id = notice->delivery ? account_id(notice->delivery->body) : 0;

	if (id && !ordered_at(runtime, id)->key && notice->kind == NOTICE_TASK_GIVEN_UP)
		order_turns_given_up(&runtime->hand);
	if (!id || !order_of(runtime)->is_on)
		return;
	if (!ordered_at(runtime, id)->key) {
		order_loose_told(runtime, notice);
		return;
	}
	if (notice->kind == NOTICE_TASK_RETRIED || notice->kind == NOTICE_TASK_POSTPONED_BY_WORKER)
		park(runtime, id, notice);
	if (notice->kind == NOTICE_SESSION_BLOCKED)
		block(runtime, id, notice);
	if (notice->kind != NOTICE_TASK_GIVEN_UP)
		return;
	if (runtime->hand.held[id].state == HAND_WAITING && !ordered_at(runtime, id)->is_disposed)
		check_turn(runtime, id);
	order_pass(runtime, id);
}

/* ---------- acks ---------- */

/* This one and those behind it in its lane come again. */
static void excuse(struct order *order, uint32_t id)
{
	struct ordered *message = &order->message[id];
	uint32_t lost = order->lost[message->key][message->is_high].id;

	for (uint32_t other = id; other <= ACCOUNT_MESSAGES_MAX; other++)
		if (is_in_lane(&order->message[id], &order->message[other]))
			order->message[other].may_repeat = true;
	order->message[id].is_acked = false;
	if (lost && lost < id)
		return;
	order->lost[message->key][message->is_high].id = id;
	order->lost[message->key][message->is_high].channels = order->channels;
}

static void settle(struct pool_runtime *runtime, uint32_t id)
{
	struct hand *hand = &runtime->hand;
	struct ordered *message = ordered_at(runtime, id);
	uint64_t tag = hand->held[id].tag;

	sim_require(hand->held[id].state == HAND_ENDED, "message %u is acked in state %d", id,
		hand->held[id].state);
	for (uint32_t i = 0; hand->ids[i] != id; i++)
		sim_require(message->is_disposed ||
				    !is_in_lane(message, ordered_at(runtime, hand->ids[i])),
			"message %u is acked before message %u of its lane", id, hand->ids[i]);
	take(hand, id);
	message->is_acked = true;
	if (is_lost_at_once(runtime, tag))
		excuse(order_of(runtime), id);
}

void order_acked(struct pool_runtime *runtime, uint64_t tag, bool multiple)
{
	struct hand *hand = &runtime->hand;

	if (!order_of(runtime)->is_on)
		return;
	for (uint32_t i = 0; i < hand->count;) {
		const struct held *held = &hand->held[hand->ids[i]];

		if (!held->is_detached && (held->tag == tag || (multiple && held->tag < tag)))
			settle(runtime, hand->ids[i]);
		else
			i++;
	}
	order_loose_acked(runtime, tag, multiple);
}

void order_rejected(struct pool_runtime *runtime, uint64_t tag, enum reject how)
{
	if (!order_of(runtime)->is_on)
		return;
	sim_require(how != REJECT_REQUEUE, "a pool with sessions requeues a message");
	order_acked(runtime, tag, false);
}

void order_delivered(struct order *order, uint64_t instance, uint32_t requeues, uint64_t tag,
	const struct broker_connection *connection)
{
	struct loose_facts *facts = &order->loose;

	if (order->is_on)
		facts->delivered[facts->deliveries++ % LOOSE_DELIVERED] =
			(struct loose_delivery){connection, instance, tag, requeues};
}

uint64_t order_instance(const struct pool_runtime *runtime, const struct delivery *delivery)
{
	const struct loose_task *loose = order_loose_find(runtime, delivery);
	uint32_t id = account_id(delivery->body);

	if (order_has_key(order_of(runtime), id))
		return ordered_at(runtime, id)->instance;
	return loose ? loose->instance : 0;
}

void order_settled(struct order *order, uint32_t id, uint64_t instance, bool is_requeued)
{
	if (!order->is_on)
		return;
	if (is_requeued && !order->message[id].key) {
		order_loose_requeued(&order->loose, instance);
		return;
	}
	if (!is_requeued)
		order->message[id].is_gone = true;
	else if (order->message[id].is_acked)
		excuse(order, id);
}

void order_dropped(struct order *order, uint32_t id)
{
	if (!order->is_on)
		return;
	order->message[id].is_gone = true;
	order->loose.is_any_gone = true;
	excuse(order, id);
}

void order_vanished(struct order *order)
{
	order->loose.is_any_gone = true;
	for (uint32_t id = 1; order->is_on && id <= ACCOUNT_MESSAGES_MAX; id++) {
		order->message[id].is_gone |= order->message[id].instance > 0;
		order->message[id].may_repeat = true;
	}
}

/* A stop in good order gives back nothing that has ended. */
static void check_closing(const struct pool_runtime *runtime)
{
	const struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++)
		sim_require(hand->held[hand->ids[i]].state != HAND_ENDED,
			"message %u is done, and goes back in a stop", hand->ids[i]);
	order_loose_check_closing(runtime);
}

/* A smaller window than the last one was configured; the consumer uses it if it breaks no order.
 * One whose token another pool has got renews it before it consumes, and finds that out. */
void order_requested(
	const struct pool_runtime *runtime, enum source_request request, uint32_t window)
{
	struct order *order = order_of(runtime);
	uint16_t configured = runtime->config.prefetch;

	if (!order->is_on)
		return;
	if (request == SOURCE_CLOSE && !runtime->hand.is_standby &&
		!pool_is_forced(&runtime->pool->context)) {
		check_closing(runtime);
		order_takeover_closes(runtime);
	}
	sim_require(request != SOURCE_REST, "a pool with sessions cancels its consumer");
	if (request != SOURCE_CONSUME || (order->holder && order->holder != runtime))
		return;
	sim_require(window >= order->used || window == configured,
		"a window of %u after one of %u, and %u is configured", window, order->used,
		configured);
	if (window > order->used) /* the broker may know it before we hear of that */
		order->used = (uint16_t)window;
}
