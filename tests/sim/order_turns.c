#include "sim/order_turns.h"

#include "core/pool_internal.h"
#include "core/session_facts.h"
#include "sim/blame.h"
#include "sim/fail.h"
#include "sim/order_facts.h"
#include "sim/world.h"

void order_turns_begin(struct hand *hand)
{
	memset(hand->sent, 0, sizeof hand->sent);
	memset(hand->worked, 0, sizeof hand->worked);
	hand->unkeyed_worked = 0;
}

static uint8_t key_of(const struct pool_runtime *runtime, uint32_t id)
{
	return runtime->world->order.message[id].key;
}

/* What is known of a session at this moment. */
struct standing {
	bool has_task, is_running, is_held_up;
};

static void look_at_workers(const struct pool_runtime *runtime, struct standing *ret)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &runtime->workers.worker[i];

		for (uint32_t k = 0; k < worker->count; k++)
			ret[key_of(runtime, worker->tasks[k].id)].is_running = true;
		for (uint32_t k = 0; k < worker->unheard_count; k++)
			ret[key_of(runtime, worker->unheard[k].id)].is_running = true;
	}
}

static void look_at_hand(const struct pool_runtime *runtime, struct standing *ret)
{
	const struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++) {
		const struct held *held = &hand->held[hand->ids[i]];
		struct standing *standing = &ret[key_of(runtime, hand->ids[i])];
		bool is_due = held->state == HAND_PARKED && held->due <= runtime->world->now;

		standing->has_task |= held->state == HAND_WAITING || is_due;
		standing->is_running |= held->state == HAND_RUNNING;
		standing->is_held_up |= held->is_detached || held->is_suspect ||
					order_takeover_holds(runtime, held) ||
					order_takeover_awaits_name(runtime, hand->ids[i]) ||
					held->state == HAND_BLOCKED ||
					(held->state == HAND_PARKED && !is_due);
	}
}

/* It has begun, or may begin: that is the pool's choice, because sessions end with an ack. */
static bool has_place(const struct pool_runtime *runtime, uint8_t key)
{
	struct session_facts facts;

	return !runtime->config.session.max_active ||
	       (pool_session_find(runtime->pool, order_key(key), &facts) &&
		       facts.state != SESSION_WAITING);
}

/* Its next task may wait for a throttle. Or it does, or did until those of its key before it had
 * started: they have their turns one after the other. */
static bool may_be_throttled(const struct pool_runtime *runtime, uint8_t key)
{
	const struct session *session;

	if (!throttles_are_on(&runtime->throttles))
		return false;
	session = key ? sessions_find(runtime->pool->tasks.sessions, order_key(key)) : NULL;
	return (session && session->group) ||
	       throttles_may_hold_message(runtime, order_facts_next(runtime, key));
}

/* Bit (1u << session): its next task waits for nothing but its turn. Bit 0: tasks without a key do;
 * where there are throttles, these know (throttles.h). */
static uint32_t find_ready(const struct pool_runtime *runtime)
{
	struct standing standing[ORDER_KEYS_MAX + 1] = {0};
	uint32_t ready = !throttles_are_on(&runtime->throttles) &&
			 !list_is_empty(&runtime->pool->tasks.dispatch.queued);

	look_at_workers(runtime, standing);
	look_at_hand(runtime, standing);
	for (uint8_t key = 1; key <= ORDER_KEYS_MAX; key++)
		if (standing[key].has_task && !standing[key].is_running &&
			!standing[key].is_held_up && !runtime->hand.is_paused[key] &&
			!may_be_throttled(runtime, key) && has_place(runtime, key))
			ready |= 1u << key;
	return ready;
}

static void forget(struct hand *hand, uint32_t waiting)
{
	/* As one chained assignment, gcc 12.2 at -O1 drops the calls of this function. */
	for (uint32_t key = 0; key <= ORDER_KEYS_MAX; key++) {
		hand->sent[key][waiting] = 0;
		hand->worked[key][waiting] = 0;
	}
}

/* The next life of a session begins to wait behind all others. */
static bool is_reborn(struct pool_runtime *runtime, uint8_t key)
{
	struct session_facts facts = {0};
	uint64_t before = runtime->hand.life[key];

	(void)pool_session_find(runtime->pool, order_key(key), &facts);
	runtime->hand.life[key] = facts.life;
	return facts.life != before;
}

static void follow_lives(struct pool_runtime *runtime)
{
	for (uint8_t key = 1; key <= ORDER_KEYS_MAX; key++)
		if (is_reborn(runtime, key))
			forget(&runtime->hand, key);
}

uint32_t order_turns_follow(struct pool_runtime *runtime)
{
	uint32_t ready = find_ready(runtime);

	follow_lives(runtime);
	if (!(ready & 1))
		runtime->hand.unkeyed_worked = 0;
	for (uint8_t key = 0; key <= ORDER_KEYS_MAX; key++)
		if (!(ready >> key & 1))
			forget(&runtime->hand, key);
	return ready;
}

/* An operator ends the life of the session that has its turn: it has it in one go. */
static bool is_ending(const struct pool_runtime *runtime, uint8_t key)
{
	struct session_facts facts;

	return pool_session_find(runtime->pool, order_key(key), &facts) &&
	       facts.life == runtime->hand.ending[key];
}

/* With a quantum in time, the last task began before it was used up. Tasks without a key run side
 * by side, and many of them may be sent before it is. */
static void check_quantum(const struct pool_runtime *runtime, uint8_t key, uint32_t waiting)
{
	const struct session_config *config = &runtime->config.session;
	uint32_t sent = runtime->hand.sent[key][waiting];
	mtime worked = runtime->hand.worked[key][waiting];

	if (config->quantum)
		sim_require(sent < config->quantum,
			"session %u gets %u tasks while session %u waits", key, sent + 1, waiting);
	else
		sim_require(!key || sent == 0 || worked < config->quantum_time,
			"session %u gets a task after %lld us while session %u waits", key,
			(long long)worked, waiting);
}

void order_turns_sent(struct pool_runtime *runtime, const struct worker_task *task)
{
	uint8_t key = key_of(runtime, task->id);
	/* In this very turn one may have ended, or waited for a throttle. */
	uint32_t ready = order_turns_follow(runtime);

	forget(&runtime->hand, key);
	if (task->is_suspect || task->alone || is_ending(runtime, key))
		return;
	for (uint32_t waiting = 0; waiting <= ORDER_KEYS_MAX; waiting++) {
		if (waiting == key || !(ready >> waiting & 1))
			continue;
		check_quantum(runtime, key, waiting);
		runtime->hand.sent[key][waiting]++;
	}
}

void order_turns_given_up(struct hand *hand)
{
	forget(hand, 0);
}

void order_turns_unsent(struct pool_runtime *runtime, const struct worker_task *task)
{
	uint32_t *sent = runtime->hand.sent[key_of(runtime, task->id)];

	for (uint32_t waiting = 0; waiting <= ORDER_KEYS_MAX; waiting++)
		sent[waiting] -= sent[waiting] > 0;
}

/* Tasks without a key run while others of them wait: what they take may end the turn in which those
 * would have been sent, and the next one begins behind all sessions. */
static void unkeyed_worked(struct pool_runtime *runtime, mtime took)
{
	struct hand *hand = &runtime->hand;

	hand->unkeyed_worked += took;
	if (hand->unkeyed_worked < runtime->config.session.quantum_time)
		return;
	hand->unkeyed_worked = 0;
	forget(hand, 0);
}

void order_turns_worked(struct pool_runtime *runtime, const struct worker_task *task)
{
	uint8_t key = key_of(runtime, task->id);
	struct hand *hand = &runtime->hand;
	bool is_in_tasks = runtime->config.session.quantum > 0;

	if (is_in_tasks || task->began == MTIME_NEVER)
		return;
	mtime took = runtime->world->now - task->began;
	if (!key)
		unkeyed_worked(runtime, took);
	for (uint32_t waiting = 0; key && waiting <= ORDER_KEYS_MAX; waiting++)
		if (hand->sent[key][waiting])
			hand->worked[key][waiting] += took;
}

/* It waits to be the only task of the pool, and others wait for it. */
static bool is_exclusive_next(const struct dispatch *dispatch)
{
	struct link *first = list_first(&dispatch->queued);

	return first && settle_is_exclusive(CONTAINER_OF(first, struct delivery, place));
}

/* Nothing keeps it from sending. */
static bool may_send(const struct pool_runtime *runtime)
{
	const struct tasks *tasks = &runtime->pool->tasks;

	return runtime->pool->context.phase == POOL_RUNS &&
	       tasks->source.request == SOURCE_CONSUME && tasks->send_again == MTIME_NEVER &&
	       tasks->outbox.bytes <= runtime->config.outbox_limit &&
	       !tasks->dispatch.is_exclusive && !is_exclusive_next(&tasks->dispatch) &&
	       tasks->dispatch.suspect_count == 0;
}

/* With an automatic depth a task need not be sent behind another one. */
static bool has_room(const struct pool_runtime *runtime, uint16_t slot)
{
	const struct pool_config *config = &runtime->config;
	const struct pipe *pipe = &slots_at(&runtime->pool->slots, slot)->pipe;
	uint32_t depth = config->concurrency > 1 ? config->concurrency : config->pipeline;

	return workers_is_taking(&runtime->workers, slot) &&
	       runtime->workers.worker[slot].count < depth && !pipe->closed && !pipe_is_spent(pipe);
}

static bool is_any_room(const struct pool_runtime *runtime)
{
	for (uint16_t i = 0; i < runtime->pool->slots.all.count; i++)
		if (has_room(runtime, i))
			return true;
	return blame_is_any_idle(runtime);
}

/* It waits for its name alone, and it would be found by it. */
static bool can_be_named(const struct pool_runtime *runtime, uint8_t key)
{
	struct session_facts facts;

	return pool_session_find(runtime->pool, order_key(key), &facts) &&
	       facts.state == SESSION_HELD && facts.due == MTIME_NEVER &&
	       order_takeover_is_first(runtime, order_facts_next(runtime, key)) &&
	       !runtime->config.session.max_active;
}

static void check_naming(const struct pool_runtime *runtime)
{
	for (uint8_t key = 1; key <= ORDER_KEYS_MAX; key++)
		sim_require(runtime->hand.named.key || !can_be_named(runtime, key),
			"session %u waits for its name, and none is named", key);
}

void order_turns_check(const struct pool_runtime *runtime)
{
	uint32_t ready;

	if (!may_send(runtime) || !is_any_room(runtime))
		return;
	check_naming(runtime);
	ready = find_ready(runtime);
	sim_require(
		!ready, "session %d waits while a worker has room", __builtin_ffs((int)ready) - 1);
}
