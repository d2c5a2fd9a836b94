#include "sim/order_facts.h"

#include "core/pool_internal.h"
#include "core/session_facts.h"
#include "sim/fail.h"
#include "sim/world.h"

static bool is_of(const struct pool_runtime *runtime, uint32_t id, uint8_t key)
{
	return runtime->world->order.message[id].key == key;
}

/* A worker has a task of it, as far as the pool has heard. */
static bool is_running(const struct pool_runtime *runtime, uint8_t key)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		const struct worker *worker = &runtime->workers.worker[i];

		for (uint32_t k = 0; k < worker->count; k++)
			if (is_of(runtime, worker->tasks[k].id, key))
				return true;
		for (uint32_t k = 0; k < worker->unheard_count; k++)
			if (is_of(runtime, worker->unheard[k].id, key))
				return true;
	}
	return false;
}

/* The message that goes next in its session; 0: none. */
uint32_t order_facts_next(const struct pool_runtime *runtime, uint8_t key)
{
	const struct hand *hand = &runtime->hand;
	uint32_t normal = 0, high = 0;

	for (uint32_t i = hand->count; i-- > 0;) {
		uint32_t id = hand->ids[i];
		enum hand_state state = hand->held[id].state;

		if (!is_of(runtime, id, key))
			continue;
		if (state == HAND_PARKED || state == HAND_BLOCKED || state == HAND_RUNNING)
			return id;
		if (state == HAND_WAITING && runtime->world->order.message[id].is_high)
			high = id;
		else if (state == HAND_WAITING)
			normal = id;
	}
	return high ? high : normal;
}

/* READY stands for WAITING, too. */
static enum session_state expected_state(const struct pool_runtime *runtime, uint8_t key)
{
	uint32_t next = order_facts_next(runtime, key);
	const struct held *held = &runtime->hand.held[next];

	if (is_running(runtime, key) || (next && held->state == HAND_RUNNING))
		return SESSION_RUNNING;
	if (next && held->state == HAND_BLOCKED)
		return SESSION_BLOCKED;
	if (runtime->hand.is_paused[key])
		return SESSION_PAUSED;
	if (next && held->state == HAND_PARKED && held->due > runtime->world->now)
		return SESSION_PARKED;
	if (!next)
		return SESSION_IDLE;
	if (held->is_detached)
		return SESSION_DETACHED;
	bool is_held = order_takeover_holds_session(runtime, key) ||
		       order_takeover_awaits_name(runtime, next);
	return is_held ? SESSION_HELD : SESSION_READY;
}

/* Nothing that must not run has a turn. */
static void check_ring(const struct pool_runtime *runtime, uint8_t key)
{
	uint32_t next = order_facts_next(runtime, key);
	const struct held *held = &runtime->hand.held[next];
	bool is_early = held->state == HAND_PARKED && held->due > runtime->world->now;
	struct session_facts facts;

	if (pool_is_forced(&runtime->pool->context) ||
		!pool_session_find(runtime->pool, order_key(key), &facts) ||
		facts.state != SESSION_READY)
		return;
	sim_require(!is_running(runtime, key), "session %u has a turn and runs", key);
	sim_require(!runtime->hand.is_paused[key], "session %u has a turn and is paused", key);
	sim_require(held->state != HAND_BLOCKED, "session %u has a turn and is blocked", key);
	sim_require(!is_early, "session %u has a turn before its retry is due", key);
	sim_require(held->state == HAND_NONE || held->state == HAND_RUNNING || !held->is_detached,
		"session %u has a turn, and message %u is detached", key, next);
}

void order_facts_follow(struct pool_runtime *runtime)
{
	struct hand *hand = &runtime->hand;

	for (uint8_t key = 1; key <= runtime->world->order.keys; key++) {
		bool is_idle = expected_state(runtime, key) == SESSION_IDLE;

		hand->had_work[key] |= !is_idle;
		if (!is_idle)
			hand->idle_since[key] = MTIME_NEVER;
		else if (hand->idle_since[key] == MTIME_NEVER)
			hand->idle_since[key] = runtime->world->now;
		check_ring(runtime, key);
	}
}

/* A suspect that waits to run alone counts as running. */
static bool is_any_suspect(const struct pool_runtime *runtime)
{
	const struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++)
		if (hand->held[hand->ids[i]].is_suspect)
			return true;
	return false;
}

static bool has_unacked(const struct pool_runtime *runtime, uint8_t key)
{
	const struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++)
		if (is_of(runtime, hand->ids[i], key))
			return true;
	return false;
}

/* It has ended, or never begun. */
static void check_absent(const struct pool_runtime *runtime, uint8_t key)
{
	const struct hand *hand = &runtime->hand;
	mtime idle = runtime->config.session.idle;

	sim_require(expected_state(runtime, key) == SESSION_IDLE,
		"session %u has ended and has work", key);
	sim_require(!hand->had_work[key] || hand->is_unsteady ||
			    runtime->world->now - hand->idle_since[key] >= idle,
		"session %u has ended after %lld us, and not %lld", key,
		(long long)(runtime->world->now - hand->idle_since[key]), (long long)idle);
}

/* As many sessions have begun as are allowed. */
static bool is_full(const struct pool_runtime *runtime)
{
	uint32_t max = runtime->config.session.max_active;

	return max && pool_session_counts(runtime->pool).active >= max;
}

/* It waits for a throttle, perhaps behind other sessions of the same key: throttles_check.c knows
 * how long it may. What is held, is to be named or is detached does so as well. */
static bool is_throttled(const struct session_facts *facts, enum session_state expected)
{
	return facts->state == SESSION_PARKED && facts->reason == REASON_THROTTLED &&
	       (expected == SESSION_READY || expected == SESSION_HELD ||
		       expected == SESSION_DETACHED);
}

static void check_present(
	const struct pool_runtime *runtime, uint8_t key, const struct session_facts *facts)
{
	const struct hand *hand = &runtime->hand;
	enum session_state expected = expected_state(runtime, key), state = facts->state;
	bool is_over = expected == SESSION_IDLE && !hand->is_unsteady &&
		       runtime->turned_at - hand->idle_since[key] >= runtime->config.session.idle;

	if (is_any_suspect(runtime) || is_throttled(facts, expected))
		return;
	if (state == SESSION_WAITING && is_full(runtime))
		state = expected == SESSION_HELD ? SESSION_HELD : SESSION_READY;
	sim_require(state == expected, "session %u is %s, and not %s", key,
		session_state_name(state), session_state_name(expected));
	sim_require(!is_over || has_unacked(runtime, key), "session %u is idle for too long", key);
	sim_require(state != SESSION_PARKED ||
			    hand->held[order_facts_next(runtime, key)].due == facts->due,
		"session %u is to go on at another time", key);
}

void order_facts_check(const struct pool_runtime *runtime)
{
	uint32_t active = pool_session_counts(runtime->pool).active;
	uint32_t max = runtime->config.session.max_active;

	sim_require(!max || active <= max || runtime->hand.is_unsteady,
		"%u sessions have begun, at most %u may", active, max);
	for (uint8_t key = 1; key <= runtime->world->order.keys; key++) {
		struct session_facts facts;

		if (pool_session_find(runtime->pool, order_key(key), &facts))
			check_present(runtime, key, &facts);
		else
			check_absent(runtime, key);
	}
}

void order_facts_check_rest(const struct pool_runtime *runtime)
{
	struct session_counts counts = pool_session_counts(runtime->pool);

	for (int state = 0; state < SESSION_STATE_COUNT; state++)
		sim_require(state == SESSION_IDLE || counts.by_state[state] == 0,
			"at rest %u sessions are %s", counts.by_state[state],
			session_state_name(state));
	sim_require(counts.stuck == 0 && runtime->hand.count == 0, "at rest something is unacked");
}
