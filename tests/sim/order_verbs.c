/* What operators order about one session, and what must follow at once. */
#include "sim/order_verbs.h"

#include "core/pool_internal.h"
#include "core/session_facts.h"
#include "sim/fail.h"
#include "sim/supervisor.h"

#define VERBS_IN_1000 4

static bool is_of(const struct pool_runtime *runtime, uint32_t id, uint8_t key)
{
	return runtime->world->order.message[id].key == key;
}

/* The message that has failed and stays at the front; 0: none. */
static uint32_t find_failed(const struct pool_runtime *runtime, uint8_t key)
{
	const struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; i < hand->count; i++) {
		const struct held *held = &hand->held[hand->ids[i]];

		if (is_of(runtime, hand->ids[i], key) &&
			(held->state == HAND_PARKED || held->state == HAND_BLOCKED))
			return hand->ids[i];
	}
	return 0;
}

static void dispose(struct pool_runtime *runtime, uint32_t id, enum session_queued queued)
{
	order_dispose(runtime, id, queued);
	if (queued == SESSION_DISCARD)
		order_pass(runtime, id);
}

/* What waits for a worker, or for its next attempt. */
static void dispose_queued(struct pool_runtime *runtime, uint8_t key, enum session_queued queued)
{
	struct hand *hand = &runtime->hand;

	for (uint32_t i = 0; queued != SESSION_KEEP && i < hand->count; i++) {
		uint32_t id = hand->ids[i];
		enum hand_state state = hand->held[id].state;

		if (is_of(runtime, id, key) && state != HAND_RUNNING && state != HAND_ENDED)
			dispose(runtime, id, queued);
	}
}

/* The worker that has a task of the session is asked to give it up, also if the pool has done so.
 */
static void abort_task(
	struct pool_runtime *runtime, struct worker_task *task, enum session_queued queued)
{
	struct held *held = &runtime->hand.held[task->id];

	task->is_aborted = true;
	runtime->workers.cancels = task->task_id;
	runtime->workers.was_asked = false;
	if (held->state != HAND_RUNNING || held->life != task->life)
		return;
	held->is_aborted = true;
	held->rest = queued;
	order_dispose(runtime, task->id, queued);
}

static void abort_running(struct pool_runtime *runtime, uint8_t key, enum session_queued queued)
{
	for (uint16_t i = 0; i < SLOTS_MAX; i++) {
		struct worker *worker = &runtime->workers.worker[i];

		for (uint32_t k = 0; k < worker->count; k++)
			if (is_of(runtime, worker->tasks[k].id, key))
				abort_task(runtime, &worker->tasks[k], queued);
		for (uint32_t k = 0; k < worker->unheard_count; k++)
			if (is_of(runtime, worker->unheard[k].id, key))
				abort_task(runtime, &worker->unheard[k], queued);
	}
}

/* The session ends, and until then it has its turn in one go. */
static void end_life(struct pool_runtime *runtime, uint8_t key)
{
	struct session_facts facts;

	if (pool_session_find(runtime->pool, order_key(key), &facts))
		runtime->hand.ending[key] = facts.life;
	runtime->hand.is_unsteady = true;
}

/* Follow a command that is not refused. */
static void expect(struct pool_runtime *runtime, const struct event *event, uint8_t key)
{
	struct hand *hand = &runtime->hand;
	uint32_t failed = find_failed(runtime, key);

	switch (event->session.verb) {
	case SESSION_VERB_DRAIN:
		end_life(runtime, key);
		break;
	case SESSION_VERB_ABORT:
		end_life(runtime, key);
		abort_running(runtime, key, event->session.queued);
		dispose_queued(runtime, key, event->session.queued);
		break;
	case SESSION_VERB_CLOSE:
		end_life(runtime, key);
		dispose_queued(runtime, key, event->session.queued);
		break;
	case SESSION_VERB_PAUSE:
		hand->is_paused[key] = true;
		break;
	case SESSION_VERB_RESUME:
		hand->is_paused[key] = false;
		break;
	case SESSION_VERB_RETRY:
		hand->held[failed].failures +=
			hand->held[failed].state == HAND_BLOCKED && !hand->held[failed].is_refused;
		hand->held[failed].state = HAND_PARKED;
		hand->held[failed].due = runtime->world->now;
		break;
	case SESSION_VERB_SKIP:
		dispose(runtime, failed, SESSION_DEAD_LETTER);
		break;
	}
}

/* Its worker has ended, and nobody knows why. */
static bool is_only_suspect(const struct held *held)
{
	return held->state == HAND_PARKED && held->failures == 0 && !held->is_refused &&
	       !held->is_postponed;
}

/* A former holder may still run what would be settled. */
static bool is_disposal_refused(const struct pool_runtime *runtime, uint8_t key)
{
	uint32_t failed = find_failed(runtime, key);

	return order_takeover_holds_session(runtime, key) ||
	       (failed && order_takeover_holds(runtime, &runtime->hand.held[failed]));
}

static bool is_refused(const struct pool_runtime *runtime, const struct event *event, uint8_t key)
{
	uint32_t failed = find_failed(runtime, key);
	enum session_verb verb = event->session.verb;
	bool is_end = verb == SESSION_VERB_CLOSE || verb == SESSION_VERB_ABORT;
	struct session_facts facts;

	if (runtime->pool->tasks.source.request == SOURCE_CLOSE)
		return true;
	if (verb == SESSION_VERB_RETRY) /* before it is sent, nobody knows whether it is fit */
		return !failed ||
		       (!runtime->hand.held[failed].is_refused && !order_is_fit(runtime, failed));
	if (verb == SESSION_VERB_SKIP)
		return !failed || is_only_suspect(&runtime->hand.held[failed]) ||
		       is_disposal_refused(runtime, key);
	if (is_end && event->session.queued != SESSION_KEEP && is_disposal_refused(runtime, key))
		return true;
	return verb != SESSION_VERB_PAUSE &&
	       !pool_session_find(runtime->pool, order_key(key), &facts);
}

static void command(struct pool_runtime *runtime, enum session_verb verb,
	enum session_queued queued, uint8_t key)
{
#define X(id, name) [SESSION_VERB_##id] = #name,
	static const char *const names[] = {SESSION_VERBS(X)};
#undef X
	struct event event = {.kind = SESSION_COMMAND,
		.session = {.verb = verb, .queued = queued, .key = order_key(key)}};
	bool refuses = is_refused(runtime, &event, key);

	sim_trace("supervisor %u: %s session %u (%u)", runtime->supervisor->number, names[verb],
		key, queued);
	runtime->steering.was_refused = false;
	if (!refuses)
		expect(runtime, &event, key);
	pool_step(runtime->pool, runtime->world->now, &event);
	runtime->workers.cancels = 0;
	sim_require(runtime->steering.was_refused == refuses, "%s of session %u is %s", names[verb],
		key, refuses ? "not refused" : "refused");
	runtime->supervisor->has_events = true;
	runtime->world->moved = true;
}

/* What is skipped is one that waits, if there is any. */
static uint8_t choose_key(struct pool_runtime *runtime, enum session_verb verb)
{
	struct order *order = &runtime->world->order;
	uint8_t key = (uint8_t)(1 + random_below(&order->random, order->keys));

	for (uint8_t n = 0; verb == SESSION_VERB_SKIP && n < order->keys; n++) {
		if (find_failed(runtime, key))
			break;
		key = (uint8_t)(key % order->keys + 1);
	}
	return key;
}

static void command_any(struct pool_runtime *runtime)
{
	struct random *random = &runtime->world->order.random;
	enum session_verb verb = random_below(random, SESSION_VERB_SKIP + 1);
	enum session_queued queued = random_below(random, SESSION_KEEP + 1);

	command(runtime, verb, queued, choose_key(runtime, verb));
}

/* The pool that has the sessions, or is the next to have them; NULL: it takes no orders. */
static struct pool_runtime *find_pool(struct supervisor *supervisor)
{
	if (supervisor->state != SUPERVISOR_SERVES && supervisor->state != SUPERVISOR_STOPS)
		return NULL;
	EACH_POOL(supervisor, runtime)
	{
		if (runtime->presence != POOL_CLOSES && !runtime->hand.is_standby &&
			!pool_is_forced(&runtime->pool->context))
			return runtime;
	}
	return NULL;
}

void order_verbs_chance(struct world *world)
{
	struct random *random = &world->order.random;
	struct supervisor *supervisor =
		&world->supervisors[random_below(random, world->supervisor_count)];

	struct pool_runtime *runtime = find_pool(supervisor);

	if (random_chance(random, VERBS_IN_1000) && runtime && world_may(world, TROUBLE_STEER))
		command_any(runtime);
}

/* Blocked ones are retried now and then, and skipped at last. */
void order_verbs_calm(struct supervisor *supervisor)
{
	struct order *order = &supervisor->world->order;
	struct pool_runtime *runtime = find_pool(supervisor);

	for (uint8_t key = 1; runtime && key <= order->keys; key++) {
		uint32_t failed = find_failed(runtime, key);

		if (runtime->hand.is_paused[key])
			command(runtime, SESSION_VERB_RESUME, SESSION_KEEP, key);
		if (!failed || runtime->hand.held[failed].state != HAND_BLOCKED)
			continue;
		if (order_is_fit(runtime, failed) && random_chance(&order->random, 300))
			command(runtime, SESSION_VERB_RETRY, SESSION_KEEP, key);
		else
			command(runtime, SESSION_VERB_SKIP, SESSION_KEEP, key);
	}
}
