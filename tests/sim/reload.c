#include "sim/reload.h"

#include "core/pool_internal.h"
#include "sim/fail.h"
#include "sim/link.h"
#include "sim/order_turns.h"
#include "sim/supervisor.h"
#include "sim/tokens.h"

/* ---------- what is done ---------- */

static struct pool_runtime *free_place(struct supervisor *supervisor)
{
	uint16_t max = supervisor->world->order.is_on ? ORDER_POOLS_MAX : POOLS_MAX;

	for (uint16_t i = 0; i < max; i++)
		if (supervisor->pools[i].presence == POOL_ABSENT)
			return &supervisor->pools[i];
	return NULL;
}

static void add_to_publisher(struct pool_runtime *runtime, struct connection *connection)
{
	publisher_up(runtime->publisher, connection, runtime->channel, runtime->world->now);
	tokens_publish_up(runtime, connection);
}

/* Its channel has the number of one that was closed, perhaps in this very turn. */
static void add(struct supervisor *supervisor)
{
	struct pool_runtime *runtime = free_place(supervisor);
	struct client_link *publishing = &supervisor->links[0];

	if (!runtime)
		return;
	sim_trace("supervisor %u: pool %u is added", supervisor->number, runtime->channel);
	runtime->presence = POOL_THERE;
	pool_runtime_choose(runtime, &supervisor->world->policy);
	pool_runtime_start(runtime);
	link_init(pool_link(runtime), supervisor, runtime);
	if (runtime->channel > supervisor->pool_count)
		supervisor->pool_count = runtime->channel;
	if (publishing->up)
		add_to_publisher(runtime, publishing->connection);
}

static uint32_t configured(struct supervisor *supervisor)
{
	uint32_t count = 0;

	EACH_POOL(supervisor, runtime)
	{
		count += runtime->presence == POOL_THERE;
	}
	return count;
}

/* The last one stays. */
static void drop(struct pool_runtime *runtime)
{
	struct event event = {.kind = COMMAND, .command.what = COMMAND_DRAIN};

	if (configured(runtime->supervisor) < 2)
		return;
	sim_trace(
		"supervisor %u: pool %u is removed", runtime->supervisor->number, runtime->channel);
	runtime->presence = POOL_LEAVES;
	pool_step(runtime->pool, runtime->world->now, &event);
}

static void replace(struct pool_runtime *runtime)
{
	add(runtime->supervisor);
	drop(runtime);
}

static void change(struct pool_runtime *runtime)
{
	struct pool_config before = runtime->config;

	pool_runtime_reshape(runtime);
	order_choose_again(runtime);
	runtime->config.workers = before.workers; /* that is a scale */
	runtime->config.workers_max = before.workers_max;
	runtime->hand.is_unsteady = true;
	order_turns_begin(&runtime->hand); /* with another quantum */
	workers_reconfigure(runtime);
	throttles_configure(runtime);
	runtime->throttles.has_changed = true;
	steer_command(runtime, COMMAND_CONFIGURE);
	if (runtime->token.channel)
		pool_token_configure(&runtime->token, &runtime->config);
}

static void give_command(struct pool_runtime *runtime, bool is_broken)
{
	runtime->is_broken = is_broken;
	sim_trace("pool %u has another command%s", runtime->channel,
		is_broken ? ", which is broken" : "");
	steer_command(runtime, COMMAND_RESTART);
}

static void do_any(struct pool_runtime *runtime, uint32_t what)
{
	struct supervisor *supervisor = runtime->supervisor;

	if (supervisor->world->order.has_token) /* the new one is the standby of the old one */
		what += what < 50 ? 30 : 0;
	else if (supervisor->world->order.is_on) /* one pool at a time */
		what = 50 + what / 2;
	if (what < 15)
		add(supervisor);
	else if (what < 30)
		drop(runtime);
	else if (what < 50)
		replace(runtime);
	else if (what < 80)
		change(runtime);
	else
		give_command(runtime, what >= 90);
	supervisor->has_events = true;
	supervisor->world->moved = true;
}

/* One that leaves, or stops, refuses another configuration. */
static void try_to_change(struct pool_runtime *runtime)
{
	steer_command(runtime, COMMAND_CONFIGURE);
}

void reload_any(struct world *world)
{
	struct random *random = &world->random;
	struct supervisor *supervisor =
		&world->supervisors[random_below(random, world->supervisor_count)];
	struct pool_runtime *runtime =
		&supervisor->pools[random_below(random, supervisor->pool_count)];
	bool serves = supervisor->state == SUPERVISOR_SERVES;

	if (runtime->presence == POOL_ABSENT || !world_wants(world, TROUBLE_RELOAD, 1000))
		return;
	if (serves && runtime->presence == POOL_THERE)
		do_any(runtime, random_below(random, 100));
	else if (serves || supervisor->state == SUPERVISOR_STOPS)
		try_to_change(runtime);
}

void reload_in_order(struct supervisor *supervisor)
{
	struct random *random = &supervisor->world->random;

	if (supervisor->state != SUPERVISOR_SERVES)
		return;
	EACH_POOL(supervisor, runtime)
	{
		if (runtime->presence == POOL_THERE && random_chance(random, 700))
			do_any(runtime, random_below(random, 100));
	}
}

void reload_mend(struct supervisor *supervisor)
{
	if (supervisor->state != SUPERVISOR_SERVES)
		return;
	EACH_POOL(supervisor, runtime)
	{
		if (runtime->presence == POOL_THERE && runtime->is_broken &&
			!runtime->steering.rolls)
			give_command(runtime, false);
	}
}

/* ---------- what follows ---------- */

static void close_down(struct pool_runtime *runtime)
{
	sim_require(!workers_is_anyone_alive(&runtime->workers), "a worker outlived its pool");
	sim_trace("supervisor %u: pool %u closes", runtime->supervisor->number, runtime->channel);
	runtime->presence = POOL_CLOSES;
	publisher_close(runtime->publisher);
	link_close(pool_link(runtime));
	runtime->world->moved = true;
}

static void leave(struct pool_runtime *runtime)
{
	sim_trace("supervisor %u: pool %u has left", runtime->supervisor->number, runtime->channel);
	pool_runtime_end(runtime);
	runtime->presence = POOL_ABSENT;
	runtime->world->moved = true;
}

void reload_sweep(struct supervisor *supervisor)
{
	EACH_POOL(supervisor, runtime)
	{
		if (runtime->presence == POOL_LEAVES && pool_is_quiet(runtime->pool) &&
			pool_token_has_passed(&runtime->token))
			close_down(runtime);
		if (runtime->presence == POOL_CLOSES && !pool_link(runtime)->connection &&
			publisher_has_ended(runtime->publisher))
			leave(runtime);
	}
}

/* ---------- what is expected ---------- */

/* Nothing is in hand: the window is what it says. What memory or a throttle made of it may last. */
static bool is_window_right(const struct pool_runtime *runtime)
{
	const struct source *source = &runtime->pool->tasks.source;
	uint32_t prefetch = runtime->config.prefetch;

	if (!prefetch || source->open > 0 || source->request != SOURCE_CONSUME)
		return true;
	bool may_be_narrow =
		runtime->was_narrow || runtime->pool->tasks.pace.window_max < UINT32_MAX;
	return source->window == prefetch || (may_be_narrow && source->window < prefetch);
}

static bool is_settled(const struct pool_runtime *runtime)
{
	const struct pool_config *wanted = &runtime->config,
				 *config = &runtime->pool->context.config;

	sim_require(config->pipeline == wanted->pipeline && config->prefetch == wanted->prefetch &&
			    config->memory == wanted->memory &&
			    config->hard_limit == wanted->hard_limit &&
			    config->soft_limit == wanted->soft_limit &&
			    config->outbox_limit == wanted->outbox_limit,
		"pool %u is not what is configured", runtime->channel);
	return !runtime->is_broken && is_window_right(runtime);
}

bool reload_is_done(const struct supervisor *supervisor)
{
	if (supervisor->state != SUPERVISOR_SERVES)
		return true;
	EACH_POOL((struct supervisor *)supervisor, runtime)
	{
		if (runtime->presence != POOL_THERE || !is_settled(runtime))
			return false;
	}
	return true;
}
