#include "runtime/health.h"

#include "core/session_facts.h"
#include "os/clock.h"
#include "runtime/throttles/throttles.h"

#include <string.h>

_Static_assert(HEALTH_CAUSE_COUNT <= 32, "each has a bit");

static unsigned bit(enum health_cause cause)
{
	return 1u << cause;
}

/* It lacks workers and a consumer on purpose. */
static bool is_finishing(const struct health *health)
{
	return health->causes & (bit(HEALTH_REMOVED) | bit(HEALTH_DRAINING) | bit(HEALTH_STOPPING));
}

struct health health_of_supervisor(const struct supervisor_view *view)
{
	struct link_facts consume = broker_links_consume_facts(view->broker_links),
			  publish = broker_links_publish_facts(view->broker_links);
	struct health health = {.consume_failure = consume.failure,
		.publish_failure = publish.failure,
		.consume_failure_kind = consume.failure_kind,
		.publish_failure_kind = publish.failure_kind};

	if (*view->phase != SERVING)
		health.causes |= bit(*view->phase == DRAINING ? HEALTH_DRAINING : HEALTH_STOPPING);
	if (!consume.is_up && !broker_links_is_any_consume_up(view->broker_links))
		health.causes |= bit(HEALTH_NO_CONSUMING);
	if (!publish.is_up)
		health.causes |= bit(HEALTH_NO_PUBLISHING);
	return health;
}

/* What keeps the messages of a pool with sessions in order. A cause is more exact than that the
 * queue is not consumed. */
static void judge_order(
	struct health *health, const struct pool_runtime *runtime, const struct pool_facts *facts)
{
	enum queue_order order = consumer_order(runtime->consumer);
	unsigned why = 0;

	if (order == QUEUE_ORDER_NONE)
		why = bit(HEALTH_NO_ORDER);
	else if (consumer_is_overfull(runtime->consumer))
		why = bit(HEALTH_OVERFULL);
	else if (consumer_waits_for_others(runtime->consumer) ||
		 (pool_runtime_backlog(runtime) && pool_runtime_backlog(runtime)->is_shared))
		why = bit(HEALTH_SHARED);
	else if (facts->state == POOL_IS_STANDBY && !pool_token_waits(&runtime->token) &&
		 !(health->causes & bit(HEALTH_NO_CONSUMING)))
		why = bit(HEALTH_NO_TOKEN);
	if (why && !is_finishing(health))
		health->causes = (health->causes & ~bit(HEALTH_NO_CONSUMER)) | why;
	if (order == QUEUE_ORDER_ALONE || order == QUEUE_ORDER_HIDDEN)
		health->warnings |= bit(HEALTH_NOT_SINGLE);
}

static void judge_sessions(
	struct health *health, const struct pool_runtime *runtime, const struct pool_facts *facts)
{
	struct session_counts sessions = pool_session_counts(runtime->pool);

	if (!runtime->pool_config.session.is_on)
		return;
	judge_order(health, runtime, facts);
	health->window = facts->window;
	health->prefetch = runtime->pool_config.prefetch;
	if (health->window > health->prefetch && facts->state != POOL_IS_STANDBY)
		health->warnings |= bit(HEALTH_WIDER_WINDOW);
	health->held = sessions.by_state[SESSION_HELD];
	health->parked = sessions.by_state[SESSION_PARKED];
	health->blocked = sessions.by_state[SESSION_BLOCKED];
	health->paused = sessions.by_state[SESSION_PAUSED];
	health->held_until = sessions.held_until;
	health->deliveries = facts->deliveries;
	health->key_place = runtime->config.session.key;
	if (health->blocked > 0)
		health->warnings |= bit(HEALTH_BLOCKED);
	if (health->held > 0)
		health->warnings |= bit(HEALTH_HELD);
	if (facts->deliveries > 0 && sessions.begun == 0)
		health->warnings |= bit(HEALTH_KEYLESS);
	/* After the loss of a channel nothing is unacked, and what is detached comes again. */
	if (facts->window > 0 && facts->unacked >= facts->window &&
		sessions.stuck >= facts->window && !is_finishing(health))
		health->causes |= bit(HEALTH_WINDOW_STUCK);
}

static const char *refused_text(const struct channel_refusal *refusal)
{
	return refusal->kind ? refusal->text : NULL;
}

/* Of the workers that wait for it, also where the last ones did not fail. */
static mtime next_start(const struct pool_runtime *runtime)
{
	mtime first = MTIME_NEVER;

	for (uint16_t i = 0; i < pool_slot_count(runtime->pool); i++)
		first = mtime_min(first, pool_slot_facts(runtime->pool, i).next_start);
	return first;
}

/* None is ready. */
static void judge_workers(
	struct health *health, const struct pool_runtime *runtime, const struct pool_facts *facts)
{
	health->causes |= bit(facts->failing > 0 ? HEALTH_CRASH_LOOP : HEALTH_NO_WORKER);
	if (facts->failing == 0)
		health->crash_loop.next_start = next_start(runtime);
}

static void judge_state(struct health *health, const struct pool_runtime *runtime,
	const struct pool_facts *facts, bool is_up)
{
	if (runtime->is_draining)
		health->causes |= bit(HEALTH_REMOVED);
	else if (facts->state == POOL_IS_DRAINING)
		health->causes |= bit(HEALTH_DRAINING);
	else if (facts->state == POOL_IS_STOPPING || facts->state == POOL_IS_STOPPED)
		health->causes |= bit(HEALTH_STOPPING);
	if (is_finishing(health))
		return;
	if (!is_up)
		health->causes |= bit(HEALTH_NO_CONSUMING);
	if (facts->state == POOL_IS_PAUSED)
		health->causes |= bit(HEALTH_PAUSED);
	else if (facts->ready == 0)
		judge_workers(health, runtime, facts);
	else if (is_up && facts->state != POOL_IS_STANDBY && !facts->closed_until &&
		 !facts->are_all_accepted && !consumer_is_consuming(runtime->consumer))
		health->causes |= bit(HEALTH_NO_CONSUMER);
}

/* An operator has to decide about them. The pool works on. */
static void judge_dead_letters(struct health *health, const struct pool_runtime *runtime)
{
	const struct backlog *dead_letters = pool_runtime_dead_letters(runtime);

	if (!dead_letters || dead_letters->messages == 0)
		return;
	health->dead_letters = dead_letters->messages;
	health->dead_letter_queue = runtime->config.retry.dead_letter;
	health->warnings |= bit(HEALTH_DEAD_LETTERS);
}

/* A minute is longer than most limits need to let a task start. A closed throttle needs longer. */
static void judge_throttles(
	struct health *health, const struct pool_runtime *runtime, const struct pool_facts *facts)
{
	if (!facts->throttled_by)
		return;
	health->throttled = facts->throttled;
	health->throttled_by = facts->throttled_by;
	health->throttled_since = facts->throttled_since;
	health->is_silent = throttles_is_silent(runtime->throttles, facts->throttled_by);
	health->closed_until = facts->closed_until;
	if (facts->closed_until || clock_now() - facts->throttled_since >= MTIME_MINUTE)
		health->warnings |= bit(HEALTH_THROTTLED);
}

static void judge_leaders(struct health *health, const struct pool_runtime *runtime)
{
	health->unled = throttles_without_leader(runtime->throttles, &runtime->pool_config);
	if (health->unled && !is_finishing(health))
		health->causes |= bit(HEALTH_NO_LEADER);
}

struct health health_of_pool(const struct pool_runtime *runtime)
{
	struct pool_facts facts = pool_facts(runtime->pool);
	struct slot_counts counts = pool_slot_counts(runtime->pool);
	struct link_facts consume = consume_link_facts(runtime->consume_link);
	struct health health = {.pool = runtime->config.name,
		.queue = runtime->config.queue,
		.consume_failure = consume.failure,
		.publish_failure = "",
		.consume_failure_kind = consume.failure_kind,
		.publish_failure_kind = "",
		.refusal = refused_text(consumer_refusal(runtime->consumer)),
		.refusal_kind = consumer_refusal(runtime->consumer)->kind,
		.publish_refusal = refused_text(publisher_refusal(runtime->publisher)),
		.publish_refusal_kind = publisher_refusal(runtime->publisher)->kind,
		.difference = refused_text(consumer_difference(runtime->consumer)),
		.difference_kind = consumer_difference(runtime->consumer)->kind,
		.unbound = refused_text(consumer_refused_binding(runtime->consumer)),
		.unbound_kind = consumer_refused_binding(runtime->consumer)->kind,
		.statistics = &runtime->report.statistics,
		.program = runtime->report.command,
		.suspects = facts.suspects,
		.crash_loop = {facts.failing, facts.wanted, counts.failures_max,
			&runtime->report.statistics.last_death, counts.next_start,
			counts.recovering}};

	judge_state(&health, runtime, &facts, consume.is_up);
	if (facts.ready > 0 && facts.failing > 0)
		health.warnings |= bit(HEALTH_CRASH_LOOP);
	if (health.publish_refusal)
		health.warnings |= bit(HEALTH_NO_PUBLISHES);
	if (runtime->report.statistics.failure_share.is_high)
		health.warnings |= bit(HEALTH_FAILURES);
	if (runtime->report.statistics.failed_restart.why)
		health.warnings |= bit(HEALTH_RESTART_GIVEN_UP);
	if (pool_runtime_queue_durability(runtime) == QUEUE_TRANSIENT)
		health.warnings |= bit(HEALTH_TRANSIENT);
	if (health.difference)
		health.warnings |= bit(HEALTH_DIFFERS);
	if (health.unbound)
		health.warnings |= bit(HEALTH_UNBOUND);
	if (facts.suspects > 0)
		health.warnings |= bit(HEALTH_SUSPECTS);
	judge_leaders(&health, runtime);
	judge_throttles(&health, runtime, &facts);
	judge_dead_letters(&health, runtime);
	judge_sessions(&health, runtime, &facts);
	return health;
}

/* The pool that this one replaces, and that works until this one is ready; NULL: none. */
static const struct pool_runtime *find_replaced(
	const struct pool_set *pool_set, const struct pool_runtime *by)
{
	const struct pool_runtime *runtime;

	for (size_t i = 0; (runtime = pool_set_next(pool_set, &i));)
		if (runtime->is_replaced && !runtime->is_draining &&
			strcmp(runtime->config.name, by->config.name) == 0 &&
			health_of_pool(runtime).causes == 0)
			return runtime;
	return NULL;
}

static void cover_causes(struct health *health)
{
	health->covered = health->causes;
	health->warnings |= health->causes;
	health->causes = 0;
}

bool health_next(const struct supervisor_view *view, struct health_walk *walk)
{
	struct pool_runtime *runtime;

	if (!walk->has_begun) {
		walk->has_begun = true;
		walk->health = health_of_supervisor(view);
		return true;
	}
	do
		runtime = pool_set_next(view->pool_set, &walk->place);
	while (runtime && pool_runtime_is_retiring(runtime));
	if (!runtime)
		return false;
	walk->runtime = runtime;
	walk->health = health_of_pool(runtime);
	if (!broker_links_is_any_consume_up(view->broker_links))
		walk->health.causes &= ~bit(HEALTH_NO_CONSUMING);
	if (!broker_links_publish_facts(view->broker_links).is_up)
		walk->health.causes &= ~bit(HEALTH_NO_TOKEN);
	if (*view->phase != SERVING)
		walk->health.causes &= ~(bit(HEALTH_DRAINING) | bit(HEALTH_STOPPING));
	if (walk->health.causes && find_replaced(view->pool_set, runtime))
		cover_causes(&walk->health);
	return true;
}

void health_hide_details(struct health *health)
{
	health->consume_failure = health->consume_failure_kind;
	health->publish_failure = health->publish_failure_kind;
	health->refusal = health->refusal_kind;
	health->publish_refusal = health->publish_refusal_kind;
	health->difference = health->difference_kind;
	health->unbound = health->unbound_kind;
	health->program = NULL;
}

bool health_has(unsigned set, enum health_cause cause)
{
	return set & bit(cause);
}

const char *health_cause_name(enum health_cause cause)
{
#define NAME_OF(cause, name) [cause] = (name),
	static const char *const names[] = {HEALTH_CAUSES(NAME_OF)};
#undef NAME_OF

	return names[cause];
}

bool health_is_ready(const struct supervisor_view *view)
{
	struct health_walk walk = {0};

	while (health_next(view, &walk))
		if (walk.health.causes)
			return false;
	return true;
}
