/* The pool's effects in a run: the real channel machines, and fake workers. */
#include "amqp/table.h"
#include "core/pool_internal.h"
#include "message/names.h"
#include "message/same.h"
#include "sim/blame.h"
#include "sim/copies.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/order_twins.h"
#include "sim/start_costs.h"
#include "sim/world.h"

static void mark(struct pool_runtime *runtime, unsigned effect)
{
	runtime->has_events = true;
	cover_mark(COVER_EFFECT, effect, 0);
}

static enum send_result do_send(
	void *io, uint16_t slot, struct delivery *delivery, uint16_t attempt)
{
	struct pool_runtime *runtime = io;
	enum send_result result;

	sim_require(!runtime->steering.is_paused, "a task is sent in a pause");
	result = workers_send(&runtime->workers, slot, delivery, attempt);
	if (result == SEND_OK)
		throttles_started(runtime, delivery);

	mark(runtime, EFFECT_SEND + result);
	return result;
}

static void do_ack(void *io, uint64_t tag, bool multiple)
{
	struct pool_runtime *runtime = io;

	mark(runtime, EFFECT_ACK + multiple);
	order_acked(runtime, tag, multiple);
	consumer_ack(runtime->consumer, tag, multiple);
}

static void do_reject(void *io, uint64_t tag, enum reject how)
{
	struct pool_runtime *runtime = io;

	mark(runtime, EFFECT_REJECT + how);
	order_rejected(runtime, tag, how);
	consumer_reject(runtime->consumer, tag, how);
}

/* The instance whose ack this publish would deserve; an orphan's deserves none. */
static uint64_t instance_of(const struct pool_runtime *runtime, const struct delivery *delivery)
{
	const struct client_link *link = pool_link(runtime);

	if (runtime->world->order.is_on)
		return order_instance(runtime, delivery);
	if (!delivery->source || !link->peer)
		return 0;
	return broker_instance_of(link->peer, runtime->channel, delivery->tag);
}

/* A copy keeps what its message says; that it was open when a worker ended is in memory alone. */
static bool says_suspect(const struct delivery *delivery)
{
	struct table_field reason;

	return table_find(delivery->headers, HEADER_REASON, &reason) &&
	       (text_is(reason.value, text_from(reason_name(REASON_CRASHED))) ||
		       text_is(reason.value, text_from(reason_name(REASON_TIMED_OUT))));
}

/* What the account knows of it; where the broker has taken it back, what it says itself. */
static struct copy_facts facts_of(
	const struct pool_runtime *runtime, const struct delivery *delivery, uint64_t instance)
{
	if (instance)
		return runtime->world->account.facts[instance];
	return (struct copy_facts){
		.attempt = delivery->attempt,
		.renewed = delivery->renewed,
		.soft = delivery->soft_ms > 0 ? delivery->soft_ms * MTIME_MS : 0,
		.suspect = says_suspect(delivery),
	};
}

/* What is reported of a task, or settled for it, is what its worker sent for its id: an answer
 * holds the id of its message. */
static void check_answer(const struct pool_runtime *runtime, const struct delivery *delivery,
	const struct output *output)
{
	uint32_t id = account_id(delivery->body), answered;

	if (!output || output->status == 0 || output->body.len == 0)
		return;
	answered = account_id(output->body);
	sim_require(answered == id || order_twins_are(&runtime->world->order, answered, id),
		"message %u has the answer of message %u", id, answered);
}

static void do_publish(void *io, const struct parcel *parcel)
{
	static const char *const kinds[] = {
#define X(kind) #kind,
		PARCEL_KINDS(X)
#undef X
	};
	struct pool_runtime *runtime = io;
	uint64_t instance = instance_of(runtime, parcel->delivery);
	struct copy_facts facts = facts_of(runtime, parcel->delivery, instance);
	struct broker_connection *peer = runtime->supervisor->links[0].peer;

	sim_require(peer, "a publish without a connection");
	sim_require(
		parcel->kind == PARCEL_REPLY || parcel->kind == PARCEL_DEAD_LETTER ||
			!parcel->delivery->session ||
			!order_has_key(&runtime->world->order, account_id(parcel->delivery->body)),
		"a copy of a message with a key");
	sim_require(!parcel->delivery->is_accepted || parcel->kind == PARCEL_REPLY ||
			    parcel->kind == PARCEL_HAND_BACK || parcel->kind == PARCEL_LATER ||
			    parcel->kind == PARCEL_DEAD_LETTER,
		"message %u is accepted, and retried", account_id(parcel->delivery->body));
	check_answer(runtime, parcel->delivery, parcel->output);
	facts = copies_of(&runtime->config.policy, parcel, &facts, runtime->world->now);
	instance = account_publish(
		&runtime->world->account, instance, account_id(parcel->delivery->body));
	if (!runtime->supervisor->links[0].is_dark)
		broker_note_publish(peer, runtime->channel, parcel->seq.number, instance, &facts);
	mark(runtime, EFFECT_PUBLISH);
	cover_mark(COVER_PARCEL, parcel->kind,
		parcel->refusals || parcel->losses ? FATE_PUBLISHED_AGAIN : FATE_PUBLISHED);
	sim_trace("publish %llu: %s for message %u", (unsigned long long)parcel->seq.number,
		kinds[parcel->kind], account_id(parcel->delivery->body));
	publisher_publish(runtime->publisher, parcel);
}

static void do_source(void *io, enum source_request request, uint32_t window)
{
	struct pool_runtime *runtime = io;

	sim_require(request != SOURCE_CONSUME || !runtime->steering.is_paused ||
			    pool_drains(&runtime->pool->context),
		"it consumes in a pause");
	mark(runtime, EFFECT_SOURCE + request);
	order_requested(runtime, request, window);
	runtime->world->moved = true;
	consumer_request(runtime->consumer, request, window);
}

static void do_slot(void *io, uint16_t slot, uint32_t life, enum slot_request request)
{
	struct pool_runtime *runtime = io;

	mark(runtime, EFFECT_SLOT + request);
	runtime->world->moved = true;
	workers_request(&runtime->workers, slot, life, request);
}

static bool do_ask(
	void *io, uint16_t slot, uint32_t life, enum task_request request, uint64_t task_id)
{
	struct pool_runtime *runtime = io;

	mark(runtime, EFFECT_ASK + request);
	runtime->world->moved = true;
	workers_ask(&runtime->workers, slot, life, request, task_id);
	return true;
}

static bool do_is_same(void *io, const struct delivery *a, const struct delivery *b)
{
	const struct pool_runtime *runtime = io;
	bool is_same = message_is_same(a, b) || order_twins_are(&runtime->world->order,
							account_id(a->body), account_id(b->body));

	if (is_same)
		order_loose_same(io, a, b);
	return is_same;
}

static bool do_allow_slots(void *io, uint16_t slots)
{
	struct pool_runtime *runtime = io;
	bool has_space = slots <= SLOTS_MAX && !world_wants(runtime->world, TROUBLE_MEMORY, 50);

	mark(runtime, EFFECT_ALLOW_SLOTS + !has_space);
	return has_space;
}

static mtime do_waited(void *io, uint16_t slot, uint32_t life)
{
	const struct pool_runtime *runtime = io;
	const struct worker *worker = &runtime->workers.worker[slot];

	sim_require(worker->phase == WORKER_BOOTING && worker->life == life,
		"how long did worker %u wait, which does not start", slot);
	return worker->waited;
}

static int64_t do_wall_ms(void *io)
{
	const struct pool_runtime *runtime = io;

	return world_wall_ms(runtime->world->now);
}

static void on_given_up(struct pool_runtime *runtime, const struct notice *notice)
{
	uint32_t id = account_id(notice->delivery->body);
	struct copy_facts facts =
		facts_of(runtime, notice->delivery, instance_of(runtime, notice->delivery));

	if (runtime->world->order.message[id].is_disposed)
		return;
	if (runtime->hand.held[id].is_poison && notice->reason == REASON_COMES_BACK) {
		runtime->world->account.message[id].excused = true;
		return;
	}
	if (notice->delivery->is_accepted) {
		runtime->world->account.message[id].dead +=
			runtime->config.policy.dead_letter_by_broker;
		return;
	}
	if (order_has_key(&runtime->world->order, id))
		facts.attempt = order_failures(runtime, id);
	copies_give_up(&runtime->config.policy, &runtime->world->account.message[id],
		notice->reason, &facts);
}

static void check_id(const struct pool_runtime *runtime, const struct notice *notice)
{
	if (notice->delivery)
		check_answer(runtime, notice->delivery, notice->output);
}

static void do_emit(void *io, const struct notice *notice)
{
	static const char *const names[] = {
#define X(kind) #kind,
		NOTICE_KINDS(X)
#undef X
	};

	struct pool_runtime *runtime = io;

	cover_mark(COVER_NOTICE, notice->kind, 0);
	sim_trace("notice: %s slot %d %s attempt %u", names[notice->kind], notice->slot,
		reason_name(notice->reason), notice->attempt);
	steer_told(runtime, notice);
	blame_told(runtime, notice);
	order_told(runtime, notice);
	throttles_told(runtime, notice);
	check_id(runtime, notice);
	if (notice->kind == NOTICE_WORKER_OVERDUE)
		start_costs_check_overdue(runtime, &runtime->workers.worker[notice->slot]);
	if (notice->kind == NOTICE_TASK_POSTPONED_BY_WORKER)
		copies_check_postponed(notice->delivery, notice->duration, runtime->world->now);
	if (notice->kind == NOTICE_TASK_RENEWED)
		copies_check_renewal(notice->delivery);
	if (notice->kind == NOTICE_TASK_GIVEN_UP)
		on_given_up(runtime, notice);
	if (notice->kind == NOTICE_REPLY_DROPPED && notice->delivery->is_accepted)
		runtime->world->account.message[account_id(notice->delivery->body)].dropped++;
	else if (notice->kind == NOTICE_REPLY_DROPPED)
		account_dropped(&runtime->world->account, instance_of(runtime, notice->delivery),
			notice->reason);
}

static void do_hand_over(void *io, const struct session_handover *handover)
{
	struct pool_runtime *runtime = io;

	order_takeover_passes(runtime, handover);
	if (runtime->token.channel)
		pool_token_hand_over(&runtime->token, handover);
}

static void do_window(void *io, uint32_t window)
{
	struct pool_runtime *runtime = io;

	pool_token_name_window(&runtime->token, window);
}

static void do_name(void *io, const struct session_handover *handover)
{
	struct pool_runtime *runtime = io;

	order_takeover_names(runtime, handover);
	pool_token_name(&runtime->token, handover);
}

const struct effects sim_effects = {do_send, do_ack, do_reject, do_publish, do_source, do_slot,
	do_ask, do_is_same, do_allow_slots, do_waited, do_wall_ms, do_emit, do_name, do_window,
	do_hand_over, throttles_find_keys};
