/* A station of a run: what cli/station is to serve, with fake workers. */
#include "core/pool_internal.h"
#include "sim/fail.h"
#include "sim/world.h"

#include <stdio.h>

/* An audit walks all there is: a pool that has gone wrong stays so for more turns than this. A
 * replay looks at each. */
#define TURNS_PER_AUDIT 4
#define MEMORY_ENOUGH   1000000

/* What lasts is told at full volume once, until it is over. */
static void check_volume(struct station *station, enum log_level level, const char *words)
{
	if (strncmp(words, "consuming", strlen("consuming")) == 0)
		station->warning[0] = 0;
	if (level < LOG_WARN)
		return;
	sim_require(!strstr(words, "does not exist") || strcmp(words, station->warning) != 0,
		"said twice: %s", words);
	snprintf(station->warning, sizeof station->warning, "%s", words);
}

static void on_log_line(void *ctx, enum log_level level, const char *words)
{
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
static uint16_t choose_most(struct station *station, uint32_t least)
{
	struct random *random = &station->world->random;
	uint32_t most = station->world->settings->workers;

	if (!random_chance(random, 500))
		return 0;
	most = most < WORKERS_MAX ? most : WORKERS_MAX;
	return (uint16_t)(least + random_below(random, most - least + 1));
}

/* Small ones, so that a run sees them; the bytes are those of the fake workers. */
static struct recycle_limits choose_recycling(struct station *station)
{
	struct random *random = &station->world->random;
	struct recycle_limits limits = {.seed = (uint32_t)random_next(random)};

	if (!settings_has(station->world->settings, TROUBLE_RECYCLE))
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

void station_resize(struct station *station)
{
	struct random *random = &station->world->random;
	uint32_t workers = 1 + random_below(random, WORKERS_MAX);
	uint32_t pipeline = random_below(random, 6);
	uint32_t prefetch = 1 + random_below(random, 40);

	if (workers > station->world->settings->workers)
		workers = station->world->settings->workers;
	station->config.workers = (uint16_t)workers;
	station->config.workers_max = choose_most(station, workers);
	station->config.pipeline = station->config.interrupt ? 1 : (uint16_t)pipeline;
	station->config.prefetch = random_chance(random, 300) ? (uint16_t)prefetch : 0;
}

void station_reshape(struct station *station)
{
	struct random *random = &station->world->random;
	struct pool_config *config = &station->config;

	config->recycle = choose_recycling(station);
	config->soft_limit = random_chance(random, 700) ? 4 * MTIME_SECOND : MTIME_NEVER;
	config->hard_limit = random_chance(random, 700) ? 20 * MTIME_SECOND : 30 * MTIME_SECOND;
	config->pipe_wait = random_chance(random, 500) ? 5 * MTIME_MS : 2 * MTIME_SECOND;
	config->memory = random_chance(random, 300) ? 1 + random_below(random, 200) : MEMORY_ENOUGH;
	station->was_narrow |= config->memory < MEMORY_ENOUGH;
	config->outbox_limit = random_chance(random, 300) ? 2000 : 1000000;
	station_resize(station);
}

void station_choose(struct station *station, const struct settle_policy *policy)
{
	struct random *random = &station->world->random;

	station->log = (struct channel_log){on_log_line, station};
	station->config = (struct pool_config){
		.name = "sim",
		.interrupt = random_chance(random, 300),
		.boot_limit = 10 * MTIME_SECOND,
		.grace = 5 * MTIME_SECOND,
		.policy = *policy,
	};
	station_reshape(station);
	station->consumer_config = (struct consumer_config){.channel = station->channel,
		.queue = TEXT(WORLD_QUEUE),
		.declare = random_below(random, 3),
		.dead_letter = TEXT(WORLD_DEAD),
		.retry = plan_of(policy),
		.body_limit = WORLD_BODY_LIMIT,
		.keep_route = random_chance(random, 500),
		.seed = (uint32_t)random_next(random)};
	station->publisher_config = (struct publisher_config){.channel = station->channel,
		.queue = TEXT(WORLD_QUEUE),
		.dead_letter = TEXT(WORLD_DEAD),
		.retry = plan_of(policy),
		.seed = (uint32_t)random_next(random)};
}

/* A window that was narrowed, or begun anew, may leave as much again in hand, but does not add up.
 */
static uint32_t hand_limit(const struct station *station)
{
	return station->config.prefetch ? 2u * station->config.prefetch + 8 : UINT32_MAX;
}

void station_start(struct station *station)
{
	struct world *world = station->world;

	station->pool = pool_new(&station->config, &sim_effects, station, world->now);
	station->consumer = consumer_new(&station->consumer_config, &station->log);
	station->publisher = publisher_new(&station->publisher_config, &station->log);
	sim_require(station->pool && station->consumer && station->publisher, "out of memory");
	consumer_attach(station->consumer, station->pool);
	publisher_attach(station->publisher, station->pool);
	station->warning[0] = 0;
	station->is_broken = false;
	station->was_narrow = station->config.memory < MEMORY_ENOUGH;
	station->hand_most = hand_limit(station);
	station->turned_at = world->now;
	station->steering = (struct steering){.wanted = station->config.workers,
		.fewest = station->config.workers,
		.least = station->config.workers,
		.most = station->config.workers_max ? station->config.workers_max
						    : station->config.workers};
	workers_start(&station->workers, station);
}

/* What was asked for by another prefetch may come for a while, and stays until it is done. */
static void check_hand(struct station *station)
{
	uint32_t in_hand = station->pool->tasks.source.open;

	if (station->hand_most < hand_limit(station))
		station->hand_most = hand_limit(station);
	sim_require(in_hand <= station->hand_most, "%u in hand at prefetch %u", in_hand,
		station->config.prefetch);
}

/* Order and all as in serve. */
void station_turn(struct station *station)
{
	struct event event = {.kind = TURN_END};
	mtime now = station->world->now;

	publisher_tick(station->publisher, now);
	pool_step(station->pool, now, &event);
	consumer_tick(station->consumer, now);
	check_hand(station);
	steer_check(station);
	station->turned_at = now;
	if (station->stirred && (sim_is_traced || ++station->stirs % TURNS_PER_AUDIT == 0))
		pool_audit(station->pool);
	station->stirred = false;
}

bool station_is_idle(const struct station *station)
{
	const struct pool *pool = station->pool;

	return pool->tasks.source.open == 0 && pool->tasks.outbox.count == 0 &&
	       pool->tasks.dispatch.in_pipes == 0;
}

mtime station_deadline(const struct station *station)
{
	mtime deadline = pool_deadline(station->pool);

	deadline = mtime_min(deadline, consumer_deadline(station->consumer));
	return mtime_min(deadline, publisher_deadline(station->publisher));
}

void station_end(struct station *station)
{
	consumer_free(station->consumer);
	publisher_free(station->publisher);
	pool_free(station->pool);
}
