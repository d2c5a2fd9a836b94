#include "sim/tokens.h"

#include "core/pool_internal.h"
#include "os/clock.h"
#include "process/guard.h"
#include "runtime/consume_link.h"
#include "sim/cover.h"
#include "sim/fail.h"
#include "sim/link.h"

#include <stdio.h>
#include <stdlib.h>

#define GUARD_LATE (500 * MTIME_MS) /* as process/guard.h promises */

/* ---------- in place of os/clock.c and process/guard.c ---------- */

mtime clock_now(void)
{
	return sim_now;
}

mtime clock_boot(void)
{
	return sim_now;
}

/* Of one pool, which has the only lease. */
struct guard {
	mtime until; /* 0: no limit */
};

void guard_set_lease(struct guard *guard, unsigned lease, mtime until)
{
	(void)lease;
	guard->until = until;
}

static void kill_workers(struct pool_runtime *runtime)
{
	cover_mark(COVER_TAKEOVER, TAKEOVER_GUARD, 0);
	sim_trace("supervisor %u: the guard kills the workers of pool %u",
		runtime->supervisor->number, runtime->channel);
	for (uint16_t i = 0; i < SLOTS_MAX; i++)
		if (runtime->workers.worker[i].phase != WORKER_NONE)
			runtime->workers.worker[i].is_dead = true;
	workers_wake(&runtime->workers);
}

static mtime kills_at(const struct pool_runtime *runtime)
{
	mtime until = runtime->guard ? runtime->guard->until : 0;

	return until ? mtime_after(until, GUARD_LATE) : MTIME_NEVER;
}

void tokens_guard(struct world *world)
{
	EACH_SUPERVISOR(world, supervisor)
	{
		EACH_POOL(supervisor, runtime)
		{
			if (kills_at(runtime) > world->now)
				continue;
			runtime->guard->until = 0;
			kill_workers(runtime);
		}
	}
}

mtime tokens_guard_deadline(const struct world *world)
{
	mtime next = MTIME_NEVER;

	EACH_SUPERVISOR((struct world *)world, supervisor)
	{
		EACH_POOL(supervisor, runtime)
		{
			next = mtime_min(next, kills_at(runtime));
		}
	}
	return next;
}

/* ---------- life ---------- */

void tokens_begin(struct pool_runtime *runtime)
{
	struct world *world = runtime->world;
	char run[24];
	const struct pool_token_origin origin = {.host = "sim",
		.pid = runtime->supervisor->number,
		.run = run,
		.serial = runtime->channel,
		.place = (uint16_t)(runtime->channel - 1),
		.seed = (uint32_t)world->seed};

	runtime->guard = NULL;
	runtime->token = (struct pool_token){0};
	if (!world->order.has_token)
		return;
	runtime->guard = calloc(1, sizeof *runtime->guard);
	snprintf(run, sizeof run, "%u", ++world->order.runs);
	sim_require(runtime->guard && pool_token_init(&runtime->token, &runtime->config,
					      WORLD_QUEUE, &origin, &runtime->log, runtime->guard),
		"out of memory");
	pool_token_attach(&runtime->token, runtime->pool);
}

void tokens_end(struct pool_runtime *runtime)
{
	if (!runtime->guard)
		return;
	pool_token_release(&runtime->token);
	free(runtime->guard);
	runtime->guard = NULL;
}

/* ---------- connections ---------- */

uint16_t tokens_channel(const struct pool_runtime *runtime, bool publishes)
{
	return publishes ? (uint16_t)(BROKER_CHANNELS - runtime->channel) : TOKEN_CHANNEL;
}

bool tokens_is_channel(uint16_t channel)
{
	return channel == TOKEN_CHANNEL;
}

struct pool_runtime *tokens_publisher(struct supervisor *supervisor, uint16_t channel)
{
	EACH_POOL(supervisor, runtime)
	{
		if (runtime->token.channel && tokens_channel(runtime, true) == channel)
			return runtime;
	}
	return NULL;
}

void tokens_up(struct pool_runtime *runtime, struct connection *connection)
{
	if (runtime->token.channel)
		token_channel_up(runtime->token.channel, connection);
}

void tokens_down(struct pool_runtime *runtime)
{
	if (runtime->token.channel)
		token_channel_down(runtime->token.channel);
}

void tokens_publish_up(struct pool_runtime *runtime, struct connection *connection)
{
	if (runtime->token.channel)
		token_channel_publish_up(
			runtime->token.channel, connection, tokens_channel(runtime, true));
}

void tokens_publish_down(struct pool_runtime *runtime)
{
	if (runtime->token.channel)
		token_channel_publish_down(runtime->token.channel);
}

void tokens_on_event(struct pool_runtime *runtime, const struct amqp_event *event, mtime now)
{
	token_channel_on_event(runtime->token.channel, event, now);
}

/* ---------- what others publish ---------- */

/* Not orderly: only a holder can know that it runs nothing. */
static struct token_content forged_content(struct world *world)
{
	struct random *random = &world->random;

	return (struct token_content){.holder = TEXT("forger"),
		.epoch = random_chance(random, 200) ? TOKEN_NUMBER_MAX : random_below(random, 100),
		.counter = random_below(random, 3),
		.window = world->order.prefetch,
		.delay = (mtime)(1 + random_below(random, 60)) * MTIME_SECOND,
		.deaths = random_below(random, 5)};
}

static void store(struct world *world, const struct token_content *content, bool is_whole)
{
	struct amqp_publish publish;
	struct text body;
	struct buf scratch;

	buf_init(&scratch, TOKEN_BODY_MAX + 1024);
	sim_require(token_message_write(content, 1, TEXT(WORLD_TOKEN), &scratch, &publish) == RC_OK,
		"out of memory");
	body = publish.body;
	if (!is_whole)
		body.len = random_below(&world->random, (uint32_t)body.len);
	sim_trace("somebody publishes a token of epoch %llu, or %zu bytes of one",
		(unsigned long long)content->epoch, body.len);
	broker_store(
		world->broker, WORLD_TOKEN, &(struct copy_facts){0}, 0, publish.properties, body);
	buf_release(&scratch);
}

void tokens_forge(struct world *world)
{
	const struct token_content content = forged_content(world);

	store(world, &content, random_chance(&world->random, 700));
}

void tokens_precede(struct world *world)
{
	struct random *random = &world->order.random;
	const struct token_content content = {.holder = TEXT("before"),
		.epoch = 1,
		.window = world->order.prefetch,
		.delay = world->order.config.takeover_delay,
		.deaths = 2 + random_below(random, 3)};

	if (!world->order.is_restless || random_chance(random, 200))
		return;
	broker_declare_single(world->broker, WORLD_TOKEN);
	store(world, &content, true);
}

/* ---------- at rest ---------- */

static uint32_t count_holders(const struct world *world)
{
	uint32_t count = 0;

	EACH_SUPERVISOR((struct world *)world, supervisor)
	{
		EACH_POOL(supervisor, runtime)
		{
			count += pool_token_facts(&runtime->token).is_held;
		}
	}
	return count;
}

bool tokens_are_settled(const struct world *world)
{
	return !world->order.has_token ||
	       (count_holders(world) == 1 && broker_count(world->broker, WORLD_TOKEN) == 1);
}
