/* A pool of a run: what runtime/pool_runtime.c is to serve, with fake workers. */
#include "core/pool_internal.h"
#include "sim/blame.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/tokens.h"

#include <stdio.h>

/* An audit walks all there is: a pool that has gone wrong stays so for more turns than this. A
 * replay looks at each. */
#define TURNS_PER_AUDIT 4
#define MEMORY_ENOUGH   1000000

/* What lasts is told at full volume once, until it is over. */
static void check_volume(struct pool_runtime *runtime, enum log_level level, const char *words)
{
	if (strncmp(words, "consuming", strlen("consuming")) == 0 ||
		strncmp(words, "waiting for the token", strlen("waiting for the token")) == 0)
		runtime->warning[0] = 0;
	if (level < LOG_WARN)
		return;
	sim_require(!strstr(words, "does not exist") || strcmp(words, runtime->warning) != 0,
		"said twice: %s", words);
	snprintf(runtime->warning, sizeof runtime->warning, "%s", words);
}

/* An honest broker never delivers more than it was asked for. If bodies become large, or `memory`
 * is very small, there may be too many bytes in hand: then the channel is lost, as by a fault. */
static void check_refusal(struct pool_runtime *runtime, const char *words)
{
	sim_require(!strstr(words, "more than it was asked for"), "an honest broker is blamed");
	if (strstr(words, "too many bytes are in hand"))
		runtime->world->account.refusals |= 1u << runtime->supervisor->number;
}

static void on_log_line(void *ctx, enum log_level level, const char *words)
{
	check_refusal(ctx, words);
	sim_trace("note: %s", words);
	check_volume(ctx, level, words);
}

/* The queues are shared, so the jitter, which is in their arguments, is the same for all. */
static struct retry_plan plan_of(const struct settle_policy *policy)
{
	struct retry_plan plan = {.count = policy->delay_count, .jitter = 10};

	memcpy(plan.delays, policy->delays, sizeof plan.delays);
	return plan;
}

/* As many as the tasks need; 0: it is not left to the pool. */
static uint16_t choose_max(struct pool_runtime *runtime, uint32_t min)
{
	struct random *random = &runtime->world->random;
	uint32_t max = runtime->world->settings->workers;

	if (!random_chance(random, 500))
		return 0;
	max = max < WORKERS_MAX ? max : WORKERS_MAX;
	return (uint16_t)(min + random_below(random, max - min + 1));
}

/* Small ones, so that a run sees them; the bytes are those of the fake workers. */
static struct recycle_limits choose_recycling(struct pool_runtime *runtime)
{
	struct random *random = &runtime->world->random;
	struct recycle_limits limits = {.seed = (uint32_t)random_next(random)};

	if (!settings_has(runtime->world->settings, TROUBLE_RECYCLE))
		return limits;
	if (random_chance(random, 300))
		limits.tasks = 1 + random_below(random, 20);
	if (random_chance(random, 300))
		limits.age = (1 + random_below(random, 60)) * MTIME_SECOND;
	if (random_chance(random, 300))
		limits.memory = 1 + random_below(random, 1000);
	if (random_chance(random, 200))
		limits.memory_kill = limits.memory + random_below(random, 1000) + 1;
	return limits;
}

void pool_runtime_resize(struct pool_runtime *runtime)
{
	struct random *random = &runtime->world->random;
	uint32_t workers = 1 + random_below(random, WORKERS_MAX);
	uint32_t pipeline = random_below(random, 6);
	uint32_t prefetch = 1 + random_below(random, 40);

	if (workers > runtime->world->settings->workers)
		workers = runtime->world->settings->workers;
	runtime->config.workers = (uint16_t)workers;
	runtime->config.workers_max = choose_max(runtime, workers);
	if (runtime->config.on_soft || workers_have_many(runtime))
		pipeline = 1;
	runtime->config.pipeline = (uint16_t)pipeline;
	runtime->config.prefetch = random_chance(random, 300) ? (uint16_t)prefetch : 0;
	order_configure(runtime);
	throttles_resize(runtime);
}

void pool_runtime_reshape(struct pool_runtime *runtime)
{
	struct random *random = &runtime->world->random;
	struct pool_config *config = &runtime->config;

	config->recycle = choose_recycling(runtime);
	config->soft_limit = random_chance(random, 700) ? 4 * MTIME_SECOND : MTIME_NEVER;
	config->hard_limit = random_chance(random, 700) ? 20 * MTIME_SECOND : 30 * MTIME_SECOND;
	config->pipe_wait = random_chance(random, 500) ? 5 * MTIME_MS : 2 * MTIME_SECOND;
	config->memory = random_chance(random, 300) ? 1 + random_below(random, 200) : MEMORY_ENOUGH;
	runtime->was_narrow |= config->memory < MEMORY_ENOUGH;
	config->outbox_limit = random_chance(random, 300) ? 2000 : 1000000;
	throttles_choose_list(runtime);
	pool_runtime_resize(runtime);
}

/* In some runs most pools have one task in a worker, in the others most have several. */
static uint16_t choose_concurrency(struct pool_runtime *runtime)
{
	struct world *world = runtime->world;
	struct random *random = &world->random;
	bool is_as_most = random_chance(random, 800);

	if (is_as_most != world->has_many_tasks ||
		!settings_has(world->settings, TROUBLE_CONCURRENCY))
		return 1;
	cover_mark(COVER_TROUBLE, TROUBLE_CONCURRENCY, 0);
	if (random_chance(random, 100))
		return (uint16_t)(2 + random_below(random, WORKER_TASKS_MAX - 1));
	return (uint16_t)(2 + random_below(random, 7));
}

static enum soft_action choose_soft_action(struct random *random)
{
	if (!random_chance(random, 300))
		return SOFT_NOTHING;
	return random_chance(random, 500) ? SOFT_CONTEXT_SWITCH : SOFT_CANCEL;
}

void pool_runtime_choose(struct pool_runtime *runtime, const struct settle_policy *policy)
{
	struct random *random = &runtime->world->random;

	runtime->log = (struct channel_log){on_log_line, runtime};
	runtime->config = (struct pool_config){
		.name = "sim",
		.concurrency = choose_concurrency(runtime),
		.on_soft = choose_soft_action(random),
		.boot_limit = 10 * MTIME_SECOND,
		.grace = 5 * MTIME_SECOND,
		.policy = *policy,
	};
	pool_runtime_reshape(runtime);
	runtime->consumer_config = (struct consumer_config){.channel = runtime->channel,
		.queue = TEXT(WORLD_QUEUE),
		.declare = random_below(random, 3),
		.dead_letter = TEXT(WORLD_DEAD),
		.retry = plan_of(policy),
		.body_limit = WORLD_BODY_LIMIT,
		.keep_route = random_chance(random, 500),
		.seed = (uint32_t)random_next(random)};
	order_configure_consumer(&runtime->world->order, &runtime->consumer_config);
	runtime->publisher_config = (struct publisher_config){.queue = TEXT(WORLD_QUEUE),
		.dead_letter = TEXT(WORLD_DEAD),
		.retry = plan_of(policy),
		.seed = (uint32_t)random_next(random)};
}

/* A window that was narrowed, or opened again, may leave as much again in hand, but does not add
 * up.
 */
static uint32_t hand_limit(const struct pool_runtime *runtime)
{
	if (runtime->world->order.has_token) /* it may use a larger window, of a holder before */
		return HAND_MAX;
	uint32_t window = runtime->config.prefetch, used = runtime->world->order.used;
	return window ? 2u * (used > window ? used : window) + 8 : UINT32_MAX;
}

void pool_runtime_start(struct pool_runtime *runtime)
{
	struct world *world = runtime->world;

	order_keep_window(runtime);
	throttles_configure(runtime);
	runtime->throttles.credit = 0;
	runtime->throttles.credit_at = 0;
	runtime->throttles.has_changed = false;
	runtime->pool = pool_new(&runtime->config, &runtime->supervisor->starts,
		&runtime->supervisor->last_task_id, &sim_effects, runtime, world->now);
	runtime->consumer = consumer_new(&runtime->consumer_config, &runtime->log);
	runtime->publisher = publisher_new(&runtime->publisher_config, &runtime->log);
	sim_require(runtime->pool && runtime->consumer && runtime->publisher, "out of memory");
	tokens_begin(runtime);
	consumer_attach(runtime->consumer, runtime->pool);
	publisher_attach(runtime->publisher, runtime->pool);
	runtime->warning[0] = 0;
	runtime->is_broken = false;
	runtime->was_narrow = runtime->config.memory < MEMORY_ENOUGH;
	runtime->hand_max = hand_limit(runtime);
	runtime->turned_at = world->now;
	runtime->steering = (struct steering){.wanted = runtime->config.workers,
		.fewest = runtime->config.workers,
		.min = runtime->config.workers,
		.max = runtime->config.workers_max ? runtime->config.workers_max
						   : runtime->config.workers};
	workers_start(&runtime->workers, runtime);
	order_begin(runtime);
}

/* What was asked for by another prefetch may come for a while, and stays until it is done. */
static void check_hand(struct pool_runtime *runtime)
{
	uint32_t in_hand = runtime->pool->tasks.source.open;

	if (runtime->hand_max < hand_limit(runtime))
		runtime->hand_max = hand_limit(runtime);
	sim_require(in_hand <= runtime->hand_max, "%u in hand at prefetch %u", in_hand,
		runtime->config.prefetch);
}

/* Order and all as in serve. */
void pool_runtime_turn(struct pool_runtime *runtime)
{
	struct event event = {.kind = TURN_END, .boot = runtime->supervisor->throttles.boot};
	mtime now = runtime->world->now;

	pool_token_tick(&runtime->token);
	publisher_tick(runtime->publisher, now);
	blame_turn(runtime);
	throttles_pool_begins(runtime);
	pool_step(runtime->pool, now, &event);
	throttles_pool_ends();
	blame_check_turn(runtime);
	consumer_tick(runtime->consumer, now);
	pool_token_prove(&runtime->token, runtime->consumer, now);
	check_hand(runtime);
	steer_check(runtime);
	runtime->turned_at = now;
	if (runtime->has_events && (sim_is_traced || ++runtime->busy_turns % TURNS_PER_AUDIT == 0))
		pool_audit(runtime->pool);
	runtime->has_events = false;
}

bool pool_runtime_is_idle(const struct pool_runtime *runtime)
{
	const struct pool *pool = runtime->pool;

	return pool->tasks.source.open == 0 && pool->tasks.outbox.count == 0 &&
	       pool->tasks.dispatch.in_pipes == 0 && order_is_at_rest(runtime);
}

mtime pool_runtime_deadline(const struct pool_runtime *runtime)
{
	mtime deadline = pool_deadline(runtime->pool);

	deadline = mtime_min(deadline, consumer_deadline(runtime->consumer));
	deadline = mtime_min(deadline, pool_token_deadline(&runtime->token, runtime->world->now));
	return mtime_min(deadline, publisher_deadline(runtime->publisher));
}

void pool_runtime_end(struct pool_runtime *runtime)
{
	tokens_end(runtime);
	consumer_free(runtime->consumer);
	publisher_free(runtime->publisher);
	pool_free(runtime->pool);
}
